/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See source.h. Two ways to give bytes out: what head() decoded ahead lies in `out` and is copied; after that the
 * caller's buffer is filled directly, by read() of a plain file or by the inflater.
 *
 * One thread. Memory is fixed: one window of input, one of output, the inflater's state. A fault is kept and returned
 * by every read after the bytes before it were given out. Each member's CRC and length are checked (by ISA-L).
 */
#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <isa-l/igzip_lib.h>

#define WINDOW_BYTES (64u << 10)
#define HEAD_BYTES   (64u << 10)
/* The inflater reads ahead by up to eight bytes and may hand them back after the window they came from was used up. */
#define BACK_BYTES     16u
#define DOUBTFUL_BYTES 512u
/*
 * Traces compress 10 to 40 times, the most regular ones made by hand below 150; deflate can 1032 times. What is refused
 * is a file that makes more than this of each byte, once it has made enough to matter.
 */
#define MOST_RATIO	 200
#define RATIO_FROM_BYTES (INT64_C(16) << 20)

static int any_ratio; /* set before the first source is opened */

struct wt_source {
	int fd; /* -1: memory */
	const uint8_t *memory;
	size_t memory_bytes;

	const uint8_t *in; /* read from disk, not yet consumed */
	size_t in_bytes;
	uint8_t *in_window; /* BACK_BYTES of what came before, then the window */
	int in_ended;
	int64_t disk_read; /* of the file, in_bytes included */

	uint8_t *out; /* decoded ahead by head() */
	size_t out_at, out_bytes;

	struct inflate_state *inflate; /* NULL: plain bytes */
	int member_done;
	int members;

	int64_t text_offset; /* given to the caller */
	int64_t trailing;
	int error; /* -WT_E_x that ends reading once `out` is empty */
	struct wt_diag fault;
	char path[sizeof(((struct wt_diag *)0)->path)];
};

static int fail(struct wt_source *src, enum wt_err err, int sys_errno, const char *text)
{
	if (!src->error) {
		src->error = wt_fail(&src->fault, err, wt_source_disk_offset(src), "%s", text);
		memcpy(src->fault.path, src->path, sizeof(src->path));
		src->fault.sys_errno = sys_errno;
	}
	return src->error;
}

/* Up to n bytes of the file as it lies on disk: 0 at its end, -WT_E_IO. */
static long read_disk(struct wt_source *src, void *buf, size_t n)
{
	ssize_t got;

	if (src->fd < 0) {
		if (n > src->memory_bytes)
			n = src->memory_bytes;
		if (n)
			memcpy(buf, src->memory, n);
		src->memory += n;
		src->memory_bytes -= n;
		return (long)n;
	}
	do
		got = read(src->fd, buf, n);
	while (got < 0 && errno == EINTR);
	return got < 0 ? fail(src, WT_E_IO, errno, "reading failed") : got;
}

/* Makes src->in non-empty unless the file has ended: 0 or -WT_E_IO. */
static int fill_in(struct wt_source *src)
{
	uint8_t *window = src->in_window + BACK_BYTES;
	long got;

	if (src->in_bytes || src->in_ended)
		return 0;
	memmove(src->in_window, src->in - BACK_BYTES, BACK_BYTES);
	got = read_disk(src, window, WINDOW_BYTES);
	if (got < 0)
		return (int)got;
	src->in = window;
	src->in_bytes = (size_t)got;
	src->disk_read += got;
	src->in_ended = got == 0;
	return 0;
}

static void consume_in(struct wt_source *src, size_t n)
{
	src->in += n;
	src->in_bytes -= n;
}

/* One step of the inflater on what src->in has; its return code. */
static int run_inflater(struct wt_source *src)
{
	struct inflate_state *z = src->inflate;
	int rc;

	z->next_in = (uint8_t *)src->in;
	z->avail_in = (uint32_t)src->in_bytes;
	rc = isal_inflate(z);
	if (rc < 0) {
		/* After an error its count of what is left can be wrong, even negative. */
		size_t used = (size_t)(z->next_in - src->in);

		consume_in(src, used < src->in_bytes ? used : src->in_bytes);
		return rc;
	}
	/* Not `what was given minus what is left`: see BACK_BYTES. */
	src->in = z->next_in;
	src->in_bytes = z->avail_in;
	return rc;
}

