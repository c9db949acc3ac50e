# SPDX-License-Identifier: Apache-2.0
"""Runs `cordon run` on a terminal of its own, types, and prints what came back. One case a run; see stdio.sh."""
import fcntl
import os
import pty
import select
import socket
import struct
import subprocess
import sys
import termios
import time

CORDON = "/srv/bin/cordon"


def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def start(*command, rows=33, columns=77):
    pid, master = pty.fork()
    if pid == 0:
        set_size(0, rows, columns)
        os.execv(CORDON, [CORDON, "run", "--cwd", "/workspace", *command])
    return pid, master


def read_until(master, text, seconds=60):
    seen, end = b"", time.time() + seconds
    while time.time() < end and text not in seen:
        if not select.select([master], [], [], 0.2)[0]:
            continue
        try:
            data = os.read(master, 4096)
        except OSError:
            break
        if not data:
            break
        seen += data
    return seen


def show(*parts):
    sys.stdout.write(b"".join(parts).decode(errors="replace"))


def finish(pid, master):
    rest = read_until(master, b"\0never\0")
    os.waitpid(pid, 0)
    return rest


def case_socket():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([CORDON, "run", "--", "sh", "-c", "read x; echo got $x"], stdin=theirs, stdout=theirs)
    ours.sendall(b"through\n")
    process.wait()
    print(ours.recv(100).decode().strip())


def case_output():
    pid, master = start("--", "sh", "-c", "test -t 0 && test -t 1 && echo a terminal")
    show(finish(pid, master))


def case_size():
    pid, master = start("--", "stty", "size")
    show(finish(pid, master))


FLOOD = """
import os, signal, termios, time
modes = termios.tcgetattr(0)
modes[3] = modes[3] & ~termios.ECHO | termios.NOFLSH
termios.tcsetattr(0, termios.TCSANOW, modes)
signal.signal(signal.SIGINT, lambda *a: None)
signal.signal(signal.SIGWINCH, lambda *a: os._exit(0) if os.get_terminal_size(0).lines == 44 else None)
print("ready", flush=True)
for i in range(4000):
    print("line %d of the output, which is whole" % i, flush=True)
print("sized", flush=True)
while True:
    time.sleep(0.1)
"""


def case_flood():
    """What is typed all the while, Ctrl-C among it, neither garbles the output nor keeps a new size or the end from arriving."""
    with open("/workspace/flood.py", "w") as script: # a launch's text may hold no such program
        script.write(FLOOD)
    pid, master = start("--", "python3", "flood.py")
    seen = read_until(master, b"ready")
    os.set_blocking(master, False)
    end = time.time() + 120
    while b"sized" not in seen and time.time() < end:
        readable, writable, _ = select.select([master], [master], [], 0.2)
        if writable:
            try:
                os.write(master, b"rm -rf /\n\x1b[A\x03y\n\x04\x1a\x1c")
            except BlockingIOError:
                pass
        if readable:
            seen += os.read(master, 65536)
    os.set_blocking(master, True)
    set_size(master, 44, 88)
    lines = [line for line in seen.decode(errors="replace").replace("\r", "").split("\n") if line.startswith("line ")]
    finish(pid, master)
    print(len(lines), "lines", "whole" if lines == ["line %d of the output, which is whole" % i for i in range(4000)] else "garbled")


def case_resize():
    pid, master = start("--", "python3", "-c", "import os, signal\n"
                        "signal.signal(signal.SIGWINCH, lambda *a: (os.write(1, b'%d %d' % tuple(reversed(os.get_terminal_size(0)))), os._exit(0)))\n"
                        "print('ready', flush=True)\nsignal.pause()")
    seen = read_until(master, b"ready")
    set_size(master, 44, 88)
    show(seen, finish(pid, master))


def case_interrupt():
    pid, master = start("--", "sh", "-c", "trap 'echo interrupted; exit' INT; echo ready; while :; do sleep 0.1; done")
    seen = read_until(master, b"ready")
    os.write(master, b"\x03")
    show(seen, finish(pid, master))


def case_typed():
    seconds = sys.argv[2] if len(sys.argv) > 2 else "2"
    pid, master = start("--", "bash", "-c", f"echo ready; if read -t {seconds} x; then echo \"typed: $x\"; else echo nothing typed; fi")
    seen = read_until(master, b"ready")
    os.write(master, b"hello\n")
    show(seen, finish(pid, master))


def case_job_control():
    pid, master = start("--", "bash", "--norc", "-i")
    os.write(master, b"PS1=; echo be''gun; sleep 300; echo after\n")
    seen = read_until(master, b"begun")
    for again in range(60):    # it may come before the job is the foreground
        os.write(master, b"\x1a")
        seen += read_until(master, b"Stopped", 1)
        if b"Stopped" in seen:
            break
    os.write(master, b"kill %1; echo resumed; exit\n")
    show(seen, read_until(master, b"resumed\r"))
    os.write(master, b"exit\n")
    finish(pid, master)


globals()["case_" + sys.argv[1].replace("-", "_")]()
