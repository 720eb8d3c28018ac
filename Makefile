# SPDX-License-Identifier: Apache-2.0
# One Makefile and one module.mk per folder. Out of tree: everything lands in $(O).
#   V=1 shows commands    DEBUG=1 -O0 -g    SAN=address,undefined | thread    O=dir
O     ?= build
V     ?= 0
Q     := $(if $(filter 1,$(V)),,@)
CC    ?= gcc
SAN   ?=
DEBUG ?=

# CUDA headers: a toolkit, else those scripts/setup unpacked from the PyPI wheels. CUDA_HOME=none forces the latter.
CUDA_HOME ?= /usr/local/cuda
CUDA_ROOT := $(if $(wildcard $(CUDA_HOME)/include/cuda.h),$(CUDA_HOME),build/cuda)
CUDA_INC  := $(CUDA_ROOT)/include
CUPTI_INC := $(if $(wildcard $(CUDA_INC)/cupti.h),$(CUDA_INC),$(CUDA_ROOT)/extras/CUPTI/include)

# A sanitised build never shares objects with the plain one.
ifneq ($(SAN),)
ifeq ($(origin O),file)
O := build/$(if $(filter thread,$(SAN)),tsan,asan)
endif
endif

WARN   := -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wshadow -Wno-unused-parameter
OPT    := $(if $(DEBUG),-O0 -g3,-O2 -g)
CFLAGS  = -std=gnu11 $(OPT) $(WARN) -fPIC -fvisibility=hidden -fno-common -MMD -MP \
	  $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
# Objects of the unit (analyzer/module.mk) have code as well: no other link makes it anew.
LDFLAGS = -fno-lto $(if $(SAN),-fsanitize=$(SAN))
INC     = -I. -Iinclude -I$(O) -I$(O)/proto

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: help all demo check check-fast check-long bench lint fuzz clean distclean setup install uninstall dist man

# Each module adds to ALL (products), CLEAN, and defines its rules.
ALL :=
# objs(folder/file.c ...) -> objects in $(O)
objs = $(patsubst %.c,$(O)/%.o,$(1))

$(O)/%.o: %.c
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS) $(INC) $(MODINC) -c -o $@ $<
$(O)/%.o: $(O)/%.c
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  CC    $<")
	$(Q)$(CC) $(CFLAGS) $(INC) $(MODINC) -c -o $@ $<

-include proto/module.mk
-include agent/module.mk
-include collectors/module.mk
-include analyzer/module.mk
-include simgpu/module.mk
-include examples/module.mk
-include tests/module.mk
include scripts/module.mk

help: ## this text
	@grep -hE '^[a-z-]+:.*##' $(filter %Makefile %.mk,$(MAKEFILE_LIST)) | sed 's/:.*## */\t/' | sort -u | expand -t 14

all: $(ALL) ## everything that is installed, into $(O)

# Only where there are none.
$(CUDA_ROOT)/%.h:
	@echo "no CUDA headers in $(CUDA_ROOT): 'make setup' fetches them" >&2; exit 1

setup: ## install what is missing (packages, headers, Python modules); says nothing when all is there
	@CUDA_HOME=$(CUDA_HOME) scripts/setup check

clean: ## remove what make built (the fetched headers and Python modules stay)
	@[ ! -d $(O) ] || find $(O) -mindepth 1 -maxdepth 1 ! -name cuda ! -name venv ! -name torch-triton ! -name '*-venv' ! -name '*-root' -exec rm -rf {} +

distclean: ## remove all of it
	rm -rf $(O)

-include $(shell find $(O) -name '*.d' -type f -not -path '$(O)/cuda/*' -not -path '$(O)/*venv/*' 2>/dev/null)
