#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Start-up: ready in time, early calls wait, health, the state of layers, CMD as a launch, and bad input with one line and the right code.
. "$(dirname "$0")/lib.sh"

# A call right after docker run meets a container that is not ready: it waits, and works.
run_container "$GUARDED" "${FULL_TIER[@]}" -e CORDON_MODE=guarded --entrypoint /usr/bin/cordond -- init --unreviewed allow --
SECONDS=0
early=$(timeout 200 docker exec "$GUARDED" sh -lc 'echo early' 2>"$WORK/early.err")
equal "a call that arrives before ready waits and works" early "$early"
check "ready in time ($SECONDS s)" [ "$SECONDS" -lt 100 ]
check "health says so" healthy "$GUARDED"
equal "PID 1 is cordond" /usr/bin/cordond "$(host 'readlink /proc/1/exe')"
check "Docker's HEALTHCHECK turns healthy" wait_until 60 \
	sh -c "[ \"\$(docker inspect -f '{{.State.Health.Status}}' $GUARDED)\" = healthy ]"
check "status answers" host 'cordon status'
check "status --json is JSON" host 'cordon status --json | python3 -m json.tool'
doctor=$(host 'cordon doctor')
matches "doctor shows the notify layer as active" 'notify[[:space:]]+active' "$doctor"
matches "doctor shows the mounts layer as active" 'mounts[[:space:]]+active' "$doctor"
matches "doctor shows the host_exec layer as active" 'host_exec[[:space:]]+active' "$doctor"
docker rm -f "$GUARDED" >/dev/null

# init -- CMD is a launch of the agents' user, after ready; its status is the container's.
one_shot() {	# OPTION… -- IMAGE-ARGUMENT…: prints stdout, sets status
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	status=0
	output=$(timeout 200 docker run --rm "${options[@]}" "$IMAGE" "$@" 2>"$WORK/err") || status=$?
}
one_shot "${FULL_TIER[@]}" -e CORDON_MODE=guarded --entrypoint /usr/bin/cordond -- init --unreviewed allow -- sh -c 'id -u; exit 7'
equal "CMD ends with its own status" 7 "$status"
matches "CMD runs as the agents' user" $'(^|\n)1000' "$output"
one_shot "${FULL_TIER[@]}" -e CORDON_MODE=guarded --entrypoint /usr/bin/cordond -- init --unreviewed allow -- no-such-program
equal "a CMD that does not exist ends with 127" 127 "$status"

# Bad input: one line, the right code, nothing half started.
bad() {	# NAME STATUS PATTERN, then as one_shot
	local name=$1 want=$2 pattern=$3
	shift 3
	one_shot "$@"
	if [ "$status" -eq "$want" ] && grep -Eq "$pattern" "$WORK/err"; then
		ok "$name"
	else
		not_ok "$name" "status $status ($want is expected), stderr: $(tail -n 5 "$WORK/err")" "stdout: $(tail -n 5 <<<"$output")"
	fi
}
bad "an unknown option is an error" 110 'no-such-option' "${FULL_TIER[@]}" --entrypoint /usr/bin/cordond -- init --no-such-option --
bad "an unknown mode on the command line is an error" 110 'mode' "${FULL_TIER[@]}" --entrypoint /usr/bin/cordond -- init --mode lenient --
bad "a missing policy folder is 110" 110 '/no/such' "${FULL_TIER[@]}" -e CORDON_POLICY=/no/such --
bad "a broken policy is 110 with its place" 110 '\.json:[0-9]+:[0-9]+' "${FULL_TIER[@]}" --user root --entrypoint /bin/bash -- -c \
	'PATH=/usr/bin:/bin; cp -r /etc/cordon/policies /tmp/p; f=$(ls /tmp/p/*.json | head -n 1); sed -i "1s/^/{\"no such key\": 1,\n/" "$f"; exec /usr/bin/cordond init --policy /tmp/p --'
bad "guarded without the full tier's options names what is missing" 111 'cap-add|SYS_ADMIN|SYS_PTRACE' -e CORDON_MODE=guarded --
