# SPDX-License-Identifier: Apache-2.0
# Unmodified JAX on the simulated device. Scripts say when they run, as those of tests/cli do.
jax_scripts = $(sort $(shell awk -v w='$(1)' 'FNR > 10 { nextfile } $$0 ~ "^. check: " w "$$" { print FILENAME }' \
		tests/jax/*.sh /dev/null 2>/dev/null))
CLI_FULL += $(call jax_scripts,full)
CLI_LONG += $(call jax_scripts,long)
