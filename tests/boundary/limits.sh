#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What tightens one launch beside its mode, its scope and its roots: what it really reaches and reads, that nothing loosens, and that another enforcer knows.
. "$(dirname "$0")/lib.sh"
cat >"$WORK/before" <<'BEFORE'
ip address add 10.99.0.2/32 dev lo
echo 'in the project' >/workspace/here
BEFORE
FIXTURE_OPTIONS=(--scope '10.99.0.1, 10.99.0.2:8000, a.test, b.test')
fixture_start guarded allow
listen 10.99.0.1 8000 0 "$WORK/one"
listen 10.99.0.2 8000 0 "$WORK/two"
ONE=$WORK/one
reach() { echo "exec 3<>/dev/tcp/$1/8000 && echo reached"; }
reaches() {	# NAME HOW-OFTEN ADDRESS [RUN-OPTION…]: by what the server saw
	local name=$1 expected=$2 address=$3 counted=$ONE before
	[ "$address" = 10.99.0.1 ] || counted=$WORK/two
	before=$(connections "$counted")
	shift 3
	run_script "$(reach "$address")" "$@"
	# What the launch says comes after its connection stands; the server's own line may come later.
	if [ "$expected" = 1 ]; then
		wait_until 30 eval "[ \"\$(connections '$counted')\" -gt $before ]"
		equal "$name" "0 reached" "$STATUS $OUT"
	else
		equal "$name" "failed  0" "$([ "$STATUS" -ne 0 ] && echo failed) $OUT $(($(connections "$counted") - before))"
	fi
}

# ---- scope

reaches "a declared target is reached" 1 10.99.0.1
reaches "and the other one" 1 10.99.0.2
reaches "in a launch's own scope as well" 1 10.99.0.1 --scope 10.99.0.1
reaches "by a range with the port" 1 10.99.0.1 --scope '10.99.0.0/24:8000'
reaches "not outside it" 0 10.99.0.2 --scope 10.99.0.1
recorded "which the record of the connect says" type=syscall decision=deny rule.id=network.scope 'reason~the scope of this launch'
recorded "and that of the launch" type=cmd_begin scope=10.99.0.1
reaches "not at another port" 0 10.99.0.1 --scope 10.99.0.1:8001
reaches "not where only names are" 0 10.99.0.1 --scope a.test
reaches "not by a mapped address" 0 ::ffff:10.99.0.2 --scope 10.99.0.1
reaches "and a launch without limits is as before" 1 10.99.0.2
run --mode observe --scope a.test -- curl -s http://b.test/
refused "a text that names another target"
recorded "is recorded with the scope" type=cmd_begin decision=deny rule.id=observe.outside scope=a.test
run --mode observe -- curl -s http://b.test/
equal "and passes without the limit, to where no name resolves" 6 "$STATUS"
for url in http://b.test/ http://b.test:80/ 'http://{a,b}.test/' http://a.test.b.test/ http://a.test@b.test/ http://10.99.0.2:8000/ http://0x0a630002:8000/; do
	run_script "curl -s '$url'" --mode observe --scope a.test
	equal "an exec that names another target: $url" 126 "$STATUS"
done
recorded "is recorded" type=syscall sys.name=execve decision=deny rule.id=observe.outside
run_script 'curl -s http://a.test/' --mode observe --scope a.test
equal "and one of its own passes" 6 "$STATUS"

run_script 'python3 -m http.server --bind 127.0.0.1 8111 >/dev/null 2>&1 & curl -s --retry 60 --retry-connrefused --retry-delay 1 http://localhost:8111/here; kill $!' --scope a.test
equal "an agent's own server stays in reach" "in the project" "$OUT"

refuses_option() {	# NAME TEXT RUN-OPTION…
	local name=$1 text=$2
	shift 2
	run "$@" -- true
	equal "$name" 125 "$STATUS"
	matches "$name, and why" "$text" "$ERR"
}
refuses_option "no scope" "at least one target" --scope ''
refuses_option "a scope of nothing" "at least one target" --scope ' ,, '
refuses_option "a scope that is none" "is not a name, address or range" --scope '10.99.0.1 a.test'
refuses_option "one that is too long" "at most 4096" --scope "$(printf 'a%.0s' {1..5000})"

