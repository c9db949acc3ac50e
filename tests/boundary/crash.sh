#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The enforcer is killed at an exact point of one call: before and after each thing it does for the caller. Nothing is done twice, nothing refused
# is let through, nothing is left of its doings in the caller's hands, and the next enforcer answers.
. "$(dirname "$0")/lib.sh"
RECV=0xc0502100 SEND=0xc0182101 FIONBIO=0x5421 SEIZE=0x4206	# arguments of ioctl and ptrace
IOCTL=16 CONNECT=42 SENDMSG=46 PTRACE=101 PIDFD_GETFD=438

prepare() {
	fixture_stop
	fixture_start guarded allow
	echo untouched >"$INSIDE/srv/open/target"
	chmod 666 "$INSIDE/srv/open/target"
}

# crash WHAT NR entry|exit NTH [ARG VALUE]: leaves RESULT, the program's lines joined by spaces, and TOOK, in milliseconds.
crash() {
	local what=$1 enforcer began
	shift
	[ $((CRASHES++ % 4)) -ne 0 ] || prepare	# PID 1 gives up on an enforcer that dies five times a minute
	enforcer=$(enforcer)
	rm -f "$INSIDE/workspace/go" "$WORK/debugger"	# which a process in the background has not made anew yet when it is first looked at
	run_beside --agent "$what" -- /srv/bin/attack-crash "$what"
	wait_until 30 grep -q waiting "$WORK/beside/out" || bail "a caller waits" "$(cat "$WORK/beside/err")"
	"$BUILD/tests/attack-debugger" kill "$enforcer" "$@" >"$WORK/debugger" 2>&1 &
	wait_until 30 grep -q ready "$WORK/debugger" || bail "a debugger at the enforcer" "$(cat "$WORK/debugger")"
	began=${EPOCHREALTIME/./}
	touch "$INSIDE/workspace/go"
	wait "$BESIDE"
	TOOK=$(((${EPOCHREALTIME/./} - began) / 1000))
	RESULT=$(grep -v waiting "$WORK/beside/out" | tr '\n' ' ')
	[ -n "$RESULT" ] || RESULT="nothing, status $(cat "$WORK/beside/status"): $(cat "$WORK/beside/err")"
	check "$what, $*: the enforcer was killed there" wait_until 30 grep -q killed "$WORK/debugger"
	wait_until 30 test ! -e "/proc/$enforcer"
	check "another one answers" wait_until 30 healthy
}

CRASHES=0
done_once() {	# NAME: a connect that was begun or not, and said so
	matches "$1: said to have failed, or done; the socket blocks as before; the next one works" '^connect EIO blocking arrived=[01] again ok' "$RESULT"
}

for thread in "" -thread; do
	crash "connect$thread" $IOCTL exit 1 1 $FIONBIO
	done_once "connect$thread killed with O_NONBLOCK just set"
	crash "connect$thread" $CONNECT exit 1
	done_once "connect$thread killed once connected"
	crash "connect$thread" $IOCTL entry 2 1 $FIONBIO
	done_once "connect$thread killed before O_NONBLOCK is taken back"
	crash "connect$thread" $PIDFD_GETFD exit 1
	matches "connect$thread killed before it acts: judged anew" '^connect ok blocking arrived=1 again ok' "$RESULT"
done
recorded "a call of which nobody knows whether it was done is recorded" decision=deny errno=EIO rule.id=boundary.restart sys.name=connect
for thread in "" -thread; do
	crash "send$thread" $SENDMSG entry 1
	matches "send$thread killed before the datagram is sent" '^send EIO arrived=0' "$RESULT"
	crash "send$thread" $SENDMSG exit 1
	matches "send$thread killed after: once, not twice" '^send EIO arrived=1' "$RESULT"
done
for point in "$IOCTL exit 1 1 $RECV" "$IOCTL entry 1 1 $SEND"; do
	crash open $point
	matches "an open that was judged or not yet is judged anew" '^open ok' "$RESULT"
	crash denied-open $point
	matches "a refused one is refused anew" '^open EACCES' "$RESULT"
done
equal "the file is untouched" untouched "$(cat "$INSIDE/srv/open/target")"
crash exec $IOCTL exit 1 1 $RECV
matches "an exec that was only received is judged anew" '^exec ok' "$RESULT"
crash exec $PTRACE exit 1 0 $SEIZE
matches "one whose caller was seized dies with the tracer" '^exec signal 9' "$RESULT"
crash exec $IOCTL exit 1 1 $SEND
matches "one that was continued and not yet verified dies with the tracer" '^exec signal 9' "$RESULT"
recorded "that is recorded" decision=kill rule.id=boundary.restart
for point in "$IOCTL exit 1 1 $RECV" "$IOCTL entry 1 1 $SEND" "$IOCTL exit 1 1 $SEND"; do
	crash refused-exec $point
	matches "a refused exec stays refused" '^exec EACCES' "$RESULT"
done
check "it never ran" test ! -e "$INSIDE/workspace/denied-ran"
equal "nothing is left stopped or traced" "" "$(stuck)"
check "the log is whole" inside $CORDON audit verify
alive "alive"
