#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All the mediated calls, launches among them, over and over: CORDON_SOAK_SECONDS (8). Descriptors, threads and memory of Cordon's processes stay as they are.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow

measure() {	# descriptors, threads, KiB of PID 1, the enforcer and the zygote
	local pid
	for pid in "$PID1" "$(pgrep -P "$PID1" -x cordon-enforcer)" "$(pgrep --ns "$PID1" --nslist pid -o -x cordon-zygote)"; do
		printf '%s %s %s ' "$(ls -l "/proc/$pid/fd" | grep -v -c pidfd)" "$(awk '/^Threads/ { print $2 }' "/proc/$pid/status")" \
			"$(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")"
	done
}

round() {	# the launches of one round; how many of them did what they should
	run --agent soak -- /srv/bin/attack-canary && [ "$STATUS" -eq 0 ] && GOOD=$((GOOD + 1))
	run --agent soak -- sh -c 'for i in 1 2 3; do echo $i | cat | tr 1 2; done; ls / >/dev/null; printf x >/workspace/soak' && [ "$STATUS" -eq 0 ] && GOOD=$((GOOD + 1))
	run --agent soak -- rm /workspace/soak && [ "$STATUS" -eq 126 ] && GOOD=$((GOOD + 1))
	run --agent soak --timeout 1 -- sh -c 'cat /workspace/no-such-file; exit 3' && [ "$STATUS" -eq 3 ] && GOOD=$((GOOD + 1))
	run --agent soak -- /srv/bin/attack-liveness kills 50 && [ "$STATUS" -eq 0 ] && GOOD=$((GOOD + 1))
	run --agent soak -- /srv/bin/attack-messages canary 20 && [ "$STATUS" -eq 0 ] && GOOD=$((GOOD + 1))
	DONE=$((DONE + 6))
}

GOOD=0 DONE=0
for i in 1 2 3; do round; done
read -r -a before <<<"$(measure)"
end=$((SECONDS + ${CORDON_SOAK_SECONDS:-8}))
while [ "$SECONDS" -lt "$end" ]; do round; done
wait_until 30 eval 'read -r -a after <<<"$(measure)"; [ "${after[3]}" -le "${before[3]}" ]'
note "before ${before[*]}, after $DONE launches ${after[*]} (descriptors, threads, KiB of PID 1, enforcer, zygote)"
equal "every launch did what it should" "$DONE" "$GOOD"
for i in 0 1 3 4 6 7; do
	check "descriptors and threads stay (number $i: ${before[i]}, ${after[i]})" test "${after[i]}" -le "${before[i]}"
done
for i in 2 5 8; do
	check "memory stays (${before[i]}, ${after[i]} KiB)" test "${after[i]}" -le $((before[i] + 1024))
done
equal "nothing is left stopped or traced" "" "$(stuck)"
equal "nothing of the launches is left" 0 "$(pgrep --ns "$PID1" --nslist pid -c -x cordon-keeper)"
check "the log is whole" inside $CORDON audit verify
