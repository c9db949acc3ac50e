/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call filter, interpreted: every claim is put to the generated program as a seccomp_data, with junk where the kernel looks away,
 * and the table's C reading of a call must agree with the program's on random registers. One real child proves the kernel agrees.
 */
#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/filter.h"

#include <asm/unistd_64.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define JUNK 0xdeadbeef00000000ULL
#define X32_BIT 0x40000000

static struct filter_program safe, off, reads;
static unsigned steps;		/* instructions the last run took */

/* ---- a classic BPF machine, for the instructions seccomp accepts and libseccomp writes ---- */

static uint32_t jump_offset(const struct sock_filter *i, uint32_t a)
{
	bool taken;

	switch (BPF_OP(i->code)) {
	case BPF_JA:
		return i->k;
	case BPF_JEQ:
		taken = a == i->k;
		break;
	case BPF_JGT:
		taken = a > i->k;
		break;
	case BPF_JGE:
		taken = a >= i->k;
		break;
	case BPF_JSET:
		taken = (a & i->k) != 0;
		break;
	default:
		fail_msg("jump %#x is not in the machine", i->code);
		return 0;
	}
	return taken ? i->jt : i->jf;
}

static uint32_t interpret(const struct filter_program *p, const struct seccomp_data *data)
{
	uint32_t a = 0, pc = 0;

	for (steps = 1;; steps++) {
		const struct sock_filter *i = &p->code[pc++];

		assert_true(pc <= p->len);
		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			assert_int_equal(BPF_CLASS(i->code), BPF_JMP);
			assert_int_equal(BPF_SRC(i->code), BPF_K);
			pc += jump_offset(i, a);
		}
	}
}

static uint32_t verdict(const struct filter_program *p, int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64, .instruction_pointer = ~0ULL,
				     .args = { a0, a1, a2, ~0ULL, ~0ULL, ~0ULL } };

	return interpret(p, &data);
}

/* The same verdict with the high halves clean, set and junk: for arguments the kernel takes as int. */
static uint32_t int_verdict(const struct filter_program *p, int nr, uint32_t a0, uint32_t a1, uint32_t a2)
{
	uint32_t v = verdict(p, nr, a0, a1, a2);

	assert_int_equal(verdict(p, nr, a0 | JUNK, a1 | JUNK, a2 | JUNK), v);
	assert_int_equal(verdict(p, nr, a0 | ~0xffffffffULL, a1 | ~0xffffffffULL, a2 | ~0xffffffffULL), v);
	assert_int_equal(verdict(p, nr, a0 | 1ULL << 32, a1 | 1ULL << 32, a2 | 1ULL << 32), v);
	return v;
}

#define NOTIFIED(...) assert_int_equal(int_verdict(__VA_ARGS__), SECCOMP_RET_USER_NOTIF)
#define ALLOWED(...) assert_int_equal(int_verdict(__VA_ARGS__), SECCOMP_RET_ALLOW)

static const struct call_rule *rule_for(int nr, uint64_t a0, uint64_t a1, uint64_t a2)
{
	struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64, .args = { a0, a1, a2 } };

	return filter_rule_for(&data);
}

