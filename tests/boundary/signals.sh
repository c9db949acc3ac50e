#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signals while calls are judged: a kilohertz timer, pipelines of dash, stopped and continued callers, Go's preemption.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow

run -- /srv/bin/attack-signals 4000
note "$OUT"
for call in open exclusive connect exec; do
	line=$(grep "^$call " <<<"$OUT")
	calls=$(sed 's/.*calls=\([0-9]*\).*/\1/' <<<"$line") interrupted=$(sed 's/.*interrupted=\([0-9]*\).*/\1/' <<<"$line")
	matches "$call under a 1 kHz timer: only EINTR, nothing done twice" 'failed=0' "$line"
	# A signal between the call and its receipt still ends it with EINTR; nothing outside the kernel can change that. The share is watched.
	check "$call: EINTR in $interrupted of $calls calls, below 20 %" test $((interrupted * 5)) -le "$calls"
done

run -- dash -c 'i=0; while [ $i -lt 1000 ]; do x=$(echo a | cat | cat) || exit 9; [ "$x" = a ] || { echo "$i: $x"; exit 8; }; i=$((i + 1)); done; echo $i'
equal "1,000 pipelines of dash" "0 1000" "$STATUS $OUT"
run -- sh -c 'echo compressed | gzip | gunzip'
equal "a pipeline with gzip" compressed "$OUT"

# A caller that is stopped and continued while it waits for the enforcer's answer gets it.
cat >"$WORK/stop.py" <<'PY'
import os, signal, subprocess, sys, time
children = [subprocess.Popen(["/srv/bin/attack-processes", "hammer", "1", "2"], stdout=subprocess.PIPE, text=True) for _ in range(4)]
end = time.time() + 1.7
n = 0
while time.time() < end:
    for c in children:
        os.kill(c.pid, signal.SIGSTOP)
        for pid in subprocess.run(["pgrep", "-P", str(c.pid)], capture_output=True, text=True).stdout.split():
            try:
                os.kill(int(pid), signal.SIGSTOP); os.kill(int(pid), signal.SIGCONT)
            except ProcessLookupError:
                pass
        os.kill(c.pid, signal.SIGCONT)
        n += 1
for c in children:
    print(c.communicate()[0].strip())
print("stops", n)
PY
cp "$WORK/stop.py" "$INSIDE/srv/bin/stop.py"
run_script "exec python3 /srv/bin/stop.py"
note "$OUT"
equal "stopped and continued callers lose nothing" 4 "$(grep -c 'hammered done=[1-9][0-9]* failed=0 killed=0' <<<"$OUT")"
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive"
