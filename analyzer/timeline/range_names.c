/* SPDX-License-Identifier: Apache-2.0 */
/* See range_names.def. Asked once per name by whoever builds an index, not once per range. */
#include <ctype.h>
#include <string.h>

#include "timeline/timeline.h"

enum how { PREFIX, INFIX, NUMBERED, WORD };
static const struct row {
	const char *text;
	uint8_t kind, how;
} rows[] = {
#define WT_RANGE_NAME(kind_, how_, text_) {text_, WT_RANGE_##kind_, how_},
#include "timeline/range_names.def"
#undef WT_RANGE_NAME
};

static int is_gap(char c)
{
	return c == ' ' || c == '_' || c == '-' || c == '.' || c == ':';
}

/* The length of `word` at the start of s, gaps of any kind for its blanks; 0 = another text. */
static size_t word_at(const char *s, const char *word)
{
	size_t n = 0;

	for (; *word; word++) {
		if (*word == ' ' || *word == '_') {
			while (is_gap(s[n]))
				n++;
		} else if (tolower((unsigned char)s[n]) == tolower((unsigned char)*word)) {
			n++;
		} else {
			return 0;
		}
	}
	return n;
}

/* "load_data" and "LoadData" begin a word at D. */
static int begins_word(const char *name, size_t i)
{
	return !i || !isalnum((unsigned char)name[i - 1]) ||
	       (islower((unsigned char)name[i - 1]) && isupper((unsigned char)name[i]));
}

static int ends_word(const char *name, size_t i)
{
	return !isalnum((unsigned char)name[i]) ||
	       (islower((unsigned char)name[i - 1]) && isupper((unsigned char)name[i]));
}

static int has_word(const char *name, const char *word)
{
	for (size_t i = 0; name[i]; i++) {
		size_t n = begins_word(name, i) ? word_at(name + i, word) : 0;

		if (n && ends_word(name, i + n))
			return 1;
	}
	return 0;
}

/* "step 12", "step#12", "Iteration: 12"; nothing may follow the number. */
static int is_numbered(const char *name, const char *word, int64_t *ret_number)
{
	size_t n = word_at(name, word);
	int64_t number = 0;
	int digits = 0;

	if (!n)
		return 0;
	while (is_gap(name[n]) || name[n] == '#' || name[n] == '=')
		n++;
	for (; isdigit((unsigned char)name[n]) && digits < 18; n++, digits++)
		number = number * 10 + (name[n] - '0');
	if (!digits || name[n])
		return 0;
	*ret_number = number;
	return 1;
}

enum wt_range_kind wt_range_kind_by_name(const char *name, int64_t *ret_number)
{
	int64_t number = -1;

	*ret_number = -1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		int hit = r->how == PREFIX     ? !strncmp(name, r->text, strlen(r->text))
			  : r->how == INFIX    ? strstr(name, r->text) != NULL
			  : r->how == NUMBERED ? is_numbered(name, r->text, &number)
					       : has_word(name, r->text);

		if (!hit)
			continue;
		if (r->how == NUMBERED)
			*ret_number = number;
		return (enum wt_range_kind)r->kind;
	}
	return WT_RANGE_USER;
}
