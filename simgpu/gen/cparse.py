# SPDX-License-Identifier: Apache-2.0
"""Reads C prototypes and enums out of vendor headers, through the compiler's preprocessor.

Shared by the generators of this folder. A prototype is found by its return type; attributes and linkage words are
dropped first. Nothing here knows CUDA: the callers give header names, include folders and return types.
"""
import re
import subprocess


def preprocess(cc, headers, includes, defines=()):
    """The text of the headers after the preprocessor, without line marks."""
    src = "".join('#include <%s>\n' % h for h in headers)
    cmd = cc.split() + ["-E", "-P", "-x", "c", "-"]
    cmd += ["-I" + i for i in includes] + ["-D" + d for d in defines]
    done = subprocess.run(cmd, input=src, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit("gen: the preprocessor failed on %s:\n%s" % (", ".join(headers), done.stderr))
    return done.stdout


def strip_attributes(text):
    """Drops __attribute__((...)) with balanced parentheses, and the word extern."""
    out, i = [], 0
    for m in re.finditer(r'__attribute__\s*\(', text):
        if m.start() < i:
            continue
        out.append(text[i:m.start()])
        depth, j = 1, m.end()
        while depth and j < len(text):
            depth += {"(": 1, ")": -1}.get(text[j], 0)
            j += 1
        i = j
    out.append(text[i:])
    return re.sub(r'\bextern\b', '', "".join(out))


def split_params(params):
    """Splits at top-level commas; an empty list for (void)."""
    out, depth, cur = [], 0, ""
    for ch in params:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(ch, 0)
        if ch == "," and depth == 0:
            out.append(cur)
            cur = ""
        else:
            cur += ch
    out.append(cur)
    out = [" ".join(p.split()) for p in out]
    return [] if out in ([""], ["void"]) else out


class Param:
    """One parameter: its declaration (a name is made up where the header gives none), name, and type text."""

    def __init__(self, text, index):
        m = re.search(r'\(\s*\*\s*(\w+)\s*\)', text)
        if m:  # a function pointer
            self.decl, self.name, self.type = text, m.group(1), text
            return
        m = re.match(r'(.*?[\s\*&])(\w+)\s*((?:\[[^\]]*\])*)$', text)
        if m and not re.match(r'^(int|char|long|short|unsigned|float|double|void)$', m.group(2)) \
                and not re.match(r'^(const\s+)?(struct|enum|union)\s+$', m.group(1)):
            self.type = m.group(1).strip() + ("*" if m.group(3) else "")
            self.name, self.decl = m.group(2), text
        else:
            self.type, self.name = text, "a%d" % index
            self.decl = text + " " + self.name


class Proto:
    def __init__(self, ret, name, params):
        self.ret, self.name = ret, name
        self.params = [Param(p, i) for i, p in enumerate(params)]

    def decl(self, name=None):
        return "%s %s(%s)" % (self.ret, name or self.name, ", ".join(p.decl for p in self.params) or "void")

    def args(self):
        return ", ".join(p.name for p in self.params)


def prototypes(text, ret_types, name_re=r'\w+'):
    """{name: Proto} of the functions that return one of ret_types. The first declaration of a name wins."""
    text = strip_attributes(text)
    found = {}
    pat = re.compile(r'(?<![\w\*])(%s)\s*\b(%s)\s*\(((?:[^();]|\([^()]*\))*)\)\s*;' %
                     ("|".join(ret_types), name_re))
    for m in pat.finditer(text):
        name = m.group(2)
        if name not in found:
            found[name] = Proto(" ".join(m.group(1).split()), name, split_params(m.group(3)))
    return found


def enum_values(text, name_re):
    """[(name, value)] of all enumerators whose name matches, in the order of the text; decimal or hex values only."""
    return [(m.group(1), int(m.group(2), 0))
            for m in re.finditer(r'\b(%s)\s*=\s*(0[xX][0-9a-fA-F]+|\d+)' % name_re, text)]
