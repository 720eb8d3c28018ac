// SPDX-License-Identifier: Apache-2.0
/*
 * The black box as memory: where it lies, how it is reserved, how it grows. wt_box_open() runs once on the job's
 * thread inside the first cuInit; everything else on the writer thread.
 *
 * The file is never sparse: each segment is fallocated before it is mapped, so a full disk is an error here and not
 * a SIGBUS in a hook. It lies on a local file system or nowhere. Tried and rejected: MAP_POPULATE (does not prefault
 * shared file pages for write), posix_fallocate (its emulation writes block by block), a SIGBUS handler (the job's).
 */
#define _GNU_SOURCE
#include "box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent.h"
#include "box_places.h"
#include "config.h"
#include "proc_text.h"
#include "proto/wt_err.h"
#include "redact.h"
#include "trouble.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

#define ADDRESSES_MIN (8ull << 30) /* of RLIMIT_AS; CUDA itself wants more */

static struct wt_box the_box; /* one per process */
struct wt_box *wt_box;

/* Memory that may become a file: only where a mapped page cannot be taken away or stall on a network. */
static int is_local(const char *dir)
{
	static const long fit[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,
				   OVERLAYFS_SUPER_MAGIC, TMPFS_MAGIC};
	struct statfs s;

	if (statfs(dir, &s))
		return 0;
	for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++)
		if ((long)s.f_type == fit[i])
			return 1;
	return 0;
}

/* Containers often have 64 MB of /dev/shm, shared with NCCL and data loaders: filling it breaks the job. */
static int has_room(const char *dir, size_t bytes)
{
	struct statfs s;

	return !statfs(dir, &s) && (uint64_t)s.f_bavail * (uint64_t)s.f_bsize >= bytes;
}

static int open_file(struct wt_box *b, const char *dir, const char *stem)
{
	char path[sizeof(b->file.path)];
	int n, r;

	if (!dir || *dir != '/' || !is_local(dir))
		return -WT_E_UNSUPPORTED;
	n = snprintf(path, sizeof(path), "%s/%s.ring", dir, stem);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -WT_E_LIMIT;
	r = wt_own_file_create(&b->file, path, O_RDWR);
	if (r)
		return r;
	b->is_file = 1;
	b->kind = "file";
	return 0;
}

static void drop_file(struct wt_box *b)
{
	if (unlink(b->file.path))
		WT_TROUBLE(LEFT_BEHIND, errno);
	wt_own_file_close(&b->file);
	b->is_file = 0;
}

/* EOPNOTSUPP: some file systems cannot reserve; writing zeros can. */
static int reserve(int fd, off_t at, off_t bytes)
{
	static const char zeros[4096];

	if (!fallocate(fd, 0, at, bytes))
		return 0;
	if (errno != EOPNOTSUPP)
		return -WT_E_IO;
	for (off_t done = 0; done < bytes; done += (off_t)sizeof(zeros))
		if (pwrite(fd, zeros, sizeof(zeros), at + done) != (ssize_t)sizeof(zeros))
			return -WT_E_IO;
	return 0;
}

static void populate(uint8_t *at, size_t bytes)
{
	if (!madvise(at, bytes, MADV_POPULATE_WRITE))
		return;
	for (size_t i = 0; i < bytes; i += 4096)
		((volatile uint8_t *)at)[i] = 0;
}

static void add_pieces(struct wt_box *b, uint32_t seg)
{
	uint32_t per = WT_SEG_BYTES / WT_PIECE_BYTES;
	uint32_t made = atomic_load_explicit(&b->pieces_made, memory_order_relaxed);

	b->piece_seg[made / per] = seg;
	atomic_store_explicit(&b->pieces_made, made + per, memory_order_release);
}

