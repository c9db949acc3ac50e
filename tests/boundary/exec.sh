#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Execs: races, scripts, descriptors, odd arguments, threads, and the ways round a refused name. The effect first, its record second.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
attack=/srv/bin/attack-exec

never_ran() {
	if [ -e "$INSIDE/workspace/denied-ran" ]; then
		not_ok "$1" "the refused program ran"
		rm -f "$INSIDE/workspace/denied-ran"
	else
		ok "$1"
	fi
}

# ---- a refused name, by every way ----
run -- /srv/deny/rm
refused "a refused name is refused"
recorded "before it starts" type=cmd_begin decision=deny rule.id=guarded.destroy
run_script 'exec /srv/deny/rm'
check "and by a script" [ "$STATUS" -eq 126 ]
recorded "and recorded with what it resolved to" decision=deny sys.name=execve sys.exec.resolved=/srv/deny/rm rule.id=guarded.destroy
echo keep >"$INSIDE/workspace/precious"
chmod 666 "$INSIDE/workspace/precious"
ways=(
	'sh -c "rm precious"'
	'env -S "rm precious"'
	'env A=1 env B=2 rm precious'
	'find . -name precious -exec rm {} ;'
	'find . -name precious -execdir rm {} +'
	'awk "BEGIN { system(\"rm precious\") }"'
	'perl -e "exec q(rm), q(precious)"'
	'python3 -c "import subprocess; subprocess.run([\"rm\", \"precious\"])"'
	'sh -c "sh -c \"sh -c \\\"sh -c \\\\\\\"rm precious\\\\\\\"\\\"\""'
	'git -c alias.x="!rm precious" x'
	'tar -cf - precious --checkpoint=1 --checkpoint-action=exec="rm precious"'
	'bash -c "exec -a ls rm precious"'
	'timeout 5 rm precious'
	'nice rm precious'
	'setsid rm precious'
	'stdbuf -o0 rm precious'
	'sh -c "echo precious | xargs rm"'
	'/lib64/ld-linux-x86-64.so.2 /bin/rm precious'
	'/lib64/ld-linux-x86-64.so.2 --argv0 ls /bin/rm precious'
	'/lib64/../lib64/ld-linux-x86-64.so.2 --preload /workspace/x.so /bin/rm precious'
	'/proc/self/root/bin/rm precious'
	'sh -c "ln -s /bin/rm tidy; ./tidy precious"'
	'sh -c "cd /bin; ./rm /workspace/precious"'
	'sh -c "exec 9</bin/rm; /proc/self/fd/9 precious; /dev/fd/9 precious"'
	'sh -c "ln /bin/rm /workspace/linked; ./linked precious"'
	'unlink precious'
)
kept() {
	if [ -e "$INSIDE/workspace/precious" ]; then
		ok "$1"
	else
		not_ok "$1" "status $STATUS" "$OUT" "$ERR"
		echo keep >"$INSIDE/workspace/precious"
	fi
}
for way in "${ways[@]}"; do
	run -- bash -c "$way"
	kept "refused: $way"
	run_script "$way"
	kept "and in a script: $way"
done
recorded "ld.so as a way round is recorded" decision=deny sys.exec.path~ld-linux
run_script 'cp /bin/ls /workspace/copy && ./copy /workspace/precious'
matches "a copy of an allowed program runs, as an unknown one" precious "$OUT"
recorded "and is recorded as unreviewed" decision=allow unreviewed=True sys.exec.resolved=/workspace/copy
# What is remembered of a program's head holds for that content only: in place it becomes a script of the same size, and a program again.
run_script 'cp /bin/true turns && ./turns && ./turns && size=$(stat -c %s turns) && printf "%-${size}s" "#!/bin/sh
echo "a script"; exit 7 #" >turns; ./turns; echo "$?"; cat /bin/true >turns; ./turns; echo "$?"; stat -c %s turns /bin/true | uniq | wc -l'
equal "a program that turns into a script and back is run as what it is" "a script 7 0 1" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
recorded "and was judged as a script" decision=allow sys.exec.resolved=/workspace/turns sys.exec.interpreter=/usr/bin/dash
cat >"$INSIDE/workspace/nested.sh" <<'SH'
cd /workspace
printf '#!/bin/rm\n' >one
printf '#!/workspace/one\n' >two
printf '#!/workspace/two\n' >three
printf '#!/lib64/ld-linux-x86-64.so.2 /bin/rm\n' >loader
printf '#!/workspace/loader\n' >loader2
printf '#!/srv/allow/date -s\n' >option
python3 -c 'import os; [os.chmod(x, 0o755) for x in ("one", "two", "three", "loader", "loader2", "option")]'
for script in one two three loader loader2 option; do ./$script precious; echo "$script $?"; done
SH
run -- bash /workspace/nested.sh
for script in one two three loader loader2 option; do
	matches "a refused program as interpreter of an interpreter, or with refused words of a #! line: $script" "$script 126" "$OUT"
