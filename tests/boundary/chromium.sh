#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Chromium in a launch, where the policy lets agents start one: with --no-sandbox it does what it does natively; its own sandbox starts in mode off alone.
# docs/PROGRAMS.md says so.
. "$(dirname "$0")/lib.sh"
if ! command -v chromium >/dev/null; then
	skip "Chromium" "no chromium is installed here"
	exit 0
fi
cp -r "$SOURCE/policies" "$WORK/policies"
python3 - "$WORK/policies/browser.json" <<-'POLICY'
	import json, sys
	policy = json.load(open(sys.argv[1]))
	policy["browsers"] = policy["others"] = []
	json.dump(policy, open(sys.argv[1], "w"))
POLICY
FIXTURE_POLICIES=$WORK/policies
fixture_start guarded allow

into_fixture() {
	cp "$HERE/programs/devtools.py" "$INSIDE/srv/"
	cat >"$INSIDE/srv/page.sh" <<-'PAGE'
		cd /workspace && mkdir -p page && echo '<p>six by seven</p><script>document.body.append(6 * 7)</script>' >page/index.html
		chromium --headless=new "$@" --dump-dom file:///workspace/page/index.html 2>/workspace/messages
		status=$?
		grep -o 'No usable sandbox' /workspace/messages
		exit $status
	PAGE
	cat >"$INSIDE/srv/pictures.sh" <<-'PICTURES'
		bash /srv/page.sh --no-sandbox --window-size=400,300 --screenshot=/workspace/page.png >/dev/null
		head -c 24 page.png | od -An -tx1	# the signature, width and height
		bash /srv/page.sh --no-sandbox --print-to-pdf=/workspace/page.pdf >/dev/null
		head -c 5 page.pdf
	PICTURES
}

into_fixture
same_as_native_script "a page's scripts run, and its document is printed" "bash /srv/page.sh --no-sandbox"
matches "which is the document that they made" '</script>42' "$(tr -d '\n' <"$WORK/out")"
same_as_native_script "screenshot and PDF" "bash /srv/pictures.sh"
same_as_native_script "driven over a pipe and over ports of its own choice and ours: worker, fetch, screenshot, end" "python3 /srv/devtools.py pipe 0 9222"
matches "and the page got what its worker and its server said" 'pipe 42 fetched PNG.*0 42 fetched PNG.*9222 42 fetched PNG' "$(tr '\n' ' ' <"$WORK/out")"

run_below -- bash /srv/page.sh
equal "without --no-sandbox it says what is missing, and ends" "1 No usable sandbox" "$STATUS $OUT"
recorded "and the user namespace that was refused is recorded" type=syscall decision=deny sys.name=clone
alive "Cordon is well after that"

fixture_stop
fixture_start off
into_fixture
run -- bash /srv/page.sh
succeeded "in off its own sandbox starts"
matches "and the page's scripts run in it" '</script>42' "$(tr -d '\n' <"$WORK/out")"
