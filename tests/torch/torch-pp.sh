#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: full
# Pipeline parallel training with 2 processes: sends and receives, alone and in groups, and who waits for whom.
. tests/torch/dist_env.sh
ranks pp 2 --pp --steps 3 --log-every 1
python3 tests/torch/pipeline_check.py "$tmp/pp.json" "$tmp/pp" || fail "pp: waits differ from the truth"
