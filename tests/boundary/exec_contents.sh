#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a program holds: agents' own programs do not begin before their contents are known, whatever their size; the image's are hashed once beside.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow

sum_of() {
	sha256sum "$INSIDE$1" | cut -d ' ' -f 1
}

# ---- programs agents can write ----
large() {	# NAME MIB: an agent's own copy of a program, padded
	run_below -- sh -c "cp /srv/allow/ok /workspace/$1 && dd if=/dev/urandom bs=1M count=$2 status=none >>/workspace/$1"
	[ "$STATUS" -eq 0 ] || bail "a program of $2 MiB" "$ERR"
}
for size in 0 1 5 40; do
	large "of-$size" $size
	sum=$(sum_of "/workspace/of-$size")
	run --agent "size$size" -- "/workspace/of-$size"
	succeeded "an agent's program of $size MiB runs"
	recorded "it is recorded with what it holds" agent="size$size" decision=allow certainty=verified "sys.exec.sha256=$sum" "sys.exec.resolved=/workspace/of-$size"
done
run_below -- sh -c 'for i in 1 2 3 4 5 6 7 8; do /workspace/of-40; done; echo done'
equal "again and again" done "$OUT"
recorded_times "each with what it holds" 9 "sys.exec.resolved=/workspace/of-40" "sys.exec.sha256=$(sum_of /workspace/of-40)"
sparse() {	# NAME MIB: a program of that size, mostly holes
	cp "$INSIDE/srv/allow/ok" "$INSIDE/workspace/$1" && truncate -s "$2M" "$INSIDE/workspace/$1"
}
sparse huge 1100
run -- /workspace/huge
equal "one of more than a GiB is refused" 126 "$STATUS"
recorded "and says why" decision=deny tag=unverifiable_exec sys.exec.resolved=/workspace/huge
{ printf '#!/usr/bin/python3\nprint("script ran")\n#'; head -c 20000000 /dev/zero | tr '\0' x; } >"$INSIDE/workspace/printer"
chmod 755 "$INSIDE/workspace/printer"
run -- /workspace/printer
matches "a script of 20 MB" "script ran" "$OUT"
recorded "with what it holds" "sys.exec.sha256=$(sum_of /workspace/printer)" sys.exec.resolved=/workspace/printer

# ---- the same name, other contents, within the grain of the clock ----
cat >"$INSIDE/srv/bin/rewrite.py" <<'PY'
import hashlib, os, subprocess
base = open("/srv/allow/ok", "rb").read()
for i in range(40):
    data = base + bytes([i]) * 300000
    with open("/workspace/changing", "wb") as f:
        f.write(data)
    os.chmod("/workspace/changing", 0o755)
    subprocess.run(["/workspace/changing"], check=True)
    print(hashlib.sha256(data).hexdigest())
PY
run_below --agent rewrite -- python3 /srv/bin/rewrite.py
succeeded "forty programs under one name"
all_recorded
python3 "$HERE/audit_query.py" --show "$INSIDE/var/lib/cordon/audit" agent=rewrite sys.exec.resolved=/workspace/changing |
	python3 -c 'import json,sys; [print(json.loads(l)["sys"]["exec"]["sha256"]) for l in sys.stdin]' >"$WORK/recorded"
equal "each is recorded with what it held" "$OUT" "$(cat "$WORK/recorded")"

# ---- one launch's large programs hold up no other ----
for i in 1 2 3 4 5 6 7 8 9; do sparse "hole$i" $((20 + i)); done
RUNNER=run_below run_beside --timeout 100 -- sh -c 'for i in 1 2 3 4 5 6 7 8 9; do /workspace/hole$i & done; wait; echo all ran'
sleep 0.5
alive "alive while a launch runs nine programs of 20 MiB"
run -- cp /srv/allow/ok /workspace/small
run -- /workspace/small
succeeded "another launch's small program runs meanwhile"
wait "$BESIDE"
equal "all of them ran" "all ran" "$(cat "$WORK/beside/out")"
recorded_times "verified" 9 "sys.exec.resolved~^/workspace/hole" decision=allow certainty=verified "sys.exec.sha256~^[0-9a-f]{64}$"
# A caller killed while its program is hashed.
for i in 1 2 3; do sparse "late$i" 300; done
run_below --timeout 1 -- sh -c 'for i in 1 2 3; do /workspace/late$i & done; wait'
equal "a launch that is killed while its program is hashed" 137 "$STATUS"
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive afterwards"
# The enforcer is killed while it hashes.
for i in 1 2 3; do sparse "last$i" 200; done
RUNNER=run_below run_beside -- sh -c 'for i in 1 2 3; do /workspace/last$i & done; wait; echo all ended'
traced() {
	inside sh -c 'grep -l "^TracerPid:[[:space:]]*[1-9]" /proc/[0-9]*/status 2>/dev/null' | grep -q .
}
wait_until 30 traced
kill_enforcer
wait_until 30 healthy
wait "$BESIDE"
equal "the enforcer is killed while it hashes: who stood there ends" "all ended" "$(cat "$WORK/beside/out")"
equal "nothing is left stopped or traced" "" "$(stuck)"
recorded "and is recorded" decision=kill rule.id=boundary.restart
alive "alive after that"

# ---- the image's ----
run --agent image -- true
run --agent image -- true
wait_until 30 at_least 1 type=program path=/usr/bin/true
run --agent image -- true
sum=$(sum_of /usr/bin/true)
recorded "a program of the image is hashed once, beside" type=program path=/usr/bin/true "sha256=$sum"
equal "once" 1 "$(records type=program path=/usr/bin/true)"
recorded "from then on its execs say so" agent=image decision=allow sys.exec.resolved=/usr/bin/true "sys.exec.sha256=$sum"
recorded "and what it is the program of" agent=image sys.name=execve "proc.exe.sha256=$sum"
