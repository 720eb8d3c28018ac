#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the fuzz seeds of tests/fuzz/corpus/xplane.
# usage: tests/gen/gen_xplane_corpus.sh     from the repository's root; the same bytes every time
set -eu
corpus=tests/fuzz/corpus/xplane
mkdir -p "$corpus"
seed() { name=$1; shift; python3 tests/gen/gen_xplane.py "$@" --steps 1 -o "$corpus/$name"; }
seed gpu gpu --layers 2
seed gpu_buffers gpu --layers 1 --command-buffers
seed gpu_derived gpu --layers 1 --derived --meta-first
seed tpu tpu --layers 2
seed tpu_first tpu --layers 1 --meta-first --sparse
seed cpu cpu
seed cut_gpu gpu --layers 1 --cut 40
seed cut_tpu tpu --layers 1 --cut 50
seed as_text gpu --layers 1 --as-text
seed absurd cpu --absurd
seed flipped tpu --layers 1 --corrupt 1234
seed packed.gz gpu --layers 1 && mv "$corpus/packed.gz" "$corpus/packed"
