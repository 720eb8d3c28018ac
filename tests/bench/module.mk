# SPDX-License-Identifier: Apache-2.0
# tests/bench/bench_NAME.c becomes $(O)/tests/bench/bench_NAME; `make bench` runs tests/bench/*.sh, and each bench_NAME
# that no script of that name drives. They print numbers; RESULTS.md keeps the ones that were measured.
BENCH_SRC := $(sort $(wildcard tests/bench/bench_*.c))
BENCH_BIN := $(patsubst tests/bench/%.c,$(O)/tests/bench/%,$(BENCH_SRC))
BENCH_SH  := $(sort $(wildcard tests/bench/*.sh))
BENCH_RUN  = $(filter-out $(patsubst tests/bench/%.sh,$(O)/tests/bench/%,$(BENCH_SH)),$(BENCH_BIN)) $(BENCH_SH)

$(O)/tests/bench/%: tests/bench/%.c $(UNIT_LIBS)
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  BENCH $<")
	$(Q)$(CC) $(CFLAGS) -Wno-missing-prototypes $(TEST_INC) $(LDFLAGS) -o $@ $< $(TEST_LINK)

# Preloaded before the agent by torch_within.py.
SWITCH := $(O)/tests/bench/libswitch.so
$(SWITCH): tests/bench/src/switch.c $(wildcard agent/hooks_*.def) agent/hook_forms.h
	@mkdir -p $(@D)
	$(if $(filter 0,$(V)),@echo "  BENCH $<")
	$(Q)$(CC) $(CFLAGS) -Wno-missing-prototypes -fvisibility=hidden -shared $(INC) -Iagent $(LDFLAGS) -o $@ $< -lpthread -ldl

# tests/cli/hook-instructions.sh, tests/cli/analysis-memory.sh and tests/torch/torch-counts.sh count with them.
TEST_PROGRAMS += $(O)/tests/bench/bench_hook $(O)/tests/bench/bench_analysis $(SWITCH)

.PHONY: bench-bins
bench-bins: all examples $(BENCH_BIN) $(CLI_BIN) $(SWITCH)

bench: setup ## measure: cost of a hooked call, bytes per event, importer speed
	@$(SUBMAKE) bench-bins
	@bad=; for b in $(BENCH_RUN); do echo "== $$b"; BUILD=$(O) $$b || bad="$$bad $$b"; done; \
	[ -z "$$bad" ] || { echo "over its limit, or failed:$$bad"; exit 1; }
