# SPDX-License-Identifier: Apache-2.0
"""Counts (or with --show prints) the records of an audit folder that fulfil every condition: KEY=VALUE, KEY~REGEX, KEY>NUMBER, where KEY is
a dotted path (sys.name, rule.id, sys.exec.argv: lists are joined by spaces) and a missing key is the empty text."""
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


def main():
    folder, *conditions = [a for a in sys.argv[1:] if a != "--show"]
    count = 0
    for name in sorted(glob.glob(folder + "/audit-*.jsonl")):
        for line in open(name, "rb"):
            try:
                record = json.loads(line)
            except ValueError:
                continue  # the line that is being written
            if all(fulfils(record, c) for c in conditions):
                count += 1
                if "--show" in sys.argv:
                    print(line.decode(errors="replace").strip())
    if "--show" not in sys.argv:
        print(count)


main()
