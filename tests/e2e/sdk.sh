#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The exact exec sequence of the OpenAI Agents SDK's Docker sandbox (v0.14.6): commands, files, archives, processes.
. "$(dirname "$0")/lib.sh"
start_guarded
start_plain
STAGING=/tmp/sandbox-docker-archive UUID=0123456789abcdef0123456789abcde

same "the workspace is there" test -d /workspace
STATUS=1 same "a folder is not" test -d /workspace/none
same "mkdir -p" mkdir -p /workspace/src/deep
same "mkdir -p again" mkdir -p -- /workspace/src/deep

# exec_command: the staging wrapper writes a pid file, then becomes the command.
wrapper='mkdir -p "$1" && printf "%s" "$$" > "$2" && shift 2 && exec "$@"'
staged() { printf '%s\0' sh -lc "$wrapper" sh "$STAGING" "$STAGING/$UUID$1_pty.pid" bash -lc "$2"; }
mapfile -d '' -t command < <(staged 1 'cd /workspace && echo "out $((40 + 2))" && echo "err" >&2 && exit 5')
STATUS=5 same "exec_command" "${command[@]}"
OPTIONS=(-i)
mapfile -d '' -t command < <(staged 2 'cat; echo "eof $?"')
same "exec_command with its input closed at once" "${command[@]}"
OPTIONS=()
equal "the pid file holds a number" yes "$(docker exec "$GUARDED" cat -- "$STAGING/${UUID}1_pty.pid" | grep -Eqx '[0-9]+' && echo yes)"

# Files: write through stdin, read back.
head -c 200000 /dev/urandom >"$WORK/blob"
OPTIONS=(-i)
INPUT=$WORK/blob
same "write a file" sh -lc 'cat > "$1"' sh /workspace/src/blob
OPTIONS=()
INPUT=/dev/null
same "read it back" cat -- /workspace/src/blob
check "and it is what was written" cmp "$WORK/blob" <(docker exec "$GUARDED" cat -- /workspace/src/blob)
STATUS=1 same "a file that is not there" cat -- /workspace/src/none
same "ls" ls /workspace/src
same "stat of it" sh -c 'stat -c "%a %U %s" /workspace/src/blob'

# Hydration: an archive from a pipe.
mkdir -p "$WORK/tree/project/lib"
echo 'print("hello from the project")' >"$WORK/tree/project/main.py"
echo data >"$WORK/tree/project/lib/data.txt"
ln -s lib/data.txt "$WORK/tree/project/link"
tar -C "$WORK/tree" -cf "$WORK/tree.tar" .
OPTIONS=(-i)
INPUT=$WORK/tree.tar
same "tar -x -C /workspace" tar -x -C /workspace --no-same-owner -m
OPTIONS=()
INPUT=/dev/null
same "what it unpacked" find /workspace/project -printf '%y %m %P %l\n'
same "and it runs" python3 /workspace/project/main.py
equal "an archive cannot reach past the workspace by a planted link" "" "$(
	docker exec "$GUARDED" sh -c 'ln -sfn /etc /workspace/out' >/dev/null 2>&1
	mkdir -p "$WORK/evil/out" && echo planted >"$WORK/evil/out/planted"
	tar -C "$WORK/evil" -cf - out/planted | docker exec -i "$GUARDED" tar -x -C /workspace >/dev/null 2>&1
	host 'ls /etc/planted 2>/dev/null')"

# Processes: a command that runs on, the SDK's ways to end it.
mapfile -d '' -t command < <(staged 3 'sleep 4711')
docker exec -d "$GUARDED" "${command[@]}"
check "a detached command runs" wait_until 60 host 'pgrep -fx "sleep 4711"'
pid=$(docker exec "$GUARDED" cat -- "$STAGING/${UUID}3_pty.pid")
docker exec "$GUARDED" kill -KILL "$pid" >/dev/null 2>&1
check "kill -KILL of the recorded pid ends it" wait_until 60 host '! pgrep -fx "sleep 4711"'
docker exec -d "$GUARDED" sh -lc 'sleep 4712'
check "another runs" wait_until 60 host 'pgrep -fx "sleep 4712"'
docker exec -d "$PLAIN" sh -lc 'sleep 4712'
wait_until 60 docker exec "$PLAIN" pgrep -fx "sleep 4712"
# The pattern is in the shell's own arguments too: it ends itself, with Cordon and without.
STATUS=143 same_status "pkill -f as the SDK sends it" sh -lc "pkill -f -- 'sleep 4712' >/dev/null 2>&1 || true"
check "pkill -f ends it" wait_until 60 host '! pgrep -fx "sleep 4712"'
docker exec -d "$GUARDED" sh -lc 'sleep 4713'
wait_until 60 host 'pgrep -fx "sleep 4713"'
docker exec "$GUARDED" pkill -f -- 'sleep 4713' >/dev/null 2>&1
check "pkill -f as the host's own command ends it" wait_until 60 host '! pgrep -fx "sleep 4713"'

# The helper: installed by a launch, then called by its absolute path, past the entry links.
HELPER=/tmp/openai-agents/bin/resolve-workspace-path-f8e24896b498
install=$(cat "$HERE/../data/agents-sdk/install-path"; echo x) install=${install%x}
check "the path helper is installed" docker exec "$GUARDED" sh -c "$install" sh "$HELPER"
check "and is found" docker exec "$GUARDED" test -x "$HELPER"
equal "called by its path it answers" /workspace/a/b "$(docker exec "$GUARDED" "$HELPER" /workspace /workspace/a/b 1)"
equal "an agent's script in its place runs as the agent" agent "$(
	docker exec "$GUARDED" python3 -c "import os; os.chmod('$HELPER', 0o755); open('$HELPER', 'w').write('#!/bin/sh\nid -un\n')"
	docker exec "$GUARDED" "$HELPER" /workspace /workspace/a 1)"
for place in /workspace /tmp /dev/shm /home/agent; do
	docker exec "$GUARDED" python3 -c "import os; open('$place/planted', 'w').write('#!/bin/sh\nid > /tmp/ran\n'); os.chmod('$place/planted', 0o755)"
	docker exec "$GUARDED" "$place/planted" >/dev/null 2>&1
	equal "an agent's script in $place by its path is not executed" 126 "$?"
	[ "$place" != /dev/shm ] || continue	# the engine's own mount is noexec, and stays so for agents
	put_script run.sh "$place/planted"
	docker exec "$GUARDED" bash /workspace/run.sh
	equal "and in a launch it is" agent "$(host 'stat -c %U /tmp/ran; rm -f /tmp/ran')"
done
