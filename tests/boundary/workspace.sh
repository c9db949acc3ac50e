#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Workspaces: a source appears writable and never changes; what must not change in it does not; what agents did to it is told exactly, whichever
# kind it is.
. "$(dirname "$0")/lib.sh"

. "$(dirname "$0")/workspace_lib.sh"

make_source() {
	rm -rf "$SOURCE_APP"
	mkdir -p "$SOURCE_APP"/{src/deep,lib,.git}
	(
		cd "$SOURCE_APP" || exit
		git init -q . && git config user.name t && git config user.email t@t
		echo 'int main(void) { return 0; }' >src/main.c
		echo deep >src/deep/file
		echo lib >lib/code
		printf '\0\1\2binary\377' >lib/blob
		printf '#!/bin/sh\necho ran\n' >run.sh
		chmod 755 run.sh
		git add . && git commit -qm first
	)
	mkdir -p "$KEEP/outside" && echo secret >"$KEEP/outside/secret"
	ln -s src/main.c "$SOURCE_APP/link-file"
	ln -s src "$SOURCE_APP/link-folder"
	ln -s link-file "$SOURCE_APP/link-link"
	ln -s nowhere "$SOURCE_APP/link-dangling"
	ln -s link-loop-b "$SOURCE_APP/link-loop-a"
	ln -s link-loop-a "$SOURCE_APP/link-loop-b"
	ln -s .. "$SOURCE_APP/src/link-up"
	ln -s /etc/passwd "$SOURCE_APP/link-absolute"
	ln -s ../../outside/secret "$SOURCE_APP/link-out"
	ln -s link-absolute "$SOURCE_APP/link-through"
	ln -s fifo "$SOURCE_APP/link-fifo"
	mkfifo "$SOURCE_APP/fifo"
	mknod "$SOURCE_APP/device" c 1 3
	python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('$SOURCE_APP/socket')"
	truncate -s 10M "$SOURCE_APP/sparse" && printf end >>"$SOURCE_APP/sparse"
	python3 - "$SOURCE_APP" <<-'PYTHON'
	import os, sys
	os.chdir(os.fsencode(sys.argv[1]))
	open(b'name-\xff\xfe', 'w').write('bytes')
	open('n' * 255, 'w').write('long')
	open('README', 'w').write('upper'); open('readme', 'w').write('lower')
	os.setxattr('README', 'user.note', b'kept')
	os.utime('README', ns=(1_000_000_000_123_456_789, 1_100_000_000_987_654_321))
	os.chmod('readme', 0o600)
	for i in range(300):
	    os.mkdir('deep-folder-name'); os.chdir('deep-folder-name')
	open('bottom', 'w').write('of it all')
	PYTHON
	touch -d 2001-02-03 "$SOURCE_APP/lib"
}

# view: the workspace as it stands, without the placeholders of protected names that the source lacks.
view() {
	tree --skip .agents --skip .codex "$@" "$INSIDE/workspace/app"
}

untouched() {
	tree "$SOURCE_APP" >"$WORK/source-now"
	same_trees "$1" "$WORK/source-before" "$WORK/source-now"
}

# ---- what is the same for both kinds

