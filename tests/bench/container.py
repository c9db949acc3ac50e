# SPDX-License-Identifier: Apache-2.0
"""A guarded container made of namespaces alone, and the four ways to run a command in it.

cordond is PID 1 of its own pid, mount and network namespaces, with the tree's policies in mode guarded (unreviewed actions allowed) and no
services. Native, floor and bubblewrap run in the same pid and network namespaces and in the mount namespace that PID 1 was started in and its agents'
is copied from, so that all sides see the same network and files; PID 1's own, where what agents write is noexec, is the host's view only.
"""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

AGENT_UID = 61998
PROXY_PORT = 48080
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/run/agent", "LANG": "C.UTF-8", "USER": "agent", "TMPDIR": "/tmp"}

INSIDE = r"""
set -eu
work=$1 uid=$2 build=$3
shift 3
mount --make-rprivate /
mkdir -p "$work/etc" "$work/state"
mount -t tmpfs -o mode=0755 tmpfs "$work/etc"
mkdir "$work/etc/upper" "$work/etc/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$work/etc/upper,workdir=$work/etc/work" overlay /etc
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -p /workspace /var/lib/cordon
mount --bind "$work/state" /var/lib/cordon
mount --bind "$build" /mnt
mount -t tmpfs -o mode=0777 tmpfs /workspace
sed -i '/^agent:/d' /etc/passwd
echo "agent:x:$uid:$uid::/run/agent:/bin/sh" >>/etc/passwd
mkdir -m 0755 /run/agent
printf '[safe]\n\tdirectory = *\n[user]\n\tname = agent\n\temail = agent@example.com\n[gc]\n\tauto = 0\n' >/run/agent/.gitconfig
chown -R "$uid:$uid" /run/agent
ip link set lo up
echo "bench: exec $EPOCHREALTIME"
exec "$@"
"""


class Failure(Exception):
    pass


def policy_without_services(source, target):
    shutil.copytree(source, target)
    shutil.rmtree(os.path.join(target, "services"), ignore_errors=True)
    path = os.path.join(target, "policy.json")
    with open(path) as f:
        policy = json.load(f)
    policy.update(mode="guarded", unreviewed="allow")
    with open(path, "w") as f:
        json.dump(policy, f)


def comm(pid):
    with open(f"/proc/{pid}/comm") as f:
        return f.read().strip()


