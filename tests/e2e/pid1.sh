#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# PID 1 in Docker: exit codes, signals, the stop with stubborn agents, restart and pause, terminals, limits, other users, read-only roots, what a host execs
# past the entry names. What needs no engine is tested in tests/boundary.
. "$(dirname "$0")/lib.sh"
full() { printf '%s\n' "${FULL_TIER[@]}" --entrypoint /usr/bin/cordond; }
mapfile -t OPTIONS_FULL < <(full)

# once NAME WANTED [DOCKER-OPTION…] -- ARGUMENT…: a container that ends by itself.
once() {
	local name=$1 wanted=$2 options=() status=0
	shift 2
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	timeout 200 docker run --rm "${OPTIONS_FULL[@]}" "${options[@]}" "$IMAGE" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || status=$?
	if [ "$status" -eq "$wanted" ]; then ok "$name"; else not_ok "$name" "status $status, expected $wanted" "$(tail -n 5 "$WORK/out" "$WORK/err")"; fi
}
once "a command's own code" 250 -e CORDON_MODE=guarded -- init --unreviewed allow -- sh -c 'exit 250'
echo 'kill -TERM $$' >"$WORK/die.sh"
once "128 and the signal" 143 -e CORDON_MODE=guarded -v "$WORK/die.sh:/workspace/die.sh:ro" -- init --unreviewed allow -- bash /workspace/die.sh
once "a program that is called like an option is a command: not there" 127 -- init -- --help
once "a file that cannot be executed" 126 -- init -- /etc/hostname
once "off, with Docker's default capabilities" 7 -- init -- sh -c 'exit 7'
OPTIONS_FULL=(--entrypoint /usr/bin/cordond)
once "root that cannot become anybody else is 111" 111 --cap-drop ALL -- init -- true
matches "and says what it needs" '^cordon: root needs CAP_CHOWN, CAP_SETUID and CAP_SETGID' "$(cat "$WORK/err")"
once "another user than root, who cannot make its folders, is 115" 115 --user 1000:1000 -- init -- true
equal "with one line" 1 "$(wc -l <"$WORK/err")"
mapfile -t OPTIONS_FULL < <(full)
once "a read-only root, with what must be written on tmpfs" 7 --read-only --tmpfs /run --tmpfs /var/lib/cordon --tmpfs /tmp -- init -- sh -c 'exit 7'
matches "says what is degraded" 'trust is degraded: .*Read-only' "$(cat "$WORK/err")"
once "a state folder that cannot be written is 113" 113 --read-only --tmpfs /run --tmpfs /tmp -- init -- true
once "no room for any other process ends with a reason, not in silence" 112 --pids-limit 1 -- init -- true
matches "which it says" 'cannot fork' "$(cat "$WORK/err")"

# A terminal: the command owns it, Ctrl-C ends it and not PID 1, its end is the container's.
terminal() {	# NAME WANTED KEYS COMMAND…
	local name=$1 wanted=$2 keys=$3 status=0
	shift 3
	timeout 300 python3 - "$keys" docker run --rm -it "${OPTIONS_FULL[@]}" "$IMAGE" init -- "$@" >"$WORK/out" 2>"$WORK/err" <<'PY' || status=$?
import os, pty, select, sys
keys, argv = sys.argv[1].encode().decode("unicode_escape").encode(), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(argv[0], argv)
seen, sent = b"", False
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
    if not sent and b"give-keys" in seen:
        os.write(fd, keys)
        sent = True
sys.stdout.buffer.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
	if [ "$status" -eq "$wanted" ]; then ok "$name"; else not_ok "$name" "status $status, expected $wanted" "$(tail -n 5 "$WORK/out" "$WORK/err")"; fi
}
terminal "a shell on a terminal ends with its own code" 5 'exit 5\n' sh -c 'echo give-keys; exec sh'
terminal "Ctrl-C ends the command: 130" 130 '\x03' sh -c 'echo give-keys; sleep 60'
matches "which has a terminal" give-keys "$(cat "$WORK/out")"

# A container that runs.
start_guarded -e STRIX_HOST_UID=1234 -e STRIX_HOST_GID=1235
equal "agents have the host's ids" "1234 1235" "$(docker exec "$GUARDED" sh -c 'echo $(id -u) $(id -g)')"
check "and write to the workspace and their home" docker exec "$GUARDED" sh -c 'echo x >/workspace/x && echo x >~/x && stat -c %u /workspace/x ~/x | grep -qx 1234'
health_takes() {
	host 'b=${EPOCHREALTIME/./}; for i in {1..10}; do cordon health >/dev/null || exit 1; done; echo $(((${EPOCHREALTIME/./} - b) / 10000))'
}
for try in 1 2 3 4 5; do	# a machine that is busy with something else is late, too
	took=$(health_takes)
	[ "$took" -ge 50 ] || break
done
check "health takes less than 50 ms ($took)" test "$took" -lt 50
check "an exec probe as Kubernetes makes it" docker exec "$GUARDED" /usr/bin/cordon health --json
mid() { host 'cordon status --json' | jq -r "$1"; }
for signal in TERM INT QUIT HUP SEGV ABRT KILL STOP USR1; do host "kill -$signal 1"; done
check "no signal from inside does anything" healthy "$GUARDED"
refused_some() { [ "$(mid .init.signals_refused)" -ge 5 ]; }
check "refused ones are counted" wait_until 60 refused_some
check "and recorded" wait_until 60 host 'grep -q "\"type\":\"signal_refused\".*\"signal\":\"SEGV\"" /var/lib/cordon/audit/audit-*.jsonl'

