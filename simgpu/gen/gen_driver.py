#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the exported half of the simulated driver from NVIDIA's headers.

From cuda.h and cudaProfiler.h (every prototype, every ABI version, per-thread-stream variants), cudaTypedefs.h (which
CUDA version brought which ABI) and cupti_driver_cbid.h (callback ids) it writes into OUT:

    sim_calls.h    `CUresult sim_cuX(...)` for every exported cuX, weak: write the function and it is called
    sim_driver.c   the exported wrappers, the call table, the table behind cuGetProcAddress
    libcuda.map    the linker's list of exports

Nothing of the headers' text is kept but names and types, so any CUDA release can be used.

usage: gen_driver.py CC CUDA_INC CUPTI_INC OUT
"""
import collections
import os
import re
import subprocess
import sys

# Answer before cuInit, as the real driver's do.
BEFORE_INIT = {"cuInit", "cuDriverGetVersion", "cuGetProcAddress", "cuGetProcAddress_v2", "cuGetErrorName",
               "cuGetErrorString", "cuGetExportTable"}
# A stub zeroes the outputs of calls that answer or make something. Arrays handed in by other calls (batch copies) are
# pointers to non-const too, so the verb decides.
OUTPUT_VERB = re.compile(r"Get|Create|Alloc|Query|Reserve|Instantiate|GraphAdd\w*Node|Export|Import|Open|Retain|Clone")
SCALAR = re.compile(r"^(unsigned |signed |long |int|size_t|float|double|cuuint\d+_t|CUdeviceptr|CUdevice$|CU[a-zA-Z]+$)")


def preprocess(cc, inc, headers, *defines):
    text = "".join(f"#include <{h}>\n" for h in headers)
    return subprocess.run([cc, "-E", "-P", "-xc", "-I" + inc, *defines, "-"], input=text, text=True, check=True,
                          capture_output=True).stdout


def split(args):
    args = " ".join(args.split())
    if args in ("", "void"):
        return []
    ret, depth, cur = [], 0, ""
    for ch in args:
        depth += ch in "([" and 1 or ch in ")]" and -1 or 0
        if ch == "," and depth == 0:
            ret.append(cur.strip())
            cur = ""
        else:
            cur += ch
    return ret + [cur.strip()]


def param_name(p):
    return re.search(r"(\w+)\s*(?:\[[^]]*\])?$", p)[1]


def prototypes(text):
    ret = {}
    for m in re.finditer(r"\bCUresult\s+(cu[A-Z]\w*)\s*\(([^;{]*)\)\s*;", text):
        if re.search(r"static\s+inline\s*$", text[:m.start()][-40:]):
            continue
        ret.setdefault(m[1], split(m[2]))
    return ret


def outputs(name, params):
    """Statements that zero what a stub would have answered."""
    ret = []
    if OUTPUT_VERB.search(name):
        for p in params:
            m = re.match(r"(.*\S)\s*\*\s*(\w+)$", p)
            if m and "const" not in p and (SCALAR.match(m[1]) or m[1].endswith("*")) and m[1] != "char" \
                    and not m[1].endswith(("_PARAMS", "_DESC", "Params", "Prop", "Config")):
                ret.append(f"if ({m[2]}) sim_zero({m[2]}, sizeof(*{m[2]}));")
    return ret


def base_of(name):
    return re.sub(r"_(ptds|ptsz)$", "", name)


def emit_header(protos):
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "/* Made by simgpu/gen/gen_driver.py. Implementations of the driver API; an absent one is a stub. */",
           "#ifndef SIM_CALLS_H", "#define SIM_CALLS_H", "#include <cuda.h>", "#include <cudaProfiler.h>"]
    for name, params in sorted(protos.items()):
        if name == base_of(name):
            out.append(f"CUresult sim_{name}({', '.join(params) or 'void'}) __attribute__((weak));")
    return out + ["#endif", ""]


def params_struct(params):
    """What CUPTI's clients know as cuX_params: the parameters in order, arrays as pointers."""
    members = [re.sub(r"(\w+)\s*\[[^]]*\]$", r"*\1", p) for p in params]
    return ["\tstruct p_ {", *(f"\t\t{m};" for m in members or ["char none_"]), "\t} params_;"]


def params_fill(params):
    names = ", ".join(param_name(p) for p in params) or "0"
    return [f"\t\tparams_ = (struct p_){{{names}}};"]


