#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Skill folders: what readonly reads outside the project, each read held to its folder; in no safety mode are they written, moved or made anew.
. "$(dirname "$0")/lib.sh"
cp -r "$SOURCE/policies" "$WORK/policies"
FIXTURE_POLICIES=$WORK/policies
sed -i 's|"skills": \[\]|"skills": ["~/.agents/skills", "/srv/skills", "/srv/none"]|' "$WORK/policies/paths.json"
cat >"$WORK/before" <<'BEFORE'
mkdir -p /srv/skills/a /srv/other /home/agent/.agents/skills/b /home/other/.agents/skills
echo instructions >/srv/skills/a/SKILL.md
echo 'the secret' >/srv/skills/a/.env
echo 'echo ran' >/srv/skills/a/run.sh
chmod 755 /srv/skills/a/run.sh
echo elsewhere | tee /srv/other/x >/home/other/.agents/skills/x
ln -s /etc/passwd /srv/skills/a/passwd
ln -s /etc /srv/skills/a/etc
ln -s ../../../workspace/.env /srv/skills/a/env
ln -s ../../other /srv/skills/a/other
ln -s SKILL.md /srv/skills/a/inner
echo 'at home' >/home/agent/.agents/skills/b/SKILL.md
ln -s ../../../.ssh/id_ed25519 /home/agent/.agents/skills/b/key
chown -R agent: /home/agent/.agents
chmod -R a+rX /home/other
echo 'the secret' >/workspace/.env
ln -s /srv/skills/a /workspace/a
BEFORE
fixture_start guarded allow

reads() {	# NAME OUTPUT COMMAND…: in readonly
	local name=$1 expected=$2
	shift 2
	run --mode readonly -- "$@"
	equal "$name" "0 $expected" "$STATUS $(echo $OUT)"
}
shows_nothing() {	# NAME COMMAND…: in readonly
	local name=$1
	shift
	run --mode readonly -- "$@"
	equal "$name" "failed " "$([ "$STATUS" -ne 0 ] && echo failed) $OUT"
}

reads "readonly: a skill's file" instructions cat /srv/skills/a/SKILL.md
reads "in a shell" instructions sh -c 'cat /srv/skills/a/SKILL.md'
reads "in the home" "at home" cat /home/agent/.agents/skills/b/SKILL.md
reads "in the home, as a shell has it" "at home" sh -c 'cat ~/.agents/skills/b/SKILL.md'
reads "by a link that stays in the folder" instructions cat /srv/skills/a/inner
reads "the folder's names" "SKILL.md env etc inner other passwd run.sh" ls /srv/skills/a
for path in /srv/skills/a/passwd /srv/skills/a/etc/passwd /srv/skills/a/env /srv/skills/a/other/x /srv/skills/a/.env /srv/skills/../other/x /srv/other/x /srv/skills/none \
	/home/agent/.agents/skills/b/key /home/other/.agents/skills/x /home/agent/.ssh/id_ed25519; do
	shows_nothing "readonly, refused: $path" cat $path
done
reads "by the project's link to it" instructions cat a/SKILL.md
run --mode readonly --cwd /srv/skills/a -- cat SKILL.md
equal "from inside it" "0 instructions" "$STATUS $OUT"
run --mode readonly --cwd /srv/skills/a -- cat passwd etc/passwd env
equal "from inside it no link leads out" "failed " "$([ "$STATUS" -ne 0 ] && echo failed) $OUT"
run --mode readonly -- cat /srv/skills/a/passwd
recorded "a link that leads out is recorded" decision=deny rule.id=path.link sys.path.resolved=/etc/passwd
run --mode readonly -- grep -R . /srv/skills/a
equal "a search follows no link out of it" "/srv/skills/a/SKILL.md:instructions /srv/skills/a/inner:instructions /srv/skills/a/run.sh:echo ran" "$(echo $(sort <<<"$OUT"))"
shows_nothing "nothing runs there" /srv/skills/a/run.sh
shows_nothing "nor by a shell" sh /srv/skills/a/run.sh

# ---- written in no safety mode: the folder is in a write root, the home

for mode in guarded observe readonly; do
	for text in 'echo x >>~/.agents/skills/b/SKILL.md' 'rm -f ~/.agents/skills/b/SKILL.md' 'chmod 777 ~/.agents/skills/b' 'mv ~/.agents/skills/b ~/.agents/b' 'mv ~/.agents ~/agents' \
		'mv ~/.agents/skills ~/.agents/old' 'ln -s /etc ~/.agents/skills/etc' 'mkdir ~/.agents/skills/new'; do
		printf '%s\n' "$text" >"$INSIDE/workspace/x.sh"
		run --mode $mode -- bash /workspace/x.sh
		check "$mode, refused: $text" test "$STATUS" -ne 0
	done
done
equal "the folder is as it was" "SKILL.md key at home" "$(echo $(ls -A "$INSIDE/home/agent/.agents/skills/b") $(cat "$INSIDE/home/agent/.agents/skills/b/SKILL.md"))"
equal "and where it was" "skills b" "$(echo $(ls -A "$INSIDE/home/agent/.agents" "$INSIDE/home/agent/.agents/skills" | grep -v :))"
run -- bash -c 'echo x >~/.agents/beside && cat ~/.agents/beside'
equal "beside it the home is written as before" "0 x" "$STATUS $OUT"
fixture_stop

# ---- one that is not there yet cannot be put there by an agent

echo 'mkdir -p /srv/other; echo elsewhere >/srv/other/x' >"$WORK/before"
fixture_start guarded allow
printf '%s\n' 'rm -rf ~/.agents; ln -s / ~/.agents; mkdir -p ~/.agents/skills; ln -s / ~/.agents/skills/root' >"$INSIDE/workspace/x.sh"
run -- bash /workspace/x.sh
shows_nothing "a folder that was missing leads nowhere" cat /home/agent/.agents/skills/root/srv/other/x
check "and stays empty" test -z "$(ls -A "$INSIDE/home/agent/.agents/skills")"
