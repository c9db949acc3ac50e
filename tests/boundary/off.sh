#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Mode off: nothing is blocked but what would reach Cordon; everything is recorded with what guarded would have said.
. "$(dirname "$0")/lib.sh"
fixture_start off

enforcer=$(enforcer)
inside_pid() {	# NAME: its number in the container's pid namespace
	inside pgrep -o -x "$1"
}

run --user root -- sh -c 'kill -9 "$1"; echo "$?"' sh "$(inside_pid cordon-enforcer)"
equal "root cannot kill the enforcer" 1 "$OUT"
check "it lives" kill -0 "$enforcer"
recorded "the attempt is recorded" decision=deny sys.name=kill
run --user root -- sh -c 'kill -STOP "$1"; echo "$?"' sh "$(inside_pid cordon-enforcer)"
equal "nor stop it" 1 "$OUT"
run --user root -- python3 -c 'import os
try: os.kill(-1, 9)
except PermissionError: print("refused")'
equal "nor kill everybody at once" refused "$OUT"
check "it lives still" kill -0 "$enforcer"
run -- sh -c 'sleep 60 & kill -9 $!; wait $!; echo $?'
equal "a child of one's own is killed as ever" 137 "$OUT"
run --user root -- sh -c 'touch /etc/of-root && rm /etc/of-root && grep -c "^NoNewPrivs:.0" /proc/self/status'
equal "root writes where it may, deletes, and has no no_new_privs" 1 "$OUT"
recorded "the record says what guarded would have said" sys.name=execve shadow.decision=deny
run -- ls /var/lib/cordon /run/cordon
equal "the log and the sockets are masked" 0 "$(grep -c -E 'audit|sock' <<<"$OUT")"

# ---- every way in that names a process, before and after the enforcer was restarted ----
pid_of() {	# COMM: its number in the container
	inside pgrep -o -x "$1"
}
run_beside --agent keeps -- sleep 60
wait_until 30 inside pgrep -x sleep || bail "a launch that stays"
attack() {	# WHICH: everything at each of Cordon's processes, as root
	local pid name
	for name in cordond cordon-enforcer cordon-zygote cordon-keeper; do
		pid=$(pid_of $name)
		run --agent attacker --user root -- /srv/bin/attack-root processes "$pid"
		equal "$1: nothing reaches $name" "" "$(grep ' ok$' <<<"$OUT")"
		matches "$1: all was tried at $name" 'tried [0-9]+' "$OUT"
		equal "$1: $name lives" "$pid" "$(pid_of $name)"
	done
	equal "$1: nothing is left stopped or traced" "" "$(stuck)"
}
attack "at first"
recorded "tracing the enforcer is recorded" decision=deny sys.name=ptrace rule.id=boundary.process
kill_enforcer
wait_until 30 healthy || bail "another enforcer"
enforcer=$(enforcer)
attack "after a restart"
# A process group outlives its leader: the keepers of a zygote that died stand in one.
keeper=$(pid_of cordon-keeper)
group=$(inside ps -o pgid= -p "$keeper" | tr -d ' ')
zygote=$(pgrep --ns "$PID1" --nslist pid -x cordon-zygote | while read -r pid; do grep -q "^NSpid:.*[[:space:]]$group$" "/proc/$pid/status" && echo "$pid"; done)
check "a keeper stands in its zygote's group" test -n "$zygote"
kill -KILL "$zygote"
wait_until 30 test ! -e "/proc/$zygote"
run --agent attacker2 --user root -- python3 -c 'import os, sys
try: os.kill(-int(sys.argv[1]), 9); print("killed")
except PermissionError: print("refused")' "$group"
equal "the group of a zygote that died is refused" refused "$OUT"
equal "its keepers live" "$keeper" "$(pid_of cordon-keeper)"
run -- /srv/bin/attack-root traced
equal "a command that asks its parent to trace it is let go" "traced ok" "$OUT"
run -- /srv/bin/attack-root debugs
equal "debugging a child of one's own works" "debugs ok" "$OUT"
alive "alive"
# Of a pid namespace, reboot(2) kills the first process.
run --user root -- python3 -c 'import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for command in (0x01234567, 0x4321fedc, 0xcdef0123):
    print("rebooted" if libc.syscall(169, 0xfee1dead, 672274793, command, 0) == 0 else "refused")'
equal "root does not reboot the container" "refused refused refused" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
check "PID 1 lives" kill -0 "$PID1"

# Root may have leases there: nothing of Cordon's waits for one.
kill -KILL "$(pgrep --ns "$PID1" --nslist pid -x sleep)" 2>/dev/null
wait "$BESIDE"
run_beside --agent holder --user root -- /srv/bin/attack-leases /etc/passwd /etc/group /etc/hosts /srv/policies/policy.json
wait_until 30 grep -q holding "$WORK/beside/out" || bail "root holds leases"
equal "root has leases" 4 "$(grep -c '^lease .* ok$' "$WORK/beside/out")"
alive "alive while root has leases on what everybody opens"
run --agent new --mode guarded -- true
note "$STATUS $ERR"	# the first masks of an off container: they wait for a table that can be read
alive "alive still"
fixture_stop
wait "$BESIDE" 2>/dev/null

# Without SYS_ADMIN nothing can be mounted and no filter be set without no_new_privs: then off runs unmediated, and doctor says so.
sed -i 's/^exec env -i/exec setpriv --bounding-set -sys_admin --inh-caps -sys_admin env -i/' "$WORK/inside"
fixture_start off
run -- sh -c 'echo ran >/tmp/ran; cat /tmp/ran; exit 3'
equal "off without SYS_ADMIN runs commands" "3 ran" "$STATUS $OUT"
matches "and says that nothing mediates them" 'mounts +unsupported .*Launches in off run unmediated' "$(inside $CORDON doctor | grep '^mounts')"
recorded "a launch there has its record all the same" type=cmd_end exit=3
run --mode guarded -- true
equal "what needs the mounts does not start" 125 "$STATUS"
