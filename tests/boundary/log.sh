#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The audit log in trouble: too slow, full, read-only. What cannot be recorded is not allowed; what was allowed is recorded; nothing is lost unsaid.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow

# ---- the writer stands still: the queue fills ----
writer=$(ls "/proc/$(enforcer)/task" | grep -v "^$(enforcer)$" | sort -n | head -1)
"$BUILD/tests/attack-debugger" freeze "$writer" >"$WORK/frozen" 2>&1 &
freezer=$!
wait_until 30 grep -q ready "$WORK/frozen" || bail "the log's writer stands still" "$(cat "$WORK/frozen")"
run_beside --agent flood -- /srv/bin/attack-flood
wait "$BESIDE"
note "$(cat "$WORK/beside/out")"
flood=$(cat "$WORK/beside/out")
matches "allowed calls go on until the queue is full, then they are held for a second and refused" 'connects ok=[1-9][0-9]{2,} accepted=[1-9][0-9]* then=EPERM after=(9[5-9][0-9]|[1-4][0-9]{3})' "$flood"
matches "so is an exec" 'exec EPERM after=(9[5-9][0-9]|[1-4][0-9]{3})' "$flood"
matches "what leaves no record goes on" 'open ok' "$flood"
ok=$(sed -n 's/.* ok=\([0-9]*\) .*/\1/p' <<<"$flood")
equal "as many were accepted as were allowed" "$ok" "$(sed -n 's/.*accepted=\([0-9]*\) .*/\1/p' <<<"$flood")"
run_beside --agent waits -- /srv/bin/attack-flood 1	# held, and then the writer goes on
sleep 0.3
kill "$freezer"
wait "$BESIDE"
matches "a call that was held goes on when there is room again" 'connects ok=1 accepted=1 then=ok.*exec ran' "$(tr '\n' ' ' <"$WORK/beside/out")"
recorded_times "every allowed connect is recorded" "$ok" agent=flood decision=allow sys.name=connect
recorded_times "the refusals too" 1 agent=flood decision=deny sys.name=connect tag=audit_unavailable
recorded_times "and the exec's" 1 agent=flood decision=deny sys.name=execve tag=audit_unavailable
equal "nothing was lost" 0 "$(records type=audit_drop)"
check "the log is whole" inside $CORDON audit verify
alive "alive afterwards"

# ---- refusals to wash the log with ----
run --agent wash -- /srv/bin/attack-flood wash 20000
note "$OUT"
matches "20,000 different files and 5,000 looks at a secret are refused" 'refused=20000 secret=5000' "$OUT"
folded() {	# CONDITION…: full records, and what sums stand for
	python3 "$HERE/audit_query.py" --show "$INSIDE/var/lib/cordon/audit" agent=wash decision=deny "$@" | python3 -c 'import json, sys
lines = [json.loads(l) for l in sys.stdin]
print(len(lines), sum(l["agg"]["count"] if "agg" in l else 1 for l in lines))'
}
folded_are() {	# COUNT CONDITION…: sums are written every few seconds
	local count=$1
	shift
	[ "$(folded "$@" | cut -d ' ' -f 2)" -ge "$count" ]
}
wait_until 30 folded_are 20000 sys.name=openat
read -r full all < <(folded sys.name=openat)
equal "all are counted" 20000 "$all"
check "in $full records" test "$full" -lt 1000
wait_until 30 folded_are 5000 sys.name=open
read -r full all < <(folded sys.name=open)
equal "the looks at the secret, too" 5000 "$all"
check "in $full records" test "$full" -lt 50
equal "nothing was lost" 0 "$(records type=audit_drop)"

# ---- a disk that is full, under load; then there is room again ----
fixture_stop
echo 'mount -t tmpfs -o size=3m,mode=0755 tmpfs /var/lib/cordon' >"$WORK/before"
fixture_start guarded allow
run_beside --agent load --timeout 60 -- /srv/bin/attack-processes hammer-opens 8 12
run_beside2() { (WORK=$WORK/full && mkdir -p "$WORK" && run --agent full -- /srv/bin/attack-flood 200000) & FLOODING=$!; }
run_beside2
refuses() {	# the log has failed
	! inside $CORDON health
}
wait_until 100 refuses || bail "the disk is full" "$(df "$INSIDE/var/lib/cordon")"
wait "$FLOODING"
flood=$(cat "$WORK/full/out")
note "$flood" "$(inside $CORDON health 2>&1)"
matches "a full disk: what cannot be recorded is refused, at once" 'connects ok=[1-9][0-9]+ accepted=[1-9][0-9]* then=EPERM after=[0-9]{1,3}$' "$(head -1 <<<"$flood")"
matches "execs too" 'exec EPERM' "$flood"
matches "and writes" 'open EPERM' "$flood"
ok=$(sed -n 's/.* ok=\([0-9]*\) .*/\1/p' <<<"$flood")
run --agent full -- true
equal "nothing is launched" 125 "$STATUS"
matches "which says why" 'audit log cannot be written' "$ERR"
mount -o remount,size=64m "$INSIDE/var/lib/cordon" 2>/dev/null || inside mount -o remount,size=64m /var/lib/cordon
check "room again: it goes on by itself" wait_until 30 inside $CORDON health
alive "alive with room again"
wait "$BESIDE"
recorded_times "every connect that was allowed before it was full is recorded" "$ok" agent=full decision=allow sys.name=connect
recorded "the gap is a record" type=audit_drop class=log_failed
check "the log is whole" inside $CORDON audit verify
