#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Sends, binds and connects that are performed for their caller: nothing reaches an address that was not judged, whatever changes while it is
# judged; everything else is as without a supervisor, for programs of one thread (continued) and of several (performed).
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

MESSAGES=/srv/bin/attack-messages
DENIED=10.99.0.1 PORT=7777 NOWHERE=198.50.0.2

arrived() {
	grep -c arrived "$WORK/arrived"
}

# nothing_arrived NAME: since the last time.
nothing_arrived() {
	equal "$1: nothing reached $DENIED" 0 "$(arrived)"
}

value() {	# KEY of "KEY=VALUE …" in OUT
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" <<<"$OUT"
}

descriptors() {	# but those of processes that called: there are at most 64
	ls -l "/proc/$(enforcer)/fd" | grep -v -c 'pidfd'
}

fixture_start
inside ip link add nowhere0 type veth peer name nowhere1
inside ip link set nowhere0 up
inside ip link set nowhere1 up
inside ip address add 198.50.0.1/24 dev nowhere0
inside ip neigh add $NOWHERE lladdr 02:00:00:00:00:01 dev nowhere0 nud permanent
inside sysctl -qw net.ipv4.ip_unprivileged_port_start=53
inside python3 -c "$(cat "$HERE/count_datagrams.py")" $DENIED $PORT >"$WORK/arrived" &
wait_until 30 grep -q ready "$WORK/arrived" || bail "the receiver"

# ---- every form of an address

run -- $MESSAGES forms $DENIED $PORT
equal "every form of a denied address is refused" "sendto EPERM
sendto-junk EPERM
sendto-low-zero EPERM
sendmsg EPERM
sendmsg-low-zero EPERM
sendmsg-long-name EPERM
sendmmsg EPERM
unspec-family EPERM
mapped EPERM
mapped-short EPERM
v4-on-v6 EPERM
empty EPERM
connect ECONNREFUSED
connect-own ok
connected-sendto EPERM
disconnect ok
disconnected-sendto EPERM
cork-own ok
cork-denied EPERM
cork-received 1
bind-any ok
batch 2
batch-lengths 3 3 0 0
batch-received 2
batch-rest EPERM
rest-received 0" "$OUT"
nothing_arrived "forms"
recorded "the first of them is recorded with its address" sys.name=sendto errno=EPERM sys.sock.addr=$DENIED sys.sock.port=$PORT sys.sock.type=dgram
recorded "a refused batch is recorded" sys.name=sendmmsg errno=EPERM rule.id=network.private_10
run -- $MESSAGES routes $DENIED $PORT
equal "source routes and marks are refused" "option EPERM
option-v6 EPERM
ancillary EPERM
mark EPERM
received 0" "$OUT"
nothing_arrived "routes"
run -- $MESSAGES bind 0.0.0.0 48080
equal "the proxy's port is reserved, though no proxy runs" "bind EADDRINUSE" "$OUT"
recorded "and the bind is recorded" sys.name=bind rule.id=network.reserved_port
equal "the kernel hands it to nobody" 48080 "$(inside cat /proc/sys/net/ipv4/ip_local_reserved_ports)"
run -- $MESSAGES chance 48080
equal "a listener that binds nothing never gets it" "never got 48080" "$OUT"
run -- $MESSAGES fast-open $DENIED $PORT
equal "fast open is a judged connect, and its data arrives" "own ok
received 5
again ok
own ok
received 5
again EISCONN
denied ECONNREFUSED
denied-nonblocking ECONNREFUSED" "$OUT"
nothing_arrived "fast open"

