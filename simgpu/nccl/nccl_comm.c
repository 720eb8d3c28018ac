/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators: the shared file in which the ranks meet, joining it, leaving it.
 *
 * Whoever comes first creates /dev/shm/simnccl-<id>; the last one to join unlinks it, so that nothing stays behind but
 * after a rank that never came. The file is sparse and mapped as a whole; only bytes that the file system has promised
 * (fallocate) are ever touched: a full /dev/shm is an error of the call, not a bus error of the job.
 * Host threads only; the device thread uses the mapping.
 */
#define _GNU_SOURCE /* fallocate */
#include "simgpu/nccl/nccl_sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define GIB (1ull << 30)
#define DATA_BUDGET                                                                                \
	(128 * GIB) /* of addresses, for each kind of region; memory is used only where data lies */
#define JOIN_LIMIT_S 120

static uint64_t hash_bytes(const void *p, size_t n, uint64_t h)
{
	const unsigned char *b = p;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return h;
}

static void nap(void)
{
	struct timespec t = {0, 200000};

	nanosleep(&t, NULL);
}

static size_t pages(size_t bytes)
{
	return (bytes + 4095) & ~(size_t)4095;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Sizes and places in the file; the same on all ranks. */
static size_t data_offset(size_t n)
{
	size_t pairs = n * n * NCCL_SLOTS * 2;

	return pages(4096 + (n * NCCL_SLOTS + pairs) * sizeof(struct nccl_arrival) +
		     2 * n * sizeof(struct nccl_split_row));
}

static void lay_out(struct ncclComm *c)
{
	size_t n = (size_t)c->nranks;
	char *base = (char *)c->shared;

	c->arrivals = (struct nccl_arrival *)(base + 4096);
	c->pairs = c->arrivals + n * NCCL_SLOTS;
	c->splits = (struct nccl_split_row *)(c->pairs + n * n * NCCL_SLOTS * 2);
	c->regions = base + data_offset(n);
	c->pair_regions = c->regions + 2 * n * c->region_bytes;
}

char *nccl_region(struct ncclComm *c, int rank, uint64_t seq)
{
	return c->regions + ((size_t)rank * 2 + (seq & 1)) * c->region_bytes;
}

char *nccl_pair_region(struct ncclComm *c, int from, int to, uint64_t seq)
{
	return c->pair_regions +
	       (((size_t)from * c->nranks + to) * 2 + (seq & 1)) * c->pair_region_bytes;
}

static ncclResult_t map_file(struct ncclComm *c)
{
	size_t n = (size_t)c->nranks, head = data_offset(n);

	c->region_bytes = least(4 * GIB, DATA_BUDGET / (2 * n)) & ~(size_t)4095;
	c->pair_region_bytes = least(GIB, DATA_BUDGET / (2 * n * n)) & ~(size_t)4095;
	c->map_bytes = head + 2 * n * c->region_bytes + 2 * n * n * c->pair_region_bytes;
	c->fd = shm_open(c->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (c->fd < 0)
		return nccl_fail(ncclSystemError, "cannot create /dev/shm%s: %s", c->name,
				 strerror(errno));
	if (ftruncate(c->fd, (off_t)c->map_bytes) || posix_fallocate(c->fd, 0, (off_t)head))
		return nccl_fail(ncclSystemError,
				 "no room in /dev/shm for a communicator of %d ranks", c->nranks);
	c->shared = mmap(NULL, c->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			 c->fd, 0);
	if (c->shared == MAP_FAILED) {
		c->shared = NULL;
		return nccl_fail(ncclSystemError, "cannot map %zu bytes of /dev/shm%s: %s",
				 c->map_bytes, c->name, strerror(errno));
	}
	lay_out(c);
	return ncclSuccess;
}

static ncclResult_t enter_file(struct ncclComm *c)
{
	uint32_t none = 0, n = (uint32_t)c->nranks;

	if (!__atomic_compare_exchange_n(&c->shared->nranks, &none, n, 0, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE) &&
	    none != n)
		return nccl_fail(ncclInvalidArgument,
				 "rank %d says %d ranks, another one of the same id said %u",
				 c->rank, c->nranks, none);
	c->shared->world[c->rank] = nccl_world_rank(c->device);
	if (__atomic_add_fetch(&c->shared->joined, 1, __ATOMIC_ACQ_REL) > n)
		return nccl_fail(ncclInvalidUsage, "more than %d ranks joined one communicator",
				 c->nranks);
	if (__atomic_load_n(&c->shared->joined, __ATOMIC_ACQUIRE) == n)
		shm_unlink(c->name);
	return ncclSuccess;
}

static void free_comm(struct ncclComm *c)
{
	if (!c)
		return;
	if (c->shared)
		munmap(c->shared, c->map_bytes);
	if (c->fd >= 0)
		close(c->fd);
	free(c->reserved);
	free(c->sent);
	free(c->received);
	free(c);
}

ncclResult_t nccl_comm_join(struct ncclComm **ret, const void *id, size_t id_bytes, int nranks,
			    int rank, int device)
{
	struct ncclComm *c;
	ncclResult_t rc;

	if (nranks < 1 || nranks > NCCL_MAX_RANKS || rank < 0 || rank >= nranks)
		return nccl_fail(ncclInvalidArgument,
				 "rank %d of %d: want 0 <= rank < nranks <= %d", rank, nranks,
				 NCCL_MAX_RANKS);
	c = calloc(1, sizeof(*c));
	if (!c)
		return nccl_fail(ncclSystemError, "out of memory");
	c->fd = -1;
	c->rank = rank;
	c->nranks = nranks;
	c->device = device;
	c->hash = hash_bytes(id, id_bytes, 0xcbf29ce484222325ull);
	snprintf(c->name, sizeof(c->name), "/simnccl-%016llx%016llx", (unsigned long long)c->hash,
		 (unsigned long long)hash_bytes(id, id_bytes, 0x9ae16a3b2f90404full));
	pthread_mutex_init(&c->lock, NULL);
	c->reserved = calloc((size_t)nranks + 1, sizeof(*c->reserved));
	c->sent = calloc((size_t)nranks, sizeof(*c->sent));
	c->received = calloc((size_t)nranks, sizeof(*c->received));
	rc = c->reserved && c->sent && c->received ? map_file(c)
						   : nccl_fail(ncclSystemError, "out of memory");
	if (rc == ncclSuccess)
		rc = enter_file(c);
	if (rc != ncclSuccess) {
		free_comm(c);
		return rc;
	}
	c->self = c;
	*ret = c;
	return ncclSuccess;
}

ncclResult_t nccl_comm_wait_joined(struct ncclComm *c)
{
	time_t limit = time(NULL) + JOIN_LIMIT_S;

	while (__atomic_load_n(&c->shared->joined, __ATOMIC_ACQUIRE) < (uint32_t)c->nranks) {
		if (__atomic_load_n(&c->shared->aborted, __ATOMIC_ACQUIRE))
			return nccl_fail(ncclRemoteError, "another rank gave up while joining");
		if (time(NULL) > limit) {
			shm_unlink(c->name);
			return nccl_fail(ncclSystemError,
					 "rank %d waited %d s for the other ranks: %u of %d came",
					 c->rank, JOIN_LIMIT_S, c->shared->joined, c->nranks);
		}
		nap();
	}
	return ncclSuccess;
}

ncclResult_t nccl_comm_drain(struct ncclComm *c)
{
	while (__atomic_load_n(&c->in_flight, __ATOMIC_ACQUIRE))
		nap();
	return ncclSuccess;
}

/* The struct itself stays, marked dead: a captured graph may still name it. */
void nccl_comm_release(struct ncclComm *c)
{
	void *map = c->shared;

	c->self = NULL;
	if (!map)
		return;
	nccl_prof_finalize(c);
	__atomic_add_fetch(&c->shared->left, 1, __ATOMIC_ACQ_REL);
	c->shared = NULL;
	munmap(map, c->map_bytes);
	close(c->fd);
	c->fd = -1;
	free(c->reserved);
	c->reserved = NULL;
}

void nccl_comm_abandon(struct ncclComm *c)
{
	__atomic_store_n(&c->shared->aborted, 1, __ATOMIC_RELEASE);
	shm_unlink(c->name);
	nccl_comm_release(c);
}

int nccl_comm_ok(const struct ncclComm *c)
{
	return c && !((uintptr_t)c & 7) && c->self == c;
}

ncclResult_t nccl_reserve(struct ncclComm *c, int pair_peer, size_t bytes)
{
	int pair = pair_peer >= 0;
	size_t limit = pair ? c->pair_region_bytes : c->region_bytes;
	size_t *have = &c->reserved[pair ? pair_peer + 1 : 0];
	ncclResult_t rc = ncclSuccess;

	if (bytes > limit)
		return nccl_fail(
			ncclInvalidUsage,
			"an operation of %zu bytes a rank: the simulator moves at most %zu; set "
			"collective_data = small in the scenario's [nccl]",
			bytes, limit);
	pthread_mutex_lock(&c->lock);
	for (uint64_t half = 0; half < 2 && bytes > *have && rc == ncclSuccess; half++) {
		char *at = pair ? nccl_pair_region(c, c->rank, pair_peer, half)
				: nccl_region(c, c->rank, half);
		off_t offset = at - (char *)c->shared;

		if (fallocate(c->fd, 0, offset, (off_t)pages(bytes)))
			rc = nccl_fail(ncclSystemError,
				       "no room in /dev/shm for %zu bytes (%s); set "
				       "collective_data = small "
				       "in the scenario's [nccl]",
				       bytes, strerror(errno));
	}
	if (rc == ncclSuccess && bytes > *have)
		*have = pages(bytes);
	pthread_mutex_unlock(&c->lock);
	return rc;
}