/* What ISA-L says is wrong, as a reader of the report would say it. */
static int fail_inflate(struct wt_source *src, int rc)
{
	static const struct {
		int rc;
		const char *text;
	} texts[] = {
		{ISAL_INVALID_BLOCK, "bad gzip: a block type that does not exist"},
		{ISAL_INVALID_SYMBOL, "bad gzip: a code that does not exist"},
		{ISAL_INVALID_LOOKBACK, "bad gzip: refers to text before its start"},
		{ISAL_INVALID_WRAPPER, "bad gzip: damaged member header"},
		{ISAL_UNSUPPORTED_METHOD, "bad gzip: not the deflate method"},
		{ISAL_INCORRECT_CHECKSUM, "bad gzip: checksum or length differs from the text"},
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].rc == rc)
			return fail(src, WT_E_CORRUPT, 0, texts[i].text);
	return fail(src, WT_E_CORRUPT, 0, "bad gzip");
}

/* After a member: 1 if another one follows, 0 if not (the rest of the file, if any, is counted and ignored). */
static int next_member(struct wt_source *src)
{
	if (fill_in(src))
		return 0;
	if (src->in_bytes >= 1 && src->in[0] == 0x1f && (src->in_bytes < 2 || src->in[1] == 0x8b)) {
		isal_inflate_reset(src->inflate);
		src->inflate->crc_flag = ISAL_GZIP;
		src->member_done = 0;
		src->members++;
		return 1;
	}
	while (src->in_bytes) {
		src->trailing += (int64_t)src->in_bytes;
		consume_in(src, src->in_bytes);
		if (fill_in(src))
			break;
	}
	return 0;
}

/* After a fault: the text that was decoded before it and still lies inside the inflater. */
static size_t drain(struct inflate_state *z, uint8_t *buf, size_t n)
{
	size_t left;

	if (z->tmp_out_processed < 0 || z->tmp_out_valid <= z->tmp_out_processed ||
	    (size_t)z->tmp_out_valid > sizeof(z->tmp_out_buffer))
		return 0;
	left = (size_t)(z->tmp_out_valid - z->tmp_out_processed);
	if (left > n)
		left = n;
	memcpy(buf, z->tmp_out_buffer + z->tmp_out_processed, left);
	z->tmp_out_processed += (int32_t)left;
	return left;
}

/*
 * ISA-L notices bad symbols and distances after it has moved past what they would have produced, so the last bytes
 * before such a fault are whatever was in memory. How many is not told; a copy of deflate is at most 258 bytes and it
 * stores 16 at a time. They are taken back: first from what lies inside the inflater, the rest from what is in the
 * caller's buffer.
 */
static void take_back(struct inflate_state *z, size_t delivered)
{
	size_t inside = z->tmp_out_valid > z->tmp_out_processed
				? (size_t)(z->tmp_out_valid - z->tmp_out_processed)
				: 0;
	size_t from_inside = inside < DOUBTFUL_BYTES ? inside : DOUBTFUL_BYTES;
	size_t rest = DOUBTFUL_BYTES - from_inside;

	z->tmp_out_valid -= (int32_t)from_inside;
	z->avail_out += (uint32_t)(rest < delivered ? rest : delivered);
}

