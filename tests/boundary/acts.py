# SPDX-License-Identifier: Apache-2.0
"""Makes the calls that its arguments name, one each, and prints what the kernel said: "ok", the errno's name, or what was read.

write|mkdir|rmdir|unlink|chmod|read PATH, rename|link|symlink FROM TO, connect|bind|send ADDRESS PORT, unix PATH, socket FAMILY TYPE, unshare,
exec [NAME=VALUE…] PROGRAM WORD…"""
import ctypes
import errno
import os
import re
import socket
import sys


def write(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.write(fd, b"written\n")
    os.close(fd)


def read(path):
    with open(path) as f:
        return "read '" + f.read().strip() + "'"


def on_socket(kind, call):
    def act(address, port):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        with socket.socket(family, kind) as s:
            s.settimeout(60)
            call(s, (address, int(port)))
    return act


def unix(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)


def new_socket(family, kind):
    socket.socket(getattr(socket, family), getattr(socket, kind)).close()


def unshare():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x10000000) != 0:
        raise OSError(ctypes.get_errno(), "unshare")


def execute(*words):
    words, environment = list(words), dict(os.environ)
    while re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment[name] = value
    pid = os.posix_spawn(words[0], words, environment)
    return "status " + str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


ACTS = {
    "write": write, "read": read, "mkdir": os.mkdir, "rmdir": os.rmdir, "unlink": os.unlink, "chmod": lambda path: os.chmod(path, 0o777),
    "rename": os.rename, "link": os.link, "symlink": os.symlink,
    "connect": on_socket(socket.SOCK_STREAM, socket.socket.connect), "bind": on_socket(socket.SOCK_STREAM, socket.socket.bind),
    "send": on_socket(socket.SOCK_DGRAM, lambda s, to: s.sendto(b"x", to)),
    "unix": unix, "socket": new_socket, "unshare": unshare, "exec": execute,
}
for line in sys.argv[1:]:
    words = line.split()
    try:
        print(ACTS[words[0]](*words[1:]) or "ok", flush=True)
    except OSError as e:
        print(errno.errorcode.get(e.errno, str(e)), flush=True)
