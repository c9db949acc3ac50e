#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The command lines the OpenAI Agents SDK (0.14.6) and Strix issue work in guarded mode where nobody reviews, with the SDK's own texts, and leave
# the right files; nearly the same texts, and what an agent puts in their way, change nothing. Then what git hands to its helpers.
. "$(dirname "$0")/lib.sh"
fixture_start guarded deny

STAGE=/tmp/sandbox-docker-archive
UUID=0123456789abcdef0123456789abcdef
BIN=/tmp/openai-agents/bin
RESOLVER=$BIN/resolve-workspace-path-f8e24896b498
FINGERPRINT=$BIN/workspace-fingerprint-9ddeeb58be6a
DATA=$HERE/../data/agents-sdk
INSTALL=$(cat "$DATA/install-path"; echo x) INSTALL=${INSTALL%x}
INSTALL_FINGERPRINT=$(cat "$DATA/install-fingerprint"; echo x) INSTALL_FINGERPRINT=${INSTALL_FINGERPRINT%x}
PTY='mkdir -p "$1" && printf "%s" "$$" > "$2" && shift 2 && exec "$@"'
KILL='if [ -f "$1" ]; then pid="$(cat "$1" 2>/dev/null || true)"; if [ -n "$pid" ]; then kill -KILL "$pid" >/dev/null 2>&1 || true; fi; fi'

passes() {	# NAME COMMAND…
	local name=$1
	shift
	run -- "$@"
	succeeded "$name"
}

# An agent's way to a file without leave: a shell's redirection, or root's in the agents' namespace.
plant() {
	beneath sh -c "$1"
}

# ---- the helper that every read and write begins with

passes "the path helper is installed" sh -c "$INSTALL" sh $RESOLVER
equal "with its mode and owner" "555 agent" "$(beneath stat -c '%a %U' $RESOLVER)"
digest() { beneath sh -c "head -c -1 $RESOLVER | sha256sum | head -c 12"; }	# the SDK's, without the last end of line
equal "and its bytes, which its name says" f8e24896b498 "$(digest)"
equal "and nothing else" "$(basename $RESOLVER)" "$(beneath ls $BIN)"
passes "it is installed again over itself" sh -c "$INSTALL" sh $RESOLVER
plant "chmod u+w $RESOLVER; echo other > $RESOLVER"
passes "and over something else" sh -c "$INSTALL" sh $RESOLVER
equal "which is gone" f8e24896b498 "$(digest)"
plant "rm $RESOLVER; mkdir -p $RESOLVER/x; chown -R agent $RESOLVER"
passes "and over a folder" sh -c "$INSTALL" sh $RESOLVER
equal "which is gone as well" f8e24896b498 "$(digest)"
passes "it is found" test -x $RESOLVER
passes "it is asked for a path" $RESOLVER /workspace /workspace/a/b 1
equal "and answers" /workspace/a/b "$OUT"
plant "ln -s /etc /workspace/out"
run -- $RESOLVER /workspace /workspace/out/passwd 0
equal "and sees a link that leads out" 111 "$STATUS"

# ---- files

head -c 100000 /dev/urandom >"$WORK/blob"
passes "a folder in the workspace" mkdir -p /workspace/src
passes "the staging folder" mkdir -p $STAGE
run_input "$WORK/blob" -- sh -lc 'cat > "$1"' sh $STAGE/${UUID}_blob
succeeded "a file is received"
passes "and put into its place" cp -- $STAGE/${UUID}_blob /workspace/src/blob
check "where it is what was sent" cmp "$WORK/blob" "$INSIDE/workspace/src/blob"
passes "the staged copy is removed" rm -rf -- $STAGE/${UUID}_blob
check "and gone" test ! -e "$INSIDE$STAGE/${UUID}_blob"
run -- cat -- /workspace/src/blob
check "it is read back" cmp "$WORK/blob" "$WORK/out"
passes "it gets the mode of a manifest's entry" chmod 0755 /workspace/src/blob
equal "which it has" 755 "$(inside stat -c %a /workspace/src/blob)"
mkdir -p "$WORK/tree/project"
echo content >"$WORK/tree/project/file"
ln -s file "$WORK/tree/project/link"
tar -C "$WORK/tree" -cf "$WORK/tree.tar" project
run_input "$WORK/tree.tar" -- tar -x -C /workspace
succeeded "an archive is unpacked"
equal "file and link" "content file" "$(cat "$INSIDE/workspace/project/file") $(readlink "$INSIDE/workspace/project/link")"
rm -rf "$INSIDE/workspace/project"
FRAME='n=$1; shift; [ "$(printf ab | head -c 1 2>/dev/null)" = a ] || exit 98; head -c "$n" | "$@"'
run_input "$WORK/tree.tar" -- sh -c "$FRAME" sh "$(stat -c %s "$WORK/tree.tar")" tar -x -C /workspace
succeeded "and in the frame of later versions"
equal "file and link again" "content file" "$(cat "$INSIDE/workspace/project/file") $(readlink "$INSIDE/workspace/project/link")"
passes "the workspace is copied to be archived: its folder" mkdir -p $STAGE/${UUID}_workspace
passes "the workspace is copied to be archived" cp -R -- /workspace $STAGE/${UUID}_workspace/workspace
check "it is the same" cmp "$INSIDE$STAGE/${UUID}_workspace/workspace/project/file" "$INSIDE/workspace/project/file"
passes "and the copy is removed" rm -rf -- $STAGE/${UUID}_workspace