static void refused(int nr, uint32_t a0, uint32_t a1, uint32_t a2, int error_number)
{
	const struct call_rule *rule = rule_for(nr, a0 | JUNK, a1 | JUNK, a2 | JUNK);

	NOTIFIED(&safe, nr, a0, a1, a2);
	assert_int_equal(rule->nr, nr);
	assert_int_equal(rule->class, CALL_REFUSED);
	assert_int_equal(rule->error_number, error_number);
	assert_non_null(rule->why);
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(filter_build(FILTER_SAFE, &safe, NULL), 0);
	assert_int_equal(filter_build(FILTER_OFF, &off, NULL), 0);
	assert_int_equal(filter_build(FILTER_READS, &reads, NULL), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	filter_free(&safe);
	filter_free(&off);
	filter_free(&reads);
	assert_null(safe.code);
	return 0;
}

/* ---- claims ---- */

static void programs_fit_the_kernel(void **state)
{
	(void)state;
	printf("safe: %u instructions, off: %u\n", safe.len, off.len);
	assert_in_range(safe.len, 50, BPF_MAXINSNS);
	assert_in_range(off.len, 20, safe.len);
}

static void execs_are_notified_in_every_mode(void **state)
{
	(void)state;
	NOTIFIED(&safe, SYS_execve, 0, 0, 0);
	NOTIFIED(&safe, SYS_execveat, 0, 0, 0);
	NOTIFIED(&off, SYS_execve, 1, 2, 3);
	NOTIFIED(&off, SYS_execveat, 1, 2, 3);
	assert_int_equal(filter_rule(SYS_execve)->class, CALL_EXEC);
	assert_int_equal(filter_rule(SYS_execveat)->class, CALL_EXEC);
}

static void opens_are_notified_by_their_flags_alone(void **state)
{
	static const uint32_t writing[] = { O_WRONLY, O_RDWR, O_ACCMODE, O_CREAT, O_TRUNC, O_RDONLY | O_CREAT | O_EXCL, O_TMPFILE | O_RDWR,
					    O_TMPFILE & ~O_DIRECTORY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, O_RDWR | O_APPEND, ~0U };
	static const uint32_t reading[] = { O_RDONLY, O_RDONLY | O_CLOEXEC, O_DIRECTORY, O_PATH, O_NONBLOCK | O_NOFOLLOW, O_APPEND,
					    O_DIRECT | O_NOATIME | O_SYNC | O_NOCTTY | O_EXCL };
	const struct filter_program *programs[] = { &safe, &off };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reading); i++) {
		NOTIFIED(&reads, SYS_open, ~0U, reading[i], ~0U);
		NOTIFIED(&reads, SYS_openat, ~0U, ~0U, reading[i]);
	}
	for (size_t p = 0; p < 2; p++) {
		for (size_t i = 0; i < ARRAY_SIZE(writing); i++) {
			NOTIFIED(programs[p], SYS_open, 0, writing[i], 0);
			NOTIFIED(programs[p], SYS_openat, 0, 0, writing[i]);
		}
		for (size_t i = 0; i < ARRAY_SIZE(reading); i++) {
			/* The other arguments are pointers and modes: full of these bits, and none of the filter's business. */
			ALLOWED(programs[p], SYS_open, ~0U, reading[i], ~0U);
			ALLOWED(programs[p], SYS_openat, ~0U, ~0U, reading[i]);
		}
		NOTIFIED(programs[p], SYS_creat, 0, 0, 0);
		NOTIFIED(programs[p], SYS_openat2, 0, 0, 0);
		NOTIFIED(programs[p], SYS_connect, 0, 0, 0);
	}
	assert_int_equal(rule_for(SYS_openat, 0, 0, O_CREAT)->class, CALL_OPEN);
	assert_int_equal(rule_for(SYS_open, 0, O_TRUNC, 0)->class, CALL_OPEN);
	assert_int_equal(rule_for(SYS_creat, 0, 0, 0)->class, CALL_OPEN);
	assert_int_equal(rule_for(SYS_connect, 0, 0, 0)->class, CALL_CONNECT);
}

static void calls_that_nobody_retries_or_that_only_read_pass(void **state)
{
	static const int plain[] = { SYS_read, SYS_write, SYS_close, SYS_fork, SYS_vfork, SYS_wait4, SYS_waitid, SYS_exit, SYS_exit_group, SYS_mmap,
				     SYS_munmap, SYS_stat, SYS_newfstatat, SYS_statx, SYS_futex, SYS_poll,
				     SYS_recvmsg, SYS_recvfrom, SYS_accept4, SYS_listen, SYS_pidfd_open, SYS_landlock_restrict_self, SYS_memfd_create, SYS_adjtimex,
				     SYS_clock_adjtime, SYS_name_to_handle_at, SYS_getdents64, SYS_readlink, SYS_access, SYS_rt_sigreturn };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		ALLOWED(&safe, plain[i], ~0U, ~0U, ~0U);
		ALLOWED(&off, plain[i], ~0U, ~0U, ~0U);
	}
}

