/* SPDX-License-Identifier: Apache-2.0 */
/* See say.h. */
#include "cmd/say.h"

#include "base/visible.h"

static void print(FILE *to, struct wt_strbuf *text)
{
	fwrite(wt_strbuf_text(text), 1, text->n, to);
	wt_strbuf_release(text);
}

void wt_say(FILE *to, const char *fmt, ...)
{
	struct wt_strbuf text = {.n = 0};
	va_list ap;

	va_start(ap, fmt);
	wt_strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	wt_visible_output(&text, /* colour= */ 0);
	print(to, &text);
}

void wt_say_line(FILE *to, const char *fmt, ...)
{
	struct wt_strbuf text = {.n = 0}, line = {.n = 0};
	va_list ap;

	va_start(ap, fmt);
	wt_strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	wt_visible_adds(&line, wt_strbuf_text(&text));
	wt_strbuf_addc(&line, '\n');
	wt_strbuf_release(&text);
	print(to, &line);
}

void wt_say_name(FILE *to, const char *name)
{
	struct wt_strbuf text = {.n = 0};

	wt_visible_adds(&text, name);
	print(to, &text);
}
