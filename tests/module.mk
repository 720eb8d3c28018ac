# SPDX-License-Identifier: Apache-2.0
# Tests are found, not listed. tests/unit/test_*.c are cmocka programs; tests/cli/*.sh are scripts.
# A script says in its first ten lines when it runs: "# check: fast", "# check: full" or "# check: long".
UNIT_SRC  := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN  := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(UNIT_SRC))
CLI_FAST  := $(sort $(shell grep -lE '^. check: fast' tests/cli/*.sh 2>/dev/null))
CLI_FULL  := $(sort $(shell grep -lE '^. check: full' tests/cli/*.sh 2>/dev/null))
CLI_LONG  := $(sort $(shell grep -lE '^. check: long' tests/cli/*.sh 2>/dev/null))

# Unit tests link what they test from archives: only the members they use come in. libwt_agent.a holds the agent
# without its exported hooks (no test may interpose dlsym on itself).
UNIT_LIBS  = $(O)/libwt_analyzer.a $(O)/libwt_agent.a $(O)/libsimcore.a $(O)/libwt_proto.a

$(O)/tests/unit/%: tests/unit/%.c $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  TEST  $<")
	$(Q)$(CC) $(CFLAGS) -Wno-missing-prototypes $(INC) -Ianalyzer -Itests -I$(CUDA_INC) -I$(CUPTI_INC) $(LDFLAGS) -o $@ $< \
		-Wl,--start-group $(UNIT_LIBS) -Wl,--end-group -lcmocka -lprotobuf-c -lzstd -lisal -lyajl -lsqlite3 -lpthread -lm -ldl

check-fast: all $(UNIT_BIN) ## tests that fit in 90 seconds
	@BUILD=$(O) tests/run $(O)/test-logs $(UNIT_BIN) $(CLI_FAST)

check: setup ## install what is missing, run all tests
	@$(MAKE) --no-print-directory check-all

.PHONY: check-all
check-all: all $(UNIT_BIN)
	@$(MAKE) --no-print-directory SAN=address,undefined unit-bins
	@$(MAKE) --no-print-directory SAN=thread unit-bins
	@BUILD=$(O) tests/run $(O)/test-logs $(UNIT_BIN) $(patsubst $(O)/%,build/asan/%,$(UNIT_BIN)) \
		$(patsubst $(O)/%,build/tsan/%,$(filter %_chunk %_writer,$(UNIT_BIN))) $(CLI_FAST) $(CLI_FULL)

.PHONY: unit-bins
unit-bins: $(if $(filter thread,$(SAN)),$(filter %_chunk %_writer,$(UNIT_BIN)),$(UNIT_BIN))

check-long: check ## check, and what takes long
	@BUILD=$(O) tests/run $(O)/test-logs $(CLI_LONG)
