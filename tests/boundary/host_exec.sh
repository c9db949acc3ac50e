#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a host runs by absolute path, as `docker exec` does: in PID 1's mount namespace, as root. Nothing that an agent can write runs there
# unguarded, by no way to name it; inside a launch it runs as ever. A path the host is known to call (entry_paths) is a launch.
. "$(dirname "$0")/lib.sh"

PLACES=(/workspace /tmp /var/tmp /home/agent /dev/shm)
BIN=/tmp/openai-agents/bin
RESOLVER=$BIN/resolve-workspace-path-f8e24896b498
INSTALL=$(cat "$HERE/../data/agents-sdk/install-path"; echo x) INSTALL=${INSTALL%x}

agent() {	# PYTHON-TEXT: an agent's own work, as a launch
	printf 'import os, shutil\n%s\n' "$1" >"$INSIDE/srv/agent.py"
	run_script "exec python3 /srv/agent.py"
}

# host COMMAND…: leaves STATUS, OUT and ERR. /tmp/ran and /workspace/denied-ran are what an agent's program leaves.
host() {
	rm -f "$INSIDE/tmp/ran" "$INSIDE/workspace/denied-ran"
	{ { timeout 100 nsenter -t "$PID1" -m -p -n --wd=/ -- env -i PATH=/usr/bin:/bin HOME=/root "$@" 2>&1 1>&3 3>&- </dev/null; echo $? >"$WORK/status"; } |
		cat >"$WORK/err"; } 3>&1 | cat >"$WORK/out"
	read_results
}

no_effect() {
	[ ! -e "$INSIDE/tmp/ran" ] && [ ! -e "$INSIDE/workspace/denied-ran" ]
}

# kept_out NAME COMMAND…: the host's exec fails as that of a file that must not be executed, and nothing ran.
kept_out() {
	local name=$1
	shift
	host "$@"
	if [ "$STATUS" -eq 126 ] && no_effect; then ok "$name"; else not_ok "$name" "status $STATUS (126 is expected)" "$OUT" "$ERR" "$(ls -l "$INSIDE/tmp")"; fi
}

plant_all() {
	local place
	for place in "${PLACES[@]}"; do
		agent "
open('$place/planted', 'w').write('#!/bin/sh\nid -u > /tmp/ran; id -u\n')
shutil.copy('/srv/allow/ok', '$place/elf')
os.chmod('$place/planted', 0o755); os.chmod('$place/elf', 0o755)"
		succeeded "an agent writes programs to $place"
	done
}

host_is_kept_out() {
	local place
	for place in "${PLACES[@]}"; do
		kept_out "$1: a script in $place" "$place/planted"
		kept_out "$1: a program in $place" "$place/elf" -s
	done
}

restart_enforcer() {
	kill_enforcer || bail "the enforcer is found"
	wait_until 30 healthy || bail "a new enforcer stands"
}

layer() {
	inside $CORDON doctor --json | jq -r '.layers[] | select(.name == "host_exec") | .state'
}

# ---- what agents write

fixture_start guarded allow
equal "the layer is active" active "$(layer)"
plant_all
host_is_kept_out "the host is kept out"
for place in "${PLACES[@]}"; do
	run_script "exec $place/planted"
	equal "a launch runs the script in $place as the agent" 1500 "$OUT"
	run_script "$place/elf --say && cd $place && ./elf --say"
	equal "and the program" "allowed allowed" "$(echo $OUT)"
done

host /srv/allow/ok -s
check "(a run would leave its mark)" test -e "$INSIDE/workspace/denied-ran"
kept_out "a relative path" sh -c 'cd /workspace && exec ./planted'
kept_out "by a search in PATH" env PATH=/workspace:/usr/bin planted
kept_out "a library of the loader" /bin/sh -c '/lib64/ld-linux-x86-64.so.2 /workspace/elf -s || exit 126'
inside ln -s /workspace/planted /srv/open/link
kept_out "a link in a folder of root's" /srv/open/link
inside sh -c 'printf "#!/workspace/elf -s\n" > /srv/bin/tool; chmod 755 /srv/bin/tool'
kept_out "an interpreter of an agent's" /srv/bin/tool
agent "
os.mkdir('/workspace/dir'); os.rename('/workspace/dir', '/workspace/dir2')
os.link('/workspace/planted', '/workspace/dir2/hard'); os.symlink('/workspace/planted', '/tmp/soft')"
kept_out "another name of the file" /workspace/dir2/hard
kept_out "a link of an agent's" /tmp/soft

# A process of the agent's is a way into the agents' namespace, where the file may be executed: the link to it is not followed.
(WORK=$WORK/waits && mkdir "$WORK" && run_script 'echo $$ > /tmp/pid; exec sleep 4720') 2>/dev/null &
wait_until 30 inside pgrep -fx 'sleep 4720' || bail "an agent's process runs on"
pid=$(cat "$INSIDE/tmp/pid")
host "/proc/$pid/root/workspace/planted"
equal "(that way is there)" "0 0" "$STATUS $OUT"
for way in root/workspace/planted cwd/planted; do
	agent "os.path.lexists('/workspace/way') and os.unlink('/workspace/way'); os.symlink('/proc/$pid/$way', '/workspace/way')"
	kept_out "an agent's link to its own process's $way" /workspace/way
	inside ln -sfn /workspace/way /srv/open/way
	kept_out "and one of root's to that link" /srv/open/way
done
inside pkill -fx 'sleep 4720'

# ---- what a host is known to call

