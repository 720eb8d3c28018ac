#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stubs of NVIDIA's libraries (cuBLAS, cuDNN, cuSPARSE ...), typed well enough to be harmless.

    gen_libs.py extract --cc gcc --inc INC --table simgpu/libs/signatures.tsv   where a toolkit's headers are at hand
    gen_libs.py build --src simgpu/libs --out OUT LIBRARY...                    needs the table alone

The table is in the tree, so that a machine without those headers builds too. A line is a function: its library, name,
what it returns (s status, t text, n size, v nothing, w wide integer) and one letter a parameter:

    i  integer, enum or pointer that is read    f d c z  float, double, complex, double complex
    1 4 8  pointer to an output of that many bytes, which a stub zeroes      h  pointer to a handle that the call makes

Outputs matter: a size left as it was makes the caller ask for thousands of GiB. `build` leaves out what a source of
simgpu/libs defines (a line that opens with SIM_API) and writes per library LIB_stubs.c and LIB.map.
"""
import argparse
import glob
import os
import re

import cparse

# library: (soname, version node or None, pattern of exported names)
LIBRARIES = {
    "cublas": ("libcublas.so.13", "libcublas.so.13", "cublas*"),
    "cublasLt": ("libcublasLt.so.13", "libcublasLt.so.13", "cublasLt*"),
    "cudnn": ("libcudnn.so.9", "libcudnn.so.9", "cudnn*"),
    "cufft": ("libcufft.so.12", "libcufft.so.12", "cufft*"),
    "curand": ("libcurand.so.10", "libcurand.so.10", "curand*"),
    "cusparse": ("libcusparse.so.12", "libcusparse.so.12", "cusparse*"),
    "cusparseLt": ("libcusparseLt.so.0", None, "cusparseLt*"),
    "cusolver": ("libcusolver.so.12", "libcusolver.so.12", "cusolver*"),
    "cufile": ("libcufile.so.0", None, "cuFile*"),
    "nvrtc": ("libnvrtc.so.13", "libnvrtc.so.13", "nvrtc*"),
    "nvJitLink": ("libnvJitLink.so.13", "libnvJitLink.so.13", "*nvJitLink*"),
    "nvshmem": ("libnvshmem_host.so.3", "NVSHMEM", "nvshmem*"),
    "nvml": ("libnvidia-ml.so.1", None, "nvml*"),
    "nccl": ("libnccl.so.2", None, "nccl*"),
}
# header: (library, return types of its functions, name pattern)
HEADERS = [
    (["cublas_v2.h"], "cublas", ["cublasStatus_t", "const char *", "void", "size_t"], r"cublas(?!Lt)\w+"),
    (["cublasLt.h"], "cublasLt", ["cublasStatus_t", "const char *", "size_t", "void", "unsigned"], r"cublasLt\w+"),
    (["cudnn.h"], "cudnn", ["cudnnStatus_t", "const char *", "size_t", "void"], r"cudnn[A-Z]\w+"),
    (["cufft.h", "cufftXt.h"], "cufft", ["cufftResult"], r"cufft\w+"),
    (["curand.h"], "curand", ["curandStatus_t"], r"curand\w+"),
    (["cusparse.h"], "cusparse", ["cusparseStatus_t", "const char *", "cusparse\\w+_t"], r"cusparse\w+"),
    (["cusolverDn.h"], "cusolver", ["cusolverStatus_t"], r"cusolver\w+"),
    (["nvrtc.h"], "nvrtc", ["nvrtcResult", "const char *"], r"nvrtc\w+"),
    (["nvJitLink.h"], "nvJitLink", ["nvJitLinkResult"], r"(?:__)?nvJitLink\w+"),
]
# What a stub answers where it is not success (NVML and NCCL: not supported), and "execution failed" of each library.
RESULTS = {"nvml": 3, "nccl": 4, "nvJitLink": 0}
FAILED = {"cublas": 13, "cudnn": 5000, "cusparse": 6, "cusolver": 6, "curand": 201}
RETURNS = {"const char*": "t", "size_t": "n", "void": "v", "unsigned": "n"}
FLOATS = {"float": "f", "double": "d", "cuComplex": "c", "cuFloatComplex": "c", "cuDoubleComplex": "z", "float2": "c",
          "double2": "z", "cufftReal": "f", "cufftDoubleReal": "d", "cufftComplex": "c", "cufftDoubleComplex": "z"}
WIDE = {"size_t", "int64_t", "uint64_t", "long long", "long long int", "unsigned long long", "long", "unsigned long",
        "uint64_t"}
NOT_SCALAR = {"void", "char", "float", "double", "cuComplex", "cuDoubleComplex", "__half", "half"} | set(FLOATS)
MAKERS = re.compile(r"Create|Init|Plan|Alloc|Open")


def plain(t):
    return " ".join(re.sub(r"\b(const|struct|enum)\b", " ", t).replace("*", " * ").split())


def letter(lib, name, param, handles, enums):
    """The letter of one parameter."""
    if "(" in param.decl:
        return "i"  # a function pointer
    t = plain(param.type)
    stars = t.count("*") + ("[" in param.decl and not param.type.endswith("*"))
    base = t.replace("*", "").strip()
    if not stars:
        return FLOATS.get(base, "i")
    if "const" in param.type.rsplit("*", 1)[0] and stars == 1:
        return "i"
    if stars == 1 and base in handles:
        return "h" if MAKERS.search(name) else "8" if "Get" in name else "i"
    if stars == 2:
        return "8" if "Get" in name and "const" not in param.type else "i"
    if lib == "cufft" and param.name not in ("plan", "workSize", "workArea", "version", "value", "size"):
        return "i"  # its input arrays are not const
    if base in WIDE:
        return "8"
    if base in ("int", "unsigned", "unsigned int", "int32_t", "uint32_t") or base in enums \
            or base == "cufftHandle":
        return "4"
    return "i"


def extract(opt):
    rows = []
    for headers, lib, returns, names in HEADERS:
        text = cparse.preprocess(opt.cc, headers, [opt.inc])
        text = cparse.strip_attributes(text)
        handles = set(re.findall(r"typedef\s+(?:const\s+)?struct\s+\w*\s*(?:const\s*)?\*\s*(\w+)\s*;", text))
        handles |= set(re.findall(r"typedef\s+void\s*\*\s*(\w+)\s*;", text))
        enums = set(re.findall(r"\}\s*(\w+)\s*;", text)) & set(
            re.findall(r"typedef\s+enum\s*\w*\s*\{[^}]*\}\s*(\w+)\s*;", text))
        enums |= {"cudaDataType", "cudaDataType_t", "libraryPropertyType"}
        protos = cparse.prototypes(text, [r.replace(" *", r"\s*\*") for r in returns], names)
        for name, p in sorted(protos.items()):
            ret = RETURNS.get(p.ret.replace(" ", "") if p.ret.endswith("*") else p.ret, "s")
            if p.ret.startswith("const char"):
                ret = "t"
            rows.append((lib, name, ret, "".join(letter(lib, name, q, handles, enums) for q in p.params) or "-"))
    with open(opt.table, "w") as f:
        f.write("# library\tfunction\treturns\tparameters: see simgpu/gen/gen_libs.py\n")
        f.writelines("\t".join(r) + "\n" for r in rows)
    print("%d functions" % len(rows))


def load(src):
    rows = {}
    for path in sorted(glob.glob(os.path.join(src, "signatures*.tsv"))):
        with open(path) as f:
            for number, line in enumerate(f, 1):
                cells = line.split("#")[0].split()
                if not cells:
                    continue
                if len(cells) != 4 or cells[0] not in LIBRARIES or not re.fullmatch(r"-|[ifdcz148h]+", cells[3]):
                    raise SystemExit("%s:%d: expected library, function, return, parameters" % (path, number))
                rows.setdefault((cells[0], cells[1]), (cells[2], cells[3].strip("-")))
    return rows


C_TYPE = {"f": "float", "d": "double", "c": "float _Complex", "z": "double _Complex"}
C_RETURN = {"s": "int", "t": "const char *", "n": "size_t", "v": "void", "w": "long long"}


def load_launches(src):
    """[(library, pattern, kernel)] of launches.tsv: functions that launch one kernel on their handle's stream."""
    rows = []
    with open(os.path.join(src, "launches.tsv")) as f:
        for number, line in enumerate(f, 1):
            cells = line.split("#")[0].split()
            if cells and (len(cells) != 3 or cells[0] not in LIBRARIES):
                raise SystemExit("launches.tsv:%d: expected library, pattern, kernel" % number)
            if cells:
                rows.append((cells[0], re.compile(cells[1] + "$"), cells[2]))
    return rows


