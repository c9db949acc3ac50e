# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium as test tools do: a page with a worker and a fetch, from a server of one's own, over the DevTools protocol. Each argument is
one browser: "pipe", or the port its protocol listens on (0: one it chooses). Prints what the page became."""
import base64
import http.server
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

PAGE = b"""<html><title>new</title><body><script>
const worker = new Worker(URL.createObjectURL(new Blob(["postMessage(6 * 7)"])));
worker.onmessage = async (e) => { document.title = e.data + " " + await (await fetch("/data")).text(); };
</script></body></html>"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"fetched" if self.path == "/data" else PAGE
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def start(profile, *options, **how):
    command = ["chromium", "--headless=new", "--no-sandbox", "--user-data-dir=" + profile, *options, "about:blank"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **how)


class Pipe:
    """--remote-debugging-pipe: requests on descriptor 3, answers on 4."""

    def __init__(self, profile):
        requests, self.requests = os.pipe()
        self.answers, answers = os.pipe()

        def place():
            os.dup2(requests, 100)
            os.dup2(answers, 101)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = start(profile, "--remote-debugging-pipe", close_fds=False, preexec_fn=place)
        os.close(requests)
        os.close(answers)
        self.buffer = b""

    def send(self, message):
        os.write(self.requests, message + b"\0")

    def receive(self):
        while b"\0" not in self.buffer:
            got = os.read(self.answers, 65536)
            if not got:
                raise EOFError("the browser closed its pipe")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return message


class Port:
    """--remote-debugging-port: a WebSocket on loopback."""

    def __init__(self, profile, port):
        self.process = start(profile, f"--remote-debugging-port={port}", "--remote-allow-origins=*")
        path = "/" + self.version(profile, port)["webSocketDebuggerUrl"].split("/", 3)[3]
        self.socket = socket.create_connection(("127.0.0.1", self.port))
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Key: MDAwMDAwMDAwMDAwMDAwMA==\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        while self.file.readline() != b"\r\n":
            pass

    def version(self, profile, port):
        deadline = time.monotonic() + 30
        while True:
            try:
                with open(os.path.join(profile, "DevToolsActivePort")) if port == 0 else open(os.devnull) as f:
                    self.port = port or int(f.readline())
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=5) as answer:
                    return json.load(answer)
            except (OSError, ValueError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise
                time.sleep(0.05)

    def send(self, message):
        size = bytes([0x80 | len(message)]) if len(message) < 126 else b"\xfe" + struct.pack(">H", len(message))
        self.socket.sendall(b"\x81" + size + bytes(4) + message)

    def receive(self):
        size = self.file.read(2)[1]
        if size == 126:
            size, = struct.unpack(">H", self.file.read(2))
        elif size == 127:
            size, = struct.unpack(">Q", self.file.read(8))
        return self.file.read(size)


class Browser:
    def __init__(self, transport):
        self.transport, self.last = transport, 0

    def call(self, method, session=None, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if session:
            request["sessionId"] = session
        self.transport.send(json.dumps(request).encode())
        while True:
            answer = json.loads(self.transport.receive())
            if answer.get("id") == self.last:
                return answer["result"]

    def title(self, session):
        return self.call("Runtime.evaluate", session, expression="document.title")["result"]["value"]

    def visit(self, url):
        target = self.call("Target.createTarget", url=url)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        deadline = time.monotonic() + 30
        while self.title(session) in ("", "new") and time.monotonic() < deadline:
            time.sleep(0.05)
        picture = base64.b64decode(self.call("Page.captureScreenshot", session)["data"])
        return self.title(session), picture[1:4].decode()


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
for way in sys.argv[1:]:
    profile = tempfile.mkdtemp(dir="/workspace")
    transport = Pipe(profile) if way == "pipe" else Port(profile, int(way))
    try:
        browser = Browser(transport)
        print(way, *browser.visit(f"http://127.0.0.1:{server.server_port}/"), flush=True)
        browser.call("Browser.close")
        print(way, "ended with", transport.process.wait(30), flush=True)
    finally:
        if transport.process.poll() is None:
            os.killpg(transport.process.pid, signal.SIGKILL)
