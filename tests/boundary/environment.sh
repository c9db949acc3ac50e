#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a launch's environment is made of: names that pass, names that never do, values that commands of the operator's print.
. "$(dirname "$0")/lib.sh"
cp -r "$SOURCE/policies" "$WORK/policies"
FIXTURE_POLICIES=$WORK/policies

policy() {	# PYTHON: on the object e of environment.json
	python3 -c "import json, sys
e = json.load(open(sys.argv[1]))
$1
json.dump(e, open(sys.argv[1], 'w'))" "$WORK/policies/environment.json"
}
names() {	# of the last launch's environment that are none of the baseline's
	sed -n 's/=.*//p' <<<"$OUT" | grep -vxE 'PATH|HOME|USER|LOGNAME|SHELL|CORDON_SHIM|.*_proxy|.*_PROXY|.*CERT.*|.*_BUNDLE|NODE_EXTRA_CA_CERTS|PWD|_|SHLVL|OLDPWD' | sort | xargs
}

# ---- sources

cat >"$WORK/before" <<'BEFORE'
give() { printf '#!/bin/sh\n%s\n' "$2" > /srv/bin/$1; chmod 755 /srv/bin/$1; }
give one 'echo "value of $1 as $(id -u)"'
give two 'echo a; echo b'
give none ':'
give fails 'echo x; exit 3'
give long 'head -c 9000 /dev/zero | tr "\0" a'
give slow 'echo asked >>/srv/asked; sleep 4801 & setsid sh -c "sleep 4802 & sleep 4803" & (setsid setsid sleep 4804 &) ; sleep 4805'
give daemon 'echo x; sleep 4806 >/dev/null 2>&1 &'
BEFORE
policy 'e["deny"] = ["DENIED"]
e["sources"] = [{ "name": name.upper(), "command": ["/srv/bin/" + name, "its argument"], "timeout_ms": 700 if name == "slow" else 10000 } for name in ("one", "two", "none", "fails", "long", "slow", "daemon")]
e["sources"].append({ "name": "ABSENT", "command": ["/srv/bin/absent"] })'
check "the policy is one" "$BUILD/cordon" policy validate "$WORK/policies"
fixture_start guarded allow
run --env ONE=mine --env DENIED=x --env FREE=y -- env
equal "those that gave a value, and what else passes" "DAEMON FREE ONE" "$(names)"
matches "the value, not the client's" $'ONE=value of its argument as 0(\n|$)' "$OUT"
for fault in 'TWO: its command printed more than one line' 'NONE: its command printed nothing' 'FAILS: its command failed' 'LONG: its command printed more than 8 KiB' \
	'SLOW: its command took too long and was killed' 'ABSENT: its command could not be run'; do
	recorded "${fault%%:*} is missing, and why" type=environment "missing=$fault"
done
equal "what they started is gone, to the last process" "" "$(inside pgrep -f 'sleep 480[1-6]')"
equal "and their helpers" "" "$(inside pgrep -f 'cordond value')"
equal "no value is in the log" "" "$(grep -l 'value of' "$INSIDE"/var/lib/cordon/audit/*.jsonl)"
run -- sh -c 'echo "$ONE"'
equal "a command sees it" "value of its argument as 0" "$OUT"
for try in 1 2 3 4 5; do	# a machine that is busy with something else is late, too
	began=${EPOCHREALTIME/./}
	run -- cat -- /workspace/none
	ms=$(((${EPOCHREALTIME/./} - began) / 1000))
	[ "$ms" -ge 650 ] || break
done
check "the host's own housekeeping asks nobody ($ms ms)" test "$ms" -lt 650
waits=()
for i in 1 2 3 4 5 6; do
	run_beside --agent "b$i" -- true
	waits+=("$BESIDE")
done
check "while sources are slow, the supervisor answers" inside $CORDON health
wait "${waits[@]}"
equal "nothing is left" "" "$(inside pgrep -f 'sleep 480[1-6]')"
asked() {
	wc -l <"$INSIDE/srv/asked"
}
before=$(asked)
run_beside -- true
wait_until 30 eval '[ "$(asked)" -gt "$before" ]' || bail "a slow source is asked"
kill_enforcer
wait "$BESIDE"
equal "an enforcer that dies meanwhile: the launch is the next one's" 0 "$(cat "$WORK/beside/status")"
fixture_stop

# ---- which names pass

rm "$WORK/before"
policy 'del e["sources"]
e["deny"] = ["EDITOR2", "LC_DENIED"]
e["mode"] = "selected"
e["allow"] = ["EDITOR", "EDITOR2", "APP_*"]'
fixture_start guarded allow
host_names=(--env EDITOR=a --env EDITOR2=b --env APP_X=c --env OTHER=d --env LC_ALL=C --env LC_DENIED=C --env EDITOR_=e)
run "${host_names[@]}" -- env
equal "selected: baseline and allow, but what is denied" "APP_X EDITOR LC_ALL" "$(names)"
fixture_stop
policy 'e["mode"] = "all"'
fixture_start guarded allow
run "${host_names[@]}" -- env
equal "all with a list: only those" "APP_X EDITOR LC_ALL" "$(names)"
fixture_stop
policy 'e["allow"] = []'
fixture_start guarded allow
run "${host_names[@]}" -- env
equal "all without one: every name that is not denied" "APP_X EDITOR EDITOR_ LC_ALL OTHER" "$(names)"
run --env LD_PRELOAD=x -- true
refused "never one that loads code"
