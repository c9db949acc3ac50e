#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# agent-browser and Chromium, the real ones, on local pages: a snapshot that is stale acts on nothing, a session is one agent's, and nobody else reaches it.
# What a page really did is read from its server's log.
. "$(dirname "$0")/lib.sh"
skip_all() {
	skip "browser sessions" "$1"
	exit 0
}
[ -x /usr/lib/chromium/chromium ] || skip_all "Debian's chromium is not installed"
PACKAGE=$("$SOURCE/tests/agent-browser/fetch" 2>"$WORK/fetch") || skip_all "agent-browser cannot be fetched: $(tail -n 1 "$WORK/fetch")"
NATIVE=$PACKAGE/bin/agent-browser-linux-$([ "$(uname -m)" = aarch64 ] && echo arm64 || echo x64)
cat >"$WORK/before" <<BEFORE
install -m 755 $NATIVE /usr/bin/agent-browser
BEFORE
fixture_start guarded allow
cp "$HERE/browser_pages.py" "$INSIDE/srv/pages.py"
inside python3 /srv/pages.py 8123 1500 >"$WORK/log.pages" 2>"$WORK/pages.err" &
wait_until 30 grep -q ready "$WORK/log.pages" || bail "the pages are served" "$(cat "$WORK/pages.err")"
AT=http://127.0.0.1:8123

requests() {	# PATTERN: how many requests came that match
	grep -cE "$1" "$WORK/log.pages"
}
browse() {	# WORD…: one command of agent a1
	run --agent a1 -- agent-browser "$@"
}
snapshot() {
	browse snapshot -i
	SNAPSHOT=$OUT
	[ "$STATUS" -eq 0 ] || not_ok "a snapshot" "status $STATUS" "$OUT" "$ERR"
}
ref() {	# NAME: its reference in the last snapshot
	sed -n "s/.*\"$1\".*ref=\(e[0-9]*\).*/@\1/p" <<<"$SNAPSHOT" | head -n 1
}
visit() {	# PATH: opened and seen
	for try in 1 2 3; do	# the program waits half a minute for its browser to stand, which a busy machine may exceed
		browse open "$AT$1"
		[ "$STATUS" -ne 0 ] && grep -q 'no response came back' <<<"$OUT$ERR" || break
	done
	[ "$STATUS" -eq 0 ] || not_ok "opening $1" "status $STATUS" "$OUT" "$ERR"
	snapshot
}
stale() {	# NAME: the command that was just given was refused as stale
	if [ "$STATUS" -eq 126 ] && grep -q '"tag":"stale_snapshot"' <<<"$ERR"; then ok "$1"; else not_ok "$1" "status $STATUS (126, stale_snapshot)" "$OUT" "$ERR"; fi
}
trigger() {	# NAME: the page that waits for it moves
	inside curl -s "$AT/trigger/$1" >/dev/null
}
daemon_pid() {
	inside pgrep -u 1500 -f '^/usr/bin/agent-browser$'
}

devtools_port() {	# as the youngest browser of the session wrote it down
	head -n 1 "$(ls -t "$INSIDE$FOLDER"/tmp/agent-browser-chrome-*/DevToolsActivePort | head -n 1)"
}

# ---- the accident, first without Cordon: it must be one, or the rest shows nothing
HOME_NATIVE=$WORK/native
alone() {
	inside setpriv --reuid 1500 --regid 1500 --clear-groups env HOME=/tmp AGENT_BROWSER_SESSION=native AGENT_BROWSER_SOCKET_DIR=/tmp/native AGENT_BROWSER_NO_VERSION_CHECK=1 \
		AGENT_BROWSER_EXECUTABLE_PATH=/usr/lib/chromium/chromium AGENT_BROWSER_ARGS=--no-sandbox agent-browser "$@" </dev/null 2>&1
}
alone open "$AT/first" >"$WORK/accident"
SNAPSHOT=$(alone snapshot -i)
alone click "$(ref go)" >/dev/null
alone click "$(ref Harmless)" >"$WORK/accident"
wait_until 30 grep -q "^DELETE" "$WORK/log.pages"
equal "without Cordon a stale click deletes the account" 1 "$(requests '^DELETE /account')" || cat "$WORK/accident"
alone close >/dev/null

