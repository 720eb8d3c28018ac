#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# report --model: FLOPs of a token and MFU of the GPT example equal the sums in its README; MFU by the steps of a trace
# whose times are known; an unknown device has none; report --families replaces the table and says where it is wrong.
set -u
bin=$(realpath "${BUILD:-build}/warptap")
readme=$(realpath examples/llm/README.md) sizes=$(realpath examples/llm/model.py)
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
bad=0
fail() { echo "FAIL: $*"; bad=1; }

# trace NAME [products]: six steps of 100 ms, each with a kernel of 60 ms that ends with the step
trace() {
	python3 - "$@" <<'P'
import json, sys
events = []
for i in range(6):
    t = i * 100000
    events.append(dict(ph="X", cat="user_annotation", name="ProfilerStep#%d" % i, pid=1, tid=1, ts=t, dur=99000))
    events.append(dict(ph="X", cat="cuda_runtime", name="cudaLaunchKernel", pid=1, tid=1, ts=t + 10, dur=10,
                       args=dict(correlation=i + 1)))
    events.append(dict(ph="X", cat="kernel", name="my_gemm_thing", pid=0, tid=7, ts=t + 40000, dur=60000,
                       args={"device": 0, "stream": 7, "correlation": i + 1, "External id": 100 + i}))
    if len(sys.argv) > 2:
        events.append(dict(ph="X", cat="cpu_op", name="aten::mm", pid=1, tid=1, ts=t + 5, dur=20,
                           args={"External id": 100 + i, "Input Dims": [[4096, 8192], [8192, 65536]],
                                 "Input type": ["c10::BFloat16", "c10::BFloat16"]}))
print(json.dumps(dict(deviceProperties=[dict(id=0, name=sys.argv[1], totalGlobalMem=85000000000, computeMajor=9,
                                             computeMinor=0, numSms=132)], traceEvents=events)))
P
}
trace "NVIDIA H100 80GB HBM3" >h100.json
trace "Imagination Nothing 9000" >none.json
trace "NVIDIA H100 80GB HBM3" products >mm.json
model=$(sed -n 's/.*--model \(layers=.*seq=1024\),.*/\1/p' "$readme")
[ -n "$model" ] || fail "the README has no command"
"$bin" report h100.json --json --model "$model,dtype=bf16,tokens_per_s=100000" >given.json || fail "report exits $?"
"$bin" report h100.json --json --model "$model,dtype=bf16,tokens_per_step=8192" >steps.json || fail "report exits $?"
"$bin" report none.json --json --model "$model,dtype=bf16,tokens_per_s=100000" >none.out || fail "report exits $?"
python3 - "$readme" "$sizes" <<'P' || fail "MFU"
import json, re, sys
text = open(sys.argv[1]).read()
flops = int(re.search(r"\*\*([\d,]+) FLOP a token\*\*", text)[1].replace(",", ""))
mfu = re.search(r"an MFU of \*\*([\d.]+) %\*\*", text)[1]
# the example's own formula
src = open(sys.argv[2]).read()
scope = {}
exec(src[src.index("def flops_per_token"):].split("\n\n\n")[0], scope)
assert scope["flops_per_token"](12, 768, 50304, 1024) == flops
given, steps, none = (json.load(open(n))["model"] for n in ("given.json", "steps.json", "none.out"))
assert given["flop_per_token"] == flops, given
assert "%.3f" % (100 * given["mfu"]) == mfu, (given, mfu)
assert given["mfu"] == given["mfu_most"] and not given["unverified"]
assert steps["steps"] >= 4 and steps["step_ns"] == 100e6, steps
assert abs(steps["mfu"] - flops * 8192 / 0.1 / 989.4e12) < 1e-9, steps
assert none["mfu"] is None and none["hfu"] is None and none["flop_per_token"] == flops, none
P
"$bin" report mm.json --json --model "$model,dtype=bf16,tokens_per_s=100000" >mm.out || fail "report exits $?"
python3 - <<'P' || fail "factors of MFU"
import json
m, given = (json.load(open(n))["model"] for n in ("mm.out", "given.json"))
f = m["mfu_factors"]
executed, window = 6 * 2 * 4096 * 8192 * 65536, 0.56 # from the first kernel's start to the last one's end
near = lambda x, y: abs(x - y) < 1e-9 * abs(y)
assert near(f["computing"], 0.36 / 0.56) and near(f["efficiency"], executed / 0.36 / 989.4e12), f
assert near(f["model_over_executed"], m["flop_per_token"] * 1e5 * window / executed) and f["products_known"] == 1, f
assert near(f["computing"] * f["efficiency"] * f["model_over_executed"], m["mfu"]) and m["mfu"] == given["mfu"], (f, m)
assert given["mfu_factors"] is None, given
P
"$bin" report mm.json --model "$model,dtype=bf16,tokens_per_s=100000" | grep -q 'MFU = kernels compute 64.29 % of the time x' ||
	fail "the factors of MFU are not told"
"$bin" report none.json --model "$model,dtype=bf16,tokens_per_s=100000" >text || fail "report exits $?"
grep -q 'no MFU: the bf16 peak of a device is not known' text || fail "the text does not say why there is no MFU"
grep -q 'is not in the device table' text || fail "the text does not say that the device is unknown"
"$bin" report h100.json --model "$model,dtype=bf16,tokens_per_s=1e9" | grep -q 'ERROR: more than the peak' ||
	fail "more than the peak is no error"
printf '# the same, from a file\nllama3-8b\nseq=4096\ntokens_per_s=1\n' >m.txt
"$bin" report h100.json --model m.txt | grep -q 'N = 7.50466e+09' || fail "a model from a file"
for wrong in "layers=12" "nothing" "params=x"; do
	"$bin" report h100.json --model "$wrong" >/dev/null 2>err
	[ $? = 2 ] && [ -s err ] || fail "--model $wrong: exit or message"
done

# Families: ours is the file's first line, wrong files are refused with the line.
head='pattern\tfamily\tlibrary\tbound_guess\trole\tflags\n'
printf "$head"'^my_\tmine\tme\tmemory\tnorm\t-\n' >f.tsv
"$bin" report h100.json --families f.tsv --json >f.json || fail "--families: exit $?"
python3 -c 'import json
k = json.load(open("f.json"))["kernels"]
assert [(x["family"], x["role"], x["bound"]) for x in k] == [("mine", "norm", "memory")], k' || fail "--families is not used"
refused() {
	"$bin" report h100.json --families "$1" >/dev/null 2>err
	[ $? = 2 ] && grep -q "$2" err || fail "$1: $(cat err)"
}
printf "$head"'(\tmine\tme\tmemory\tnorm\t-\n' >f1.tsv && refused f1.tsv 'line 2: .*expression'
printf "$head"'a\tmine\tme\tbig\tnorm\t-\n' >f2.tsv && refused f2.tsv 'line 2: bound_guess'
printf "$head"'a\tmine\n' >f3.tsv && refused f3.tsv 'line 2: a column is missing'
printf 'name\n' >f4.tsv && refused f4.tsv 'line 1: the columns'
refused nowhere.tsv nowhere.tsv
exit $bad
