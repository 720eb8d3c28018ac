# SPDX-License-Identifier: Apache-2.0
# The simulated CUDA stack: NVIDIA's sonames in $(O)/simgpu/lib, to be put on a library path.
SIM_LIB  := $(O)/simgpu/lib
SIM_GEN  := $(O)/simgpu/gen
SIM_CORE := $(sort $(wildcard simgpu/core/*.c))
SIM_CUDA := $(sort $(wildcard simgpu/cuda/*.c))
SIM_CORE_OBJS := $(call objs,$(SIM_CORE))
SIM_CUDA_OBJS := $(call objs,$(SIM_CUDA)) $(SIM_GEN)/sim_driver.o
ALL += $(SIM_LIB)/libcuda.so.1 $(SIM_LIB)/libcuda.so $(O)/libsimcore.a

# Every ABI of every call by its own name: no macro of cuda.h may rename one.
$(SIM_CUDA_OBJS): MODINC = -I$(CUDA_INC) -I$(SIM_GEN) -D__CUDA_API_VERSION_INTERNAL
$(SIM_CORE_OBJS): MODINC = -I$(CUDA_INC)
$(SIM_CUDA_OBJS): CFLAGS += -Wno-deprecated-declarations
# The generator writes what has changed only; the stamp keeps make from asking again.
$(SIM_CUDA_OBJS): | $(SIM_GEN)/stamp
$(SIM_GEN)/sim_driver.c $(SIM_GEN)/sim_calls.h $(SIM_GEN)/libcuda.map: $(SIM_GEN)/stamp ;
$(SIM_GEN)/stamp: simgpu/gen/gen_driver.py $(CUDA_INC)/cuda.h $(CUPTI_INC)/cupti_driver_cbid.h
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  GEN   $(SIM_GEN)/sim_driver.c")
	$(Q)python3 $< $(CC) $(CUDA_INC) $(CUPTI_INC) $(SIM_GEN)
	@touch $@

$(O)/libsimcore.a: $(SIM_CORE_OBJS)
	$(Q)rm -f $@ && ar rcs $@ $^

# Nothing of it can be interposed from within, nothing but the API is visible, and it stays mapped for its threads.
$(SIM_LIB)/libcuda.so.1: $(SIM_CUDA_OBJS) $(SIM_CORE_OBJS) $(SIM_GEN)/libcuda.map
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,nodelete -Wl,-z,noexecstack \
		$(if $(SAN),,-Wl,-z,defs) -Wl,--version-script=$(SIM_GEN)/libcuda.map -o $@ $(filter %.o,$^) -lpthread

$(SIM_LIB)/libcuda.so: $(SIM_LIB)/libcuda.so.1
	$(Q)ln -sf libcuda.so.1 $@

-include simgpu/cudart/module.mk
-include simgpu/nccl/module.mk
-include simgpu/cupti/module.mk
-include simgpu/libs/module.mk
-include simgpu/toolkit/module.mk
