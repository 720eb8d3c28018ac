# SPDX-License-Identifier: Apache-2.0
# libwarptap.so, preloaded into jobs: agent and collectors in one, DT_NEEDED libc alone. zstd and protobuf-c are linked
# in statically and hidden: the job's own copies must never meet ours. libwt_agent.a is the same without what
# interposes (gates, wrappers), for unit tests.
AGENT_SRC   := $(sort $(wildcard agent/*.c) $(wildcard collectors/*.c))
AGENT_OBJS  := $(call objs,$(AGENT_SRC)) $(filter-out %/frame_read.o,$(PROTO_OBJS))
AGENT_GATES := $(call objs,agent/gate.c agent/hooks_cuda.c agent/hooks_nccl.c agent/hooks_cublas.c agent/hooks_cudnn.c \
	       agent/hooks_cupti.c)
AGENT_LIBC  := -Wl,-Bstatic -lprotobuf-c -lzstd -Wl,-Bdynamic

ALL += $(O)/libwarptap.so

$(call objs,$(AGENT_SRC)): MODINC = -Iagent -I$(CUDA_INC) -I$(CUPTI_INC) -fvisibility=hidden -ftls-model=initial-exec
# These cost instructions in every wrapper: merging the 16-bit fields of a row, keeping stack arguments ready for a
# sibling call that is not made, and loading them ahead of the branch because both of its ways need them.
$(O)/agent/hooks_cuda.o $(O)/agent/hooks_cublas.o: MODINC += -fno-optimize-sibling-calls $(if $(findstring clang,$(CC)),,-fno-store-merging -fno-tree-pre -fno-code-hoisting) -fno-tree-slp-vectorize
# Generated, and included by many: there before the first of them is compiled.
$(call objs,$(AGENT_SRC)): | $(O)/proto/trace.pb-c.h

$(O)/agent/agent.map: agent/agent.map.in agent/hook_forms.h agent/hooks_cuda.def agent/hooks_nccl.def agent/hooks_cublas.def agent/hooks_cudnn.def agent/hooks_cupti.def
	@mkdir -p $(@D)
	$(Q)$(CC) -E -P -x c -Iagent $< -o $@

# The sanitisers bring libraries of their own; the product test looks at the plain build.
$(O)/libwarptap.so: $(AGENT_OBJS) $(O)/agent/agent.map
	$(if $(filter 0,$(V)),@echo "  LD    $@")
	$(Q)$(CC) -shared $(LDFLAGS) -o $@ $(AGENT_OBJS) $(AGENT_LIBC) -Wl,--exclude-libs,ALL $(if $(SAN),,-Wl$(comma)-z$(comma)defs) \
		-Wl,-z,nodelete -Wl,-z,relro,-z,now -Wl,-z,noexecstack -Wl,--as-needed -Wl,-soname,libwarptap.so \
		-Wl,--version-script=$(O)/agent/agent.map
comma := ,

$(O)/libwt_agent.a: $(filter-out $(AGENT_GATES),$(call objs,$(AGENT_SRC)))
	$(Q)rm -f $@ && ar rcs $@ $^
