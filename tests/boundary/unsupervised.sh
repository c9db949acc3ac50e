#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process in the container that no filter guards is found, recorded once, and left or stopped as the policy says; nothing else is taken for one.
. "$(dirname "$0")/lib.sh"

# A user's own service, by a file: it is unguarded too, and belongs here.
cat >"$WORK/before" <<'BEFORE'
mkdir /srv/policies/services
cat >/srv/policies/services/mine.json <<'SERVICE'
{ "command": ["sh", "-c", "sleep 910 & exec sleep 911"], "user": "other", "probe": "none", "enabled": true }
SERVICE
BEFORE
fixture_start guarded allow

strangers() {
	inside $CORDON status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["unsupervised"])'
}

found() {	# PROGRAM COUNT
	[ "$(records type=unsupervised_process "proc.exe.path=$1")" -ge "$2" ]
}

check "the user's service runs" wait_until 30 inside pgrep -xf 'sleep 911'
run_beside --agent guarded -- sh -c 'sleep 912 & sleep 913'
wait_until 30 inside pgrep -xf 'sleep 913' || bail "a launch runs"
for i in 1 2 3; do run -- true; inside $CORDON health >/dev/null; done
sleep 3	# three scans: what must not be found has had its chances
equal "services, launches, keepers and clients are no strangers" 0 "$(strangers)"

inside sleep 920 &
stranger=$!
check "what a host started by absolute path is found" wait_until 30 found "$(readlink -f /usr/bin/sleep)" 1
recorded "as from outside, with its arguments, and left" type=unsupervised_process origin=outside action=leave 'proc.argv~sleep 920' proc.uid=0
inside sh -c 'setsid sleep 921 >/dev/null 2>&1 </dev/null &'
check "so is what such a process leaves behind" wait_until 30 found "$(readlink -f /usr/bin/sleep)" 2
recorded "as an orphan" type=unsupervised_process origin=orphan 'proc.argv~sleep 921'
sleep 3
equal "each once" 2 "$(records type=unsupervised_process)"
check "both are alive" inside pgrep -xf 'sleep 92[01]'
pid=$(enforcer)
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
before=$(ticks "$pid")
sleep 3
after=$(ticks "$pid")
note "the enforcer used $((after - before)) ticks of 10 ms in 3 s, with nothing new to look at"
check "looking costs next to nothing when there is nothing new" test $((after - before)) -le 3
inside pkill -xf 'sleep 92[01]'
wait "$stranger"
inside pkill -xf 'sleep 91[23]'
wait "$BESIDE"
fixture_stop

cp -r "$SOURCE/policies" "$WORK/stop"
sed -i 's/"unsupervised": "leave"/"unsupervised": "stop"/' "$WORK/stop/policy.json"
FIXTURE_POLICIES=$WORK/stop
fixture_start guarded allow
run_beside --agent guarded -- sh -c 'sleep 912 & sleep 913'
wait_until 30 inside pgrep -xf 'sleep 913' || bail "a launch runs"
inside sleep 930
equal "with stop it is killed" 137 $?
recorded "and that is recorded" type=unsupervised_process action=stop 'proc.argv~sleep 930'
inside python3 -c 'import os, time
os.fork() or os.setsid()
os.execvp("sleep", ["sleep", "931"])' &
wait $!
equal "a tree of them too" 137 $?
check "to its last process" wait_until 30 bash -c "$(declare -f inside); PID1=$PID1 FIXTURE_ENV=(); ! inside pgrep -xf 'sleep 931'"
check "launches are not touched" inside pgrep -xf 'sleep 91[23]'
check "nor is the service" inside pgrep -xf 'sleep 911'
check "nor its child" inside pgrep -xf 'sleep 910'
alive "alive"
