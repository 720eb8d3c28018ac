/* SPDX-License-Identifier: Apache-2.0 */
/* Create, destroy and the stream of a library's handle, as three or four of them spell it. */
#ifndef SIM_LIB_STREAMS_H
#define SIM_LIB_STREAMS_H

#include <stddef.h>

#include "simgpu/libs/lib_handle.h"
#include "simgpu/libs/lib_stub.h"

#define SIM_HANDLE_DESTROY(name, bad)                                                              \
	SIM_API int name(void *handle)                                                             \
	{                                                                                          \
		struct sim_lib_handle *h = sim_lib_handle(handle);                                 \
                                                                                                   \
		sim_lib_handle_free(h);                                                            \
		return h ? 0 : bad;                                                                \
	}
#define SIM_HANDLE_SET_STREAM(name, bad)                                                           \
	SIM_API int name(void *handle, void *stream)                                               \
	{                                                                                          \
		struct sim_lib_handle *h = sim_lib_handle(handle);                                 \
                                                                                                   \
		if (!h)                                                                            \
			return bad;                                                                \
		h->stream = stream;                                                                \
		return 0;                                                                          \
	}
#define SIM_HANDLE_GET_STREAM(name, bad)                                                           \
	SIM_API int name(void *handle, void **ret)                                                 \
	{                                                                                          \
		struct sim_lib_handle *h = sim_lib_handle(handle);                                 \
                                                                                                   \
		if (!h || !ret)                                                                    \
			return bad;                                                                \
		*ret = h->stream;                                                                  \
		return 0;                                                                          \
	}

static inline int sim_handle_create(void **ret, int bad)
{
	struct sim_lib_handle *h = ret ? sim_lib_handle_new() : NULL;

	if (!h)
		return bad;
	*ret = h;
	return 0;
}

#endif
