# SPDX-License-Identifier: Apache-2.0
"""An XPlane reader that shares nothing with ours: plain Python over the wire format. Prints, per device of each file,
  file device records kernels kernels_union_ns kernels_sum_ns
where records are all events of streams (GPU) or of the operations' line (TPU).

usage: xplane_wire.py FILE...
"""
import sys


def varint(b, i):
    r = s = 0
    while True:
        c = b[i]
        i += 1
        r |= (c & 127) << s
        s += 7
        if c < 128:
            return r, i


def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        kind = tag & 7
        if kind == 0:
            v, i = varint(b, i)
        elif kind == 2:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        else:
            n = {1: 8, 5: 4}[kind]
            v, i = b[i:i + n], i + n
        yield tag >> 3, v


def table(entries):
    out = {}
    for e in entries:
        e = dict(fields(e))
        body = list(fields(e.get(2, b"")))
        out[e.get(1, 0)] = (dict(body).get(2, b"").decode("utf-8", "replace"), [v for f, v in body if f == 5])
    return out


def stat_value(stat, names):
    f = dict(fields(stat))
    value = next((v for k, v in f.items() if k != 1), None)
    if 7 in f:
        value = names.get(f[7], ("",))[0]
    elif isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return names.get(f.get(1, 0), ("",))[0], value


COPY_CATEGORIES = {"infeed", "outfeed", "copy-start", "copy-done", "host send", "host recv"}
CONTROL = {"while", "call", "conditional"}


def union(spans):
    total, end = 0, None
    for s, e in sorted(spans):
        if end is None or s > end:
            total, end = total + e - s, e
        elif e > end:
            total, end = total + e - end, e
    return total


def device(plane):
    parts = {}
    for f, v in plane:
        parts.setdefault(f, []).append(v)
    name = parts[2][0].decode()
    names, kinds = table(parts.get(5, [])), table(parts.get(4, []))
    records, kernels = 0, []
    for line in parts.get(3, []):
        line = list(fields(line))
        head = dict(line)
        title = head.get(2, b"").decode()
        if not (title.startswith("Stream #") if "GPU" in name else title in ("XLA Ops", "XLA TraceMe")):
            continue
        for f, event in line:
            if f != 4:
                continue
            ev = {}
            stats = {}
            for k, v in fields(event):
                if k == 4:
                    key, value = stat_value(v, names)
                    stats[key] = value
                else:
                    ev[k] = v
            title_of, kind_stats = kinds[ev[1]]
            start = (head.get(3, 0) * 1000 + ev.get(2, 0)) // 1000
            end = (head.get(3, 0) * 1000 + ev.get(2, 0) + ev.get(3, 0)) // 1000
            if "GPU" in name:
                records += 1
                if "memcpy_details" in stats or title_of.startswith(("Memcpy", "Memset")):
                    continue
            elif title == "XLA TraceMe":
                if title_of != "barrier-cores":
                    continue
            else:
                records += 1
                category = dict(stat_value(s, names) for s in kind_stats).get("hlo_category")
                if category in COPY_CATEGORIES or category in CONTROL:
                    continue
            kernels.append((start, end))
    return name.rsplit(":", 1)[1], records, len(kernels), union(kernels), sum(e - s for s, e in kernels)


def main():
    for path in sys.argv[1:]:
        for f, plane in fields(open(path, "rb").read()):
            plane = list(fields(plane)) if f == 1 else []
            if any(k == 2 and v.startswith((b"/device:GPU:", b"/device:TPU:")) for k, v in plane):
                print(path, *device(plane), sep="\t")


if __name__ == "__main__":
    main()
