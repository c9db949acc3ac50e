#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who believes the CA: real clients, as launches, through the real proxy, to a TLS server whose authority only the image knows. What is looked at is the page
# they get and who signed what they saw. Then: degraded trust, the image's own variables, and a certificate that is renewed under a running client.
set -uo pipefail
. "$(dirname "$0")/pid1_fixture.bash"
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP namespaces need root"; exit 0; }
command -v mitmdump >/dev/null || { ok "mitmproxy # SKIP not installed"; exit 0; }
[ -d /workspace ] || { mkdir /workspace && MADE_WORKSPACE=yes; }
export CORDON_SHIM=$BUILD/cordon-shim
cp -r "$ROOT/policies" "$WORK/policies"
chmod 755 "$WORK"

# The target: target.test at an address that no_proxy does not name. Its authority is in the folder where Debian looks for roots.
mkdir "$WORK/target"
(cd "$WORK/target" && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Target Authority" -addext subjectAltName=DNS:target.test \
	-keyout key.pem -out target.pem 2>/dev/null && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=Of The Image" \
	-keyout other.key -out image.pem 2>/dev/null)
cat >"$WORK/before" <<BEFORE
mount -t tmpfs tmpfs /usr/local/share/ca-certificates
cp "$WORK/target/target.pem" /usr/local/share/ca-certificates/target.crt
ip address add 10.99.0.1/32 dev lo
echo '10.99.0.1 target.test' >>/etc/hosts
BEFORE
cat >"$WORK/serve.py" <<'SERVE'
import http.server, os, ssl, subprocess, sys
folder = sys.argv[1]
os.makedirs(folder + "/www")
os.chdir(folder + "/www")
open("page.html", "w").write("hello from the target\n")
subprocess.run("git init -q --bare r.git && git -C r.git hash-object -w -t commit --stdin --literally </dev/null >c && git -C r.git update-server-info", shell=True)
server = http.server.ThreadingHTTPServer(("10.99.0.1", 8443), http.server.SimpleHTTPRequestHandler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(folder + "/target.pem", folder + "/key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
SERVE
start_ready() {	# [VARIABLE=VALUE…]
	local pair
	for pair; do export "${pair?}"; done
	start --mode off --policy "$WORK/policies" --state-dir "$WORK/state" init
	for pair; do unset "${pair%%=*}"; done
	wait_until 100 grep -q '^cordon: state ready' "$WORK/log" || bail "ready"
	inside /usr/bin/python3 "$WORK/serve.py" "$WORK/target" >/dev/null 2>&1 </dev/null &
	wait_until 30 inside bash -c 'exec 3<>/dev/tcp/10.99.0.1/8443' || bail "the target stands"
}
service() {	# NAME: its state
	inside "$BUILD/cordon" status --json | /usr/bin/python3 -c 'import json,sys
for s in json.load(sys.stdin)["services"]:
    if s["name"] == sys.argv[1]: print(s["state"], s.get("why", ""))' "$1"
}
is_service() { [[ $(service "$1") == $2* ]]; }
launch() {	# COMMAND…: as an agent; both outputs
	inside timeout 200 "$BUILD/cordon" run --cwd /workspace -- "$@" 2>&1
}
URL=https://target.test:8443/page.html

# An agent's database of an earlier start: its pkcs11.txt names a library, which certutil must not load.
command -v gcc >/dev/null && gcc -shared -o "$WORK/evil.so" -x c - <<'EVIL'
#include <stdlib.h>
__attribute__((constructor)) static void run(void) { system("id -u >>/tmp/cordon-evil-ran"); }
EVIL
rm -f /tmp/cordon-evil-ran
cat >>"$WORK/before" <<'BEFORE'
mkdir -p /run/agent/.pki/nssdb
certutil -N -d sql:/run/agent/.pki/nssdb --empty-password
openssl x509 -in "$work/target/image.pem" | certutil -A -d sql:/run/agent/.pki/nssdb -n "an agents own" -t ,,
printf 'library=%s\nname=evil\n' "$work/evil.so" >>/run/agent/.pki/nssdb/pkcs11.txt
chown -R 61998:61998 /run/agent
BEFORE
start_ready
check "files, NSS databases and Java are looked at" wait_until 100 is_service trust-java ready
equal "the system's files are ready" "ready " "$(service trust-files)"
check "no library of an agent's was loaded for it" test ! -e /tmp/cordon-evil-ran
sed -i '/evil/d' "/proc/$OUTER/root/run/agent/.pki/nssdb/pkcs11.txt"
equal "and what the agent's database held is still there" 2 "$(inside setpriv --reuid=61998 --regid=61998 --clear-groups certutil -L -d sql:/run/agent/.pki/nssdb | grep -c 'an agents own\|Cordon CA')"
matches "so are the databases" '^ready [0-9]+ homes' "$(service trust-nss)"
inside "$BUILD/cordon" doctor >"$WORK/doctor"
matches "doctor says so" 'trust-nss +ready' "$(cat "$WORK/doctor")"
has() { inside sh -c "command -v $1" >/dev/null 2>&1; }

# client NAME PROGRAM PATTERN COMMAND…
client() {
	local name=$1 program=$2 pattern=$3
	shift 3
	if has "$program"; then matches "$name" "$pattern" "$(launch "$@")"; else skip "$name" "$program is not installed"; fi
}
PAGE='hello from the target'
client "curl" curl "$PAGE" curl -sS "$URL"
client "which saw a certificate of Cordon's" curl 'issuer: .*Cordon CA' curl -sSv "$URL"
client "wget" wget "$PAGE" wget -qO- "$URL"
client "git" git 'fatal: .*not found|^$' git ls-remote https://target.test:8443/r.git
client "which did not fail for its trust" git '^[^S]*$' bash -c 'git ls-remote https://target.test:8443/r.git 2>&1 | grep -i ssl'
client "openssl" openssl 'Verify return code: 0' bash -c "openssl s_client -proxy 127.0.0.1:48080 -connect target.test:8443 -servername target.test </dev/null 2>&1"
client "Python's urllib" python3 "$PAGE" /usr/bin/python3 -c "import urllib.request; print(urllib.request.urlopen('$URL').read().decode())"
client "Node's https" node "$PAGE" node -e '
const http = require("http"), tls = require("tls");
http.request({host: "127.0.0.1", port: 48080, method: "CONNECT", path: "target.test:8443"}).on("connect", (r, socket) => {
	const s = tls.connect({socket, servername: "target.test"}, () => s.write("GET /page.html HTTP/1.0\r\nHost: target.test\r\n\r\n"));
	s.on("data", d => process.stdout.write(d)).on("error", e => console.log(e.message));
}).end();'
client "Java" java "$PAGE" bash -c "cat >/tmp/Get.java <<'JAVA'
public class Get { public static void main(String[] a) throws Exception { System.out.print(new String(new java.net.URL(a[0]).openStream().readAllBytes())); } }
JAVA
java -Xshare:auto /tmp/Get.java $URL"
client "Chromium" chromium "$PAGE" chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=/tmp/chromium-test --dump-dom "$URL"

# requests, as Debian has it and as pip installs it: with a certifi that has its own bundle, in which the CA is not.
requests=$(/usr/bin/python3 -c 'import requests; print(requests.__path__[0])' 2>/dev/null || python3 -c 'import requests; print(requests.__path__[0])' 2>/dev/null)
if [ -n "$requests" ]; then
	site=$(dirname "$requests")
	mkdir -p "$WORK/pypi/certifi"
	for module in requests urllib3 idna charset_normalizer chardet; do [ ! -d "$site/$module" ] || cp -r "$site/$module" "$WORK/pypi/"; done
	printf 'def where():\n    return __file__.replace("__init__.py", "cacert.pem")\ndef contents():\n    return open(where()).read()\n' >"$WORK/pypi/certifi/__init__.py"
	cp "$WORK/target/image.pem" "$WORK/pypi/certifi/cacert.pem"
	chmod -R a+rX "$WORK/pypi"
	get="import sys; sys.path.insert(0, '$WORK/pypi'); import requests; print(requests.get('$URL').text)"
	matches "requests with pip's certifi" "$PAGE" "$(launch /usr/bin/python3 -c "$get")"
else
	skip "requests with pip's certifi" "no requests to be found"
fi

# Loopback is nobody's proxy's business.
inside /usr/bin/python3 -m http.server --bind 127.0.0.1 8000 --directory "$WORK/target/www" >/dev/null 2>&1 </dev/null &
wait_until 30 inside bash -c 'exec 3<>/dev/tcp/127.0.0.1/8000'
: >"$WORK/state/logs/mitmproxy.log"
client "curl to localhost" curl "$PAGE" curl -sS http://localhost:8000/page.html
client "wget to localhost" wget "$PAGE" wget -qO- http://localhost:8000/page.html
client "Python to 127.0.0.1" python3 "$PAGE" /usr/bin/python3 -c "import urllib.request; print(urllib.request.urlopen('http://127.0.0.1:8000/page.html').read().decode())"
client "Java to localhost" java "$PAGE" java /tmp/Get.java http://localhost:8000/page.html
matches "and not by the proxy" '^[^V]*$' "$(launch curl -sSI http://localhost:8000/page.html | grep -i '^via')"
kill -TERM "$OUTER"
ended 60
rm -rf "$WORK/state" "$WORK/target/www"

# What cannot be done is said, each step for itself, and the container is ready all the same.
cat >>"$WORK/before" <<'BEFORE'
mkdir -p /run/agent/.pki && chown root /run/agent /run/agent/.pki
rm -f /etc/ssl/certs/ca-certificates.crt
BEFORE
start_ready
check "an agent's home that cannot be written is said" wait_until 100 is_service trust-nss 'degraded the database of agent does not hold the CA'
matches "a system without its bundle too" '^degraded the system.s bundle does not verify the CA' "$(service trust-files)"
inside "$BUILD/cordon" doctor >"$WORK/doctor"
equal "doctor ends with 1" 1 $?
matches "and tells which" 'trust-nss +degraded' "$(cat "$WORK/doctor")"
client "curl believes the bundle that the variables name" curl "$PAGE" curl -sS "$URL"
kill -TERM "$OUTER"
ended 60
rm -rf "$WORK/state" "$WORK/target/www"
sed -i '/agent\/.pki/d; /rm -f .etc.ssl/d' "$WORK/before"

# The image's own variables: roots that they named stay believed, what they left out of the proxy stays out. A variable may
# name the system's own store. The certificate is renewed every few seconds.
sed -i 's/"alive_ms": 15000/"alive_ms": 500/' "$WORK/policies/services/mitmproxy.json"	# it must be seen as ours with either certificate
start_ready "SSL_CERT_FILE=$WORK/target/image.pem" REQUESTS_CA_BUNDLE=/etc/ssl/certs/ca-certificates.crt "no_proxy=intern.test" CORDON_CA_RENEW_S=3
check "a root that the image named is in the bundle" inside openssl verify -no-CApath -CAfile /etc/cordon/trust/bundle.pem "$WORK/target/image.pem"
equal "the variable names the bundle now" /etc/cordon/trust/bundle.pem "$(launch printenv SSL_CERT_FILE)"
equal "no_proxy has both" localhost,127.0.0.1,::1,intern.test "$(launch printenv no_proxy)"
serial() { inside openssl x509 -in /etc/cordon/trust/ca.pem -noout -serial; }
key() { inside openssl x509 -in /etc/cordon/trust/ca.pem -noout -pubkey; }
cat >"$WORK/keeps.py" <<'KEEPS'
# A client that read the bundle once, and goes on with it over renewals: one connection each time.
import os, ssl, sys, time, urllib.request
context = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context))
print("began", flush=True)
while not os.path.exists(sys.argv[2]):
    opener.open(sys.argv[1]).read()
    time.sleep(0.2)
