#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What guarded mode allows outright, run: it must change nothing in its folder and start nothing that stands there.

usage: allowed_compare.py CORDON [SECONDS [SEED]]

Command lines are made by chance from the tools' own --help and from words that mean mischief; those the judge allows run under bubblewrap with the
folder as /workspace, everything else read-only, without a network. Prints TAP.
"""
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOLS = """cat tac nl head tail cut paste join comm fold fmt expand unexpand rev od hexdump pr column cksum sum md5sum cmp strings readelf size sort uniq shuf wc ls stat du
    readlink realpath grep find diff diff3 sdiff tr seq date file tree xxd base64 base32 numfmt tsort sed awk mawk nm objdump look df id who uname tar zcat jq rg less
    getent getconf tput ps lsof findmnt dd tee split csplit unzip cpio iconv git openssl expr printf ar bc ss ip hostname dmesg uptime""".split()
SUBCOMMANDS = {"git": "log diff show branch tag grep rev-list ls-tree cat-file remote config stash reflog describe for-each-ref shortlog archive".split(),
               "openssl": "x509 dgst enc rand version list base64 passwd req asn1parse".split()}
PROGRAMS = ["p", "a", ".", "1", "s/a/b/", "{print}", "s/a/b/w out", "w out", ":a w out", "e ./x", '{print > "out"}', "env", 'BEGIN{system("./x")}']
VALUES = ["x", "./x", "out", "1", "a", "/dev/null", "-", "f", "sh", "exec=./x", "/workspace/out", "2", "f,g", "-o", "--output=out", "b", "p", "w out", "e ./x", "-exec", "./x", "{}", ";",
          "HEAD"]
FILES = ["f", "g", "d", "-", "out", "./f", "a.tar", "a.gz"]


def options_of(tool):
    try:
        text = subprocess.run([tool, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=10, errors="replace").stdout[:20000]
    except (OSError, subprocess.TimeoutExpired):
        text = ""
    return sorted(set(re.findall(r"(?<![\w-])(--?[A-Za-z0-9][\w-]*=?)", text)))[:150] or ["-a", "-o", "-i", "-x"]


def option(known):
    word = random.choice(known)
    if word.endswith("="):
        word = word + random.choice(VALUES) if random.random() < 0.7 else word[:-1]
    elif word.startswith("--") and random.random() < 0.3:
        word += "=" + random.choice(VALUES)
    if word.startswith("--") and "=" not in word and len(word) > 6 and random.random() < 0.25:
        word = word[:random.randint(4, len(word))]
    if not word.startswith("--") and random.random() < 0.4:
        word += random.choice(["o", "i", "n", "out", "./x", "1", "x"])
    return word


def command_line(known):
    tool = random.choice(list(known))
    words = [tool]
    if tool in SUBCOMMANDS:
        words.append(random.choice(SUBCOMMANDS[tool]))
    if tool in ("sed", "awk", "mawk", "jq", "grep", "rg", "tr") and random.random() < 0.7:
        words.append(random.choice(PROGRAMS))
    for _ in range(random.randint(0, 4)):
        words.append(option(known[tool]) if random.random() < 0.55 else random.choice(FILES))
        if words[-1].startswith("-") and random.random() < 0.4:
            words.append(random.choice(VALUES))
    words.append(random.choice(FILES))
    return words


def fill(folder):
    """f and g to read, x to run, archives; x leaves a mark when it runs."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "d"))
    for name, text in (("f", "a\nb\na 1\n"), ("g", '{"a":1}\n'), ("d/h", "x\n"), ("x", "#!/bin/sh\necho run >> /tmp/workspace/mark\n")):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    os.chmod(os.path.join(folder, "x"), 0o755)
    subprocess.run("tar cf a.tar f && gzip -c f > a.gz", shell=True, cwd=folder, check=True)
    return contents(folder)


def contents(folder):
    found = {}
    for root, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(root, name)
            status = os.lstat(path)
            data = b""
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, "rb") as f:
                    data = f.read()
            found[path] = (status.st_mode, hashlib.sha256(data).hexdigest())
    return found


def main():
    cordon, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 5
    random.seed(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    print("1..1")
    if not shutil.which("bwrap"):
        print("ok 1 what is allowed changes nothing # SKIP bubblewrap is not installed")
        return 0
    known = {tool: options_of(tool) for tool in TOOLS if shutil.which(tool)}
    check = [cordon, "check", "--policy", os.path.join(ROOT, "policies"), "--mode", "guarded", "--batch", "-"]
    with tempfile.TemporaryDirectory() as base:
        folder = os.path.join(base, "workspace")
        jail = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", folder, "/tmp/workspace",
                "--chdir", "/tmp/workspace", "--setenv", "HOME", "/tmp", "timeout", "-k1", "2"]
        before, changed, asked, ran = fill(folder), [], 0, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            lines = [command_line(known) for _ in range(100)]
            questions = "".join(json.dumps(["exec"] + words) + "\n" for words in lines)
            answers = subprocess.run(check, input=questions, capture_output=True, text=True, check=True).stdout.splitlines()
            for words, answer in zip(lines, answers):
                asked += 1
                if json.loads(answer)["verdict"] != "allow":
                    continue
                if time.monotonic() >= end:
                    break
                ran += 1
                subprocess.run(jail + [word.replace("/workspace", "/tmp/workspace") for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                if contents(folder) != before:
                    changed.append(words)
                    before = fill(folder)
    good = ran and not changed
    print(f"{'' if good else 'not '}ok 1 what is allowed changes nothing: of {asked} command lines {ran} were allowed and run, {len(changed)} changed something")
    for words in changed[:10]:
        print(f"# {words}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
