# SPDX-License-Identifier: Apache-2.0
# Real jobs, built as their users build them: nvcc with the shared CUDA runtime, NCCL by its own name. Where no NCCL is
# installed they link against simgpu's, which has the same soname.
NVCC       := $(CUDA_ROOT)/bin/nvcc
NVCC_CODE  ?= -gencode arch=compute_80,code=[compute_80,sm_80] -gencode arch=compute_90,code=sm_90
NVCC_FLAGS  = -cudart shared -O2 -std=c++17 -Xcompiler -Wall,-Wextra $(NVCC_CODE)
NCCL_REAL  := $(firstword $(wildcard $(CUDA_ROOT)/lib64/libnccl.so /usr/lib/$(shell uname -m)-linux-gnu/libnccl.so))
NCCL_LINK   = $(if $(NCCL_REAL),-L$(dir $(NCCL_REAL)) -lnccl,-L$(O)/simgpu/lib -Xlinker -l:libnccl.so.2 \
	      -Xlinker -rpath-link=$(O)/simgpu/lib)
SIM_PRODS   = $(filter $(O)/simgpu/%,$(ALL))

TRAIN2_SRC := $(addprefix examples/train2/,train2.cu train2_kernels.cu train2_ranks.cu)
TRAIN2_OBJ := $(TRAIN2_SRC:%.cu=$(O)/%.o)
TRAIN2     := $(O)/examples/train2/train2

$(TRAIN2_OBJ): $(O)/%.o: %.cu $(wildcard examples/train2/*.h) | $(wildcard $(NVCC))
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  NVCC  $<")
	@[ -x $(NVCC) ] || { echo "examples need nvcc: run scripts/setup demo, or set CUDA_HOME"; exit 1; }
	$(Q)$(NVCC) $(NVCC_FLAGS) -c -o $@ $<

$(TRAIN2): $(TRAIN2_OBJ) | $(if $(NCCL_REAL),,$(SIM_PRODS))
	$(if $(filter 0,$(V)),@echo "  LINK  $@")
	$(Q)$(NVCC) $(NVCC_FLAGS) -o $@ $^ $(NCCL_LINK)

.PHONY: examples
examples: $(TRAIN2)
