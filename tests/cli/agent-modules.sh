#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# A kernel is (module, name), never its name or its handle alone: three modules with one kernel name, the third loaded
# after the first was unloaded, are three functions of the trace, and each launch is one of the right one.
set -eu
build=${BUILD:-build}
here=$(dirname "$0")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"$build/warptap" run -q --sim h100 -o "$dir/t" -- "$build/tests/cli/same_name"
PYTHONDONTWRITEBYTECODE=1 python3 - "$dir/t" "$here" <<'P'
import collections, glob, sys
sys.path.insert(0, sys.argv[2])
import wt_wire
t = wt_wire.Trace(*glob.glob(sys.argv[1] + "/*.wt"))
strings, functions, shapes, launched = {}, {}, {}, collections.Counter()
for p in t.packets:
    m = p[p["body"]]
    if p["body"] == "strings":
        strings.update(enumerate(m["text"], m["first_id"]))
    elif p["body"] == "functions":
        for i, name, module in zip(m["id"], m["name"], m.get("module", [0] * len(m["id"]))):
            functions[i] = (strings.get(name), module)
    elif p["body"] == "shapes":
        shapes.update(zip(m["id"], m["gx"]))
for p in t.packets:
    if p["body"] == "calls":
        m = p["calls"]
        col = t.rows(m, len(m["start"]))  # calls written before the first launch have no column of objects
        for f, s in zip(col("object"), col("shape")):
            if s:  # a launch
                launched[functions[f] + (shapes[s],)] += 1
modules = {f[1] for f in launched}
assert len(modules) == 3 and 0 not in modules, launched
assert {f[0] for f in launched} == {"kernel"}, launched
assert sorted((f[2], n) for f, n in launched.items()) == [(1, 30), (2, 20), (3, 10)], launched
P
"$build/tests/e2e/join_check" "$dir/t"
echo ok
