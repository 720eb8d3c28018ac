#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes large Kineto files for measuring: one step of a training loop as torch.profiler writes it (operators, Python
frames, runtime calls, kernels, flows), repeated with new times and ids until the text has the size asked for.

usage: gen_big.py MEGABYTES -o FILE[.gz] [--rank N --world N]      the same arguments give the same text
"""
import argparse
import random
import shutil
import subprocess
import sys

HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
      "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
  ],
  "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d},
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1727743122000000000,
  "traceEvents": ["""
TAIL = """
  {
    "ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "ts": 0, "args": { "name": "python" }
  }],
  "traceName": "made.json"
}
"""
GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas"
ADD = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
       "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)")
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def event(cat, name, pid, tid, at, dur, args):
    body = ", ".join(f'"{k}": {v}' for k, v in args)
    return (f'\n  {{\n    "ph": "X", "cat": "{cat}", "name": "{name}", "pid": {pid}, "tid": {tid},\n'
            f'    "ts": @{at}@, "dur": {dur // 1000}.{dur % 1000:03d},\n    "args": {{\n      {body}\n    }}\n  }},')


def block(rng):
    """The text of a step with @offset@ for times (ns) and #offset# for ids, its length in ns and ids."""
    out, host, gpu, ids = [], 1000, 30000, 0
    begin = host
    for layer in range(48):
        for op, name, dims in (("aten::linear", GEMM, "[[4096, 4096], [4096, 4096], []]"),
                               ("aten::add", ADD, "[[8, 512, 4096], [8, 512, 4096], []]"),
                               ("aten::gelu", ADD, "[[8, 512, 4096]]")):
            ids += 1
            out.append(event("python_function", f"torch/nn/modules/module.py({rng.randint(100, 2000)}): _call_impl", 4242, 4242,
                             host, 9000, [("Python id", f"#{ids}#"), ("Python parent id", f"#{ids - 1}#"), ("Ev Idx", f"#{ids}#")]))
            out.append(event("cpu_op", op, 4242, 4242, host + 500, 8000,
                             [("External id", f"#{ids}#"), ("Record function id", "0"), ("Concrete Inputs", '["", "", ""]'),
                              ("Input type", '["c10::BFloat16", "c10::BFloat16", ""]'), ("Input Strides", '[[4096, 1], [1, 4096], []]'),
                              ("Input Dims", dims), ("Ev Idx", f"#{ids}#")]))
            out.append(event("cuda_runtime", "cudaLaunchKernel", 4242, 4242, host + 3000, rng.randint(3000, 6000),
                             [("External id", f"#{ids}#"), ("cbid", "211"), ("correlation", f"#{ids}#")]))
            dur = rng.randint(20000, 90000) if name == GEMM else rng.randint(3000, 9000)
            out.append(event("kernel", name, 0, 7, gpu, dur,
                             [("External id", f"#{ids}#"), ("queued", "0"), ("device", "0"), ("context", "1"), ("stream", "7"),
                              ("correlation", f"#{ids}#"), ("registers per thread", "168"), ("shared memory", "213512"),
                              ("blocks per SM", "0.969697"), ("warps per SM", "11.636364"), ("grid", "[8, 16, 1]"),
                              ("block", "[384, 1, 1]"), ("est. achieved occupancy %", "18")]))
            out.append(f'\n  {{\n    "ph": "s", "id": #{ids}#, "pid": 4242, "tid": 4242, "ts": @{host + 3000}@,\n'
                       '    "cat": "ac2g", "name": "ac2g"\n  },')
            out.append(f'\n  {{\n    "ph": "f", "id": #{ids}#, "pid": 0, "tid": 7, "ts": @{gpu}@,\n'
                       '    "cat": "ac2g", "name": "ac2g", "bp": "e"\n  },')
            gpu += dur + rng.randint(0, 2000)
            host += 12000
        if layer % 4 == 0:
            ids += 1
            dur = rng.randint(50000, 150000)
            out.append(event("kernel", NCCL, 0, 40, gpu - 30000, dur,
                             [("device", "0"), ("stream", "40"), ("correlation", f"#{ids}#"), ("Collective name", '"allreduce"'),
                              ("In msg nelems", "16777216"), ("Out msg nelems", "16777216"), ("Group size", "8"), ("dtype", '"BFloat16"'),
                              ("Process Group Name", '"0"'), ("Process Group Description", '"default_pg"'),
                              ("Process Group Ranks", '"[0, 1, 2, 3, 4, 5, 6, 7]"')]))
    end = max(host, gpu) + 200000
    out.append(event("user_annotation", "ProfilerStep~$", 4242, 4242, begin, end - begin - 1000, [("External id", f"#{ids + 1}#")]))
    return "".join(out), end, ids + 2


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("megabytes", type=float)
    p.add_argument("-o", dest="out", required=True)
    p.add_argument("--rank", type=int, default=0)
    p.add_argument("--world", type=int, default=8)
    o = p.parse_args()
    text, length, ids = block(random.Random(7))
    parts = text.replace("$", "#step#").replace("@", "\0@").replace("#", "\0#").split("\0")
    # Marks come in pairs: "@12@" became "", "@12", "@ the rest".
    plan = []
    for part in parts:
        if part[:1] in "@#" and (part[1:].isdigit() or part[1:] == "step"):
            plan.append((part[0], part[1:]))
        else:
            plan.append(("", (part[1:] if part[:1] in ("@", "#") else part).replace("~", "#")))
    base, written, step = 4458676983543183, 0, 0
    raw = subprocess.Popen(["gzip", "-4", "-n", "-c"], stdin=subprocess.PIPE, stdout=open(o.out, "wb")) if o.out.endswith(".gz") else None
    f = raw.stdin if raw else open(o.out, "wb")
    f.write((HEAD % (o.rank, o.world)).encode())
    while written < o.megabytes * 1e6:
        at, first = base + step * length, 1 + step * ids
        chunk = "".join(v if not kind else
                        f"{(at + int(v)) // 1000}.{(at + int(v)) % 1000:03d}" if kind == "@" else
                        str(step) if v == "step" else str(first + int(v)) for kind, v in plan)
        f.write(chunk.encode())
        written += len(chunk)
        step += 1
    f.write(TAIL.encode())
    f.close()
    if raw and raw.wait():
        sys.exit(1)


if __name__ == "__main__":
    main()
