#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Our declarations of NCCL against the real header: prototypes by redeclaration, values and sizes by assertion.
set -eu
inc=${CUDA_HOME:-/usr/local/cuda}/include
[ -e "$inc/nccl.h" ] || { echo "skip-ok: no nccl.h in $inc"; exit 77; }
version=$(awk '/define NCCL_M(AJOR|INOR) / { printf "%s.", $3 }' "$inc/nccl.h")
[ "$version" = 2.28. ] || { echo "skip-ok: nccl.h is ${version%.}, our declarations are those of 2.28"; exit 77; }
code() {
	echo "$1"
	cat <<'C'
#include <stddef.h>
#define SAME(name, value) _Static_assert((int)name == (int)value, #name);
NCCL_API_RESULTS(SAME)
NCCL_API_TYPES(SAME)
NCCL_API_OPS(SAME)
_Static_assert(sizeof(ncclConfig_t) == 80, "config");
_Static_assert(offsetof(ncclConfig_t, commName) == 48, "config fields");
_Static_assert(offsetof(ncclConfig_t, netName) == 32, "config fields");
_Static_assert(sizeof(ncclUniqueId) == NCCL_UNIQUE_ID_BYTES && NCCL_UNIQUE_ID_BYTES == 128, "id");
_Static_assert(sizeof(ncclSimInfo_t) == 24, "sim info");
_Static_assert(sizeof(ncclResult_t) == 4 && sizeof(ncclRedOp_t) == 4, "enums");
_Static_assert(sizeof(ncclDataType_t) == 4, "enums");
C
}
cc="${CC:-gcc} -std=gnu11 -Wall -Werror -Wno-deprecated-declarations -Wno-strict-prototypes -fsyntax-only -x c -I. -I$inc -"
code '#include "simgpu/nccl/nccl_api.h"' | $cc
code '#include <nccl.h>
#include "simgpu/nccl/nccl_api.h"' | $cc
# The check can fail: a wrong prototype does not compile.
if printf '#include <nccl.h>\nncclResult_t ncclAllReduce(int x);\n' | $cc 2>/dev/null; then
	echo "a wrong prototype was accepted"; exit 1
fi
# Every function of nccl.h is declared by us.
names() { grep -oE '\bnccl[A-Z]\w+ ?\(' | tr -d ' (' | sort -u; }
ours() { echo '#include "simgpu/nccl/nccl_api.h"' | ${CC:-gcc} -E -P -x c -I. -I"$inc" - | names; }
missing=$(comm -23 <(names <"$inc/nccl.h") <(ours) | grep -vE '^nccl(NumOps|RedOpCreate|UniqueId)$' || :)
[ -z "$missing" ] || { echo "not declared: $missing"; exit 1; }
echo ok
