#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes XPlane files (.xplane.pb) whose exact answer is known, with a protobuf writer of its own.

The same arguments give the same bytes. --truth prints what an exact sweep must find, per device:
  device window_ns compute_ns comm_exposed_ns copy_exposed_ns spin_ns none_ns comm_total_ns kernels kernels_sum_ns ops

usage: gen_xplane.py [gpu|tpu|cpu] [options] [-o FILE]     FILE ending in .gz is compressed; default: standard output
"""
import argparse
import gzip
import random
import struct
import sys

DERIVED = 0xDEADBEEF  # ids of lines made afterwards begin here


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def num(field, n):
    return varint(field << 3) + varint(n) if n else b""


def raw(field, b):
    return varint(field << 3 | 2) + varint(len(b)) + b


def text(field, s):
    return raw(field, s.encode()) if s else b""


class Ref(str):
    """A stat's text that is stored once, as a name."""


class Plane:
    def __init__(self, name, plane_id=0, meta_first=False):
        self.name, self.id, self.meta_first = name, plane_id, meta_first
        self.lines, self.kinds, self.names, self.stats = [], {}, {}, []

    def name_id(self, name):
        return self.names.setdefault(name, len(self.names) + 1)

    def stat(self, field, key, value):
        body = num(1, self.name_id(key))
        if isinstance(value, float):
            body += varint(2 << 3 | 1) + struct.pack("<d", value)
        elif isinstance(value, Ref):
            body += num(7, self.name_id(str(value)))
        elif isinstance(value, str):
            body += raw(5, value.encode())
        elif isinstance(value, bytes):
            body += raw(6, value)
        else:
            body += varint(3 << 3) + varint(value) if value >= 0 else varint(4 << 3) + varint(value)
        return raw(field, body)

    def kind(self, name, display="", **stats):
        """An event's kind by its name; its stats as given first."""
        if name not in self.kinds:
            kind_id = len(self.kinds) + 1
            body = num(1, kind_id) + text(2, name) + text(4, display)
            body += b"".join(self.stat(5, k, v) for k, v in stats.items())
            self.kinds[name] = (kind_id, body)
        return self.kinds[name][0]

    def line(self, line_id, name, timestamp_ns=0):
        self.lines.append([line_id, name, timestamp_ns, []])
        return self.lines[-1][3]

    def event(self, line, name, start_ps, dur_ps, kind_stats=None, display="", **stats):
        body = num(1, self.kind(name, display, **(kind_stats or {}))) + num(2, start_ps) + num(3, dur_ps)
        line.append((start_ps, raw(4, body + b"".join(self.stat(4, k, v) for k, v in stats.items()))))

    def encode(self):
        out = num(1, self.id) + text(2, self.name)
        lines = b""
        for line_id, name, timestamp_ns, events in self.lines:
            lines += raw(3, num(1, line_id) + text(2, name) + num(3, timestamp_ns) +
                         b"".join(e for _, e in events))
        kinds = b"".join(raw(4, num(1, i) + raw(2, body)) for i, body in self.kinds.values())
        names = b"".join(raw(5, num(1, i) + raw(2, num(1, i) + text(2, n))) for n, i in self.names.items())
        out += kinds + names + lines if self.meta_first else lines + kinds + names
        return out + b"".join(self.stats)


def hlo_proto(module, instructions):
    """HloProto with one computation; an instruction is (name, opcode, op_name, type, dimensions)."""
    body = b""
    for name, opcode, op_name, kind, dims in instructions:
        shape = num(2, kind) + (raw(3, b"".join(varint(d) for d in dims)) if dims else b"")
        body += raw(2, text(1, name) + text(2, opcode) + raw(3, shape) + raw(7, text(2, op_name)))
    return raw(1, text(1, module) + raw(3, text(1, "main") + body))


