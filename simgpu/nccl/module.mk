# SPDX-License-Identifier: Apache-2.0
# NCCL, with the static runtime inside: its launches reach the driver as those of the real one do.
SIM_NCCL_SRC  := $(addprefix simgpu/nccl/,nccl_comm.c nccl_data.c nccl_entry.c nccl_fault.c nccl_group.c nccl_kernel.c nccl_profiler.c)
# What newer clients import and nobody wrote: generated from simgpu/libs/signatures_extra.tsv.
SIM_NCCL_STUBS := $(O)/simgpu/libs/gen/nccl_stubs.o $(O)/simgpu/libs/lib_dummy.o
SIM_NCCL_OBJS := $(call objs,$(SIM_NCCL_SRC))

$(SIM_NCCL_OBJS): MODINC := -I$(CUDA_INC)

# nccl*.map keeps what the runtime inside exports from leaving.
$(O)/simgpu/lib/libnccl.so.2: $(SIM_NCCL_OBJS) $(SIM_NCCL_STUBS) $(O)/simgpu/libcudart_static.a simgpu/nccl/nccl.map
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LD    $@")
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,libnccl.so.2 -Wl,--version-script=simgpu/nccl/nccl.map \
		-Wl,-Bsymbolic $(if $(SAN),,-Wl,-z,defs) -Wl,--exclude-libs,ALL -o $@ $(SIM_NCCL_OBJS) $(SIM_NCCL_STUBS) \
		$(O)/simgpu/libcudart_static.a -ldl -lpthread -lrt -lm
	$(Q)ln -sf libnccl.so.2 $(@D)/libnccl.so

ALL += $(O)/simgpu/lib/libnccl.so.2
