# SPDX-License-Identifier: Apache-2.0
# A guarded container without an engine: cordond as PID 1 of its own pid, mount and network namespace, on the machine's root, of which nothing
# changes. Sourced by bash. CORDON_BUILD names the folder of the built programs. Whatever is started here dies with the script.
#
# Inside: /srv/bin holds the programs under test and the attacks, /srv/deny and /srv/allow one program under refused and allowed names;
# /workspace, /tmp, /var/tmp, /run, /home are private. 10.99.0.1 is an address of the namespace that no policy allows.
set -uo pipefail

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SOURCE=$(cd "$HERE/../.." && pwd)
. "$HERE/../lib.sh"
BUILD=${CORDON_BUILD:-$SOURCE/build/dev}
WORK=$(mktemp -d /tmp/cordon-boundary-XXXXXX)
OUTER= PID1= INSIDE=
CORDON=/srv/bin/cordon
MADE=()

fixture_stop() {
	[ -z "$PID1" ] || kill -KILL "$PID1" 2>/dev/null
	[ -z "$OUTER" ] || { kill -KILL "$OUTER"; wait "$OUTER"; } 2>/dev/null
	OUTER= PID1=
}

finish() {
	local status=$?
	trap - EXIT
	fixture_stop
	rm -rf "$WORK"
	[ "${#MADE[@]}" -eq 0 ] || rmdir "${MADE[@]}" 2>/dev/null
	tap_end "$status"
	exit $?
}
trap finish EXIT
trap 'exit 130' INT TERM

cat >"$WORK/inside" <<'INSIDE'
set -eu
work=$1 build=$2 policies=$3
shift 3
before=$(cat "$work/before" 2>/dev/null || :)
mount --make-rprivate /
stage=$work/stage
mkdir "$stage"
mount -t tmpfs -o mode=0755 tmpfs "$stage"
mkdir "$stage/upper" "$stage/work"
mount -t overlay -o "lowerdir=/etc,upperdir=$stage/upper,workdir=$stage/work" overlay /etc
mkdir "$stage/bin" "$stage/bin-work"
mount -t overlay -o "lowerdir=/usr/bin,upperdir=$stage/bin,workdir=$stage/bin-work" overlay /usr/bin
ln -sf /srv/bin/cordon /usr/bin/cordon	# what entry paths lead to
for place in /srv /run /home /var/lib/cordon; do mount -t tmpfs -o mode=0755 tmpfs "$place"; done
for place in /workspace /var/tmp; do mount -t tmpfs -o mode=1777 tmpfs "$place"; done
mkdir -p /srv/bin /srv/deny /srv/allow
cp "$build/cordond" "$build/cordon" "$build/cordon-shim" "$build"/tests/attack-* /srv/bin/
for name in rm date; do cp "$build/tests/attack-mark" "/srv/deny/$name"; done
for name in ok date; do cp "$build/tests/attack-mark" "/srv/allow/$name"; done
mkdir /srv/pa /srv/cwd-a /srv/cwd-b	# races between two names: in one folder, in two working folders
cp /srv/allow/ok /srv/deny/rm /srv/pa/
ln -s /srv/allow/ok /srv/cwd-a/x
ln -s /srv/deny/rm /srv/cwd-b/x
cp -r "$policies" /srv/policies
rm -rf /srv/policies/services
# What outlives a container, as a volume or a bind mount does: the test's folder keep, at /srv/keep.
[ ! -d "$work/keep" ] || { mkdir /srv/keep && mount --rbind "$work/keep" /srv/keep; }
mount -t tmpfs -o mode=1777 tmpfs /tmp
sed -i '/^agent:/d; /^other:/d' /etc/passwd /etc/group
printf '%s\n' agent:x:1500:1500::/home/agent:/bin/sh other:x:1501:1501::/home/other:/bin/sh >>/etc/passwd
printf '%s\n' agent:x:1500: other:x:1501: >>/etc/group
for user in agent:1500 other:1501; do
	home=/home/${user%:*}
	mkdir -p "$home/.ssh"
	echo "the secret of $home" >"$home/.ssh/id_ed25519"
	chmod 700 "$home/.ssh"
	chown -R "${user#*:}:${user#*:}" "$home"
done
echo untouched >/srv/target
chmod 666 /srv/target	# whoever is stopped from writing it is stopped by Cordon
mkdir /srv/open
chmod 777 /srv/open
ip link set lo up
ip address add 10.99.0.1/32 dev lo
image=()	# variables of the image, which before may name
eval "$before"
exec env -i "${image[@]}" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root CORDON_SHIM=/srv/bin/cordon-shim \
	/srv/bin/cordond --policy /srv/policies "$@" init
INSIDE

need_folder() {
	[ -d "$1" ] || { mkdir -p "$1" && MADE+=("$1"); }
}

