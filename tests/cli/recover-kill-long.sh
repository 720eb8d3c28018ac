#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# The same at 200 moments.
KILLS=200 exec tests/cli/recover-kill.sh
