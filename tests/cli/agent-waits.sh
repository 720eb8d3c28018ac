#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Queued work that waits for another device's, by an event, or for a function of the host is told as that (D11), out of
# what the agent recorded: against the truth's times of the operations (agent_waits.c says what runs).
set -eu
export WARPTAP_FLUSH_MS=100
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
printf '[kernel]\nquick = 10us\nslow = 20ms\n' >"$dir/scenario"
for what in device stream function; do
	"$build/warptap" run -q --sim "h100,devices=2,scenario=$dir/scenario" -o "$dir/$what" -- "$build/tests/cli/agent_waits" $what
	"$build/warptap" report --json "$dir/$what" >"$dir/$what.json"
	"$build/warptap" report "$dir/$what" >"$dir/$what.txt"
	"$build/warptap" convert -q -o "$dir/$what.wt" "$dir/$what"
	"$build/warptap" report --json "$dir/$what.wt" >"$dir/$what.again"
	python3 - $what "$dir" <<'P'
import glob, json, re, sys
what, dir = sys.argv[1:]
lines = [l.rstrip("\n").split("\t") for p in glob.glob(dir + "/" + what + "/truth.*.tsv") for l in open(p) if not l.startswith("#")]
ops = [dict(zip(lines[0], l)) for l in lines[1:] if l[0] == "op"]
mine = sorted((int(o["start_ns"]), int(o["end_ns"])) for o in ops if o["device"] == "0")[-20:]
# Each of the ten gaps inside a round: from the first kernel's end to the second one's start.
waited = sum(mine[i + 1][0] - mine[i][1] for i in range(0, 20, 2))
report = json.load(open(f"{dir}/{what}.json"))
leaves = {d["device"]: d for d in report["devices"]}[0]["leaves_ns"]
got = leaves["D11"]
# What launching the second kernel took of it is not its; nothing of it stays without a cause.
assert waited > 180_000_000 and got <= waited, (what, got, waited)
assert got + leaves["D2"] + leaves["D7"] + leaves["D8"] + leaves["D9"] >= waited and got > waited / 2, (what, waited, leaves)
assert leaves["D14"] < waited / 100, (what, waited, leaves)
again = json.load(open(f"{dir}/{what}.again"))
assert [d["leaves_ns"] for d in again["devices"]] == [d["leaves_ns"] for d in report["devices"]], what
text = open(f"{dir}/{what}.txt").read()
assert re.search("function of the host" if what == "function" else "event of work on another device", text), text
print(f"{what}: {got / 1e6:.1f} of {waited / 1e6:.1f} ms")
P
done
