#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sockets: nothing reaches a listener nobody may reach, whatever the spelling or the race; what may be reached answers as without Cordon.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
attack=/srv/bin/attack-sockets
listen 10.99.0.1 8000 0 "$WORK/denied"
listen 127.0.0.1 8001 1500 "$WORK/own"
listen 127.0.0.1 8002 0 "$WORK/roots"
listen 127.0.0.1 8003 1501 "$WORK/other"
listen ::1 8004 0 "$WORK/roots6"

none_reached() {
	local nr
	sleep 0.1
	nr=$(cat "$WORK/denied" "$WORK/roots" "$WORK/roots6" | grep -c accepted)
	equal "$1: no listener got anything" 0 "$nr"
}

inside python3 -c 'import socket; socket.create_connection(("10.99.0.1", 8000)).close()'
wait_until 30 grep -q accepted "$WORK/denied"
equal "the listener works" 1 "$(connections "$WORK/denied")"
: >"$WORK/denied"

run -- $attack forms 10.99.0.1 8000
succeeded "every spelling is answered"
equal "none connects" "" "$(grep ' ok$' <<<"$OUT" | grep -v '^family-unspec' | tr '\n' ';')"
none_reached "every spelling"
recorded "refusals are recorded with the address" decision=deny sys.name=connect sys.sock.addr=10.99.0.1 sys.sock.port=8000 tag=network_guard
run_below -- sh -c 'curl -s -m 3 http://174260225:8000/; curl -s -m 3 http://0x0a630001:8000/; curl -s -m 3 http://10.6488065:8000/; bash -c "echo >/dev/tcp/10.99.0.1/8000"; python3 -c "import socket; socket.create_connection((\"10.99.0.1\", 8000), 2)"'
none_reached "decimal, hexadecimal and short spellings"
run --user root -- $attack forms 10.99.0.1 8000
none_reached "as root"

# ---- loopback: the agent's own, nobody else's ----
run -- $attack reach 127.0.0.1 8001
equal "a server of the agent's own" "reach ok" "$OUT"
for port in 8002 8003; do
	run -- $attack reach 127.0.0.1 $port
	equal "a server of somebody else on loopback, port $port" "reach ECONNREFUSED" "$OUT"
done
run -- $attack reach 0.0.0.0 8002
equal "0.0.0.0 is loopback" "reach ECONNREFUSED" "$OUT"
none_reached "loopback"

# ---- the proxy's port elsewhere, metadata and link-local addresses, the names that lead to them ----
inside ip address add 169.254.169.254/32 dev lo
inside ip address add 100.100.100.200/32 dev lo
inside ip address add fd00:ec2::254/128 dev lo
listen 10.99.0.1 48080 0 "$WORK/elsewhere"
listen 169.254.169.254 80 0 "$WORK/metadata"
listen 100.100.100.200 80 0 "$WORK/metadata2"
listen fd00:ec2::254 80 0 "$WORK/metadata6"
for where in "10.99.0.1 48080" "169.254.169.254 80" "100.100.100.200 80"; do
	for user in agent root; do
		run --user $user -- $attack forms $where
		equal "$where as $user: no spelling connects" "" "$(grep ' ok$' <<<"$OUT" | grep -v '^family-unspec' | tr '\n' ';')"
	done
done
run -- sh -c 'curl -s -m 3 http://169.254.169.254/; curl -s -m 3 http://2852039166/; curl -s -m 3 http://0xa9fea9fe/; curl -s -m 3 -g "http://[::ffff:169.254.169.254]/"; curl -s -m 3 -g "http://[fd00:ec2::254]/"; curl -s -m 3 -g "http://[fd00:ec2::254%lo]/"'
sleep 0.1
equal "none of these listeners got anything" 0 "$(cat "$WORK/elsewhere" "$WORK/metadata" "$WORK/metadata2" "$WORK/metadata6" | grep -c accepted)"

# ---- the proxy's place ----
cat >"$INSIDE/srv/bin/places.py" <<'PY'
import errno, fcntl, os, socket, struct
def attempt(name, act):
    try:
        act()
        print(name, "ok")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
def bound(port, *options, host="127.0.0.1"):
    s = socket.socket()
    for option in options:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    s.bind((host, port))
    s.listen()
for host in ("127.0.0.1", "0.0.0.0"):
    attempt("proxy-port " + host, lambda: bound(48080, host=host))
    attempt("proxy-port-reuse " + host, lambda: bound(48080, socket.SO_REUSEADDR, socket.SO_REUSEPORT, host=host))
