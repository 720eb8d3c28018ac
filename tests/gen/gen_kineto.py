#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Kineto (torch.profiler) JSON files whose exact answer is known.

The same arguments give the same bytes. All times are integer nanoseconds inside; the text carries them as decimal
microseconds. --truth prints what an exact sweep must find, per device:
  device window_ns compute_ns comm_exposed_ns copy_exposed_ns none_ns comm_total_ns comm_hidden_ns ops

usage: gen_kineto.py [options] [-o FILE]     FILE ending in .gz is compressed; default: standard output
"""
import argparse
import gzip
import json
import random
import sys

STYLES = ("new", "old", "rocm")
GEMM = "ampere_sgemm_128x64_tn"
ELEM = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int, float)"
COMM = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
FLASH = "flash_fwd_kernel"


def us(ns):
    """Decimal microseconds, as short as exact."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    whole, part = divmod(ns, 1000)
    return f"{sign}{whole}" + (f".{part:03d}".rstrip("0") if part else "")


class Raw(str):
    """A number that json must not touch."""


def encode(value, indent):
    """JSON text; Raw stands as it is."""
    marks = {}

    def swap(v):
        if isinstance(v, Raw):
            key = f"@raw{len(marks)}@"
            marks[f'"{key}"'] = str(v)
            return key
        if isinstance(v, dict):
            return {k: swap(x) for k, x in v.items()}
        if isinstance(v, list):
            return [swap(x) for x in v]
        return v

    text = json.dumps(swap(value), indent=indent)
    for key, raw in marks.items():
        text = text.replace(key, raw, 1)
    return text