done
check "and nothing is removed" test -e "$INSIDE/workspace/precious" -a -e "$INSIDE/workspace/two" -a -e "$INSIDE/workspace/loader"
never_ran "the program behind the last one"
run -- $attack memfd-rm
never_ran "fexecve of a refused program"

# ---- races: each says how often it was tried and how often the window was hit ("caught") ----
mkdir -p "$INSIDE/srv/pa"
caught=0
for race in "path vm" "path shm" "path thread" "argv vm" "argv shm" "argv thread" "env vm" "env shm" "env thread"; do
	run -- $attack race $race 2000
	note "$OUT"
	matches "race of $race: the refused one never runs" 'tries=[1-9][0-9]* wins=0 ran=[1-9][0-9]* refused=[1-9][0-9]* caught=[0-9]+ other=0' "$OUT"
	caught=$((caught + $(sed -n 's/.*caught=\([0-9]*\).*/\1/p' <<<"$OUT")))
done
run -- $attack race-cwd 2000
note "$OUT"
matches "race of the working folder" 'wins=0 ran=[1-9][0-9]* refused=[1-9][0-9]* .*other=0' "$OUT"
never_ran "no race left the refused program's mark"
note "the window was hit $caught times"
check "the window was hit at all" test "$caught" -gt 0
recorded "what was caught is recorded" decision=kill tag=unverifiable_exec
alive "alive after the races"

# ---- execs that cannot succeed: what is a probe is recorded, what is a search is counted ----
mkdir -p "$INSIDE/srv/open"
echo data >"$INSIDE/srv/open/data"
run --agent probes -- $attack impossible
note "$(tr '\n' ' ' <<<"$OUT")"
matches "they fail as they must" 'fault EFAULT argv-fault EFAULT too-big E2BIG no-program EACCES folder EACCES missing ENOENT loop ELOOP ' "$(tr '\n' ' ' <<<"$OUT")"
for error in EFAULT E2BIG EACCES ELOOP; do
	recorded "$error is recorded" agent=probes decision=fail sys.name=execve errno=$error sev=low
done
recorded "with what was asked" agent=probes decision=fail errno=EACCES sys.exec.path=/srv/open/data sys.exec.resolved=/srv/open/data
recorded "many of one kind are summed up" agent=probes decision=fail errno=EFAULT "agg.count>90"
equal "names that are not there are no records" 0 "$(records agent=probes errno=ENOENT)"
launch=$(python3 "$HERE/audit_query.py" --show "$INSIDE/var/lib/cordon/audit" type=cmd_begin agent=probes | python3 -c 'import json,sys; print(json.loads(sys.stdin.readline())["launch"])')
recorded "but are counted" type=cmd_end "launch=$launch" "execs_missing=100"
equal "nothing of it is a refusal" 0 "$(records agent=probes decision=deny)"

# ---- as the kernel does ----
in_folder='mkdir -m 755 /tmp/w-$$ && cd /tmp/w-$$ && '
same_as_native_script "scripts and failing execs: same results as without Cordon" "$in_folder exec $attack odd-files"
same_as_native_script "execveat, memfd, /proc/self/fd: same results" "$in_folder $attack odd-files >/dev/null; exec $attack odd-descriptors"
same_as_native_script "odd arguments: same results" "$in_folder exec $attack odd-arguments"

# ---- threads ----
run -- $attack threads 12
equal "a refused exec in a thread leaves the others running" 12 "$(grep -c '^refused-in-thread exit 202' <<<"$OUT")"
equal "one thread execs beside others that open, or exec too" 12 "$(grep -c -E '^(beside-opens|two|eight) exit 0' <<<"$OUT")"
same_as_native "posix_spawn from 64 threads" $attack spawn 64 8
equal "nothing is left stopped or traced" "" "$(stuck)"
alive "alive after the threads"

# ---- what reading arguments may cost others ----
run_beside --timeout 8 -- $attack costly 100000
sleep 0.5
alive "alive while another launch execs 600,000 scattered arguments at a time"
wait "$BESIDE"
check "the enforcer keeps no such arguments" test "$(awk '/^VmRSS/ { print $2 }' "/proc/$(enforcer)/status")" -lt 65536
alive "alive afterwards"
