# SPDX-License-Identifier: Apache-2.0
# CUPTI: the activity API. Reaches the driver by dlopen, as the real one does.
SIM_CUPTI_DIR  := $(O)/simgpu/cupti
SIM_CUPTI_SRC  := $(addprefix simgpu/cupti/,sim_cupti_api.c cupti_buffer.c cupti_callback.c cupti_clock.c cupti_enable.c sim_cupti_record.c)
SIM_CUPTI_GEN  := $(addprefix $(SIM_CUPTI_DIR)/gen/,cupti_stubs.c cupti_cbids.inc cupti_results.inc)
SIM_CUPTI_OBJS := $(call objs,$(SIM_CUPTI_SRC)) $(SIM_CUPTI_DIR)/gen/cupti_stubs.o $(SIM_CUPTI_DIR)/sim_stub.o

$(SIM_CUPTI_GEN) &: simgpu/gen/gen_cupti.py simgpu/gen/cparse.py $(SIM_CUPTI_SRC) $(CUPTI_INC)/cupti.h
	$(if $(filter 0,$(V)),@echo "  GEN   simgpu/cupti")
	$(Q)python3 simgpu/gen/gen_cupti.py --cupti $(CUPTI_INC) --src simgpu/cupti --out $(SIM_CUPTI_DIR)/gen

# The headers declare without an attribute, so what they declare is made visible here and sorted out by the map.
$(SIM_CUPTI_OBJS): MODINC := -I$(CUDA_INC) -I$(CUPTI_INC) -I$(SIM_CUPTI_DIR)/gen -D_GNU_SOURCE -fvisibility=default
$(SIM_CUPTI_OBJS): $(SIM_CUPTI_GEN)

$(SIM_CUPTI_DIR)/sim_stub.o: simgpu/cudart/sim_stub.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INC) -c -o $@ $<

$(O)/simgpu/lib/libcupti.so.13: $(SIM_CUPTI_OBJS) simgpu/cupti/cupti.map
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  LD    $@")
	$(Q)$(CC) $(LDFLAGS) -shared -Wl,-soname,libcupti.so.13 -Wl,--version-script=simgpu/cupti/cupti.map \
		-Wl,-Bsymbolic $(if $(SAN),,-Wl,-z,defs) -o $@ $(SIM_CUPTI_OBJS) -ldl -lpthread
	$(Q)ln -sf libcupti.so.13 $(@D)/libcupti.so

ALL += $(O)/simgpu/lib/libcupti.so.13