attempt("privileged", lambda: bound(80))
s = socket.socket()
attempt("mark", lambda: s.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, 1))
attempt("transparent", lambda: s.setsockopt(socket.SOL_IP, 19, 1))
attempt("priority-7", lambda: s.setsockopt(socket.SOL_SOCKET, 12, 7))
attempt("repair", lambda: s.setsockopt(socket.IPPROTO_TCP, 19, 1))
attempt("setuid", lambda: os.setuid(13))
attempt("setgid", lambda: os.setgid(13))
attempt("groups", lambda: os.setgroups([0, 13]))
attempt("tun", lambda: fcntl.ioctl(os.open("/dev/net/tun", os.O_RDWR), 0x400454ca, struct.pack("16sH22s", b"tun0", 1, b"")))
PY
for user in agent root; do
	run_below --user $user -- python3 /srv/bin/places.py
	equal "$user: neither the proxy's port, marks, nor another user's rights" "" "$(grep ' ok$' <<<"$OUT" | tr '\n' ';')"
	matches "$user: all were tried" 'tun' "$OUT"
done

# ---- races ----
run -- $attack race-address 127.0.0.1 8001 10.99.0.1 8000 20000
note "$OUT"
matches "the address changes while it is judged" 'tries=20000 connected=[1-9][0-9]* refused=[1-9]' "$OUT"
none_reached "race of the address"
for kind in race-socket race-socket-mptcp; do
	run -- $attack $kind 10.99.0.1 8000 3000
	note "$OUT"
	none_reached "$kind: an internet socket under the number of a UNIX one"
done
alive "alive after the races"

# ---- datagrams, which the kernel has no second layer for ----
inside python3 -c "$(cat "$HERE/count_datagrams.py")" 10.99.0.1 9000 >"$WORK/datagrams" 2>/dev/null &
wait_until 30 grep -q ready "$WORK/datagrams" || bail "a UDP listener"
inside python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("10.99.0.1", 9000))'
wait_until 30 grep -q accepted "$WORK/datagrams"
: >"$WORK/datagrams"
run -- $attack datagrams 10.99.0.1 9000
note "$(tr '\n' ';' <<<"$OUT")"
equal "no form of a datagram arrives" 0 "$(grep -c accepted "$WORK/datagrams")"
for how in thread vm; do
	run -- $attack race-datagram-$how 10.99.0.1 9000 3000
	note "$OUT"
	matches "race of datagrams by a $how: some were sent where they may" 'tries=[1-9][0-9]* sent=[0-9]' "$OUT"
	equal "race of datagrams by a $how: none arrives where it may not" 0 "$(grep -c accepted "$WORK/datagrams")"
done
alive "alive after the datagrams"

# ---- UNIX sockets of others ----
cat >"$WORK/unix.py" <<'PY'
import os, socket, sys
servers = []
for name in ("/run/root.sock", "/run/cordon/launch2.sock", "\0roots-abstract", "/tmp/world.sock"):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.bind(name)
    s.listen()
    if name[0] == "/":
        os.chmod(name, 0o666)
    servers.append(s)
print("ready", flush=True)
import select
while True:
    for s in select.select(servers, [], [])[0]:
        s.accept()
        print("accepted", s.getsockname(), flush=True)
PY
inside python3 -c "$(cat "$WORK/unix.py")" >"$WORK/unix" 2>"$WORK/unix.err" &
wait_until 30 grep -q ready "$WORK/unix" || bail "UNIX servers" "$(cat "$WORK/unix.err")"
run -- $attack unix @roots-abstract
equal "an abstract socket of a process outside: nothing reaches it" 0 "$(grep -c abstract "$WORK/unix")"
matches "and it says so" 'reach (EPERM|EACCES)' "$OUT"
for path in /run/cordon/launch2.sock /run/cordon/launch.sock /run/cordon/control.sock /proc/1/root/run/cordon/launch2.sock; do
	run -- $attack unix $path
	equal "Cordon's sockets cannot be reached: $path" 0 "$(grep -c ' ok$' <<<"$OUT")"
done
equal "nothing reached Cordon's folder" 0 "$(grep -c cordon "$WORK/unix")"

# ---- as the kernel does ----
same_as_native "errnos of connect" $attack errnos
same_as_native "a non-blocking connect" $attack nonblocking
run_beside --timeout 100 -- $attack hang 200 90
wait_until 30 grep -q hanging "$WORK/beside/out"
connecting() {
	[ "$(inside cat /proc/net/tcp | grep -c ' 02 ')" -ge 190 ]
}
wait_until 30 connecting
alive "alive while 200 connects wait for a full backlog"
pkill -KILL --ns "$PID1" --nslist pid -x attack-sockets
wait "$BESIDE"
alive "alive afterwards"
none_reached "all of it"
