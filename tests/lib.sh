# SPDX-License-Identifier: Apache-2.0
# TAP for test scripts. Sourced by bash; the caller prints the plan with tap_end when it ends.
RESULTS=0 FAILED=0

ok() {
	RESULTS=$((RESULTS + 1))
	printf 'ok %d %s\n' "$RESULTS" "$*"
}

# not_ok NAME [EXPLANATION…]: each explanation may have many lines; they become TAP comments.
not_ok() {
	RESULTS=$((RESULTS + 1)) FAILED=$((FAILED + 1))
	printf 'not ok %d %s\n' "$RESULTS" "$1"
	shift
	[ $# -eq 0 ] || printf '%s\n' "$@" | head -c 3000 | tr -cd '[:print:]\n' | sed 's/^/# /'
}

skip() {	# NAME REASON
	RESULTS=$((RESULTS + 1))
	printf 'ok %d %s # SKIP %s\n' "$RESULTS" "$1" "$2"
}

note() {
	printf '%s\n' "$@" | head -c 3000 | sed 's/^/# /'
}

bail() {
	not_ok "$@"
	exit 1
}

# check NAME COMMAND…: a result that is good when the command succeeds.
check() {
	local name=$1 text
	shift
	if text=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "failed: $*" "$text"; fi
}

# equal NAME EXPECTED FOUND
equal() {
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected: $2" "found:    $3"; fi
}

# matches NAME EXTENDED-REGULAR-EXPRESSION FOUND
matches() {
	if [[ $3 =~ $2 ]]; then ok "$1"; else not_ok "$1" "expected to match: $2" "found: $3"; fi
}

# wait_until SECONDS COMMAND…: polls; returns 1 at the deadline.
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
		sleep 0.05
	done
}

# tap_end STATUS: prints the plan; the exit status of the script.
tap_end() {
	printf '1..%d\n' "$RESULTS"
	[ "$1" -ne 0 ] || [ "$FAILED" -eq 0 ] || return 1
	return "$1"
}
