#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a keeper says while nobody listens is not lost: ends of launches during an enforcer's death, a keeper's own death, and what of a launch
# that ended can still be asked; what a record says of whom.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow

keeper() {	# of the latest launch
	inside pgrep -n -x cordon-keeper
}

# hold NAME COMMAND…: a launch in the background whose command reads a line from a pipe that `release NAME` writes.
hold() {
	local name=$1
	shift
	mkdir "$WORK/$name"
	mkfifo "$WORK/$name/pipe"
	(WORK=$WORK/$name && cat "$WORK/pipe" | launch_in - --agent "$name" -- "$@") 2>/dev/null &
	exec {HELD}>"$WORK/$name/pipe"
	wait_until 30 records_of cmd_begin "$name" || bail "$name starts"
}

records_of() {	# TYPE AGENT
	[ "$(records "type=$1" "agent=$2")" -gt 0 ]
}

none_runs() {
	! inside pgrep -xf "$1"
}

# The command ends while the enforcer stands still, which then dies: once with a child that goes on, once with nobody left.
hold left sh -c 'sleep 300 & read line; exit 5'
left=$HELD
hold alone sh -c 'read line; exit 6'
alone=$HELD
pid=$(enforcer)
kill -STOP "$pid"
echo >&"$left"
echo >&"$alone"
exec {left}>&- {alone}>&-
check "a client learns its command's end without an enforcer" wait_until 30 test -s "$WORK/alone/status" -a -s "$WORK/left/status"
equal "and the exit code" "5 6" "$(cat "$WORK/left/status" "$WORK/alone/status" | xargs)"
kill -KILL "$pid"
wait_until 30 test ! -e "/proc/$pid"
wait_until 30 healthy || bail "the next enforcer becomes ready" "$(tail -n 20 "$WORK/log")"
check "the end of one with a child left is recorded" wait_until 30 records_of cmd_end left
recorded "with its code" type=cmd_end agent=left exit=5
recorded "the end of one whose keeper is gone is recorded" type=cmd_end launch=2 exit=6
all_recorded
equal "each once" "1 1" "$(records type=cmd_end launch=1) $(records type=cmd_end launch=2)"
equal "one restart was enough" 1 "$(inside $CORDON status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["enforcer_restarts"])')"
check "the child it left lives on" inside pgrep -x sleep

# A keeper dies under its client.
hold orphaned sh -c 'sleep 301 & read line'
inside sh -c "kill -KILL $(keeper)"
check "a client whose keeper died ends" wait_until 30 test -s "$WORK/orphaned/status"
equal "with 125" 125 "$(cat "$WORK/orphaned/status")"
matches "and one line" '^cordon: .*died; its processes are killed$' "$(cat "$WORK/orphaned/err")"
check "its processes are killed" wait_until 30 none_runs 'sleep 301'
recorded "a keeper's death is recorded" type=cmd_end agent=orphaned error~died
exec {HELD}>&-

# What was refused is found by the id that was printed, and what ended can be asked about.
run --agent cases -- rm -rf /workspace
refused "a refused command"
case=$(tail -n 1 <<<"$ERR" | python3 -c 'import json,sys; print(json.load(sys.stdin)["safety"]["case_id"])')
recorded "the case of the refusal is in the log ($case)" "case_id=$case" decision=deny
launch=${case#case-}
launch=${launch%-*}
matches "status of a refused launch" '"exit":126' "$(inside $CORDON status --json --launch "$launch")"
matches "says that nothing of it ran" '"started":false' "$(inside $CORDON status --json --launch "$launch")"
run --agent cases --env LD_PRELOAD=/x -- true
case=$(tail -n 1 <<<"$ERR" | python3 -c 'import json,sys; print(json.load(sys.stdin)["safety"]["case_id"])')
recorded "the case of a launch that never began is in the log ($case)" "case_id=$case" type=cmd_begin decision=deny
run --agent cases --cwd /nowhere -- true
case=$(tail -n 1 <<<"$ERR" | python3 -c 'import json,sys; print(json.load(sys.stdin)["safety"]["case_id"])')
recorded "so is a missing working folder's ($case)" "case_id=$case" tag=missing_working_dir
inside $CORDON status --launch 4000000 >"$WORK/out" 2>"$WORK/err"
equal "an unknown launch: 1" 1 $?
matches "and one line" '^cordon: status: no launch 4000000 is known' "$(cat "$WORK/err")"
for verb in status health doctor; do
	inside $CORDON $verb --bogus >"$WORK/out" 2>"$WORK/err"
	equal "$verb with an unknown option: 2 and one line" "2 1" "$? $(wc -l <"$WORK/err")"
done
mkfifo "$WORK/holds"
inside setpriv --reuid 1501 --regid 1501 --clear-groups python3 -c 'import socket, sys
held = [socket.socket(socket.AF_UNIX) for i in range(80)]
for s in held: s.connect("/run/cordon/control.sock")
print("held", flush=True)
sys.stdin.read()' <"$WORK/holds" >"$WORK/held" 2>/dev/null &
exec {HELD}>"$WORK/holds"
wait_until 30 grep -q held "$WORK/held"
check "root is answered while another user holds every connection it gets" inside $CORDON health
exec {HELD}>&-
check "the log is whole" inside $CORDON audit verify

# Secrets in arguments stay out of the log, in every spelling.
run --agent secrets -- echo --password hunter-a --token=hunter-b 'X-Token: hunter-c' '{"token":"hunter-d"}' 'secret_question=1&secret=hunter-e'
equal "the command itself has them" 5 "$(grep -o hunter- <<<"$OUT" | wc -l)"
recorded "redacted arguments" type=cmd_begin agent=secrets 'argv~--password \[redacted\] --token=\[redacted\]'
equal "no record holds one" 0 "$(cat "$INSIDE"/var/lib/cordon/audit/*.jsonl | grep -c hunter-)"

# In mode off a program may become another user: the record says who it was.
fixture_stop
fixture_start off
cp /usr/bin/env "$INSIDE/srv/bin/set-env"
chmod 4755 "$INSIDE/srv/bin/set-env"
run --agent becomes -- /srv/bin/set-env /usr/bin/true
succeeded "a setuid program works in off"
recorded "its exec is root's" sys.exec.resolved=/usr/bin/true proc.uid=0 mode=off
recorded "its own was the agent's" sys.exec.resolved=/srv/bin/set-env proc.uid=1500
