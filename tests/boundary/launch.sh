#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A launch is judged as a whole before any of it runs: what only a text shows (redirections, eval, sockets of the shell, settings), what needs a review,
# what the reader does not model. Then what the launch foretells of its execs, and readonly, where one plain read command is all there is.
. "$(dirname "$0")/lib.sh"
fixture_start guarded deny
listen 127.0.0.1 8000 0 "$WORK/listener"
echo line >"$INSIDE/workspace/f"
echo 'echo sourced > /tmp/sourced' >"$INSIDE/workspace/x.sh"

passes() {	# NAME OUTPUT COMMAND…
	local name=$1 expected=$2
	shift 2
	run -- "$@"
	equal "$name" "0 $expected" "$STATUS $(echo $OUT)"
}

passes "a text of plain commands" "f line" sh -c 'cd /workspace && ls f; cat f'
passes "in a login shell" line bash -lc 'cat /workspace/f'
passes "in one shell more" line sh -lc "bash -lc 'cat /workspace/f'"
passes "without a shell" line cat f
passes "what builtins do to standard output and nowhere else" "a b" bash -c 'for i in a b; do echo $i; done | paste -sd " " -; echo lost >/dev/null; echo err >&2'
run -c 'cat f; echo through'
equal "run -c" "0 line through" "$STATUS $(echo $OUT)"
recorded "run -c in the record" type=cmd_begin decision=allow rule.id=exec.text

# ---- refused, and nothing of the text ran: not even what stands before

denied() {	# TAG TEXT
	run -- bash -c "echo begun > /dev/stderr; echo begun; $2"
	if [ "$STATUS" -eq 126 ] && [ -z "$OUT" ] && [ "$(wc -l <<<"$ERR")" -eq 1 ] &&
		python3 -c 'import json,sys; s=json.loads(sys.argv[1])["safety"]; assert s["tag"] == sys.argv[2] and s["source"] == "deterministic" and s["case_id"] and s["rule"] and s["reason"]' \
			"$ERR" "$1" 2>/dev/null; then
		ok "$1: $2"
	else
		not_ok "$1: $2" "status $STATUS" "$OUT" "$ERR"
	fi
}

denied outside_root 'echo x > /srv/target'
denied outside_root 'echo x >> /srv/open/../target'
denied policy_block '> /srv/target'
denied outside_root '{ echo a; echo b; } > /srv/target'
denied outside_root 'exec 3> /srv/target; echo x >&3'
denied outside_root 'cat f | while read l; do echo "$l" > /srv/target; done'
denied unresolved_network_mutation 'echo x > /dev/tcp/127.0.0.1/8000'
denied unresolved_network_mutation 'exec 3<>/dev/tcp/127.0.0.1/8000; cat <&3'
denied incomplete_evidence 'eval "$(cat /workspace/x.sh)"'
denied incomplete_evidence 'x="$(cat x.sh)"; eval "$x"'
denied incomplete_evidence '. /workspace/x.sh'
denied incomplete_evidence 'source x.sh'
denied incomplete_evidence 'bash < <(cat x.sh)'
denied incomplete_evidence 'cat x.sh | sh'
denied incomplete_evidence 'a=r; b=m; $a$b f'
denied incomplete_evidence 'trap "$(cat x.sh)" EXIT'
denied incomplete_evidence 'x='\''a[$(echo > /tmp/sourced)]'\''; echo $((x))'
denied incomplete_evidence 'echo "unfinished'
denied incomplete_evidence 'hash -p /srv/allow/ok ls; ls'
denied incomplete_evidence 'timeout 5 cat f'
denied policy_block 'timeout 5 rm f'
denied environment 'export LD_PRELOAD=/workspace/x.so; ls'
denied environment 'LD_PRELOAD=/workspace/x.so ls'
denied environment 'BASH_ENV=x.sh bash -c ls'
denied environment 'declare -x PYTHONPATH=/workspace; ls'
denied environment 'PATH=/workspace:$PATH; ls'
denied policy_block 'rm f'
denied policy_block 'ls; (cd / && { rm workspace/f; })'
denied policy_block 'if false; then rm f; fi'
denied policy_block 'echo ${x:-$(rm f)}'
denied policy_block 'f() { rm f; }; f'
denied policy_block 'enable -f /workspace/x.so x'
denied hardline 'cd / && rm -rf workspace'
denied hardline ':(){ :|:& };:'
denied hardline 'rm -rf "$HOME"'
denied protected_path 'cat ~/.ssh/id_ed25519'
equal "nothing was written" "untouched line" "$(cat "$INSIDE/srv/target") $(cat "$INSIDE/workspace/f")"
check "nothing ran" test ! -e "$INSIDE/tmp/sourced"
equal "nobody connected" 0 "$(connections "$WORK/listener")"
case_id=$(python3 -c 'import json,sys; print(json.loads(sys.argv[1])["safety"]["case_id"])' "$ERR")
recorded "the case is in the log" type=cmd_begin "case_id=$case_id" decision=deny tag=protected_path
matches "and known to status" '"state":"refused".*"started":false.*"exit":126' "$(launch=${case_id#case-}; inside $CORDON status --json --launch "${launch%-*}")"

