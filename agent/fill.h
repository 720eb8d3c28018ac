/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of which hooks_*.def makes `fill` and `after`. They see: rec (the row), pt (1 in a per-thread-stream
 * twin), n (what the call counts for, 1 unless changed), r (the result, in `after` only), and the parameters.
 */
#ifndef WT_FILL_H
#define WT_FILL_H

#include <stdint.h>

#include "hot.h"
#include "record.h"

#define STREAM(s_) rec->stream = wt_stream((uint64_t)(s_), pt);
#define OBJECT(o_) rec->object = (uint64_t)(o_);
/* The registry's id of what the call made: it is born when the call has begun. */
#define BORN(id_) rec->u.raw[0] = (id_);
#define BLOCKING  rec->flags |= WT_REC_BLOCKING;
#define BYTES(b_) rec->u.copy.bytes = (b_);

#define LAUNCH(f_, gx_, gy_, gz_, bx_, by_, bz_, smem_, s_, attrs_)                                \
	rec->object = (uint64_t)(f_);                                                              \
	rec->stream = wt_stream((uint64_t)(s_), pt);                                               \
	rec->u.launch.gx = (uint32_t)(gx_);                                                        \
	rec->u.launch.gy = (uint16_t)(gy_);                                                        \
	rec->u.launch.gz = (uint16_t)(gz_);                                                        \
	rec->u.launch.bx = (uint16_t)(bx_);                                                        \
	rec->u.launch.by = (uint16_t)(by_);                                                        \
	rec->u.launch.bz = (uint16_t)(bz_);                                                        \
	rec->u.launch.smem = (smem_);                                                              \
	rec->u.launch.attrs = (attrs_);
/*
 * After the row is filled, parameters passed on the stack are only needed there again, for the real call: saves the
 * compiler from keeping them in registers that it must save first (6 instructions a launch).
 */
#define ON_STACK(a_, b_, c_)	  __asm__("" : "+m"(a_), "+m"(b_), "+m"(c_));
#define LAUNCH_EX(config_, f_)	  wt_fill_launch_ex(rec, config_, f_, pt);
#define LAUNCH_MULTI(list_, len_) n = wt_fill_launch_multi(rec, list_, len_);

/* A copy of nothing leaves no device record: counted apart. */
#define COPY(kind_, dst_, bytes_)                                                                  \
	rec->u.copy.bytes = (bytes_);                                                              \
	rec->u.copy.dst = (uint64_t)(dst_);                                                        \
	rec->u.copy.kind = WT_COPY_##kind_;                                                        \
	if (!rec->u.copy.bytes)                                                                    \
		rec->flags |= WT_REC_SOFT;
#define SET(dst_, bytes_)	     COPY(SET, dst_, bytes_)
#define COPY_ANY(dst_, src_, bytes_) wt_fill_copy_any(rec, dst_, src_, bytes_);
#define COPY_2D(copy_)		     wt_fill_copy_2d(rec, copy_);
#define COPY_3D(copy_)		     wt_fill_copy_3d(rec, copy_);
#define COPY_3D_PEER(copy_)	     wt_fill_copy_3d_peer(rec, copy_);
#define COPY_BATCH(sizes_, len_)     n = wt_fill_copy_batch(rec, sizes_, len_);
#define COPY_BATCH_3D(ops_, len_)    n = wt_fill_copy_batch_3d(rec, ops_, len_);

#define NODE_WAS(exec_, node_) unsigned int was = wt_book_node_was(exec_, node_);

#define COLL(op_, count_, type_, redop_, root_, comm_, s_)                                         \
	rec->object = (uint64_t)(comm_);                                                           \
	rec->stream = (uint64_t)(s_);                                                              \
	rec->u.coll.op = WT_COLL_##op_;                                                            \
	rec->u.coll.count = (count_);                                                              \
	rec->u.coll.dtype = (uint8_t)(type_);                                                      \
	rec->u.coll.redop = (uint8_t)(redop_);                                                     \
	rec->u.coll.root = (root_);                                                                \
	rec->u.coll.group = (uint8_t)wt_tls.group;
#define COLL_SEQ(comm_) rec->u.coll.seq = wt_comm_next(comm_)

enum { /* CUpti_ActivityMemcpyKind, and the file's number for memsets */
       WT_COPY_UNKNOWN = 0,
       WT_COPY_HTOD = 1,
       WT_COPY_DTOH = 2,
       WT_COPY_HTOA = 3,
       WT_COPY_ATOH = 4,
       WT_COPY_ATOA = 5,
       WT_COPY_ATOD = 6,
       WT_COPY_DTOA = 7,
       WT_COPY_DTOD = 8,
       WT_COPY_HTOH = 9,
       WT_COPY_PTOP = 10,
       WT_COPY_SET = 100
};
enum { /* CollectiveOp of trace.proto */
       WT_COLL_ALL_REDUCE = 1,
       WT_COLL_ALL_GATHER,
       WT_COLL_REDUCE_SCATTER,
       WT_COLL_BROADCAST,
       WT_COLL_REDUCE,
       WT_COLL_SEND,
       WT_COLL_RECV,
       WT_COLL_ALL_TO_ALL,
       WT_COLL_GATHER,
       WT_COLL_SCATTER
};

#endif
