# SPDX-License-Identifier: Apache-2.0
# Unmodified PyTorch on the simulated device. Scripts say when they run, as those of tests/cli do.
torch_scripts = $(sort $(shell awk -v w='$(1)' 'FNR > 10 { nextfile } $$0 ~ "^. check: " w "$$" { print FILENAME }' \
		  tests/torch/*.sh /dev/null 2>/dev/null))
CLI_FULL += $(call torch_scripts,full)
CLI_LONG += $(call torch_scripts,long)
