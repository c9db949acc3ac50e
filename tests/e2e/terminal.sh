#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# docker exec -it: the pty is the keeper's. In safety modes only Ctrl-C passes; in off everything does, with job control.
. "$(dirname "$0")/lib.sh"
start_guarded
OFF=$RUN-off
run_container "$OFF" "${FULL_TIER[@]}" -e CORDON_MODE=off --
wait_until 100 healthy "$OFF" || bail "the container in off becomes ready" "$(docker logs --tail 20 "$OFF" 2>&1)"

# on_terminal STEP… -- COMMAND…: sets output and status.
on_terminal() {
	status=0
	output=$(timeout 300 python3 "$HERE/terminal.py" "$@" 2>&1) || status=$?
	output=${output//$'\r'/}
}

on_terminal -- docker exec -it "$GUARDED" sh -c 'tty; echo; exit 5'
equal "the command's status" 5 "$status"
matches "it has a terminal" '/dev/pts/[0-9]+' "$output"
on_terminal wait:ready type:'\x03' -- docker exec -it "$GUARDED" sh -c 'echo ready; sleep 60'
equal "Ctrl-C ends it" 130 "$status"
on_terminal wait:ready type:'secret words\n' pause:1 type:'\x03' -- docker exec -it "$GUARDED" sh -c 'echo ready; cat > /workspace/typed'
equal "after typing, Ctrl-C still ends it" 130 "$status"
equal "what was typed did not pass" 0 "$(host 'stat -c %s /workspace/typed')"
check "and is recorded" wait_until 60 host 'grep -q unreviewable_stdin /var/lib/cordon/audit/audit-*.jsonl'
on_terminal wait:ready pause:0.5 size:33x99 -- docker exec -it "$GUARDED" bash -c 'echo ready; until stty size | grep "33 99"; do sleep 0.1; done'
matches "a new size arrives" '33 99' "$output"
on_terminal wait:ready -- docker exec -it "$GUARDED" sh -c 'echo ready; until stty size | grep "40 100"; do sleep 0.1; done'
matches "the size at the start" '40 100' "$output"
equal "run --tty gives a terminal where there is none" yes \
	"$(docker exec "$GUARDED" /usr/bin/cordon run --tty -- tty | grep -q '/dev/pts/' && echo yes)"
equal "without it there is none" "not a tty" "$(docker exec "$GUARDED" /usr/bin/cordon run -- tty | tr -d '\r')"

on_terminal wait:'$' type:'echo typed-$((6*7))\n' wait:typed-42 type:'exit 7\n' -- docker exec -it "$OFF" bash
equal "off: a shell takes what is typed" 7 "$status"
on_terminal wait:'$' type:'echo be""gun; sleep 500\n' wait:begun again:'\x1a' wait:Stopped type:'jobs\n' wait:'sleep 500' type:'kill %1\n' pause:0.3 type:'exit\n' pause:0.3 \
	type:'exit\n' -- docker exec -it "$OFF" bash
matches "off: Ctrl-Z stops a job" 'Stopped +sleep 500' "$output"
on_terminal wait:'$' type:'echo be""gun; sleep 500\n' wait:begun pause:0.5 type:'\x03' pause:0.3 type:'echo code-$?\n' wait:code-130 type:'exit 3\n' -- docker exec -it "$OFF" bash
equal "off: Ctrl-C ends the job, not the shell" 3 "$status"
on_terminal wait:'$' type:'\x04' -- docker exec -it "$OFF" bash
equal "off: Ctrl-D ends the shell" 0 "$status"