run -- sh -c "$INSTALL" sh $RESOLVER
succeeded "the helper is installed by a launch"
host $RESOLVER /workspace /workspace/a/b 1
equal "the host's call answers" "0 /workspace/a/b" "$STATUS $OUT"
recorded "it was a launch, the host's own" type=cmd_begin transport.id=sdk.helper.path transport.kind=housekeeping
agent "
os.chmod('$RESOLVER', 0o755)
open('$RESOLVER', 'w').write('#!/bin/sh\nid -u; echo > /tmp/ran; cat /home/agent/.ssh/id_ed25519; : > /srv/target\n')"
succeeded "an agent puts its own into the helper's place"
host $RESOLVER /workspace /workspace/a 1
equal "which runs as the agent" 1500 "$OUT"
check "guarded: it reads no secret" bash -c '! grep -q secret <<<"$1"' - "$OUT$ERR"
equal "and writes nothing outside" untouched "$(cat "$INSIDE/srv/target")"
agent "shutil.copy('/workspace/planted', '$BIN/other')"
host $BIN/other
check "a helper nobody knows is not there" [ "$STATUS" -eq 127 ]
check "and does not run" no_effect
inside sh -c "echo x > $BIN/new" 2>/dev/null
check "the host's folder of links is read-only" [ $? -ne 0 ]

for attempt in "os.rename('/tmp/openai-agents', '/tmp/moved')" "os.rename('$BIN', '/tmp/openai-agents/moved')" "shutil.rmtree('$BIN')" \
	"os.rename('/tmp/openai-agents', '/workspace/moved')" "os.chmod('/tmp/openai-agents', 0o777)" \
	"os.mkdir('/tmp/mine'); os.rename('/tmp/mine', '/tmp/openai-agents')" "os.unlink('$BIN')"; do
	agent "$attempt"
	check "an agent does not: $attempt" [ "$STATUS" -ne 0 ]
done
agent "
os.path.exists('$RESOLVER') and os.unlink('$RESOLVER')
os.symlink('/workspace/planted', '$RESOLVER')"
host $RESOLVER /workspace /workspace/a 1
equal "through an agent's link it is a launch as well" 1500 "$OUT"
agent "os.unlink('$RESOLVER')"
host $RESOLVER /workspace /workspace/a 1
check "and without the helper a launch that finds none" [ "$STATUS" -eq 127 ]

restart_enforcer
equal "the layer is active after a restart of the enforcer" active "$(layer)"
host_is_kept_out "after a restart"
run -- sh -c "$INSTALL" sh $RESOLVER
succeeded "the helper is installed again"
host $RESOLVER /workspace /workspace/a/b 1
equal "and answers" "0 /workspace/a/b" "$STATUS $OUT"
run --agent fresh -- /workspace/planted
equal "a launch of a new zygote runs what agents write" 1500 "$OUT"

# The limit: an interpreter of the image, by its own path, is the host acting for itself.
host /bin/sh /workspace/planted
equal "an interpreter by absolute path is the host's own, unguarded (README)" "0 0" "$STATUS $OUT"
fixture_stop

# ---- a folder that agents may rename, one of an operator's that is noexec, an agent's link in the way

cp -r "$SOURCE/policies" "$WORK/policies"
echo '{ "entry_names": [], "entry_paths": ["/workspace/tools/bin/tool", "/nowhere/x/y"] }' >"$WORK/policies/transports/own.json"
FIXTURE_POLICIES=$WORK/policies
sed -i 's|"allowed_roots": \[\]|"allowed_roots": ["/nowhere", "/srv/noexec"]|' "$WORK/policies/paths.json"
cat >"$WORK/before" <<'BEFORE'
chown agent: /workspace
chmod 755 /workspace
mkdir /srv/noexec
mount -t tmpfs -o noexec,mode=1777 tmpfs /srv/noexec
ln -s /workspace /tmp/openai-agents
BEFORE
fixture_start guarded allow
matches "what is in the way of an entry path is said" 'host_exec is degraded.*/tmp/openai-agents' "$(grep host_exec "$WORK/log" | head -n 1)"
matches "and stands in the state" 'state ready: .*host_exec is degraded' "$(grep 'state ready' "$WORK/log")"
equal "and in the layer" degraded "$(layer)"
PLACES+=(/srv/noexec)
plant_all
host_is_kept_out "the host is kept out all the same"
run_script "exec /srv/noexec/planted"
check "what the operator mounted noexec is so for agents" [ "$STATUS" -eq 126 ]
run -- /workspace/planted
equal "and the rest is not" 1500 "$OUT"
fixture_stop

echo 'chown agent: /workspace; chmod 755 /workspace' >"$WORK/before"
sed -i 's|, "/srv/noexec"||' "$WORK/policies/paths.json"
fixture_start guarded allow
equal "without it the layer is active" active "$(layer)"
agent "
open('/workspace/tools/bin/tool', 'w').write('#!/bin/sh\nid -u > /tmp/ran; id -u\n')
os.chmod('/workspace/tools/bin/tool', 0o755)"
succeeded "an agent writes the tool"
host /workspace/tools/bin/tool
equal "which the host runs as a launch" 1500 "$OUT"
agent "os.rename('/workspace/tools', '/workspace/away')"
succeeded "an agent that owns the root moves the folder away"
agent "
os.makedirs('/workspace/tools/bin')
shutil.copy('/workspace/away/bin/tool', '/workspace/tools/bin/tool')"
kept_out "and its own in that place is not run" /workspace/tools/bin/tool
fixture_stop

# ---- off: a record, not a guard

rm -f "$WORK/before"
fixture_start off allow
run -- sh -c 'printf "#!/bin/sh\nid -u\n" > /workspace/planted; chmod 755 /workspace/planted'
host /workspace/planted
equal "in off a host's absolute path is the host's own (README)" "0 0" "$STATUS $OUT"
