#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files: every way to open for writing outside the roots, races, protected names, masks, and the opens that must go on working.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
attack=/srv/bin/attack-files
echo untouched >"$INSIDE/srv/open/target"
chmod 666 "$INSIDE/srv/open/target"
cp /bin/true "$INSIDE/srv/open/setuid"
run -- mkdir -p /tmp/open
succeeded "folders in a write root"

# ---- every form ----
before=$(cd "$INSIDE/srv/open" && stat -c '%n %a %s %Y %i' . target)
run -- $attack forms /srv/open/target
succeeded "every form is answered"
worked=$(grep ' ok$' <<<"$OUT" | grep -v -E '^(plant-|oom-score )' | tr '\n' ';')
equal "no form works outside the roots" "" "$worked"
equal "and nothing there has changed" "$before" "$(cd "$INSIDE/srv/open" && stat -c '%n %a %s %Y %i' . target)"
equal "no byte of it" untouched "$(cat "$INSIDE/srv/open/target")"
recorded "refused opens are recorded with what they resolved to" decision=deny sys.name=openat sys.path.resolved=/srv/open/target tag=outside_root
run --user root -- $attack forms /srv/open/target
equal "nor as root" "" "$(grep ' ok$' <<<"$OUT" | grep -v -E '^(plant-|oom-score )' | tr '\n' ';')"
equal "nothing has changed then either" "$before" "$(cd "$INSIDE/srv/open" && stat -c '%n %a %s %Y %i' . target)"
alive "alive after every form"

# ---- races ----
denials() {
	inside $CORDON status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["denials"])'
}
# A refusal that the enforcer did not make is Landlock's, of a path that was swapped after it was judged: that is how often the window was hit.
hit=0
for race in path truncate how dirfd cwd link; do
	judged=$(denials)
	run -- $attack race-$race 20000
	refused=$(sed -n 's/.*refused=\([0-9]*\).*/\1/p' <<<"$OUT")
	judged=$(($(denials) - judged))
	note "$OUT window=$((refused - judged))"
	hit=$((hit + refused - judged))
	matches "race of $race: nothing is won in 20,000 tries" 'tries=20000 wins=0 opened=[1-9][0-9]* refused=[1-9]' "$OUT"
done
check "the window was hit at all ($hit times)" test "$hit" -gt 0
equal "the file of the races is untouched" untouched "$(cat "$INSIDE/srv/open/target")"
alive "alive after the races"

# ---- protected names ----
run -- cat /home/agent/.ssh/id_ed25519
equal "a secret reads as nothing" "" "$OUT"
recorded "and the try is recorded" decision=deny tag=protected_path
for way in 'echo x >~/.ssh/new' 'mv ~/.ssh ~/moved' 'mv ~/.ssh /workspace/' 'rmdir ~/.ssh' 'mkdir ~/.aws/x' 'rmdir ~/.aws && mkdir ~/.aws' 'mv /home/agent /home/x' \
	'mv ~/.gnupg ~/.gnupg2' 'ln -s /workspace ~/.kube2 && mv -T ~/.kube2 ~/.kube' 'mkdir /workspace/ssh; mv --exchange /workspace/ssh ~/.ssh' \
	'chmod 777 ~/.ssh' 'cp ~/.ssh/id_ed25519 /workspace/stolen && test -s /workspace/stolen' 'tar -cf - ~/.ssh | grep -a "the secret"' \
	'cat /proc/self/root/home/agent/.ssh/id_ed25519 | grep secret' 'cat /home/other/.ssh/id_ed25519 | grep secret' 'find ~/.ssh -type f -size +0 | grep .'; do
	run -- bash -c "$way"
	if [ "$STATUS" -ne 0 ]; then ok "refused: $way"; else not_ok "refused: $way" "status 0" "$OUT" "$ERR"; fi
done
equal "the secret is where it was" "the secret of /home/agent" "$(cat "$INSIDE/home/agent/.ssh/id_ed25519")"
run -- sh -c 'ls -a /run/cordon /var/lib/cordon; cat /var/lib/cordon/audit/*; ls /proc/1/root/run/cordon'
equal "Cordon's own folders are empty for agents" 0 "$(grep -c -E 'sock|jsonl|\{' <<<"$OUT")"
run --user root -- sh -c 'cat /var/lib/cordon/audit/audit-000001.jsonl; echo x >>/var/lib/cordon/audit/audit-000001.jsonl; ls /proc/1/root/run/cordon'
equal "also for root" "" "$OUT"
check "the log is whole" inside $CORDON audit verify

# ---- rights ----
cat >"$WORK/setuid.c" <<'C'
#include <stdio.h>
#include <unistd.h>
int main(void) { printf("%d %d\n", geteuid(), getegid()); }
C
gcc -static -o "$INSIDE/srv/bin/ids" "$WORK/setuid.c" && chown root:root "$INSIDE/srv/bin/ids" && chmod 6755 "$INSIDE/srv/bin/ids"
run -- /srv/bin/ids
equal "a set-user-id program gives nothing" "1500 1500" "$OUT"
run_script 'cp /srv/bin/ids /workspace/mine; python3 -c "import os; os.chmod(\"/workspace/mine\", 0o6755)"; grep -E "^(CapEff|CapBnd|CapPrm|CapAmb|NoNewPrivs)" /proc/self/status'
equal "no capability, none to get, no new privileges" "CapPrm:	0000000000000000 CapEff:	0000000000000000 CapBnd:	0000000000000000 CapAmb:	0000000000000000 NoNewPrivs:	1" \
	"$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
run --user root -- sh -c 'grep -E "^(CapEff|CapBnd|CapPrm|CapAmb|NoNewPrivs)" /proc/self/status'
equal "root in a launch has none either" "CapPrm:	0000000000000000 CapEff:	0000000000000000 CapBnd:	0000000000000000 CapAmb:	0000000000000000 NoNewPrivs:	1" \
	"$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"

# ---- what works must work as ever ----
in_folder='mkdir /tmp/w-$$ && cd /tmp/w-$$ && '
same_as_native_script "FIFOs, devices, memfd, openat2, errnos: same results as without Cordon" "$in_folder exec $attack works"
same_as_native "terminals" $attack terminals
run -- sh -c 'echo through >/proc/self/fd/1; echo again >/dev/stdout; echo x >/dev/null; echo to-err >/dev/stderr'
equal "/proc/self/fd/1 and /dev/stdout" "through again" "$(tr '\n' ' ' <<<"$OUT" | sed 's/ $//')"
run -- sh -c 'mkdir /workspace/a /workspace/b && echo 1 >/workspace/a/f && mv /workspace/a/f /workspace/b/g && ln /workspace/b/g /workspace/a/h && cat /workspace/a/h'
equal "renames and links between folders" 1 "$OUT"
# A FIFO nobody writes: the caller waits, nobody else does.
run -- mkfifo /workspace/empty-fifo
run_beside --timeout 100 -- sh -c 'cat /workspace/empty-fifo'
wait_until 30 inside pgrep -fx 'cat /workspace/empty-fifo' || bail "a launch waits"
alive "alive while another launch waits in open() of a FIFO"
inside pkill -KILL -fx 'cat /workspace/empty-fifo'
wait "$BESIDE"
alive "alive afterwards"
