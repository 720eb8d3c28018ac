/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's buffers: one is open at a time for the whole process, API and device records interleave in it. When a
 * record has no room the buffer is complete and goes back to the client on the thread that found it full: the device
 * thread or an application thread, as in life.
 *
 * The client's callbacks are called without our lock (clients take locks of their own in them); a buffer that another
 * thread asked for meanwhile is kept as a spare. A scenario can lose buffers: [cupti] lose_buffer = N[,M...] hands the
 * Nth one back empty, counts its records as dropped and says so in the truth. [cupti] keep = N: full ones are handed
 * back when there are more than N of them, or at a flush, as a CUPTI does that has a worker for it.
 */
#include "simgpu/cupti/cupti_sim.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPARES 16
#define REFUSABLE  28 /* CUPTI of 12.9: the first that outlives a client without a buffer for it */

struct buffer {
	uint8_t *data;
	size_t size, used, max_records, records;
	struct cupti_counts counts;
	struct buffer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;
static struct buffer *open_buffer, *spares, *done, **done_tail = &done;
static unsigned spare_count;
static unsigned kept; /* in the list `done` */
static unsigned delivering;
static size_t dropped;
static uint64_t handed_back; /* buffers with records in them, for lose_buffer */
static CUpti_BuffersCallbackRequestFunc request_fn;
static CUpti_BuffersCallbackCompleteFunc complete_fn;
static __thread int in_callback;

void cupti_set_callbacks(CUpti_BuffersCallbackRequestFunc request,
			 CUpti_BuffersCallbackCompleteFunc complete)
{
	pthread_mutex_lock(&lock);
	request_fn = request;
	complete_fn = complete;
	pthread_mutex_unlock(&lock);
}

int cupti_has_callbacks(void)
{
	int has;

	pthread_mutex_lock(&lock);
	has = request_fn && complete_fn;
	pthread_mutex_unlock(&lock);
	return has;
}

size_t cupti_take_dropped(void)
{
	size_t n;

	pthread_mutex_lock(&lock);
	n = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return n;
}

/* Is n in the list "3, 5"? */
static int listed(const char *list, uint64_t n)
{
	char *end;

	while (list && *list) {
		unsigned long long v = strtoull(list, &end, 10);

		if (end == list)
			list++;
		else if (v == n)
			return 1;
		else
			list = end;
	}
	return 0;
}

static uint64_t setting(const char *key)
{
	const struct sim_export *sim = cupti_sim();
	const char *value = sim ? sim->scenario(key) : NULL;

	return value ? strtoull(value, NULL, 10) : 0;
}

/* The client had none to give. */
static void refused(void)
{
	const struct sim_export *sim = cupti_sim();
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (sim && !atomic_flag_test_and_set(&said))
		sim->truth_note("cupti_refused", "%u", (unsigned)cupti_version());
	if (cupti_version() < REFUSABLE)
		raise(SIGSEGV);
}

/* Holds the lock; gives it up around the client's callback. Leaves open_buffer NULL if there is none to be had. */
static void get_buffer(void)
{
	CUpti_BuffersCallbackRequestFunc fn = request_fn;
	struct buffer *b = spares;

	if (b) {
		spares = b->next;
		spare_count--;
		open_buffer = b;
		return;
	}
	if (!fn || in_callback)
		return;
	pthread_mutex_unlock(&lock);
	b = calloc(1, sizeof(*b));
	if (b) {
		in_callback = 1;
		fn(&b->data, &b->size, &b->max_records);
		in_callback = 0;
		if (!b->data || !b->size) {
			refused();
			free(b);
			b = NULL;
		}
	}
	pthread_mutex_lock(&lock);
	if (!b)
		return;
	if (!open_buffer) {
		open_buffer = b;
	} else {
		b->next = spares;
		spares = b;
		spare_count++;
	}
}

/* Holds the lock. */
static void close_buffer(void)
{
	struct buffer *b = open_buffer;

	open_buffer = NULL;
	b->next = NULL;
	*done_tail = b;
	done_tail = &b->next;
	kept++;
}

static void hand_back(struct buffer *b, CUpti_BuffersCallbackCompleteFunc fn, uint64_t number)
{
	const struct sim_export *sim = cupti_sim();
	size_t valid = b->used;

	if (b->records && sim && listed(sim->scenario("cupti.lose_buffer"), number)) {
		sim->truth_note(
			"lost_buffer", "buffer=%llu kernel=%llu copy=%llu memset=%llu api=%llu",
			(unsigned long long)number, (unsigned long long)b->counts.kernel,
			(unsigned long long)b->counts.copy, (unsigned long long)b->counts.memset,
			(unsigned long long)b->counts.api);
		valid = 0;
		pthread_mutex_lock(&lock);
		dropped += b->records;
		pthread_mutex_unlock(&lock);
	}
	if (fn) {
		in_callback = 1;
		fn(NULL, 0, b->data, b->size, valid);
		in_callback = 0;
	}
	free(b);
}

/* Holds the lock; gives it up around each callback. All but the last `most`. */
static void deliver(uint64_t most)
{
	while (done && kept > most) {
		CUpti_BuffersCallbackCompleteFunc fn = complete_fn;
		struct buffer *b = done;
		uint64_t number = b->records ? ++handed_back : 0;

		done = b->next;
		if (!done)
			done_tail = &done;
		kept--;
		delivering++;
		pthread_mutex_unlock(&lock);
		hand_back(b, fn, number);
		pthread_mutex_lock(&lock);
		delivering--;
		pthread_cond_broadcast(&delivered);
	}
}

static void count(struct buffer *b, enum cupti_class cls)
{
	uint64_t *slots[] = {&b->counts.kernel, &b->counts.copy, &b->counts.memset, &b->counts.api,
			     &b->counts.other};

	b->records++;
	++*slots[cls];
}

static int has_room(const struct buffer *b, size_t bytes)
{
	return bytes <= b->size - b->used && (!b->max_records || b->records < b->max_records);
}

void cupti_append(const void *record, size_t bytes, enum cupti_class cls)
{
	pthread_mutex_lock(&lock);
	if (open_buffer && !has_room(open_buffer, bytes))
		close_buffer();
	if (!open_buffer)
		get_buffer();
	/* Another thread may have filled the buffer we asked for: the spare list makes a second try enough. */
	if (open_buffer && !has_room(open_buffer, bytes) && open_buffer->records) {
		close_buffer();
		get_buffer();
	}
	if (open_buffer && has_room(open_buffer, bytes)) {
		memcpy(open_buffer->data + open_buffer->used, record, bytes);
		open_buffer->used += bytes;
		count(open_buffer, cls);
	} else {
		dropped++;
	}
	deliver(done ? setting("cupti.keep") : 0);
	pthread_mutex_unlock(&lock);
}

void cupti_flush(void)
{
	pthread_mutex_lock(&lock);
	if (open_buffer && open_buffer->records)
		close_buffer();
	deliver(0);
	/* Buffers under way on other threads belong to the flush too, but never wait inside a callback. */
	while (delivering && !in_callback)
		pthread_cond_wait(&delivered, &lock);
	pthread_mutex_unlock(&lock);
}