protected_names() {
	local way
	run -- sh -c 'cd /workspace/app && git status && git status --porcelain'
	equal "$1: git status has nothing to complain of but paths too long for it" "" "$(grep -av "^warning: could not open directory 'deep-folder-name/" <<<"$ERR")"
	all_recorded
	recorded_times "$1: and leaves no refusal behind" 0 type=syscall rule.id=path.frozen
	run -- sh -c 'cd /workspace/app && git status --porcelain && git log --format=%s && git diff --stat && echo done'
	equal "$1: git status, log and diff work" "first done" "$(grep -v '^[ ?MD]' <<<"$OUT" | tr '\n' ' ' | sed 's/ $//')"
	run_below -- sh -c 'cd /workspace/app && echo more >>src/main.c && git commit -qam second; status=$?; sed -i \$d src/main.c; exit $status'
	if [ "$STATUS" -ne 0 ] && [[ $ERR == *"Read-only file system"* ]] && [[ $ERR == *path.frozen* ]]; then
		ok "$1: git commit fails and says why"
	else
		not_ok "$1: git commit fails and says why" "status $STATUS" "$OUT" "$ERR"
	fi
	recorded "$1: and it is recorded" type=syscall rule.id=path.frozen errno=EROFS
	tree "$INSIDE/workspace/app/.git" >"$WORK/git-before"
	while IFS= read -r way; do
		run_below -- python3 -c "
import os, ctypes, socket
os.chdir('/workspace/app')
libc = ctypes.CDLL(None, use_errno=True)
def renameat2(a, b, flags):
    if libc.renameat2(-100, a.encode(), -100, b.encode(), flags):
        raise OSError(ctypes.get_errno(), 'renameat2')
try:
    $way
except OSError as e:
    print('refused', e.errno)"
		if [ "$(cut -d' ' -f1 <<<"$OUT")" = refused ]; then ok "$1: refused: $way"; else not_ok "$1: refused: $way" "status $STATUS" "$OUT" "$ERR"; fi
	done <<-'WAYS'
	open('.git/config', 'a')
	open('.git/new', 'w')
	os.truncate('.git/config', 0)
	os.chmod('.git/config', 0o777)
	os.chmod('.git', 0o777)
	os.utime('.git/config')
	os.setxattr('.git/config', 'user.x', b'1')
	os.unlink('.git/config')
	os.rename('.git', 'git')
	os.rename('.git/config', 'config')
	os.rename('run.sh', '.git/hooks/post-checkout')
	os.link('.git/config', 'config')
	os.link('run.sh', '.git/hooks/x')
	os.symlink('/tmp', '.git/x')
	os.mkdir('.git/x')
	os.rmdir('.agents')
	os.mkdir('.agents/x')
	open('.codex/config.toml', 'w')
	os.rename('.codex', 'codex')
	os.mkdir('src/.git')
	os.mkdir('src/deep/.agents')
	open('src/.git', 'w')
	os.rename('lib', 'src/.git')
	os.symlink('/tmp', 'src/.codex')
	os.mknod('src/.git')
	os.link('run.sh', 'src/.git')
	renameat2('lib', '.git', 2)
	renameat2('.git', 'lib', 2)
	os.rename('/workspace/app', '/workspace/other')
	os.rmdir('/workspace/app')
	os.open('/proc/self/cwd/.git/config', os.O_WRONLY)
	os.symlink('.git', '/tmp/alias'); open('/tmp/alias/config', 'a')
	d = os.open('.git', os.O_RDONLY); os.open('config', os.O_WRONLY, dir_fd=d)
	d = os.open('.git/config', os.O_PATH); open(f'/proc/self/fd/{d}', 'w')
	d = os.open('.git/config', os.O_RDONLY); os.fchmod(d, 0o777)
	d = os.open('.git/config', os.O_RDONLY); os.setxattr(d, 'user.x', b'1')
	d = os.open('lib', os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{d}', '.git/hooks/y', follow_symlinks=True)
	d = os.open('lib', os.O_TMPFILE | os.O_RDWR); os.link(f'/proc/self/fd/{d}', 'src/.git', follow_symlinks=True)
	os.open('.git', os.O_TMPFILE | os.O_RDWR)
	s = socket.socket(socket.AF_UNIX); s.bind('.git/s')
	WAYS
	tree "$INSIDE/workspace/app/.git" >"$WORK/git-after"
	same_trees "$1: .git is what it was" "$WORK/git-before" "$WORK/git-after"
	rm -f "$INSIDE/tmp/alias"
}

# Everything an agent can do to a file, and what each of it is in the words of `cordon workspace list`.
CHANGES='
import os, shutil
os.chdir("/workspace/app")
open("src/main.c", "a").write("/* more */\n")
open("lib/blob", "ab").write(b"\0more")
os.chmod("lib/code", 0o600)
os.chmod("readme", 0o755)
os.unlink("README")
shutil.rmtree("link-folder")
os.mkdir("new"); os.mkdir("new/empty")
open("new/text", "w").write("no newline at the end")
open("new/binary", "wb").write(bytes(range(256)) * 300)
open("new/nothing", "w")
os.chmod("new/text", 0o755)
os.symlink("/etc/passwd", "new/link")
os.mkfifo("new/fifo")
os.rename("src/deep", "moved")
os.rename("moved/file", "moved/renamed")
os.rename("lib", "lib-old")
os.rename("moved", "lib")
os.unlink("link-file"); os.mkdir("link-file"); open("link-file/inside", "w").write("x")
os.unlink("run.sh"); os.symlink("readme", "run.sh")
open("link-dangling", "w").write("where a link was left out")
open(b"name-\xff\xfe", "w").write("changed"); open(b"new/\xf0\"\\ \n", "w").write("odd")
os.truncate("sparse", 5000)
for i in range(300):
    os.chdir("deep-folder-name")
open("bottom", "a").write("!"); open("x" * 255, "w").write("long")
os.chdir("/workspace/app")
os.utime("link-link"); os.rename("nowhere-yet", "x") if os.path.exists("nowhere-yet") else None
st = os.stat("n" * 255); open("n" * 255, "r+").write("L"); os.utime("n" * 255, ns=(st.st_atime_ns, st.st_mtime_ns))
'
deep=$(printf 'deep-folder-name/%.0s' {1..300})

changes() {	# KIND
	local base=$WORK/base-$1
	rm -rf "$base"
	mkdir "$base"
	tar -C "$INSIDE/workspace/app" -cf - --exclude=./deep-folder-name . | tar -C "$base" -xf -
	equal "$1: no changes at first" "" "$(inside $CORDON workspace list app)"
	equal "$1: and an empty diff" "" "$(inside $CORDON workspace diff app)"
	run_below -- python3 -c '
import os
os.chdir("/workspace/app")
os.setxattr("src/main.c", "user.x", b"1"); os.setxattr("src", "user.x", b"1")
os.setxattr("README", "user.note", b"other"); os.utime("lib/code")'
	equal "$1: attributes are a change, times alone are none" $'m README\nm src/\nm src/main.c' "$(inside $CORDON workspace list app)"
	run_below -- python3 -c '
import os
os.chdir("/workspace/app")
os.removexattr("src/main.c", "user.x"); os.removexattr("src", "user.x"); os.setxattr("README", "user.note", b"kept")'
	equal "$1: as they were, they are no change" "" "$(inside $CORDON workspace list app)"
	run_below -- python3 -c "$CHANGES"
	succeeded "$1: an agent works"
	inside $CORDON workspace list app >"$WORK/list" 2>"$WORK/list.err"
	sed "s|$deep|deep/_/|" "$WORK/list" >"$WORK/list-$1"
	equal "$1: nothing on stderr" "" "$(cat "$WORK/list.err")"
	same_trees "$1: every change is listed, and nothing else" "$HERE/../data/workspace/changes" "$WORK/list-$1"
	inside $CORDON workspace export --format patch app >"$WORK/patch" 2>"$WORK/patch.err"
	inside $CORDON workspace export app >"$WORK/tar" 2>"$WORK/tar.err"
	inside $CORDON workspace diff app >"$WORK/diff" 2>&1
	cp -a "$base" "$base-tar"
	(cd "$base" && GIT_CEILING_DIRECTORIES=$WORK git apply --exclude='deep-folder-name/*' "$WORK/patch") >"$WORK/apply.out" 2>&1
	equal "$1: git applies the patch" "" "$(cat "$WORK/apply.out")"
	tree --plain --skip deep-folder-name --skip new/fifo "$INSIDE/workspace/app" >"$WORK/is"
	tree --plain --skip deep-folder-name "$base" >"$WORK/patched"
	same_trees "$1: then it is what the agent left" "$WORK/is" "$WORK/patched"
	tar -tf "$WORK/tar" >/dev/null 2>"$WORK/tar.list.err"
	equal "$1: tar reads the archive" "" "$(cat "$WORK/tar.list.err")"
	# As cordon-workspace(1) says: first what was deleted, then the rest.
	(cd "$base-tar" && tar -tf "$WORK/tar" --quoting-style=literal | grep -a '\(^\|/\)\.wh\.' | sed 's#\(^\|/\)\.wh\.#\1#' | xargs -d '\n' rm -rf -- &&
		tar -xpf "$WORK/tar" --exclude='.wh.*' --exclude=deep-folder-name)
	view --skip deep-folder-name --skip new/fifo | sed 's/ [0-9]* {/ {/; s/ [0-9]\{19\} / /' >"$WORK/is"
	tree --skip .agents --skip .codex --skip deep-folder-name "$base-tar" | sed 's/ [0-9]* {/ {/; s/ [0-9]\{19\} / /; s/ 0 0 / 1500 1500 /' >"$WORK/unpacked"
	same_trees "$1: and so it is with the archive" <(sed 1d "$WORK/is") <(sed 1d "$WORK/unpacked")
	inside mkdir /workspace/app/src/.git	# as a won race would
	equal "$1: a protected name that appeared is told" "! src/.git/" "$(inside $CORDON workspace list app | grep '^!')"
	inside $CORDON workspace export --format patch app 2>"$WORK/patch.err" | cmp -s - "$WORK/patch"
	equal "$1: and never exported" 0 $?
	matches "$1: which is said" 'src/.git: a protected name' "$(cat "$WORK/patch.err")"
	inside rmdir /workspace/app/src/.git
	matches "$1: a FIFO is not taken, and that is said" 'new/fifo: is nothing an archive takes' "$(cat "$WORK/tar.err")"
	matches "$1: a diff shows text" '\+/\* more \*/' "$(cat "$WORK/diff")"
	matches "$1: and says what is binary" 'Binary files differ' "$(cat "$WORK/diff")"
}

whole() {	# KIND
	container "$1"
	matches "$1: doctor says what it is" "workspace +$2 +.*" "$(inside $CORDON doctor | grep workspace)"
	matches "$1: and so does status" "workspace app +$1 at /workspace/app" "$(inside $CORDON status | grep '^workspace')"
	tree --rules --swap 0:1500 "$SOURCE_APP" >"$WORK/expected"
	view >"$WORK/found"
	same_trees "$1: the workspace is the source, by the rules" "$WORK/expected" "$WORK/found"
	matches "$1: holes stay holes" '^[0-9]{1,3}$' "$(inside stat -c %b /workspace/app/sparse)"
	protected_names "$1"
	changes "$1"
	untouched "$1: the source did not change"
}

make_source
tree "$SOURCE_APP" >"$WORK/source-before"
for kind in ${KINDS:-overlay copy}; do
	case $kind in overlay) whole overlay active ;; copy) whole copy degraded ;; esac
	fixture_stop
done