print("ended well", flush=True)
KEEPS
first=$(serial) first_key=$(key)
(launch /usr/bin/python3 "$WORK/keeps.py" "$URL" "$WORK/enough" >"$WORK/keeps") &
keeps=$!
wait_until 30 grep -q began "$WORK/keeps" || bail "a client runs" "$(cat "$WORK/keeps")"
renewed() { [ "$(serial)" != "$first" ]; }
check "the certificate is renewed" wait_until 100 renewed
equal "with the same key" "$first_key" "$(key)"
check "PID 1 says so" wait_until 30 grep -q "the CA's certificate was renewed" "$WORK/log"
check "it is trusted everywhere again" wait_until 100 is_service trust-files ready
equal "once in the system's bundle" 1 "$(inside sh -c "grep -cF -- \"\$(sed -n 3p /etc/cordon/trust/ca.pem)\" /etc/ssl/certs/ca-certificates.crt")"
client "a new client gets its page" curl "$PAGE" curl -sS "$URL"
touch "$WORK/enough"
wait "$keeps"
matches "and so did the running one, all the time" 'ended well' "$(cat "$WORK/keeps")"
equal "nor was the proxy taken for another's" 0 "$(inside "$BUILD/cordon" status --json | /usr/bin/python3 -c 'import json,sys; print(sum(s["restarts"] for s in json.load(sys.stdin)["services"]))')"
matches "metrics tell when it ends" 'cordon_ca_expiry_timestamp_seconds [0-9]{10}' "$(inside "$BUILD/cordon" metrics)"
kill -TERM "$OUTER"
ended 60
equal "it ends with 0" 0 "$status"