# fixture_start [MODE [UNREVIEWED]]: returns when the container is ready. Lines in $WORK/before are done in it before PID 1 starts, which gets FIXTURE_OPTIONS
# besides.
FIXTURE_OPTIONS=()
fixture_start() {
	local mode=${1:-guarded} unreviewed=${2:-allow}
	need_folder /workspace
	need_folder /var/lib/cordon
	rm -rf "$WORK/stage"
	# env -u: the machine's own Cordon settings are not the container's.
	unshare --pid --fork --mount-proc --mount --net --kill-child -- /bin/bash "$WORK/inside" "$WORK" "$BUILD" "${FIXTURE_POLICIES:-$SOURCE/policies}" \
		--mode "$mode" --unreviewed "$unreviewed" "${FIXTURE_OPTIONS[@]}" >"$WORK/log" 2>&1 </dev/null &
	OUTER=$!
	wait_until 60 test_pid1 || bail "the container starts" "$(tail -n 20 "$WORK/log")"
	PID1=$(pgrep -P "$OUTER")
	INSIDE=/proc/$PID1/root
	wait_until "${FIXTURE_SECONDS:-60}" inside $CORDON health || bail "the container becomes ready" "$(tail -n 20 "$WORK/log")"
}

test_pid1() {
	local pid
	pid=$(pgrep -P "$OUTER") && [ "$(cat "/proc/$pid/comm")" = cordond ]
}

# inside COMMAND…: the host's own process in the namespaces, root, past every launch, as `docker exec` would start it.
inside() {
	nsenter -t "$PID1" -m -p -n --wd=/ -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "${FIXTURE_ENV[@]}" "$@"
}
FIXTURE_ENV=()

# beneath COMMAND…: the same in the agents' mount namespace, once there was a launch.
beneath() {
	inside sh -c 'exec nsenter -t "$(pgrep -o -f "[z]ygote safe")" -m --wd=/ -- "$@"' sh "$@"
}

# run [RUN-OPTION…] -- COMMAND…: a launch. Leaves STATUS, OUT and ERR; stdio are pipes, as regular files would be opened again inside.
run() {
	launch_in /dev/null "$@"
}

# run_input FILE …: the same, with the bytes of FILE on a pipe.
run_input() {
	local input=$1
	shift
	cat "$input" | launch_in - "$@"
	read_results
}

# run_script TEXT [RUN-OPTION…]: TEXT as a script of the project. A launch's own text is judged before it starts, a script by what it does.
run_script() {
	local script=/workspace/script-$BASHPID.sh
	printf '%s\n' "$1" >"$INSIDE$script"
	shift
	run "$@" -- bash "$script"
}

# run_below [RUN-OPTION…] -- COMMAND…: the command as a script starts it: judged when it execs, not as a launch.
run_below() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	run_script "exec $(printf '%q ' "$@")" "${options[@]}"
}

# run_beside …: run, in the background; BESIDE is what to wait for. Its results are nobody's, and those of the one before are gone.
run_beside() {
	mkdir -p "$WORK/beside"
	rm -f "$WORK"/beside/{out,err,status}
	(WORK=$WORK/beside ${RUNNER:-run} "$@") &
	BESIDE=$!
}

launch_in() {
	local input=$1
	shift
	[ "$input" = - ] && input=/dev/stdin
	rm -f "$WORK/status"
	{ { timeout --kill-after=5 "${RUN_SECONDS:-200}" nsenter -t "$PID1" -m -p -n --wd=/ -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		"${FIXTURE_ENV[@]}" $CORDON run --cwd /workspace "$@" 2>&1 1>&3 3>&- <"$input"; echo $? >"$WORK/status"; } | cat >"$WORK/err"; } 3>&1 | cat >"$WORK/out"
	read_results
}

read_results() {
	STATUS=$(cat "$WORK/status") OUT=$(tr -d '\0' <"$WORK/out") ERR=$(tr -d '\0' <"$WORK/err")
}