def kernel_of(launches, lib, name):
    for row_lib, pattern, kernel in launches:
        if row_lib == lib:
            m = pattern.match(name)
            if m:
                return m.expand(kernel)
    return None


def stub(lib, name, ret, sig, kernel):
    params = ["%s a%d" % (C_TYPE.get(c, "long" if c == "i" else "void *"), i) for i, c in enumerate(sig)]
    # NCCL's names are weak aliases of pnccl*, its stubs too.
    own = "p" + name if lib == "nccl" else name
    decl = "%s%s%s(%s)" % (C_RETURN[ret], "" if ret == "t" else " ", own, ", ".join(params) or "void")
    out = ["SIM_API %s;" % decl, "SIM_API %s" % decl, "{", "\tstatic unsigned char once;", "",
           '\tsim_stub_used(&once, "%s", "%s");' % (lib, name)]
    alias = ['SIM_API __typeof__(%s) %s __attribute__((weak, alias("%s")));' % (own, name, own)] if own != name else []
    if kernel and ret == "s" and sig[:1] == "i":
        # Error numbers of a batch are an array; its length is the last parameter.
        last = "(int)a%d" % (len(sig) - 1)
        many = "4 * (size_t)(%s > 0 && %s < 1 << 24 ? %s : 1)" % (last, last, last)
        batch = "Batched" in name and sig[-1] == "i"
        outs = ", ".join("a%d, %s" % (i, many if batch and c == "4" else "(size_t)" + c)
                         for i, c in enumerate(sig) if c in "148")
        out.append('\treturn sim_lib_handle_launch((void *)a0, "%s", %d%s) ? STUB_FAILED : 0;' %
                   (kernel, sum(c in "148" for c in sig), ", " + outs if outs else ""))
        return "\n".join(out + ["}", *alias, ""])
    for i, c in enumerate(sig):
        if c in "148":
            out.append("\tif (a%d)\n\t\tmemset(a%d, 0, %s);" % (i, i, c))
        elif c == "h":
            out.append("\tif (a%d)\n\t\t*(void **)a%d = sim_lib_dummy();" % (i, i))
    out += {"t": ['\treturn "simulated";'], "v": []}.get(ret, ["\treturn STUB_RESULT;" if ret == "s" else "\treturn 0;"])
    return "\n".join(out + ["}", *alias, ""])