# ---- a session
visit /first
matches "a snapshot shows the page" 'button "Harmless".*ref=e[0-9]+' "$SNAPSHOT"
harmless=$(ref Harmless)
daemon=$(daemon_pid)
browse click "$(ref go)"
succeeded "an element of a fresh snapshot is acted on"
wait_until 30 grep -q "^GET /second" "$WORK/log.pages"
browse click "$harmless"
stale "the stale click is refused"
browse get url
equal "reading needs no snapshot" "$AT/second" "$OUT"
equal "and nothing was deleted" 1 "$(requests '^DELETE /account')"
browse click "button"
stale "a selector needs a snapshot as well"
browse find text "Delete account" click
stale "and so does a locator"
snapshot
browse get title
browse is visible "$(ref "Delete account")"
browse click "$(ref "Delete account")"
succeeded "after another snapshot, and looks that keep it, the element is acted on"
wait_until 30 eval '[ "$(requests "^DELETE /account")" -eq 2 ]'
equal "which really happens" 2 "$(requests '^DELETE /account')"
browse click "$(ref "Delete account")"
stale "one snapshot, one action"
equal "the daemon outlives the launches that use it" "$daemon" "$(daemon_pid)"

# ---- pages that move by themselves
moves() {	# NAME PAGE TRIGGER REQUEST
	local seen
	visit "$2"
	seen=$(requests "$4")
	trigger "$3"
	wait_until 30 eval "[ \"\$(requests '$4')\" -gt $seen ]"
	browse click "$(ref Harmless)"
	stale "$1"
}
moves "a page that went elsewhere by itself" /self self '^GET /second'
moves "a page that loaded itself again" /again again '^GET /again'
moves "a single-page application that moved" /app app '^GET /moved'
moves "a fragment that changed" /hash hash '^GET /moved'
moves "a frame that went elsewhere" /frames inner '^GET /second'
moves "a window that was opened" /popup popup '^GET /second'
equal "none of these deleted anything" 2 "$(requests '^DELETE')"
browse tab
TABS=$OUT
matches "the other window is a tab" second "$TABS"
browse close
succeeded "the session is closed"

# ---- a page that goes elsewhere between the last look and the click, which the daemon makes later: said afterwards
sessions() {	# EVENT: how many records of this session say so
	records type=browser "event=$1" 'session~a1-'
}
visit /late
acted=$(sessions acted) navigated=$(sessions navigated_during_action) deleted=$(requests '^DELETE')
harmless=$(ref Harmless)
inside pkill -STOP -u 1500 -f '^/usr/bin/agent-browser$'
RUN_SECONDS=120 run_beside --agent a1 -- agent-browser click "$harmless"
wait_until 60 inside pgrep -u 1500 -f '^agent-browser click' || not_ok "the click is under way"
trigger late
wait_until 60 grep -q '^GET /there' "$WORK/log.pages" || not_ok "the page goes elsewhere"
inside pkill -CONT -u 1500 -f '^/usr/bin/agent-browser$'
wait "$BESIDE"
check "a click that lands on another page is recorded" wait_until 60 eval '[ "$(sessions navigated_during_action)" -eq $((navigated + 1)) ]'
note "of the $(($(requests '^DELETE') - deleted)) that it deleted"
snapshot
browse click "$(ref "Delete account")"
succeeded "and one that lands where it was meant"
check "as such" wait_until 60 eval '[ "$(sessions acted)" -eq $((acted + 1)) ]'

# ---- forms and dialogs, step by step
visit /form
check "a closed session begins anew" test "$(daemon_pid)" != "$daemon"
browse fill "$(ref User)" alice
succeeded "a field is filled"
browse click "$(ref "Sign in")"
stale "and the form not sent before the page was seen again"
equal "so nothing was sent" 0 "$(requests '^POST')"
snapshot
matches "the snapshot shows what was filled in" alice "$SNAPSHOT"
browse click "$(ref "Sign in")"
succeeded "then it is sent"
wait_until 30 grep -q '^POST /login' "$WORK/log.pages"
equal "once" 1 "$(requests '^POST /login')"
visit /dialog
run_beside --agent a1 -- agent-browser click "$(ref Ask)"
wait "$BESIDE"
browse dialog accept
equal "a dialog is answered by nobody but a person" 126 "$STATUS"
equal "and confirmed by nobody" 0 "$(requests '^GET /confirmed')"
browse close
succeeded "which closing the session gets out of"