# native COMMAND…: the same program as the same user without Cordon, on folders of its own: PID 1 has made the host's view of those that agents
# write noexec. Leaves the same.
native() {
	{ { timeout --kill-after=5 "${RUN_SECONDS:-200}" nsenter -t "$PID1" -m -p -n --wd=/ -- env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/agent \
		unshare --mount sh -c 'for place in /tmp /workspace; do mount -t tmpfs -o mode=1777 tmpfs $place; done
		chown 1500 /proc/self/fd/1 /proc/self/fd/2; cd /workspace; exec setpriv --reuid 1500 --regid 1500 --init-groups "$@"' sh "$@" 2>&1 1>&3 3>&- </dev/null; echo $? >"$WORK/status"; } |
		cat >"$WORK/err"; } 3>&1 | cat >"$WORK/out"
	read_results
}

# refused NAME: the launch that `run` just made was refused, and says so as DESIGN.md's section 10 has it.
refused() {
	if [ "$STATUS" -eq 126 ] && tail -n 1 <<<"$ERR" |
		python3 -c 'import json,sys; o=json.loads(sys.stdin.read()); assert o["success"] is False and o["status"] == "blocked" and o["safety"]["rule"] and o["safety"]["reason"]' 2>/dev/null; then
		ok "$1"
	else
		not_ok "$1" "status $STATUS (126 is expected)" "$OUT" "$ERR"
	fi
}

# succeeded NAME: the launch ended with 0.
succeeded() {
	if [ "$STATUS" -eq 0 ]; then ok "$1"; else not_ok "$1" "status $STATUS" "$OUT" "$ERR"; fi
}

# same_as_native NAME COMMAND…: status and stdout are the same with and without Cordon.
same_as_native() {
	local name=$1 status out
	shift
	native "$@"
	status=$STATUS out=$OUT
	run -- "$@"
	same_results "$name" "$status" "$out"
}

same_results() {
	if [ "$STATUS" = "$2" ] && [ "$OUT" = "$3" ] && [ -n "$OUT" ]; then
		ok "$1"
	else
		not_ok "$1" "status native $2, guarded $STATUS; stdout native <, guarded >:" "$(diff <(printf '%s\n' "$3") <(printf '%s\n' "$OUT"))" "$ERR"
	fi
}

# same_as_native_script NAME TEXT: the same for a script.
same_as_native_script() {
	local status out
	native bash -c "$2"
	status=$STATUS out=$OUT
	run_script "$2"
	same_results "$1" "$status" "$out"
}

# records CONDITION…: how many records of the audit log fulfil all; see audit_query.py.
records() {
	python3 "$HERE/audit_query.py" "$INSIDE/var/lib/cordon/audit" "$@"
}

# at_least COUNT CONDITION…: as many records fulfil all.
at_least() {
	local count=$1
	shift
	[ "$(records "$@")" -ge "$count" ]
}

# recorded NAME CONDITION…: at least one. The log's writer is a thread of its own: it may still come.
recorded() {
	local name=$1
	shift
	if wait_until 20 at_least 1 "$@"; then ok "$name"; else not_ok "$name" "no record with $*" "$(tail -n 3 "$INSIDE"/var/lib/cordon/audit/*.jsonl)"; fi
}

# recorded_times NAME COUNT CONDITION…: as many, neither more nor less.
recorded_times() {
	local name=$1 count=$2
	shift 2
	wait_until 20 at_least "$count" "$@"
	equal "$name" "$count" "$(records "$@")"
}

# all_recorded: returns when whatever happened before is in the log, which is written in order.
all_recorded() {
	local STATUS OUT ERR
	MARKS=$((MARKS + 1))
	run --agent "mark$MARKS" -- ls /srv
	wait_until 20 at_least 1 type=cmd_begin "agent=mark$MARKS"
}
MARKS=0

# alive NAME: a launch that execs, opens for writing and connects ends well within a second (all of it, the client's start included). Where the
# machine itself is late, as the same program without Cordon tells, so may the launch be; where it was late for a moment, it is asked once more.
alive() {
	local began ms limit try
	for try in 1 2 3; do
		began=${EPOCHREALTIME/./}
		run --agent canary -- /srv/bin/attack-canary
		ms=$(((${EPOCHREALTIME/./} - began) / 1000)) limit=${ALIVE_MS:-1000}
		[ "$STATUS" -eq 0 ] && [ "$ms" -ge "$limit" ] || break
		limit=$(native_limit "$limit")
		[ "$ms" -ge "$limit" ] || break
	done
	if [ "$STATUS" -eq 0 ] && [ "$ms" -lt "$limit" ]; then
		ok "$1 ($ms ms)"
	else
		not_ok "$1" "status $STATUS after $ms ms, of which at most $limit are good" "$OUT" "$ERR"
	fi
}

# native_limit MS: eight times what the canary takes without Cordon now, and no less than MS.
native_limit() {
	local began=${EPOCHREALTIME/./} ms
	native /srv/bin/attack-canary
	ms=$(((${EPOCHREALTIME/./} - began) * 8 / 1000))
	echo $((ms > $1 ? ms : $1))
}

# enforcer: its pid as seen here. PID 1 starts another when the one before is reaped.
enforcer() {
	local pid
	wait_until 60 enforcer_pid && enforcer_pid
}

enforcer_pid() {
	pgrep -P "$PID1" -x cordon-enforcer || pgrep -P "$PID1" -f 'cordond enforcer'
}

# kill_enforcer: returns when it is gone. One that was killed can still be seen for a while, and is no second death.
kill_enforcer() {
	local pid
	pid=$(enforcer) && kill -KILL "$pid" && wait_until 60 test ! -e "/proc/$pid"
}

# healthy: Cordon answers; to be waited for.
healthy() {
	inside $CORDON health
}

# listen ADDRESS PORT USER FILE: a TCP server inside; FILE holds how many connections it got.
listen() {
	rm -f "$4"
	inside python3 -c "$(cat "$HERE/count_connections.py")" "$1" "$2" "$3" >"$4" 2>"$WORK/listen.err" &
	wait_until 30 grep -q ready "$4" || bail "a listener on $1:$2" "$(cat "$WORK/listen.err")"
}

connections() {
	grep -c accepted "$1"
}

# stuck: pids inside that are stopped or traced.
stuck() {
	inside sh -c 'grep -l "^State:[[:space:]][tT]" /proc/[0-9]*/status 2>/dev/null'
}
