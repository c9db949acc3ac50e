#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real programs give the same output and status with and without Cordon.
IMAGE_OF_TOOLS=${CORDON_TOOLS_IMAGE:?names the image with the tools; tests/run sets it}
. "$(dirname "$0")/lib.sh"
IMAGE=$IMAGE_OF_TOOLS
start_guarded
start_plain

same "curl of a file" bash -lc 'curl -sS file:///etc/debian_version'
STATUS=37 same "curl says no" bash -lc 'curl -sS file:///no/such/file'

repository='set -e; export GIT_AUTHOR_DATE="2026-01-01T00:00:00Z" GIT_COMMITTER_DATE="2026-01-01T00:00:00Z"
cd /workspace && git init -q -b main origin && cd origin && git config user.email a@example.test && git config user.name A
for i in $(seq 20); do echo "line $i" >> file.txt; git add file.txt; git commit -q -m "commit $i"; done
cd .. && git clone -q origin copy && cd copy && git log --oneline | head -n 3 && git fsck --full && git status --short --branch'
same_script "git: twenty commits, a clone, fsck" "$repository"
same_script "git diff and grep" 'cd /workspace/copy && echo more >> file.txt && git diff --stat && git grep -c line'

same "python with threads" python3 -c '
import threading, queue, hashlib
q = queue.Queue()
def work(n):
    q.put((n, hashlib.sha256(str(n).encode() * 100000).hexdigest()[:12]))
threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
[t.start() for t in threads]; [t.join() for t in threads]
print(sorted(q.queue))'
same "python with processes" python3 -c '
import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Pool(4) as pool: print(pool.map(abs, range(-50, 0)))'
same "python: subprocess, pipes, temporary files" python3 -c '
import subprocess, tempfile, os
print(subprocess.run(["sort", "-r"], input="b\na\nc\n", text=True, capture_output=True).stdout)
with tempfile.TemporaryDirectory(dir="/workspace") as d:
    open(os.path.join(d, "x"), "w").write("x" * 1000); os.rename(os.path.join(d, "x"), os.path.join(d, "y")); print(os.listdir(d), os.path.getsize(os.path.join(d, "y")))'
same "python: a server and its client on loopback" python3 -c '
import socket, threading
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
def serve():
    c, _ = s.accept(); c.sendall(c.recv(100).upper()); c.close()
t = threading.Thread(target=serve); t.start()
c = socket.create_connection(s.getsockname()); c.sendall(b"hello"); print(c.recv(100)); t.join()'
put_script child.py '
import asyncio, signal
hits = []
signal.signal(signal.SIGALRM, lambda *a: hits.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.05)
async def main():
    p = await asyncio.create_subprocess_exec("echo", "from a child", stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate(); print(out); await asyncio.sleep(0.2)
asyncio.run(main()); print(hits)'
same "python: asyncio, sockets pairs, signals, alarm" python3 /workspace/child.py
put_script child.js '
const { execFileSync } = require("child_process"), fs = require("fs"), http = require("http"), crypto = require("crypto");
console.log(execFileSync("printf", ["%s", "child"]).toString(), crypto.createHash("sha256").update("x").digest("hex").slice(0, 8));
fs.writeFileSync("/workspace/node.txt", "written"); console.log(fs.readFileSync("/workspace/node.txt", "utf8"));
const s = http.createServer((q, r) => r.end("pong")).listen(0, "127.0.0.1", () => http.get({ host: "127.0.0.1", port: s.address().port }, (r) => { r.on("data", (d) => { console.log(String(d)); s.close(); }); }));'
same "node" node /workspace/child.js

build='set -e; mkdir -p /workspace/c && cd /workspace/c
for i in $(seq 12); do printf "int f%d(int x) { return x * %d; }\n" $i $i > f$i.c; done
{ for i in $(seq 12); do echo "int f$i(int);"; done; echo "#include <stdio.h>"; echo "int main(void) { int s = 0;"; for i in $(seq 12); do echo "s += f$i($i);"; done; echo "printf(\"%d\\n\", s); return s == 650 ? 0 : 1; }"; } > main.c
printf "all: prog\n\nprog: \$(patsubst %%.c,%%.o,\$(wildcard *.c))\n\tcc -o \$@ \$^\n\n%%.o: %%.c\n\tcc -O1 -c -o \$@ \$<\n" > Makefile
make -j4 > log 2>&1; sort log; ./prog; sha256sum prog'
same_script "a C build with make -j" "$build"
same "and what it built runs" sh -c /workspace/c/prog
same_script "make has nothing to do" "make -C /workspace/c"

same_script "a shell script: pipes, here-documents, functions, traps, jobs" '#!/bin/bash
set -euo pipefail
trap "echo cleanup" EXIT
count() { local n=0; while read -r _; do n=$((n + 1)); done; echo "$n"; }
seq 100 | grep 7 | tee /workspace/sevens | count
diff <(sort /workspace/sevens) <(sort -r /workspace/sevens | sort) && echo same
sleep 0.1 & job=$!; wait "$job"; echo "job $?"
while IFS=: read -r name _ uid _; do [ "$uid" -lt 3 ] && echo "$name=$uid"; done < /etc/passwd || true
cat <<-END | tr a-z A-Z
	here $((2 * 21))
	END
(exit 3) || echo "subshell $?"'
same_script "a script by its interpreter line" 'printf "#!/usr/bin/python3\nprint(42)\n" > /workspace/s.py && cp --preserve=mode /usr/bin/git-shell /workspace/mode 2>/dev/null; install -m 755 /workspace/s.py /workspace/run.py && /workspace/run.py'
same "tar, gzip, find, sed, awk" bash -c 'cd /usr/share/common-licenses && tar -czf /workspace/l.tgz GPL-2 GPL-3 && tar -tzf /workspace/l.tgz && find . -name "GPL*" -type f | sort | head -n 4 && sed -n 2p GPL-3 && awk "/GNU/{n++} END{print n}" GPL-3'
same "moving across folders" bash -c 'mkdir -p /workspace/m/a /workspace/m/b && echo 1 > /workspace/m/a/f && mv /workspace/m/a/f /workspace/m/b/g && cat /workspace/m/b/g && mv /workspace/m/b/g /tmp/g && cat /tmp/g'
same "/dev, fifos, /proc/self" bash -c 'echo x > /dev/null; head -c 4 /dev/zero | od -An -c; mkfifo /tmp/fifo && (echo through > /tmp/fifo &) && cat /tmp/fifo; cat /proc/self/comm; echo err > /dev/stderr; (: > /dev/tty) 2>/dev/null || echo no terminal'

# nmap's connect scan of an agent's own listener; its times and dates differ from run to run.
scan='python3 -m http.server 18080 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!
for i in $(seq 50); do (exec 3<>/dev/tcp/127.0.0.1/18080) 2>/dev/null && break; sleep 0.1; done
nmap -sT -n -Pn -p 18079-18081 127.0.0.1 | grep -vE "^Starting|^Nmap done|latency"; kill "$server"'
same_script "nmap -sT of an agent's listener" "$scan"
