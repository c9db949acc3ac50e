#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is refused has no effect: the file is still there, /etc is unchanged, no listener is reached; and each refusal is in the audit.
. "$(dirname "$0")/lib.sh"
start_guarded

agent() { docker exec "$GUARDED" "$@"; }

agent sh -c 'mkdir -p /workspace/keep && echo precious > /workspace/keep/file'
refused "rm by its entry name" rm -rf /workspace/keep
equal "leaves the file" precious "$(host 'cat /workspace/keep/file')"
for text in 'rm -rf /workspace/keep' 'true && /bin/rm -f /workspace/keep/file' 'find /workspace/keep -type f -exec rm {} +' \
	'echo /workspace/keep/file | xargs rm' 'shred -u /workspace/keep/file' \
	'python3 -c "import subprocess; subprocess.run([\"rm\", \"-rf\", \"/workspace/keep\"])"'; do
	agent bash -lc "$text" >/dev/null 2>&1
	equal "the file stays: $text" precious "$(host 'cat /workspace/keep/file 2>&1')"
done

before=$(host 'find /etc -xdev -type f -printf "%p %s %m %U %T@\n" | sort | sha256sum')
for text in 'echo x >> /etc/passwd' 'echo x > /etc/new-file' 'cp /bin/true /etc/cron.d/x' 'mkdir /etc/folder' 'touch /etc/passwd' 'ln -s /tmp /etc/link' \
	'python3 -c "open(\"/etc/new-file\", \"w\").write(\"x\")"' 'mv /etc/hostname /etc/hostname2' 'chmod 777 /etc' 'truncate -s 0 /etc/passwd' \
	'echo x > /workspace/../etc/new-file' 'ln -sf /etc/passwd /workspace/l; echo x >> /workspace/l'; do
	status=0
	agent bash -lc "$text" >/dev/null 2>&1 || status=$?
	check "an error: $text" [ "$status" -ne 0 ]
done
equal "nothing under /etc changed" "$before" "$(host 'find /etc -xdev -type f -printf "%p %s %m %U %T@\n" | sort | sha256sum')"
status=0
agent bash -lc 'echo x > /usr/bin/new' >/dev/null 2>&1 || status=$?
check "an error: writing to /usr" [ "$status" -ne 0 ]
check "what is allowed to be written still is" agent sh -c 'echo x > /workspace/fine && echo x > /tmp/fine'

# A listener that no agent started: reached by nobody inside, on an address that is not loopback's.
address=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$GUARDED")
cat >"$WORK/listen.py" <<'PYTHON'
import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("0.0.0.0", 9099)); s.listen(8)
print("listening", flush=True)
while True:
    c, who = s.accept(); print("reached by", who, flush=True); c.sendall(b"HTTP/1.0 200 OK\r\n\r\nreached\n"); c.close()
PYTHON
docker exec -u root "$GUARDED" /usr/bin/python3 -c "$(cat "$WORK/listen.py")" >"$WORK/listen.log" 2>&1 &
wait_until 60 grep -q listening "$WORK/listen.log" || bail "the listener stands" "$(cat "$WORK/listen.log")"
check "the listener answers the host" bash -c "exec 3<>/dev/tcp/$address/9099"
wait_until 60 grep -q reached "$WORK/listen.log"
reached=$(grep -c reached "$WORK/listen.log")
for text in "curl -sS --max-time 5 --noproxy '*' http://$address:9099/" \
	"exec 3<>/dev/tcp/$address/9099 && cat <&3" \
	"python3 -c 'import socket; print(socket.create_connection((\"$address\", 9099), 5).recv(100))'" \
	"python3 -c 'import socket; print(socket.create_connection((\"::ffff:$address\", 9099), 5).recv(100))'"; do
	status=0
	output=$(agent bash -lc "$text" 2>/dev/null) || status=$?
	check "an error: $text" [ "$status" -ne 0 ]
	equal "and no byte: $text" "" "$output"
	put_script text.sh "$text"
	status=0
	output=$(agent bash /workspace/text.sh 2>/dev/null) || status=$?
	equal "in a script an error and no byte" "yes " "$([ "$status" -ne 0 ] && echo yes) $output"
done
equal "the listener was reached by no agent" "$reached" "$(grep -c reached "$WORK/listen.log")"
status=0
agent curl -sS --max-time 5 --noproxy '*' http://169.254.169.254/ >/dev/null 2>"$WORK/err" || status=$?
check "metadata is refused before it starts" [ "$status" -eq 126 ]
put_script text.sh "curl -sS --max-time 5 --noproxy '*' http://169.254.169.254/"
status=0
agent bash /workspace/text.sh >/dev/null 2>"$WORK/err" || status=$?
check "in a script at once, not by a timeout" [ "$status" -eq 7 ]

# System calls that are nobody's business here.
for call in 'unshare -Ur true' 'mount -t tmpfs none /mnt' 'python3 -c "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"' \
	'kill -TERM 1' 'nsenter -t 1 -m true'; do
	status=0
	agent bash -c "$call" >/dev/null 2>&1 || status=$?
	check "an error: $call" [ "$status" -ne 0 ]
done
check "the container still stands" healthy "$GUARDED"

docker exec "$GUARDED" /usr/bin/cordon run --agent last -- true	# the log is written in order
wait_until 60 host 'grep -q "\"last\"" /var/lib/cordon/audit/audit-*.jsonl'
records=$(host 'cat /var/lib/cordon/audit/audit-*.jsonl')
count() { jq -s "[.[] | select($1)] | length" <<<"$records"; }
check "refused execs are recorded" [ "$(count '.decision == "deny" and (.tag == "policy_block" or .tag == "hardline")')" -ge 3 ]
check "refused connects are recorded" [ "$(count '.decision == "deny" and .tag == "network_guard"')" -ge 1 ]
check "every denial names its rule and reason" [ "$(count '.decision == "deny" and ((.rule.id // "") == "" or (.reason // "") == "")')" -eq 0 ]
check "the audit verifies" host 'cordon audit verify'