class Trace:
    def __init__(self, opts):
        self.o = opts
        self.rng = random.Random(opts.seed)
        self.events = []
        self.device_ops = {}  # device -> [(start, end, class)]
        self.corr = 1000
        self.base = {"new": 4458676983543183, "old": 1623142623531625000, "rocm": 4909914216204635}[opts.style]
        self.base = opts.base if opts.base is not None else self.base
        self.pid = 4242

    def cat(self, new):
        old = {"kernel": "Kernel", "gpu_memcpy": "Memcpy", "gpu_memset": "Memset", "cuda_runtime": "Runtime",
               "cpu_op": "Operator", "user_annotation": "Operator"}
        return old.get(new, new) if self.o.style == "old" else new

    def time(self, ns):
        if self.o.style == "old":  # whole microseconds
            assert ns % 1000 == 0
        text = us(ns)
        return Raw(f'"{text}"') if self.o.quoted else Raw(text)

    def event(self, **kw):
        if self.o.shuffle:
            items = list(kw.items())
            self.rng.shuffle(items)
            kw = dict(items)
        self.events.append(kw)

    def host(self, cat, name, start, dur, **args):
        tid = str(self.pid) if self.o.style == "old" else self.pid
        self.event(ph="X", cat=self.cat(cat), name=name, pid=self.pid, tid=tid, ts=self.time(start),
                   dur=self.time(dur), args=args)

    def device(self, cat, name, device, stream, start, dur, corr, kind, **args):
        args = {"device": device, "context": 1, "stream": stream, "correlation": corr, **args}
        tid = f"stream {stream}" if self.o.style == "old" else stream
        self.event(ph="X", cat=self.cat(cat), name=name, pid=device, tid=tid, ts=self.time(start),
                   dur=self.time(dur), args=args)
        self.device_ops.setdefault(device, []).append((start, start + dur, kind))

    def step(self, number, device, at, grain):
        """One training step; returns when it ends."""
        r, begin, launch = self.rng, at, "hipLaunchKernel" if self.o.style == "rocm" else "cudaLaunchKernel"
        tails = {7: at + 20 * grain, 20: at + 20 * grain, 40: at + 20 * grain}

        def run(cat, name, stream, dur, kind, call, **args):
            nonlocal at
            self.corr += 1
            cost = r.randint(2, 6) * grain
            self.host("cuda_runtime", call, at, cost, cbid=211, correlation=self.corr)
            at += cost + r.randint(0, 3) * grain
            start = max(tails[stream], at + 3 * grain)
            self.device(cat, name, device, stream, start, dur, self.corr, kind, **args)
            tails[stream] = start + dur

        run("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 20, 9 * grain, "copy", "cudaMemcpyAsync", bytes=65536)
        for _ in range(self.o.layers):
            if self.o.noise:
                self.host("cpu_op", "aten::linear", at, 30 * grain, **{"External id": self.corr, "Input Dims": [
                    [8, 512], [512, 512], []], "Call stack": "a\\b \"c\" \u00e9"})
                self.host("python_function", "nn.Module: Linear_0", at, 31 * grain, **{"Python id": 3,
                                                                                     "Python parent id": None})
            if self.o.stacks:
                self.stack(at, grain)
            run("kernel", r.choice((GEMM, FLASH)), 7, r.randint(10, 60) * grain, "compute", launch,
                grid=[r.randint(1, 512), 1, 1], block=[128, 1, 1], **{"registers per thread": 128,
                                                                      "shared memory": 16384})
            run("kernel", ELEM, 7, r.randint(0, 4) * grain, "compute", launch, grid=[64, 1, 1], block=[256, 1, 1])
            if self.o.nccl:
                run("kernel", COMM, 40, r.randint(20, 80) * grain, "comm", launch, grid=[8, 1, 1], block=[544, 1, 1],
                    **{"Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096,
                       "Group size": self.o.world, "dtype": "Float", "Process Group Name": "0",
                       "Process Group Description": "default_pg",
                       "Process Group Ranks": str(list(range(self.o.world)))})
        run("gpu_memset", "Memset (Device)", 7, 2 * grain, "copy", "cudaMemsetAsync", bytes=1024)
        end = max(tails.values())
        self.host("cuda_runtime", "cudaDeviceSynchronize", at, end - at + grain, cbid=165, correlation=self.corr + 1)
        self.device_sync(device, at, end)
        self.host("user_annotation", f"ProfilerStep#{number}", begin, end + 2 * grain - begin)
        return end + r.randint(5, 50) * grain

    def stack(self, at, grain):
        """What Python was doing during the launch that comes next."""
        if self.o.stacks == "arg":
            self.host("cpu_op", "aten::linear", at, grain, **{
                "Call stack": "/x/site-packages/torch/nn/linear.py(5): forward;model.py(12): layer;train.py(7): <module>"})
            return
        for name, start in (("train.py(7): <module>", self.base), ("model.py(12): layer", at - 1),
                            ("torch/nn/linear.py(5): forward", at), ("<built-in function linear>", at)):
            self.host("python_function", name, start, at + grain - start, **{"Python id": 1, "Python parent id": 0})

    def device_sync(self, device, at, end):
        """A row on the GPU's track that is no work."""
        if self.o.style != "old":
            self.event(ph="X", cat="cuda_sync", name="Context Sync", pid=device, tid=0, ts=self.time(at),
                       dur=self.time(end - at), args={"device": device, "stream": 4294967295, "correlation": self.corr})

    def build(self):
        grain, at = (1000 if self.o.style == "old" else 137), self.base
        for i in range(self.o.steps):
            for device in range(self.o.devices):
                last = self.step(i, device, at, grain)
            at = last
        if self.o.untimed:
            ops = {d: list(v) for d, v in self.device_ops.items()}
            self.device("kernel", GEMM, 0, 7, 0, 0, self.corr + 5, "compute")
            self.device_ops = ops
        if self.o.empty:
            self.events.append({})
        self.events.append({"ph": "M", "name": "process_name", "pid": self.pid, "tid": 0, "args": {"name": "python"}})

    def header(self):
        names = {"new": "NVIDIA H100 80GB HBM3", "old": "Tesla V100-DGXS-32GB", "rocm": "AMD Instinct MI300X"}
        props = [{"id": d, "name": names[self.o.style], "totalGlobalMem": 85018279936, "computeMajor": 9,
                  "computeMinor": 0, "numSms": 132} for d in range(self.o.devices)]
        head = {"schemaVersion": 1, "deviceProperties": props}
        if self.o.world > 1 or self.o.nccl:
            head["distributedInfo"] = {"backend": "nccl", "rank": self.o.rank, "world_size": self.o.world}
        return head

    def text(self):
        if self.o.array:
            top = self.events
        elif self.o.header_last:
            top = {"traceEvents": self.events, **self.header()}
        else:
            top = {**self.header(), "traceEvents": self.events, "traceName": "made.json"}
        data = encode(top, 2 if self.o.pretty else None)
        if self.o.cut is not None:
            data = data[:self.o.cut if self.o.cut >= 0 else len(data) + self.o.cut]
        return data.encode()

    def truth(self):
        for device, ops in sorted(self.device_ops.items()):
            masks = {}
            edges = sorted({t for op in ops for t in op[:2]})
            for lo, hi in zip(edges, edges[1:]):
                mask = frozenset(k for s, e, k in ops if s <= lo and hi <= e)
                masks[mask] = masks.get(mask, 0) + hi - lo
            total = lambda f: sum(v for m, v in masks.items() if f(m))
            window = edges[-1] - edges[0]
            compute = total(lambda m: "compute" in m)
            comm = total(lambda m: "comm" in m)
            exposed = total(lambda m: "comm" in m and "compute" not in m)
            copy = total(lambda m: m == frozenset(["copy"]))
            yield (device, window, compute, exposed, copy, window - compute - exposed - copy, comm, comm - exposed,
                   len(ops))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--style", choices=STYLES, default="new")
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--stacks", choices=("arg", "frames"), help="of launches: an operator's argument, or Python's frames")
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--devices", type=int, default=1)
    p.add_argument("--rank", type=int, default=0)
    p.add_argument("--world", type=int, default=1)
    p.add_argument("--base", type=int, help="first nanosecond")
    p.add_argument("--cut", type=int, help="only the first N bytes of the text; negative: all but the last -N")
    for flag in ("nccl", "noise", "pretty", "array", "header-last", "shuffle", "quoted", "empty", "untimed", "truth"):
        p.add_argument("--" + flag, action="store_true")
    p.add_argument("-o", dest="out")
    trace = Trace(p.parse_args())
    trace.build()
    data = trace.text()
    if trace.o.out:
        if trace.o.out.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        with open(trace.o.out, "wb") as f:
            f.write(data)
    elif not trace.o.truth:
        sys.stdout.buffer.write(data)
    if trace.o.truth:
        for row in trace.truth():
            print("\t".join(map(str, row)))


if __name__ == "__main__":
    main()