static void changes_of_names_are_notified(void **state)
{
	static const int changes[] = { SYS_truncate, SYS_unlink, SYS_unlinkat, SYS_rmdir, SYS_rename, SYS_renameat, SYS_renameat2, SYS_link,
				       SYS_linkat, SYS_symlink, SYS_symlinkat, SYS_mkdir, SYS_mkdirat, SYS_mknod, SYS_mknodat, SYS_chmod,
				       SYS_fchmodat, 452, SYS_chown, SYS_lchown, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, 463,
				       SYS_removexattr, SYS_lremovexattr, 466, 469, SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		NOTIFIED(&safe, changes[i], ~0U, ~0U, ~0U);
		assert_int_equal(filter_rule(changes[i])->class, CALL_PATH);
		ALLOWED(&off, changes[i], ~0U, ~0U, ~0U);
	}
}

static void acts_on_other_processes_are_notified(void **state)
{
	static const struct { int nr; unsigned zero; } acts[] = {
		{ SYS_kill, 1 }, { SYS_tkill, 1 }, { SYS_tgkill, 2 }, { SYS_rt_sigqueueinfo, 1 }, { SYS_rt_tgsigqueueinfo, 2 },
		{ SYS_pidfd_send_signal, 1 }, { SYS_prlimit64, 0 }, { SYS_sched_setaffinity, 0 }, { SYS_sched_setscheduler, 0 },
		{ SYS_sched_setparam, 0 }, { SYS_sched_setattr, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) {
		uint32_t args[3] = { 7, 7, 7 };

		NOTIFIED(&safe, acts[i].nr, 7, 7, 7);
		assert_int_equal(filter_rule(acts[i].nr)->class, CALL_PROCESS);
		args[acts[i].zero] = 0; /* asks, or means the caller */
		ALLOWED(&safe, acts[i].nr, args[0], args[1], args[2]);
		ALLOWED(&off, acts[i].nr, args[0], args[1], args[2]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(acts); i++) /* root could end the enforcer with one, or with a limit */
		NOTIFIED(&off, acts[i].nr, 7, 7, 7);
	NOTIFIED(&safe, SYS_fcntl, 3, F_SETOWN, 1);
	ALLOWED(&safe, SYS_fcntl, 3, F_SETFL, 1);
	refused(SYS_fcntl, 3, F_SETLEASE, F_WRLCK, EINVAL);
	refused(SYS_fcntl, 3, F_SETLEASE, F_RDLCK, EINVAL);
	refused(SYS_fcntl, 3, F_SETLEASE, ~0U, EINVAL);
	ALLOWED(&safe, SYS_fcntl, 3, F_SETLEASE, F_UNLCK);
}

/* Of tracing, mode off is asked where it begins alone: a debugger's thousand calls are not. */
static void tracing_is_refused_and_in_off_seen(void **state)
{
	static const int whole[] = { SYS_process_vm_readv, SYS_process_vm_writev, 440 /* process_madvise */, SYS_pidfd_getfd };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		NOTIFIED(&safe, whole[i], 7, 7, 7);
		NOTIFIED(&off, whole[i], 7, 7, 7);
		assert_int_equal(rule_for(whole[i], 7, 7, 7)->class, CALL_TRACE);
		assert_int_equal(rule_for(whole[i], 7, 7, 7)->error_number, EPERM);
	}
	for (unsigned request = 0; request < 0x4300; request++) {
		bool begins = request == PTRACE_ATTACH || request == PTRACE_SEIZE;

		NOTIFIED(&safe, SYS_ptrace, request, 7, 7);
		assert_int_equal(int_verdict(&off, SYS_ptrace, request, 7, 7), begins ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
		assert_int_equal(rule_for(SYS_ptrace, request, 7, 7)->class, begins ? CALL_TRACE : CALL_REFUSED);
		assert_int_equal(rule_for(SYS_ptrace, request, 7, 7)->error_number, EPERM);
	}
}

static void whole_calls_are_refused(void **state)
{
	static const int whole[] = { SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_open_tree, SYS_move_mount, SYS_mount_setattr, SYS_fsopen,
				     SYS_fsconfig, SYS_fsmount, SYS_fspick, 467, SYS_swapon, SYS_swapoff, SYS_quotactl, 443, SYS_acct,
				     SYS_open_by_handle_at, SYS_fanotify_init, SYS_setns, SYS_kcmp, SYS_userfaultfd, SYS_bpf, SYS_perf_event_open, SYS_keyctl, SYS_add_key,
				     SYS_request_key, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load,
				     SYS_settimeofday, SYS_clock_settime, SYS_iopl, SYS_ioperm, SYS_sethostname, SYS_setdomainname };
	static const int missing[] = { SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_setup, SYS_io_submit, SYS_uselib };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		refused(whole[i], 0, 0, 0, EPERM);
		refused(whole[i], ~0U, ~0U, ~0U, EPERM);
		ALLOWED(&off, whole[i], 0, 0, 0);
	}
	refused(SYS_reboot, 0xfee1dead, 672274793, 0x4321fedc, EPERM);
	NOTIFIED(&off, SYS_reboot, 0xfee1dead, 672274793, 0x4321fedc);
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		refused(missing[i], 0, 0, 0, ENOSYS);
}

static void new_namespaces_are_refused_and_threads_are_not(void **state)
{
	static const uint32_t namespaces[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };
	const uint32_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
				CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(namespaces); i++) {
		refused(SYS_clone, namespaces[i] | SIGCHLD, 0, 0, EPERM);
		refused(SYS_clone, namespaces[i] | thread, 0, 0, EPERM);
		refused(SYS_unshare, namespaces[i], 0, 0, EPERM);
		refused(SYS_unshare, namespaces[i] | CLONE_FS, 0, 0, EPERM);
	}
	refused(SYS_unshare, 0x80, 0, 0, EPERM);	/* CLONE_NEWTIME */
	refused(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, EPERM);
	refused(SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0, EPERM);
	refused(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, EPERM);
	refused(SYS_clone, CLONE_FILES | CLONE_VM | CLONE_SIGHAND | SIGCHLD, 0, 0, EPERM);
	ALLOWED(&safe, SYS_clone, thread, 0, 0);
	ALLOWED(&safe, SYS_clone, SIGCHLD, ~0U, ~0U);
	ALLOWED(&safe, SYS_clone, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD, 0, 0);
	ALLOWED(&safe, SYS_clone, CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, 0, 0);
	ALLOWED(&safe, SYS_unshare, CLONE_FILES | CLONE_FS | CLONE_SYSVSEM, 0, 0);
	assert_int_equal(verdict(&safe, SYS_clone3, 0, 0, 0), SECCOMP_RET_ERRNO | ENOSYS);
	ALLOWED(&off, SYS_clone, CLONE_NEWNS | CLONE_PARENT, 0, 0);
	ALLOWED(&off, SYS_clone3, 0, 0, 0);
}

