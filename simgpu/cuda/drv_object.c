/* SPDX-License-Identifier: Apache-2.0 */
/* Objects behind the public handles: type-stable memory, so that a stale handle can be told. See drv.h. */
#include "simgpu/cuda/drv.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *free_list[DRV_TYPES - DRV_CTX];

void *drv_new(enum drv_type type, size_t bytes)
{
	struct drv_head *h;
	void **list = &free_list[type - DRV_CTX];

	pthread_mutex_lock(&lock);
	h = *list;
	if (h)
		*list = h->next_free;
	pthread_mutex_unlock(&lock);
	if (h)
		memset(h, 0, bytes);
	else
		h = sim_alloc(bytes);
	h->type = type;
	return h;
}

void drv_free(void *object)
{
	struct drv_head *h = object;
	void **list;

	if (!h)
		return;
	list = &free_list[h->type - DRV_CTX];
	pthread_mutex_lock(&lock);
	h->type = 0;
	h->next_free = *list;
	*list = h;
	pthread_mutex_unlock(&lock);
}