# ---- snapshots that do not count
visit /first
browse reload
browse snapshot --session other
equal "a snapshot of another session is refused" 126 "$STATUS"
browse click "$harmless"
stale "a refused snapshot does not count"
browse snapshot --help
browse click "$harmless"
stale "nor does its help"
browse snapshot -s '#no-such-element'
[ "$STATUS" -ne 0 ] && ok "a snapshot of nothing fails" || not_ok "a snapshot of nothing fails" "$OUT"
browse click "$harmless"
stale "nor one that failed"
inside pkill -STOP -u 1500 -f '^/usr/bin/agent-browser$'
run_beside --agent a1 -- agent-browser snapshot -i
wait_until 30 inside pgrep -u 1500 -f '^agent-browser snapshot' || not_ok "the snapshot hangs"
mkdir -p "$WORK/second"
(WORK=$WORK/second run --agent a1 -- agent-browser click "$harmless") &
waits=$!
wait_until 30 inside pgrep -f '[c]ordon run .*agent-browser click' || not_ok "another command came"
inside pkill -KILL -u 1500 -f '^agent-browser snapshot'
wait "$BESIDE"
inside pkill -CONT -u 1500 -f '^/usr/bin/agent-browser$'
wait "$waits"
STATUS=$(cat "$WORK/second/status") ERR=$(cat "$WORK/second/err") OUT=
stale "nor one that was killed while another command waited for it"

# ---- one command at a time
visit /first
began=${EPOCHREALTIME/./}
for number in 1 2 3; do
	mkdir -p "$WORK/turn$number"
	(WORK=$WORK/turn$number run --agent a1 -- agent-browser wait 700) &
	turns[number]=$!
done
wait "${turns[@]}"
took=$(((${EPOCHREALTIME/./} - began) / 1000))
check "three commands of an agent ran one after another ($took ms)" test "$took" -ge 2100
note "$(cat "$WORK"/turn?/out "$WORK"/turn?/err)"
equal "and all of them ran" "0 0 0" "$(echo $(cat "$WORK"/turn?/status))"
browse click "$(ref Harmless)"
succeeded "waiting kept the snapshot"

# ---- any number of commands that wait, and the daemon killed by its own agent
inside pkill -STOP -u 1500 -f '^/usr/bin/agent-browser$'
RUNNER=run_below run_beside --agent a1 -- sh -c 'for i in $(seq 200); do agent-browser get url & done; wait'
wait_until 30 inside sh -c '[ "$(pgrep -c -u 1500 -f "^agent-browser get|seq|^sh -c for")" -gt 100 ]' || not_ok "many commands wait"
alive "another agent is served while many commands of one wait"
inside pkill -KILL -u 1500 -f '^/usr/bin/agent-browser$'
wait "$BESIDE"
visit /first
run_below --agent a1 -- sh -c "kill -KILL $(daemon_pid)"
browse click "$(ref Harmless)"
stale "a daemon that its agent killed takes its snapshot with it"
visit /first
browse click "$(ref Harmless)"
succeeded "and the next command begins a new one"

# ---- where its variables and files would lead it elsewhere
refused_by() {	# NAME TAG SCRIPT
	run_below --agent a1 -- sh -c "$3"
	if [ "$STATUS" -ne 0 ] && grep -q "\"tag\":\"$2\"" <<<"$ERR"; then ok "$1"; else not_ok "$1" "status $STATUS, tag $2 is expected" "$OUT" "$ERR"; fi
}
refused_by "another session by a variable" environment 'AGENT_BROWSER_SESSION=other exec agent-browser get url'
refused_by "the variables taken away" environment 'exec env -u AGENT_BROWSER_SESSION -u AGENT_BROWSER_SOCKET_DIR -u AGENT_BROWSER_CONFIG agent-browser get url'
refused_by "another home" environment 'HOME=/tmp exec agent-browser get url'
refused_by "a daemon of one's own" environment 'AGENT_BROWSER_DAEMON=1 exec agent-browser'
refused_by "eval at an exec" incomplete_evidence 'exec agent-browser eval 1'
refused_by "an upload at an exec" policy_block 'exec agent-browser upload "#x" /etc/passwd'
refused_by "Chromium by hand" policy_block 'exec /usr/lib/chromium/chromium --headless --no-sandbox --dump-dom about:blank'
refused_by "a browser that a library brought along" policy_block 'cp /bin/true /workspace/chrome && exec /workspace/chrome --remote-debugging-port=9333'
mkdir -p "$INSIDE/home/agent/.agent-browser"
for file in "$INSIDE/home/agent/.agent-browser/config.json" "$INSIDE/workspace/agent-browser.json"; do
	echo '{"userAgent":"planted","cdp":"9","session":"planted","proxy":"http://127.0.0.1:9"}' >"$file"
	chmod 644 "$file"