static void odd_sockets_are_refused_with_what_programs_expect(void **state)
{
	static const uint32_t ip[] = { AF_INET, AF_INET6 };
	const uint32_t flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		ALLOWED(&safe, SYS_socket, ip[i], SOCK_STREAM | flags, 0);
		ALLOWED(&safe, SYS_socket, ip[i], SOCK_STREAM, 6);
		ALLOWED(&safe, SYS_socket, ip[i], SOCK_DGRAM | flags, 17);
		ALLOWED(&safe, SYS_socket, ip[i], SOCK_DGRAM, 1);		/* ping */
		refused(SYS_socket, ip[i], SOCK_RAW, 1, EPERM);
		refused(SYS_socket, ip[i], SOCK_RAW | flags, 255, EPERM);
		refused(SYS_socket, ip[i], SOCK_PACKET, 0x0300, EPERM);
		refused(SYS_socket, ip[i], SOCK_SEQPACKET, 132, EPERM);
		refused(SYS_socket, ip[i], SOCK_DCCP, 33, EPERM);
		refused(SYS_socket, ip[i], SOCK_STREAM, 132, EPROTONOSUPPORT);
		refused(SYS_socket, ip[i], SOCK_STREAM | flags, 256, EPROTONOSUPPORT);
		refused(SYS_socket, ip[i], SOCK_STREAM, 262, EPROTONOSUPPORT);	/* MPTCP: Go's default for listeners falls back */
		refused(SYS_socket, ip[i], SOCK_DGRAM, 115, EPROTONOSUPPORT);
	}
	refused(SYS_socket, AF_PACKET, SOCK_RAW, 0x0300, EPERM);
	refused(SYS_socket, AF_PACKET, SOCK_DGRAM | flags, 0, EPERM);
	for (uint32_t family = 0; family < 300; family++) {
		if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK || family == AF_PACKET)
			continue;
		refused(SYS_socket, family, SOCK_STREAM, 0, EAFNOSUPPORT);
	}
	refused(SYS_socket, 0x80000002U, SOCK_STREAM, 0, EAFNOSUPPORT);
	ALLOWED(&safe, SYS_socket, AF_UNIX, SOCK_STREAM | flags, 0);
	ALLOWED(&safe, SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0);
	for (uint32_t protocol = 0; protocol < 32; protocol++) {
		if (protocol == 0 || protocol == 4 || protocol == 15 || protocol == 16)
			ALLOWED(&safe, SYS_socket, AF_NETLINK, SOCK_RAW | flags, protocol);
		else
			refused(SYS_socket, AF_NETLINK, SOCK_RAW, protocol, EPROTONOSUPPORT);
	}
	ALLOWED(&safe, SYS_socketpair, AF_UNIX, SOCK_STREAM, 0);
	refused(SYS_socketpair, 30 /* AF_TIPC */, SOCK_SEQPACKET, 0, EAFNOSUPPORT);
	ALLOWED(&off, SYS_socket, AF_PACKET, SOCK_RAW, 0);
}

