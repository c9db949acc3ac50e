#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `cordon check` answers holds on real launches: each exact tag, each switch of paths.json, mode ceilings, unattended correction. Real calls of a
# launch; looked at are what the kernel said, what changed, and the record's exact tag and rule. Where check is asked the same, its answer is the same.
. "$(dirname "$0")/lib.sh"
cp -r "$SOURCE/policies" "$WORK/policies"
FIXTURE_POLICIES=$WORK/policies
TAGS=$WORK/tags	# those that a record of a launch had
: >"$TAGS"

policy() {	# FILE PYTHON: on the object p of that file
	python3 -c "import json, sys
p = json.load(open(sys.argv[1]))
$2
json.dump(p, open(sys.argv[1], 'w'))" "$WORK/policies/$1"
}
has_record() { [ "$(records "$@")" -gt 0 ]; }
# seen NAME TAG CONDITION…: wanted is a record with this tag. recorded_all looks for all that are, however slow the log's writer is.
seen() {
	local name=$1 tag=$2
	shift 2
	echo "$tag" >>"$TAGS"
	(IFS=$'\t'; echo "$name	tag=$tag	$*") >>"$WORK/wanted"
}
all_met() {
	records --each "$WORK/wanted" >"$WORK/met" && ! grep -q ^unmet "$WORK/met"
}
recorded_all() {
	local verdict name conditions
	wait_until 60 all_met
	while IFS=$'\t' read -r verdict name conditions; do
		if [ "$verdict" = met ]; then ok "$name"; else not_ok "$name" "no record with $conditions"; fi
	done <"$WORK/met"
	: >"$WORK/wanted"
}
quoted() {	# WORDS: as a regular expression that means these characters
	sed 's/[][\.*^$+?(){}|/]/\\&/g' <<<"$1"
}
# answers MODE words|text: check's verdict, tag and rule for each line: words of a question, or a text for exec.
answers() {
	python3 -c 'import json, sys
for line in sys.stdin.read().splitlines():
    print(json.dumps(line.split() if sys.argv[1] == "words" else ["exec", line]))' "$2" |
		inside $CORDON check --policy /srv/policies --mode "$1" --batch - |
		python3 -c 'import json, sys
for line in sys.stdin:
    a = json.loads(line)
    print(a["verdict"], a.get("tag"), a["rule"])'
}

# acts NAME MODE [RUN-OPTION…] <<TABLE: one launch makes the calls of the table's lines "ACT | RESULT | SYSTEM CALL | TAG | RULE | WHAT check IS ASKED"; an
# act without a tag is allowed. What a program writes and what a tool is told to write are judged alike but for the rule, so check's tag counts.
acts() {
	local name=$1 mode=$2 lines=() results act result call tag rule question i=0 questions=() expected=()
	shift 2
	mapfile -t lines
	run_below --agent "$name" "$@" -- python3 /usr/bin/acts.py "${lines[@]%% |*}"
	mapfile -t results <<<"$OUT"
	[ "${#results[@]}" -eq "${#lines[@]}" ] || not_ok "$name: all is answered" "$OUT" "$ERR"
	for line in "${lines[@]}"; do
		IFS='|' read -r act result call tag rule question < <(sed 's/ *| */|/g' <<<"$line")
		equal "$name: $act" "$result" "${results[i++]:-}"
		[ -z "$tag" ] || seen "$name: is recorded as $tag, $rule" "$tag" type=syscall decision=deny "agent=$name" "mode=$mode" "sys.name~^($call)$" "rule.id=$rule" \
			"sys~$(object_of "$act")" 'hint~.' 'reason~.'
		[ -z "$question" ] || questions+=("$question")
		[ -z "$question" ] || expected+=("^$([ -n "$tag" ] && echo "deny $tag" || echo '(allow|review)') ")
	done
	recorded_all
	mapfile -t results < <(printf '%s\n' "${questions[@]}" | answers "$mode" words)
	for i in "${!questions[@]}"; do matches "$name: check says so too: ${questions[i]}" "${expected[i]}" "${results[i]:-}"; done
}
object_of() {	# what of the act its record must have, as a regular expression
	set -- $1
	case $1 in
	connect | bind | send) quoted "${2#::ffff:}" ;;
	exec) shift; while [[ $1 == *=* ]]; do shift; done; quoted "${2:-$1}" ;;
	socket | unshare) ;;
	rename | link) echo "($(quoted "$(basename "$2")")|$(quoted "$(basename "$3")"))" ;;
	*) quoted "$(basename "${!#}")" ;;
	esac
}

