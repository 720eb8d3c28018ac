# SPDX-License-Identifier: Apache-2.0
# Unmodified vLLM on the simulated device: 4.5 GB of downloads, so on request only. One after the other: each starts an
# engine, which keeps two cores busy.
VLLM_SCRIPTS = $(sort $(wildcard tests/vllm/vllm-*.sh))

.PHONY: check-vllm
check-vllm: ## vLLM on the simulated device (downloads 4.5 GB, a quarter of an hour)
	@$(SUBMAKE) check-products
	@scripts/setup vllm
	@BUILD=$(O) JOBS=1 TEST_TIMEOUT=1500 tests/run $(O)/test-logs-vllm $(VLLM_SCRIPTS)