/* Inflates into buf: how many bytes, 0 at the end or after a fault was noted. */
static size_t inflate_some(struct wt_source *src, uint8_t *buf, size_t n)
{
	struct inflate_state *z = src->inflate;

	if (src->error)
		return drain(z, buf, n);
	n = n > UINT32_MAX ? UINT32_MAX : n;
	z->next_out = buf;
	z->avail_out = (uint32_t)n;
	while (z->avail_out && !src->error) {
		uint32_t room = z->avail_out;
		size_t given;
		int rc;

		if ((src->member_done && !next_member(src)) || fill_in(src))
			break;
		/* At the file's end text may still be inside the inflater, so it is asked once more. */
		given = src->in_bytes;
		rc = run_inflater(src);
		src->member_done = z->block_state == ISAL_BLOCK_FINISH;
		if (rc < 0 && rc != ISAL_INCORRECT_CHECKSUM && rc != ISAL_INVALID_WRAPPER)
			take_back(z, n - z->avail_out);
		if (rc < 0)
			fail_inflate(src, rc);
		else if (src->in_ended && !src->member_done && z->avail_out == room &&
			 src->in_bytes >= given)
			fail(src, WT_E_TRUNCATED, 0, "the gzip stream ends too early");
	}
	return n - z->avail_out;
}

static void check_ratio(struct wt_source *src, int64_t text_bytes)
{
	int64_t disk_bytes = src->disk_read - (int64_t)src->in_bytes;

	if (!any_ratio && text_bytes > RATIO_FROM_BYTES && text_bytes / MOST_RATIO > disk_bytes)
		fail(src, WT_E_LIMIT, 0,
		     "refused: it inflates to more than 200 times its size, which no trace does; "
		     "--any-ratio reads it all the same");
}

/* Decoded bytes, `out` left aside: 0 at the end or after a fault was noted. */
static size_t decode(struct wt_source *src, uint8_t *buf, size_t n)
{
	long got;

	if (src->inflate) {
		got = (long)inflate_some(src, buf, n);
		check_ratio(src, src->text_offset + got);
		return (size_t)got;
	}
	if (src->in_bytes) { /* what the probe for gzip read */
		if (n > src->in_bytes)
			n = src->in_bytes;
		memcpy(buf, src->in, n);
		consume_in(src, n);
		return n;
	}
	if (src->in_ended || src->error)
		return 0;
	got = read_disk(src, buf, n);
	src->in_ended = got == 0;
	if (got <= 0)
		return 0;
	src->disk_read += got;
	return (size_t)got;
}

static int start(struct wt_source *src)
{
	int rc;

	src->in_window = malloc(BACK_BYTES + WINDOW_BYTES);
	src->in = src->in_window ? src->in_window + BACK_BYTES : NULL;
	src->out = malloc(HEAD_BYTES);
	if (!src->in_window || !src->out)
		return -WT_E_NOMEM;
	memset(src->in_window, 0, BACK_BYTES);
	rc = fill_in(src);
	/* A pipe may deliver one byte at first: two are needed. */
	while (!rc && src->in_bytes == 1 && src->in[0] == 0x1f && !src->in_ended) {
		long got = read_disk(src, src->in_window + BACK_BYTES + 1, WINDOW_BYTES - 1);

		if (got < 0)
			return (int)got;
		src->in_ended = got == 0;
		src->in_bytes += (size_t)got;
		src->disk_read += got;
	}
	if (rc || src->in_bytes < 2 || src->in[0] != 0x1f || src->in[1] != 0x8b)
		return rc;
	src->inflate = calloc(1, sizeof(*src->inflate));
	if (!src->inflate)
		return -WT_E_NOMEM;
	isal_inflate_init(src->inflate);
	src->inflate->crc_flag = ISAL_GZIP;
	src->members = 1;
	return 0;
}

void wt_source_any_ratio(void)
{
	any_ratio = 1;
}

int wt_source_open_memory(struct wt_source **ret, const void *bytes, size_t n)
{
	struct wt_source *src = calloc(1, sizeof(*src));
	int rc;

	if (!src)
		return -WT_E_NOMEM;
	src->fd = -1;
	src->memory = bytes;
	src->memory_bytes = n;
	rc = start(src);
	if (rc)
		wt_source_close(src);
	else
		*ret = src;
	return rc;
}