run -- sh -c 'echo x > /workspace/new'
refused "what needs a review is refused where nobody reviews"
matches "and says so" '"tag":"review_unavailable"' "$ERR"
check "and does not happen" test ! -e "$INSIDE/workspace/new"

# ---- size and time

{ printf 'ls'; head -c 65540 /dev/zero | tr '\0' ' '; } >"$WORK/text"
run -- sh -c "$(cat "$WORK/text")"
refused "a text above 64 KiB"
heavy=$(python3 -c 'print(";".join(["test a 2>/dev/null"] * 3200))')	# some 100 ms in a debug build, 20 in another
for i in 1 2 3 4 5 6; do
	(WORK=$WORK/heavy$i && mkdir "$WORK" && run --agent "heavy$i" -- sh -c "$heavy; true") 2>/dev/null &
	pids[i]=$!
done
began=${EPOCHREALTIME/./}
run -- cat f
ms=$(((${EPOCHREALTIME/./} - began) / 1000))
wait "${pids[@]}"
all_ms=$(((${EPOCHREALTIME/./} - began) / 1000))	# on a slow machine it may take longer, but not as long as they do
check "a launch beside six texts of 60 KiB that are read ($ms ms, they took $all_ms)" test "$STATUS$OUT" = 0line -a \( "$ms" -lt 2000 -o "$ms" -lt $((all_ms / 2)) \)
equal "and they ran" "0 0 0 0 0 0" "$(cat "$WORK"/heavy?/status | xargs)"

# ---- what the launch foretells of its execs: by itself, each of these would need a review

URL=http://127.0.0.1:48080/f	# the proxy's place: a port that is always reachable
inside python3 -c 'import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"fetched\n")
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", 48080), Handler).serve_forever()' &
wait_until 30 inside curl -sf "$URL" || bail "a server answers"
passes "a request of a text" fetched sh -c "curl -s $URL"
passes "of a launch without a shell" fetched curl -s $URL
passes "of a tool that runs what stands in its words" fetched find f -exec curl -s $URL ';'
passes "in another folder" fetched sh -c "cd /srv && curl -s $URL"
passes "behind a pipe" fetched bash -lc "curl -s $URL | cat"
recorded_times "each is the plan's" 5 type=syscall sys.name=execve by=plan sys.exec.resolved~curl decision=allow
mkdir "$INSIDE/home/agent/bin" && cp "$INSIDE/bin/echo" "$INSIDE/home/agent/bin/curl" && inside chown -R agent: /home/agent/bin
run --env PATH=/home/agent/bin:/usr/bin:/bin -- sh -c "curl -s $URL"
equal "what agents put in a program's place is not it" "126 " "$STATUS $OUT"
run --env PATH=/home/agent/bin:/usr/bin:/bin -- curl -s $URL
equal "nor in a launch's own" "126 " "$STATUS $OUT"
run --env PATH=/home/agent/bin:/usr/bin:/bin -- sh -c "/usr/bin/curl -s $URL"
equal "but by its path it is" "0 fetched" "$STATUS $OUT"
inside mkfifo -m 666 /workspace/fifo
run_beside -- sh -c "cat fifo; curl -s $URL"
wait_until 30 inside pgrep -fx 'cat fifo' || bail "a launch waits"
kill_enforcer
timeout 60 sh -c "echo go > '$INSIDE/workspace/fifo'"
wait "$BESIDE"
equal "a new enforcer foresees the same" "0 go fetched" "$(cat "$WORK/beside/status") $(xargs <"$WORK/beside/out")"
fixture_stop