uint8_t *wt_box_piece(uint32_t what, uint32_t index)
{
	struct wt_box *b = wt_box;
	uint32_t per = WT_SEG_BYTES / WT_PIECE_BYTES, made, n;
	struct wt_piece *p;

	if (!b)
		return NULL;
	made = atomic_load_explicit(&b->pieces_made, memory_order_acquire);
	n = atomic_load_explicit(&b->pieces_used, memory_order_relaxed);
	do {
		if (n >= made)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&b->pieces_used, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
	p = (struct wt_piece *)(b->base + (size_t)b->piece_seg[n / per] * WT_SEG_BYTES +
				(size_t)(n % per) * WT_PIECE_BYTES);
	p->what = what;
	p->index = index;
	p->magic = WT_PIECE_MAGIC;
	if (made - n < WT_PIECES_LOW)
		wt_writer_poke(); /* only the writer can make more */
	return (uint8_t *)p;
}

int wt_box_grow(struct wt_box *b, enum wt_seg_kind kind)
{
	uint32_t seg = atomic_load_explicit(&b->segs, memory_order_relaxed);
	off_t at = (off_t)seg * WT_SEG_BYTES;
	uint8_t *where = b->base + at;
	int flags = MAP_FIXED | (b->is_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);

	if (seg >= b->segs_max)
		return -WT_E_LIMIT;
	/* Asked each time: to reserve and map what has become the job's own file would destroy its data. */
	if (b->is_file &&
	    (!wt_own_file_check(&b->file, NULL) || reserve(b->file.fd, at, WT_SEG_BYTES)))
		return -WT_E_IO;
	if (mmap(where, WT_SEG_BYTES, PROT_READ | PROT_WRITE, flags, b->file.fd,
		 b->is_file ? at : 0) == MAP_FAILED)
		return -WT_E_NOMEM;
	madvise(where, WT_SEG_BYTES, MADV_DONTFORK);
	madvise(where, WT_SEG_BYTES, MADV_DONTDUMP);
	/* Most jobs have few threads and few names: later rings and pieces become memory as they are used. */
	if (seg == 0 || (kind != WT_SEG_HEAD && kind != WT_SEG_PIECES))
		populate(where, WT_SEG_BYTES);
	b->head->seg_kind[seg] = (uint8_t)kind;
	atomic_store_explicit(&b->segs, seg + 1, memory_order_release);
	atomic_store_explicit(&b->head->segs, seg + 1, memory_order_release);
	if (kind == WT_SEG_CHUNKS)
		wt_chunk_seg_init(b, seg);
	else if (kind == WT_SEG_BUFFERS)
		wt_buffer_seg_init(b, seg);
	else if (kind == WT_SEG_PIECES)
		add_pieces(b, seg);
	return 0;
}

static int short_of(_Atomic uint32_t *count, uint32_t low)
{
	return atomic_load_explicit(count, memory_order_relaxed) < low;
}

/* Names take at most a quarter of the box: beyond, they are kept in plain memory, and a killed job's are not known. */
static int pieces_are_low(struct wt_box *b)
{
	uint32_t made = atomic_load_explicit(&b->pieces_made, memory_order_relaxed);

	return made / (WT_SEG_BYTES / WT_PIECE_BYTES) < (b->segs_max + 3) / 4 &&
	       made - atomic_load_explicit(&b->pieces_used, memory_order_relaxed) < WT_PIECES_LOW;
}

void wt_box_tend(struct wt_box *b)
{
	uint32_t chunks = atomic_load_explicit(&b->chunk_count, memory_order_relaxed) / 4;

	if (chunks < WT_CHUNKS_LOW)
		chunks = WT_CHUNKS_LOW;
	while (!b->cannot_grow && short_of(&b->free_chunk_count, chunks))
		b->cannot_grow = wt_box_grow(b, WT_SEG_CHUNKS) != 0;
	while (!b->cannot_grow && pieces_are_low(b))
		b->cannot_grow = wt_box_grow(b, WT_SEG_PIECES) != 0;
	while (!b->cannot_grow && atomic_load(&b->wants_buffers) &&
	       short_of(&b->free_buffer_count, WT_BUFFERS_LOW))
		b->cannot_grow = wt_box_grow(b, WT_SEG_BUFFERS) != 0;
}

void wt_box_want_buffers(int now)
{
	if (!wt_box)
		return;
	atomic_store(&wt_box->wants_buffers, 1);
	if (now)
		wt_box_tend(wt_box);
}

/* Small integers from a file of the system; 0 = not there or no limit. */
static uint64_t read_limit(const char *path)
{
	char text[64];

	wt_proc_text(path, text, sizeof(text));
	if (text[0] < '0' || text[0] > '9')
		return 0;
	return strtoull(text, NULL, 10);
}

/* The least of a group's limit and those of the groups above it. In a container these are not to be seen. */
static uint64_t least_limit(const char *root, char *group, const char *file)
{
	uint64_t limit = 0, one;
	char path[2304], *slash;

	do {
		slash = strrchr(group, '/');
		if (snprintf(path, sizeof(path), "%s%s/%s", root, group, file) <
		    (int)sizeof(path)) {
			one = read_limit(path);
			if (one && (!limit || one < limit))
				limit = one;
		}
		if (slash)
			*slash = 0;
	} while (slash);
	return limit;
}

/* tmpfs pages cannot be reclaimed and count against the job's memory: at most 1 % of what its cgroup allows. */
static uint64_t cgroup_limit(void)
{
	static const struct {
		const char *key, *root, *file;
	} where[] = {{"0::/", "/sys/fs/cgroup", "memory.max"},
		     {":memory:/", "/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};
	static char text[8192]; /* version 1: a line, and a long path, for each controller */
	char group[2048];
	uint64_t limit = 0;

	wt_proc_text("/proc/self/cgroup", text, sizeof(text));
	for (size_t i = 0; i < sizeof(where) / sizeof(where[0]) && !limit; i++) {
		const char *line = strstr(text, where[i].key);

		line = line ? line + strlen(where[i].key) - 1 : "";
		snprintf(group, sizeof(group), "%.*s", (int)strcspn(line, "\n"), line);
		if (!strcmp(group, "/"))
			group[0] = 0;
		limit = least_limit(where[i].root, group, where[i].file);
	}
	return limit;
}

/* Address space for the whole cap at once: chunks never move. Aligned so that a row's address names its chunk. */
static int reserve_addresses(struct wt_box *b)
{
	size_t bytes = b->cap_bytes + WT_SEG_BYTES;
	struct rlimit lim;
	uint8_t *p;

	/* The agent reserves most of a GiB, little of it ever used: not out of a job's allowance. */
	if (!getrlimit(RLIMIT_AS, &lim) && lim.rlim_cur < ADDRESSES_MIN)
		return -WT_E_NOMEM;
	p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -WT_E_NOMEM;
	madvise(p, bytes, MADV_DONTFORK);
	b->base = (uint8_t *)(((uintptr_t)p + WT_SEG_BYTES - 1) & ~(uintptr_t)(WT_SEG_BYTES - 1));
	return 0;
}

static int fill(struct wt_box *b)
{
	static const enum wt_seg_kind first[] = {WT_SEG_CHUNKS, WT_SEG_PIECES, WT_SEG_CHUNKS};
	struct wt_box_head *h = b->head = (struct wt_box_head *)b->base;

	atomic_store(&b->segs, 0); /* a file tried before may have got some way */
	atomic_store(&b->free_chunks, 0);
	atomic_store(&b->free_chunk_count, 0);
	atomic_store(&b->chunk_count, 0);
	atomic_store(&b->pieces_made, 0);
	for (uint32_t i = 0; i < WT_HEAD_SEGS; i++)
		if (wt_box_grow(b, WT_SEG_HEAD))
			return -WT_E_IO;
	memcpy(h->magic, "WTBX", 4);
	h->version = WT_BOX_VERSION;
	h->head_bytes = WT_BOX_HEAD_BYTES;
	h->seg_bytes = WT_SEG_BYTES;
	h->ring_bytes = WT_RING_BYTES;
	h->rings_max = WT_RINGS_MAX;
	h->pid = (uint64_t)getpid();
	h->cap_bytes = b->cap_bytes;
	h->hooks = wt_hooks_hash();
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (wt_box_grow(b, first[i]))
			return i == 0 ? -WT_E_IO : 0; /* little room is better than none */
	return 0;
}

/* The recorder of a file holds a lock on it: recovery leaves the box of a job that lives alone. */
static void lock_file(struct wt_box *b)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	fcntl(b->file.fd, F_SETLK, &l);
}

int wt_box_open(const char *trace_dir, const char *stem, uint64_t cap_bytes)
{
	struct wt_box *b = &the_box;
	const char *dirs[] =
		WT_BOX_PLACES(wt_config.ring_dir, trace_dir, secure_getenv("XDG_RUNTIME_DIR"));
	size_t n = sizeof(dirs) / sizeof(dirs[0]);
	uint64_t limit = cgroup_limit() / 100;

	if (wt_box)
		return -WT_E_USAGE;
	if (limit && limit < cap_bytes)
		cap_bytes = limit;
	memset(b, 0, sizeof(*b));
	b->segs_max = (uint32_t)(cap_bytes / WT_SEG_BYTES);
	if (b->segs_max < 6)
		b->segs_max = 6; /* below 12 MiB it would be of no use */
	if (b->segs_max > WT_SEGS_MAX)
		b->segs_max = WT_SEGS_MAX;
	b->cap_bytes = (size_t)b->segs_max * WT_SEG_BYTES;
	b->file.fd = -1;
	if (reserve_addresses(b))
		return -WT_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		if (i == n - 1 && !has_room(dirs[i], 4 * b->cap_bytes))
			continue;
		if (open_file(b, dirs[i], stem))
			continue;
		if (!fill(b)) {
			lock_file(b);
			if (strcmp(dirs[i], trace_dir) !=
			    0) /* after a kill somebody will look for it */
				wt_log("the black box is %s", wt_redacted_word(b->file.path));
			wt_box = b;
			return 0;
		}
		drop_file(b);
	}
	b->kind = "anonymous";
	WT_TROUBLE(BLACK_BOX, errno);
	if (fill(b))
		return -WT_E_NOMEM;
	wt_box = b;
	return 0;
}

void wt_box_hold(void)
{
	struct wt_box *b = wt_box;

	if (b && b->is_file && wt_own_file_check(&b->file, NULL))
		lock_file(b);
}

void wt_box_trace(const char *path, const uint8_t file_id[16])
{
	struct wt_box_head *h = wt_box ? wt_box->head : NULL;

	if (!h)
		return;
	if (!wt_config.redact)
		memcpy(h->trace, path, strnlen(path, WT_BOX_TRACE_MAX - 1));
	memcpy(h->file_id, file_id, sizeof(h->file_id));
}

void wt_box_lost(uint64_t rows)
{
	if (wt_box)
		atomic_store_explicit(&wt_box->head->lost_rows, rows, memory_order_relaxed);
}

void wt_box_keep_state(const struct wt_box_state *s)
{
	struct wt_box *b = wt_box;
	struct wt_box_state *to;
	uint64_t n;

	if (!b)
		return;
	n = ++b->states;
	to = &b->head->states[n % WT_BOX_STATES];
	atomic_store_explicit(&to->n, 0, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(to, s, offsetof(struct wt_box_state, n));
	atomic_store_explicit(&to->n, n, memory_order_release);
}

void wt_box_stride(uint32_t kind, size_t bytes, int extra)
{
	if (!wt_box || kind >= WT_CUPTI_KINDS || bytes > UINT16_MAX)
		return;
	wt_box->head->stride[kind] = (uint16_t)bytes;
	wt_box->head->cupti_extra = (uint32_t)extra;
}

const char *wt_box_kind(void)
{
	return wt_box ? wt_box->kind : "none";
}

uint64_t wt_box_mapped_bytes(void)
{
	return wt_box ? (uint64_t)atomic_load(&wt_box->segs) * WT_SEG_BYTES : 0;
}

void wt_box_close(int keep)
{
	struct wt_box *b = wt_box;

	if (!b || !b->is_file)
		return;
	b->cannot_grow = 1;
	/* The trace is closed by now: the log has the word. */
	if (!keep && wt_own_file_check(&b->file, NULL) && unlink(b->file.path))
		wt_log("%s could not be removed: error %d", wt_redacted_word(b->file.path), errno);
	wt_own_file_close(&b->file);
}

static void cover(struct wt_box *b)
{
	mmap(b->base, b->cap_bytes, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

/*
 * Nobody of this process shortens the file, but somebody outside can: then the next store is a SIGBUS. Pages of no file
 * take its place as soon as it is seen.
 */
int wt_box_is_cut(void)
{
	struct wt_box *b = wt_box;
	struct stat st;

	if (!b || !b->is_file || !wt_own_file_check(&b->file, &st) ||
	    (uint64_t)st.st_size >= (uint64_t)atomic_load(&b->segs) * WT_SEG_BYTES)
		return 0;
	cover(b);
	atomic_store(wt_level_word, WT_LEVEL_INERT);
	wt_log("%s was truncated by someone else: recording stopped",
	       wt_redacted_word(b->file.path));
	unlink(b->file.path);
	return 1;
}

/*
 * The box is not inherited; but CUPTI's state is, with the addresses of the buffers it was lent, and what it still
 * writes there in a child would be a SIGSEGV. Private pages take their place: nobody reads them.
 */
void wt_box_forked(void)
{
	struct wt_box *b = wt_box;

	if (b)
		cover(b);
}
