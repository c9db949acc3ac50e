#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Callers that are killed, interrupted, frozen or slow to read in the middle of their calls: nothing is lost, left behind or held up by it.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
attack=/srv/bin/attack-liveness
enforcer=$(enforcer)

descriptors() {	# but those of processes that called: there are at most 64
	ls -l "/proc/$enforcer/fd" | grep -v -c pidfd
}
resident() {	# KiB
	awk '/^VmRSS/ { print $2 }' "/proc/$enforcer/status"
}
threads() {
	awk '/^Threads/ { print $2 }' "/proc/$enforcer/status"
}

# ---- ten thousand kills ----
run --agent kills -- $attack kills 500
before="$(descriptors) $(threads)" memory=$(resident)
run --agent kills -- $attack kills 10000
note "$OUT"
matches "10,000 kills hit every call" 'kills=10000 between=[0-9]+ open=[1-9][0-9]* connect=[1-9][0-9]* send=[1-9][0-9]* exec=[1-9]' "$OUT"
wait_until 30 eval '[ "$(descriptors) $(threads)" = "$before" ]'
equal "they leave no descriptor and no thread" "$before" "$(descriptors) $(threads)"
grown=$(($(resident) - memory))
check "and no memory ($grown KiB more than after 500)" test "$grown" -lt 2048
equal "no exec is in flight for ever" 0 "$(inside $CORDON status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["execs_in_flight"])')"
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive after them"

# ---- Go's preemption ----
run -- $attack urg 3
note "$OUT" "$(head -5 <<<"$ERR")"
matches "SIGURG to eight threads every 10 ms: every open, connect and exec works" 'calls=[1-9][0-9]{2,} failed=0 signals=[1-9][0-9]{2,}' "$OUT"

# ---- frozen by their cgroup ----
group=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$group" ] && mkdir "$group/cordon-test-$$" 2>/dev/null && [ -e "$group/cordon-test-$$/cgroup.freeze" ]; then
	group=$group/cordon-test-$$
	run_beside -- /srv/bin/attack-processes hammer 4 3
	wait_until 30 pgrep --ns "$PID1" --nslist pid -x attack-processe
	freezes=0
	for i in $(seq 1 24); do
		pgrep --ns "$PID1" --nslist pid -x attack-processe | while read -r pid; do echo "$pid" >"$group/cgroup.procs"; done 2>/dev/null
		echo 1 >"$group/cgroup.freeze"
		wait_until 30 grep -q 'frozen 1' "$group/cgroup.events" && freezes=$((freezes + 1))
		[ "$i" -ne 5 ] || alive "alive while a launch is frozen"
		echo 0 >"$group/cgroup.freeze"
	done
	wait "$BESIDE"
	note "$freezes freezes: $(cat "$WORK/beside/out")"
	check "it was frozen" test "$freezes" -gt 15
	matches "frozen and thawed callers lose nothing" 'hammered done=[1-9][0-9]* failed=0 killed=0' "$(cat "$WORK/beside/out")"
	for pid in $(cat "$group/cgroup.procs"); do echo "$pid" >"${group%/*}/cgroup.procs"; done 2>/dev/null
	rmdir "$group"
else
	skip "callers frozen by their cgroup" "no cgroup v2 to make one in"
fi

# ---- memory that is hard to read ----
run_beside --timeout 30 -- $attack locked 3
wait_until 60 grep -q holding "$WORK/beside/out" || bail "a caller that holds its mmap_lock" "$(cat "$WORK/beside/err")"
for i in 1 2 3; do alive "alive while a caller's memory is locked most of the time"; done
wait "$BESIDE"
note "$(cat "$WORK/beside/out")"
matches "it was served" 'opened=[1-9]' "$(cat "$WORK/beside/out")"
equal "nothing is left stopped or traced in the end" "" "$(stuck)"