done
browse close
visit /empty
equal "planted configuration files say nothing" 0 "$(requests planted)"
browse session
equal "and the session is the assigned one" a1 "$OUT"
rm -rf "$INSIDE/home/agent/.agent-browser" "$INSIDE/workspace/agent-browser.json"

# ---- who reaches it
SESSION=$OUT
FOLDER=$(inside sh -c "echo /run/cordon-browser/$SESSION-*")
cat >"$WORK/reach.py" <<'PY'
import json, socket, sys
where = sys.argv[1]
s = socket.socket(socket.AF_UNIX if where.startswith("/") else socket.AF_INET)
s.settimeout(5)
try:
    s.connect(where if where.startswith("/") else ("127.0.0.1", int(where)))
except OSError as e:
    print("refused", e.errno)
    sys.exit()
if where.startswith("/"):
    s.sendall(json.dumps({"id": "1", "action": sys.argv[2], "script": "fetch('/evaluated')", "url": sys.argv[3]}).encode() + b"\n")
    print("reached", s.makefile().readline().strip())
else:
    print("reached")
PY
cp "$WORK/reach.py" "$INSIDE/srv/reach.py"
stream=$(cat "$INSIDE$FOLDER/run/$SESSION.stream")
devtools=$(devtools_port)
for agent in a1 other; do
	run_below --agent "$agent" -- python3 /srv/reach.py "$FOLDER/run/$SESSION.sock" evaluate "$AT/second"
	matches "the daemon's socket is not for a script of agent $agent" '^refused' "$OUT"
	run_below --agent "$agent" -- python3 /srv/reach.py "$stream"
	matches "nor is its stream" '^refused' "$OUT"
	run_below --agent "$agent" -- python3 /srv/reach.py "$devtools"
	matches "nor the browser's DevTools port" '^refused' "$OUT"
done
run_below --agent a1 -- sh -c "cd $FOLDER/run && exec python3 /srv/reach.py /proc/self/cwd/$SESSION.sock evaluate x"
matches "nor by another name for it" '^refused' "$OUT"
run --agent a1 -- /srv/bin/attack-sockets race-unix "$FOLDER/run/$SESSION.sock" 1500
note "$OUT"
matches "nor by an address that changes while it is judged" 'connected=[1-9][0-9]* escapes=0' "$OUT"
OUT=$(inside python3 /srv/reach.py "$FOLDER/run/$SESSION.sock" evaluate "$AT/second")
matches "the daemon itself evaluates nothing, whoever asks" 'reached.*denied' "$OUT"
equal "which its page shows" 0 "$(requests '/evaluated')"
OUT=$(inside python3 /srv/reach.py "$FOLDER/run/$SESSION.sock" no_such_action x)
matches "nor does it what nobody classified" 'reached.*denied' "$OUT"
run_below --agent a1 -- sh -c "rm -f $FOLDER/run/$SESSION.sock $FOLDER/actions.json; mv $FOLDER/run $FOLDER/run2; echo x >$FOLDER/run/x; echo x >$FOLDER/home/x; ls $FOLDER/run/$SESSION.sock $FOLDER/actions.json"
matches "its folder is not the agent's to change" "$FOLDER/actions.json.*$FOLDER/run/$SESSION.sock" "$(tr '\n' ' ' <<<"$OUT")"
check "in none of it" test ! -e "$INSIDE$FOLDER/run/x" -a ! -e "$INSIDE$FOLDER/home/x"
browse open "$AT/ports#$stream,$devtools,8123"
wait_until 30 grep -q '^GET /ports-tried' "$WORK/log.pages"
equal "nor from a page in the browser itself" "/ports-tried/rejected,rejected,rejected,rejected,fulfilled,rejected" "$(sed -n 's/^GET \(.ports-tried[^ ]*\).*/\1/p' "$WORK/log.pages")"
visit /empty
run --agent other -- agent-browser get url
equal "another agent has a browser of its own" about:blank "$OUT"
browse get url
equal "and the first one keeps its page" "$AT/empty" "$OUT"
recorded "the daemon is a launch of its agent" type=cmd_begin agent=a1 'argv~/usr/bin/agent-browser'

