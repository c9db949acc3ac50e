# SPDX-License-Identifier: Apache-2.0
# Reads Prometheus' text format (version 0.0.4) on standard input, strictly: names, labels and their escapes, numbers, HELP and TYPE once and before a
# name's samples, a name's samples together, no series twice, counters named so. Prints the number of series, or what is wrong and ends with 1.
import re, sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(r"^(%s)(\{%s(?:,%s)*\})? (-?(?:[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|Inf)|NaN)$" % (NAME, LABEL, LABEL))
types, helped, series, order = {}, set(), set(), []
text = sys.stdin.read()
if not text.endswith("\n"):
    sys.exit("the last line has no end")
for line in text[:-1].split("\n"):
    if line.startswith("# HELP "):
        name = line.split(" ", 3)[2]
        if name in helped:
            sys.exit("HELP twice: " + name)
        helped.add(name)
        continue
    if line.startswith("# TYPE "):
        _, _, name, kind = line.split(" ")
        if name in types or kind not in ("counter", "gauge"):
            sys.exit("TYPE twice, or unknown: " + line)
        types[name] = kind
        continue
    match = SAMPLE.match(line)
    if not match:
        sys.exit("not a sample: " + line)
    name, labels, value = match.groups()
    if name not in types or name not in helped:
        sys.exit("no HELP or TYPE before " + line)
    if (types[name] == "counter") != name.endswith("_total"):
        sys.exit("a counter's name ends in _total, no other's does: " + name)
    if (name, labels) in series:
        sys.exit("twice: " + line)
    if name in order and order[-1] != name:
        sys.exit("not together: " + name)
    series.add((name, labels))
    order.append(name)
print(len(series))
