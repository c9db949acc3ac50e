#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Mode off: nothing is blocked but what would reach Cordon; everything is recorded with what guarded would have said.
. "$(dirname "$0")/lib.sh"
fixture_start off

enforcer=$(pgrep -P "$PID1" | head -n 1)
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
alive "alive"