class Scene:
    def __init__(self, opts):
        self.o, self.rng = opts, random.Random(opts.seed)
        self.ops = {}  # device -> [(start_ps, end_ps, class, is kernel)]
        self.planes = []
        self.base_ns = 237_916 + 7 * opts.seed

    def plane(self, name, plane_id=0):
        p = Plane(name, plane_id, self.o.meta_first)
        self.planes.append(p)
        return p

    def op(self, device, start_ps, dur_ps, kind, kernel=True):
        shift = self.base_ns * 1000 if self.o.kind == "gpu" else 0
        self.ops.setdefault(device, []).append((start_ps + shift, start_ps + dur_ps + shift, kind, kernel))

    # -- XLA on a GPU

    def gpu(self):
        o, r = self.o, self.rng
        host = Plane("/host:CPU", 0, o.meta_first)
        calls = host.line(4242, "python", self.base_ns)
        program = 7
        table = [("loop_add_fusion.4", "fusion", "jit(step)/jit(main)/layer_0/add", 11, (8, 128)),
                 ("gemm_fusion_dot.17", "fusion", "jit(step)/jit(main)/layer_0/attn/dot_general", 16, (128, 512)),
                 ("all-reduce.3", "all-reduce", "jit(step)/psum", 11, (4096,))]
        meta = self.plane("/host:metadata")
        meta.kind(f"jit_step({program})", **{"Hlo Proto": hlo_proto("jit_step", table)})
        corr, at, devices = 100, 10_000_000, []
        for d in range(o.devices):
            p = self.plane(f"/device:GPU:{d}", d + 1)
            p.stats += [p.stat(6, "core_count", 132), p.stat(6, "compute_cap_major", 9), p.stat(6, "compute_cap_minor", 0),
                        p.stat(6, "memory_size", 85018279936), p.stat(6, "memory_bandwidth", 3352320000000),
                        p.stat(6, "device_vendor", "Nvidia")]
            devices.append((p, {s: p.line(s, f"Stream #{s}({w})", self.base_ns)
                                for s, w in ((13, "Compute"), (14, "MemcpyH2D"), (15, "Compute"))}))
        for step in range(o.steps):
            begin = at
            for d, (p, lines) in enumerate(devices):
                tails = dict.fromkeys(lines, at)
                graph = None
                for layer in range(o.layers + 1):
                    for i, (hlo, stream, kind) in enumerate([(None, 14, "copy")] if layer == 0 else [
                            (table[0][0], 13, "compute"), (table[1][0], 13, "compute"), (table[2][0], 15, "comm")]):
                        dur = r.randint(1, 60) * 1_111_000
                        if not (o.command_buffers and graph):
                            corr += 1
                            call = "cuMemcpyHtoDAsync_v2" if kind == "copy" else "cuLaunchKernel"
                            if o.command_buffers and kind != "copy":
                                call, graph = "cuGraphLaunch", corr
                            host.event(calls, call, at, 3_000_000, correlation_id=corr, device_id=d)
                            at += r.randint(3, 9) * 1_000_000
                        start = max(tails[stream], at + 2_000_000)
                        tails[stream] = start + dur
                        if kind == "copy":
                            p.event(lines[stream], "MemcpyH2D", start, dur, correlation_id=corr,
                                    memcpy_details="kind_src:pageable kind_dst:device size:65536 dest:0 async:1")
                        else:
                            name = ("ncclDevKernel_AllReduce_Sum_f32_RING_LL" if kind == "comm"
                                    else hlo.replace(".", "_"))
                            stats = {"hlo_op": Ref("command_buffer_1" if graph else hlo), "hlo_module": Ref("jit_step"),
                                     "program_id": program}
                            if graph:
                                stats["cuda_graph_exec_id"] = 5
                            p.event(lines[stream], name, start, dur, correlation_id=corr, **stats,
                                    kernel_details=Ref(f"regs:{32 + 8 * i} static_shared:0 dynamic_shared:1024 "
                                                       f"grid:{16 * (i + 1)},1,1 block:128,1,1 occ_pct:50"))
                        self.op(d, start, dur, kind, kind != "copy")
                at = max(tails.values()) + r.randint(5, 50) * 1_000_000
                host.event(calls, "cuStreamSynchronize", begin, at - begin, correlation_id=corr + 100000)
            host.event(calls, "train", begin, at - begin, step_num=step)
        for p, lines in devices:
            events = [e for line in lines.values() for e in line]
            for name in ("XLA Modules", "XLA Ops", "Framework Ops") if o.derived else ():
                p.line(DERIVED, name, self.base_ns).extend(events)
        host.event(calls, "$profiler.py:101 start_trace", 0, 834_021_000)
        self.planes.append(host)

    # -- a TPU

    def tpu(self):
        o, r = self.o, self.rng
        host = Plane("/host:CPU", 0, o.meta_first)
        calls = host.line(77, "tfrt/77", self.base_ns)
        at, run = 1_000_000_000, 0
        cores = []
        for d in range(o.devices):
            p = self.plane(f"/device:TPU:{d}", 2 + 8 * d)
            p.stats += [p.stat(6, "device_type_string", "TPU v6 Lite"), p.stat(6, "peak_teraflops_per_second", 918.0),
                        p.stat(6, "peak_hbm_bw_gigabytes_per_second", 1637.5)]
            cores.append((p, {n: p.line(i, n) for i, n in ((1, "Steps"), (2, "XLA Modules"), (3, "XLA Ops"),
                                                           (4, "Async XLA Ops"), (6, "XLA TraceMe"))}))
            if o.sparse:
                sc = self.plane(f"/device:TPU:{d} SparseCore 0", 100 + d)
                sc.event(sc.line(1, "Sparse Core Ops"), "sc.1", 5, 5)
        hbm, cpu = "f32[8,128]{1,0:T(8,128)}", "f32[8,128]{1,0:T(8,128)S(5)}"
        path = "jit(step)/jit(main)/while/body/layer/"

        def stats(category, where, shape=hbm, flops=0, moved=4096):
            return {"hlo_category": category, "tf_op": path + where + ":", "shape_with_layout": shape, "flops": flops,
                    "bytes_accessed": moved, "program_id": 99}

        for step in range(o.steps):
            begin = at
            for d, (p, lines) in enumerate(cores):
                run += 1
                flow, t = 5_000_000_000_000 + run, at
                host.event(calls, "DoEnqueueProgram", at - 400_000_000, 20_000_000, _pt=12, _p=flow)

                def op(line, name, display, kind, dur, lead=0, count=None, kernel=True, **st):
                    nonlocal t
                    p.event(lines[line], name, t + lead, dur, kind_stats=stats(**st) if st else None, display=display)
                    if kind:
                        self.op(d, t + lead, dur, kind, kernel)
                    t += (lead + dur) if line == "XLA Ops" else 0

                dur = lambda: r.randint(5, 90) * 1_234_567
                barrier = dur()
                p.event(lines["XLA TraceMe"], "barrier-cores", t, barrier)
                self.op(d, t, barrier, "spin")
                p.event(lines["XLA TraceMe"], "dependency-wait", t, 78)
                t += barrier
                if not o.no_feeds:
                    op("XLA Ops", f"%infeed = ({hbm}, token[]) infeed(token[] %t)", "infeed", "copy", dur(), kernel=False,
                       category="infeed", where="infeed")
                loop, copies = t, dur() + dur()
                start = f"%copy-start = ({cpu}, {hbm}, u32[]{{:S(2)}}) copy-start({hbm} %p)"
                op("Async XLA Ops", start, "async-copy", "copy", copies, kernel=False, category="copy-start", where="off",
                   shape=f"({cpu}, {hbm}, u32[]{{:S(2)}})")
                for i in range(o.layers):
                    t += r.randint(0, 3) * 777_777
                    op("XLA Ops", f"%fusion.{i} = {hbm} fusion({hbm} %a), kind=kOutput", f"fusion.{i}", "compute", dur(),
                       category="convolution fusion", where="attn/dot_general", flops=10**9)
                    op("XLA Ops", f"%add.{i} = {hbm} fusion({hbm} %a), kind=kLoop", f"add.{i}", "compute", dur(),
                       category="loop fusion", where="mlp/add", flops=1024)
                    op("XLA Ops", f"%all-reduce.{i} = {hbm} all-reduce({hbm} %a)", f"all-reduce.{i}", "comm", dur(),
                       category="all-reduce", where="psum")
                # The loop contains all this and is not counted.
                if o.layers:
                    p.event(lines["XLA Ops"], "%while.1 = () while()", loop, t - loop, kind_stats=stats("while", ""))
                done = f"%copy-done = {cpu} copy-done(({cpu}, {hbm}, u32[]{{:S(2)}}) %copy-start)"
                op("XLA Ops", done, "copy-done", "copy", dur(), kernel=False, category="copy-done", where="off")
                if not o.no_feeds:
                    op("XLA Ops", f"%outfeed = token[] outfeed({hbm} %a)", "outfeed", "copy", dur(), kernel=False,
                       category="outfeed", where="outfeed")
                p.event(lines["XLA Modules"], "jit_step(99)", at, t - at, run_id=run, _ct=12, _c=flow)
                p.event(lines["Steps"], str(step), at, t - at)
                end = t
            at = end + r.randint(300, 900) * 1_000_000
            host.event(calls, "train", begin - 400_000_000, at - begin, step_num=step)
        self.planes.append(host)

    def cpu(self):
        host = self.plane("/host:CPU")
        line = host.line(1, "python", self.base_ns)
        for step in range(self.o.steps):
            host.event(line, "train", step * 2_000_000_000, 1_500_000_000, step_num=step)

    def build(self):
        getattr(self, self.o.kind)()
        task = self.plane("Task Environment")
        task.stats += [task.stat(6, "profile_start_time", 1741722099081044120),
                       task.stat(6, "profile_stop_time", 1741722197726153802)]
        for p in self.planes:
            for line in p.lines:
                line[3].sort(key=lambda e: e[0])

    def bytes(self):
        o = self.o
        out = b"".join(raw(1, p.encode()) for p in self.planes) + text(4, o.host)
        if o.absurd:  # a plane that claims an exabyte, and behind it nothing
            out += b"\x0a" + varint(1 << 60)
        if o.corrupt is not None:
            out = bytearray(out)
            out[o.corrupt % len(out)] ^= 0xFF
            out = bytes(out)
        if o.cut is not None:
            out = out[:len(out) * o.cut // 100]
        if o.as_text:
            out = out.decode("utf-8", "replace").encode()
        return out

    def truth(self):
        for device, ops in sorted(self.ops.items()):
            ns = [(s // 1000, e // 1000, k, kernel) for s, e, k, kernel in ops]
            edges = sorted({t for op in ns for t in op[:2]})
            masks = {}
            starts, live, i = sorted(ns), [], 0
            for lo, hi in zip(edges, edges[1:]):
                live = [op for op in live if op[1] > lo]
                while i < len(starts) and starts[i][0] <= lo:
                    live.append(starts[i])
                    i += 1
                mask = frozenset(op[2] for op in live if op[1] > lo)
                masks[mask] = masks.get(mask, 0) + hi - lo
            first = lambda k, *over: sum(v for m, v in masks.items() if k in m and not m & set(over))
            yield (device, edges[-1] - edges[0], first("compute"), first("comm", "compute"),
                   first("copy", "compute", "comm"), first("spin", "compute", "comm", "copy"), masks.get(frozenset(), 0),
                   first("comm"), sum(op[3] for op in ns), sum(op[1] - op[0] for op in ns if op[3]), len(ns))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("kind", choices=("gpu", "tpu", "cpu"), nargs="?", default="gpu")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--steps", type=int, default=2)
    p.add_argument("--layers", type=int, default=3)
    p.add_argument("--devices", type=int, default=1)
    p.add_argument("--host", default="host0")
    p.add_argument("--cut", type=int, help="keep this many per cent")
    p.add_argument("--corrupt", type=int, help="flip the bits of this byte")
    p.add_argument("-o", "--out")
    for flag, what in (("command-buffers", "kernels run inside CUDA graphs"), ("derived", "lines made afterwards"),
                       ("meta-first", "tables before lines"), ("sparse", "planes of SparseCores"),
                       ("no-feeds", "neither infeed nor outfeed"), ("absurd", "a length of an exabyte"), ("as-text", "through a conversion to UTF-8"),
                       ("truth", "print the exact sweep")):
        p.add_argument("--" + flag, action="store_true", help=what)
    scene = Scene(p.parse_args())
    scene.build()
    data = scene.bytes()
    if scene.o.out:
        with (gzip.GzipFile(scene.o.out, "wb", mtime=0) if scene.o.out.endswith(".gz") else open(scene.o.out, "wb")) as f:
            f.write(data)
    elif not scene.o.truth:
        sys.stdout.buffer.write(data)
    if scene.o.truth:
        for row in scene.truth():
            print(*row, sep="\t")


if __name__ == "__main__":
    main()