# ---- a host that names its agents by the sessions it gives them
strix() {	# TEXT: as a host issues it for its agent
	run -- sh -lc 'mkdir -p "$1" && printf "%s" "$$" > "$2" && shift 2 && exec "$@"' sh /tmp/sandbox-docker-archive \
		/tmp/sandbox-docker-archive/0123456789abcdef0123456789abcdef_pid bash -lc "$1"
}
strix 'AGENT_BROWSER_SESSION=strix-1-a agent-browser session'
equal "a session has the name that the host gives it" "0 strix-1-a" "$STATUS $OUT"
recorded "and the launch is of that agent" type=cmd_begin agent=strix-1-a
strix 'AGENT_BROWSER_SESSION=strix-1-a AGENT_BROWSER_SESSION=a1 agent-browser get url'
matches "what the agent wrote behind it is refused" '"tag":"environment"' "$ERR"
strix 'true; AGENT_BROWSER_SESSION=a1 agent-browser get url'
matches "and so is what stands elsewhere in the text" '"tag":"environment"' "$ERR"
strix 'AGENT_BROWSER_SESSION=a1 true; agent-browser session'
matches "and a prefix before anything else, which names nobody" '"tag":"environment"' "$ERR"

# ---- observe
visit /second
run --agent a1 --mode observe -- agent-browser click "$(ref "Delete account")"
matches "observe acts on nothing, however fresh the snapshot" 'target_mutation' "$ERR"
run --agent a1 --mode observe -- agent-browser get title
equal "and reads" /second "$OUT"

# ---- the enforcer dies
another_enforcer() {
	kill_enforcer
	wait_until 30 healthy
}
visit /second
daemon=$(daemon_pid)
deleted=$(requests '^DELETE')
browse get url	# whose turn comes when the snapshot is settled
another_enforcer
browse click "$(ref "Delete account")"
succeeded "a snapshot holds over the enforcer's death"
equal "and so does the daemon" "$daemon" "$(daemon_pid)"
wait_until 30 eval "[ \"\$(requests '^DELETE')\" -gt $deleted ]"
equal "the element was acted on" $((deleted + 1)) "$(requests '^DELETE')"
browse click "$(ref "Delete account")"
stale "and what made it stale holds under the new one"
visit /second
run_beside --agent a1 -- agent-browser wait 2500
wait_until 30 inside pgrep -u 1500 -f '^agent-browser wait' || not_ok "a command runs"
another_enforcer
browse click "$(ref "Delete account")"
stale "a command whose end nobody saw leaves no snapshot behind"
wait "$BESIDE"
equal "though it lived on" 0 "$(cat "$WORK/beside/status")"
run_below --agent a1 -- python3 /srv/reach.py "$(devtools_port)"
matches "the session's ports are still its own" '^refused' "$OUT"
snapshot
browse click "$(ref "Delete account")"
succeeded "and the session goes on"
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive"

# ---- a container in observe, where nobody reviews and a target is declared: its daemons are passive by themselves
fixture_stop
FIXTURE_OPTIONS=(--scope 127.0.0.1:8123)
fixture_start observe deny
cp "$HERE/browser_pages.py" "$INSIDE/srv/"
cp "$WORK/reach.py" "$INSIDE/srv/reach.py"
rm "$WORK/log.pages"
inside python3 /srv/browser_pages.py 8123 1500 >"$WORK/log.pages" 2>"$WORK/pages.err" &
wait_until 30 grep -q ready "$WORK/log.pages" || bail "the pages are served" "$(cat "$WORK/pages.err")"
visit /second
matches "observe opens and looks, at what is declared" 'button "Delete account"' "$SNAPSHOT"
browse open "$AT/empty"
for elsewhere in http://127.0.0.1:8124/ http://elsewhere.test/ "$AT/account/delete"; do
	browse open "$elsewhere"
	equal "and nothing else: $elsewhere" 126 "$STATUS"
done
run --agent a1 -- sh -c "agent-browser open $AT/empty && agent-browser get url"
equal "commands that stand together are refused as a whole" 126 "$STATUS"
browse get url
equal "and the page is where it was" "$AT/empty" "$OUT"
visit /second
browse get text button
equal "and reads" "Delete account" "$OUT"
browse click "$(ref "Delete account")"
matches "it acts on nothing" 'target_mutation' "$ERR"
for action in click evaluate press reload tab_new; do
	OUT=$(inside python3 /srv/reach.py "$(inside sh -c 'echo /run/cordon-browser/a1-*')/run/a1.sock" $action "$AT/second")
	matches "nor does its daemon: $action" 'reached.*denied' "$OUT"
done
equal "and nothing was sent" 0 "$(requests '^(DELETE|POST)')"
