# SPDX-License-Identifier: Apache-2.0
# Laid out as a toolkit is: bin/, nvvm/libdevice/.
SIM_TOOLKIT := $(O)/simgpu/toolkit
ALL += $(SIM_TOOLKIT)/bin/ptxas $(SIM_TOOLKIT)/bin/nvlink $(SIM_TOOLKIT)/nvvm/libdevice/libdevice.10.bc

$(SIM_TOOLKIT)/bin/%: simgpu/toolkit/%.sh
	@mkdir -p $(@D)
	$(Q)install -m 755 $< $@
$(SIM_TOOLKIT)/nvvm/libdevice/libdevice.10.bc: simgpu/toolkit/gen_libdevice.py
	@mkdir -p $(@D)
	$(Q)python3 $< $@
