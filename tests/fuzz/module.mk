# SPDX-License-Identifier: Apache-2.0
# tests/fuzz/fuzz_NAME.c defines LLVMFuzzerTestOneInput. Its corpus, made by this project, is tests/fuzz/corpus/NAME/.
#   make fuzz FUZZ_SECONDS=60     each target under libFuzzer with sanitizers; finds land in $(O)/fuzz/
#   make check                    replays the corpus under gcc's sanitizers, no fuzzer needed
FUZZ_SRC     := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_NAMES   := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_SRC))
FUZZ_REPLAY  := $(FUZZ_NAMES:%=$(O)/tests/fuzz/replay_%)
FUZZ_SECONDS ?= 60
FUZZ_CC      ?= clang
FUZZ_SAN     := address,undefined

$(O)/tests/fuzz/replay_%: tests/fuzz/fuzz_%.c tests/fuzz/replay.c $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  TEST  $<")
	$(Q)$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -Wno-missing-prototypes $(TEST_INC) $(LDFLAGS) \
		-DWT_FUZZ_CORPUS='"tests/fuzz/corpus/$*"' -o $@ tests/fuzz/fuzz_$*.c tests/fuzz/replay.c $(TEST_LINK)

# libFuzzer brings its own main. The archives it links are built by the same compiler with its coverage counters.
$(O)/tests/fuzz/libfuzzer_%: tests/fuzz/fuzz_%.c $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  FUZZ  $<")
	$(Q)$(CC) $(filter-out -MMD -MP,$(CFLAGS)) -Wno-missing-prototypes $(TEST_INC) -fsanitize=fuzzer,$(FUZZ_SAN) \
		-o $@ $< $(TEST_LINK)

.PHONY: libfuzzer-bins
libfuzzer-bins: $(FUZZ_NAMES:%=$(O)/tests/fuzz/libfuzzer_%)

fuzz: setup ## every fuzz target for FUZZ_SECONDS (60) on its corpus; finds land in build/fuzz
	@$(SUBMAKE) CC=$(FUZZ_CC) SAN=fuzzer-no-link,$(FUZZ_SAN) O=$(O)/fuzz-obj libfuzzer-bins
	@set -e; for n in $(FUZZ_NAMES); do \
		mkdir -p $(O)/fuzz/$$n; seeds=; [ ! -d tests/fuzz/corpus/$$n ] || seeds=tests/fuzz/corpus/$$n; \
		echo "fuzz: $$n for $(FUZZ_SECONDS) s, finds in $(O)/fuzz/$$n"; \
		$(O)/fuzz-obj/tests/fuzz/libfuzzer_$$n -max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=4096 -timeout=10 \
			-artifact_prefix=$(O)/fuzz/$$n.crash- -print_final_stats=1 $(O)/fuzz/$$n $$seeds \
			>$(O)/fuzz/$$n.log 2>&1 || { tail -n 40 $(O)/fuzz/$$n.log; exit 1; }; \
		grep -E 'number_of_executed_units|new_units_added' $(O)/fuzz/$$n.log; \
	done
