#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Descriptors and processes: what a launch holds, sees of others and can do to them; what is left when somebody dies; launch requests.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
attack=/srv/bin/attack-processes

pids() {	# pids inside, seen from outside, of the name (comm)
	pgrep --ns "$PID1" --nslist pid -x "$1"
}

# ---- descriptors ----
run -- $attack descriptors
equal "a launch has three descriptors" "fd 0 fd 1 fd 2" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
run -- sh -c "$attack descriptors | cat"
equal "and so have its children" "fd 0 fd 1 fd 2" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
(WORK=$WORK/sleeps && mkdir "$WORK" && run --agent other -- sleep 300) 2>/dev/null &
beside=$!
wait_until 30 inside pgrep -fx 'sleep 300' || bail "another agent's launch runs"
run -- $attack look
equal "nothing of another process can be opened: no memory, descriptor, root, namespace" "" "$(grep opened <<<"$OUT" | head)"
matches "and all were looked at" looked "$OUT"
run --user root -- $attack look
equal "as root neither" "" "$(grep opened <<<"$OUT" | head)"

# ---- acts on others ----
run -- $attack act
equal "no signal, limit, priority or CPU set reaches another process" "" "$(grep done <<<"$OUT" | grep -v kill-0)"
matches "and all were tried" acted "$OUT"
recorded "a signal to PID 1 is recorded" decision=deny sys.name=kill sys.sig.target=1
run --user root -- $attack act
equal "as root neither" "" "$(grep done <<<"$OUT" | grep -v kill-0)"
matches "as root all were tried" acted "$OUT"
check "the other agent's launch still runs" kill -0 "$beside"
target=$(inside pgrep -fx 'sleep 300')
run --agent third -- $attack signal "$target"
equal "a launch of one agent cannot signal one of another" "signal EPERM" "$OUT"
run --agent other -- $attack signal "$target"
equal "one of the same agent can" "signal ok" "$OUT"
wait $beside
RUNNER=run_below run_beside --agent other -- sh -c 'exec sleep 61'
sleeper() {
	inside sh -c 'for p in /proc/[0-9]*; do [ "$(tr "\0" " " <$p/cmdline)" = "sleep 61 " ] && echo ${p#/proc/}; done; true' 2>/dev/null | grep .
}
wait_until 30 sleeper || bail "another agent's process"
target=$(sleeper)
keeper=$(inside sh -c "awk '/^PPid:/ { print \$2 }' /proc/$target/status")
write_files='for f in "$@"; do (echo 700 >"$f") 2>/dev/null && echo "wrote $f"; done; echo tried'
files=()
for pid in 1 "$keeper" "$target"; do files+=("/proc/$pid/oom_score_adj" "/proc/$pid/task/$pid/comm" "/proc/$pid/coredump_filter" "/proc/$pid/clear_refs"); done
before=$(inside sh -c 'cat "$@" 2>/dev/null' sh "${files[@]}")
run_below --agent third -- sh -c "$write_files" sh "${files[@]}"
equal "files of /proc that stand for Cordon's processes or another agent's are not written" tried "$OUT"
run_below --user root -- sh -c "$write_files" sh "${files[@]}"
equal "by root neither" tried "$OUT"
equal "and say what they said" "$before" "$(inside sh -c 'cat "$@" 2>/dev/null' sh "${files[@]}")"
recorded "each is recorded" decision=deny sys.path.path="/proc/$target/oom_score_adj" rule.id=path.outside
run_below --agent other -- sh -c "$write_files" sh "/proc/$target/oom_score_adj" "/proc/$target/mem"
equal "the same agent's may be, but not its memory" "wrote /proc/$target/oom_score_adj tried" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
inside kill "$target"
wait "$BESIDE"
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive after all that"

# ---- a process group whose leader has ended ----
cat >"$INSIDE/srv/bin/leaderless.py" <<'PY'
import os, time
ended, ends = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("/workspace/group", "w").write(str(os.getpgrp()))
        print("stays", flush=True)
        for i in range(2000):
            if os.path.exists("/workspace/over"): break
            time.sleep(0.05)
        print("stayed", flush=True)
    os._exit(0)
os.wait()
os.close(ends)
os.read(ended, 1)
PY
for user in agent root; do
	rm -f "$INSIDE"/workspace/{group,over}
	RUNNER=run_below run_beside --agent leaderless -- python3 /srv/bin/leaderless.py
	wait_until 30 grep -q stays "$WORK/beside/out" || bail "a group without its leader" "$(cat "$WORK/beside/err")"
	run --agent third --user $user -- python3 -c 'import os, resource, sys
g = int(open("/workspace/group").read())
def attempt(name, act):
    try: act(); print(name, "done")
    except OSError as e: print(name, e.strerror)
attempt("group", lambda: os.kill(-g, 9))
attempt("killpg", lambda: os.killpg(g, 19))
attempt("priority", lambda: os.setpriority(os.PRIO_PGRP, g, 19))'
	equal "$user of another agent: no signal, no stop, no priority" "" "$(grep done <<<"$OUT")"
	matches "all were tried ($user)" 'priority [A-Z]' "$OUT"
	touch "$INSIDE/workspace/over"
	wait "$BESIDE"
	matches "the group lives ($user)" stayed "$(cat "$WORK/beside/out")"
