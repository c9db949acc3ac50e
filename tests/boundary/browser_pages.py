# SPDX-License-Identifier: Apache-2.0
# The pages of browser.sh, on 127.0.0.1:PORT as UID. Every request is a line on stdout: what a page really sent is read there.
# A page that is to move by itself waits for GET /wait/NAME, which answers once somebody asked for /trigger/NAME.
import http.server
import os
import sys
import threading

port, uid = int(sys.argv[1]), int(sys.argv[2])
triggers, lock = {}, threading.Lock()
HERE = "position:absolute;left:0;top:0;width:400px;height:200px"
DELETE = f'<button style="{HERE}" onclick="fetch(\'/account\',{{method:\'DELETE\'}})">Delete account</button>'
HARMLESS = f'<button style="{HERE}">Harmless</button>'
LINK = '<a style="position:absolute;left:0;top:300px" href="/second">go</a>'

def when(name, act):
    return f"<script>fetch('/wait/{name}').then(() => {{ {act} }})</script>"

PAGES = {
    "/first": HARMLESS + LINK,
    "/second": DELETE,
    "/self": HARMLESS + when("self", "location.href = '/second'"),
    "/late": HARMLESS + when("late", "location.href = '/landed'"),
    "/landed": DELETE + "<script>fetch('/there')</script>",
    "/again": HARMLESS + when("again", "location.reload()"),
    "/app": HARMLESS + when("app", f"history.pushState(0, '', '/app/settings'); document.body.innerHTML = `{DELETE}`; fetch('/moved')"),
    "/hash": HARMLESS + when("hash", "location.hash = '#settings'; fetch('/moved')"),
    "/frames": HARMLESS + '<iframe style="position:absolute;top:300px" src="/inner"></iframe>',
    "/inner": "<button>Inside</button>" + when("inner", "location.href = '/second'"),
    "/popup": HARMLESS + when("popup", "window.open('/second')"),
    "/form": '<form method="post" action="/login"><input name="user" aria-label="User"><input type="submit" value="Sign in"></form>',
    "/dialog": f'<button style="{HERE}" onclick="fetch(confirm(\'Delete?\') ? \'/confirmed\' : \'/cancelled\')">Ask</button>',
    "/ports": "<script>const ports = location.hash.slice(1).split(',');"
              "Promise.allSettled(ports.flatMap(p => [fetch(`http://127.0.0.1:${p}/json/version`, {mode: 'no-cors'}),"
              "new Promise((yes, no) => { const s = new WebSocket(`ws://127.0.0.1:${p}/`); s.onopen = yes; s.onerror = no; })]))"
              ".then(all => fetch('/ports-tried/' + all.map(one => one.status).join()))</script>",
    "/empty": "<p>nothing",
}

def trigger(name):
    with lock:
        return triggers.setdefault(name, threading.Event())

class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        print(self.command, self.path, self.headers.get("User-Agent", ""), flush=True)
        length = int(self.headers.get("Content-Length", 0))
        self.rfile.read(length)
        kind, _, name = self.path.lstrip("/").partition("/")
        if kind == "wait" and not trigger(name).wait(60):
            return self.send_error(504)
        if kind == "trigger":
            trigger(name).set()
        body = f"<!doctype html><title>{self.path}</title>{PAGES.get(self.path, '')}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, *arguments):
        pass

os.setgroups([])
os.setgid(uid)
os.setuid(uid)
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)  # as the agent's user: that is whose server it is
print("ready", flush=True)
server.serve_forever()
