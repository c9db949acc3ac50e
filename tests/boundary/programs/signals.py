# SPDX-License-Identifier: Apache-2.0
# needs: python3
"""Signals, limits and priorities of oneself, children, groups, and of what is not there: what they do and what they say."""
import ctypes
import errno
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)


def say(what, call, *arguments):
    try:
        answer = call(*arguments)
    except OSError as e:
        answer = errno.errorcode[e.errno]
    print(what, answer, flush=True)


def system(name, *arguments):
    if libc[name](*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def syscall(number, *arguments):
    if libc.syscall(number, *[ctypes.c_long(a) for a in arguments]) < 0:
        raise OSError(ctypes.get_errno(), str(number))


hits = []
signal.signal(signal.SIGUSR1, lambda number, frame: hits.append(number))
say("kill oneself", os.kill, os.getpid(), signal.SIGUSR1)
say("raise", signal.raise_signal, signal.SIGUSR1)
say("tgkill", syscall, 234, os.getpid(), os.getpid(), signal.SIGUSR1)
say("tkill", syscall, 200, os.getpid(), signal.SIGUSR1)
info = struct.pack("iiiiii", signal.SIGUSR1, 0, -1, 0, os.getpid(), os.getuid()).ljust(128, b"\0")
say("queue", system, "syscall", 129, os.getpid(), int(signal.SIGUSR1), info)
fd = os.pidfd_open(os.getpid())
say("by pidfd", signal.pidfd_send_signal, fd, signal.SIGUSR1)
print("caught", len(hits))
for pid in (-1, -2147483647, 2147483647, 99999):
    say(f"prlimit {pid}", resource.prlimit, pid, resource.RLIMIT_CORE)
    say(f"affinity {pid}", os.sched_getaffinity, pid)
    say(f"set affinity {pid}", os.sched_setaffinity, pid, os.sched_getaffinity(0))
    say(f"priority {pid}", os.setpriority, os.PRIO_PROCESS, pid, 5)
    say(f"group's priority {pid}", os.setpriority, os.PRIO_PGRP, pid, 5)
    say(f"tkill {pid}", syscall, 200, pid, signal.SIGUSR1)
    say(f"tgkill {pid}", syscall, 234, pid, pid, signal.SIGUSR1)
say("kill nobody", os.kill, 99999, signal.SIGTERM)
say("kill no group", os.kill, -99999, signal.SIGTERM)
say("kill by an impossible number", os.kill, -2147483648, signal.SIGTERM)
say("an impossible signal", os.kill, os.getpid(), 99)
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
say("child's limit", resource.prlimit, child.pid, resource.RLIMIT_CORE, (0, resource.prlimit(child.pid, resource.RLIMIT_CORE)[1]))
say("child's priority", os.setpriority, os.PRIO_PROCESS, child.pid, 7)
print("which is", os.getpriority(os.PRIO_PROCESS, child.pid))
say("child's scheduler", os.sched_setscheduler, child.pid, os.SCHED_BATCH, os.sched_param(0))
say("child's CPUs", os.sched_setaffinity, child.pid, {min(os.sched_getaffinity(0))})
say("signal 0", os.kill, child.pid, 0)
say("stop", os.kill, child.pid, signal.SIGSTOP)
print("stopped", os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]))
say("continue", os.kill, child.pid, signal.SIGCONT)
say("its group", os.killpg, child.pid, signal.SIGTERM)
print("ended with", child.wait())
group = os.fork()
if group == 0:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    children = [subprocess.Popen(["sleep", "60"], preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL)) for _ in range(3)]
    os.kill(0, signal.SIGTERM)
    os._exit(sum(c.wait() == -signal.SIGTERM for c in children))
print("kill 0 ended", os.WEXITSTATUS(os.waitpid(group, 0)[1]))
left, right = socket.socketpair()
left.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
right.send(b"x")
message = left.recvmsg(1, 100)
print("credentials", struct.unpack("iii", message[1][0][2])[0] == os.getpid())
print("peer", struct.unpack("iii", left.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == os.getpid())
server = socket.socket(socket.AF_UNIX)
server.bind("signals.sock")
server.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("signals.sock")
print("peer of a connection", struct.unpack("iii", server.accept()[0].getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == os.getpid())
signal.signal(signal.SIGALRM, lambda number, frame: None)
listener = socket.create_server(("127.0.0.1", 0), backlog=0)
held = []
for _ in range(3):
    held.append(socket.socket())
    held[-1].setblocking(False)
    say("connect without waiting", held[-1].connect, listener.getsockname())
wait = socket.socket()
wait.settimeout(0.2)
say("connect with a timeout", lambda: wait.connect_ex(listener.getsockname()) and "timed out")
signal.siginterrupt(signal.SIGALRM, True)
before = time.monotonic()
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)    # again: the first may come before the call
blocked = socket.socket()
descriptor = blocked.detach()
address = struct.pack("=H2s4s8x", socket.AF_INET, struct.pack(">H", listener.getsockname()[1]), socket.inet_aton("127.0.0.1"))
say("a blocking connect that an alarm interrupts", system, "connect", descriptor, address, 16)
print("soon", time.monotonic() - before < 20)
sys.exit(0)
