#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cordond as PID 1 of real namespaces with the real policy, enforcer and mitmproxy, without a container engine: start, trust, restart, stop, and
# every bad input with one line and its exit code. Prints TAP. CORDON_BUILD names the folder of the built programs.
set -uo pipefail
. "$(dirname "$0")/pid1_fixture.bash"

lines() {
	grep -c '^cordon:' "$WORK/err"
}

# bad NAME CODE PATTERN ARGUMENT…: not as PID 1, it never gets that far.
bad() {
	local name=$1 code=$2 pattern=$3 status=0
	shift 3
	env "${ENVIRONMENT[@]}" timeout 60 "$CORDOND" "$@" >"$WORK/out" 2>"$WORK/err" </dev/null || status=$?
	if [ "$status" -eq "$code" ] && [ "$(lines)" -eq 1 ] && grep -Eq -- "$pattern" "$WORK/err"; then
		ok "$name"
	else
		not_ok "$name" "status $status, expected $code" "$(cat "$WORK/err" "$WORK/out")"
	fi
}

[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP namespaces need root"; exit 0; }
ENVIRONMENT=(-u CORDON_MODE)
folders=(--run-dir "$WORK/run" --state-dir "$WORK/state")
bad "an unknown option" 110 'unknown option --bogus' --bogus init
bad "an option without its value" 110 'needs a value: --policy' init --policy
bad "a word after init" 110 'unexpected word sh' init sh
bad "no word at all" 110 'cordond init'
bad "an unknown mode on the command line" 110 'unknown mode "lenient"' init --mode lenient "${folders[@]}"
bad "a retired mode names the new one" 110 'roots "strict"' init --safety-mode workspace "${folders[@]}"
bad "a missing policy folder" 110 '/no/such' init --policy /no/such "${folders[@]}"
bad "a relative folder" 110 'must be absolute' init --run-dir here
cp -r "$ROOT/policies" "$WORK/broken"
sed -i '1s/^/{"no such key": 1,\n/;2s/{//' "$WORK/broken/policy.json"
bad "a broken policy, with its place" 110 'policy\.json:[0-9]+:[0-9]+' init --policy "$WORK/broken" "${folders[@]}"
check "nothing was made by all these" test ! -e "$WORK/run" -a ! -e "$WORK/state"
cp -r "$ROOT/policies" "$WORK/policies"
: >"$WORK/squatter"
bad "a file where the run folder should be" 115 'squatter must be a folder' init --policy "$WORK/policies" --run-dir "$WORK/squatter" --state-dir "$WORK/state"
bad "a file where the state folder should be" 113 'squatter must be a folder' init --policy "$WORK/policies" --run-dir "$WORK/run" --state-dir "$WORK/squatter"

[ -d /workspace ] || { mkdir /workspace && MADE_WORKSPACE=yes; }
export CORDON_SHIM=$BUILD/cordon-shim
command -v mitmdump >/dev/null || { ok "mitmproxy # SKIP not installed"; exit 0; }

# A whole start with the proxy, and its stop.
start --mode off --policy "$WORK/policies" init
check "ready, with the proxy" wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
equal "states in their order" "boot starting ready" "$(sed -n 's/^cordon: state \([a-z]*\):.*/\1/p' "$WORK/log" | uniq | tr '\n' ' ' | sed 's/ $//')"
equal "the proxy runs as its own user" cordon-proxy "$(inside ps -o user:20= -C mitmdump | sed 's/ *$//' | head -n 1)"
equal "in a session of its own, without a terminal" '?' "$(inside ps -o tty= -C mitmdump | head -n 1)"
proxy=$(inside pgrep -o mitmdump)
equal "its environment is clean" "HOME LANG LOGNAME PATH PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED USER" \
	"$(inside cat "/proc/$proxy/environ" | tr '\0' '\n' | cut -d= -f1 | grep -v '^LC_CTYPE$' | sort | tr '\n' ' ' | sed 's/ $//')"
check "another user cannot read its key" inside setpriv --reuid=61998 --regid=61998 --clear-groups sh -c '! cat /run/cordon-ca/mitmproxy-ca.pem'
check "another user cannot look into PID 1" inside setpriv --reuid=61998 --regid=61998 --clear-groups sh -c '! cat /proc/1/environ && ! ls /proc/1/fd'
check "TERM from inside changes nothing" inside sh -c 'kill -TERM 1; sleep 0.3; kill -0 1'
check "the machine's own store was left alone" bash -c "! grep -q '>>> cordon' /etc/ssl/certs/ca-certificates.crt"
cat >"$WORK/serve" <<'SERVE'
cd /run && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -addext subjectAltName=DNS:localhost \
	-keyout t.key -out t.pem 2>/dev/null
exec openssl s_server -quiet -accept 127.0.0.1:8443 -cert t.pem -key t.key -www
SERVE
inside sh "$WORK/serve" >/dev/null 2>&1 </dev/null &
wait_until 30 inside bash -c 'exec 3<>/dev/tcp/127.0.0.1/8443'
equal "a target nobody signed is refused by the proxy, not by the client" 502 \
	"$(inside sh -c '. /etc/profile.d/proxy.sh; curl -s --noproxy "" -o /dev/null -w "%{http_code}" https://localhost:8443/; :')"
first=$(inside openssl x509 -in /etc/cordon/trust/ca.pem -noout -fingerprint)
kill -KILL "$(pgrep -P "$OUTER" -f mitmdump)"
check "a killed proxy is noticed" wait_until 30 grep -q 'state degraded: waiting for proxy mitmproxy' "$WORK/log"
check "and comes back" wait_until 100 bash -c "[ \$(grep -c '^cordon: state ready' '$WORK/log') = 2 ]"
check "the agents' browser database holds the CA" wait_until 60 inside setpriv --reuid=61998 --regid=61998 --clear-groups certutil -L -d sql:/run/agent/.pki/nssdb -n "Cordon CA"
equal "with the same CA" "$first" "$(inside openssl x509 -in /etc/cordon/trust/ca.pem -noout -fingerprint)"
begun=$(date +%s%N)
kill -TERM "$OUTER"
ended 60
equal "TERM from outside ends it with 0" 0 "$status"
check "well inside ten seconds" test $((($(date +%s%N) - begun) / 1000000)) -lt 8000

# A mode nobody knows, from the environment, is guarded and loudly recorded; the enforcer may be killed; the log is sealed at the end.
CORDON_MODE=lenient start --state-dir "$WORK/state" --policy "$WORK/policies" init
check "an unknown mode in the environment does not stop the start" wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
check "it is said" grep -q '^cordon: CORDON_MODE has an unknown mode; guarded is used' "$WORK/log"
kill -KILL "$(pgrep -P "$OUTER" -f '^cordond enforcer')"
check "a killed enforcer is noticed" wait_until 30 grep -q '^cordon: state degraded: the enforcer is being restarted' "$WORK/log"
check "and replaced within a second or so" wait_until 3 bash -c "[ \$(grep -c '^cordon: state ready' '$WORK/log') = 2 ]"
kill -TERM "$OUTER"
ended 60
equal "it ends with 0" 0 "$status"
log=$(find "$WORK/state/audit" -name 'audit-*.jsonl' | sort | tail -n 1)
check "the unknown mode is recorded as high" bash -c "grep '\"type\":\"policy_load\"' '$log' | grep '\"value\":\"lenient\"' | grep -q '\"sev\":\"high\"'"
check "the mode is guarded" bash -c "head -n 3 '$log' | grep -q '\"mode\":\"guarded\"'"
check "the audit ends with a seal" bash -c "tail -n 1 '$log' | grep -q '\"type\":\"seal\"'"
rm -rf "$WORK/state"

# Starts that cannot succeed.
echo 'python3 -m http.server --bind 127.0.0.1 48080 >/dev/null 2>&1 & sleep 1' >"$WORK/before"
start --mode off --policy "$WORK/policies" init
ended 60
equal "a taken port is 114" 114 "$status"
check "with what the proxy said about it" grep -Eqi '^cordon: proxy mitmproxy ended .*(address already in use|port)' "$WORK/log"
echo 'sed -i /^cordon-proxy:/d /etc/passwd' >"$WORK/before"
start --mode off --policy "$WORK/policies" init
ended 60
equal "a proxy without its user is 112" 112 "$status"
check "and says so" grep -q '^cordon: proxy mitmproxy: user cordon-proxy is not in /etc/passwd' "$WORK/log"
echo 'mount --bind /dev/null /usr/bin/openssl' >"$WORK/before"
start --mode off --policy "$WORK/policies" init
ended 60
equal "no usable openssl is 112" 112 "$status"
check "and says so too" grep -q '^cordon: no CA for the proxy: openssl' "$WORK/log"
rm -f "$WORK/before"

# Caido, by its shipped file; a stand-in speaks its readiness (caido_standin.py says what that proves and what not).
cp -r "$ROOT/policies" "$WORK/caido"
sed -i 's/"enabled": true/"enabled": false/' "$WORK/caido/services/mitmproxy.json"
sed -i 's/"enabled": false/"enabled": true/' "$WORK/caido/services/caido.json"
echo "mount -t tmpfs -o mode=0755 tmpfs /usr/local/bin && install -m 755 '$ROOT/tests/boundary/caido_standin.py' /usr/local/bin/caido-cli" >"$WORK/before"
export STRIX_CAIDO_ALLOWED_DOMAINS='ui.one.test, ui.two.test,'
start --mode off --policy "$WORK/caido" --state-dir "$WORK/state" init
unset STRIX_CAIDO_ALLOWED_DOMAINS
check "the stand-in for Caido becomes ready as Strix's image asks it" wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
equal "it got the CA of this start" "$(inside openssl x509 -in /etc/cordon/trust/ca.pem -noout -fingerprint)" \
	"$(inside sh -c 'openssl pkcs12 -in /run/cordon-ca/ca.p12 -passin pass: -nokeys 2>/dev/null | openssl x509 -noout -fingerprint')"
check "whose PKCS#12 file is the proxy's alone" inside setpriv --reuid=61998 --regid=61998 --clear-groups sh -c '! cat /run/cordon-ca/ca.p12'
check "and its domains" wait_until 30 grep -q '^domains: ui.one.test ui.two.test$' "$WORK/state/logs/caido.log"
equal "its data folder is its user's" "700 cordon-proxy" "$(inside stat -c '%a %U' /var/lib/cordon-caido)"
kill -TERM "$OUTER"
ended 60
rm -rf "$WORK/state"
echo 'sed -i "s/pass:\"/pass:x\"/" /usr/local/bin/caido-cli' >>"$WORK/before"
start --mode off --policy "$WORK/caido" init
ended 60
equal "a PKCS#12 file it cannot read is 114" 114 "$status"
check "with its own line" grep -q '^cordon: proxy caido ended (exit 1): Error: Failed to import CA certificate' "$WORK/log"
echo 'install -m 755 /bin/false /usr/local/bin/caido-cli; mkdir -p /var/lib/cordon-caido; chown 61998 /var/lib/cordon-caido' >>"$WORK/before"
start --mode off --policy "$WORK/caido" init
ended 60
equal "a data folder of somebody else is 112" 112 "$status"
check "with its owner" grep -q '^cordon: proxy caido cannot use its data folder /var/lib/cordon-caido: it belongs to uid 61998' "$WORK/log"
rm -f "$WORK/before"

# A proxy that stands still is found by asking it, and replaced. (The shipped file asks every 15 s: here more often.)
sed -i 's/"alive_ms": 15000/"alive_ms": 500/' "$WORK/policies/services/mitmproxy.json"
start --mode off --policy "$WORK/policies" init
check "ready" wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
kill -STOP "$(pgrep -P "$OUTER" -f mitmdump)"
check "a proxy that stands still is noticed" wait_until 100 grep -q 'service mitmproxy: does not answer any more: port 48080 accepts, but does not answer' "$WORK/log"
check "and replaced" wait_until 100 bash -c "[ \$(grep -c '^cordon: state ready' '$WORK/log') = 2 ]"
kill -TERM "$OUTER"
ended 60

# The launch user takes the host's ids, also of what its home holds; what lies outside by another name, or is behind a link, does not change.
cp -r "$ROOT/policies" "$WORK/plain"
rm -rf "$WORK/plain/services"
cat >"$WORK/before" <<'BEFORE'
cd /run/agent
mkdir -p deep/er && echo mine >deep/er/file && echo outside >/run/outside && echo pointed >/run/pointed
ln /run/outside deep/hard && ln -s /run/pointed deep/soft && echo root >deep/roots
for i in $(seq 3000); do : >deep/$i; done
chown -R -h 61998:61998 /run/agent && chown 61998:61998 /run/outside /run/pointed && chown 0:0 deep/roots
BEFORE
host_user() {	# VARIABLE=VALUE…: a start with these
	local pair
	for pair; do export "${pair?}"; done
	start --mode off --policy "$WORK/plain" --state-dir "$WORK/state" init
	for pair; do unset "${pair%%=*}"; done
}
owner() { inside stat -c '%u:%g' "$1"; }
given() { [ "$(owner /run/agent/deep/er/file)" = 4242:4343 ] && [ "$(inside find /run/agent/deep -uid 61998 -links 1 | wc -l)" = 0 ]; }
host_user STRIX_HOST_UID=4242 STRIX_HOST_GID=4343
check "ready with the host's ids" wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
ready_s=$(sed -n 's/^cordon: state ready.*(\([0-9.]*\) s).*/\1/p' "$WORK/log")
note "ready after $ready_s s, with a home of 3,000 files to give"
equal "a launch has them" "4242 4343" "$(inside "$BUILD/cordon" run --cwd / -- sh -c 'echo $(id -u) $(id -g)')"
equal "and works in its home at once" 4242:4343 "$(inside "$BUILD/cordon" run --cwd / -- sh -c 'echo x >~/new && stat -c %u:%g ~/new' 2>&1)"
check "what the home holds becomes the user's" wait_until 60 given
equal "not what lies outside too, behind a link, or is root's" "61998:61998 61998:61998 0:0" "$(owner /run/outside) $(owner /run/pointed) $(owner /run/agent/deep/roots)"
check "and that is said" wait_until 30 bash -c "$(declare -f inside); OUTER=$OUTER; inside '$BUILD/cordon' status | grep -q 'host-user.*ready'"
equal "nothing is left to be done at the next start" "" "$(ls "$WORK/state/host-user" 2>/dev/null)"
kill -TERM "$OUTER"
ended 60
# A start that was interrupted: the next one goes on.
echo 'sed -i s/^agent:x:61998:61998:/agent:x:4242:4343:/ /etc/passwd; mkdir -p "$work/state"; chmod 700 "$work/state"; echo 61998 61998 >"$work/state/host-user"' >>"$WORK/before"
host_user STRIX_HOST_UID=4242 STRIX_HOST_GID=4343
wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
check "an interrupted one is ended at the next start" wait_until 60 given
kill -TERM "$OUTER"
ended 60
host_user STRIX_HOST_UID=61999
ended 60
equal "the proxy's uid is nobody else's: 110" 110 "$status"
check "with the reason" grep -q '^cordon: uid 61999 is cordon-proxy in this image' "$WORK/log"
host_user STRIX_HOST_UID=many
ended 60
equal "a uid that is no number: 110" 110 "$status"
check "with its variable" grep -q '^cordon: STRIX_HOST_UID: expected a number' "$WORK/log"
rm -rf "$WORK/state"

# Read-only places: less trust, still a container.
echo 'mount -o remount,ro /etc' >"$WORK/before"
start --mode off --policy "$WORK/policies" init
check "with /etc read-only it becomes ready all the same" wait_until 100 grep -q '^cordon: state ready' "$WORK/log"
check "and says what is degraded" grep -q '^cordon: trust is degraded: .*Read-only' "$WORK/log"
check "the bundle is in the spare folder" inside test -s /run/cordon-trust/bundle.pem
kill -TERM "$OUTER"
ended 60
equal "it ends with 0" 0 "$status"
