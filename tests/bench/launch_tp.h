/* SPDX-License-Identifier: Apache-2.0 */
/* LTTng's tracepoints of bench_tracers.c: both ends of a call, with what our record of a launch holds. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER launch
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/launch_tp.h"

#if !defined(LAUNCH_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LAUNCH_TP_H
#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(launch, enter,
	LTTNG_UST_TP_ARGS(uint64_t, function, const uint32_t *, at, uint64_t, stream),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer_hex(uint64_t, function, function)
		lttng_ust_field_integer(uint32_t, grid_x, at[0])
		lttng_ust_field_integer(uint32_t, grid_y, at[1])
		lttng_ust_field_integer(uint32_t, grid_z, at[2])
		lttng_ust_field_integer(uint32_t, block_x, at[3])
		lttng_ust_field_integer(uint32_t, block_y, at[4])
		lttng_ust_field_integer(uint32_t, block_z, at[5])
		lttng_ust_field_integer(uint32_t, shared, at[6])
		lttng_ust_field_integer_hex(uint64_t, stream, stream)))
LTTNG_UST_TRACEPOINT_EVENT(launch, leave,
	LTTNG_UST_TP_ARGS(int, status),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, status, status)))
/* clang-format on */
#endif
#include <lttng/tracepoint-event.h>
