# SPDX-License-Identifier: Apache-2.0
"""Counts (or with --show prints) the records of an audit folder that fulfil every condition: KEY=VALUE, KEY~REGEX, KEY>NUMBER, where KEY is
a dotted path (sys.name, rule.id, sys.exec.argv: lists are joined by spaces) and a missing key is the empty text.

--each FILE: every line is a name and conditions, separated by tabs; prints "met" or "unmet" and the line, as there is a record that fulfils them."""
import glob
import json
import re
import sys


def value_of(record, key):
    for part in key.split("."):
        record = record.get(part) if isinstance(record, dict) else None
    if record is None:
        return ""
    if isinstance(record, list):
        return " ".join(str(item) for item in record)
    return str(record)


def fulfils(record, condition):
    key, operator, wanted = re.match(r"([\w.]+)([=~>])(.*)", condition, re.S).groups()
    found = value_of(record, key)
    if operator == "=":
        return found == wanted
    if operator == ">":
        return found != "" and float(found) > float(wanted)
    return re.search(wanted, found) is not None


def records(folder):
    for name in sorted(glob.glob(folder + "/audit-*.jsonl")):
        for line in open(name, "rb"):
            try:
                yield json.loads(line), line
            except ValueError:
                continue  # the line that is being written


def each(folder, file):
    log = [record for record, _ in records(folder)]
    for line in open(file).read().splitlines():
        conditions = line.split("\t")[1:]
        print("met" if any(all(fulfils(record, c) for c in conditions) for record in log) else "unmet", line, sep="\t")


def main():
    folder, *conditions = [a for a in sys.argv[1:] if a != "--show"]
    if conditions[:1] == ["--each"]:
        return each(folder, conditions[1])
    count = 0
    for record, line in records(folder):
        if all(fulfils(record, c) for c in conditions):
            count += 1
            if "--show" in sys.argv:
                print(line.decode(errors="replace").strip())
    if "--show" not in sys.argv:
        print(count)


main()