def build(opt):
    rows = load(opt.src)
    written = set()
    for path in glob.glob(os.path.join(opt.src, "*.c")):
        with open(path) as f:
            # A table macro may write several functions: SIM_API_NAMES(a, b) in a comment declares them.
            text = f.read()
        written |= set(re.findall(r"^SIM_API [\w ]+?[ \*](\w+)\(", text, re.M))
        for names in re.findall(r"SIM_API_NAMES:((?:\s+\*?\s*\w+)+)", text):
            written |= set(names.replace("*", " ").split())
    os.makedirs(opt.out, exist_ok=True)
    for lib in opt.libraries:
        soname, node, pattern = LIBRARIES[lib]
        mine = {n: v for (l, n), v in rows.items() if l == lib}
        if not mine:
            raise SystemExit("gen_libs.py: the table has no library " + lib)
        launches = [r for r in load_launches(opt.src) if r[0] == lib]
        body = ["/* SPDX-License-Identifier: Apache-2.0 */",
                "/* Made by simgpu/gen/gen_libs.py from simgpu/libs/signatures*.tsv. */",
                '#include "simgpu/libs/lib_stub.h"', "", "#include <string.h>", "",
                *(['#include "simgpu/libs/lib_handle.h"', ""] if launches else []),
                "#define STUB_RESULT %d" % RESULTS.get(lib, 0), "#define STUB_FAILED %d" % FAILED.get(lib, 1), ""]
        body += [stub(lib, n, *mine[n], kernel_of(launches, lib, n)) for n in sorted(mine) if n not in written]
        with open(os.path.join(opt.out, lib + "_stubs.c"), "w") as f:
            f.write("\n".join(body))
        with open(os.path.join(opt.out, lib + ".map"), "w") as f:
            f.write("%s{\nglobal:\n\t%s;\nlocal:\n\t*;\n};\n" % (node + " " if node else "", pattern))


def main():
    ap = argparse.ArgumentParser()
    sub = ap.add_subparsers(required=True)
    p = sub.add_parser("extract")
    p.add_argument("--cc", default="gcc")
    p.add_argument("--inc", required=True)
    p.add_argument("--table", required=True)
    p.set_defaults(run=extract)
    p = sub.add_parser("build")
    p.add_argument("--src", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("libraries", nargs="+")
    p.set_defaults(run=build)
    opt = ap.parse_args()
    opt.run(opt)


main()
