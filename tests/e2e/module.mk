# SPDX-License-Identifier: Apache-2.0
# End to end: a real program on the simulated device, its trace and report held against the simulator's truth.
$(O)/tests/e2e/%: tests/e2e/%.c $(O)/libwt_analyzer.a $(O)/libwt_proto.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(INC) -Ianalyzer $(LDFLAGS) -o $@ $< $(O)/libwt_analyzer.a $(O)/libwt_proto.a \
		$(AN_LINK)

# The agent's reader of CUPTI records alone.
$(O)/tests/e2e/cupti_read: tests/e2e/cupti_read.c $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -Wno-missing-prototypes $(TEST_INC) $(LDFLAGS) -o $@ $< $(TEST_LINK)

TEST_PROGRAMS += $(O)/tests/e2e/join_check $(O)/tests/e2e/phase_dump $(O)/tests/e2e/cupti_read
