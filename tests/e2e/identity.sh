#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a launch has and has not: ids, capabilities, filter, environment, namespaces' contents, descriptors.
. "$(dirname "$0")/lib.sh"
start_guarded -e SECRET_OF_IMAGE=passes

field() {	# NAME: of the child's /proc/self/status
	docker exec "$GUARDED" grep "^$1:" /proc/self/status | cut -f2
}
equal "uid 1000 in all four" $'1000\t1000\t1000\t1000' "$(docker exec "$GUARDED" grep '^Uid:' /proc/self/status | cut -f2-)"
equal "gid 1000 in all four" $'1000\t1000\t1000\t1000' "$(docker exec "$GUARDED" grep '^Gid:' /proc/self/status | cut -f2-)"
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	equal "$set is empty" 0000000000000000 "$(field $set)"
done
equal "no_new_privs" 1 "$(field NoNewPrivs)"
equal "a filter" 2 "$(field Seccomp)"
check "more filters than the container's own" [ "$(field Seccomp_filters)" -gt "$(host 'grep ^Seccomp_filters: /proc/self/status | cut -f2')" ]
equal "descriptors 0, 1 and 2 only" "0 1 2" "$(docker exec "$GUARDED" bash -c 'for n in {0..254}; do [ ! -e /proc/$$/fd/$n ] || printf "%s " $n; done' | sed 's/ $//')"

environment=$(docker exec -e ASKED=yes "$GUARDED" env)
matches "PATH without the entry folder" $'(^|\n)PATH=/usr/local/sbin:' "$environment"
equal "no name of Cordon's own" "" "$(grep -E '^CORDON_(RUN|CA|POLICY|CONTROL|LAUNCH|SHIM|AUDIT)' <<<"$environment")"
matches "the image's variables pass" 'SECRET_OF_IMAGE=passes' "$environment"
matches "what the host asked for passes" 'ASKED=yes' "$environment"
matches "HOME is the user's" $'(^|\n)HOME=/home/agent' "$environment"
matches "the proxy is set" $'(^|\n)https_proxy=http://127.0.0.1:[0-9]+' "$environment"

refused "a variable that loads code is refused" env LD_PRELOAD=/tmp/x.so true
status=0
docker exec -e LD_PRELOAD=/tmp/evil.so "$GUARDED" sh -c 'echo ran' >"$WORK/out" 2>"$WORK/err" || status=$?
equal "also from docker exec -e" 126 "$status"
equal "and nothing ran" "" "$(cat "$WORK/out")"

# Hidden, or there is nothing in it.
for folder in /run/cordon /run/cordon-ca /var/lib/cordon /var/lib/cordon/audit; do
	equal "$folder shows an agent nothing" "" "$(docker exec "$GUARDED" sh -c "ls -A $folder 2>/dev/null")"
done
host 'mkdir -p /home/agent/.ssh && echo key > /home/agent/.ssh/id_ed25519 && chown -R 1000:1000 /home/agent/.ssh'
equal "a private key that is there cannot be read" "" "$(docker exec "$GUARDED" sh -c 'cat ~/.ssh/id_ed25519 2>/dev/null')"
check "PID 1's environment cannot be read" host '! runuser -u agent -- /bin/cat /proc/1/environ'
equal "nor by an agent" "" "$(docker exec "$GUARDED" sh -c 'cat /proc/1/environ 2>/dev/null | tr -d "\0"')"
