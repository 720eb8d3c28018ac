#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes Kineto files with the faults that trace readers were seen to trip over, one each, small enough to be reckoned
by hand; and what a report of them must say.

usage: kineto_faults.py DIR     writes DIR/NAME[.json|.json.gz] and DIR/expect.json:
  [{"name", "paths": [...], "exit": 0|1|3, "sum": {key: value}, "device": {key: value}, "notes": [...], "err": [...],
    "inputs": {key: value}}]
`sum`: of devices[].kernels[key] over all devices; `device`: of the only device; `inputs`: of inputs[0].lost. A note or
error is a part of one. Times are microseconds in the text and nanoseconds in what is expected.
"""
import gzip
import json
import os
import sys

cases, files = [], {}


class Raw:
    """Text that stands in the JSON as it is."""
    def __init__(self, text):
        self.text = text


def dump(v):
    if isinstance(v, Raw):
        return v.text
    if isinstance(v, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {dump(x)}" for k, x in v.items()) + "}"
    if isinstance(v, list):
        return "[" + ", ".join(map(dump, v)) + "]"
    return json.dumps(v)


def kernel(name, ts, dur, corr, stream=7, device=0, cat="kernel", **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": device, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": device, "stream": stream, "correlation": corr, **args}}


def call(ts, dur, corr, name="cudaLaunchKernel", pid=77, cat="cuda_runtime"):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": pid, "ts": ts, "dur": dur,
            "args": {"correlation": corr}}


def trace(events, **head):
    return dump({"schemaVersion": 1, **head, "traceEvents": events}).encode()


def case(name, data, exit=0, paths=None, **want):
    if data is not None:
        files[name + ".json"] = data
    cases.append({"name": name, "paths": paths or [name + ".json"], "exit": exit, **want})


GEMM, ADD = "ampere_sgemm_128x64_tn", "void at::native::vectorized_elementwise_kernel<4, AddFunctor>(int)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
PLAIN = [call(1, 2, 1), kernel(GEMM, 10, 5, 1)]


def public_faults():
    # Kernels of one stream that overlap without nesting: all are there, busy time is their union.
    case("overlap", trace([call(1, 1, 1), call(2, 1, 2), kernel(GEMM, 10, 5, 1), kernel(GEMM, 14, 6, 2)]),
         sum={"count": 2, "union_ns": 10000, "sum_ns": 11000, "same_stream_overlaps": 1, "without_launch": 0},
         device={"window_ns": 10000, "compute_ns": 10000, "none_ns": 0}, notes=["before the one before them"])
    # Durations that reach far past the next kernel: busy time never exceeds wall time.
    case("past_the_next", trace([kernel(GEMM, 10 + i, 1000000, i) for i in range(50)]),
         sum={"count": 50, "union_ns": 1000049000, "same_stream_overlaps": 49},
         device={"window_ns": 1000049000, "compute_ns": 1000049000})
    # Communication by the newer kernel name.
    case("nccl_dev_kernel", trace([kernel(GEMM, 10, 5, 1), kernel(NCCL, 15, 10, 2, stream=9)]),
         device={"comm_exposed_ns": 10000, "comm_total_ns": 10000, "compute_ns": 5000})
    # Rows of waiting on the GPU's track are no work.
    case("sync_rows", trace([kernel(GEMM, 10, 5, 1), kernel("Context Sync", 0, 100, 2, cat="cuda_sync"),
                             kernel("Stream Wait Event", 15, 50, 3, cat="cuda_sync"), kernel(GEMM, 30, 5, 4)]),
         sum={"count": 2, "union_ns": 10000}, device={"window_ns": 25000, "none_ns": 15000})
    # All kernels of a graph launch belong to it.
    case("graph", trace([call(1, 2, 9, "cudaGraphLaunch")] +
                        [kernel(GEMM, 10 + 5 * i, 4, 9, **{"graph node id": 100 + i}) for i in range(6)]),
         sum={"count": 6, "without_launch": 0, "union_ns": 24000})
    case("no_rank", trace(PLAIN), sum={"count": 1}, device={"rank": None})
    case("no_step", trace(PLAIN), sum={"count": 1}, steps=0)
    case("step", trace(PLAIN + [{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 77, "tid": 77,
                                 "ts": 0, "dur": 20},
                                {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#3", "pid": 0, "tid": 7,
                                 "ts": 10, "dur": 5}]), sum={"count": 1, "union_ns": 5000}, steps=1)
    # Records that lost their times: counted, and the window is not stretched over decades.
    case("start_zero", trace([kernel(GEMM, 0, 0, 1), kernel(GEMM, 1623142623531625, 5, 2),
                              kernel(GEMM, 1623142623531640, 5, 3)]),
         device={"window_ns": 20000, "none_ns": 10000}, notes=["1 device records have no usable times"])
    # All of the file begins at zero: then zero is a time.
    case("ts_zero", trace([kernel(GEMM, 0, 5, 1), kernel(GEMM, 10, 5, 2)]),
         device={"window_ns": 15000, "compute_ns": 10000})
    # A kernel before its own launch: kept, and joined.
    case("before_launch", trace([call(100, 2, 1), kernel(GEMM, 99.5, 5, 1), call(200, 2, 2), kernel(GEMM, 203, 5, 2)]),
         sum={"count": 2, "without_launch": 0, "union_ns": 10000}, device={"window_ns": 108500})
    case("inf_bandwidth", trace([kernel("Memcpy DtoD (Device -> Device)", 5, 0, 1, cat="gpu_memcpy", bytes=0,
                                        **{"memory bandwidth (GB/s)": Raw("inf")}), kernel(GEMM, 10, 5, 2)]),
         sum={"count": 1}, inputs={"repairs": 1, "events": 0}, notes=["1 faults of the text were repaired"])
    case("windows_path", trace([kernel(GEMM, 10, 5, 1, **{"Call stack": Raw(r'"C:\Users\me\train.py(3): step"')})]),
         sum={"count": 1, "union_ns": 5000}, inputs={"repairs": 2, "events": 0})  # \\t is an escape
    name = Raw('"lambda x: print("a", "b")\n\treturn x"')
    case("source_in_name", trace([kernel(GEMM, 10, 5, 1), {**kernel(GEMM, 20, 5, 2), "name": name}]),
         sum={"count": 2, "union_ns": 10000}, kernels=['lambda x: print("a", "b")\n\treturn x'],
         inputs={"repairs": 6, "events": 0})
    case("lost_event", trace([kernel(GEMM, 10, 5, 1), Raw('{"ph": "X", "cat": kernel, "name": "x", "ts": 16}'),
                              kernel(GEMM, 20, 5, 2)]), exit=3, sum={"count": 2, "union_ns": 10000},
         inputs={"events": 1}, err=["1 events lost"])
    case("not_utf8", trace([kernel("caf@", 10, 5, 1)]).replace(b"caf@", b"caf\xe9"),
         sum={"count": 1}, kernels=["caf\ufffd"], inputs={"repairs": 1})
    # Times as strings, absolute; ids beyond what a double holds.
    case("quoted", trace([call(Raw('"1712106658012345.678"'), Raw('"2"'), Raw('"9007199254740993"')),
                          kernel(GEMM, Raw('"1712106658012350.001"'), Raw('"5.001"'), Raw('"9007199254740993"')),
                          kernel(GEMM, Raw('"1712106658012360.001"'), Raw('"5.001"'), Raw('"9007199254740992"'))]),
         sum={"count": 2, "without_launch": 1, "union_ns": 10002}, device={"window_ns": 15001})
    case("id_above_2_63", trace([call(1, 2, 18446744073709551615), kernel(GEMM, 10, 5, 18446744073709551615),
                                 kernel(GEMM, 20, 5, 18446744073709551614)]),
         sum={"count": 2, "without_launch": 1})
    # Streams side by side: never more than all of the time.
    case("busy_and_idle", trace([kernel(GEMM, 10 * i, 30, i, stream=i % 4) for i in range(1, 40)] +
                                [kernel(ADD, 1000, 5, 50)]),
         device={"window_ns": 995000, "compute_ns": 415000, "none_ns": 580000})


def spellings():
    case("scientific", trace([kernel(GEMM, Raw("1.712106658012345678e15"), Raw("5e0"), 1),
                              kernel(GEMM, Raw("1712106658012355678E-3"), Raw("500.0e-2"), 2)]),
         device={"window_ns": 15000, "compute_ns": 10000})
    case("negative_duration", trace([kernel(GEMM, 10, 5, 1), kernel(GEMM, 20, -3, 2)]),
         device={"window_ns": 5000}, notes=["1 device records have no usable times"])
    case("one_ended_flows", trace(PLAIN + [
        {"ph": "s", "id": 5, "pid": 77, "tid": 77, "ts": 1, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": 9223372036854775809, "pid": 0, "tid": 7, "ts": 10, "cat": "ac2g", "name": "ac2g", "bp": "e"}]),
         sum={"count": 1, "without_launch": 0})
    case("two_processes", trace([call(1, 2, 1, pid=77), call(2, 2, 1, pid=88), kernel(GEMM, 10, 5, 1),
                                 call(3, 2, 2, pid=88), kernel(GEMM, 20, 5, 2)]),
         sum={"count": 2, "without_launch": 1})
    case("rocm", trace([call(1, 2, 1, "hipLaunchKernel"), kernel(GEMM, 10, 5, 1, device=2),
                        call(3, 2, 2, "hipMemcpyAsync"),
                        kernel("__amd_rocclr_copyBuffer.kd", 20, 4, 2, device=2),
                        call(5, 2, 3, "hipModuleLaunchKernel", cat="hip_runtime"), kernel(GEMM, 30, 5, 3, device=2)],
                       deviceProperties=[{"id": 0, "name": "AMD Instinct MI300X"}, {"id": 1, "name": "AMD Instinct MI300X"}]),
         sum={"count": 3, "without_launch": 0}, device={"name": "AMD Instinct MI300X", "device": 2})
    case("mtia", trace([call(1, 2, 1, "runFunction-job_prep_and_submit_for_execution", cat="mtia_runtime"),
                        kernel("kernel_fn", 10, 5, 1)]), sum={"count": 1, "union_ns": 5000, "without_launch": 0})
    case("old_words", trace([call(1, 2, 1, cat="Runtime"), kernel(GEMM, 10, 5, 1, cat="Kernel"),
                             call(3, 2, 2, "cudaMemcpyAsync", cat="Runtime"),
                             kernel("Memcpy HtoD (Pageable -> Device)", 20, 5, 2, cat="Memcpy"),
                             kernel("Memset (Device)", 30, 5, 3, cat="Memset")]),
         sum={"count": 1}, device={"copy_exposed_ns": 10000, "compute_ns": 5000, "window_ns": 25000})
    case("no_runtime", trace([kernel(GEMM, 10, 5, 1), kernel(GEMM, 20, 5, 2)]),
         sum={"count": 2, "without_launch": 2}, device={"window_ns": 15000})
    side = [{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 77, "tid": 77, "ts": 3, "s": "t",
             "args": {"Total Allocated": 1024, "Device Id": 0, "Addr": 140000000000000, "Bytes": 512}},
            {"ph": "C", "name": "GPU 0 memory", "pid": 0, "ts": 4, "args": {"bytes": 17}},
            {"ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 77, "tid": 77, "ts": 1, "dur": 9,
             "args": {"Python id": 1, "Python parent id": None, "Python module id": 0}},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 77, "tid": 77, "ts": 1, "dur": 5,
             "args": {"External id": 1, "Input Dims": [[8, 512], [512, 64]], "Input type": ["float", "float"],
                      "Call stack": "a.py(1): f;b.py(2): g"}},
            {"ph": "X", "cat": "gpu_user_annotation", "name": "forward", "pid": 0, "tid": 7, "ts": 10, "dur": 90},
            {"ph": "X", "cat": "cuda_profiler_range", "name": "range", "pid": 0, "tid": 7, "ts": 10, "dur": 90},
            {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler",
             "ts": 0, "dur": 1000}, {}]
    case("beside_the_work", trace(side + PLAIN + [kernel(GEMM, 20, 5, 2)]), sum={"count": 2, "union_ns": 10000},
         device={"window_ns": 15000, "compute_ns": 10000})
    case("array", dump(PLAIN + [kernel(GEMM, 20, 5, 2)]).encode(), sum={"count": 2, "without_launch": 1})
    nccl = {"Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 2,
            "dtype": "BFloat16", "Process Group Name": "7", "Process Group Description": "dp",
            "Process Group Ranks": "[0, 4]", "Seq": 41}
    case("nccl_metadata", trace([kernel(NCCL, 10, 5, 1, **nccl)], distributedInfo={"rank": 4, "world_size": 8}),
         device={"rank": 4, "comm_total_ns": 5000},
         collectives=[{"name": "allreduce", "nranks": 2, "bytes": 8192}])


def files_as_they_lie():
    whole = trace([kernel(GEMM, 10 * i, 5, i, noise=f"{i * 7919 % 1000003:x}" * 9) for i in range(1, 2001)])
    zipped = gzip.compress(whole, mtime=0)
    half = len(whole) // 2
    files["members.json.gz"] = gzip.compress(whole[:half], mtime=0) + gzip.compress(b"", mtime=0) + \
        gzip.compress(whole[half:], mtime=0)
    case("members", None, paths=["members.json.gz"], sum={"count": 2000, "union_ns": 10000000})
    files["trailing.json.gz"] = zipped + b"\0" * 777
    case("trailing", None, paths=["trailing.json.gz"], sum={"count": 2000}, notes=["777 bytes behind the gzip data"])
    files["cut90.json.gz"] = zipped[:len(zipped) * 9 // 10]
    case("cut90", None, paths=["cut90.json.gz"], exit=3, at_least={"count": 1700}, err=["ends too early"])
    files["claim0.json"] = files["claim1.json"] = trace(PLAIN, distributedInfo={"rank": 3, "world_size": 8})
    case("one_rank_twice", None, paths=["claim0.json", "claim1.json"], sum={"count": 2},
         notes=["rank 3 is claimed by two files", "7 of 8 ranks are not among the files: 0-2, 4-7"])
    case("one_rank_of_many", trace(PLAIN, distributedInfo={"rank": 3, "world_size": 8}), sum={"count": 1},
         notes=["rank 3 of a job of 8 ranks", "no kernel was recognised as communication"])
    case("byte_order_mark", b"\xef\xbb\xbf" + trace(PLAIN), sum={"count": 1}, inputs={"repairs": 0})
    files["mark.json.gz"] = gzip.compress(b"\xef\xbb\xbf" + trace(PLAIN), mtime=0)
    case("byte_order_mark_gz", None, paths=["mark.json.gz"], sum={"count": 1})
    for name, data, word in (("utf16", trace(PLAIN).decode().encode("utf-16"), "UTF-16 text"),
                             ("zip", b"PK\x03\x04" + bytes(60), "a zip archive"), ("xz", b"\xfd7zXZ\0", "xz data"),
                             ("bzip2", b"BZh91AY&SY", "bzip2 data"),
                             ("tar", b"a.json".ljust(257, b"\0") + b"ustar\x0000", "a tar archive")):
        case(name, data, exit=1, err=["found " + word, "expected "])
    deep = b"[" * 200000
    case("deep_and_closed", trace([kernel(GEMM, 10, 5, 1, deep=Raw((deep + b"]" * 200000).decode()))]), sum={"count": 1})
    case("deep_and_open", b'{"traceEvents": ' + deep, exit=3, err=["found its end"])
    case("giant_string", trace([kernel("k" * (3 << 20), 10, 5, 1, stack="s" * (5 << 20))]), sum={"count": 1})
    case("absurd_numbers", trace([kernel(GEMM, 10, 5, 1, stream=Raw("9" * 400), bytes=Raw("1e999"),
                                         grid=Raw("[1e30, -5, 99999999999]"))]), sum={"count": 1, "union_ns": 5000})


def main():
    out = sys.argv[1]
    public_faults()
    spellings()
    files_as_they_lie()
    for name, data in files.items():
        with open(os.path.join(out, name), "wb") as f:
            f.write(data)
    with open(os.path.join(out, "expect.json"), "w") as f:
        json.dump(cases, f, indent=1)


if __name__ == "__main__":
    main()