def emit_wrappers(protos, cbids):
    out = ["/* SPDX-License-Identifier: Apache-2.0 */",
           "/* Made by simgpu/gen/gen_driver.py. The exported driver API: bracket, scenario, implementation or stub. */",
           '#include "sim_calls.h"', '#include "simgpu/core/sim_call.h"', '#include "simgpu/cuda/proc_table.h"', "",
           "struct sim_call sim_calls[] = {"]
    names = sorted(protos)
    for n in names:
        cbid = cbids.get(n, 0)
        out.append(f'\t{{.name = "{n}", .cbid = {cbid}, .per_thread = {int(n != base_of(n))}, '
                   f'.needs_init = {int(n not in BEFORE_INIT)}}},')
    out += ["};", f"const unsigned int sim_n_calls = {len(names)};", ""]
    for i, n in enumerate(names):
        params = protos[n]
        impl = "sim_" + base_of(n)
        call = f"{impl}({', '.join(param_name(p) for p in params)})"
        out += [f"__attribute__((visibility(\"default\"))) CUresult {n}({', '.join(params) or 'void'});",
                f"CUresult {n}({', '.join(params) or 'void'})", "{",
                *params_struct(params),
                f"\tstruct sim_call *call_ = &sim_calls[{i}];", "\tstruct sim_watched watched_;", "\tCUresult r_;", "",
                "\tsim_call_enter(call_);", "\twatched_.watch = NULL;",
                "\tif (sim_watching()) {", *params_fill(params),
                "\t\tsim_watch_begin(&watched_, SIM_DRIVER, call_->cbid, &params_);", "\t}",
                "\tif (!sim_call_refused(call_, &r_)) {",
                f"\t\tif ({impl}) {{", f"\t\t\tr_ = {call};", "\t\t} else {"]
        out += ["\t\t\t" + s for s in outputs(n, params)]
        out += ["\t\t\tr_ = sim_call_stub(call_);", "\t\t}", "\t}", "\tif (__builtin_expect(watched_.watch != NULL, 0))",
                "\t\tsim_watch_end(&watched_, (int32_t *)&r_);", "\tsim_call_exit(call_, r_);", "\treturn r_;", "}"]
    return out


def proc_rows(protos, typedefs):
    """(name, version, ABI, per thread): the n-th version of a name in cudaTypedefs.h is its n-th ABI; apart for the
    per-thread variants, which are younger."""
    versions, abis = collections.defaultdict(set), collections.defaultdict(set)
    for name, version, thread in re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\)", typedefs):
        versions[name, bool(thread)].add(int(version))
    for p in protos:
        m = re.match(r"(cu\w+?)(?:_v(\d+))?(_ptds|_ptsz)?$", p)
        abis[m[1], bool(m[3])].add((int(m[2] or 1), p))
    for key in sorted(versions):
        vs, ns = sorted(versions[key]), sorted(abis.get(key, ()))
        if ns and len(vs) != len(ns):
            sys.exit(f"gen_driver.py: {key[0]}: versions {vs} do not pair with {[n for _, n in ns]}")
        for v, (_, abi) in zip(vs, ns):
            yield key[0], v, abi, key[1]


def emit_proc_table(protos, typedefs):
    out, checks = ["", "const struct sim_proc sim_procs[] = {"], []
    pfns = set(re.findall(r"\*(PFN_cu\w+_v\d+(?:_ptds|_ptsz)?)\)", typedefs))
    rows = list(proc_rows(protos, typedefs))
    for name, version, abi, thread in rows:
        out.append(f'\t{{"{name}", {version}, {int(thread)}, (void *){abi}}},')
        pfn = f"PFN_{name}_v{version}" + (abi[-5:] if thread else "")
        if pfn in pfns:
            checks.append(f"_Static_assert(__builtin_types_compatible_p({pfn}, __typeof__(&{abi})), "
                          f'"{pfn} is not {abi}");')
    out += ["};", f"const unsigned int sim_n_procs = {len(rows)};", "",
            "/* The pairing of versions and ABIs above is a rule; the headers' own types prove it. */"]
    return out + checks + [""]


def write(path, lines):
    text = "\n".join(lines)
    if os.path.exists(path) and open(path).read() == text:
        return
    with open(path, "w") as f:
        f.write(text)


def main():
    cc, cuda_inc, cupti_inc, out = sys.argv[1:5]
    os.makedirs(out, exist_ok=True)
    internal = "-D__CUDA_API_VERSION_INTERNAL"
    protos = prototypes(preprocess(cc, cuda_inc, ["cuda.h", "cudaProfiler.h"], internal))
    if len(protos) < 300:
        sys.exit(f"gen_driver.py: only {len(protos)} prototypes found in {cuda_inc}/cuda.h: another layout than known")
    with open(os.path.join(cupti_inc, "cupti_driver_cbid.h")) as f:
        cbids = {n: int(v) for n, v in re.findall(r"CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=\s*(\d+)", f.read())}
    typedefs = preprocess(cc, cuda_inc, ["cudaTypedefs.h", "cudaProfilerTypedefs.h"], internal)
    # cudaTypedefs.h guards its oldest types by the same macro.
    write(os.path.join(out, "sim_calls.h"), emit_header(protos))
    body = emit_wrappers(protos, cbids)
    body.insert(2, "#include <cudaTypedefs.h>\n#include <cudaProfilerTypedefs.h>")
    write(os.path.join(out, "sim_driver.c"), body + emit_proc_table(protos, typedefs))
    write(os.path.join(out, "libcuda.map"), ["{", "global:", *(f"\t{n};" for n in sorted(protos)), "local:", "\t*;",
                                             "};", ""])


main()
