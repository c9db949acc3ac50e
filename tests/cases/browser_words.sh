#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every subcommand, alias, option and variable that the pinned agent-browser itself tells of stands in the policy. The words are taken from the
# program: its help, the help of each command, its skill's reference, and the names in its binary. None is listed here.
. "$(dirname "$0")/../lib.sh"
trap 'tap_end $?' EXIT
HERE=$(cd "$(dirname "$0")" && pwd)
if ! package=$("$HERE/../agent-browser/fetch" 2>/tmp/cordon-fetch.$$); then
	skip "agent-browser's words" "the package cannot be fetched: $(tail -n 1 /tmp/cordon-fetch.$$)"
	rm -f /tmp/cordon-fetch.$$
	exit 0
fi
rm -f /tmp/cordon-fetch.$$
python3 - "$package" "$HERE/../.." "${CORDON_BUILD:?}/cordon" <<'PYTHON' >"/tmp/cordon-words.$$"
import json, os, re, subprocess, sys, tempfile

package, root, cordon = sys.argv[1:]
machine = {"x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
program = f"{package}/bin/agent-browser-linux-{machine}"
home = tempfile.TemporaryDirectory()

def tell(*words):
    run = subprocess.run([program, *words], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL,
                         env={"HOME": home.name, "PATH": "/usr/bin:/bin", "AGENT_BROWSER_SOCKET_DIR": "/dev/null"})  # no daemon can start there
    return run.stdout + run.stderr

help_text = tell("--help")
reference = open(f"{package}/skill-data/core/references/commands.md", encoding="utf-8").read()
overview = tell("no-such-command", "--help")

# ---- what the policy knows
entry = next(c for c in json.load(open(f"{root}/policies/commands/browser.json"))["commands"] if "agent-browser" in c["names"].split())
browser = json.load(open(f"{root}/policies/browser.json"))
subcommands = {name: c for c in entry["commands"] for name in c["names"].split() if name != "*"}

def option_names(command):
    names = set()
    for option in command.get("options", []):
        names |= {re.sub(r"(\[=\]|=\d*)$", "", n) for n in option["names"].split()}
    for below in command.get("commands", []):
        names |= option_names(below)
    return names

everywhere = {n for o in entry["options"] for n in (re.sub(r"(\[=\]|=\d*)$", "", x) for x in o["names"].split())} | set(entry["asks"].split())
blocked = {name for name, c in subcommands.items() if set(c["effects"].split()) & {"load", "dynamic", "persist", "publish", "listen"}}

def ask(*words):
    out = subprocess.run([cordon, "check", "--policy", f"{root}/policies", "--mode", "guarded", "--json", "exec", "agent-browser", *words],
                         capture_output=True, text=True).stdout
    return json.loads(out)

# ---- what the program tells
told = set()
for text in (help_text, reference):
    told |= set(re.findall(r"\bagent-browser (?:-\S+ (?:\S+ )?)*([a-z][a-z0-9-]*)\b", text))
    for line in text.splitlines():
        found = re.match(r"^  ([a-z][a-z0-9-]*)(?: |$)", line)
        if found:
            told.add(found.group(1))
aliases = set()
commands = {w for w in told if tell(w, "--help") != overview}
for word in commands:
    for line in tell(word, "--help").splitlines():
        found = re.match(r"\s*Alias(?:es)?:\s*(.*)", line, re.I)
        if found:
            aliases |= set(re.findall(r"[a-z][a-z0-9-]*", re.sub(r"agent-browser", "", found.group(1))))
commands |= {a for a in aliases if tell(a, "--help") != overview}

def report(name, missing, count):
    print(f"{name}\t{count}\t{' '.join(sorted(missing))}")

report("every subcommand and alias is classified", {c for c in commands if c not in subcommands}, len(commands))
report("none of the policy's subcommands is a slip",
       {c for c in subcommands if c not in commands and tell(c, "--help") == overview and "Unknown command" in tell(c)}, len(subcommands))
missing, count = set(), 0
for command in sorted(commands & set(subcommands)):
    if command in blocked:
        continue    # with whatever option
    text = tell(command, "--help")
    text = text[:text.find("Examples:")] if "Examples:" in text else text
    for option in {o for pair in re.findall(r"(?m)^\s+(?:(-[a-zA-Z]), *|)(--?[a-zA-Z][a-zA-Z0-9-]*)", text) for o in pair if o}:
        count += 1
        if option not in everywhere and option not in option_names(subcommands[command]):
            missing.add(f"{command}:{option}")
report("every option of a command that is not blocked is classified", missing, count)
options = set(re.findall(r"(?m)^  (?:(-[a-zA-Z]), )?(--[a-z][a-z0-9-]*)", help_text.split("Snapshot Options:")[1].split("Configuration:")[0]))
options = {o for pair in options for o in pair if o}
report("every global option is classified", {o for o in options if o not in everywhere and o not in option_names(subcommands["snapshot"])}, len(options))
harmless = {"--json", "--annotate", "--content-boundaries", "-v", "--verbose", "-q", "--quiet", "--max-output", "--screenshot-dir", "--screenshot-quality",
            "--screenshot-format", "--help", "--version", "-V", "-h", "-i", "--interactive", "-c", "--compact", "-d", "--depth", "-s", "--selector", "-u", "--urls"}
report("a global option that is more than output is refused before and after the command",
       {o for o in options - harmless for words in ([o, "x", "snapshot"], ["snapshot", o, "x"], ["snapshot", f"{o}=x"]) if ask(*words)["verdict"] != "deny"},
       len(options - harmless))
report("and what is only output is not", {o for o in options & harmless if ask("snapshot", o, "1")["verdict"] == "deny" and ask("snapshot", o)["verdict"] == "deny"},
       len(options & harmless))
# Names in the binary stand one behind the other: the longest ones that the help knows end where the next begins.
binary = open(program, "rb").read()
variables = {n for run in re.findall(rb"AGENT_BROWSER_[A-Z0-9_]+", binary) for n in re.split(r"(?=AGENT_BROWSER_)", run.decode()) if n}
variables |= set(re.findall(r"(?m)^  ([A-Z][A-Z0-9_]+)(?: |$)", help_text.split("Environment:")[1]))
variables |= {n for line in re.findall(r"(?m)^  ([A-Z_]+(?: / [A-Z_]+)+)", help_text) for n in line.split(" / ")}
def covered(name, patterns):
    return any(name == p or (p.endswith("*") and name.startswith(p[:-1])) for p in patterns)
report("every variable is held to the launch's", {v for v in variables if not covered(v, browser["fixed"])}, len(variables))
PYTHON
status=$?
check "the program tells its words" test "$status" -eq 0
while IFS=$'\t' read -r name count missing; do
	check "$name: there are some ($count)" test "$count" -gt 4
	equal "$name" "" "$missing"
done <"/tmp/cordon-words.$$"
rm -f "/tmp/cordon-words.$$"
