#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Standard input, output and error of a launch: files are opened again inside, pipes, sockets and terminals pass; what terminals let through.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
cp "$HERE/terminal.py" "$INSIDE/srv/bin/terminal.py"

# A file of the machine, as the log of these tests may be, is not visible inside: whatever is not redirected is a pipe.
in_pipes() {
	inside "$@" 2>&1 | cat
}

# with_stdio REDIRECTIONS COMMAND: `cordon run` with descriptors that are files inside.
with_stdio() {
	in_pipes sh -c "cd /workspace; $CORDON run $2 $1; echo \$? >/workspace/status"
	return "$(cat "$INSIDE/workspace/status")"
}

: >"$INSIDE/workspace/out"
chmod 666 "$INSIDE/workspace/out"
with_stdio '>/workspace/out' '-- echo written'
equal "a file as stdout" written "$(cat "$INSIDE/workspace/out")"
equal "belongs to whoever made it, and stays so" 0 "$(stat -c %u "$INSIDE/workspace/out")"
with_stdio '>>/workspace/out' '-- echo appended'
equal "O_APPEND stays" "written appended" "$(tr '\n' ' ' <"$INSIDE/workspace/out" | sed 's/ $//')"
in_pipes sh -c "cd /workspace; (head -c 8 >/dev/null; $CORDON run -- cat) </workspace/out" >"$WORK/rest"
equal "the offset of stdin stays" appended "$(cat "$WORK/rest")"
in_pipes sh -c "exec 9<>/workspace/out; head -c 8 <&9 >/dev/null; $CORDON run -- sh -c 'echo APPENDED >&0' <&9"
equal "the offset of a file open for both" "written APPENDED" "$(tr '\n' ' ' <"$INSIDE/workspace/out" | sed 's/ $//')"
status_of() {	# stdout and stderr are pipes where the command does not say otherwise
	{ "$@" 2>&1; echo $? >"$WORK/status"; } | cat >"$WORK/out"
	cat "$WORK/status"
}
equal "a file that is hidden inside is no stdio: 125" 125 "$(status_of with_stdio '</var/lib/cordon/audit/audit-000001.jsonl' '-- cat')"
equal "nor one the agent may not write" 125 "$(status_of with_stdio '>/srv/target' '-- echo no')"
equal "whose bytes stay" 0 "$(stat -c %s "$INSIDE/srv/target")"
equal "nor one it may not read" 125 "$(status_of with_stdio '</etc/shadow' '-- cat')"
equal "nor a folder" 125 "$(status_of with_stdio '</workspace' '-- cat')"
matches "and it says why" 'stdio' "$(cat "$WORK/out")"
equal "a deleted file is not visible: 125" 125 "$(status_of inside sh -c "exec 8>/workspace/deleted; rm /workspace/deleted; $CORDON run -- echo x >&8")"
equal "/dev/null" 0 "$(status_of with_stdio '</dev/null >/dev/null' '-- true')"
run_input <(printf 'one\ntwo\n') -- cat
equal "a pipe, to its end" "one two" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
in_pipes timeout 200 python3 /srv/bin/terminal.py socket >"$WORK/out"
equal "a socket" "got through" "$(cat "$WORK/out")"
equal "closed descriptors" 0 "$(status_of inside sh -c "$CORDON run -- true <&- >&- 2>&-")"

# ---- terminals ----
terminal() {
	inside timeout 300 python3 /srv/bin/terminal.py "$@" 2>&1
}
found=$(terminal output)
matches "--tty: output arrives" 'a terminal' "$found"
matches "a terminal as the client's stdin: the size is passed" '33 77' "$(terminal size)"
matches "and its changes" '44 88' "$(terminal resize)"
matches "Ctrl-C arrives" 'interrupted' "$(terminal interrupt)"
found=$(terminal typed)
matches "typed text does not arrive in guarded" 'nothing typed' "$found"
recorded "and is recorded" tag=unreviewable_stdin
equal "typing all the while disturbs neither output nor signals nor size" "4000 lines whole" "$(terminal flood | tail -n 1 | tr -d '\r')"
run -- sh -c 'tty; ls /dev/pts'
matches "a launch without a terminal has none" 'not a tty' "$OUT"
alive "alive"
fixture_stop
fixture_start off allow
cp "$HERE/terminal.py" "$INSIDE/srv/bin/terminal.py"
matches "mode off: typed text arrives" 'typed: hello' "$(terminal typed 60)"
matches "mode off: Ctrl-Z stops, fg continues" 'Stopped.*resumed' "$(terminal job-control | tr '\r\n' '  ')"
