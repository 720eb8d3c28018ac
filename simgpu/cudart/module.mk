# SPDX-License-Identifier: Apache-2.0
# The runtime: libcudart.so.13, and the same as a static archive (hidden symbols) for libraries that carry their own.
RT_DIR    := $(O)/simgpu/cudart
RT_SRC    := $(addprefix simgpu/cudart/,rt_copy.c rt_device.c rt_graph.c rt_init.c rt_launch.c rt_library.c rt_memory.c \
	     rt_register.c rt_stream.c sim_stub.c)
RT_GEN    := $(addprefix $(RT_DIR)/gen/,rt_export.c rt_impl.h rt_errors.inc rt_driver_table.inc)
RT_OBJS   := $(call objs,$(RT_SRC))
# What is exported is compiled twice: visible for the shared library, hidden for the archive.
RT_PUBLIC := $(RT_DIR)/public/rt_export.o $(RT_DIR)/public/rt_entry.o
RT_HIDDEN := $(RT_DIR)/gen/rt_export.o $(RT_DIR)/rt_entry.o
RT_INC    := -I$(CUDA_INC) -I$(CUPTI_INC) -I$(RT_DIR)/gen

$(RT_GEN) &: simgpu/gen/gen_cudart.py simgpu/gen/cparse.py simgpu/cudart/rt_driver.def $(RT_SRC) \
		$(CUDA_INC)/cuda_runtime_api.h
	$(if $(filter 0,$(V)),@echo "  GEN   simgpu/cudart")
	$(Q)python3 simgpu/gen/gen_cudart.py --cc "$(CC)" --inc $(CUDA_INC) --cupti $(CUPTI_INC) \
		--src simgpu/cudart --out $(RT_DIR)/gen

$(RT_OBJS) $(RT_PUBLIC) $(RT_HIDDEN): MODINC := $(RT_INC)
$(RT_OBJS) $(RT_PUBLIC) $(RT_HIDDEN): $(RT_GEN)

$(RT_DIR)/public/rt_export.o: $(RT_DIR)/gen/rt_export.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -fvisibility=default $(INC) $(MODINC) -c -o $@ $<
$(RT_DIR)/public/rt_entry.o: simgpu/cudart/rt_entry.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -fvisibility=default $(INC) $(MODINC) -c -o $@ $<

$(O)/simgpu/lib/libcudart.so.13: $(RT_OBJS) $(RT_PUBLIC) simgpu/cudart/cudart.map
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LD    $@")
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,libcudart.so.13 -Wl,--version-script=simgpu/cudart/cudart.map \
		-Wl,-Bsymbolic $(if $(SAN),,-Wl,-z,defs) -o $@ $(RT_OBJS) $(RT_PUBLIC) -ldl -lpthread
	$(Q)ln -sf libcudart.so.13 $(@D)/libcudart.so

$(O)/simgpu/libcudart_static.a: $(RT_OBJS) $(RT_HIDDEN)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $^

ALL += $(O)/simgpu/lib/libcudart.so.13 $(O)/simgpu/libcudart_static.a
