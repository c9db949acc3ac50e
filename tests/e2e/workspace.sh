#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Workspaces as a host has them: a folder mounted read-only at /cordon/sources, a volume for what is kept, `docker exec` for the rest.
. "$(dirname "$0")/lib.sh"
VOLUME=$RUN-state
APP=$WORK/app
trap 'docker rm -f "$GUARDED" >/dev/null 2>&1; docker volume rm -f "$VOLUME" >/dev/null 2>&1; finish' EXIT

mkdir -p "$APP/src"
(
	cd "$APP" || exit
	git init -q .
	printf '#!/bin/sh\necho ran\n' >run.sh
	chmod 755 run.sh
	echo one >src/file
	ln -s src/file link
	ln -s /etc/shadow out
	git -c user.name=t -c user.email=t@t add . && git -c user.name=t -c user.email=t@t commit -qm first
)
git -C "$APP" config user.name t
git -C "$APP" config user.email t@t
chown -R 4321:4321 "$APP"
before=$(cd "$APP" && find . -printf '%p %y %m %U %s %T@ %C@ %l\n' | sort; tar -C "$APP" -cf - . | sha256sum)

unchanged() {
	local now
	now=$(cd "$APP" && find . -printf '%p %y %m %U %s %T@ %C@ %l\n' | sort; tar -C "$APP" -cf - . | sha256sum)
	equal "$1" "$before" "$now"
}

agent() {
	docker exec "$GUARDED" "$@"
}

# ---- with a volume: an overlay
start_guarded -v "$APP:/cordon/sources/app:ro" -v "$VOLUME:/var/lib/cordon"
matches "with a volume it is an overlay" 'workspace +active' "$(host 'cordon doctor')"
equal "agents see it as theirs" "agent one" "$(agent sh -c 'stat -c %U /workspace/app/src; cat /workspace/app/src/file' | tr '\n' ' ' | sed 's/ $//')"
equal "git works in it, and sees what links became" $'first\n T link\n D out' "$(agent sh -lc 'cd /workspace/app && git log --format=%s && git status --porcelain')"
agent sh -c 'echo two >>/workspace/app/src/file'
agent bash -c 'cd /workspace/app && git commit -qam second' >"$WORK/out" 2>"$WORK/err"
check "git commit is refused" [ $? -ne 0 ]
matches "git says why" 'Read-only file system' "$(cat "$WORK/err")"
matches "and so do we" '"rule":"path.frozen"' "$(tail -n 1 "$WORK/err")"
check "a program of it runs in a launch" [ "$(agent sh -c /workspace/app/run.sh)" = ran ]
status=0
agent /workspace/app/run.sh >/dev/null 2>&1 || status=$?
equal "and not by the host's absolute path" 126 "$status"
agent sh -c 'echo "ls /cordon/sources/app" >/workspace/look.sh'
matches "the original is out of sight" 'cannot (access|open)' "$(agent sh /workspace/look.sh 2>&1)"
equal "the host is told what changed" $'M link\nM src/file' "$(agent sh -c 'echo x >>/workspace/app/link'; docker exec "$GUARDED" /usr/bin/cordon workspace list app)"
docker exec "$GUARDED" /usr/bin/cordon workspace export --format patch app >"$WORK/patch"
cp -a "$APP" "$WORK/applied"
rm "$WORK/applied/link" && cp "$WORK/applied/src/file" "$WORK/applied/link"
check "and can apply it" git -C "$WORK/applied" -c safe.directory='*' apply "$WORK/patch"
equal "to the same effect" $'one\ntwo' "$(cat "$WORK/applied/src/file")"
unchanged "the source did not change"

docker restart -t 5 "$GUARDED" >/dev/null
check "after docker restart" wait_until 100 healthy "$GUARDED"
equal "the workspace is as it was" $'one\ntwo' "$(agent cat /workspace/app/src/file)"
docker rm -f "$GUARDED" >/dev/null
start_guarded -v "$APP:/cordon/sources/app:ro" -v "$VOLUME:/var/lib/cordon"
equal "in a new container with the same volume too" $'one\ntwo' "$(agent cat /workspace/app/src/file)"
docker rm -f "$GUARDED" >/dev/null

# ---- without: a copy
start_guarded -v "$APP:/cordon/sources/app:ro"
matches "without a volume it is a copy, and why is said" 'workspace +degraded +app is a copy: .*overlay' "$(host 'cordon doctor')"
agent sh -c 'echo two >>/workspace/app/src/file; echo x >>/workspace/app/link'
equal "of which the same is told" $'M link\nM src/file' "$(docker exec "$GUARDED" /usr/bin/cordon workspace list app)"
agent sh -c 'echo x >>/workspace/app/.git/config' 2>/dev/null
check "with .git read-only" [ $? -ne 0 ]
unchanged "the source did not change there either"
docker rm -f "$GUARDED" >/dev/null

# ---- off
run_container "$GUARDED" -e CORDON_MODE=off -v "$APP:/cordon/sources/app:ro" --entrypoint /usr/bin/cordond -- init --
check "off without any right" wait_until 100 healthy "$GUARDED"
equal "shows the source itself" one "$(host 'cat /workspace/app/src/file')"
matches "and says that it is read-only" 'live .*|read-only' "$(docker exec "$GUARDED" /usr/bin/cordon workspace list)"
docker rm -f "$GUARDED" >/dev/null

# ---- refused
run_container "$GUARDED" "${FULL_TIER[@]}" -e CORDON_MODE=guarded -v /run:/cordon/sources/app --entrypoint /usr/bin/cordond -- init --
equal "a part of the host ends the start" 110 "$(timeout 200 docker wait "$GUARDED")"
matches "with the reason" 'workspace app: ' "$(docker logs "$GUARDED" 2>&1)"
