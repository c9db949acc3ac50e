#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs nobody here wrote, and what they call, give the same output and status in a launch as natively. Each file of programs/ that says "# needs:" is one.
#
# The policy is the shipped one with every rule of guarded's taken out, no names in the environment refused and wrappers followed: what differs is then the
# boundary's doing. What the rules refuse of such work is another question.
#
# A program that ends with 77 could not be tried, and its last line says why.
#
# usage: programs.sh [NAME…]      those of programs/; default: the quick ones. "all": all of them (minutes).
. "$(dirname "$0")/lib.sh"
QUICK=(errnos process_files signals cpython git databases tools)
NAMES=("$@")
[ $# -gt 0 ] || NAMES=("${QUICK[@]}")
[ "${NAMES[*]}" != all ] || mapfile -t NAMES < <(grep -l '^# needs:' "$HERE"/programs/* | xargs -n 1 basename | sed 's/\..*//')

FIXTURE_POLICIES=$WORK/policies
cp -r "$SOURCE/policies" "$FIXTURE_POLICIES"
python3 - "$FIXTURE_POLICIES" <<'PERMIT'
import json
import os
import sys


def change(name, **values):
    path = os.path.join(sys.argv[1], name)
    with open(path) as f:
        content = json.load(f)
    content.update(values)
    with open(path, "w") as f:
        json.dump(content, f)


change("modes/guarded.json", rules=[{"id": "guarded.all", "verdict": "allow", "reason": "is allowed here"}])
change("environment.json", code_names=[], helpers=[])
change("policy.json", wrappers="follow")
PERMIT
fixture_start guarded allow
mkdir "$INSIDE/srv/programs"
cp "$HERE"/programs/* "$INSIDE/srv/programs/"
RUN_SECONDS=1200

# compare NAME FILE: in a new folder of the same name, with the launch's environment, and nothing in /tmp.
compare() {
	local name=$1 file=$2 began=$EPOCHREALTIME command native_took
	command="cd /workspace && mkdir $name && cd $name && export LC_ALL=C.UTF-8 && exec $(interpreter "$file") /srv/programs/$file"
	native sh -c "$command"
	native_took=$(took "$began") began=$EPOCHREALTIME
	cp "$WORK/out" "$WORK/native.out"
	cp "$WORK/err" "$WORK/native.err"
	cp "$WORK/status" "$WORK/native.status"
	run_below -- sh -c "$command"
	differences=$(for part in status out err; do diff -a "$WORK/native.$part" "$WORK/$part" | sed "s/^/$part /"; done)
	if [ "$(cat "$WORK/native.status")" -eq 77 ]; then
		skip "$name" "$(tail -n 1 "$WORK/native.out")"
	elif [ -n "$differences" ]; then
		not_ok "$name" "natively <, in a launch >:" "$differences"
	elif [ "$STATUS" -ne 0 ]; then
		not_ok "$name" "the same, but not as meant: status $STATUS" "$OUT" "$ERR"
	else
		ok "$name: $(wc -l <"$WORK/out") lines are the same (natively $native_took ms, in a launch $(took "$began") ms)"
	fi
	beneath find /tmp /workspace -mindepth 1 -delete
}

# not_here KIND FILE: the commands of its line "# KIND: …" that are not installed.
not_here() {
	local command
	for command in $(sed -n "s/^# $1: //p" "$HERE/programs/$2"); do command -v "$command" >/dev/null || printf '%s ' "$command"; done
}

interpreter() {
	case $1 in
	*.py) echo python3 ;;
	*) echo bash ;;
	esac
}

took() {
	echo $(((${EPOCHREALTIME/./} - ${1/./}) / 1000))
}

for name in "${NAMES[@]}"; do
	file=$(cd "$HERE/programs" && echo "$name".*)
	[ -f "$HERE/programs/$file" ] || bail "no such program: $name"
	missing=$(not_here needs "$file") unused=$(not_here uses "$file")
	[ -z "$unused" ] || note "$name: left out, as they are not installed here: $unused"
	if [ -n "$missing" ]; then skip "$name" "not installed here: $missing"; else compare "$name" "$file"; fi
done
alive "Cordon is well after all that"
