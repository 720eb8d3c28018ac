# SPDX-License-Identifier: Apache-2.0
"""Every key of a report's JSON stands in warptap-json(5), under its object. usage: report_keys.py PAGE REPORT..."""
import json
import re
import sys

# Objects whose keys are data.
DATA = re.compile(r"(^environment|leaves_ns|grades_ns|rollup_ns|unmatched)$")


def page(path):
    objects, here = {}, None
    for line in open(path):
        if line.startswith(".Ss "):
            here = objects.setdefault(line[4:].strip().replace("The object", ""), set())
        elif line.startswith(".It Cm "):
            here.add(line[7:].strip())
    return objects


def walk(where, value, known, missing, used):
    if isinstance(value, list):
        for v in value:
            walk(where + "[]", v, known, missing, used)
    elif isinstance(value, dict) and not DATA.search(where):
        for k, v in value.items():
            (used if k in known.get(where, ()) else missing).add((where, k))
            walk(where + "." + k if where else k, v, known, missing, used)


known, missing, used = page(sys.argv[1]), set(), set()
for path in sys.argv[2:]:
    walk("", json.load(open(path)), known, missing, used)
for where, key in sorted(missing):
    print("not in the page: %s of %s" % (key, where or "the object"))
print("%d keys of %d reports, %d not in the page" % (len(used) + len(missing), len(sys.argv) - 2, len(missing)))
sys.exit(bool(missing) or not used)
