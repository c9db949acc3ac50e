# SPDX-License-Identifier: Apache-2.0
# cordond as PID 1 of real namespaces on the machine's root, of which nothing changes, with the proxy. Sourced by bash with `pipefail`; lines in $WORK/before
# are done inside before PID 1 starts. CORDON_BUILD names the folder of the built programs. Whatever is started here dies with the script.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$ROOT/tests/lib.sh"
eval "tap_$(declare -f not_ok)"	# under another name, for the one below
BUILD=${CORDON_BUILD:-$ROOT/build/dev}
CORDOND=$BUILD/cordond
WORK=$(mktemp -d /tmp/cordon-pid1-XXXXXX)
OUTER= MADE_WORKSPACE=
# The machine's own settings are not the container's.
unset SSL_CERT_FILE REQUESTS_CA_BUNDLE CURL_CA_BUNDLE GIT_SSL_CAINFO PIP_CERT CARGO_HTTP_CAINFO AWS_CA_BUNDLE NIX_SSL_CERT_FILE NODE_EXTRA_CA_CERTS \
	DENO_CERT no_proxy NO_PROXY http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY JAVA_HOME JAVA_TOOL_OPTIONS

finish() {
	local status=$?
	trap - EXIT
	[ -z "$OUTER" ] || kill -KILL "$OUTER" 2>/dev/null
	rm -rf "$WORK"
	[ -z "$MADE_WORKSPACE" ] || rmdir /workspace 2>/dev/null
	tap_end "$status"
	exit $?	# said: a bare exit in a trap would be the status from before it
}
trap finish EXIT

# What PID 1 said is part of every explanation.
not_ok() {
	tap_not_ok "$@" "$(cat "$WORK/log" 2>/dev/null)"
}

# The inside of the namespaces: the machine's root read through private mounts, so that nothing of it changes.
cat >"$WORK/inside" <<'INSIDE'
set -eu
work=$1 cordond=$2
shift 2
mount --make-rprivate /
mkdir -p "$work/layer"
mount -t tmpfs -o mode=0755 tmpfs "$work/layer"
mkdir "$work/layer/upper" "$work/layer/work" "$work/layer/var"
mount -t overlay -o "lowerdir=/etc,upperdir=$work/layer/upper,workdir=$work/layer/work" overlay /etc
for place in /run /root /home; do mount -t tmpfs -o mode=0755 tmpfs "$place"; done
mount --bind "$work/layer/var" /var/lib
grep -q '^cordon-proxy:' /etc/passwd || echo 'cordon-proxy:x:61999:61999::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
sed -i '/^agent:/d' /etc/passwd
echo 'agent:x:61998:61998::/run/agent:/bin/sh' >>/etc/passwd
mkdir -m 0700 /run/agent && chown 61998:61998 /run/agent
ip link set lo up 2>/dev/null || :
[ ! -e "$work/before" ] || . "$work/before"
exec "$cordond" "$@"
INSIDE

# start ARGUMENT…: cordond ARGUMENT… as PID 1; OUTER is its pid as seen here.
start() {
	local unshared
	: >"$WORK/log"
	unshare --pid --fork --mount-proc --mount --net --kill-child -- /bin/bash "$WORK/inside" "$WORK" "$CORDOND" "$@" >"$WORK/log" 2>&1 </dev/null &
	unshared=$!
	UNSHARED=$unshared
	wait_until 30 pgrep -P "$unshared" || return 1
	OUTER=$(pgrep -P "$unshared" | head -n 1)
}

ended() {	# SECONDS: waits for the end, sets status
	wait_until "$1" bash -c "! kill -0 $UNSHARED" || { status=timeout; return; }
	status=0
	wait "$UNSHARED" || status=$?
	OUTER=
}

inside() {
	nsenter --target "$OUTER" --mount --pid --net -- "$@"
}
