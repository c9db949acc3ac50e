#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# agent-browser and Chromium behind docker exec, the real ones: a stale click does nothing, each agent has its session, and all of it ends with the container.
#
# Chromium comes from this machine, where the boundary tests installed it: its files and the libraries that the image lacks are copied into the container
# before it starts. An image with Chromium takes minutes to build, this takes seconds; it needs the release that the image has.
. "$(dirname "$0")/lib.sh"
skip_all() {
	skip "browser sessions in Docker" "$1"
	exit 0
}
[ -x /usr/lib/chromium/chromium ] || skip_all "Debian's chromium is not installed on this machine"
codename() {
	sed -n 's/^VERSION_CODENAME=//p' "$@"
}
release=$(docker run --rm --entrypoint /bin/cat "$IMAGE" /etc/os-release | codename)
[ "$release" = "$(codename /etc/os-release)" ] || skip_all "this machine runs $(codename /etc/os-release), the image is of $release: Chromium's libraries would not fit"
PACKAGE=$("$HERE/../agent-browser/fetch" 2>"$WORK/fetch") || skip_all "agent-browser cannot be fetched: $(tail -n 1 "$WORK/fetch")"

# browser_files: what Chromium needs of this machine: its folder, libraries (those that are loaded by name as well), fonts.
browser_files() {
	local libraries
	libraries=$(find /usr/lib/chromium -type f -perm /111 -exec ldd {} + 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sed 's,^/lib/,/usr/lib/,'
		ls /usr/lib/*-linux-gnu/lib{softokn3,freebl3,freeblpriv3,nssckbi,nssdbm3}.{so,chk} 2>/dev/null)
	for library in $libraries; do
		echo "$library"
		realpath "$library"
	done | sort -u
	find /usr/lib/chromium /etc/fonts /usr/share/fontconfig /usr/share/fonts/truetype/dejavu ! -type d
}
browser_files >"$WORK/wanted"
docker run --rm -i --entrypoint /bin/bash "$IMAGE" -c 'while read -r file; do [ -e "$file" ] || echo "$file"; done' <"$WORK/wanted" >"$WORK/lacking"
CONTAINERS+=("$GUARDED")
docker create --name "$GUARDED" "${FULL_TIER[@]}" -e CORDON_MODE=guarded --entrypoint /usr/bin/cordond "$IMAGE" init --unreviewed allow -- >/dev/null
tar -C / -c --hard-dereference -T <(sed 's/^.//' "$WORK/lacking") 2>"$WORK/tar" | docker cp - "$GUARDED:/" || bail "Chromium is put into the container" "$(cat "$WORK/tar")"
docker cp "$PACKAGE/bin/agent-browser-linux-$([ "$(uname -m)" = aarch64 ] && echo arm64 || echo x64)" "$GUARDED:/usr/bin/agent-browser" >/dev/null
docker cp "$HERE/../boundary/browser_pages.py" "$GUARDED:/srv/pages.py" >/dev/null
docker start "$GUARDED" >/dev/null
wait_until 60 healthy "$GUARDED" || bail "the guarded container becomes ready" "$(docker logs --tail 30 "$GUARDED" 2>&1)"

docker exec -e PATH="$PLAIN_PATH" "$GUARDED" /usr/bin/python3 /srv/pages.py 8123 1000 >"$WORK/pages" 2>"$WORK/pages.err" &
wait_until 60 grep -q ready "$WORK/pages" || bail "the pages are served" "$(cat "$WORK/pages.err")"
AT=http://127.0.0.1:8123

requests() {	# PATTERN: how many requests came that match
	grep -cE "$1" "$WORK/pages"
}
browse() {	# AGENT WORD…: as a host issues it that names sessions after its agents; leaves OUT, ERR and STATUS
	local agent=$1
	shift
	STATUS=0
	OUT=$(timeout 120 docker exec "$GUARDED" sh -lc "AGENT_BROWSER_SESSION=$agent agent-browser $*" 2>"$WORK/err" </dev/null) || STATUS=$?
	ERR=$(cat "$WORK/err")
}
ref() {	# NAME: its reference in the last snapshot
	sed -n "s/.*\"$1\".*ref=\(e[0-9]*\).*/@\1/p" <<<"$SNAPSHOT" | head -n 1
}
succeeded() {
	if [ "$STATUS" -eq 0 ]; then ok "$1"; else not_ok "$1" "status $STATUS" "$OUT" "$ERR"; fi
}
visit() {	# AGENT PATH: opened and seen
	browse "$1" open "$AT$2"
	[ "$STATUS" -eq 0 ] || not_ok "$1 opens $2" "status $STATUS" "$OUT" "$ERR"
	browse "$1" snapshot -i
	SNAPSHOT=$OUT
}
# The same programs past Cordon, as the agents' user.
alone() {
	docker exec -u 1000:1000 -e PATH="$PLAIN_PATH" -e HOME=/tmp -e AGENT_BROWSER_SESSION=native -e AGENT_BROWSER_SOCKET_DIR=/tmp/native \
		-e AGENT_BROWSER_NO_VERSION_CHECK=1 -e AGENT_BROWSER_EXECUTABLE_PATH=/usr/lib/chromium/chromium -e AGENT_BROWSER_ARGS=--no-sandbox,--disable-dev-shm-usage \
		"$GUARDED" /usr/bin/agent-browser "$@" 2>&1 </dev/null
}

# ---- the accident is one: without Cordon the click lands on what the next page has at that place
alone open "$AT/first" >"$WORK/accident"
SNAPSHOT=$(alone snapshot -i)
alone click "$(ref go)" >>"$WORK/accident"
alone click "$(ref Harmless)" >>"$WORK/accident"
wait_until 60 grep -q "^DELETE" "$WORK/pages"
equal "without Cordon a stale click deletes the account" 1 "$(requests '^DELETE /account')" || cat "$WORK/accident"
alone close >/dev/null

# ---- the same commands by docker exec
visit strix-1-a /first
matches "a page is opened and seen" 'button "Harmless".*ref=e[0-9]+' "$SNAPSHOT"
harmless=$(ref Harmless)
browse strix-1-a click "$(ref go)"
succeeded "an element of a fresh snapshot is acted on"
wait_until 60 grep -q "^GET /second" "$WORK/pages" || not_ok "the click follows the link"
browse strix-1-a click "$harmless"
equal "the stale click is refused" 126 "$STATUS"
matches "and says what to do" '"tag":"stale_snapshot".*snapshot' "$ERR"
browse strix-1-a get url
equal "the page is where the click led" "$AT/second" "$OUT"
equal "and nothing was deleted" 1 "$(requests '^DELETE')"
visit strix-1-a /second
browse strix-1-a click "$(ref "Delete account")"
succeeded "what was seen is acted on"
wait_until 60 eval '[ "$(requests "^DELETE")" -eq 2 ]'
equal "which really happens, once" 2 "$(requests '^DELETE')"

# ---- a session for each agent
visit strix-1-b /empty
browse strix-1-a get url
equal "one agent's page stays" "$AT/second" "$OUT"
browse strix-1-b get url
equal "while another has its own" "$AT/empty" "$OUT"
browse strix-1-a get url --session strix-1-b
equal "nobody names another's session" 126 "$STATUS"
daemons() {
	docker top "$GUARDED" -eo pid,args | awk '$2 == "/usr/bin/agent-browser" && NF == 2 { print $1 }'
}
equal "each has its daemon" 2 "$(daemons | wc -l)"

# ---- nobody else's browser
put_script read.sh 'head -c 4 /usr/lib/chromium/chromium; /usr/lib/chromium/chromium --version; echo done'
OUT=$(docker exec "$GUARDED" bash /workspace/read.sh 2>"$WORK/err")
equal "a script neither reads nor starts the image's browser" done "$OUT"

# ---- the end
docker top "$GUARDED" -eo pid,comm >"$WORK/top"
check "daemons and browsers run until then" grep -q chromium "$WORK/top"
awk 'NR > 1 { print $1 }' "$WORK/top" >"$WORK/processes"
docker stop -t 60 "$GUARDED" >/dev/null
check "the container stops by itself" test "$(docker inspect -f '{{.State.ExitCode}}' "$GUARDED")" -ne 137
left() {	# of the container's processes, those that live: browsers and daemons, for another may have got a number meanwhile
	while read -r pid; do
		[[ $(readlink "/proc/$pid/exe") != */chromium* && $(readlink "/proc/$pid/exe") != */agent-browser ]] || ps -p "$pid" -o pid,args
	done <"$WORK/processes"
}
equal "and takes every daemon and browser along" "" "$(left)"
docker cp "$GUARDED:/var/lib/cordon/audit" "$WORK/audit" >/dev/null
equal "its log tells the sessions' agents" $'strix-1-a\nstrix-1-b' \
	"$(cat "$WORK"/audit/audit-*.jsonl | jq -r 'select(.type == "cmd_begin" and .argv == ["/usr/bin/agent-browser"]) | .agent' | sort -u)"
equal "and by which rules a script was refused" $'browser.file\nbrowser.program' \
	"$(cat "$WORK"/audit/audit-*.jsonl | jq -r 'select(.decision == "deny") | .rule.id' | grep '^browser\.[fp]' | sort -u)"