fixture_start guarded allow
cat >"$WORK/exec.c" <<'C'
#include <unistd.h>
int main(int argc, char **argv) { return argc < 2 || execvp(argv[1], argv + 1); }
C
gcc -static -o "$INSIDE/srv/bin/starts" "$WORK/exec.c" || bail "a program that execs"
copies() {
	records "sys.exec.resolved~/cp" "by=$1" decision=allow
}
of_cp() {	# NAME PLAN ALONE COMMAND…: how many of the launch's execs of cp are foreseen, and how many are not
	local name=$1 plan=$2 alone=$3
	plan=$((plan + $(copies plan))) alone=$((alone + $(copies alone)))
	shift 3
	run -- "$@"
	all_recorded
	equal "$name" "0 $plan $alone" "$STATUS $(copies plan) $(copies alone)"
}
echo line >"$INSIDE/workspace/f"
of_cp "a command of the text" 1 0 sh -c 'cp f g'
recorded "passed unreviewed, and so its exec" type=syscall by=plan unreviewed=True sys.exec.resolved~/cp
recorded "as the launch" type=cmd_begin decision=allow unreviewed=True
of_cp "as often as it comes" 3 0 bash -c 'for i in 1 2 3; do cp f g; done'
of_cp "each that is spelled out, and no other" 1 1 bash -c 'cp f g; for i in h; do cp f $i; done'
of_cp "not what another program makes of the same words" 1 1 sh -c 'cp f g; /srv/bin/starts cp f g'
of_cp "nor a shell that it starts" 1 1 sh -c 'cp f g; /srv/bin/starts sh -c "cp f g && true"'
of_cp "nothing of what a launch's own program does" 0 1 /srv/bin/starts cp f g
inside ln -s /tmp /workspace/link
of_cp "nor what a link makes another folder" 1 1 sh -c 'cp f g; cd link && cp /workspace/f g'

# ---- the enforcer dies while it judges a launch

heavy=$(python3 -c 'print(";".join(["cd /workspace 2>/dev/null"] * 2300))')
for wait in 0.03 0.05 0.08; do
	rm -f "$INSIDE/workspace/count"
	(WORK=$WORK/killed && mkdir -p "$WORK" && run -- bash -c "$heavy; echo ran >> /workspace/count") 2>/dev/null &
	pid=$!
	sleep "$wait"	# anywhere in it
	kill_enforcer
	wait "$pid"
	case $(cat "$WORK/killed/status") in
	0) equal "the next one judges, and it runs once ($wait)" ran "$(cat "$INSIDE/workspace/count")" ;;
	137) check "its first exec was in flight ($wait)" test ! -e "$INSIDE/workspace/count" ;;
	*) not_ok "an enforcer that dies while it judges ($wait)" "$(cat "$WORK/killed/status" "$WORK/killed/err")" ;;
	esac
	wait_until 30 healthy
done
fixture_stop

# ---- wrappers that are followed: judged in the text, and at the exec they make

cp -r "$SOURCE/policies" "$WORK/policies"
sed -i 's/"wrappers": "block"/"wrappers": "follow"/' "$WORK/policies/policy.json"
FIXTURE_POLICIES=$WORK/policies
fixture_start guarded deny
echo line >"$INSIDE/workspace/f"
passes "followed: a wrapper" line timeout 5 cat f
passes "followed: several, in a text" "line done" sh -c 'nice -n 1 nohup setsid -w env A=1 timeout 5 cat f 2>/dev/null; echo done'
passes "followed: xargs" line sh -c 'echo f | xargs -n 1 cat'
for text in 'timeout 5 rm f' 'echo f | xargs rm' 'nice nohup env A=1 setsid rm f' 'timeout 5 sh -c "rm f"' 'timeout 5 busybox rm f' 'sudo cat f' 'env LD_PRELOAD=/workspace/x.so timeout 5 cat f'; do
	run -- sh -c "$text"
	refused "followed, and refused: $text"
done
fixture_stop
fixture_start guarded allow
echo line >"$INSIDE/workspace/f"
for text in 'timeout 5 rm f' 'echo f | xargs rm' 'nice nohup env A=1 setsid -w rm f' 'timeout 5 sh -c "rm f"' 'x=rm; timeout 5 nice $x f' 'find f -exec nice rm {} ";"' 'echo "rm f" | xargs -I{} sh -c "{}"' \
	'timeout 5 /lib64/ld-linux-x86-64.so.2 /bin/rm f'; do
	run_script "$text"
	check "followed to its exec in a script: $text" test -e "$INSIDE/workspace/f"
done
run_script 'timeout 5 nice cat f'
equal "and what may run runs" "0 line" "$STATUS $OUT"
fixture_stop
FIXTURE_POLICIES=

# ---- readonly: one plain read command inside the project, however it is wrapped