# ---- roots

reads() {	# NAME OUTPUT PATH [RUN-OPTION…]: by the launch itself, and by a script
	local name=$1 expected=$2 path=$3
	shift 3
	run_script "read -r line <$path && echo \"\$line\"" "$@"
	equal "$name" "$expected" "$OUT"
}
reads "standard roots: a file elsewhere is read" untouched /srv/target
reads "strict ones, of this launch: not" "" /srv/target --roots strict
matches "by the kernel" "Permission denied" "$ERR"
reads "but the project is" "in the project" /workspace/here --roots strict
reads "not by a link in it" "" /workspace/link --roots strict
ln -s /srv/target "$INSIDE/workspace/link"
reads "nor by one that is there" "" /workspace/link --roots strict
reads "nor through /proc" "" /proc/self/root/srv/target --roots strict
reads "that link leads on otherwise" untouched /workspace/link
run --roots strict -- cat /srv/target
refused "a text that names it"
recorded "is recorded with the roots" type=cmd_begin decision=deny tag=outside_root roots=strict
run_script '/srv/allow/ok' --roots strict
equal "what cannot be read does not run" 126 "$STATUS"
run_script '/srv/allow/ok'
equal "and does otherwise" 0 "$STATUS"
recorded "a launch's roots are in its record" type=cmd_begin decision=allow roots=strict
run --roots standard -- true
succeeded "the policy's own roots may be asked for"
refuses_option "looser ones" "never loosen" --roots open
refuses_option "retired ones" 'now roots "strict"' --roots workspace
refuses_option "unknown ones" "expected one of" --roots wide

# ---- another enforcer

enforcer() { pgrep -P "$PID1" -x cordon-enforcer; }
rm -f "$INSIDE/workspace/go"
printf '%s\n' 'echo >/workspace/stands; until [ -e /workspace/go ]; do sleep 0.1; done' "$(reach 10.99.0.2)" 'read -r line </srv/target && echo "$line"' >"$INSIDE/workspace/later.sh"
run_beside --scope 10.99.0.1 --roots strict -- bash /workspace/later.sh
wait_until 60 test -e "$INSIDE/workspace/stands" || bail "the launch stands"
before=$(connections "$WORK/two")
first=$(enforcer)
kill -KILL "$first"
another() { local now; now=$(enforcer) && [ "$now" != "$first" ] && inside $CORDON health >/dev/null; }
wait_until 60 another || bail "another enforcer serves"
launches=$(inside $CORDON status --json | python3 -c 'import json,sys; print([(l["scope"], l["roots"]) for l in json.load(sys.stdin)["launches"] if "scope" in l])')
equal "the next enforcer knows the limits" "[('10.99.0.1', 'strict')]" "$launches"
touch "$INSIDE/workspace/go"
wait "$BESIDE"
equal "and holds them" " $before" "$(cat "$WORK/beside/out") $(connections "$WORK/two")"
reaches "a new launch has none" 1 10.99.0.2
fixture_stop

# ---- without a declared scope, and in off

FIXTURE_OPTIONS=()
fixture_start guarded allow
listen 10.99.0.1 8000 0 "$WORK/three"
ONE=$WORK/three
reaches "a launch's own scope opens nothing" 0 10.99.0.1 --scope 10.99.0.1
recorded "as without it" type=syscall decision=deny rule.id=network.private_10
fixture_stop
fixture_start off allow
refuses_option "in off there is no scope to hold" "mode off" --scope 10.99.0.1
refuses_option "nor roots" "mode off" --roots strict
listen 10.99.0.1 8000 0 "$WORK/four"
ONE=$WORK/four
reaches "a launch that is tightened has both" 0 10.99.0.1 --mode guarded --scope 192.0.2.1 --roots strict
reads "in off, too" "" /srv/target --mode guarded --roots strict
fixture_stop

"$BUILD/cordond" --scope '10.0.0.0/33' init 2>"$WORK/err"
equal "a container with a scope that cannot be read does not start" 110 $?
CORDON_SCOPE='a b' "$BUILD/cordond" init 2>"$WORK/err"
equal "nor by its variable" 110 $?
matches "which is named" CORDON_SCOPE "$(cat "$WORK/err")"
