# SPDX-License-Identifier: Apache-2.0
# Programs that script tests run: tests/cli/src/NAME.c or NAME.cu becomes $(O)/tests/cli/NAME. In its first five lines
# a source may say
#   link: cuda | cudart | nccl cudart | cupti cuda     libraries of simgpu, by soname, without a run path
#   shared: libNAME.so                                 a shared object $(O)/tests/cli/libNAME.so
#   cflags: -O0 ...                                    more flags; they come last
CLI_SRC  := $(sort $(wildcard tests/cli/src/*.c))
CLI_CU   := $(if $(wildcard $(CUDA_ROOT)/bin/nvcc),$(sort $(wildcard tests/cli/src/*.cu)))
CLI_BIN  := $(patsubst tests/cli/src/%.c,$(O)/tests/cli/%,$(CLI_SRC)) \
	    $(patsubst tests/cli/src/%.cu,$(O)/tests/cli/%,$(CLI_CU))

# cli_scripts(when) -> the scripts that say so.
cli_scripts = $(sort $(shell awk -v w='$(1)' 'FNR > 10 { nextfile } $$0 ~ "^. check: " w "$$" { print FILENAME }' \
		tests/cli/*.sh /dev/null 2>/dev/null))
CLI_FAST := $(call cli_scripts,fast)
CLI_FULL := $(call cli_scripts,full)
CLI_LONG := $(call cli_scripts,long)

SIM_LIB  := $(O)/simgpu/lib

# said(word) -> a shell word list: what the source's comment "word: ..." says.
said    = $$(sed -n '1,5s,.*[/*] *$(1): *\(.*[^ ]\) *\*/.*,\1,p' $<)
soname_ = case $$l in cuda) echo -l:libcuda.so.1 ;; cudart) echo -l:libcudart.so.13 ;; \
	  nccl) echo -l:libnccl.so.2 ;; cublas) echo -l:libcublas.so.13 ;; cublasLt) echo -l:libcublasLt.so.13 ;; cupti) echo -l:libcupti.so.13 ;; *) echo "-l$$l" ;; esac

# A rebuilt simgpu library needs no relink (only its soname is kept), so it is an order-only prerequisite.
$(O)/tests/cli/%: tests/cli/src/%.c tests/cli/module.mk | $(SIM_PRODS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  TEST  $<")
	$(Q)set -e; libs=; for l in $(call said,link); do libs="$$libs $$($(soname_))"; done; \
	[ -z "$$libs" ] || libs="-L$(SIM_LIB) -Wl,-rpath-link,$(SIM_LIB) $$libs"; \
	so=$(call said,shared); out=$@; pic=; \
	[ -z "$$so" ] || { out=$(@D)/$$so; pic="-shared -fvisibility=default"; }; \
	$(CC) $(CFLAGS) -Wno-missing-prototypes $(INC) -Itests -I$(CUDA_INC) -I$(CUPTI_INC) $(LDFLAGS) \
		-MF $@.d -MT $@ $$pic -o "$$out" $< $(call said,cflags) $$libs -lpthread -ldl -lm; \
	[ -z "$$so" ] || ln -f "$$out" $@

$(O)/tests/cli/%: tests/cli/src/%.cu tests/cli/module.mk | $(SIM_PRODS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  NVCC  $<")
	$(Q)set -e; libs=; \
	for l in $(call said,link); do [ "$$l" = cudart ] || libs="$$libs -Xlinker $$($(soname_))"; done; \
	$(NVCC) $(NVCC_FLAGS) -L$(SIM_LIB) -Xlinker -rpath-link=$(SIM_LIB) -o $@ $< $(call said,cflags) $$libs
