#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Presets: which commands are registered, whom their variables reach, and what an agent tries to get them. `cordon env list` against what launches really have.
. "$(dirname "$0")/lib.sh"
cp -r "$SOURCE/policies" "$WORK/policies"
FIXTURE_POLICIES=$WORK/policies
cat >"$WORK/policies/presets/ours.json" <<'JSON'
{ "commands": [{ "name": "linked", "environment": ["OUR_KEY"] }, { "name": "hopping", "environment": ["OUR_KEY"] }, { "name": "owned", "environment": ["OUR_KEY"] },
	{ "name": "theirs", "environment": ["OUR_KEY"] }, { "name": "shell", "environment": ["OUR_KEY"] }, { "name": "twice", "environment": ["OUR_KEY"] }] }
JSON
cat >"$WORK/policies/presets/unused.json" <<'JSON'
{ "commands": [{ "name": "true", "environment": ["OUR_KEY"] }] }
JSON
set_policy() {	# FILE PYTHON: on its object o
	python3 -c "import json, sys
o = json.load(open(sys.argv[1]))
$2
json.dump(o, open(sys.argv[1], 'w'))" "$WORK/policies/$1"
}
set_policy policy.json 'o["commands"] = { "profile": "assistant", "presets": ["ai_tools", "dev_tools", "ours"] }'
set_policy environment.json 'o["mode"] = "selected"; o["image"] = "block"'
cat >"$WORK/before" <<'BEFORE'
image=(OPENAI_API_KEY=the-images-key IMAGE_OTHER=x LC_IMAGE=C)
mkdir -p /opt/tools /workspace/bin /srv/mounted
program() { printf '%s\n' "$2" '[ "$1" = wait ] && : >/workspace/stands && while [ ! -e /workspace/go ]; do sleep 0.1; done' 'echo "$0 key=$OPENAI_API_KEY$OUR_KEY core=$(ulimit -Hc) path=$PATH"' >"$1"; chmod 755 "$1"; }
program /opt/tools/codex.sh '#!/usr/bin/env runtime'
ln -s /opt/tools/codex.sh /usr/bin/codex
ln -s /bin/sh /usr/bin/runtime
program /opt/tools/linked '#!/bin/sh'
ln -s ../../opt/tools/linked /usr/bin/linked
program /workspace/bin/theirs '#!/bin/sh'
ln -s /workspace/bin/theirs /usr/bin/theirs	# an image that trusts the project
ln -s /workspace/hop /usr/bin/hopping
ln -s /opt/tools/linked /workspace/hop
program /opt/tools/owned '#!/bin/sh'
chown agent /opt/tools/owned
ln -s /opt/tools/owned /usr/bin/owned
ln -s sh /usr/bin/shell
program /workspace/bin/twice '#!/bin/sh'
mount --bind /workspace/bin /srv/mounted
ln -s /workspace/bin /srv/way
for name in codex runtime linked git make; do program /workspace/bin/$name '#!/bin/sh'; done
program /workspace/codex '#!/bin/sh'
chown -R agent: /workspace
BEFORE
check "the policy is one" "$BUILD/cordon" policy validate "$WORK/policies"
fixture_start guarded allow

# ---- which are there

