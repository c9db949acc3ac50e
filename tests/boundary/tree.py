# SPDX-License-Identifier: Apache-2.0
"""Prints a tree, one object a line: path, type, mode, owner, size, time, content, extended attributes. What two trees differ in is a diff.

usage: tree.py [--rules] [--plain] [--swap FROM:TO] [--skip PATH]... FOLDER
  --plain  only what a patch can say: names, types, the right to execute, content
  --rules  as a workspace must show it: an independent reading of the rules for links, by os.path.realpath
  --swap   uid and gid FROM are shown as TO, and the other way round
"""
import hashlib
import os
import stat
import sys

rules, plain, swap, skip = False, False, None, set()
arguments = sys.argv[1:]
while arguments[0].startswith("--"):
    option = arguments.pop(0)
    if option == "--rules":
        rules = True
    elif option == "--plain":
        plain = True
    elif option == "--swap":
        swap = [int(x) for x in arguments.pop(0).split(":")]
    else:
        skip.add(os.fsencode(arguments.pop(0)))
root = os.fsencode(arguments[0])
root_fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
real_root = os.path.realpath(root)


def owner(number):
    if swap and number in swap:
        return swap[1] if number == swap[0] else swap[0]
    return number


def attributes(fd):
    names = sorted(n for n in os.listxattr(fd) if not n.startswith(("trusted.", "security.selinux")))
    return {n: os.getxattr(fd, n).hex() for n in names}


def content(fd):
    digest = hashlib.sha256()
    while block := os.read(fd, 1 << 20):
        digest.update(block)
    return digest.hexdigest()[:16]


def resolve(path, chain):
    """What a link becomes: "left out", or a path to walk instead."""
    real = os.path.realpath(path)
    if os.readlink(path).startswith(b"/"):
        return None
    if not (real + b"/").startswith(real_root + b"/") or not os.path.exists(real):
        return None
    # A link on the way that is absolute leads out, wherever it ends.
    seen, at = 0, path
    while os.path.islink(at):
        text = os.readlink(at)
        seen += 1
        if text.startswith(b"/") or seen > 40:
            return None
        at = os.path.normpath(os.path.join(os.path.dirname(at), text))
    st = os.stat(real)
    if stat.S_ISDIR(st.st_mode):
        return None if (st.st_dev, st.st_ino) in chain else real
    return real if stat.S_ISREG(st.st_mode) else None


def walk(dir_fd, shown, physical, chain):
    for name in sorted(os.listdir(dir_fd)):
        name = os.fsencode(name)
        path = shown + b"/" + name if shown else name
        if path in skip:
            continue
        st = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        target = physical + b"/" + name
        if rules and stat.S_ISLNK(st.st_mode):
            target = resolve(target, chain)
            if target is None:
                continue
            st = os.stat(target)
        elif rules and not (stat.S_ISDIR(st.st_mode) or stat.S_ISREG(st.st_mode)):
            continue
        extra = ""
        fd = -1
        if stat.S_ISLNK(st.st_mode):
            extra = repr(os.readlink(name, dir_fd=dir_fd))
        elif stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode):
            linked = target != physical + b"/" + name
            fd = os.open(target if linked else name, os.O_RDONLY, dir_fd=None if linked else dir_fd)
            extra = repr(attributes(fd))
            if stat.S_ISREG(st.st_mode):
                extra = content(fd) + " " + extra
        if plain:
            extra = extra.split(" {")[0]
            if not stat.S_ISDIR(st.st_mode):
                print(repr(path), stat.filemode(st.st_mode)[0], bool(st.st_mode & 0o100), extra)
        size = 0 if stat.S_ISDIR(st.st_mode) else st.st_size
        if not plain:
            print(repr(path), stat.filemode(st.st_mode), owner(st.st_uid), owner(st.st_gid), size, st.st_mtime_ns, extra)
        if stat.S_ISDIR(st.st_mode):
            walk(fd, path, target, chain | {(st.st_dev, st.st_ino)})
        if fd >= 0:
            os.close(fd)


sys.setrecursionlimit(10000)
st = os.fstat(root_fd)
if not plain:
    print(".", stat.filemode(st.st_mode), owner(st.st_uid), owner(st.st_gid), st.st_mtime_ns, attributes(root_fd))
walk(root_fd, b"", real_root, {(st.st_dev, st.st_ino)})
