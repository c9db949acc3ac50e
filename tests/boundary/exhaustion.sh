#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A launch that wants everything: forks without end, hundreds of processes in mediated calls. Others go on, and it can be ended.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow

(WORK=$WORK/bomb && mkdir "$WORK" && run --timeout 8 -- /srv/bin/attack-processes bomb 400) &
bomb=$!
check "the fork bomb stands at its limit" wait_until 30 sh -c "[ \$(pgrep --ns $PID1 --nslist pid -c -x attack-processe) -gt 100 ]"
ALIVE_MS=2500 alive "alive beside a fork bomb"
wait $bomb
equal "it ends by its timeout" 137 "$(cat "$WORK/bomb/status")"
check "all of it" wait_until 30 sh -c "! pgrep --ns $PID1 --nslist pid -x attack-processe"

(WORK=$WORK/hammer && mkdir "$WORK" && run -- /srv/bin/attack-processes hammer-opens 200 5) &
hammer=$!
sleep 1
for i in 1 2 3; do alive "alive beside 200 processes that open files"; done
wait $hammer
note "$(cat "$WORK/hammer/out")"
matches "none of their opens failed" 'done=[1-9][0-9]* failed=0' "$(cat "$WORK/hammer/out")"
(WORK=$WORK/masked && mkdir "$WORK" && run -- /srv/bin/attack-flood masked 100 4) &
masked=$!
sleep 1
for i in 1 2 3; do ALIVE_MS=2500 alive "alive beside 100 processes that look at a secret"; done
wait $masked
note "$(cat "$WORK/masked/out")"
matches "they were refused" 'masked=[1-9][0-9]{3,} opened=0' "$(cat "$WORK/masked/out")"
(WORK=$WORK/bad && mkdir "$WORK" && run -- /srv/bin/attack-flood bad-execs 8 4) &
bad=$!
sleep 1
for i in 1 2 3; do alive "alive beside eight processes that exec bad pointers"; done
wait $bad
note "$(cat "$WORK/bad/out")"
matches "they were answered" 'bad-execs=[1-9][0-9]{3,}' "$(cat "$WORK/bad/out")"
enforcer=$(enforcer)
check "the enforcer is small afterwards ($(awk '/^VmRSS/ { print $2 }' "/proc/$enforcer/status") KiB)" test "$(awk '/^VmRSS/ { print $2 }' "/proc/$enforcer/status")" -lt 65536
alive "alive afterwards"