done

# ---- leases and locks on what the supervisor, or everybody, opens ----
for user in root agent; do
	run_beside --agent holder --user $user -- /srv/bin/attack-leases /etc/passwd /etc/group /etc/hosts /srv/policies/policy.json /srv/bin/attack-canary /bin/sh /workspace/lock
	wait_until 30 grep -q holding "$WORK/beside/out" || bail "somebody holds locks" "$(cat "$WORK/beside/err")"
	equal "$user gets no lease" "" "$(grep '^lease .* ok$' "$WORK/beside/out")"
	alive "alive while $user holds what locks there are"
	run --user other -- sh -c 'id -un'
	equal "launches as another user, too" other "$OUT"
	pkill -KILL --ns "$PID1" --nslist pid -x attack-leases
	wait "$BESIDE"
done
recorded "leases are recorded" decision=deny sys.name=fcntl errno=EINVAL

# ---- ends ----
planted() {
	wait_until 30 sh -c "[ \$(pgrep -c -x $1) -ge ${2:-13} ]"
}
gone() {
	wait_until 30 sh -c "! pgrep -x $1"
}
run_beside -- $attack plant tree-client
planted tree-client || bail "a tree of 13 stands" "$(cat "$WORK/beside/out" "$WORK/beside/err")"
pkill -KILL --ns "$PID1" --nslist pid -f "^$CORDON run .* plant tree-client"
check "the client is killed: the whole tree is gone, double forks and all" gone tree-client
wait "$BESIDE"

run_beside -- $attack plant tree-keeper
run_pid=$BESIDE
planted tree-keeper || bail "a second tree stands"
(WORK=$WORK/beside2 && mkdir "$WORK" && run --agent survivor -- sh -c 'sleep 3; echo survived' && cat "$WORK/out" >"$WORK/kept") &
survivor=$!
sleep 0.5
keeper=$(pids cordon-keeper | while read -r pid; do pgrep -P "$pid" -x tree-keeper >/dev/null && echo "$pid"; done | head -1)
kill -KILL "$keeper"
check "the keeper is killed: the tree is gone" gone tree-keeper
wait "$run_pid"
equal "and its client says so" 125 "$(cat "$WORK/beside/status")"
wait $survivor
equal "a launch beside it is left alone" survived "$(cat "$WORK/beside2/kept" 2>/dev/null)"
recorded "a keeper's death is recorded" type=cmd_end error~keeper

run --timeout 1 -- $attack plant tree-timeout
equal "--timeout kills" 137 "$STATUS"
check "the whole tree" gone tree-timeout

run -- true
zygote=$(pids cordon-zygote | head -1)
for zygote in $(pids cordon-zygote); do kill -KILL "$zygote"; done
sleep 0.3
run -- true
if [ "$STATUS" -eq 0 ]; then ok "the zygote is killed: the next launch works"; else matches "the zygote is killed: the next launch says why" zygote "$ERR"; fi
alive "alive after the zygotes"

# ---- requests ----
inside /srv/bin/attack-requests blobs </dev/null 2>&1 | cat >"$WORK/blobs"
equal "malformed requests are refused in words" 10 "$(grep -c 'type 4 .*malformed' "$WORK/blobs")"
equal "none hangs or hangs up" 0 "$(grep -c -E 'no answer|hangs up' "$WORK/blobs")"
matches "a sound one is served" 'good type 2 code 0' "$(cat "$WORK/blobs")"
inside /srv/bin/attack-requests messages </dev/null 2>&1 | cat >"$WORK/messages"
equal "malformed messages are refused in words" 0 "$(grep -v -c 'type 4' "$WORK/messages")"
inside /srv/bin/attack-requests crowd 300 </dev/null 2>&1 | cat >"$WORK/crowd"
equal "300 clients at once" "crowd of 300: 100 of 100 launches ended" "$(cat "$WORK/crowd")"
alive "alive after the requests"
run -- /srv/bin/attack-requests blobs
matches "a launch cannot ask for a launch" 'connect (EACCES|EPERM|ENOENT)' "$OUT"
for name in $(pgrep --ns "$PID1" --nslist pid -x cordon-enforcer); do
	check "the enforcer's descriptors stay few ($(ls "/proc/$name/fd" | wc -l))" test "$(ls "/proc/$name/fd" | wc -l)" -lt 64
done

# ---- mode off: nothing of this may help there either ----
fixture_stop
fixture_start off allow
run -- /srv/bin/attack-requests dead
equal "mode off: a dead process of a launch is no way to a launch" 0 "$(grep -c 'type 2' <<<"$OUT")"
run -- sh -c 'ls /run/cordon /var/lib/cordon | grep -E "sock|audit"'
equal "mode off: Cordon's folders are hidden" "" "$OUT"

# ---- PID 1 ----
run_beside -- $attack plant tree-init
planted tree-init || bail "a last tree stands"
kill -KILL "$PID1"
check "PID 1 is killed: everything is gone" gone tree-init
PID1=
wait "$BESIDE"
