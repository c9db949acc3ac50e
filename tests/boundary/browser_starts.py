# SPDX-License-Identifier: Apache-2.0
# A script of a project that wants a browser of its own, by every way in; one line each on stdout: "WAY: what came of it".
# Usage: browser_starts.py BROWSER URL TOOL. Whatever starts is told to load URL, whose server says whether it did. TOOL is a program that prints its words.
import ctypes
import errno
import fcntl
import os
import shutil
import signal
import subprocess
import sys

browser, url, tool = sys.argv[1:]
words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--user-data-dir=/workspace/profile", "--dump-dom", url]
loader = next(f"{folder}/{name}" for folder in ("/lib64", "/lib") if os.path.isdir(folder) for name in os.listdir(folder) if name.startswith("ld-linux"))

def outcome(way, act):
    try:
        said = act()
    except OSError as error:
        said = f"refused {errno.errorcode.get(error.errno, error.errno)}"
    print(f"{way}: {said}", flush=True)

def start(*command, **options):
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **options)
    text = run.stdout.strip().splitlines()
    return f"RAN {text[-1][:40]}" if text and run.returncode == 0 else f"refused status {run.returncode}"

def waited(pid):
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return "RAN" if status == 0 else f"refused {errno.errorcode.get(status, status)}"

def become(act):
    pid = os.fork()
    if pid == 0:
        try:
            act()
        except OSError as error:
            os._exit(error.errno)
    return pid

def pipe():
    commands, answers = os.pipe(), os.pipe()

    def act():
        read, write = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (commands[0], answers[1]))
        os.dup2(read, 3)
        os.dup2(write, 4)
        os.closerange(5, 64)
        os.execv(browser, [browser, "--headless=new", "--no-sandbox", "--remote-debugging-pipe", url])
    pid = become(act)
    os.close(commands[1])  # it ends with its pipe
    os.close(answers[1])
    return waited(pid)

def port():
    run = subprocess.Popen([browser, *words[:-2], "--remote-debugging-port=0", url], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True)
    listens = any("DevTools listening" in line for line in run.stderr)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    return "RAN" if listens else "refused"

def write_file(path, data, mode=0o755):
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    return path

def copy(name):
    shutil.copyfile(browser, f"/workspace/{name}")
    os.chmod(f"/workspace/{name}", 0o755)
    return start(f"/workspace/{name}", *words)

def hard_link():
    os.link(browser, "/workspace/linked")
    return start("/workspace/linked", *words)

def symbolic_link():
    os.symlink(browser, "/workspace/symlinked")
    return start("/workspace/symlinked", *words)

def in_memory(source, *arguments):
    with open(source, "rb") as file:
        data = file.read()
    memory = os.memfd_create("x")
    os.write(memory, data)
    return waited(become(lambda: os.execv(f"/proc/self/fd/{memory}", ["x", *arguments])))

def own_loader():
    shutil.copyfile(loader, "/workspace/loader")
    os.chmod("/workspace/loader", 0o755)
    return start("/workspace/loader", browser, *words)

def by_descriptor():
    fd = os.open(browser, os.O_PATH)
    return waited(become(lambda: os.execve(fd, ["x", *words], os.environ)))

def opened_anew():
    fd = os.open(browser, os.O_PATH)
    os.close(os.open(f"/proc/self/fd/{fd}", os.O_RDONLY))
    return "READ"

def mapped_by_a_running_one():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == browser:
                os.close(os.open(f"/proc/{pid}/exe", os.O_RDONLY))
                return "READ"
        except OSError as error:
            if error.errno == errno.EPERM:
                raise
    return "refused, none runs here"

def named(name, *arguments):
    return start(shutil.copy(tool, f"/workspace/{name}"), *arguments)

def called(name):
    return start(name, *words, executable=browser)

outcome("by its name", lambda: start(browser, *words))
outcome("by the image's script", lambda: start("chromium", *words))
outcome("over a pipe", pipe)
outcome("over a port", port)
outcome("called otherwise", lambda: called("cat"))
outcome("called as a part of it", lambda: start("chrome", "--type=zygote", "--version", executable=browser))
outcome("the crash handler", lambda: start(os.path.dirname(browser) + "/chrome_crashpad_handler", "--version"))
outcome("by a script of the project", lambda: start(write_file("/workspace/wrapped", f'#!/bin/sh\nexec {browser} {" ".join(words)}\n'.encode())))
outcome("as an interpreter", lambda: start(write_file("/workspace/interpreted", f"#!{browser} --no-sandbox\n".encode())))
outcome("copied", lambda: copy("tool"))
outcome("copied by cat", lambda: start("sh", "-c", f"cat {browser} >/workspace/catted && chmod 755 /workspace/catted && exec /workspace/catted --version"))
outcome("hard link", hard_link)
outcome("symbolic link", symbolic_link)
outcome("by a descriptor", by_descriptor)
outcome("by a descriptor opened anew", opened_anew)
outcome("in memory", lambda: in_memory(browser, *words))
outcome("of a running one", mapped_by_a_running_one)
outcome("by the loader", lambda: start(loader, browser, *words))
outcome("by a loader of one's own", own_loader)
outcome("as a library", lambda: f"RAN {ctypes.CDLL(browser)}")
outcome("one that was brought along", lambda: named("headless_shell", "--no-sandbox"))
outcome("in a folder of a library's", lambda: start(shutil.copy(tool, os.makedirs("/workspace/ms-playwright/chrome-linux", exist_ok=True) or
                                                                 "/workspace/ms-playwright/chrome-linux/chrome"), "ran"))
outcome("under a plain name, with its port", lambda: named("plain", "--remote-debugging-port=9333"))
outcome("under a plain name, with its pipe", lambda: named("plain", "x", "--remote-debugging-pipe"))
outcome("a part of one under a plain name", lambda: named("plain", "--type=renderer"))
outcome("a driver that was brought along", lambda: named("chromedriver", "--port=9515"))
outcome("another browser's", lambda: named("geckodriver", "--version-of-it"))
outcome("a tool of the project", lambda: named("plain", "--port=9"))