# A hand stands in the agent's scope: what an agent's own thread cannot reach, it cannot either.
inside python3 -c '
import select, socket
sockets = [socket.socket(socket.AF_UNIX, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
sockets[0].bind("\0roots-stream"), sockets[0].listen(), sockets[1].bind("\0roots-dgram")
print("ready", flush=True)
while True:
	for ready in select.select(sockets, [], [])[0]:
		print("arrived", ready.accept() if ready is sockets[0] else ready.recv(9), flush=True)' >"$WORK/abstract" &
wait_until 30 grep -q ready "$WORK/abstract" || bail "abstract sockets"
for threads in '' threads; do
	for name in roots-stream roots-dgram; do
		run -- $MESSAGES abstract $name $threads
		equal "abstract sockets of others, $name ${threads:-one thread}: none answers" 0 "$(grep -c ' ok$' <<<"$OUT")"
	done
done
equal "nothing reached them" 0 "$(grep -c arrived "$WORK/abstract")"

# ---- races

for race in race-name race-header; do
	run -- $MESSAGES $race $DENIED $PORT 20000
	note "$OUT"
	nothing_arrived "$race, 20000 tries"
	equal "$race: what was sent arrived, and no more" "$(value sent)" "$(value arrived)"
	check "$race: both addresses were seen ($(value sent) sent, $(value refused) refused)" test "$(value sent)" -gt 500 -a "$(value refused)" -gt 500
done
for call in sendmsg sendto connect; do
	run -- $MESSAGES race-fd $call $DENIED $PORT 20000
	note "$OUT"
	nothing_arrived "race of the descriptor in $call, 20000 tries"
	check "the descriptor changed during $(value hits) of them" test "$(value hits)" -gt 50
done
alive "the enforcer answers after the races"

# ---- as without a supervisor

for what in oddities streams netlink "waits $NOWHERE 80"; do
	same_as_native "as native: ${what%% *}, one thread" $MESSAGES $what
	same_as_native "as native: ${what%% *}, two threads" $MESSAGES $what threads
done
inside pkill -x cordon-hand
same_as_native "as native: streams, with a new hand" $MESSAGES streams threads
inside sh -c 'rm -f /etc/resolv.conf; echo nameserver 127.0.0.1 >/etc/resolv.conf'
cp "$HERE/resolver.py" "$INSIDE/srv/resolver.py"
same_as_native_script "as native: resolver, asyncio, multiprocessing; one process" "python3 /srv/resolver.py"
same_as_native_script "as native: resolver, asyncio, multiprocessing; two processes" "python3 /srv/resolver.py fork"

# ---- waiting

run --agent canary -- $MESSAGES canary 5
before=$(descriptors)
run_beside -- $MESSAGES hang $NOWHERE 80 200 100
wait_until 60 eval '[ "$(descriptors)" -ge $((before + 200)) ]' || not_ok "200 connects wait"
canary_p99() {	# HOW: as fast as can be asked for now
	$1 $MESSAGES canary 300
	value p99
}
for try in 1 2 3 4 5; do	# a machine that is busy with something else is late, too
	p99=$(canary_p99 "run --agent canary --") alone=$(canary_p99 native)
	[ "$p99" -ge 20000 ] && [ "$p99" -ge $((4 * alone)) ] || break
done
check "200 connects to nowhere hold nobody up (99 % within $p99 µs, $alone µs without Cordon)" test "$p99" -lt 20000 -o "$p99" -lt $((4 * alone))
pkill -KILL --ns "$PID1" --nslist pid -x attack-messages
wait "$BESIDE"
wait_until 30 eval '[ "$(descriptors)" -le $((before + 1)) ]'
check "nothing is left of them in the enforcer ($before descriptors before, $(descriptors) now)" test "$(descriptors)" -le $((before + 1))

# ---- the enforcer dies

for threads in '' threads; do
	run -- $MESSAGES storm 4 $threads &
	storm=$!
	for i in 1 2; do
		sleep 1.2
		kill_enforcer
	done
	wait $storm
	read_results
	note "$OUT"
	equal "sends while the enforcer dies: none twice, none lost, none that fails otherwise ($(value done) done, $(value unknown) unknown)" "0 0 0 0" \
		"$(value doubled) $(value lost) $(value other) $(value enosys)"
	check "what arrived is what was done" test "$(value arrived)" -ge "$(value done)" -a "$(value arrived)" -le $(($(value done) + $(value unknown)))
done
wait_until 30 healthy
run -- $MESSAGES waits $NOWHERE 80 &
waits=$!
sleep 0.1
kill_enforcer
wait $waits
read_results
equal "a connect that waits goes on under the next enforcer" "blocking 1" "$(grep ^blocking <<<"$OUT")"
nothing_arrived "all"
fixture_stop

# ---- mode off

fixture_start off
run -- $MESSAGES canary 3
succeeded "in off, connects work"
recorded "and are recorded, with what guarded would have said" sys.name=connect mode=off certainty=advisory shadow.decision=allow
run -- $MESSAGES oddities
succeeded "in off, sends are not notified"
equal "nor recorded" 0 "$(records sys.name=sendto)"