passes "the fingerprint helper is installed" sh -c "$INSTALL_FINGERPRINT" sh $FINGERPRINT
passes "the workspace gets its fingerprint" $FINGERPRINT /workspace v1 /tmp/openai-agents/session-state/$UUID/fingerprint.json digest
matches "which is one" '^\{"fingerprint":"[0-9a-f]{64}","version":"v1"\}$' "$OUT"
equal "and is noted" "$OUT" "$(inside cat /tmp/openai-agents/session-state/$UUID/fingerprint.json)"

# ---- commands

echo precious >"$INSIDE/workspace/keep"
passes "exec_command" sh -lc "$PTY" sh $STAGE $STAGE/${UUID}_pty.pid bash -lc 'echo out; cat /workspace/keep'
equal "runs the agent's command" "out precious" "$(echo $OUT)"
matches "and notes a pid" '^[0-9]+$' "$(inside cat $STAGE/${UUID}_pty.pid)"
for text in 'rm -rf /workspace/keep' "rm -rf -- $STAGE/${UUID}_pty.pid" 'chmod 0755 /workspace/keep' 'mkdir -p /workspace/made' 'cp -- /workspace/keep /workspace/keep2'; do
	run -- sh -lc "$PTY" sh $STAGE $STAGE/${UUID}_pty.pid bash -lc "$text"
	refused "what is wrapped is judged as always: $text"
done
equal "and changed nothing" "precious 644 no" "$(cat "$INSIDE/workspace/keep") $(inside stat -c %a /workspace/keep) $([ -e "$INSIDE/workspace/made" ] && echo yes || echo no)"

background() {	# COMMAND…: a launch with results of its own
	BACKGROUND=$((BACKGROUND + 1))
	(WORK=$WORK/background-$BACKGROUND && mkdir "$WORK" && run -- "$@") 2>/dev/null &
}
BACKGROUND=0
noted() { background sh -lc "$PTY" sh $STAGE $STAGE/${UUID}_pty.pid "$@"; }

noted sleep 4711
wait_until 30 inside pgrep -fx 'sleep 4711' || bail "a command runs on"
passes "a session is ended by its pid" sh -lc "$KILL" sh $STAGE/${UUID}_pty.pid
check "and is gone" wait_until 30 inside sh -c '! pgrep -fx "sleep 4711"'
noted sleep 4712
wait_until 30 inside pgrep -fx 'sleep 4712' || bail "another runs on"
run -- sh -lc "pkill -f -- 'sleep 4712' >/dev/null 2>&1 || true"	# which may end itself: the words stand in its own command line
check "a command is ended by its words" wait_until 30 inside sh -c '! pgrep -fx "sleep 4712"'

# A new enforcer knows of a running launch what the first one knew: this one waits in its redirection, between what its template makes.
PREPARE='pid_path="$1"
pid_user="$2"
pid_parent="$(dirname "$pid_path")"
mkdir -p "$pid_parent" && chmod 0711 "$pid_parent" && : > "$pid_path" && chown "$pid_user" "$pid_path" && chmod 0600 "$pid_path"
'
plant "mkfifo -m 666 $STAGE/${UUID}_fifo; chown agent $STAGE $STAGE/${UUID}_fifo; chmod 700 $STAGE"
background sh -lc "$PREPARE" sh $STAGE/${UUID}_fifo agent
wait_until 30 inside sh -c "[ \$(stat -c %a $STAGE) = 711 ]" || bail "a launch waits"
kill_enforcer || bail "the enforcer is found"
wait_until 30 healthy || bail "a new enforcer stands"
timeout 60 cat "$INSIDE$STAGE/${UUID}_fifo"
check "a launch of before is still the host's" wait_until 30 inside sh -c "[ \$(stat -c %a $STAGE/${UUID}_fifo) = 600 ]"

# ---- nearly the same

run -- sh -c "${INSTALL/0555/0777}" sh $RESOLVER
check "an installation with another mode fails" [ "$STATUS" -ne 0 ]
equal "and leaves the mode" 555 "$(beneath stat -c %a $RESOLVER)"
run -- sh -c "$INSTALL
rm -rf /workspace/keep" sh $RESOLVER
check "with a line more as well" [ "$STATUS" -ne 0 ]
for command in 'rm -rf -- /workspace/keep' 'rm -rf /workspace/keep' "rm -rf -- $STAGE/../../workspace/keep" 'chmod 0777 /workspace/keep' 'chmod 4755 /workspace/keep' \
	'tar -x -C /workspace --to-command=sh' 'cp -- /workspace/keep /workspace/src/blob'; do
	run -- $command
	refused "$command"