listed() { inside env PATH="$1" $CORDON commands list --json | python3 -c 'import json,sys
for c in json.load(sys.stdin)["commands"]: print(c["name"], c["preset"], c["enabled"], c["found"], c["registered"], c.get("program", "-"), ",".join(c["environment"]), sep=" ")'; }
commands=$(listed /usr/bin)
has() { if grep -qxF -- "$2" <<<"$commands"; then ok "$1"; else not_ok "$1" "expected: $2" "$commands"; fi; }
has "a command of the image, by the file it is" "codex ai_tools True True True /opt/tools/codex.sh OPENAI_API_KEY"
has "one that is not there" "claude ai_tools True False False - ANTHROPIC_API_KEY"
has "one that gets nothing" "git dev_tools True True True $(readlink -f /usr/bin/git) "
has "a relative link" "linked ours True True True /opt/tools/linked OUR_KEY"
has "not one that agents can write" "theirs ours True False False - OUR_KEY"
has "nor one by way of a link they can replace" "hopping ours True False False - OUR_KEY"
has "nor one that is not root's alone" "owned ours True False False - OUR_KEY"
has "a preset that is not on" "true unused False True False $(readlink -f /usr/bin/true) OUR_KEY"
text=$(inside $CORDON commands list)
matches "as text" $'\ncodex +ai_tools +registered +/opt/tools/codex.sh \\(by /usr/bin/codex\\)  gets OPENAI_API_KEY\n' "$text"$'\n'
matches "and why not" 'theirs +ours +not found +agents can write it' "$text"
check "and where launches stand" grep -q '^launches  as agent, mode guarded, roots standard, scope none declared' <<<"$text"
for words in "commands" "commands show" "commands list x" "commands list --none" "env" "env list x" "env list --env x" "env list --values=1"; do
	inside $CORDON $words >/dev/null 2>&1
	equal "usage: $words" 2 $?
done
CORDON_RUN_DIR=/nowhere "$BUILD/cordon" commands list >/dev/null 2>&1
equal "no supervisor" 1 $?
CORDON_RUN_DIR=/nowhere "$BUILD/cordon" env list >/dev/null 2>&1
equal "nor for env" 1 $?

# ---- whom the variables reach

key() { sed -n 's/.* key=\([^ ]*\) .*/\1/p' <<<"$OUT"; }
run -- codex
equal "the image's value reaches the command" "/usr/bin/codex the-images-key" "${OUT%% *} $(key)"
matches "which leaves no core file" ' core=0 ' "$OUT"
run --env OPENAI_API_KEY=the-clients --env OUR_KEY=other --env OPENAI_API_KEY_2=x -- codex
equal "the client's wins, and another command's name does not pass" the-clients "$(key)"
run --env OUR_KEY=k -- linked
equal "one behind a link gets its own" "/usr/bin/linked k" "${OUT%% *} $(key)"
recorded "recorded as what it is" type=cmd_begin preset=/opt/tools/codex.sh
withheld() {	# NAME RUN-OPTION… -- COMMAND…: whatever it says, no key is in it
	local name=$1
	shift
	run --env OUR_KEY=smuggled "$@"
	if grep -qE 'the-images-key|smuggled' <<<"$OUT$ERR"; then not_ok "$name" "$OUT" "$ERR"; else ok "$name"; fi
}
withheld "not a launch of something else" -- env
withheld "nor a shell that runs the command" -- sh -c codex
withheld "nor a login shell" -- bash -lc 'exec codex'
withheld "nor one called by a path" -- /usr/bin/codex
withheld "nor by a path of the project" -- ./codex
withheld "nor a file of the project" -- bin/codex
withheld "nor the launch of an agent's program" -- theirs
equal "(that runs)" 0 "$STATUS"
withheld "nor one by way of an agent's link" -- hopping
equal "(that runs, too)" 0 "$STATUS"
withheld "nor the launch user's own file" -- owned
withheld "nor a command of a preset that is not on" -- true
withheld "nor a script that runs it" -- bash bin/codex
run_script codex
equal "nor one in a script" "" "$(key)"

# ---- an agent's own in its place

keeps() {	# NAME PATH: the image's command runs, and sees a PATH without what agents write
	run --env "PATH=$2" -- codex
	equal "$1" "/usr/bin/codex the-images-key /usr/bin:/bin" "${OUT%% *} $(key) ${OUT##*path=}"
}
keeps "a program of the project earlier in PATH" /workspace/bin:/usr/bin:/bin
keeps "by a link to its folder" /srv/way:/usr/bin:/bin
keeps "by another mount of it" /srv/mounted:/usr/bin:/bin
keeps "by dots and empty names" :.::./bin:bin:/workspace/../workspace/bin:/usr/bin:/bin:
keeps "by a folder that is not there yet" /workspace/later:/home/agent/bin:/tmp:/usr/bin:/bin
keeps "by what leads back into it" /usr/../workspace/bin:/usr/bin/../../srv/way:/usr/bin:/bin
keeps "by the process's own folder" /proc/self/cwd/bin:/proc/self/root/workspace/bin:/usr/bin:/bin
for setting in LD_PRELOAD=/workspace/x.so NODE_OPTIONS=-rx BASH_ENV=/workspace/x ENV=/workspace/x PYTHONPATH=/workspace; do
	run --env "$setting" -- codex
	refused "${setting%%=*} is refused, with a preset as without"
done
run --env 'PATH=/workspace/bin:/usr/bin:/bin' -- git
matches "a command that gets nothing keeps its PATH" '^/workspace/bin/git .*path=/workspace/bin:' "$OUT"
run --user other --env OPENAI_API_KEY=k --env PATH=/srv/mounted:/usr/bin:/bin -- codex
equal "another user's launch trusts what agents own no more" "/usr/bin/codex k" "${OUT%% *} $(key)"
run --env 'PATH=/workspace/bin:/srv/mounted' -- twice
equal "where only agents' folders have it, nothing is given" "/workspace/bin/twice " "${OUT%% *} $(key)"
run --env OUR_KEY=k -- shell -c 'echo "key=$OUR_KEY x"'
equal "a link to a shell is that shell, for the operator to think of" k "$(sed 's/key=\(.*\) x/\1/' <<<"$OUT")"

# ---- the same agent's other launches

rm -f "$INSIDE/workspace/go"
run_beside --agent a --env OPENAI_API_KEY=the-running-key -- codex wait
wait_until 60 test -e "$INSIDE/workspace/stands" || bail "the command stands"
check "the running command has the key" sh -c "cat $INSIDE/proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -q the-running-key"
run_script 'cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ; ps eww; for m in /proc/[0-9]*/mem; do head -c 1 $m; done' --agent a
equal "another launch of its agent reads none of it" "" "$(tr '\0' '\n' <<<"$OUT" | grep -a the-running-key)"
run_script 'pkill -ABRT -f "codex wait"; :' --agent a
wait "$BESIDE"
equal "which can end it" 134 "$(cat "$WORK/beside/status")"
equal "nor from a core file" "" "$(find "$INSIDE/workspace" "$INSIDE/tmp" -name '*core*' -exec grep -la the-running-key {} +)"
all_recorded
equal "no value is in the log" "" "$(grep -lE 'the-images-key|the-running-key|smuggled' "$INSIDE"/var/lib/cordon/audit/*.jsonl)"

# ---- cordon env list, held to what launches have

names() { python3 -c 'import json,sys
print("\n".join(sorted({v["name"] for v in json.load(sys.stdin)["variables"] if v["passes"]})))'; }
same_names() {	# NAME RUN-OPTION… -- COMMAND…: what passes, says the list, and what the launch has
	local name=$1 listed
	shift
	listed=$(inside $CORDON env list --json "$@" | names)
	run "$@"
	equal "$name" "$listed" "$(sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p' <<<"$OUT" | sort)"
}
same_names "the list is what a launch has" --env FREE=x --env LC_ALL=C --env TERM=dumb -- env
same_names "for another user as well" --user other --env TZ=UTC -- env
list=$(inside $CORDON env list --env OPENAI_API_KEY=the-clients --env FREE=y --env HOME=/x --env TZ=UTC --env LD_PRELOAD=z)
row() { matches "$1" "(^|"$'\n'")$2("$'\n'"|$)" "$list"; }
row "the image's that does not pass" 'IMAGE_OTHER +image +withheld +not in baseline or allow +\(1 bytes\)'
row "the client's that does not" 'OPENAI_API_KEY +client +withheld +not in baseline or allow +\(11 bytes\)'
row "the baseline" 'TZ +client +passes +baseline +\(3 bytes\)'
row "the user's own" 'HOME +user +passes +passwd +\(11 bytes\)'
row "what would refuse the launch" 'LD_PRELOAD +client +withheld +changes which code is loaded: the launch is refused +\(1 bytes\)'
row "which stands on top" "refused   'LD_PRELOAD' changes which code.*"
equal "no value is shown" "" "$(grep -E 'the-clients|the-images-key' <<<"$list")"
list=$(inside $CORDON env list -- codex)
row "for the command, the preset's" 'OPENAI_API_KEY +image +passes +preset +\(14 bytes\)'
row "and which it is" "launch    as agent, mode guarded, of the preset's command /opt/tools/codex.sh"
list=$(inside $CORDON env list --values --mode observe -- codex)
row "with the value, when root asks" 'OPENAI_API_KEY +image +passes +preset +the-images-key'
row "in the mode that was asked for" "launch    as agent, mode observe, .*"
inside setpriv --reuid 1501 --regid 1501 --clear-groups $CORDON env list --values >"$WORK/out" 2>&1
equal "nobody else sees values" "1 " "$? $(grep the-images-key "$WORK/out")"
check "though names" inside setpriv --reuid 1501 --regid 1501 --clear-groups $CORDON env list
run_script "$CORDON env list --values; $CORDON commands list; $CORDON env list -- codex"
equal "and a launch sees nothing" "" "$OUT"
inside $CORDON env list --mode off >/dev/null 2>&1
equal "what no launch would get is no list" 1 $?
all_recorded
count=$(records type=cmd_begin)
inside $CORDON env list -- codex >/dev/null
run -- true
recorded_times "a list starts nothing" $((count + 1)) type=cmd_begin
fixture_stop

# ---- none are on

set_policy policy.json 'o["commands"]["profile"] = "bare"'
set_policy environment.json 'o["sources"] = [{ "name": "SOURCED", "command": ["/bin/false"] }]'
fixture_start guarded allow
withheld "bare: no command gets anything" -- codex
matches "nor is registered" 'codex +ai_tools +off +/opt/tools/codex.sh' "$(inside $CORDON commands list)"
recorded "a launch asks its source" type=environment
all_recorded
asked=$(records type=environment)
list=$(inside $CORDON env list --env SOURCED=x)
row "a source's variable is listed, and its command not asked" 'SOURCED +command +passes +sources *'
row "in place of the client's" 'SOURCED +client +withheld +not in baseline or allow +\(1 bytes\)'
run -- true
recorded_times "(not asked, but by the next launch)" $((asked + 1)) type=environment
