#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ends: a killed client takes its tree along, a stop is fast and seals the audit, a killed enforcer costs no launch, zombies are reaped.
. "$(dirname "$0")/lib.sh"
start_guarded
# setsid(1) is a wrapper, which guarded mode refuses; this leaves the session as any daemon does.
AWAY='python3 -c "import os,sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])"'

# docker exec's client process dies inside the container: everything the launch began is gone.
client_of() {	# TEXT: the cordon client whose arguments hold it
	host "for p in /proc/[0-9]*; do [ \"\$(readlink \$p/exe)\" = /usr/bin/cordon ] && tr '\\0' ' ' < \$p/cmdline | grep -qF '$1' && echo \${p##*/}; done; true" | head -n 1
}
put_script tree.sh "sleep 3001 & ($AWAY sleep 3002 &) ; sleep 3003"
docker exec "$GUARDED" bash /workspace/tree.sh >/dev/null 2>&1 &
check "a tree runs" wait_until 60 host 'pgrep -fx "sleep 3001" && pgrep -fx "sleep 3002" && pgrep -fx "sleep 3003"'
client=$(client_of 'tree.sh')
matches "its client is a process of cordon" '^[0-9]+$' "$client"
host "kill -KILL $client"
check "the client is killed: the whole tree is gone" wait_until 60 host '! pgrep -f "sleep 300[123]"'

# The main process ends: the client ends with its status at once; what it left behind stays guarded.
SECONDS=0
status=0
put_script daemon.sh "$AWAY sleep 3010 >/dev/null 2>&1 </dev/null & exit 4"
docker exec "$GUARDED" bash /workspace/daemon.sh || status=$?
equal "the main process's status" 4 "$status"
check "at once, though a daemon is left" [ "$SECONDS" -lt 60 ]
check "which lives on" wait_until 60 host 'pgrep -fx "sleep 3010"'
equal "behind the filter" 2 "$(host 'grep ^Seccomp: /proc/$(pgrep -fx "sleep 3010")/status | cut -f2')"

# Orphans are reaped.
docker exec "$GUARDED" bash -c 'for i in $(seq 200); do (sleep 0.01 &) ; done; wait' >/dev/null 2>&1
check "no zombie is left" wait_until 60 host '! grep -l "^State:.Z" /proc/[0-9]*/status'

# The enforcer is killed: a launch that runs goes on, the next one starts, nothing was allowed by it.
docker exec "$GUARDED" bash -c 'for i in $(seq 100); do /bin/echo $i; sleep 0.1; done' >"$WORK/steady" 2>"$WORK/steady.err" &
steady=$!
wait_until 60 grep -q 5 "$WORK/steady"
enforcer=$(host 'for p in /proc/[0-9]*; do [ "$(readlink $p/exe)" = /usr/bin/cordond ] && [ ${p##*/} != 1 ] && tr "\0" " " < $p/cmdline | grep -q enforcer && echo ${p##*/}; done; true' | head -n 1)
matches "the enforcer is a process beside PID 1" '^[0-9]+$' "$enforcer"
host "kill -KILL $enforcer"
check "a launch started right after works" timeout 200 docker exec "$GUARDED" sh -lc true
status=0
wait "$steady" || status=$?
equal "the launch that ran when it died goes on to its end" 0 "$status"
equal "with all its output" "$(seq 100)" "$(cat "$WORK/steady")"
check "health is good again" wait_until 100 healthy "$GUARDED"

# docker stop.
docker exec "$GUARDED" sh -c 'trap "" TERM; sleep 3020' >/dev/null 2>&1 &
wait_until 60 host 'pgrep -fx "sleep 3020"'
SECONDS=0
docker stop "$GUARDED" >/dev/null
check "docker stop takes less than Docker's ten seconds, with a command that ignores TERM" [ "$SECONDS" -le 10 ]
code=$(docker inspect -f '{{.State.ExitCode}}' "$GUARDED")
check "and is not a kill" [ "$code" -ne 137 ]
docker cp "$GUARDED:/var/lib/cordon/audit" "$WORK/audit" >/dev/null
last=$(ls "$WORK"/audit/audit-*.jsonl | tail -n 1)
equal "the audit ends with a seal" seal "$(tail -n 1 "$last" | jq -r .type)"
offline() {	# FOLDER OPTION…: verify by the static client alone, where nothing runs
	docker run --rm -i -v "$1:/audit:ro" --entrypoint /usr/bin/cordon "$IMAGE" audit verify --dir /audit "${@:2}"
}
check "the audit verifies, offline" offline "$WORK/audit" --sealed
docker logs "$GUARDED" >"$WORK/console" 2>&1
check "and fits the anchors that left by the console" bash -c "$(declare -f offline); IMAGE=$IMAGE; offline $WORK/audit --anchors - <$WORK/console"
cp -r "$WORK/audit" "$WORK/forged"
sed -i '3s/"ts":"2/"ts":"3/' "$WORK/forged/${last##*/}"
offline "$WORK/forged" >/dev/null 2>&1
equal "a forged line is found" 1 $?
cp -r "$WORK/audit" "$WORK/cut"
sed -i '$d' "$WORK/cut/${last##*/}"
offline "$WORK/cut" --sealed >/dev/null 2>&1
equal "a cut end is found" 2 $?
cp -r "$WORK/audit" "$WORK/shortened"
head -n 100 "$last" >"$WORK/shortened/${last##*/}"
offline "$WORK/shortened" --anchors - <"$WORK/console" >/dev/null 2>&1
check "a log that ends before an anchor is found" [ $? -ne 0 ]
