#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# The house rules: format, names, includes, banned calls, spelling, man pages, schema lock, static analysis.
scripts/lint
