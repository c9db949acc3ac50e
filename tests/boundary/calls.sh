#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Calls refused by their registers: each with its errno, also with junk where the kernel does not look; foreign ABIs are killed.
. "$(dirname "$0")/lib.sh"
fixture_start guarded allow
echo untouched >"$INSIDE/srv/open/target"
chmod 666 "$INSIDE/srv/open/target"
mounts=$(cat "/proc/$PID1/mountinfo")
for user in agent root; do
	run --user $user -- /srv/bin/attack-calls
	succeeded "every call is answered ($user)"
	while read -r name result; do
		case $name in
		int80* | x32*) expected="signal 31" ;;
		io_* | clone3*) expected=ENOSYS ;;
		listener*) expected=EBUSY ;;
		socket-netfilter* | socket-sctp*) expected=EPROTONOSUPPORT ;;
		socket-vsock* | socket-alg* | socket-xdp*) expected=EAFNOSUPPORT ;;
		*) expected=EPERM ;;
		esac
		[ "$result" = "$expected" ] || not_ok "$user: $name" "expected $expected" "found $result"
	done <<<"$OUT"
	check "as many calls as there are ($user)" test "$(wc -l <<<"$OUT")" -gt 90
done
equal "the mounts are as they were" "$mounts" "$(cat "/proc/$PID1/mountinfo")"
equal "the file an int 0x80 tried to open is untouched" untouched "$(cat "$INSIDE/srv/open/target")"
for name in ptrace mount unshare bpf keyctl process_vm_readv pidfd_getfd personality io_uring_setup seccomp ioctl; do
	recorded "$name is recorded" decision=deny sys.name=$name
done
alive "alive"
