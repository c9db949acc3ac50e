# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal of its own, 100 columns by 40 rows, and types what the script says.

usage: terminal.py STEP… -- COMMAND…      STEP: wait:TEXT (60 s, else exit 99) | type:TEXT (with \\n, \\x03 …) | size:ROWSxCOLUMNS | pause:SECONDS
       again:TEXT: typed again and again until what the next step waits for has appeared: it may come before anybody minds it
Prints what appeared and ends as the command did (128+n for a signal).
"""
import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

split = sys.argv.index("--")
steps, command = sys.argv[1:split], sys.argv[split + 1 :]
is_set, sets = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
    os.read(is_set, 1)
    os.execvp(command[0], command)
seen = b""


def resize(rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def read(seconds):
    """True while the terminal is open."""
    global seen
    if not select.select([terminal], [], [], seconds)[0]:
        return True
    try:
        data = os.read(terminal, 65536)
    except OSError:
        return False
    seen += data
    return bool(data)


def finish(status):
    sys.stdout.write(seen.decode(errors="replace"))
    sys.stdout.flush()
    sys.exit(status)


def put(text):
    try:
        os.write(terminal, codecs.decode(text, "unicode_escape").encode("latin-1"))
    except OSError:
        pass  # it has ended, as what is read will tell


repeated, next_time = None, 0
resize(40, 100)
os.write(sets, b"x")
for step in steps:
    verb, _, text = step.partition(":")
    if verb == "wait":
        mark, deadline = text.encode(), time.monotonic() + 60
        while mark not in seen:
            if repeated and time.monotonic() > next_time:
                put(repeated)
                next_time = time.monotonic() + 0.5
            if time.monotonic() > deadline or not read(0.1):
                if mark in seen:
                    break
                os.kill(pid, signal.SIGKILL)
                sys.stderr.write(f"did not see {text!r}\n")
                finish(99)
        repeated = None
    elif verb == "again":
        repeated = text
    elif verb == "type":
        put(text)
    elif verb == "size":
        resize(*map(int, text.split("x")))
    elif verb == "pause":
        end = time.monotonic() + float(text)
        while time.monotonic() < end:
            read(0.05)
    else:
        sys.exit(f"unknown step {step}")
deadline = time.monotonic() + 120
while read(0.2) and time.monotonic() < deadline:
    pass
while time.monotonic() < deadline:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        finish(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))
    time.sleep(0.05)
os.kill(pid, signal.SIGKILL)
sys.stderr.write("still running 120 s after the last step\n")
finish(98)
