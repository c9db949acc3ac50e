#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A protected name that is absent below the top of a workspace cannot be made, whatever changes between the judgement and the kernel's look; and what is
# made for an agent, because it may not make it itself, is what it would have made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/workspace_lib.sh"

mkdir -p "$SOURCE_APP/src"
echo x >"$SOURCE_APP/file"

TRIES=${TRIES:-300}
POINTER="mkdir open exclusive creat openat2 mknod symlink link rename noreplace folder exchange bind"
SHARED="mkdir open rename bind"
FOLDER="mkdir open exclusive mknod symlink rename creat bind"
LINK="mkdir open mknod symlink rename link bind"
FOLLOW="open creat openat2"

races() {	# KIND WAY CALL…
	local kind=$1 way=$2 call
	shift 2
	for call; do
		run_below -- /srv/bin/attack-names "$way" "$call" "/workspace/app/src/$way-$call" "/workspace/beside-$way-$call" "$TRIES"
		if [[ $OUT == "made "*" won 0" ]]; then ok "$kind: no race is won: $call, $way"; else not_ok "$kind: no race is won: $call, $way" "$OUT" "$ERR"; fi
	done
	equal "$kind: nothing protected stands there, $way" "" "$(find "$INSIDE/workspace/app/src" -name .git)"
}

same_makes() {	# NAME FOLDER
	mkdir -p "$INSIDE$2"
	chown 1500:1500 "$INSIDE$2"
	beneath setpriv --reuid 1500 --regid 1500 --clear-groups python3 /workspace/makes.py "$2" 2>&1 | cat >"$WORK/native"
	rm -rf "${INSIDE:?}$2"
	mkdir -p "$INSIDE$2"
	chown 1500:1500 "$INSIDE$2"
	run_below -- python3 /workspace/makes.py "$2"
	printf '%s\n%s' "$OUT" "$(grep -v '^{"success"' <<<"$ERR")" | sed '/^$/d' >"$WORK/made"
	check "$1: there is something to compare" [ "$(wc -l <"$WORK/native")" -gt 300 ]
	same_trees "$1: what is made for an agent is what it would have made" "$WORK/native" "$WORK/made"
}

for kind in ${KINDS:-overlay copy}; do
	container $kind
	cp "$HERE/makes.py" "$INSIDE/workspace/"
	run -- true	# then there is the namespace that agents live in
	same_makes "$kind, beside" /workspace/place
	same_makes "$kind" /workspace/app/place
	run_below -- python3 -c '
import os
os.chdir("/workspace/app/src")
for i in range(30):
    os.mkdir("d" * 200)
    os.chdir("d" * 200)
for make in (os.mkdir, os.mkfifo, lambda name: open(name.rstrip("/"), "w"), lambda name: os.symlink("x", name), lambda name: os.link("/workspace/app/file", name), lambda name: os.rename("x", name)):
    for name in (".git", "./.git", ".git/"):
        try:
            make(name)
            print(name)
        except OSError:
            pass
os.mkdir("x")
print(os.listdir("."))'
	equal "$kind: nor where a path is too long to be told" "['x']" "$OUT"
	races $kind pointer $POINTER
	races $kind shared $SHARED
	races $kind folder $FOLDER
	races $kind link $LINK
	races $kind follow $FOLLOW
	fixture_stop
done
