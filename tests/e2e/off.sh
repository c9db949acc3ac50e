#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Mode off: nothing is blocked, everything is recorded, Cordon itself is still defended; and what run's options do in either mode.
. "$(dirname "$0")/lib.sh"
start_guarded
OFF=$RUN-off
run_container "$OFF" "${FULL_TIER[@]}" -e CORDON_MODE=off --
wait_until 100 healthy "$OFF" || bail "the container in off becomes ready" "$(docker logs --tail 20 "$OFF" 2>&1)"
off() { docker exec "$OFF" "$@"; }
off_host() { docker exec -e PATH="$PLAIN_PATH" "$OFF" /bin/bash -c "$1"; }
run() { docker exec "$GUARDED" /usr/bin/cordon run "$@"; }

off sh -c 'mkdir -p /workspace/gone && echo x > /workspace/gone/file'
check "rm works" off rm -rf /workspace/gone
check "and removed it" off_host '! test -e /workspace/gone'
check "chmod works" off sh -c 'echo "#!/bin/sh" > /workspace/s && chmod +x /workspace/s && /workspace/s'
equal "root can be asked for" 0 "$(docker exec "$OFF" /usr/bin/cordon run --user root -- id -u)"
check "and is root: capabilities" docker exec "$OFF" /usr/bin/cordon run --user root -- sh -c 'grep -q "^CapEff:.*[1-9a-f]" /proc/self/status'
equal "without no_new_privs" 0 "$(off grep ^NoNewPrivs: /proc/self/status | cut -f2)"
check "root may write to /etc" docker exec "$OFF" /usr/bin/cordon run --user root -- sh -c 'echo x > /etc/from-off'
check "which the container really has" off_host 'test -s /etc/from-off'
docker exec "$OFF" /usr/bin/cordon run --user root -- sh -c 'kill -KILL 1; kill -TERM 1; pkill -KILL cordond; true' >/dev/null 2>&1
check "PID 1 and the enforcer stand" wait_until 100 healthy "$OFF"
equal "the enforcer was not restarted" 1 "$(off_host 'grep -c "\"type\":\"start\"" /var/lib/cordon/audit/audit-*.jsonl')"
docker exec "$OFF" /usr/bin/cordon run --user root -- sh -c 'rm -rf /var/lib/cordon/audit; echo forged >> /var/lib/cordon/audit/audit-000001.jsonl' >/dev/null 2>&1
check "the log is whole" off_host 'cordon audit verify'
check "records say what guarded would have said" off_host 'grep -q "\"shadow\"" /var/lib/cordon/audit/audit-*.jsonl'

status=0
docker exec "$OFF" /usr/bin/cordon run --mode guarded -- rm -f /workspace/s >/dev/null 2>&1 || status=$?
equal "a launch may tighten its mode" 126 "$status"
check "and the file stays" off_host 'test -e /workspace/s'
status=0
run --mode off -- true >/dev/null 2>"$WORK/err" || status=$?
equal "but not loosen it" 125 "$status"
equal "with one line" 1 "$(wc -l <"$WORK/err")"

equal "--user root in guarded has no capabilities" 0000000000000000 "$(run --user root -- grep ^CapEff: /proc/self/status | cut -f2)"
status=0
run --user no-such-user -- true >/dev/null 2>&1 || status=$?
equal "a user who is not there is 125" 125 "$status"
status=0
docker exec -u 1000:1000 "$GUARDED" /usr/bin/cordon run --user root -- id -u >"$WORK/out" 2>&1 || status=$?
equal "who is not root cannot ask for root" 125 "$status"
equal "--cwd" /usr/share "$(run --cwd /usr/share -- pwd)"
status=0
run --cwd /no/such -- true >/dev/null 2>"$WORK/err" || status=$?
check "a folder that is not there is an error" [ "$status" -ne 0 ]
equal "--env" "value of it" "$(run --env 'NAME=value of it' -- sh -c 'echo "$NAME"')"
equal "-c" $'one\ntwo' "$(run -c 'echo one; echo two')"
SECONDS=0
status=0
run --timeout 1 -- sleep 300 || status=$?
check "--timeout ends it in time" [ "$SECONDS" -lt 60 ]
check "and says so by its status" [ "$status" -ne 0 ]
check "nothing of it is left" wait_until 60 host '! pgrep -fx "sleep 300"'
status=0
run --unattended -- sh -c 'echo x > /workspace/unattended' >/dev/null 2>&1 || status=$?
check "--unattended is read-only" [ "$status" -ne 0 ]
check "and nothing was written" host '! test -e /workspace/unattended'
status=0
run --no-such-option -- true >/dev/null 2>"$WORK/err" || status=$?
equal "an unknown option is 125" 125 "$status"
run --agent alice -- true
check "--agent is in the records" wait_until 60 host 'grep -q "\"alice\"" /var/lib/cordon/audit/audit-*.jsonl'
status=0
docker run --rm --entrypoint /usr/bin/cordon "$IMAGE" run -- true >/dev/null 2>"$WORK/err" || status=$?
equal "without a supervisor: 125" 125 "$status"
matches "and a line that says so" 'supervisor' "$(cat "$WORK/err")"
# A launch cannot start launches, nor reach the sockets.
status=0
docker exec "$GUARDED" sh -c '/usr/bin/cordon run -- true' >/dev/null 2>&1 || status=$?
check "a launch cannot start a launch" [ "$status" -ne 0 ]
status=0
off sh -c '/usr/bin/cordon run -- true' >/dev/null 2>&1 || status=$?
check "nor in off" [ "$status" -ne 0 ]
