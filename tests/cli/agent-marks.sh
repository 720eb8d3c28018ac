#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Marks of a job that uses annotate.h: each row with its name, kind, value, in its thread's order; nothing from before
# cuInit or from a child; nothing without the agent, below level api, or where the header is compiled as C89 or C++.
set -eu
build=$(realpath "${BUILD:-build}")
here=$(realpath "$(dirname "$0")")
root=$(realpath "$here/../..")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
export LD_LIBRARY_PATH=$build/simgpu/lib

"$build/tests/cli/agent_marks" 2 # without the agent: no more than a job
printf '#include <warptap/annotate.h>\nint main(void) { wt_step_begin(1); wt_range_push(WT_INPUT, "x"); wt_range_pop(); wt_step_end(); return 0; }\n' >"$dir/a.c"
cp "$dir/a.c" "$dir/a.cc"
"${CC:-gcc}" -std=c89 -pedantic -Wall -Wextra -Werror -Wno-long-long -I"$root/include" -o "$dir/c89" "$dir/a.c" -ldl
"$dir/c89"
if command -v "${CXX:-g++}" >/dev/null; then
	"${CXX:-g++}" -std=c++11 -pedantic -Wall -Wextra -Werror -I"$root/include" -o "$dir/cxx" "$dir/a.cc" -ldl
	"$dir/cxx"
fi
for level in trace api count off; do
	mkdir "$dir/$level"
	WARPTAP_LEVEL=$level WARPTAP_DIR="$dir/$level" WARPTAP_EXIT_MS=10000 LD_PRELOAD="$build/libwarptap.so" \
		"$build/tests/cli/agent_marks" 5 || { echo "FAIL: level $level: exit $?"; exit 1; }
done
mkdir "$dir/crowd"
WARPTAP_DIR="$dir/crowd" WARPTAP_EXIT_MS=10000 LD_PRELOAD="$build/libwarptap.so" "$build/tests/cli/agent_marks" 1 crowd 4

PYTHONDONTWRITEBYTECODE=1 python3 - "$dir" "$here" <<'P'
import glob, os, sys
sys.path.insert(0, sys.argv[2])
import wt_wire

PUSH, POP, START, END, MORE = 1, 2, 3, 4, 5

def marks(name):
    (wt,) = glob.glob(os.path.join(sys.argv[1], name, "*.wt"))
    t, rows = wt_wire.Trace(wt), []
    for p in t.packets:
        if p.get("body") != "marks":
            continue
        m = p["marks"]
        n = len(m["what"])
        col = lambda key: m.get(key) or [0] * n
        for q, tsc, what, kind, value, text in zip(col("call_seq"), m["tsc"], m["what"], col("kind"), col("value"), col("name")):
            rows.append((m["ring"], q, tsc, what, kind, value, t.strings.get(text, "")))
    whole = []
    for r in sorted(rows):
        if r[3] == MORE:  # the rest of a name that a batch ended in
            whole[-1] = whole[-1][:6] + (whole[-1][6] + r[6],)
        else:
            whole.append(r)
    return t, whole

for level in "trace", "api":
    t, rows = marks(level)
    rings = {r[0] for r in rows}
    main = min(rings)
    mine = [r for r in rows if r[0] == main]
    assert all(a[1] < b[1] and a[2] <= b[2] for a, b in zip(mine, mine[1:])), "order"
    # Every row of the ring is a call, and each mark is one of them.
    calls = {(c["ring"], c["seq"]): c for c in t.calls}
    assert all(calls[r[0], r[1]]["op"] == "warptap_mark" and calls[r[0], r[1]]["kind"] == 18 for r in rows)
    assert [q for ring, q in sorted(calls) if ring == main] == list(range(len([c for c in t.calls if c["ring"] == main])))
    said = [(r[3], r[4], r[5], r[6]) for r in mine]
    want = [(POP, 0, 0, ""), (PUSH, 1, 0, "start"), (POP, 0, 0, "")]
    for n in range(5):
        want += [(PUSH, 2, n, "step"), (PUSH, 10, 0, "batch"), (POP, 0, 0, ""), (START, 11, 1000 + n, "request"),
                 (PUSH, 3, 0, ""), (POP, 0, 0, ""), (PUSH, 4, 0, "backward"), (POP, 0, 0, ""), (POP, 2, 0, "")]
    for n in range(131):
        want += [(PUSH, 1, 0, (chr(97 + n % 26) * n)[:112]), (POP, 0, 0, "")]
    want += [(PUSH, 9, 0, "left open")]
    assert said == want, next((a, b) for a, b in zip(said, want) if a != b)
    others = [(r[3], r[4], r[5]) for r in rows if r[0] != main]
    assert sorted(others) == [(END, 11, 1000 + n) for n in range(5)], others
    # A mark is no call: it is counted nowhere.
    assert not [k for k in t.counts if k[1] == 18], t.counts
for level in "count", "off":
    t, rows = marks(level)
    assert not rows, level
t, rows = marks("crowd")
crowd = [r for r in rows if r[6] == "crowd"]
by = {}
for r in crowd:
    by.setdefault(r[0], []).append(r)
lost = sum(p["loss"].get("n", 0) for p in t.packets if p.get("body") == "loss")
assert lost or sorted(map(len, by.values())) == [20000] * 4, ({k: len(v) for k, v in by.items()}, lost)
print("ok")
P
for level in trace api; do
	"$build/warptap" info --packets "$dir/$level"/*.wt | grep -q "^ *[0-9]* *marks\|marks" || { echo "FAIL: info --packets"; exit 1; }
done
