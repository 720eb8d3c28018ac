# SPDX-License-Identifier: Apache-2.0
"""Reads a .wt file with nothing of ours but trace.proto's text: `zstd -dc`, then protobuf's wire format by hand.

packets(path) yields dicts; "body" names the message, its fields are decoded by the types in trace.proto, columns ending
in _d are summed up. For tests that must not trust the project's own reader.
"""
import os, re, struct, subprocess

PROTO = os.path.join(os.path.dirname(__file__), "..", "..", "proto", "trace.proto")

def schema():
    messages, name = {}, None
    for line in open(PROTO):
        line = line.split("//")[0]
        m = re.match(r"\s*message (\w+)", line)
        if m:
            name = m.group(1)
            messages[name] = {}
        m = re.match(r"\s*(repeated )?(map<string, string>|\w+) (\w+) = (\d+);", line)
        if m and name:
            messages[name][int(m.group(4))] = (m.group(3), m.group(2), bool(m.group(1)))
    return messages

SCHEMA = schema()

def varint(b, i):
    v = s = 0
    while True:
        c = b[i]
        i += 1
        v |= (c & 127) << s
        s += 7
        if c < 128:
            return v, i

def value(kind, v):
    if kind in ("sint64", "sint32"):
        return v >> 1 ^ -(v & 1)
    if kind in ("int64", "int32"):
        return v - (1 << 64) if v >> 63 else v
    return v

def message(name, b):
    out, i = {}, 0
    while i < len(b):
        tag, i = varint(b, i)
        field, wire = tag >> 3, tag & 7
        known = SCHEMA[name].get(field)
        if wire == 0:
            v, i = varint(b, i)
        elif wire == 1:
            v, i = struct.unpack_from("<Q", b, i)[0], i + 8
        elif wire == 5:
            v, i = struct.unpack_from("<I", b, i)[0], i + 4
        else:
            n, i = varint(b, i)
            v, i = b[i:i + n], i + n
        if not known:
            continue
        key, kind, many = known
        if wire == 2 and kind in SCHEMA:
            v = message(kind, v)
        elif wire == 2 and kind.startswith("map"):
            parts, k = {}, 0
            while k < len(v):
                t, k = varint(v, k)
                n, k = varint(v, k)
                parts[t >> 3] = v[k:k + n].decode()
                k += n
            out.setdefault(key, {})[parts.get(1, "")] = parts.get(2, "")
            continue
        elif wire == 2 and kind == "string":
            v = v.decode()
        elif wire == 2 and kind != "bytes":  # packed column
            column, k = out.setdefault(key, []), 0
            while k < len(v):
                if kind == "fixed64":
                    x, k = struct.unpack_from("<Q", v, k)[0], k + 8
                else:
                    x, k = varint(v, k)
                column.append(value(kind, x))
            continue
        else:
            v = value(kind, v) if wire == 0 else v
        if many:
            out.setdefault(key, []).append(v)
        else:
            out[key] = v
    for key in [k for k in out if k.endswith("_d")]:
        total, column = 0, []
        for d in out[key]:
            total += d
            column.append(total)
        out[key[:-2]] = column
    # Starts as differences to the end of the row before; host times in units of 2^tick_shift ticks.
    if "start_gap" in out:
        dur = out.setdefault("dur", [0] * len(out["start_gap"]))
        end, starts = 0, []
        for gap, d in zip(out["start_gap"], dur):
            starts.append(end + gap)
            end = starts[-1] + d
        shift = out.get("tick_shift", 0)
        out["start"] = [s << shift for s in starts]
        out["dur"] = [d << shift for d in dur]
    return out

def packets(path):
    raw = subprocess.run(["zstd", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    i = 0
    while i < len(raw):
        try:
            n, k = varint(raw, i)
        except IndexError:
            return
        if k + n > len(raw):
            return
        p = message("Packet", raw[k:k + n])
        i = k + n
        for key in list(p):
            if key not in ("seq", "check"):
                p["body"] = key
        yield p

class Trace:
    """Tables put together: names by id, kernels and copies as rows, calls as rows."""

    def __init__(self, path):
        self.packets = list(packets(path))
        self.strings, self.functions, self.shapes, self.streams, self.ops = {}, {}, {}, {}, {}
        self.kernels, self.copies, self.calls, self.api, self.counts, self.states = [], [], [], [], {}, []
        for p in self.packets:
            body = p.get("body")
            m = p.get(body, {})
            getattr(self, "on_" + str(body), lambda m: None)(m)

    @staticmethod
    def rows(m, n):
        def col(key):
            return m.get(key) or [0] * n
        return col

    def on_strings(self, m):
        for i, t in enumerate(m.get("text", [])):
            self.strings[m["first_id"] + i] = t

    def on_functions(self, m):
        col = self.rows(m, len(m["id"]))
        for i, name in zip(m["id"], col("name")):
            self.functions[i] = self.strings.get(name, "")

    def on_shapes(self, m):
        col = self.rows(m, len(m["id"]))
        for r in zip(m["id"], *[col(k) for k in ("gx", "gy", "gz", "bx", "by", "bz", "dyn_smem")]):
            self.shapes[r[0]] = r[1:]

    def on_ops(self, m):
        col = self.rows(m, len(m["id"]))
        for i, name, kind in zip(m["id"], col("name"), col("kind")):
            self.ops[i] = (self.strings[name], kind)

    def on_streams(self, m):
        for i in m["id"]:
            self.streams[i] = True

    def on_kernels(self, m):
        n = len(m["start"])
        col = self.rows(m, n)
        for f, s, shape, c, t, d, g, fl in zip(col("function"), col("stream"), col("shape"), col("correlation"),
                                              m["start"], col("dur"), col("graph"), col("flags")):
            self.kernels.append(dict(name=self.functions[f], stream=s, shape=self.shapes[shape], correlation=c, start=t,
                                     end=t + d, graph=g, flags=fl, device=m.get("device", 0), context=m.get("context", 0)))

    def on_copies(self, m):
        n = len(m["start"])
        col = self.rows(m, n)
        for k, b, s, c, t, d, g in zip(col("kind"), col("bytes"), col("stream"), col("correlation"), m["start"], col("dur"),
                                      col("graph")):
            self.copies.append(dict(kind=k, bytes=b, stream=s, correlation=c, start=t, end=t + d, graph=g))

    def on_calls(self, m):
        n = len(m["start"])
        col = self.rows(m, n)
        for i, (op, t, d, st, o, sh, b, status, fl) in enumerate(
                zip(col("op"), m["start"], col("dur"), col("stream"), col("object"), col("shape"), col("bytes"),
                    col("status"), col("flags"))):
            name, kind = self.ops[op]
            self.calls.append(dict(ring=m["ring"], seq=m.get("first_seq", 0) + i, op=name, kind=kind, tsc=t, dur=d, stream=st,
                                   object=o, shape=self.shapes.get(sh), bytes=b, status=status, flags=fl,
                                   function=self.functions.get(o, "") if kind == 1 else ""))

    def on_api(self, m):
        col = self.rows(m, len(m["correlation"]))
        for c, cb, rt in zip(m["correlation"], col("cbid"), col("runtime")):
            self.api.append((m.get("thread_word", 0), c, cb, rt))

    def on_counts(self, m):
        n = len(m.get("n", []))
        col = self.rows(m, n)
        self.counts = {}
        for ctx, k, s, v in zip(col("context"), col("kind"), col("state"), col("n")):
            self.counts[k, s] = self.counts.get((k, s), 0) + v

    def on_state(self, m):
        self.states.append(m)
