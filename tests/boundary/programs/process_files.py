# SPDX-License-Identifier: Apache-2.0
# needs: python3
"""What programs write of themselves and of their children in /proc: thread names, the order of out-of-memory kills, what a core dump holds."""
import ctypes
import errno
import os
import resource
import threading

libc = ctypes.CDLL(None, use_errno=True)


def say(what, call, *arguments):
    try:
        answer = call(*arguments)
    except OSError as e:
        answer = errno.errorcode[e.errno]
    print(what, answer)


def write(path, text, flags=os.O_WRONLY):
    fd = os.open(path, flags)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
    with open(path) as f:
        return f.read().strip()


started, named = threading.Event(), threading.Event()
threading.Thread(target=lambda: (started.set(), named.wait(10)), daemon=True).start()
started.wait(10)
other = max(int(t) for t in os.listdir("/proc/self/task"))
say("another thread's name", write, f"/proc/self/task/{other}/comm", "worker")
say("by the C library", lambda: libc.pthread_setname_np(ctypes.c_ulong(threading.main_thread().ident), b"leader"))
named.set()
say("its own name", write, "/proc/self/comm", "me")
say("its own name, open to read and write", write, "/proc/self/comm", "me again", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
say("by thread-self", write, "/proc/thread-self/comm", "self")
say("by its pid and a folder", lambda: os.close(os.open("comm", os.O_WRONLY, dir_fd=os.open(f"/proc/{os.getpid()}", os.O_RDONLY))))
say("as a folder", os.open, "/proc/self/comm", os.O_WRONLY | os.O_DIRECTORY)
say("its place for out-of-memory kills", write, "/proc/self/oom_score_adj", "300")
say("back", write, "/proc/self/oom_score_adj", "100")
say("below where it may be", write, "/proc/self/oom_score_adj", "-1000")
say("what a core dump holds", write, "/proc/self/coredump_filter", "0x31")
say("peak memory", lambda: os.write(os.open("/proc/self/clear_refs", os.O_WRONLY), b"5"))
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.close(writer)
    os.read(reader, 1)
    os._exit(0)
say("a child's place", write, f"/proc/{child}/oom_score_adj", "500")
say("a child's name", write, f"/proc/{child}/comm", "child")
os.close(writer)
os.waitpid(child, 0)
say("a child that is gone", write, f"/proc/{child}/oom_score_adj", "500")
say("what nobody may write", write, "/proc/self/status", "x")
say("another's", write, "/proc/1/oom_score_adj", "1000")
say("another's name", write, "/proc/1/comm", "x")
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
held = []
try:
    while True:
        held.append(os.dup(0))
except OSError:
    pass
say("with a full descriptor table", os.open, "/proc/self/comm", os.O_WRONLY)
os.close(held.pop())
fd = os.open("/proc/self/comm", os.O_WRONLY | os.O_CLOEXEC)
print("lowest number", fd == max(held) + 1 or fd, "close-on-exec", not os.get_inheritable(fd))
