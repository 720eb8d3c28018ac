# SPDX-License-Identifier: Apache-2.0
# NVIDIA's libraries above the runtime: what is written by hand, and for the rest stubs from the signature tables.
LIBS_DIR  := $(O)/simgpu/libs
LIBS_ALL  := cublas cublasLt cudnn cufft curand cusparse cusparseLt cusolver cufile nvrtc nvJitLink nvshmem nvml
LIBS_GEN  := $(LIBS_DIR)/gen
LIBS_SRC  := $(sort $(wildcard simgpu/libs/*.c))
LIBS_OBJS := $(call objs,$(LIBS_SRC)) $(patsubst %,$(LIBS_GEN)/%_stubs.o,$(LIBS_ALL) nccl)
SIM_STUB_O := $(O)/simgpu/cudart/sim_stub.o
RT_STATIC := $(O)/simgpu/libcudart_static.a

$(LIBS_OBJS): MODINC := -I$(CUDA_INC)
# A driver's own names for attributes that later headers call deprecated are wanted here.
$(LIBS_OBJS): CFLAGS += -Wno-missing-prototypes

LIBS_STUBS := $(patsubst %,$(LIBS_GEN)/%_stubs.c,$(LIBS_ALL) nccl)
LIBS_MAPS  := $(patsubst %,$(LIBS_GEN)/%.map,$(LIBS_ALL) nccl)
$(LIBS_STUBS) $(LIBS_MAPS) &: simgpu/gen/gen_libs.py $(wildcard simgpu/libs/*.tsv) $(LIBS_SRC)
	$(if $(filter 0,$(V)),@echo "  GEN   simgpu/libs")
	$(Q)python3 simgpu/gen/gen_libs.py build --src simgpu/libs --out $(LIBS_GEN) $(LIBS_ALL) nccl

# sim_library(name, soname, objects, more libraries): the stubs come by the name.
define sim_library
ALL += $(SIM_LIB)/$(2)
$(SIM_LIB)/$(2): $$(call objs,$$(addprefix simgpu/libs/,$(3))) $(LIBS_GEN)/$(1)_stubs.o $(RT_STATIC) $(LIBS_GEN)/$(1).map $(5)
	@mkdir -p $$(@D)
	$$(if $$(filter 0,$$(V)),@echo "  LD    $$@")
	$$(Q)$$(CC) $$(LDFLAGS) -shared -Wl,-soname,$(2) -Wl,--version-script=$(LIBS_GEN)/$(1).map -Wl,-Bsymbolic \
		$$(if $$(SAN),,-Wl,-z,defs) -Wl,-z,noexecstack -Wl,--exclude-libs,ALL -o $$@ \
		$$(filter %.o,$$^) $(4) -ldl -lpthread
	$$(Q)ln -sf $(2) $$(@D)/$(firstword $(subst .so, ,$(2))).so
endef
# Libraries without a driver of their own need the dummies alone.
LIBS_RT   := lib_kernel.c lib_launch_rt.c lib_handle.c lib_dummy.c
$(eval $(call sim_library,cublasLt,libcublasLt.so.13,cublaslt.c lt_attr.c lib_gemm.c lib_kernel.c lib_launch_drv.c lib_dummy.c,,$(SIM_STUB_O)))
$(eval $(call sim_library,cublas,libcublas.so.13,cublas_core.c cublas_gemm.c lt_attr.c lib_gemm.c $(LIBS_RT),$(RT_STATIC) -L$(SIM_LIB) -l:libcublasLt.so.13,$(SIM_LIB)/libcublasLt.so.13))
$(eval $(call sim_library,cudnn,libcudnn.so.9,$(notdir $(wildcard simgpu/libs/cudnn_*.c)) $(LIBS_RT),$(RT_STATIC)))
$(eval $(call sim_library,cufft,libcufft.so.12,cufft_core.c $(LIBS_RT),$(RT_STATIC)))
$(eval $(call sim_library,curand,libcurand.so.10,curand_core.c $(LIBS_RT),$(RT_STATIC)))
$(eval $(call sim_library,cusparse,libcusparse.so.12,cusparse_core.c $(LIBS_RT),$(RT_STATIC)))
$(eval $(call sim_library,cusparseLt,libcusparseLt.so.0,lib_dummy.c,,$(SIM_STUB_O)))
$(eval $(call sim_library,cusolver,libcusolver.so.12,cusolver_core.c $(LIBS_RT),$(RT_STATIC)))
$(eval $(call sim_library,cufile,libcufile.so.0,lib_dummy.c,,$(SIM_STUB_O)))
$(eval $(call sim_library,nvrtc,libnvrtc.so.13,nvrtc_core.c $(LIBS_RT),$(RT_STATIC)))
$(eval $(call sim_library,nvJitLink,libnvJitLink.so.13,lib_dummy.c,,$(SIM_STUB_O)))
$(eval $(call sim_library,nvshmem,libnvshmem_host.so.3,lib_dummy.c,,$(SIM_STUB_O)))
$(eval $(call sim_library,nvml,libnvidia-ml.so.1,nvml_core.c lib_dummy.c,$(O)/libsimcore.a -lm,$(SIM_STUB_O) $(O)/libsimcore.a))