static uint32_t sendto_verdict(const struct filter_program *p, uint64_t address)
{
	struct seccomp_data data = { .nr = SYS_sendto, .arch = AUDIT_ARCH_X86_64, .args = { JUNK, JUNK, JUNK, JUNK, address, JUNK } };

	/* The table's reading agrees. */
	assert_int_equal(filter_rule_for(&data)->class, address ? CALL_SEND : CALL_REFUSED);
	return interpret(p, &data);
}

static void addresses_of_sends_and_binds_are_notified(void **state)
{
	(void)state;
	assert_int_equal(sendto_verdict(&safe, 0), SECCOMP_RET_ALLOW);
	for (unsigned bit = 0; bit < 64; bit++) /* 4 GiB-aligned pointers look like NULL to whoever compares 32 bits */
		assert_int_equal(sendto_verdict(&safe, 1ULL << bit), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(sendto_verdict(&safe, 0x7fff00000000ULL), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(sendto_verdict(&safe, ~0ULL), SECCOMP_RET_USER_NOTIF);
	assert_int_equal(sendto_verdict(&off, ~0ULL), SECCOMP_RET_ALLOW);
	NOTIFIED(&safe, SYS_sendmsg, 0, 0, 0);
	NOTIFIED(&safe, SYS_sendmmsg, 0, 0, 0);
	NOTIFIED(&safe, SYS_bind, 0, 0, 0);
	ALLOWED(&off, SYS_sendmsg, 0, 0, 0);
	ALLOWED(&off, SYS_sendmmsg, 0, 0, 0);
	ALLOWED(&off, SYS_bind, 0, 0, 0);
	assert_int_equal(filter_rule(SYS_bind)->class, CALL_BIND);
	assert_int_equal(filter_rule(SYS_sendmsg)->class, CALL_SEND);
	assert_int_equal(filter_rule(SYS_sendmmsg)->class, CALL_SEND);
}

static void source_routes_are_refused(void **state)
{
	(void)state;
	refused(SYS_setsockopt, 3, IPPROTO_IP, 4, EPERM);	/* IP_OPTIONS */
	refused(SYS_setsockopt, 3, IPPROTO_IPV6, 57, EPERM);	/* IPV6_RTHDR */
	refused(SYS_setsockopt, 3, IPPROTO_IPV6, 5, EPERM);	/* IPV6_2292RTHDR */
	refused(SYS_setsockopt, 3, IPPROTO_IPV6, 6, EPERM);	/* IPV6_2292PKTOPTIONS */
	refused(SYS_setsockopt, 3, IPPROTO_IPV6, 32, EPERM);	/* IPV6_FLOWLABEL_MGR */
	ALLOWED(&safe, SYS_setsockopt, 3, IPPROTO_IP, 1);	/* IP_TOS */
	ALLOWED(&safe, SYS_setsockopt, 3, IPPROTO_IPV6, 26);	/* IPV6_V6ONLY */
	ALLOWED(&safe, SYS_setsockopt, 3, SOL_SOCKET, 4);
	ALLOWED(&safe, SYS_setsockopt, 3, IPPROTO_TCP, 57);
	ALLOWED(&off, SYS_setsockopt, 3, IPPROTO_IP, 4);
}

static void single_operations_are_refused(void **state)
{
	static const uint32_t personalities[] = { 0, 0x8, 0x20000, 0x20008, 0xffffffff };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(personalities); i++)
		ALLOWED(&safe, SYS_personality, personalities[i], 0, 0);
	for (unsigned bit = 0; bit < 32; bit++)
		if (bit != 3 && bit != 17) {
			refused(SYS_personality, 1U << bit, 0, 0, EPERM);
			refused(SYS_personality, 1U << bit | 0x20008, 0, 0, EPERM);
			refused(SYS_personality, ~(1U << bit), 0, 0, EPERM);
		}
	refused(SYS_ioctl, 0, 0x5412, 0, EPERM);	/* TIOCSTI */
	refused(SYS_ioctl, ~0U, 0x541c, ~0U, EPERM);	/* TIOCLINUX */
	ALLOWED(&safe, SYS_ioctl, 0x5412, 0x5401, 0x5412);
	ALLOWED(&safe, SYS_ioctl, 0, 0x5413, 0);
	refused(SYS_prctl, 35, 1, 0, EPERM);		/* PR_SET_MM */
	ALLOWED(&safe, SYS_prctl, 15, 35, 35);
	ALLOWED(&safe, SYS_prctl, 36, 1, 0);
	NOTIFIED(&safe, SYS_prctl, 22, 2, 0);		/* PR_SET_SECCOMP: no listener comes from it, but what it refuses is not seen */
	assert_int_equal(rule_for(SYS_prctl, 22 | JUNK, 2, 0)->class, CALL_NOTED);
}

static void a_second_listener_is_refused_in_every_mode(void **state)
{
	(void)state;
	refused(SYS_seccomp, 1, 1 << 3, 0, EBUSY);
	refused(SYS_seccomp, 1, 1 << 3 | 1 << 5 | 1, 0, EBUSY);
	NOTIFIED(&off, SYS_seccomp, 1, 1 << 3, 0);
	ALLOWED(&safe, SYS_seccomp, 2, 0, 0);
}

static void an_agents_own_filter_is_noted(void **state)
{
	(void)state;
	NOTIFIED(&safe, SYS_seccomp, 1, 0, 0);
	NOTIFIED(&safe, SYS_seccomp, 1, 1 << 1 | 1, 0);
	NOTIFIED(&safe, SYS_seccomp, 0, 0, 0);
	assert_int_equal(rule_for(SYS_seccomp, 1 | JUNK, 1, 0)->class, CALL_NOTED);
	assert_int_equal(rule_for(SYS_seccomp, 1 | JUNK, 1 << 3 | 1, 0)->class, CALL_REFUSED);
}

static void foreign_abis_are_killed(void **state)
{
	static const uint32_t foreign[] = { AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM, 0, ~0U, AUDIT_ARCH_X86_64 & ~__AUDIT_ARCH_64BIT };
	static const int numbers[] = { SYS_read, SYS_execve, SYS_openat, SYS_clone3, 11, 102, 520, 0 };

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(numbers); n++) {
		struct seccomp_data data = { .nr = numbers[n] };

		for (size_t a = 0; a < ARRAY_SIZE(foreign); a++) {
			data.arch = foreign[a];
			assert_int_equal(interpret(&safe, &data), SECCOMP_RET_KILL_PROCESS);
			assert_int_equal(interpret(&off, &data), SECCOMP_RET_KILL_PROCESS);
		}
		assert_int_equal(verdict(&safe, numbers[n] | X32_BIT, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
		assert_int_equal(verdict(&off, numbers[n] | X32_BIT, 0, 0, 0), SECCOMP_RET_KILL_PROCESS);
	}
}

static void numbers_without_a_row_pass_and_have_no_rule(void **state)
{
	(void)state;
	for (int nr = 470; nr < 600; nr++)
		ALLOWED(&safe, nr, ~0U, ~0U, ~0U);
	assert_int_equal(filter_rule(9999)->class, CALL_REFUSED);
	assert_int_equal(filter_rule(9999)->error_number, EPERM);
	assert_int_equal(filter_rule(-1)->class, CALL_REFUSED);
	/* A number that has rows, with registers none of them explains. */
	assert_int_equal(rule_for(SYS_openat, 0, 0, O_RDONLY)->class, CALL_REFUSED);
}

static uint64_t random_word(void)
{
	static uint64_t x = 0x9e3779b97f4a7c15ULL;

	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

/* Near what rules look for: small numbers, single bits, sums of few bits, all ones, and sometimes anything. */
static uint64_t random_argument(void)
{
	uint64_t r = random_word(), high = r & 1 ? random_word() << 32 : 0;

	switch (r >> 1 & 7) {
	case 0: case 1: case 2:
		return high | (random_word() % 48);
	case 3:
		return high | (1U << random_word() % 32);
	case 4:
		return high | (1U << random_word() % 32) | (1U << random_word() % 32);
	case 5:
		return high | (uint32_t)~(1U << random_word() % 32);
	case 6:
		return high | (random_word() % 0x6000);
	default:
		return random_word();
	}
}

/* The program and the table's own reading agree on every number: what is notified has a rule, what is not has none. */
static void program_and_table_agree_on_random_registers(void **state)
{
	unsigned notified = 0;

	(void)state;
	for (unsigned i = 0; i < 1000000; i++) {
		struct seccomp_data data = { .nr = (int)(i % 480), .arch = AUDIT_ARCH_X86_64 };
		uint32_t v;

		for (unsigned a = 0; a < 6; a++)
			data.args[a] = random_argument();
		v = interpret(&safe, &data);
		if (data.nr == SYS_clone3)
			continue;
		if ((v == SECCOMP_RET_USER_NOTIF) != (filter_rule_for(&data)->nr == data.nr))
			fail_msg("nr %d (%llx, %llx, %llx): program says %x, table says %s", data.nr, data.args[0], data.args[1], data.args[2], v,
				 filter_rule_for(&data)->name);
		notified += v == SECCOMP_RET_USER_NOTIF;
	}
	assert_true(notified > 50000);
}

/* What a call costs that is none of ours: the walk to its number, and for an openat the looks at its flags. */
static void common_calls_take_few_instructions(void **state)
{
	(void)state;
	verdict(&safe, SYS_read, 0, 0, 0);
	assert_in_range(steps, 1, 20);
	verdict(&safe, SYS_futex, 0, 0, 0);
	assert_in_range(steps, 1, 20);
	verdict(&safe, SYS_openat, 0, 0, O_RDONLY | O_CLOEXEC);
	printf("read-only openat: %u instructions\n", steps);
	assert_in_range(steps, 1, 40);
	verdict(&safe, SYS_socket, AF_INET, SOCK_STREAM, 0);
	printf("socket(AF_INET): %u instructions\n", steps);
	assert_in_range(steps, 1, 400);
	verdict(&safe, SYS_ioctl, 0, 0x5401, 0);
	assert_in_range(steps, 1, 40);
}

/* ---- the kernel agrees ---- */

static int in_filtered_child(const struct filter_program *p)
{
	struct sock_fprog program = { .len = (unsigned short)p->len, .filter = p->code };

	/* Without a listener a notified call is ENOSYS: that is how a child can see which calls were notified. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 100;
	if (open("/etc/passwd", O_RDONLY) < 0)
		return 1;
	if (open("/dev/null", O_WRONLY) >= 0 || errno != ENOSYS)
		return 2;
	if (syscall(SYS_socket, AF_INET | JUNK, SOCK_RAW | JUNK, 1) >= 0 || errno != ENOSYS)
		return 3;
	if (syscall(SYS_unshare, CLONE_NEWUSER) >= 0 || errno != ENOSYS)
		return 4;
	if (unshare(CLONE_FILES) < 0)
		return 5;
	if (syscall(SYS_clone3, NULL, 0) >= 0 || errno != ENOSYS)
		return 6;
	if (socket(AF_INET, SOCK_STREAM, 0) < 0)
		return 7;
	syscall(SYS_getpid | X32_BIT);
	return 8;	/* killed before this */
}

static void a_real_kernel_takes_the_program(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(in_filtered_child(&safe));
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status))
		fail_msg("the child's step %d", WEXITSTATUS(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_fit_the_kernel),
		cmocka_unit_test(execs_are_notified_in_every_mode),
		cmocka_unit_test(opens_are_notified_by_their_flags_alone),
		cmocka_unit_test(calls_that_nobody_retries_or_that_only_read_pass),
		cmocka_unit_test(changes_of_names_are_notified),
		cmocka_unit_test(acts_on_other_processes_are_notified),
		cmocka_unit_test(tracing_is_refused_and_in_off_seen),
		cmocka_unit_test(whole_calls_are_refused),
		cmocka_unit_test(new_namespaces_are_refused_and_threads_are_not),
		cmocka_unit_test(odd_sockets_are_refused_with_what_programs_expect),
		cmocka_unit_test(addresses_of_sends_and_binds_are_notified),
		cmocka_unit_test(source_routes_are_refused),
		cmocka_unit_test(single_operations_are_refused),
		cmocka_unit_test(a_second_listener_is_refused_in_every_mode),
		cmocka_unit_test(an_agents_own_filter_is_noted),
		cmocka_unit_test(foreign_abis_are_killed),
		cmocka_unit_test(numbers_without_a_row_pass_and_have_no_rule),
		cmocka_unit_test(program_and_table_agree_on_random_registers),
		cmocka_unit_test(common_calls_take_few_instructions),
		cmocka_unit_test(a_real_kernel_takes_the_program),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
