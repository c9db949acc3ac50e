#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What becomes of workspaces over time and in bad company: restarts, interruptions, a full disk, changed sources, names and mounts that are refused,
# nested repositories, owners, writers at work, and the ways out of a mount.
[ -n "${OWN_MOUNTS:-}" ] || exec env OWN_MOUNTS=1 unshare --mount --propagation private bash "$0" "$@"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/workspace_lib.sh"

app() {	# NAME…: a small source of each name
	local name
	for name; do
		mkdir -p "$KEEP/sources/$name/src"
		echo one >"$KEEP/sources/$name/file"
		echo two >"$KEEP/sources/$name/src/file"
		git init -q "$KEEP/sources/$name"
		git -C "$KEEP/sources/$name" config user.name t
		git -C "$KEEP/sources/$name" config user.email t@t
	done
}

fresh_start() {
	fixture_stop
	rm -rf "$KEEP/sources" "$KEEP/state"
	mkdir -p "$KEEP/sources" "$KEEP/state"
	BEFORE= SOURCE_OPTIONS=ro
}

status_line() {
	inside $CORDON status | grep '^workspace'
}

status_changed() {
	status_line | grep -q 'the source changed since: src/file'
}

# ends NAME STATUS REGEX [KIND]: a container with these sources does not start, and says why.
ends() {
	local status=0
	rm -rf "$WORK/stage"
	write_before "${4:-overlay}"
	timeout 100 unshare --pid --fork --mount-proc --mount --net --kill-child -- /bin/bash "$WORK/inside" "$WORK" "$BUILD" "$SOURCE/policies" \
		--mode guarded --unreviewed allow >"$WORK/log" 2>&1 </dev/null || status=$?
	if [ "$status" -eq "$2" ] && grep -qE "$3" "$WORK/log"; then ok "$1"; else not_ok "$1" "status $status, expected $2 and $3" "$(cat "$WORK/log")"; fi
}

# ---- restarts
for kind in overlay copy; do
	fresh_start
	app app
	container $kind
	run_below -- python3 -c '
import os
os.chdir("/workspace/app")
open("file", "a").write("mine\n")
os.unlink("src/file")
os.mkdir("new")
open("new/x", "w").write("x")'
	succeeded "$kind: an agent works"
	tree "$INSIDE/workspace/app" >"$WORK/before-restart"
	kill_enforcer
	wait_until 30 healthy || bail "a new enforcer" "$(tail "$WORK/log")"
	run -- sh -c 'echo x >>/workspace/app/.git/config'
	matches "$kind: a new enforcer knows what is protected" path.frozen "$ERR"
	fixture_stop
	container $kind
	tree "$INSIDE/workspace/app" >"$WORK/after-restart"
	same_trees "$kind: a restart keeps what agents did" "$WORK/before-restart" "$WORK/after-restart"
	equal "$kind: and made nothing anew" false "$(inside $CORDON workspace list --json | jq '.[0].fresh')"
	equal "$kind: changes are known as before" $'M file\nA new/\nA new/x\nD src/file' "$(inside $CORDON workspace list app)"
	equal "$kind: the source is as it was" "one two" "$(cat "$KEEP/sources/app/file" "$KEEP/sources/app/src/file" | tr '\n' ' ' | sed 's/ $//')"

	recorded_times "$kind: as long as nothing changes nothing is said of it" 0 type=source_changed
	echo changed >>"$KEEP/sources/app/src/file"
	touch -d 2001-01-01 "$KEEP/sources/app/src/file"
	matches "$kind: the list of workspaces says so" 'the source changed since it was made: src/file' "$(inside $CORDON workspace list)"
	check "$kind: status says it, whoever asked" wait_until 120 status_changed
	recorded "$kind: and it is a record of its own" type=source_changed sev=high workspace.source_changed=src/file
	inside $CORDON workspace list app >"$WORK/out" 2>"$WORK/err"
	matches "$kind: a source that changes is reported at once" 'src/file: the source changed' "$(cat "$WORK/err")"
	equal "$kind: its change is not the agents'" $'M file\nA new/\nA new/x\nD src/file' "$(cat "$WORK/out")"
	fixture_stop
	container $kind
	matches "$kind: and at the next start" 'the source changed since: src/file' "$(status_line)"
	recorded "$kind: and recorded" type=workspace sev=high

	equal "$kind: discard waits for the next start" "app: made anew at the next start; until then it stays as it is" "$(inside $CORDON workspace discard app)"
	equal "$kind: nothing is taken from under agents' feet" mine "$(tail -n 1 "$INSIDE/workspace/app/file")"
	fixture_stop
	container $kind
	equal "$kind: then the workspace is the source again" "" "$(inside $CORDON workspace list app)"
	equal "$kind: as it is now" changed "$(tail -n 1 "$INSIDE/workspace/app/src/file")"