done
equal "and changed nothing again" "precious 644" "$(cat "$INSIDE/workspace/keep") $(inside stat -c %a /workspace/keep)"

# ---- in an agent's way

plant "printf '%s\n' 'rm -rf /workspace/keep' 'chmod 777 /workspace/keep' 'cp -- $STAGE/${UUID}_x /workspace/keep' 'touch /tmp/profile-was-read' > /home/agent/.profile; echo > $STAGE/${UUID}_x
	echo 'echo > /tmp/profile-was-read' >> /home/agent/.profile; chown agent /home/agent/.profile"
run -- sh -lc "pkill -f -- 'nothing of this name' >/dev/null 2>&1 || true"
check "a login shell reads what an agent left it" test -e "$INSIDE/tmp/profile-was-read"
equal "which does nothing it could not do before" "precious 644" "$(cat "$INSIDE/workspace/keep") $(inside stat -c %a /workspace/keep)"
plant 'rm /home/agent/.profile'

plant "mkdir -p /workspace/victim; echo precious > /workspace/victim/file; mv $BIN $BIN.was; ln -s /workspace/victim $BIN; chown -R agent /workspace/victim"
passes "an installation through a link" sh -c "$INSTALL" sh $RESOLVER
equal "leaves what is there" "file precious" "$(inside ls /workspace/victim | head -n 1) $(cat "$INSIDE/workspace/victim/file")"
plant "rm $BIN; mv $BIN.was $BIN"

plant "mkdir -p /workspace/victim2; echo precious > /workspace/victim2/keep; mv $STAGE $STAGE.was; ln -s /workspace/victim2 $STAGE"
run -- rm -rf -- $STAGE/keep
refused "a name that is no fresh UUID, through a link"
run -- rm -rf -- $STAGE/${UUID}_a
equal "and a fresh one meets nothing" precious "$(cat "$INSIDE/workspace/victim2/keep")"
plant "rm $STAGE; mv $STAGE.was $STAGE"

plant "cp /bin/true $RESOLVER.x; mv -f $RESOLVER.x $RESOLVER"
run -- $RESOLVER /workspace /workspace/a 0
refused "a binary in the helper's place"
plant "printf '#!/usr/bin/python3\nopen(\"/tmp/ran\", \"w\")\n' > $RESOLVER; chmod 755 $RESOLVER"
run -- $RESOLVER /workspace /workspace/a 0
refused "another interpreter's script in the helper's place"
plant "printf '#!/bin/sh\nrm -rf /workspace/keep\nmkdir -p -- $BIN/made\necho > /tmp/ran-sh\n' > $RESOLVER"
run -- $RESOLVER /workspace /workspace/a 0
equal "a shell's script in the helper's place is judged by what it runs" "precious no yes" \
	"$(cat "$INSIDE/workspace/keep") $(beneath test -e $BIN/made && echo yes || echo no) $([ -e "$INSIDE/tmp/ran-sh" ] && echo yes)"
check "and nothing else ran" test ! -e "$INSIDE/tmp/ran"

recorded "a launch's template is in its record" type=cmd_begin transport.id=sdk.exec transport.kind=wrap
recorded "and the host's exec names it" rule.id=sdk.install.path decision=allow

# ---- what git hands on

fixture_stop
fixture_start guarded allow
git='set -e; export HOME=/home/agent; cd /workspace; git init -q -b main r; cd r; git config user.name A; git config user.email a@example.test; echo 1 > f; git add f'
done_by() { run_script "$2"; succeeded "$1"; }
done_by "git -c commit" "$git; git -c a.b=c commit -q -m one"
equal "with its maintenance" "" "$ERR"
done_by "git -c clone over a transport" 'cd /workspace && git -c protocol.file.allow=always clone -q file:///workspace/r copy && cat copy/f'
equal "the file is there" 1 "$OUT"
done_by "git -c of a submodule: a shell between two gits" 'cd /workspace/copy && git -c protocol.file.allow=always submodule --quiet add file:///workspace/r sub && cat sub/f'
done_by "git -c of an alias" "cd /workspace/r && git -c x.y=handed -c alias.z='!git config x.y' z"
equal "the alias has what git was given" handed "$OUT"
run_script "cd /workspace/r && GIT_CONFIG_PARAMETERS=\"'x.y'='own'\" git config x.y"
check "a shell sets no such name itself" [ "$STATUS" -ne 0 ]
equal "and git did not see it" "" "$OUT"
run_script "cd /workspace/r && git -c x.y=handed -c alias.z='!GIT_CONFIG_PARAMETERS=\"'\\''x.y'\\''='\\''own'\\''\" git config x.y' z"
equal "nor does one that git runs" "" "$OUT"
run -- python3 -c 'import os; os.environ["GIT_CONFIG_PARAMETERS"] = "'"'x.y'='own'"'"; os.execvp("git", ["git", "-C", "/workspace/r", "config", "x.y"])'
equal "nor an interpreter" "" "$OUT"
run_script "cd /workspace/r && git -c alias.z='!LD_PRELOAD=/tmp/x.so git version' z"
equal "nor another name" "" "$OUT"
