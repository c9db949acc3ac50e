# SPDX-License-Identifier: Apache-2.0
# needs: python3
"""What calls outside of the write roots say when they would change nothing: programs unlink what may be there, and mkdir what may be."""
import errno
import os

os.makedirs("/workspace/errnos", exist_ok=True)
os.chdir("/workspace/errnos")
open("file", "w").close()
os.symlink("/usr/lib/none", "dangling")


def say(what, call, *arguments, **more):
    try:
        result = call(*arguments, **more)
        answer = "done"
        if isinstance(result, int):
            os.close(result)
    except OSError as e:
        answer = errno.errorcode[e.errno]
    print(what, arguments[0], answer)


for path in ("/etc/none", "/usr/none", "/usr/lib/none", "/sys/kernel/none", "/proc/none", "/", "/usr", "/etc/passwd", "/proc/self/status", "dangling"):
    there = os.path.lexists(path)
    if there:
        say("mkdir", os.mkdir, path)
        say("symlink onto", lambda p: os.symlink("file", p), path)
        say("mkfifo", os.mkfifo, path)
        say("link onto", lambda p: os.link("file", p), path) if not path.startswith(("/p", "/s")) else None
        say("create", os.open, path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        say("write a folder", os.open, path, os.O_WRONLY) if os.path.isdir(path) else None
        say("truncate-open a folder", os.open, path, os.O_TRUNC) if os.path.isdir(path) else None
    if not there or path == "dangling":
        say("open to write", os.open, path, os.O_WRONLY)
        say("open to truncate", os.open, path, os.O_RDONLY | os.O_TRUNC)
        say("chmod", os.chmod, path, 0o600)
        say("chown", os.chown, path, -1, -1)
        say("times", os.utime, path)
        say("truncate", os.truncate, path, 0)
        say("setxattr", os.setxattr, path, "user.x", b"")
    if not there:
        say("unlink", os.unlink, path)
        say("rmdir", os.rmdir, path)
        say("link from", os.link, path, "new") if path.startswith("/etc/") else None
        say("rename from", os.rename, path, "/etc/other") if path.startswith("/etc/") else None
        say("make it", os.mkdir, path) if path.startswith("/usr") else None
    if there and path != "dangling":
        say("folder in it", os.mkdir, path + "/none")
say("protected, absent", os.unlink, "/etc/cordon-none")
