#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Decision cases: every line of tests/cases/*.tsv through `cordon check --batch`, one result a file, the lines that differ below it.
# Columns: mode, kind, action, expected ("allow|review": either), why. A comment "scope = A, B;" holds for the lines after it.
# Then, over all lines: a stricter mode never allows what a looser one does not, and an answer that is no allow says what an agent needs:
# rule, where it stands, reason, hint, and the tag of a deny.
exec python3 - "${CORDON_BUILD:?names the folder of the built programs; tests/run sets it}/cordon" "$(cd "$(dirname "$0")/../.." && pwd)" <<'PYTHON'
import collections, glob, json, os, re, subprocess, sys

cordon, root = sys.argv[1:]
escapes = {"\\": "\\", "n": "\n", "t": "\t", "r": "\r"}

def unescape(match):
    return escapes.get(match.group(1)) or chr(int(match.group(1)[1:], 16))

def cases(path):
    scope = ""
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        declared = re.match(r"#.*\bscope = ([^;]+);", line)
        if declared:
            scope = declared.group(1).replace(" ", "")
        if not line.strip() or line.startswith("#"):
            continue
        mode, kind, action, expected = line.rstrip("\n").split("\t")[:4]
        action = re.sub(r"\\(\\|n|t|r|x[0-9a-fA-F]{2})", unescape, action)
        yield (mode, scope), number, [kind] + (action.split(" ", 1) if kind == "http" else [action]), expected

def ask(mode, scope, questions):
    command = [cordon, "check", "--policy", os.path.join(root, "policies"), "--mode", mode, "--batch", "-"] + (["--scope", scope] if scope else [])
    run = subprocess.run(command, input="".join(json.dumps(q) + "\n" for q in questions), capture_output=True, text=True)
    answers = [json.loads(line) for line in run.stdout.splitlines()]
    if run.returncode or len(answers) != len(questions):
        raise SystemExit(f"{mode}: {len(questions)} questions, {len(answers)} answers, exit {run.returncode}: {run.stderr.strip()}")
    return answers

files = sorted(glob.glob(os.path.join(root, "tests/cases/*.tsv")))
print(f"1..{len(files) + 2}")
failed, questions = False, {}

def result(number, name, faults, asked):
    global failed
    bad = bool(faults) or not asked
    failed |= bad
    print(f"{'not ' if bad else ''}ok {number} {name}: {asked - len(faults)} of {asked}")
    print("".join(f"# {fault}\n" for fault in faults[:40]), end="")

for index, path in enumerate(files, 1):
    groups, differ, nr = collections.OrderedDict(), [], 0
    for key, number, question, expected in cases(path):
        groups.setdefault(key, []).append((number, question, expected))
        questions.setdefault(key[1], {})[tuple(question)] = None
    for (mode, scope), group in groups.items():
        for (number, question, expected), answer in zip(group, ask(mode, scope, [q for _, q, _ in group])):
            nr += 1
            if answer["verdict"] not in expected.split("|"):
                differ.append(f"line {number}: {mode} {question}: expected {expected}, got {answer['verdict']}: {answer['reason']}")
    result(index, f"{os.path.basename(path)}, decisions as expected", differ, nr)

modes, ranks = ["off", "guarded", "observe", "readonly"], ["allow", "review", "deny"]
looser, silent, nr = [], [], 0
for scope, asked in questions.items():
    asked = list(asked)
    answers = [ask(mode, scope, asked) for mode in modes]
    nr += len(asked)
    for question, *by_mode in zip(asked, *answers):
        verdicts = [answer["verdict"] for answer in by_mode]
        if sorted(verdicts, key=ranks.index) != verdicts:
            looser.append(f"{question}: {', '.join(map(' '.join, zip(modes, verdicts)))}")
        for mode, answer in zip(modes, by_mode):
            wanted = ["rule", "origin", "reason", "hint"] + ["tag"] * (answer["verdict"] == "deny")
            if answer["verdict"] != "allow" and not all(answer.get(key) for key in wanted):
                silent.append(f"{mode} {question}: no {[key for key in wanted if not answer.get(key)]}: {answer}")
result(len(files) + 1, "a stricter mode is never looser", looser, nr)
result(len(files) + 2, "an answer that is no allow names rule, place, tag, reason and hint", silent, nr * len(modes))
sys.exit(failed)
PYTHON