done

# ---- a change at the very end
fresh_start
app app
container overlay
echo late >"$KEEP/sources/app/late"
kill -TERM "$PID1"
wait "$OUTER" 2>/dev/null
OUTER= PID1=
check "a source that changed just before the end is told at the end" grep -q 'source_changed' "$WORK/log"

# ---- a source that cannot be looked at any more
fresh_start
app app
container overlay
inside sh -c 'umount -l /cordon/sources/app 2>/dev/null; mv /cordon/sources/app /cordon/sources/away' || bail "the source is taken away"
check "that a source cannot be looked at is recorded, with the reason" \
	wait_until 60 grep -q 'whether a source changed cannot be seen: .*app: No such file or directory' "$INSIDE"/var/lib/cordon/audit/*.jsonl
fixture_stop

# ---- interruptions
fresh_start
app app
for i in {1..3000}; do echo "$i" >"$KEEP/sources/app/src/$i"; done
write_before copy
rm -rf "$WORK/stage"
unshare --pid --fork --mount-proc --mount --net --kill-child -- /bin/bash "$WORK/inside" "$WORK" "$BUILD" "$SOURCE/policies" --mode guarded >"$WORK/log" 2>&1 </dev/null &
OUTER=$!
HALF=$KEEP/state/upper/workspace/app
wait_until 30 test -e "$HALF/copy/src/1" || bail "a copy begins" "$(cat "$WORK/log")"
fixture_stop
if [ -e "$HALF/marker.json" ]; then skip "an interrupted copy is made anew" "the copy was faster than its interruption"; else
	mkdir -p "$HALF/copy/junk/deep"
	echo left >"$HALF/copy/src/left-over"
	container copy
	equal "an interrupted copy is made anew" 3001 "$(ls "$INSIDE/workspace/app/src" | wc -l)"
	equal "of the source and nothing else" "" "$(inside $CORDON workspace list app)"
	check "with a marker" test -s "$HALF/marker.json"
fi
fresh_start
app app
mkdir -p "$KEEP/state/overlay/workspace/app/upper"
echo planted >"$KEEP/state/overlay/workspace/app/upper/file"
container overlay
equal "what an interrupted start left in an upper layer is gone" one "$(cat "$INSIDE/workspace/app/file")"

# ---- a full disk
for kind in overlay copy; do
	fresh_start
	app app
	mkdir -p "$KEEP/state/small"
	mount -t tmpfs -o size=2m tmpfs "$KEEP/state/small"
	dd if=/dev/urandom of="$KEEP/sources/app/large" bs=1M count=4 status=none
	ln -s large "$KEEP/sources/app/link"
	STATE=small
	ends "$kind: a full state volume ends the start, and says so" 115 'workspace app: the state volume is full' $kind
	equal "$kind: and keeps nothing that is half made" "" "$(find "$KEEP/state/small" -path '*workspace/app/*' -not -path '*/work/*' | head -n 5)"
	STATE=
	umount "$KEEP/state/small"
done

# ---- what is refused
fresh_start
app 'a b'
ends "a name with a space" 110 'workspace a b: .*cannot be a workspace'
fresh_start
app .hidden
BEFORE='mkdir /cordon/sources/.hidden'
ends "a name with a dot in front" 110 'workspace .hidden: .*cannot be a workspace'
fresh_start
app app
BEFORE='touch /cordon/sources/file'
ends "a file" 110 'workspace file: it is not a folder'
BEFORE='ln -s /etc /cordon/sources/link'
ends "a link" 110 'workspace link: it is not a folder'
BEFORE='mkdir /cordon/sources/p && mount -t proc proc /cordon/sources/p'
ends "the kernel's files" 110 'workspace p: .*file system of the kernel.*proc'
BEFORE='mkdir -p /srv/run /cordon/sources/r && mount -t tmpfs tmpfs /srv/run && mkdir /srv/run/run && touch /srv/run/run/x && mount --bind /srv/run/run /cordon/sources/r'
ends "/run of the host" 110 'workspace r: it is /run of the host'
BEFORE='mkdir -p /cordon/sources/k /home/agent/.ssh && mount --bind /home/agent/.ssh /cordon/sources/k'
ends "somebody's .ssh" 110 'workspace k: it is /agent/.ssh of the host: ~/.ssh holds credentials'
BEFORE='python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"/cordon/sources/docker.sock\")"'
ends "an engine's socket" 110 'workspace docker.sock: it is not a folder'
BEFORE='mkdir /cordon/sources/s && touch /cordon/sources/s/docker.sock'
ends "a folder with an engine's socket" 110 'workspace s: it holds docker.sock'
BEFORE='mkdir -p /cordon/sources/m/inner && mount -t tmpfs tmpfs /cordon/sources/m/inner'
ends "a source with another in it" 110 'workspace m: something else is mounted in it'
BEFORE='mkdir -p /elsewhere 2>/dev/null; mkdir /workspace/app && mount -t tmpfs tmpfs /workspace/app'
ends "a place that is taken" 115 'workspace app: /workspace/app cannot be its place: something is mounted there'
BEFORE='ln -s /etc /workspace/app'
ends "a link that an agent left in its place" 115 'workspace app: /workspace/app cannot be its place: a symbolic link'
fresh_start
app app
BEFORE='mkdir -p /var/lib/cordon/workspace && ln -s /etc /var/lib/cordon/workspace/app'
ends "a link where its state should be" 115 'workspace app: .*Not a directory|workspace app: .*Too many levels'

# ---- not isolated
fresh_start
app app
SOURCE_OPTIONS=rw
container overlay off
matches "off: a source is live" 'workspace app +live' "$(status_line)"
run -- sh -c 'id -u; cd /workspace/app && git status --porcelain'
run --user root -- sh -c 'cd /workspace/app && echo mine >>file && git -c safe.directory=* commit -qam x --allow-empty'
equal "and written" mine "$(tail -n 1 "$KEEP/sources/app/file")"
equal "with its repository" x "$(git -C "$KEEP/sources/app" log --format=%s | head -n 1)"
fixture_stop
SOURCE_OPTIONS=ro
container overlay off
run --user root -- sh -c 'echo mine >>/workspace/app/file'
check "off: what the host mounted read-only stays so" [ "$STATUS" -ne 0 ]
matches "and that is said" 'read-only' "$(inside $CORDON workspace list)"
fresh_start
app app other
chown -R 1500:1500 "$KEEP/sources/app"
SOURCE_OPTIONS=rw BEFORE='sed -i "s/\"live_sources\": \[\]/\"live_sources\": [\"app\"]/" /srv/policies/paths.json'
container overlay
run -- sh -c 'cd /workspace/app && echo mine >>file && git commit -qam x --allow-empty && echo mine >>/workspace/other/file'
succeeded "a source made to be thrown away is worked in, repository and all"
equal "in place" mine "$(tail -n 1 "$KEEP/sources/app/file")"
equal "while the other does not change" one "$(cat "$KEEP/sources/other/file")"
inside $CORDON workspace diff app >"$WORK/out" 2>&1
matches "there is nothing to tell of it" 'is the source itself' "$(cat "$WORK/out")"

# ---- nested repositories, worktrees, pointers
fresh_start
app app
(
	cd "$KEEP/sources/app" || exit
	mkdir -p packages/inner
	git init -q packages/inner
	echo x >packages/inner/file
	echo x >packages/beside
	git init -q --bare .bare
	mkdir tree lost
	echo 'gitdir: ../.bare' >tree/.git
	echo 'gitdir: /home/somebody/app' >lost/.git
)
container overlay
details=$(inside $CORDON workspace list --details app)
for protected in .git packages/inner/.git tree/.git .bare lost/.git; do
	check "protected, with a reason: $protected" grep -qE "^protected +$protected +\(.+\)" <<<"$details"
done
matches "a pointer out of the tree is told" 'lost/.git +\(a .git file whose repository is not in the tree\)' "$details"
for way in "open('packages/inner/.git/config', 'a')" "os.rename('packages', 'renamed')" "os.rename('packages/inner', 'renamed')" "shutil.rmtree('packages/inner/.git')" \
	"open('.bare/config', 'a')" "os.rename('.bare', 'bare')" "open('tree/.git', 'w')" "os.rename('tree', 'other')" "os.unlink('lost/.git')" \
	"os.rename('/workspace/app/packages/inner/.git', '/tmp/x')" "os.rename('packages', '/workspace/outside')"; do
	run_below -- python3 -c "
import os, shutil
os.chdir('/workspace/app')
$way"
	if [ "$STATUS" -ne 0 ]; then ok "refused: $way"; else not_ok "refused: $way" "$OUT" "$ERR"; fi
done
run -- sh -c 'cd /workspace/app && mv packages/inner/file packages/file && mv packages/beside src/beside && cat packages/file src/beside'
equal "files are moved between such folders all the same" $'x\nx' "$OUT"
equal "the repositories stand" "3" "$(find "$INSIDE/workspace/app" -name config -path '*.git/config' -o -path '*.bare/config' | wc -l)"

# ---- ways out of a mount
for way in 'umount /workspace/app/.git' 'umount -l /workspace/app' 'unshare -m umount -l /workspace/app/.git' 'unshare -rm umount -l /workspace/app/.git' \
	'mount -o remount,rw /workspace/app/.git' 'mount --bind /tmp /workspace/app/.git' 'nsenter -t 1 -m true' \
	'echo x >/proc/1/root/workspace/app/.git/config' 'mv /proc/1/root/workspace/app/.git /proc/1/root/workspace/app/x' 'ls /cordon/sources/app' \
	'cat /var/lib/cordon/workspace/app/marker.json'; do
	for user in agent root; do
		run_below --user $user -- sh -c "$way"
		if [ "$STATUS" -ne 0 ]; then ok "$user: $way"; else not_ok "$user: $way" "$OUT" "$ERR"; fi
	done
done
run -- sh -c 'echo y >>/workspace/app/.git/config'
check "and it holds still" [ "$STATUS" -ne 0 ]

# ---- owners
fresh_start
app app
chown -R 7777:8888 "$KEEP/sources/app"
chown 1500:1500 "$KEEP/sources/app/src/file"
chmod 600 "$KEEP/sources/app/file"
tree "$KEEP/sources/app" >"$WORK/source-before"
for kind in overlay copy; do
	container $kind
	run -- sh -c 'cd /workspace/app && cat file && echo mine >>file && git status --porcelain >/dev/null && stat -c "%u:%g %n" file src/file src'
	equal "$kind: another's source is the agents' to work in" $'one\n1500:1500 file\n7777:8888 src/file\n1500:1500 src' "$OUT"
	equal "$kind: and exported as its owner's" "7777/8888" "$(inside $CORDON workspace export app | tar -tvf - | awk '{ print $2 }')"
	fixture_stop
	tree "$KEEP/sources/app" >"$WORK/source-now"
	same_trees "$kind: that has not changed" "$WORK/source-before" "$WORK/source-now"
done

# ---- while agents write
for kind in overlay copy; do
	fresh_start
	app app
	container $kind
	RUNNER=run_below run_beside -- python3 -c '
import os, random, time
os.chdir("/workspace/app")
end = time.monotonic() + 2
while time.monotonic() < end:
    name = f"f{random.randrange(20)}"
    try:
        match random.randrange(6):
            case 0: os.mkdir(name)
            case 1: os.rename(name, f"f{random.randrange(20)}")
            case 2: open(f"{name}/x", "w").write("y" * random.randrange(100000))
            case 3: os.write(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK), b"z" * random.randrange(100000))
            case 4: os.unlink(name)
            case 5: os.mkfifo(name)
    except OSError:
        pass'
	wrong=
	for i in {1..5}; do
		inside timeout 200 $CORDON workspace export app >"$WORK/tar" 2>"$WORK/tar.err" && tar -tf "$WORK/tar" >/dev/null 2>&1 || wrong+=" tar"
		inside timeout 200 $CORDON workspace export --format patch app >"$WORK/patch" 2>&1 || wrong+=" patch"
		inside timeout 200 $CORDON workspace list app >/dev/null 2>&1 || wrong+=" list"
	done
	wait "$BESIDE"
	equal "$kind: an agent writes all the while" "0 " "$(cat "$WORK/beside/status") $(cat "$WORK/beside/err")"
	equal "$kind: exports are whole while agents write" "" "$wrong"
	equal "$kind: and the source does not change" "one two" "$(cat "$KEEP/sources/app/file" "$KEEP/sources/app/src/file" | tr '\n' ' ' | sed 's/ $//')"
done