fixture_start readonly deny
echo line >"$INSIDE/workspace/README.md"
echo 'cat /workspace/README.md' >"$INSIDE/workspace/x.sh"
cp "$INSIDE/bin/echo" "$INSIDE/workspace/cat"
STAGE=/tmp/sandbox-docker-archive UUID=0123456789abcdef0123456789abcdef
PTY='mkdir -p "$1" && printf "%s" "$$" > "$2" && shift 2 && exec "$@"'
passes "readonly: a read command" line cat README.md
passes "readonly: in a shell" line sh -c 'cat README.md'
passes "readonly: in a login shell" line bash -lc 'cat -- README.md'
passes "readonly: in two" line sh -lc "bash -lc 'cat README.md'"
passes "readonly: behind a host's template" line sh -lc "$PTY" sh $STAGE $STAGE/${UUID}_pty.pid bash -lc 'cat README.md'
passes "readonly: numbered lines" 1:line sh -c 'grep -n line README.md'
for text in 'cat README.md; cat README.md' 'cat README.md | cat' 'cat README.md > x' 'cat /etc/passwd' 'cat ../etc/passwd' 'cat ~/x' 'cat "$X"' 'cat *' 'cat .env' 'sh x.sh' \
	'. ./x.sh' './cat README.md' '/workspace/cat README.md' 'curl -s http://127.0.0.1/' 'touch x' 'python3 -c 1' 'sh' 'env' 'echo $(cat README.md)' 'eval ls' 'cat <(ls)'; do
	run -- sh -c "$text"
	refused "readonly, refused: $text"
done
for words in 'sh x.sh' './cat README.md' 'cat /etc/passwd' 'bash' 'env cat README.md' 'timeout 5 cat README.md' 'find . -delete' 'touch x'; do
	run -- $words
	refused "readonly, refused without a shell: $words"
done
check "nothing was written" test ! -e "$INSIDE/workspace/x"
echo 'the secret' >"$INSIDE/workspace/.env"
ln -s .env "$INSIDE/workspace/link"
mkdir "$INSIDE/workspace/credentials"
echo 'the secret' >"$INSIDE/workspace/credentials/x"
run -- cat link
equal "readonly: what is called like a secret is not read by another name" "1 " "$STATUS $OUT"
recorded "and is recorded" sys.name=openat decision=deny rule.id=path.sensitive sys.path.resolved=/workspace/.env
ln -s /etc/passwd "$INSIDE/workspace/out"
ln -s /etc "$INSIDE/workspace/outside"
run -- cat out
equal "readonly: a link that leads out of the project, to what programs may read" "1 " "$STATUS $OUT"
recorded "and is recorded, too" sys.name=openat decision=deny rule.id=path.link sys.path.resolved=/etc/passwd
run -- cat outside/passwd
equal "readonly: nor by a folder" "1 " "$STATUS $OUT"
run --cwd /workspace/outside -- cat passwd
check "readonly: nor from such a folder" test "$STATUS" -ne 0
run -- grep -r . .
equal "nor by a search of the whole tree" "./README.md:line" "$(grep -v x.sh <<<"$OUT" | grep -av ^Binary)"
fixture_stop

# ---- off: nothing is refused, and the record says what guarded would have said

fixture_start off deny
run -- bash -c 'x=rm; $x -f /workspace/none; echo "$x" > /tmp/written; echo done'
equal "off: it runs" "0 done" "$STATUS $OUT"
recorded "off: the launch's record has guarded's answer" type=cmd_begin mode=off decision=allow shadow.decision=deny shadow.tag=incomplete_evidence
run -- bash -c 'echo plain'
recorded "off: also where it is the same" type=cmd_begin mode=off shadow.decision=allow

# ---- which mode a launch gets

begun() {	# NAME MODE RUN-OPTION…: the mode in the record of a launch with these options
	local name=$1 mode=$2
	shift 2
	run --agent "mode$RESULTS" "$@" -- true
	recorded "$name" type=cmd_begin "agent=mode$((RESULTS))" "mode=$mode"
}
not_started() {	# NAME PATTERN RUN-OPTION…
	local name=$1 pattern=$2
	shift 2
	run "$@" -- true
	matches "$name" "^125 .*$pattern" "$STATUS $ERR"
}
begun "off: one may be tightened" observe --mode observe
begun "unattended in off, which the host wrote" off --unattended
not_started "a retired name says the new one" standard --mode developer
not_started "an unknown one is an error" bogus --mode bogus
fixture_stop
fixture_start guarded allow
begun "guarded: as the container's" guarded
begun "tightened" readonly --mode readonly
begun "unattended, guarded becomes readonly" readonly --unattended
begun "observe as well" readonly --unattended --mode observe
not_started "none is loosened" 'never loosen' --mode off
not_started "by no other name" 'never loosen' --mode yolo
run --unattended -- sh -c 'echo x > /workspace/unattended'
refused "an unattended launch writes nothing"
run --mode observe -- curl -s -X POST http://192.0.2.1/
refused "a tightened launch sends no mutating request"
matches "and says why" '"tag":"(target_mutation|network_guard)"' "$ERR"
