# SPDX-License-Identifier: Apache-2.0
# Tests are found, not listed. tests/unit/test_*.c are cmocka programs; tests/cli/*.sh are scripts; tests/fuzz/fuzz_*.c
# are fuzz targets. A script says in its first ten lines when it runs: "# check: fast", "# check: full" or
# "# check: long". A unit test that says "check: tsan" there also runs under the thread sanitizer.
UNIT_SRC  := $(sort $(wildcard tests/unit/test_*.c))
UNIT_BIN  := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(UNIT_SRC))
TSAN_SRC  := $(sort $(filter %/test_chunk.c %/test_writer.c,$(UNIT_SRC)) \
	       $(shell awk 'FNR > 10 { nextfile } /check: tsan/ { print FILENAME }' $(UNIT_SRC) /dev/null))
TSAN_BIN  := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(TSAN_SRC))

# Unit tests link what they test from archives: only the members they use come in. libwt_agent.a holds the agent
# without its exported hooks (no test may interpose dlsym on itself).
UNIT_LIBS  = $(O)/libwt_analyzer.a $(O)/libwt_agent.a $(O)/libsimcore.a $(O)/libwt_proto.a
TEST_INC   = $(INC) -Ianalyzer -Itests -I$(CUDA_INC) -I$(CUPTI_INC)
TEST_LINK  = -Wl,--start-group $(UNIT_LIBS) -Wl,--end-group -lcmocka -lyajl $(AN_LINK) -ldl

$(O)/tests/unit/%: tests/unit/%.c $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  TEST  $<")
	$(Q)$(CC) $(CFLAGS) -Wno-missing-prototypes $(TEST_INC) $(LDFLAGS) -o $@ $< $(TEST_LINK)

# A folder of tests may bring rules of its own, and add what its scripts need built to TEST_PROGRAMS.
TEST_PROGRAMS :=
include $(sort $(wildcard tests/*/module.mk))

# Two jobs where the caller did not ask for another number.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$(or $(JOBS),2))

.PHONY: check-all check-products unit-bins tsan-bins fuzz-bins
check-fast: ## build, and the tests that fit in 90 seconds
	@$(SUBMAKE) check-products
	@BUILD=$(O) tests/run $(O)/test-logs $(UNIT_BIN) $(CLI_FAST)

check: setup ## install what is missing, build, run all tests
	@$(MAKE) --no-print-directory check-all

check-products: all examples $(UNIT_BIN) $(CLI_BIN) $(TEST_PROGRAMS)
unit-bins: $(UNIT_BIN)
tsan-bins: $(TSAN_BIN)
fuzz-bins: $(FUZZ_REPLAY)

# The sanitised builds have output folders of their own, also where O= was given on the command line.
check-all:
	@$(SUBMAKE) check-products
	@$(SUBMAKE) SAN=address,undefined O=$(O)/asan unit-bins fuzz-bins
	@$(SUBMAKE) SAN=thread O=$(O)/tsan tsan-bins
	@BUILD=$(O) tests/run $(O)/test-logs $(UNIT_BIN) $(patsubst $(O)/%,$(O)/asan/%,$(UNIT_BIN) $(FUZZ_REPLAY)) \
		$(patsubst $(O)/%,$(O)/tsan/%,$(TSAN_BIN)) $(CLI_FAST) $(CLI_FULL)

check-long: check ## check, and what takes long
	@BUILD=$(O) tests/run $(O)/test-logs $(CLI_LONG)
