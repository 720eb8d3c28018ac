# SPDX-License-Identifier: Apache-2.0
"""The numbers of a report agree with each other: what sums sums, nothing is counted twice. usage: report_audit.py REPORT..."""
import collections
import json
import sys

ROLLUPS = {"compute": "A1 A2", "memory": "A3 A4", "latency": "A5", "comm": "B1 B2", "straggler": "B3 B6", "pipeline": "B4 D12",
           "copy": "C2 C3 C4 C5 C6", "input": "D1 C1", "launch": "D8 D9 D10", "sync": "D6 D7", "host": "D2 D3 D4 D5",
           "no_work": "D13", "unknown": "A6 B5 D11 D14 E1 E2 E3 E4 E5"}
LISTS = ("operations", "calls", "ranges", "devices", "culprits")


class Audit:
    def __init__(self, report):
        self.r, self.wrong, self.checks = report, [], 0
        self.leaves = collections.Counter()
        for d in report["devices"]:
            self.leaves.update(d["leaves_ns"])
        self.window_ns = sum(d["window_ns"] for d in report["devices"])
        self.kernels_ns = sum(d["kernels"]["sum_ns"] for d in report["devices"])
        self.kernels = sum(d["kernels"]["count"] for d in report["devices"])

    def equal(self, what, got, want):
        self.checks += 1
        if got != want:
            self.wrong.append("%s: %s, not %s" % (what, got, want))

    def most(self, what, got, limit):
        self.checks += 1
        if got > limit:
            self.wrong.append("%s: %s is more than %s" % (what, got, limit))

    def account(self, what, x):
        """The sweep's sums and the leaves of one device or step."""
        by = collections.Counter()
        for leaf, ns in x["leaves_ns"].items():
            by["D" if leaf[0] == "E" else leaf if leaf == "B6" else leaf[0]] += ns
        for key, kind in (("compute", "A"), ("comm_exposed", "B"), ("copy_exposed", "C"), ("spin", "B6"), ("none", "D")):
            self.equal("%s %s" % (what, key), x[key + "_ns"], by[kind])
        self.equal(what + " leaves", sum(x["leaves_ns"].values()), x["window_ns"])
        self.equal(what + " communication", x["comm_total_ns"], x["comm_exposed_ns"] + x["comm_hidden_ns"])

    def devices(self):
        for d in self.r["devices"]:
            what = "rank %s device %s" % (d["rank"], d["device"])
            self.account(what, d)
            self.equal(what + " grades", sum(d["grades_ns"].values()), d["window_ns"])
            self.most(what + " union of kernels", d["kernels"]["union_ns"], d["kernels"]["sum_ns"])
            self.most(what + " kernels without launch", d["kernels"]["without_launch"], d["kernels"]["count"])
        for key, leaves in ROLLUPS.items():
            self.equal("rollup " + key, self.r["rollup_ns"][key], sum(self.leaves[k] for k in leaves.split()))
        self.equal("rollups", sum(self.r["rollup_ns"].values()), self.window_ns)

    def phases(self):
        leaves = collections.Counter()
        for p in self.r["phases"]:
            leaves.update(p["leaves_ns"])
            idle = sum(ns for k, ns in p["leaves_ns"].items() if k[0] in "DE")
            self.equal(p["phase"] + " idle", p["idle_ns"], idle)
            self.equal(p["phase"] + " busy", p["busy_ns"], sum(p["leaves_ns"].values()) - idle)
        if not self.r["phases"]:
            return
        self.equal("leaves of all phases", +leaves, +self.leaves)
        got = sum(p["kernels"] for p in self.r["phases"]), sum(p["kernel_ns"] for p in self.r["phases"])
        if len(self.r["inputs"]) > 1 or any("outside the window" in n for n in self.r["notes"]):
            # Phases are of the window that all ranks share, kernels of all that was recorded.
            self.most("kernels of all phases", got, (self.kernels, self.kernels_ns))
        else:
            self.equal("kernels of all phases", got[0], self.kernels)

    def kernel_lists(self):
        r, b = self.r, self.r["bounds"]
        self.equal("kernels' count", sum(k["count"] for k in r["kernels"]), self.kernels)
        self.equal("kernels' time", sum(k["sum_ns"] for k in r["kernels"]), self.kernels_ns)
        self.equal("kernels that bounds are of", b["kernels_ns"], self.kernels_ns)
        self.equal("kernels by format", sum(p["sum_ns"] for p in r["precision"]), b["kernels_ns"] - b["comm_ns"])
        m = r["modules"]
        self.equal("kernels by module", sum(p["kernel_ns"] for p in m["paths"]) + m["others_ns"] + m["unknown_ns"],
                   self.kernels_ns)
        self.most("off the matrix pipe", sum(o["sum_ns"] for o in r["off_matrix"]), b["products_ns"])
        self.most("products with FLOPs", b["products_known_ns"], b["products_ns"])
        for key, ns in b.items():
            if key.endswith("_ns"):
                self.most("bounds " + key, ns, b["kernels_ns"])
        for p in r["precision"]:
            self.most(p["dtype"] + " by name", p["estimated_ns"], p["sum_ns"])

    def steps(self):
        spans = collections.defaultdict(list)
        for s in self.r["steps"]:
            if s["device"] is None:
                continue
            self.account("step %s of device %s" % (s["step"], s["device"]), s)
            self.equal("step's window", s["window_ns"], s["end_ns"] - s["start_ns"])
            spans[s["rank"], s["pid"], s["device"]].append((s["start_ns"], s["end_ns"]))
        for who, at in spans.items():
            at.sort()
            for before, after in zip(at, at[1:]):
                self.most("end of a step before the next of %s" % (who,), before[1], after[0])

    def communication(self):
        exposed = sum(d["comm_exposed_ns"] for d in self.r["devices"])
        for c in self.r["collectives"]:
            self.most(c["name"] + " exposed", c["exposed_ns"], c["sum_ns"])
            self.most(c["name"] + " split", (c["transfer_ns"] or 0) + (c["wait_ns"] or 0), c["sum_ns"])
            self.most(c["name"] + " unfinished", c["unfinished"], c["count"] or 0)
        k = self.r["ranks"]
        if not k:
            return
        if k["communicators"] and not any("outside the window" in n for n in self.r["notes"]):
            self.most("communicators exposed", sum(c["exposed_ns"] for c in k["communicators"]), 1.001 * exposed + 1)
        if k["communicators"]:
            self.most("communicators beside compute and not", sum(c["exposed_ns"] + c["hidden_ns"] for c in k["communicators"]),
                      self.r["bounds"]["comm_ns"])
            self.most("communication hidden", sum(d["comm_hidden_ns"] for d in self.r["devices"]),
                      sum(c["hidden_ns"] for c in k["communicators"]))
        for c in k["communicators"]:
            self.most("hidden of a communicator", -c["hidden_ns"], 0)
            self.most("blocking", c["blocking_ns"], c["exposed_ns"])
            self.equal("operations of a communicator", sum(c["unmatched"].values()) + c["matched"], c["operations"])
        if k["wait_ns"] is None:
            return
        self.equal("waiting", k["wait_ns"], self.leaves["B3"] + self.leaves["B4"])
        self.equal("blamed", sum(b["wait_ns"] for b in k["blame"]), k["wait_ns"])
        self.most("without a culprit", k["not_established_ns"], k["wait_ns"])
        self.most("caused by ranks", sum(s["caused_ns"] for s in k["stragglers"]), k["wait_ns"])
        if k["stragglers"]:
            self.equal("waited by ranks", sum(s["waited_ns"] for s in k["stragglers"]), k["wait_ns"])

    def gains(self):
        some = self.r["opportunities"]
        for o in some:
            self.equal("gains are of one thing", (o["of"], o["of_ns"]), (some[0]["of"], some[0]["of_ns"]))
            self.most(o["leaf"] + " share", abs(o["share"] - o["ns"] / o["of_ns"]), 1e-8)
            if o["ns"] < o["of_ns"]:
                self.most(o["leaf"] + " speed-up", abs(o["speedup_at_most"] * (1 - o["ns"] / o["of_ns"]) - 1), 1e-5)
            self.most(o["leaf"] + " windows", o["windows"], o["of_windows"])
            for key in LISTS:
                self.most(o["leaf"] + " " + key, sum(x["ns"] for x in o[key]), o["ns"])
            if o["of"] == "records":
                self.equal(o["leaf"], o["ns"], self.leaves[o["leaf"]])
        if some:
            # The gap: what is not computing. Steps outside the ledger's window are not among those gains are of.
            of = self.r["devices"] if some[0]["of"] == "records" else [s for s in self.r["steps"] if not s["partial"]]
            self.most("all gains", sum(o["ns"] for o in some), sum(x["window_ns"] - x["compute_ns"] for x in of))
            # Steps of one device do not overlap, so they are no more than its window.
            self.most("what gains are of", some[0]["of_ns"], self.window_ns)

    def run(self):
        for part in (self.devices, self.phases, self.kernel_lists, self.steps, self.communication, self.gains):
            part()
        return self


if __name__ == "__main__":
    bad = checks = 0
    for path in sys.argv[1:]:
        a = Audit(json.load(open(path))).run()
        checks += a.checks
        for w in a.wrong[:10]:
            print("%s: %s" % (path, w))
        bad += len(a.wrong)
    print("%d reports, %d checks, %d wrong" % (len(sys.argv) - 1, checks, bad))
    sys.exit(bool(bad) or not checks)