docker exec -d "$GUARDED" /usr/bin/python3 -c 'import time; time.sleep(600)'
stranger() { host 'grep "\"type\":\"unsupervised_process\"" /var/lib/cordon/audit/audit-*.jsonl' | jq -e 'select(.origin == "outside" and .proc.argv[2] == "import time; time.sleep(600)")'; }
check "a host's exec by absolute path is found" wait_until 60 stranger
docker exec -d "$GUARDED" sh -lc 'sleep 4801'
sleep 3
equal "an exec by an entry name is none" "" "$(host 'grep "\"type\":\"unsupervised_process\"" /var/lib/cordon/audit/audit-*.jsonl' | grep 4801)"

docker pause "$GUARDED" >/dev/null
docker unpause "$GUARDED" >/dev/null
check "paused and unpaused it is healthy" wait_until 100 healthy "$GUARDED"
equal "and no service was restarted for it" 0 "$(mid '[.services[].restarts] | add')"

# Orphans (ten thousand of them without an engine: tests/unit/test_init_pid1.c).
docker exec "$GUARDED" python3 -c '
import os
for i in range(2000):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()' >/dev/null
check "two thousand orphans leave no zombie" wait_until 60 host '! grep -l "^State:.Z" /proc/[0-9]*/status'

# Stop, with agents that ignore TERM, are stopped, have left their session, and cling to a terminal.
docker exec -d "$GUARDED" bash -c 'trap "" TERM INT HUP; (trap "" TERM; sleep 4811) & sleep 4812'
docker exec -d "$GUARDED" python3 -c 'import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN); os.setsid()
for i in range(20):
    if os.fork() == 0: time.sleep(4813)
os.kill(os.getpid(), signal.SIGSTOP)'
wait_until 60 host 'pgrep -fx "sleep 4811" && pgrep -fx "sleep 4812"'
began=${EPOCHREALTIME/./}
docker stop "$GUARDED" >/dev/null
ms=$(((${EPOCHREALTIME/./} - began) / 1000))
note "docker stop took $ms ms"
check "a stop with stubborn agents takes less than ten seconds" test "$ms" -lt 10000
equal "and ends well" 0 "$(docker inspect -f '{{.State.ExitCode}}' "$GUARDED")"
docker start "$GUARDED" >/dev/null
check "it starts again" wait_until 100 healthy "$GUARDED"
equal "agents still have the host's ids" 1234 "$(docker exec "$GUARDED" sh -c 'id -u')"
seals() { host 'cat /var/lib/cordon/audit/audit-*.jsonl' | jq -r 'select(.type == "seal") | .type' | wc -l; }
equal "the log was sealed" 1 "$(seals)"
check "and goes on whole" host 'cordon audit verify'

# Killed: nothing can be written; the next start says what it found and goes on.
docker kill "$GUARDED" >/dev/null
equal "docker kill is 137" 137 "$(docker inspect -f '{{.State.ExitCode}}' "$GUARDED")"
docker start "$GUARDED" >/dev/null
check "after a kill it starts again" wait_until 100 healthy "$GUARDED"
check "and its log is whole" host 'cordon audit verify'
check "a runtime's signal by number ends it in order" docker kill --signal RTMIN+3 "$GUARDED"
stopped() { [ "$(docker inspect -f '{{.State.Running}}' "$GUARDED")" = false ]; }
check "within the budget" wait_until 9 stopped
equal "with 0" 0 "$(docker inspect -f '{{.State.ExitCode}}' "$GUARDED")"
docker rm -f "$GUARDED" >/dev/null

# TERM at any moment of the start ends it at once. Before cordond's first instruction the kernel drops it: the process has neither blocked nor handled it.
hears() {
	local pid blocked
	pid=$(docker inspect -f '{{.State.Pid}}' "$1") && [[ $(readlink "/proc/$pid/exe") == */cordond ]] &&
		blocked=$(sed -n 's/^SigBlk:\t//p' "/proc/$pid/status") && [ $((0x$blocked & 1 << 14)) -ne 0 ]
}
for pause in 0 0.1 0.4; do
	run_container "$RUN-early" "${OPTIONS_FULL[@]}" -e CORDON_MODE=guarded -- init -- sleep 100
	wait_until 60 hears "$RUN-early"
	sleep "$pause"
	began=${EPOCHREALTIME/./}
	docker stop "$RUN-early" >/dev/null
	ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	check "TERM $pause s after the start: an end in $ms ms, code $(docker inspect -f '{{.State.ExitCode}}' "$RUN-early")" test "$ms" -lt 5000
	docker rm -f "$RUN-early" >/dev/null
done

# A fork bomb against a limit of processes: the container lives, and is stopped in time.
run_container "$RUN-bomb" "${OPTIONS_FULL[@]}" --pids-limit 120 -e CORDON_MODE=guarded -- init --unreviewed allow --
wait_until 100 healthy "$RUN-bomb" || bail "the container with a limit becomes ready"
docker exec -d "$RUN-bomb" python3 -c 'import os
while True:
    try: os.fork()
    except OSError: pass'
sleep 2
began=${EPOCHREALTIME/./}
docker stop "$RUN-bomb" >/dev/null
ms=$(((${EPOCHREALTIME/./} - began) / 1000))
check "a fork bomb does not hold up the end ($ms ms)" test "$ms" -lt 10000
equal "which is one in order" 0 "$(docker inspect -f '{{.State.ExitCode}}' "$RUN-bomb")"
