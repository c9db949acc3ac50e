#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An unmodified host's docker exec: output, exit status, stdin and end of file are those of the same image without Cordon.
. "$(dirname "$0")/lib.sh"
start_guarded
start_plain

same "sh -lc" sh -lc 'echo hello; echo problem >&2'
same "bash -lc" bash -lc 'echo "$BASH" $((6 * 7)); pwd'
same "sh without -l" sh -c 'echo "$0" "$@"' zero one "two words" ''
same "status 0" sh -c 'exit 0'
STATUS=3 same "status 3" sh -c 'exit 3'
STATUS=255 same "status 255" sh -c 'exit 255'
STATUS=127 same "a name the shell does not find is 127" sh -c 'no-such-program'
STATUS=126 same "a file that is not executable is 126" sh -c '/etc/hostname'
STATUS=137 same_script "killed by a signal" 'kill -KILL $$'
STATUS=143 same_script "terminated by a signal" 'kill -TERM $$'
STATUS=2 same "no such folder for ls" ls /no/such/folder
same "quoting, globbing and expansion" bash -c 'cd /usr/share/common-licenses && for f in GPL*; do printf "%q\n" "$f"; done | head -n 3; printf "%s\n" "a  b" '"'c\$d'"
same "here-document" bash -c $'cat <<END\none\n$((1 + 1))\nEND'
same "pipes and their status" bash -c 'set -o pipefail; seq 5 | grep -c . | cat; seq 3 | false; echo $?'
same "a long argument" sh -c 'printf "%s" "$1" | wc -c' sh "$(head -c 100000 /dev/zero | tr '\0' a)"
same "two megabytes of output" sh -c 'seq 300000'
same "bytes that are no text" sh -c 'printf "\000\001\377\n"'
same "umask and limits" sh -c 'umask; ulimit -n'
same "the folder the host starts in" sh -c pwd
STATUS=1 same "an argument that looks like an option" cat -- --help

OPTIONS=(-w /usr/share)
same "docker exec -w" sh -c pwd
OPTIONS=(-e "GREETING=good day" -e EMPTY=)
same "docker exec -e" sh -c 'echo "$GREETING:${EMPTY-unset}"'
OPTIONS=(-u 1000:1000)
same "docker exec -u" sh -c 'id -u; id -g'
OPTIONS=()

OPTIONS=(-i)
head -c 1048576 /dev/urandom >"$WORK/random"
INPUT=$WORK/random
same "a binary megabyte through cat" cat
same "and counted behind a shell" sh -c 'cat | sha256sum'
check "which really came through" cmp "$WORK/random" <(docker exec -i "$GUARDED" cat <"$WORK/random")
INPUT=/dev/null
same "end of file at once" cat
printf 'one\ntwo\n' >"$WORK/lines"
INPUT=$WORK/lines
same "read line by line" sh -c 'read first; echo "got $first"; cat'
INPUT=/dev/null
OPTIONS=()
same "no stdin: end of file" sh -c 'cat; echo "status $?"'

docker exec "$GUARDED" sh -c 'echo out; echo err >&2' >"$WORK/out" 2>"$WORK/err"
equal "stdout holds only stdout" out "$(cat "$WORK/out")"
equal "stderr holds only stderr" err "$(cat "$WORK/err")"

status=0
docker exec "$GUARDED" nmap --version >"$WORK/out" 2>"$WORK/err" || status=$?
equal "an entry name whose program is not in the image is 127" 127 "$status"

# The output of a long command arrives while it runs, not at its end.
mkfifo "$WORK/stream"
docker exec "$GUARDED" sh -c 'echo first; sleep 200; echo second' >"$WORK/stream" 2>/dev/null &
client=$!
exec 7<"$WORK/stream"
first=
read -r -t 100 first <&7
equal "output streams" first "$first"
exec 7<&-
kill "$client" 2>/dev/null
wait "$client" 2>/dev/null

# Many at once.
for number in $(seq 12); do
	docker exec "$GUARDED" sh -lc "echo $number" >"$WORK/many.$number" 2>&1 &
done
wait
equal "twelve at once" "$(seq 12)" "$(cat $(seq -f "$WORK/many.%.0f" 12))"