class Container:
    def __init__(self, root, build):
        self.build = build
        self.work = tempfile.mkdtemp(prefix="cordon-bench-")
        self.policy = os.path.join(self.work, "policies")
        policy_without_services(os.path.join(root, "policies"), self.policy)
        self.inside = os.path.join(self.work, "inside")
        with open(self.inside, "w") as f:
            f.write(INSIDE)
        self.outer = self.pid1 = self.listener = None
        self.start_ms = None

    def start(self):
        command = ["unshare", "--pid", "--fork", "--mount-proc", "--mount", "--net", "--kill-child", "--", "/bin/bash", self.inside, self.work,
                   str(AGENT_UID), self.build, "/mnt/cordond", "--policy", self.policy, "init"]
        environment = dict(os.environ, CORDON_SHIM="/mnt/cordon-shim")
        environment.pop("CORDON_MODE", None)
        self.log = []
        self.outer = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                                      text=True)
        begun = None
        for line in self.outer.stdout:
            now = time.time()
            self.log.append(line.rstrip())
            if line.startswith("bench: exec "):
                begun = float(line.split()[2])
            if line.startswith("cordon: state ready"):
                self.start_ms = (now - begun) * 1000
                break
        else:
            raise Failure("cordond did not become ready:\n" + "\n".join(self.log))
        with open(f"/proc/{self.outer.pid}/task/{self.outer.pid}/children") as f:
            self.pid1 = int(f.read().split()[0])
        # Nobody reads the log from here on but this: a full pipe would be what is measured.
        self.drain = subprocess.Popen(["cat"], stdin=self.outer.stdout, stdout=subprocess.DEVNULL)

    def stop(self):
        if self.listener:
            self.listener.kill()
            self.listener.wait()
        if self.pid1:
            os.kill(self.pid1, signal.SIGTERM)
        if self.outer:
            try:
                self.outer.wait(15)
            except subprocess.TimeoutExpired:
                self.outer.kill()
                self.outer.wait()
            self.outer = self.pid1 = None

    def remove(self):
        self.stop()
        shutil.rmtree(self.work, ignore_errors=True)

    def enter(self, *command, host=True):
        """host: in PID 1's mount namespace, as the engine's exec; else in the one it was started in, which `unshare` still stands in."""
        mounts = self.pid1 if host else self.outer.pid
        return ["nsenter", "--target", str(self.pid1), f"--mount=/proc/{mounts}/ns/mnt", "--pid", "--net", "--wd=/workspace", "--", *command]

    def run(self, *command):
        """In the namespaces, as root, outside of any launch."""
        done = subprocess.run(self.enter(*command), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=ENVIRONMENT)
        if done.returncode:
            raise Failure(f"{' '.join(command[:3])}: exit {done.returncode}\n{done.stderr[-800:]}")
        return done.stdout

    def listen(self):
        """What stands where the proxy would."""
        self.listener = subprocess.Popen(self.enter(self.tool("work"), "listen", str(PROXY_PORT)), stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, text=True)
        if self.listener.stdout.readline() != "listening\n":
            raise Failure("the listener did not start")

    def tool(self, name):
        """Inside the build is at /mnt: wherever the tree is, programs start from there, which no write root is."""
        return os.path.join("/mnt/tests/bench", name)

    def command(self, side, *command):
        """COMMAND as this side runs it, inside the namespaces."""
        as_agent = ["setpriv", f"--reuid={AGENT_UID}", f"--regid={AGENT_UID}", "--clear-groups", "--"]
        if side == "native":
            return [*as_agent, *command]
        if side in ("floor", "inject"):
            return [self.tool("floor"), *(["--inject"] if side == "inject" else []), *as_agent, *command]
        if side == "cordon":
            return ["/mnt/cordon", "run", "--", *command]
        if side == "bwrap":
            return ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--bind", "/workspace", "/workspace",
                    "--chdir", "/workspace", "--", *command]
        raise Failure(f"no such side: {side}")

    def run_side(self, side, *command, timeout=300):
        """Returns (standard output, seconds)."""
        begun = time.monotonic()
        done = subprocess.run(self.enter(*self.command(side, *command), host=side == "cordon"), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=ENVIRONMENT, timeout=timeout)
        took = time.monotonic() - begun
        if done.returncode:
            raise Failure(f"{side}: {' '.join(command)}: exit {done.returncode}\n{done.stdout[-400:]}{done.stderr[-800:]}")
        return done.stdout, took

    # ---- Cordon's own processes ----

    def children(self, pid):
        found = []
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as f:
                    found += [int(word) for word in f.read().split()]
        except FileNotFoundError:
            pass
        return found

    def processes(self):
        """{"init": pid, "enforcer": pid, "zygotes": [...], "keepers": [...]}: the enforcer forks zygotes, a zygote its keepers."""
        enforcers = [pid for pid in self.children(self.pid1) if comm(pid) == "cordon-enforcer"]
        if len(enforcers) != 1:
            raise Failure(f"{len(enforcers)} enforcers under PID 1")
        zygotes = self.children(enforcers[0])
        return {"init": self.pid1, "enforcer": enforcers[0], "zygotes": zygotes,
                "keepers": [keeper for zygote in zygotes for keeper in self.children(zygote)]}

    def cpu_us(self, pid):
        """Time on a CPU so far, all threads."""
        total = 0
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                total += int(f.read().split()[0])
        return total / 1000