static int fail_open(struct wt_diag *diag, enum wt_err err, const char *path, int sys_errno,
		     const char *text)
{
	wt_fail(diag, err, -1, "%s", text);
	if (diag) {
		strncpy(diag->path, path, sizeof(diag->path) - 1);
		diag->path[sizeof(diag->path) - 1] = '\0';
		diag->sys_errno = sys_errno;
	}
	return -(int)err;
}

int wt_source_open(struct wt_source **ret, const char *path, struct wt_diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct wt_source *src;
	struct stat st;
	int rc;

	if (fd < 0) {
		if (errno == ENOENT || errno == ENOTDIR)
			return fail_open(diag, WT_E_NOENT, path, errno, "no such file");
		return fail_open(diag, WT_E_IO, path, errno, strerror(errno));
	}
	if (!fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		close(fd);
		return fail_open(diag, WT_E_IO, path, EISDIR, "a directory, not a file");
	}
	src = calloc(1, sizeof(*src));
	if (!src) {
		close(fd);
		return fail_open(diag, WT_E_NOMEM, path, 0, "out of memory");
	}
	src->fd = fd;
	strncpy(src->path, path, sizeof(src->path) - 1);
	/* Only a hint; pipes refuse it. */
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	rc = start(src);
	if (rc) {
		if (src->error && diag)
			*diag = src->fault;
		else
			fail_open(diag, (enum wt_err) - rc, path, 0, wt_strerror(rc));
		wt_source_close(src);
		return rc;
	}
	*ret = src;
	return 0;
}

const uint8_t *wt_source_head(struct wt_source *src, size_t *ret_n)
{
	while (src->text_offset == 0 && src->out_bytes < HEAD_BYTES) {
		size_t got = decode(src, src->out + src->out_bytes, HEAD_BYTES - src->out_bytes);

		if (!got)
			break;
		src->out_bytes += got;
	}
	/* The mark that some editors and shells put before UTF-8: no part of any format. */
	if (!src->text_offset && src->out_bytes > 3 && !memcmp(src->out, "\xef\xbb\xbf", 3)) {
		src->out_at = 3;
		src->text_offset = 3;
	}
	*ret_n = src->out_bytes - src->out_at;
	return src->out + src->out_at;
}

long wt_source_read(struct wt_source *src, void *buf, size_t n)
{
	size_t got = src->out_bytes - src->out_at;

	if (!n)
		return 0;
	if (got) {
		got = got < n ? got : n;
		memcpy(buf, src->out + src->out_at, got);
		src->out_at += got;
	} else {
		got = decode(src, buf, n);
	}
	src->text_offset += (int64_t)got;
	return got || !src->error ? (long)got : src->error;
}

const char *wt_source_path(const struct wt_source *src)
{
	return src->path;
}

int64_t wt_source_disk_offset(const struct wt_source *src)
{
	/* What head() read ahead of the caller is not consumed; in a plain file the two offsets are one. */
	return src->inflate ? src->disk_read - (int64_t)src->in_bytes : src->text_offset;
}

int64_t wt_source_size(const struct wt_source *src)
{
	struct stat st;

	if (src->fd < 0)
		return (int64_t)src->memory_bytes;
	return !fstat(src->fd, &st) && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

int64_t wt_source_text_offset(const struct wt_source *src)
{
	return src->text_offset;
}

int wt_source_is_gzip(const struct wt_source *src)
{
	return src->inflate != NULL;
}

int64_t wt_source_trailing_bytes(const struct wt_source *src)
{
	return src->trailing;
}

int wt_source_refused(const struct wt_source *src)
{
	return src->error == -WT_E_LIMIT;
}

const struct wt_diag *wt_source_fault(const struct wt_source *src)
{
	return &src->fault;
}

void wt_source_close(struct wt_source *src)
{
	if (!src)
		return;
	if (src->fd >= 0)
		close(src->fd);
	free(src->in_window);
	free(src->out);
	free(src->inflate);
	free(src);
}
