#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check: fast
# Every member of the timeline's rows stands in fields.def: one that does not is lost by merging and converting.
exec python3 - <<'PY'
import re, sys
EXEMPT = {"reserved"}
text = re.sub(r"/\*.*?\*/|//[^\n]*", "", open("analyzer/timeline/timeline.h").read(), flags=re.S)
table = open("analyzer/timeline/fields.def").read()
structs = set(re.findall(r"^WT_ROWS\(\w+, \d+, struct (\w+),", table, re.M))
bad = 0
for name in sorted(structs):
    body = re.search(r"struct %s \{(.*?)\}" % name, text, re.S)
    declared = set()
    for line in body[1].split(";"):
        m = re.match(r"\s*(?:struct\s+|unsigned\s+)?\w+\s+(.*)", line, re.S)
        if m:
            declared |= {re.sub(r"\[.*|[\s*]", "", d) for d in m[1].split(",")}
    listed = {re.sub(r"\[.*", "", m) for m in re.findall(r"^WT_(?:FIELD|BYTES)\(\w+, \d+, struct %s, ([\w\[\]]+)" % name, table, re.M)}
    for what, names in (("not in fields.def", declared - listed - EXEMPT), ("only in fields.def", listed - declared)):
        for n in sorted(names):
            bad = 1
            print(f"struct {name}: {n}: {what}")
print(len(structs), "kinds of rows")
sys.exit(bad or len(structs) < 18)
PY
