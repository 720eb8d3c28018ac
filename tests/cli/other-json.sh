#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# JSON of rocprofv3 and of XProf's trace viewer: kernels, unions and sums as an independent reading of the same file
# says, generated and public ones; what has no device intervals is refused by name.
set -u
exec python3 tests/cli/other_json.py "${BUILD:-build}/warptap" ../shared/traces/other
