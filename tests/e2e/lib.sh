# SPDX-License-Identifier: Apache-2.0
# What every end-to-end test shares: a guarded container, the same image without Cordon, and checks that print TAP.
# Sourced by bash. CORDON_TEST_IMAGE names the image. Everything started here is removed when the script ends.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$HERE/../../image/lib.sh"
. "$HERE/../lib.sh"
IMAGE=${CORDON_TEST_IMAGE:?names the image to test; tests/run sets it}
PLAIN_PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
RUN=cordon-test-$$
GUARDED=$RUN-guarded PLAIN=$RUN-plain
WORK=$(mktemp -d)
CONTAINERS=() IMAGES=()	# removed at the end

finish() {
	local status=$?
	trap - EXIT
	[ "$FAILED" -eq 0 ] || show_container
	[ "${#CONTAINERS[@]}" -eq 0 ] || docker rm -f "${CONTAINERS[@]}" >/dev/null 2>&1
	[ "${#IMAGES[@]}" -eq 0 ] || docker image rm "${IMAGES[@]}" >/dev/null 2>&1
	rm -rf "$WORK"
	tap_end "$status"
	exit $?	# said: a bare exit in a trap would be the status from before it
}
trap finish EXIT

# After a failure: did the guarded container end by itself, and what did it say last?
show_container() {
	docker inspect -f '# guarded container: {{.State.Status}}, exit code {{.State.ExitCode}}, out of memory {{.State.OOMKilled}}; end of its log:' \
		"$GUARDED" 2>/dev/null && docker logs --tail 15 "$GUARDED" 2>&1 | tr -cd '[:print:]\n' | sed 's/^/#   /'
}

# run_container NAME [DOCKER-OPTION…] -- [IMAGE-ARGUMENT…]: detached; NAME is removed at the end.
run_container() {
	local name=$1 options=()
	shift
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -eq 0 ] || shift
	CONTAINERS+=("$name")
	docker run -d --name "$name" "${options[@]}" "$IMAGE" "$@" >/dev/null
}

# start_guarded [DOCKER-OPTION…]: the container under test, mode guarded, nobody reviews; returns when it is ready.
start_guarded() {
	run_container "$GUARDED" "${FULL_TIER[@]}" -e CORDON_MODE=guarded --entrypoint /usr/bin/cordond "$@" -- init --unreviewed allow -- ||
		bail "the guarded container starts"
	wait_until 100 healthy "$GUARDED" || bail "the guarded container becomes ready" "$(docker logs --tail 30 "$GUARDED" 2>&1)"
}

# start_plain [DOCKER-OPTION…]: the same image as its agents' user, with no Cordon in the way: what guarded work is compared with.
start_plain() {
	run_container "$PLAIN" --init --entrypoint /bin/sleep -u 1000:1000 -e PATH="$PLAIN_PATH" "$@" -- infinity || bail "the plain container starts"
}

healthy() {
	docker exec "$1" /usr/bin/cordon health
}

# host SCRIPT: the host's own look into the guarded container: root, by absolute path, past every entry link and launch.
host() {
	docker exec -e PATH="$PLAIN_PATH" "$GUARDED" /bin/bash -c "$1"
}

# in_both COMMAND…: runs it in both containers; leaves plain.out plain.err plain.status and guarded.* in WORK.
# OPTIONS are docker exec's; INPUT, a file name, is the standard input (give -i among OPTIONS then).
OPTIONS=()
INPUT=/dev/null
in_both() {
	local side container
	for side in plain guarded; do
		[ "$side" = plain ] && container=$PLAIN || container=$GUARDED
		timeout 300 docker exec "${OPTIONS[@]}" "$container" "$@" >"$WORK/$side.out" 2>"$WORK/$side.err" <"$INPUT"
		echo $? >"$WORK/$side.status"
	done
}

# same NAME COMMAND…: docker exec of it gives the same bytes on stdout and stderr and the same status with and without Cordon, and that
# status is STATUS: two that fail for lack of a program would be equal too.
STATUS=0
same() {
	local name=$1 part differences=
	shift
	in_both "$@"
	[ "$(cat "$WORK/plain.status")" -eq "$STATUS" ] ||
		differences="without Cordon: status $(cat "$WORK/plain.status"), not $STATUS: $(head -n 5 "$WORK/plain.err")"$'\n'
	for part in out err status; do
		cmp -s "$WORK/plain.$part" "$WORK/guarded.$part" ||
			differences+="$part differs (plain <, guarded >): $(diff -a "$WORK/plain.$part" "$WORK/guarded.$part" | tr -d '\000' | head -n 12)"$'\n'
	done
	if [ -z "$differences" ]; then
		ok "$name"
	else
		not_ok "$name" "$differences"
	fi
}

# put_script NAME TEXT: a script of the project in both containers, past every launch. A launch's own text is judged before it starts, a script by what it does.
put_script() {
	local container
	for container in $(docker ps -q -f "name=^$RUN-"); do
		docker exec -i -u 0 -e PATH="$PLAIN_PATH" "$container" /bin/sh -c "cat > /workspace/$1 && chmod 644 /workspace/$1" <<<"$2"
	done
}

# same_script NAME TEXT: same, for a script.
same_script() {
	put_script script.sh "$2"
	same "$1" bash /workspace/script.sh
}

# same_status NAME COMMAND…: as same, for what prints process ids or the like.
same_status() {
	local name=$1
	shift
	in_both "$@"
	equal "$name" "$STATUS $STATUS" "$(cat "$WORK/plain.status") $(cat "$WORK/guarded.status")"
}

# refused NAME COMMAND…: docker exec of it in the guarded container ends with 126 and the refusal's JSON object as the last line on stderr.
refused() {
	local name=$1 status=0 last
	shift
	timeout 200 docker exec "$GUARDED" "$@" >"$WORK/refused.out" 2>"$WORK/refused.err" </dev/null || status=$?
	last=$(tail -n 1 "$WORK/refused.err")
	if [ "$status" -eq 126 ] && printf '%s' "$last" |
		jq -e '.success == false and .status == "blocked" and (.safety.rule | length > 0) and (.safety.reason | length > 0)' >/dev/null 2>&1; then
		ok "$name"
	else
		not_ok "$name" "status $status (126 is expected), stderr:" "$(cat "$WORK/refused.err")"
	fi
}
