#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Scripts of a project start no browser, by whatever name, copy, loader or library, also where nobody has a browser session: what a page's server saw says
# so. The image's browser is opened by sessions alone.
. "$(dirname "$0")/lib.sh"
if [ ! -x /usr/lib/chromium/chromium ]; then
	skip "browsers of scripts" "Debian's chromium is not installed"
	exit 0
fi
fixture_start guarded allow
cp "$HERE/browser_starts.py" "$INSIDE/workspace/starts.py"
cp "$HERE/browser_pages.py" "$INSIDE/srv/pages.py"
inside python3 /srv/pages.py 8123 1500 >"$WORK/pages" 2>"$WORK/pages.err" &
wait_until 60 grep -q ready "$WORK/pages" || bail "the pages are served" "$(cat "$WORK/pages.err")"
requests() {
	grep -c '^GET /first' "$WORK/pages"
}

# ---- without Cordon each of these is a browser
cp "$HERE/browser_starts.py" "$INSIDE/srv/starts.py"
native python3 /srv/starts.py /usr/lib/chromium/chromium http://127.0.0.1:8123/first /usr/bin/echo
note "$OUT"
started=$(grep -c ': RAN' <<<"$OUT")
check "without Cordon they start ($started ways)" test "$started" -ge 15
check "and load the page ($(requests) times)" test "$(requests)" -ge 5
seen=$(requests)

for mode in guarded observe; do
	rm -rf "$INSIDE"/workspace/{tool,catted,linked,symlinked,loader,plain,headless_shell,chromedriver,geckodriver,ms-playwright,wrapped,interpreted,profile}
	RUN_SECONDS=200 run --agent "a-$mode" --mode "$mode" -- python3 /workspace/starts.py /usr/lib/chromium/chromium http://127.0.0.1:8123/first /usr/bin/echo
	equal "$mode: the script itself runs" 0 "$STATUS"
	note "$OUT" "$ERR"
	while IFS= read -r line; do
		case $line in
		"a tool of the project: "*) matches "$mode: $line" ': RAN' "$line" ;;
		*) matches "$mode: $line" ': refused' "$line" ;;
		esac
	done <<<"$OUT"
	recorded "$mode: an exec says why" agent="a-$mode" decision=deny rule.id=browser.program tag=policy_block
	recorded "$mode: and so does an open" agent="a-$mode" decision=deny rule.id=browser.file tag=policy_block
done
equal "no page was loaded" "$seen" "$(requests)"
equal "and nothing of a browser runs" "" "$(inside pgrep -a -f '[c]hromium|[c]hrome_crash')"
check "nor was it copied" test ! -s "$INSIDE/workspace/tool" -a ! -s "$INSIDE/workspace/catted"

# ---- any number of opens at once, of processes whose parents end, and an enforcer that dies under them
cat >"$INSIDE/workspace/flood.py" <<'PY'
import os, sys, threading
read = []
def loop(times):
    for _ in range(times):
        try:
            os.close(os.open("/usr/lib/chromium/chromium", os.O_RDONLY))
            read.append(1)
        except OSError:
            pass
for _ in range(int(sys.argv[1])):
    if os.fork() == 0:
        if os.fork():
            os._exit(0)
        threads = [threading.Thread(target=loop, args=(int(sys.argv[2]),)) for _ in range(30)]
        for t in threads: t.start()
        for t in threads: t.join()
        print("read" if read else "refused", flush=True)
        os._exit(0)
PY
RUN_SECONDS=200 run_script 'python3 /workspace/flood.py 30 20 | cat | sort | uniq -c' --agent flood
matches "900 threads open it at once, and none reads a byte" '^ *30 refused$' "$OUT"
alive "alive"
RUN_SECONDS=200 run_beside --agent flood -- python3 /workspace/flood.py 4 2000000
wait_until 60 inside pgrep -f flood.py || not_ok "the flood runs"
enforcer=$(pgrep -P "$PID1" -x cordon-enforcer || pgrep -P "$PID1" -f 'cordond enforcer')
kill -KILL "$enforcer"
wait_until 60 eval '[ "$(pgrep -P "$PID1" -f "cordond enforcer")" != "$enforcer" ] && inside $CORDON health'
run_script 'head -c 4 /usr/lib/chromium/chromium | od -An -tx1; echo done' --agent a1
equal "under the next enforcer nobody reads it either" done "$OUT"
inside pkill -KILL -f flood.py
wait "$BESIDE"
check "who waited for an answer can be killed" wait_until 60 eval '[ -z "$(inside pgrep -f flood.py)" ]'
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive after all"

# ---- in off nothing is refused
fixture_stop
fixture_start off
run -- /usr/lib/chromium/chromium --headless=new --no-sandbox --version
succeeded "in off the browser starts by hand"
