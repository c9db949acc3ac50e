#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The enforcer dies, or stops, under load: nothing refused is let through, no command fails that was not judged at that moment, nobody hangs.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
echo untouched >"$INSIDE/srv/open/target"
chmod 666 "$INSIDE/srv/open/target"
listen 10.99.0.1 8000 0 "$WORK/denied"
cat >"$INSIDE/srv/bin/connects.py" <<'PY'
import errno, socket, sys, time
end = time.time() + float(sys.argv[1])
server = socket.create_server(("127.0.0.1", 0), backlog=128)
ok = refused = 0
other = {}
while time.time() < end:
    s = socket.socket()
    try:
        s.connect(server.getsockname())
        server.accept()[0].close()
        ok += 1
    except OSError as e:
        other[errno.errorcode[e.errno]] = other.get(errno.errorcode[e.errno], 0) + 1
    s.close()
    s = socket.socket()
    s.settimeout(5)
    try:
        s.connect(("10.99.0.1", 8000))
        print("ESCAPE: connected")
    except ConnectionRefusedError:
        refused += 1
    except OSError as e:
        other[errno.errorcode[e.errno]] = other.get(errno.errorcode[e.errno], 0) + 1
    s.close()
print("connects ok=%d refused=%d other=%s" % (ok, refused, other))
PY

load() {	# SECONDS: two launches, into $WORK/hammer and $WORK/connects
	(WORK=$WORK/load1 && mkdir -p "$WORK" && run --agent hammer -- /srv/bin/attack-processes hammer 6 "$1" && cp "$WORK/out" "$WORK/result"; cp "$WORK/err" "$WORK/errors") &
	LOAD1=$!
	(WORK=$WORK/load2 && mkdir -p "$WORK" && run_script "exec python3 /srv/bin/connects.py $1" --agent connects && cp "$WORK/out" "$WORK/result"; cp "$WORK/err" "$WORK/errors") &
	LOAD2=$!
}

judge_load() {	# NAME MAY-BE-KILLED
	local hammered connected killed
	wait "$LOAD1" "$LOAD2"
	hammered=$(cat "$WORK/load1/out") connected=$(cat "$WORK/load2/out")
	note "$hammered" "$connected"
	equal "$1: nothing refused was let through" "" "$(grep -h ESCAPE <<<"$hammered$connected")"
	equal "$1: the listener got nothing" 0 "$(connections "$WORK/denied")"
	equal "$1: the file is untouched" untouched "$(cat "$INSIDE/srv/open/target")"
	matches "$1: execs and opens went on" 'hammered done=[1-9][0-9]* failed=0' "$hammered"
	matches "$1: connects went on" 'connects ok=[1-9][0-9]* refused=[1-9][0-9]* other=\{(.EIO.: [0-9]+)?\}' "$connected"
	killed=$(sed -n 's/.*killed=\([0-9]*\).*/\1/p' <<<"$hammered")
	check "$1: at most $2 processes died between judgement and check ($killed)" test "${killed:-99}" -le "$2"
	equal "$1: nothing is left stopped or traced" "" "$(stuck)"
	alive "$1: alive"
}

load 6
sleep 1
launches=0 failed=0 kills=0
for i in 1 2 3; do
	pid=$(enforcer)
	kill -KILL "$pid" && kills=$((kills + 1))
	for j in 1 2 3 4; do	# launches meet the gap
		run --agent "gap$j" -- sh -c 'echo here'
		launches=$((launches + 1))
		[ "$STATUS$OUT" = 0here ] || { failed=$((failed + 1)); note "launch $j after kill $i: $STATUS $OUT $ERR"; }
	done
	wait_until 30 test ! -e "/proc/$pid"
	sleep 0.4	# the load meets each of them
done
equal "three enforcers were killed" 3 "$kills"
judge_load "killed" 18
equal "launches during it: none of $launches fails" 0 "$failed"
check "the log is whole" inside $CORDON audit verify
recorded "the restart is recorded" type=start enforcer_restarts'>'0

