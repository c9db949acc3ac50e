#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The quickstart itself, with Docker and without: every statement of its demonstration must hold, and nothing may stay behind.
. "$(dirname "$0")/lib.sh"
cd "$HERE/../.." || exit 1

quickstart() {	# NAME OPTION…
	local name=$1 status=0
	shift
	SECONDS=0
	timeout 400 image/quickstart "$@" >"$WORK/quickstart.log" 2>&1 || status=$?
	if [ "$status" -eq 0 ]; then
		ok "$name ($SECONDS s)"
	else
		not_ok "$name" "status $status" "$(tail -n 60 "$WORK/quickstart.log")"
	fi
}
quickstart "quickstart with Docker"
equal "leaves no container" "" "$(docker ps -aq --filter name=cordon-quickstart)"
check "it showed a refusal's JSON object" grep -q '"status":"blocked"' "$WORK/quickstart.log"
quickstart "quickstart without Docker" --no-docker
equal "leaves no embedded container" "" "$(ls /run/cordon-embedded 2>/dev/null)"
check "it showed a refusal's JSON object" grep -q '"status":"blocked"' "$WORK/quickstart.log"
status=0
image/quickstart --no-such-option >/dev/null 2>"$WORK/err" || status=$?
equal "an unknown option is an error" 1 "$status"
equal "of one line" 1 "$(wc -l <"$WORK/err")"
