#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What status, health, doctor and metrics say, held against what is so: agents, zombies and their parents, counters, the format, and how long it takes.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
of() {	# EXPRESSION over s, the status
	inside $CORDON status --json | python3 -c "import json,sys; s = json.load(sys.stdin); print($1)"
}

# Two agents with launches, one of them with children it does not reap, and a refusal.
mkdir "$WORK/a" "$WORK/b"
(WORK=$WORK/a && run --agent alpha -- python3 -c '
import os, time
for i in range(7):
    if os.fork() == 0: os._exit(0)
time.sleep(60)') &
first=$!
(WORK=$WORK/b && run --agent beta -- sleep 60) &
second=$!
two_run() { [ "$(of 'sum(1 for l in s["launches"] if l["state"] == "running")')" = 2 ]; }
wait_until 30 two_run || bail "two launches run"
run --agent beta -- rm -f /workspace/x
equal "agents and their launches" "{'alpha': 1, 'beta': 1}" "$(of '{k: v["launches"] for k, v in sorted(s["agents"].items())}')"
seven() { [ "$(of 's["zombies"]["count"]')" = 7 ]; }
check "zombies are counted" wait_until 30 seven
parent=$(inside pgrep -xf 'python3 -c .*' | head -n 1)
equal "with the parent that does not reap them" "$(inside pgrep -o -f '^python3 -c') 7" "$(of '"%d %d" % (s["zombies"]["parents"][0]["pid"], s["zombies"]["parents"][0]["zombies"])')"
text=$(inside $CORDON status)
matches "in words as well" "not reaped by pid [0-9]+ /usr/bin/python3" "$text"
matches "the agents too" $'\n  alpha +launches 1 ' "$text"
check "denials are counted by tag" test "$(of 'sum(s["denials_by_tag"].values()) == s["denials"] > 0')" = True
inside sh -c 'kill -TERM 1; kill -INT 1'
two_refused() { [ "$(of 's["init"]["signals_refused"]')" = 2 ]; }
check "signals that PID 1 refused" wait_until 30 two_refused
inside sh -c 'for i in 1 2 3 4 5; do (sleep 0.1 & ); done'
five_reaped() { [ "$(of 's["init"]["orphans_reaped"]')" -ge 5 ]; }
check "orphans that it reaped" wait_until 30 five_reaped

series=$(inside $CORDON metrics | python3 "$HERE/prometheus.py")
matches "metrics are in Prometheus' format" '^[0-9]+$' "$series"
metric() { inside $CORDON metrics | sed -n "s/^$1 //p"; }
equal "they say what status says" "1 2 7 2" "$(metric 'cordon_state{state="ready"}') $(metric cordon_launches) $(metric cordon_zombies) $(metric cordon_signals_refused_total)"
equal "as JSON they are the same series" "$series" "$(inside $CORDON metrics --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')"
for i in $(seq 12); do run --agent "agent-$i" -- true; done
equal "more agents are not more series" "$series" "$(inside $CORDON metrics | python3 "$HERE/prometheus.py")"
inside $CORDON metrics --bogus >/dev/null 2>"$WORK/err"
equal "an unknown option is 2 and one line" "2 1" "$? $(wc -l <"$WORK/err")"
check "who is not root gets no metrics" bash -c "$(declare -f inside); PID1=$PID1 FIXTURE_ENV=(); ! inside setpriv --reuid 1501 --regid 1501 --clear-groups $CORDON metrics"

# health, twenty times in one process group, so that what is measured is health and not nsenter.
health_takes() {
	inside bash -c "begun=\${EPOCHREALTIME/./}; for i in {1..20}; do $CORDON health >/dev/null || exit 1; done; echo \$(((\${EPOCHREALTIME/./} - begun) / 20000))"
}
for i in 1 2 3 4 5; do	# a machine that is busy with something else is late, too
	took=$(health_takes)
	[ "${took:-99}" -ge 50 ] || break
done
note "health takes $took ms, its process included"
check "health takes less than 50 ms" test "${took:-99}" -lt 50
inside pkill -f '^sleep 60'
inside pkill -f '^python3 -c'
wait "$first" "$second"