load 5
sleep 1
pid=$(enforcer)
kill -STOP "$pid"
sleep 2
kill -CONT "$pid"
judge_load "stopped for 2 s" 0

# A launch that is being started when the enforcer dies starts under the next one, or says why; it does not hang.
# PID 1 gives an enforcer up that dies too often, so this has a container of its own.
fixture_stop
fixture_start guarded allow
run -- true
hung=0 odd=0
for i in 1 2 3 4; do
	(WORK=$WORK/start$i && mkdir "$WORK" && RUN_SECONDS=60 run --agent "start$i" -- echo here) &
	waits[i]=$!
	pid=$(enforcer)
	sleep "0.0$((i + 1))"	# the client is there after some 20 ms, the launch after 40
	kill -KILL "$pid"
	wait "${waits[i]}"
	status=$(cat "$WORK/start$i/status")
	[ "$status" -ne 124 ] || hung=$((hung + 1))
	# 137: it died between the judgement of its first exec and the check, with the tracer. That is the price of never running what nobody checked.
	[ "$status" -eq 0 ] || [ "$status" -eq 137 ] || { odd=$((odd + 1)); note "$status: $(cat "$WORK/start$i/err")"; }
	wait_until 30 test ! -e "/proc/$pid"
	wait_until 30 healthy
done
equal "a launch that meets its enforcer's death never hangs" 0 "$hung"
equal "and none fails in another way than its exec did" 0 "$odd"
alive "alive at the end"

# An enforcer that dies too often is not started again: nothing launches, what runs is held, then ended, and nothing of it ran unguarded.
fixture_stop
fixture_start guarded allow
cat >"$INSIDE/srv/bin/writes.py" <<'PY'
import time
for n in range(10000):
    open("/workspace/beat", "w").write(str(n))
    time.sleep(0.02)
PY
(WORK=$WORK/lost && mkdir "$WORK" && run_script "exec python3 /srv/bin/writes.py" --agent lost) &
lost=$!
wait_until 30 test -s "$INSIDE/workspace/beat" || bail "a launch that writes runs"
# Until PID 1 says so, and each of them once: one that was killed can still be seen for a while, and is no second death.
killed=
for ((i = 0; i < 2000; i++)); do
	! grep -q 'state degraded: the enforcer ended too often' "$WORK/log" || break
	pid=$(enforcer_pid)
	[ -n "$pid" ] && [ "$pid" != "$killed" ] && kill -KILL "$pid" && killed=$pid
	sleep 0.01
done
check "PID 1 gives up" wait_until 30 grep -q 'state degraded: the enforcer ended too often: nothing is launched' "$WORK/log"
writer=$(pgrep --ns "$PID1" --nslist pid -f '^python3 /srv/bin/writes.py')
held() {	# its open is with a listener that nobody reads
	[[ $(cat "/proc/$writer/syscall") == 257\ * ]]
}
wait_until 30 held
beat=$(cat "$INSIDE/workspace/beat")
check "the launch is still there, held" inside pgrep -f writes.py
run -- true
equal "nothing is launched: 125" 125 "$STATUS"
check "health says no" bash -c "$(declare -f inside); PID1=$PID1 FIXTURE_ENV=(); ! inside $CORDON health"
check "then what was held is ended" wait_until 30 bash -c "$(declare -f inside); PID1=$PID1 FIXTURE_ENV=(); ! inside pgrep -f writes.py"
equal "it wrote nothing that nobody judged" "$beat" "$(cat "$INSIDE/workspace/beat")"
wait "$lost"
equal "its client ends as of a killed command" 137 "$(cat "$WORK/lost/status")"
check "PID 1 says so" grep -q 'no enforcer came back: what was held is ended (1)' "$WORK/log"
begun=$SECONDS
kill -TERM "$PID1"
wait_until 30 bash -c "! kill -0 $PID1" || true
check "the container still stops at once" test $((SECONDS - begun)) -lt 8
