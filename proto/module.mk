# SPDX-License-Identifier: Apache-2.0
# The contract: generated protobuf-c code, framing, errors. Linked into agent and analyzer alike.
PROTO_GEN  := $(O)/proto/trace.pb-c.c
PROTO_OBJS := $(call objs,proto/wt_err.c proto/check.c proto/frame_write.c proto/frame_read.c proto/control_msg.c) $(O)/proto/trace.pb-c.o

$(O)/proto/trace.pb-c.c $(O)/proto/trace.pb-c.h &: proto/trace.proto
	@mkdir -p $(@D)
	$(Q)protoc-c -I proto --c_out=$(O)/proto $<

$(O)/libwt_proto.a: $(PROTO_OBJS)
	$(Q)rm -f $@ && ar rcs $@ $^
