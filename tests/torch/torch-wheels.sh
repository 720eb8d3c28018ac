#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: long
# PyTorch installed with NVIDIA's wheels, which its libraries find by an RPATH: the simulated ones are preloaded before
# them, nothing goes to the installed ones, and the record is as complete as without them.
python=build/torch-wheels-venv/bin/python
. tests/torch/torch_env.sh
if ! why=$(scripts/setup torch-wheels 2>&1); then
	echo "$why"
	echo "skip: PyTorch with NVIDIA's wheels cannot be installed here (scripts/setup torch-wheels)"
	exit 77
fi
python=build/torch-wheels-venv/bin/python
installed=$(find build/torch-wheels-venv/ -path '*nvidia*' -name 'libcublas.so.13' | wc -l)
[ "$installed" -ge 1 ] || fail "the wheels of NVIDIA are not there"
record basic h100,preload test_basic.py
complete basic
record gpt h100,preload test_gpt.py bf16 5 "$tmp/gpt.steps"
complete gpt
# Who got the calls: the symbols of both are there, the first one loaded has them.
"$build/warptap" run -q --sim h100,preload -o "$tmp/who" -- "$python" - <<'P' || fail "a library of NVIDIA's answers"
import ctypes, torch
torch.ones(4, device="cuda") @ torch.ones(4, device="cuda")
class Info(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]
me = ctypes.CDLL(None)
maps = open("/proc/self/maps").read()
assert "site-packages/nvidia" in maps, "no library of the wheels was loaded: nothing is shown"
for name in ("cudaMalloc", "cublasCreate_v2", "cublasLtMatmul", "ncclAllReduce", "cudnnCreate", "cufftExecC2C"):
    info = Info()
    assert me.dladdr(ctypes.cast(getattr(me, name), ctypes.c_void_p), ctypes.byref(info)), name
    # NCCL's and cuBLAS's entry points are the agent's, which call on into the first library of that name.
    assert b"simgpu" in info.file or b"libwarptap" in info.file, (name, info.file)
P
echo ok