# refusals MODE <<TABLE: launches whose text is refused, "TAG | RULE | TEXT": 126, the agent's line, the record, and check's very same words.
refusals() {
	local mode=$1 tag rule text lines results i
	mapfile -t lines
	mapfile -t results < <(printf '%s\n' "${lines[@]}" | sed 's/^[^|]*|[^|]*| //' | answers "$mode" text)
	for i in "${!lines[@]}"; do
		read -r tag _ rule _ text <<<"${lines[i]}"
		run --mode "$mode" --agent "text$RESULTS" -- sh -c "$text"
		seen "$mode: its record: $text" "$tag" type=cmd_begin decision=deny "mode=$mode" "rule.id=$rule" "agent=text$RESULTS"
		equal "$mode: $text" "126 $tag $rule" "$STATUS $(tail -n 1 <<<"$ERR" | sed -n 's/.*"rule":"\([^"]*\)","tag":"\([^"]*\)".*/\2 \1/p')"
		equal "$mode: check: $text" "deny $tag $rule" "${results[i]:-}"
	done
	recorded_all
}

cat >"$WORK/before" <<'BEFORE'
mkdir -p /srv/grant /srv/shut /srv/named /workspace/closed /workspace/away /workspace/d
chmod 777 /srv/grant /srv/shut /workspace /workspace/*
for name in rm busybox curl sudo timeout chmod mystery ok id gdb; do cp /usr/bin/touch /srv/named/$name; done
echo secret | tee /workspace/closed/f /srv/shut/f /workspace/.env >/workspace/plain
chown agent: /workspace/plain
echo outside >/srv/open/f
chmod 666 /srv/open/f
ln -s /srv/open/f /workspace/to-file
ln -s /srv/open /workspace/to-folder
ln -s ../../srv/open/f /workspace/away/up
ln -s hop0 /workspace/near
ln -s /workspace/closed/f /workspace/to-closed
ln -s /home/agent/.ssh/id_ed25519 /workspace/to-key
touch /workspace/hop0 && chown agent: /workspace/hop0
for i in $(seq 70); do ln -s hop$((i - 1)) /workspace/hop$i; done
ip address add 10.99.0.9/32 dev lo
ip address add 169.254.169.254/32 dev lo
ip address add 198.18.7.7/32 dev lo
ip address add 9.9.9.9/32 dev lo
BEFORE
policy paths.json 'p["blocked_roots"] = ["/workspace/closed", "/srv/shut"]; p["allowed_roots"] = ["/srv/grant"]'

begin() {	# MODE UNREVIEWED
	fixture_start "$@"
	cp "$HERE/acts.py" "$INSIDE/usr/bin/"
	listen 10.99.0.9 8000 0 "$WORK/private"
	listen 169.254.169.254 8000 0 "$WORK/metadata"
	listen 9.9.9.9 8000 0 "$WORK/public"
}
unchanged() {	# NAME: what no launch may have changed
	equal "$1: nothing outside has changed" "outside secret secret" "$(xargs <"$INSIDE/srv/open/f") $(xargs <"$INSIDE/workspace/closed/f") $(xargs <"$INSIDE/srv/shut/f")"
	equal "$1: nothing is new there" "f f f" "$(cd "$INSIDE" && ls srv/open srv/shut workspace/closed | grep -v ':$' | xargs)"
}

# ---- guarded, as shipped but for one blocked and one granted root

begin guarded allow
acts files guarded <<'TABLE'
write /workspace/new | ok | | | | write /workspace/new
write /srv/grant/new | ok | | | |
write /workspace/near | ok | | | | write /workspace/near
write /srv/open/new | EACCES | openat | outside_root | path.outside | write /srv/open/new
write /workspace/to-file | EACCES | openat | outside_root | path.outside |
write /workspace/away/up | EACCES | openat | outside_root | path.outside |
write /workspace/to-folder/new2 | EACCES | openat | outside_root | path.outside |
write /workspace/closed/new | EACCES | openat | blocked_root | path.blocked | write /workspace/closed/new
write /workspace/to-closed | EACCES | openat | blocked_root | path.blocked |
write /srv/shut/newer | EACCES | openat | blocked_root | path.blocked | write /srv/shut/newer
write /home/agent/.ssh/own-key | EACCES | openat | protected_path | path.protected | write ~/.ssh/own-key
write /home/other/.ssh/other-key | EACCES | openat | protected_path | path.protected |
write /usr/bin/cordond | EACCES | openat | protected_path | path.own_files | write /usr/bin/cordond
write /run/cordon/planted | EACCES | openat | protected_path | path.own | write /run/cordon/planted
write /run/docker.sock | EACCES | openat | protected_path | path.hidden | write /run/docker.sock
write /dev/sdzz | EACCES | openat | policy_block | path.raw_device |
write /dev/null | ok | | | |
write /workspace/hop40 | ok | | | |
write /workspace/hop41 | ELOOP | | | |
write /workspace/hop70 | ELOOP | openat | too_many_symlinks | boundary.symlinks |
rename /workspace/new /srv/open/moved | EACCES | rename | outside_root | path.outside |
rename /srv/open/f /workspace/taken | EACCES | rename | outside_root | path.outside |
link /srv/open/f /workspace/linked | EACCES | link | outside_root | path.outside |
rename /workspace/new /workspace/closed/moved2 | EACCES | rename | blocked_root | path.blocked |
symlink /workspace/plain /srv/open/planted | EACCES | symlink | outside_root | path.outside |
mkdir /srv/open/folder | EACCES | mkdir | outside_root | path.outside |
unlink /srv/open/f | EACCES | unlink | outside_root | path.outside |
chmod /srv/open/f | EACCES | chmod | outside_root | path.outside |
read /workspace/plain | read 'secret' | | | | read /workspace/plain
TABLE
unchanged files
acts closed guarded <<'TABLE'
read /home/agent/.ssh/id_ed25519 | EPERM | open.* | protected_path | path.protected | read ~/.ssh/id_ed25519
TABLE
acts sockets guarded <<'TABLE'
connect 9.9.9.9 8000 | ok | | | | connect 9.9.9.9:8000
connect 10.99.0.9 8000 | ECONNREFUSED | connect | network_guard | network.private_10 | connect 10.99.0.9:8000
connect ::ffff:10.99.0.9 8000 | ECONNREFUSED | connect | network_guard | network.private_10 | connect [::ffff:10.99.0.9]:8000
connect 169.254.169.254 8000 | ECONNREFUSED | connect | network_guard | network.metadata | connect 169.254.169.254:8000
connect 198.18.7.7 8000 | ECONNREFUSED | connect | network_guard | network.benchmark | connect 198.18.7.7:8000
connect 127.0.0.1 9 | ECONNREFUSED | | | |
send 10.99.0.9 8000 | EPERM | sendto | network_guard | network.private_10 |
bind 127.0.0.1 48080 | EADDRINUSE | bind | network_guard | network.reserved_port |
bind 127.0.0.1 8044 | ok | | | |
unix /run/docker.sock | EACCES | connect | protected_path | path.hidden |
unix /home/agent/.ssh/agent.sock | EACCES | connect | protected_path | path.protected |
unix /workspace/closed/sock | EACCES | connect | blocked_root | path.blocked |
socket AF_INET SOCK_RAW | EPERM | socket | policy_block | call.refused |
unshare | EPERM | unshare | policy_block | call.refused |
TABLE
equal "the public listener got one, the others none" "1 0 0" "$(wait_until 60 grep -q accepted "$WORK/public"; connections "$WORK/public") $(connections "$WORK/private") $(connections "$WORK/metadata")"
acts execs guarded <<'TABLE'
exec /srv/named/ok /workspace/ran-ok | status 0 | | | | exec /srv/named/ok /workspace/ran-ok
exec /srv/named/rm /workspace/ran-rm | EACCES | execve | policy_block | guarded.destroy | exec /srv/named/rm /workspace/ran-rm
exec /srv/named/rm -rf /workspace | EACCES | execve | hardline | guarded.hardline | exec /srv/named/rm -rf /workspace
exec /srv/named/chmod /workspace/ran-chmod | EACCES | execve | policy_block | guarded.permission | exec /srv/named/chmod 777 x
exec /srv/named/sudo /workspace/ran-sudo | EACCES | execve | policy_block | guarded.elevate | exec /srv/named/sudo x
exec /srv/named/gdb /workspace/ran-gdb | EACCES | execve | policy_block | guarded.elevate | exec /srv/named/gdb x
exec /srv/named/busybox /workspace/ran-busybox | EACCES | execve | incomplete_evidence | guarded.hide | exec /srv/named/busybox x
exec /srv/named/timeout /workspace/ran-timeout | EACCES | execve | incomplete_evidence | guarded.wrap | exec /srv/named/timeout x
exec LD_PRELOAD=/workspace/x.so /srv/named/ok /workspace/ran-preload | EACCES | execve | environment | environment.code | env LD_PRELOAD=/workspace/x.so
exec /run/cordon/x /workspace/ran-own | ENOENT | | | |
TABLE
equal "one program ran, and no other" "ran-ok" "$(cd "$INSIDE/workspace" && echo ran-*)"
refusals guarded <<'TABLE'
hardline | guarded.hardline | rm -rf /
hardline | exec.fork_bomb | :(){ :|:& };:
policy_block | guarded.destroy | rm plain
policy_block | guarded.load | enable -f /workspace/x.so x
protected_path | path.protected | cat ~/.ssh/id_ed25519
protected_path | path.frozen | echo x > .git/config
blocked_root | path.blocked | cat /workspace/closed/f
blocked_root | path.blocked | echo x > closed/f
outside_root | path.outside | echo x > /srv/open/f
environment | environment.code | LD_PRELOAD=/workspace/x.so ls
environment | environment.code | PATH=/workspace ls
incomplete_evidence | guarded.wrap | timeout 5 ls
incomplete_evidence | guarded.dynamic | node -e 1
incomplete_evidence | exec.name | $x
incomplete_evidence | exec.alone | ls; python3 x.py
incomplete_evidence | exec.shell_syntax | echo "
unresolved_network_mutation | exec.shell_socket | echo x > /dev/tcp/9.9.9.9/8000
network_guard | network.metadata | curl http://169.254.169.254/
network_guard | network.private_10 | curl http://10.99.0.9:8000/
stale_snapshot | guarded.interact | agent-browser click @e1
TABLE
run --agent nobody -- ''
equal "a launch without a name" "126 deny invalid_request exec.no_name" "$STATUS $(echo | answers guarded text)"
seen "and its record" invalid_request type=cmd_begin agent=nobody rule.id=exec.no_name
run --agent nowhere --cwd /workspace/none -- ls
equal "a launch without its folder" 126 "$STATUS"
seen "and its record" missing_working_dir type=cmd_end
recorded_all
unchanged texts
check "nobody connected meanwhile" test "$(connections "$WORK/private")$(connections "$WORK/metadata")" = 00

# ---- tightened: observe, readonly, unattended

acts observe observe --mode observe <<'TABLE'
exec /srv/named/curl -X DELETE http://9.9.9.9/ | EACCES | execve | target_mutation | observe.mutate | exec curl -X DELETE http://9.9.9.9/
exec /srv/named/curl -K /workspace/ran-unseen | EACCES | execve | unresolved_network_mutation | observe.unseen | exec curl -K /workspace/x
write /workspace/observed | ok | | | | write /workspace/observed
write /srv/open/new | EACCES | openat | outside_root | path.outside | write /srv/open/new
connect 10.99.0.9 8000 | ECONNREFUSED | connect | network_guard | network.private_10 | connect 10.99.0.9:8000
TABLE
refusals observe <<'TABLE'
target_mutation | observe.mutate | curl -X POST http://9.9.9.9:8000/
unresolved_network_mutation | observe.unseen | curl "$x"
TABLE
refusals readonly <<'TABLE'
policy_block | exec.readonly_one | cat plain | wc -l
policy_block | readonly.rest | id -u
policy_block | readonly.rest | cp plain copy
TABLE
# What of readonly is the kernel's: start files of a login shell are run before the one command, by nobody's leave.
cat >"$INSIDE/etc/profile.d/zz-start.sh" <<'PROFILE'
cd /workspace
: >/dev/null && printf 'null '
id -u >/dev/null 2>&1 && printf 'id '
exec 9>>/workspace/written-by-profile && printf 'wrote '
exec 8<>/dev/tcp/9.9.9.9/8000 && printf 'connected '
/srv/named/mystery /workspace/ran-mystery && printf 'ran '
/srv/named/ok /workspace/ran-in-readonly && printf 'ran '
read -r x </workspace/.env && printf 'secret '
read -r x </workspace/to-file && printf 'outside '
PROFILE
chmod 644 "$INSIDE/etc/profile.d/zz-start.sh"
counted=$(connections "$WORK/public")
run --agent reader --mode readonly -- bash -lc 'cat plain 2>/dev/null'
equal "readonly: a login shell's start files do nothing, and the command reads" "0 null id secret" "$STATUS $(xargs <<<"$OUT")"
check "and nothing was made or reached" test ! -e "$INSIDE/workspace/written-by-profile" -a ! -e "$INSIDE/workspace/ran-mystery" -a "$(connections "$WORK/public")" = "$counted"
for want in 'policy_block openat path.readonly written-by-profile' 'policy_block connect network.readonly 9.9.9.9' 'policy_block execve readonly.rest mystery' \
	'protected_path openat path.sensitive .env' 'protected_path openat path.link to-file'; do
	read -r tag call rule object <<<"$want"
	seen "readonly: $call of $object is $tag, $rule" "$tag" agent=reader mode=readonly "sys.name=$call" "rule.id=$rule" "sys~$(quoted "$object")"
done
recorded_all
equal "and /etc/profile's id is no refusal" 0 "$(records agent=reader decision=deny sys.exec.resolved~/usr/bin/id)"
run --agent alone --unattended -- bash -c ': > /workspace/unattended'
equal "unattended, guarded is readonly" "126 1" "$STATUS $(wait_until 60 has_record agent=alone type=cmd_begin; records agent=alone type=cmd_begin mode=readonly decision=deny)"
check "and wrote nothing" test ! -e "$INSIDE/workspace/unattended"
fixture_stop

# ---- the same switches the other way, and a ceiling

policy paths.json 'p["confine_writes"] = False; p["block_internal_http"] = False; p["roots"] = "strict"'
policy policy.json 'p["max_unattended"] = "observe"'
begin off allow
run --agent ceiling --unattended -- true
seen_mode() { check "$1" wait_until 60 has_record type=cmd_begin "agent=$2" "mode=$3"; }
seen_mode "an unattended launch of a container in off gets the ceiling" ceiling observe
run --agent ceiling2 --unattended --mode guarded -- true
seen_mode "one that asks for guarded is readonly all the same" ceiling2 readonly
acts capped observe --unattended <<'TABLE'
exec /srv/named/curl -X DELETE http://9.9.9.9/ | EACCES | execve | target_mutation | observe.mutate |
connect 10.99.0.9 8000 | ECONNREFUSED | connect | network_guard | network.private_10 |
TABLE
acts widened guarded --mode guarded <<'TABLE'
connect 10.99.0.9 8000 | ok | | | | connect 10.99.0.9:8000
connect 169.254.169.254 8000 | ECONNREFUSED | connect | network_guard | network.metadata | connect 169.254.169.254:8000
write /srv/open/new | EACCES | openat | outside_root | path.outside | write /srv/open/new
write /tmp/new | ok | | | | write /tmp/new
write /home/agent/.ssh/new | EACCES | openat | protected_path | path.protected | write /home/agent/.ssh/new
write /workspace/closed/new | EACCES | openat | blocked_root | path.blocked | write /workspace/closed/new
TABLE
# Reads are not notified: what is outside strict roots, Landlock holds, and no record says so. In text they are judged.
acts strict guarded --mode guarded <<'TABLE'
read /srv/open/f | EACCES | | | |
read /workspace/to-file | EACCES | | | |
read /srv/grant/none | ENOENT | | | |
read /workspace/plain | read 'secret' | | | | read /workspace/plain
TABLE
matches "strict: check of such a read" '^deny outside_root ' "$(echo read /srv/open/f | answers guarded words)"
run --mode guarded -- sh -c 'cat /srv/open/f'
equal "strict: a text that reads there" "126 deny outside_root path.outside" "$STATUS $(echo cat /srv/open/f | answers guarded text)"
unchanged widened
equal "the private listener got one, the other none" "1 0" "$(wait_until 60 grep -q accepted "$WORK/private"; connections "$WORK/private") $(connections "$WORK/metadata")"
fixture_stop

# ---- where nobody reviews

begin guarded deny
printf '/srv/named/mystery /workspace/ran-mystery\n' >"$INSIDE/home/agent/.profile"
chmod 644 "$INSIDE/home/agent/.profile"
run --agent unseen -- bash -lc 'cat plain'
equal "a review that nobody makes is no leave" "0 secret " "$STATUS $OUT $(ls "$INSIDE/workspace" | grep ran-)"
seen "and its record" review_unavailable agent=unseen type=syscall sys.name=execve rule.id=guarded.rest
run --agent unseen2 -- cp plain copy
equal "nor before a launch starts" "126 review" "$STATUS $(echo cp plain copy | answers guarded text | cut -d ' ' -f 1)"
seen "and its record" review_unavailable agent=unseen2 type=cmd_begin rule.id=guarded.write
recorded_all
fixture_stop

# ---- every tag that the product gives was seen here, or where it is said

cat >"$WORK/elsewhere" <<'ELSEWHERE'
audit_unavailable log.sh
unverifiable_exec exec.sh exec_contents.sh
unreviewable_stdin stdio.sh
layer_missing ../../supervisor/enforcer/browsers.c
invalid_path ../unit/test_judge.c
ELSEWHERE
known=$(cd "$SOURCE" && { grep -rhoE '(\.tag = |answer_deny\([^,]+, |refuse\([^"]*)"[a-z_]+"|tag = "[a-z_]+"' supervisor/judge supervisor/enforcer supervisor/browser
	grep -rhoE '"tag": "[a-z_]+"' policies/modes; } | grep -oE '"[a-z_]+"$' | tr -d '"' | sort -u)
equal "no tag is given that is not held against a launch" "" "$(comm -23 <(echo "$known") <(cat "$TAGS" <(cut -d ' ' -f 1 "$WORK/elsewhere") | sort -u) | xargs)"
while read -r tag files; do
	for file in $files; do check "$tag is held in $file" grep -q "$tag" "$HERE/$file"; done
done <"$WORK/elsewhere"
