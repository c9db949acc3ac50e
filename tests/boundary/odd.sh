#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Odd ways to say what is asked for, odd states to ask from, and descriptors that travel between launches.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
attack=/srv/bin/attack-odd
echo untouched >"$INSIDE/srv/open/target"
chmod 666 "$INSIDE/srv/open/target"
listen 10.99.0.1 8000 0 "$WORK/denied"

for user in agent root; do
	# ---- arguments in memory that the kernel reads and the supervisor cannot ----
	run --agent "secret-$user" --user $user -- $attack secrets /srv/open/target 10.99.0.1 8000
	if grep -q 'secret none' <<<"$OUT"; then
		skip "arguments in secret memory ($user)" "no memfd_secret here"
	else
		equal "$user: nothing is done with arguments in secret memory" \
			"open EFAULT chmod EFAULT truncate EFAULT open-own EFAULT connect EFAULT sendto EFAULT exec EFAULT" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
		recorded "and each is recorded" "agent=secret-$user" decision=fail errno=EFAULT sys.name=openat
		recorded "the exec too" "agent=secret-$user" decision=fail errno=EFAULT sys.name=execve
	fi
	# ---- states ----
	run --user $user -- $attack execs /srv/allow/ok
	equal "$user: execs of a thread without its leader, of a child that was stopped, of a descriptor" "leaderless ran stopped-vfork ran path-fd ran" \
		"$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
	run --user $user -- $attack execs /srv/deny/rm
	equal "$user: refused ones" "leaderless EACCES stopped-vfork EACCES path-fd EACCES" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
	# ---- files ----
	run --user $user -- $attack files /srv/open/target
	equal "$user: no flag, clone, mapping, copy, hole, link, watch or kernel file" "" "$(grep ' ok$' <<<"$OUT")"
	matches "$user: all were tried" 'pid-max' "$OUT"
done
equal "the file is untouched" untouched "$(cat "$INSIDE/srv/open/target")"
check "it has no flags" sh -c '! lsattr "$1" 2>/dev/null | grep -q i' sh "$INSIDE/srv/open/target"
equal "the listener got nothing" 0 "$(connections "$WORK/denied")"
check "nothing refused ran" test ! -e "$INSIDE/workspace/denied-ran"
equal "nothing is left stopped or traced" "" "$(stuck)"

# ---- core dumps ----
run -- sh -c 'ulimit -c unlimited; ln -sf /srv/open/through-link /workspace/core; (cd /srv/open && sh -c "kill -SEGV \$\$"); (cd ~/.ssh && sh -c "kill -SEGV \$\$"); cd /workspace && sh -c "kill -SEGV \$\$"; true'
equal "a core is dumped in no place that agents cannot write" target "$(ls -A "$INSIDE/srv/open" | grep -v -x setuid)"
equal "nor under a protected name" id_ed25519 "$(ls -A "$INSIDE/home/agent/.ssh")"

# ---- what a process calls itself ----
run -- cp $attack /workspace/spoof
run --agent spoof -- /workspace/spoof spoof
recorded "a record names the program that was executed, whatever the process says" agent=spoof decision=deny sys.name=openat "proc.exe.path~^/workspace/spoof" "proc.argv=/workspace/spoof spoof"

# ---- descriptors from a looser launch ----
run -- mkdir /workspace/pass
run_beside --agent giver -- /srv/bin/attack-pass give /workspace/pass/file /workspace/pass/socket @giver
wait_until 30 grep -q giving "$WORK/beside/out" || bail "a launch that hands out descriptors" "$(cat "$WORK/beside/err")"
run --agent giver --mode observe -- /srv/bin/attack-pass take /workspace/pass/socket @giver
equal "guarded and observe may write the same files, and pass them" "take /workspace/pass/socket wrote take @giver wrote" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
run --agent taker --mode observe -- /srv/bin/attack-pass take /workspace/pass/socket @giver
equal "an abstract socket is its agent's own" "take /workspace/pass/socket wrote take @giver connect EPERM" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
recorded "where it came from is recorded" agent=taker decision=allow sys.name=connect sys.sock.path=/workspace/pass/socket
lines=$(wc -l <"$INSIDE/workspace/pass/file")
run --agent giver --mode readonly -- /srv/bin/attack-pass take /workspace/pass/socket
equal "readonly runs nothing that could take one" 126 "$STATUS"
run --agent giver --mode readonly -- cat /workspace/pass/file
equal "and reads" "$lines" "$(wc -l <<<"$OUT")"
pkill -KILL --ns "$PID1" --nslist pid -x attack-pass
wait "$BESIDE"
alive "alive"
