/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owns the table of notified and refused calls, its translation to BPF, and the way back from a notified call to its row.
 *
 * A row matches a call when its number is the row's and every condition holds. Conditions look at registers only, so a refusal needs
 * no memory of the caller and cannot be raced. Pure apart from libseccomp's export through a memory file; any thread.
 */
#include "supervisor/boundary/filter.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/err.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/ptrace.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef __x86_64__
#error "the table of calls is x86-64's"
#endif

/* Newer than Debian 12's headers. */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080		/* unshare and clone3 only: in clone(2) these bits are the exit signal */
#endif
#define OPTION_FLOWLABEL_MGR 32			/* linux/in6.h, which netinet/in.h excludes; a flow label can carry a routing header */
#define PROTOCOL_L2TP 115
#define PROTOCOL_SCTP 132
#define PROTOCOL_SMC 256
#define PROTOCOL_MPTCP 262
#define SOCKET_TYPE_MASK 0xf			/* the rest of socket(2)'s type argument is SOCK_CLOEXEC and SOCK_NONBLOCK */
#define NETLINK_PROTOCOL_MASK 0x1f		/* the kernel refuses numbers from MAX_LINKS, 32, on */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

#define WRITE_OPEN (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | TMPFILE_BIT)
#define NEW_NAMESPACE (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)
#define ALL_BITS 0xffffffffU
#define VALUES_MAX 6
#define CONDITIONS_MAX 2

/*
 * On the low 32 bits of one argument, under a mask. All arguments below but sendto(2)'s address are int, unsigned int or, for clone(2),
 * a long of which the kernel itself takes the low half; what stands in the high half is the caller's junk and must not matter.
 */
enum test { TEST_NONE, TEST_ANY_BIT, TEST_ONE_OF, TEST_NONE_OF, TEST_POINTER /* all 64 bits: not NULL */ };

struct condition {
	enum test test;
	unsigned arg;
	uint32_t mask;
	unsigned nr_values;
	uint32_t values[VALUES_MAX];
};

struct row {
	struct call_rule rule;
	bool off;			/* also in the program for mode off */
	struct condition conditions[CONDITIONS_MAX];
};

#define COUNT(...) (sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))
#define ANY_BIT(nr_arg, bits) { .test = TEST_ANY_BIT, .arg = (nr_arg), .mask = (bits) }
#define ONE_OF(nr_arg, bits, ...) \
	{ .test = TEST_ONE_OF, .arg = (nr_arg), .mask = (bits), .nr_values = COUNT(__VA_ARGS__), .values = { __VA_ARGS__ } }
#define NONE_OF(nr_arg, bits, ...) \
	{ .test = TEST_NONE_OF, .arg = (nr_arg), .mask = (bits), .nr_values = COUNT(__VA_ARGS__), .values = { __VA_ARGS__ } }

#define POINTER(nr_arg) { .test = TEST_POINTER, .arg = (nr_arg) }

#define NOTIFY(call, kind, ...) { { SYS_##call, #call, kind, 0, NULL }, true, { __VA_ARGS__ } }
/* In mode off nobody judges files, and so many records would say little. */
#define CHANGES(call) { { SYS_##call, #call, CALL_PATH, 0, NULL }, false, { { 0 } } }
/* Also in mode off: there root could end the enforcer, by a signal or a limit, or become it. */
#define ACTS(call, ...) { { SYS_##call, #call, CALL_PROCESS, 0, NULL }, true, { __VA_ARGS__ } }
#define TRACES(call, sentence, ...) { { SYS_##call, #call, CALL_TRACE, EPERM, sentence }, true, { __VA_ARGS__ } }
#define TALKS(call, kind, ...) { { SYS_##call, #call, kind, 0, NULL }, false, { __VA_ARGS__ } }
#define NOT_ZERO(nr_arg) NONE_OF(nr_arg, ALL_BITS, 0)
#define REFUSE(call, number, sentence, ...) { { SYS_##call, #call, CALL_REFUSED, number, sentence }, false, { __VA_ARGS__ } }

#define MOUNTS "Mounts of the agents' tree do not change."
#define NAMESPACES "A new namespace would hide processes and files from the supervisor."
#define MEMORY "Other processes' memory and descriptors are out of reach."
#define TRACERS "A tracer changes calls after they were judged; debuggers do not run in safety modes."
#define URING "io_uring would do file and network calls that nobody judges."
#define AIO "Kernel AIO can rewrite the arguments of a call that is being judged."
#define KEYS "Kernel keyrings are shared beyond the container."
#define MODULES "Kernel code is not loaded from here."
#define ROUTES "Source routes lead packets to addresses that nobody judged."
#define CLOCK "The clock is the host's."

static const struct row rows[] = {
	/* Notified and decided by the enforcer. */
	NOTIFY(execve, CALL_EXEC),
	NOTIFY(execveat, CALL_EXEC),
	NOTIFY(open, CALL_OPEN, ANY_BIT(1, WRITE_OPEN)),
	NOTIFY(openat, CALL_OPEN, ANY_BIT(2, WRITE_OPEN)),
	NOTIFY(creat, CALL_OPEN),
	NOTIFY(openat2, CALL_OPEN),
	CHANGES(truncate),
	CHANGES(unlink),
	CHANGES(unlinkat),
	CHANGES(rmdir),
	CHANGES(rename),
	CHANGES(renameat),
	CHANGES(renameat2),
	CHANGES(link),
	CHANGES(linkat),
	CHANGES(symlink),
	CHANGES(symlinkat),
	CHANGES(mkdir),
	CHANGES(mkdirat),
	CHANGES(mknod),
	CHANGES(mknodat),
	CHANGES(chmod),
	CHANGES(fchmodat),
	CHANGES(fchmodat2),
	CHANGES(chown),
	CHANGES(lchown),
	CHANGES(fchownat),
	CHANGES(setxattr),
	CHANGES(lsetxattr),
	CHANGES(setxattrat),
	CHANGES(removexattr),
	CHANGES(lremovexattr),
	CHANGES(removexattrat),
	CHANGES(file_setattr),
	CHANGES(utime),
	CHANGES(utimes),
	CHANGES(futimesat),
	CHANGES(utimensat),
	/* Signal 0 only asks whether somebody is there. A pid of 0 is the caller itself, for the rest of these. */
	ACTS(kill, NOT_ZERO(1)),
	ACTS(tkill, NOT_ZERO(1)),
	ACTS(tgkill, NOT_ZERO(2)),
	ACTS(rt_sigqueueinfo, NOT_ZERO(1)),
	ACTS(rt_tgsigqueueinfo, NOT_ZERO(2)),
	ACTS(pidfd_send_signal, NOT_ZERO(1)),
	ACTS(prlimit64, NOT_ZERO(0)),
	ACTS(sched_setaffinity, NOT_ZERO(0)),
	ACTS(sched_setscheduler, NOT_ZERO(0)),
	ACTS(sched_setparam, NOT_ZERO(0)),
	ACTS(sched_setattr, NOT_ZERO(0)),
	ACTS(fcntl, ONE_OF(1, ALL_BITS, F_SETOWN)),
	ACTS(setpriority),
	ACTS(ioprio_set),
	NOTIFY(connect, CALL_CONNECT),
	TALKS(bind, CALL_BIND),
	/* Without an address it is send(2), on an association that was judged when it was made. The others' addresses are in memory. */
	TALKS(sendto, CALL_SEND, POINTER(4)),
	TALKS(sendmsg, CALL_SEND),
	TALKS(sendmmsg, CALL_SEND),

	/* EBUSY is what the kernel says to a second listener; ours must be the only one, or the newest would answer our calls. */
	{ { SYS_seccomp, "seccomp", CALL_REFUSED, EBUSY, "A second seccomp listener could answer calls in the supervisor's place." },
	  true,
	  { ONE_OF(0, ALL_BITS, SECCOMP_SET_MODE_FILTER), ANY_BIT(1, SECCOMP_FILTER_FLAG_NEW_LISTENER) } },

	/* An agent's own filter can only take calls away, but then they are refused where nobody sees it: that there is one is recorded. */
	{ { SYS_seccomp, "seccomp", CALL_NOTED, 0, "A filter of the agent's own can hide refused calls from the record." },
	  false,
	  { ONE_OF(0, ALL_BITS, SECCOMP_SET_MODE_FILTER, SECCOMP_SET_MODE_STRICT), NONE_OF(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER) } },
	{ { SYS_prctl, "prctl", CALL_NOTED, 0, "A filter of the agent's own can hide refused calls from the record." },
	  false,
	  { ONE_OF(0, ALL_BITS, PR_SET_SECCOMP) } },

	REFUSE(mount, EPERM, MOUNTS),
	REFUSE(umount2, EPERM, MOUNTS),
	REFUSE(pivot_root, EPERM, MOUNTS),
	REFUSE(chroot, EPERM, "Another root folder would give every judged path another meaning."),
	REFUSE(open_tree, EPERM, MOUNTS),
	REFUSE(open_tree_attr, EPERM, MOUNTS),
	REFUSE(move_mount, EPERM, MOUNTS),
	REFUSE(mount_setattr, EPERM, MOUNTS),
	REFUSE(fsopen, EPERM, MOUNTS),
	REFUSE(fsconfig, EPERM, MOUNTS),
	REFUSE(fsmount, EPERM, MOUNTS),
	REFUSE(fspick, EPERM, MOUNTS),
	REFUSE(swapon, EPERM, "Swap is the host's."),
	REFUSE(swapoff, EPERM, "Swap is the host's."),
	REFUSE(quotactl, EPERM, "Quotas are the host's."),
	REFUSE(quotactl_fd, EPERM, "Quotas are the host's."),
	REFUSE(acct, EPERM, "Process accounting writes files as the kernel."),
	REFUSE(open_by_handle_at, EPERM, "A file handle opens what no path leads to."),
	REFUSE(fanotify_init, EPERM, "Permission events could hold the supervisor's own opens."),

	REFUSE(setns, EPERM, NAMESPACES),
	REFUSE(unshare, EPERM, NAMESPACES, ANY_BIT(0, NEW_NAMESPACE | CLONE_NEWTIME)),
	/* CLONE_PARENT would leave the keeper's tree, CLONE_UNTRACED the check of an exec. */
	REFUSE(clone, EPERM, "A process outside the launch's tree or in a new namespace would escape supervision.",
	       ANY_BIT(0, NEW_NAMESPACE | CLONE_PARENT | CLONE_UNTRACED)),

	/* A thread's, or a vfork child's own copy: that a lone thread's descriptors are its own is what sockets.c relies on. */
	REFUSE(clone, EPERM, "A process that shares its descriptors with another could change them while a call is judged.",
	       ONE_OF(0, CLONE_FILES | CLONE_THREAD, CLONE_FILES)),

	TRACES(ptrace, TRACERS, ONE_OF(0, ALL_BITS, PTRACE_ATTACH, PTRACE_SEIZE)),
	REFUSE(ptrace, EPERM, TRACERS, NONE_OF(0, ALL_BITS, PTRACE_ATTACH, PTRACE_SEIZE)),
	TRACES(process_vm_readv, MEMORY),
	TRACES(process_vm_writev, MEMORY),
	TRACES(process_madvise, MEMORY),
	TRACES(pidfd_getfd, MEMORY),
	REFUSE(kcmp, EPERM, MEMORY),
	REFUSE(prctl, EPERM, "PR_SET_MM forges what a process looks like from outside.", ONE_OF(0, ALL_BITS, PR_SET_MM)),
	REFUSE(userfaultfd, EPERM, "userfaultfd can stall whoever reads this memory."),

	REFUSE(bpf, EPERM, "BPF programs run in the kernel."),
	REFUSE(perf_event_open, EPERM, "Performance events reveal other processes."),
	REFUSE(keyctl, EPERM, KEYS),
	REFUSE(add_key, EPERM, KEYS),
	REFUSE(request_key, EPERM, KEYS),

	/* ENOSYS: programs then take their ordinary calls, as on a kernel built without these. */
	REFUSE(io_uring_setup, ENOSYS, URING),
	REFUSE(io_uring_enter, ENOSYS, URING),
	REFUSE(io_uring_register, ENOSYS, URING),
	REFUSE(io_setup, ENOSYS, AIO),
	REFUSE(io_submit, ENOSYS, AIO),
	REFUSE(uselib, ENOSYS, "uselib maps a program file without an exec."),

	REFUSE(init_module, EPERM, MODULES),
	REFUSE(finit_module, EPERM, MODULES),
	REFUSE(delete_module, EPERM, MODULES),
	REFUSE(kexec_load, EPERM, MODULES),
	REFUSE(kexec_file_load, EPERM, MODULES),
	/* Of a pid namespace it kills the first process: in mode off as well. */
	{ { SYS_reboot, "reboot", CALL_REFUSED, EPERM, "The machine is the host's, and PID 1 is Cordon." }, true, { { 0 } } },
	/* adjtimex and clock_adjtime also read, with their mode in memory: capabilities hold their writes. */
	REFUSE(settimeofday, EPERM, CLOCK),
	REFUSE(clock_settime, EPERM, CLOCK),
	REFUSE(iopl, EPERM, "I/O ports are the host's."),
	REFUSE(ioperm, EPERM, "I/O ports are the host's."),
	REFUSE(sethostname, EPERM, "The host's name is the operator's."),
	REFUSE(setdomainname, EPERM, "The host's name is the operator's."),
	/* Docker's values: Linux, UNAME26, PER_LINUX32, both, and the query. */
	REFUSE(personality, EPERM, "This personality weakens the address space or changes the ABI.",
	       NONE_OF(0, ALL_BITS, 0, 0x8, 0x20000, 0x20008, 0xffffffff)),
	/* Their owner argument is in memory, where it could change after it was judged. */
	REFUSE(ioctl, EPERM, "A signal owner set this way could be any process.", ONE_OF(1, ALL_BITS, FIOSETOWN, SIOCSPGRP)),
	REFUSE(fcntl, EPERM, "A signal owner set this way could be any process.", ONE_OF(1, ALL_BITS, F_SETOWN_EX)),
	REFUSE(ioctl, EPERM, "This terminal ioctl types into another program's input.", ONE_OF(1, ALL_BITS, TIOCSTI, TIOCLINUX)),

	/* What the kernel says where a file system has no leases. Taking one back is no harm. */
	REFUSE(fcntl, EINVAL, "A lease makes whoever opens the file wait, the supervisor too.", ONE_OF(1, ALL_BITS, F_SETLEASE),
	       NONE_OF(2, ALL_BITS, F_UNLCK)),

	/* Sockets: TCP, UDP and ping over IP, UNIX, and the netlink that tools read interfaces, sockets and devices with. */
	REFUSE(socket, EPERM, "Packet sockets go around every address rule.", ONE_OF(0, ALL_BITS, AF_PACKET)),
	REFUSE(socket, EAFNOSUPPORT, "This address family has no address rules.",
	       NONE_OF(0, ALL_BITS, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET)),
	/* (AF_INET, SOCK_PACKET) is an AF_PACKET socket to the kernel. */
	REFUSE(socket, EPERM, "Raw sockets go around every address rule.", ONE_OF(0, ALL_BITS, AF_INET, AF_INET6),
	       NONE_OF(1, SOCKET_TYPE_MASK, SOCK_STREAM, SOCK_DGRAM)),
	/*
	 * SCTP connects by setsockopt, SMC by messages of its own, L2TP sends bare IP packets: none of them by a judged connect(2). MPTCP does,
	 * but Landlock does not hold its connects (6.13), and Landlock is what a raced connect runs into. Programs fall back to TCP.
	 */
	REFUSE(socket, EPROTONOSUPPORT, "This protocol connects in ways that are not judged.", ONE_OF(0, ALL_BITS, AF_INET, AF_INET6),
	       ONE_OF(2, ALL_BITS, PROTOCOL_L2TP, PROTOCOL_SCTP, PROTOCOL_SMC, PROTOCOL_MPTCP)),
	/* EPROTONOSUPPORT is what PAM and sudo take for "no audit in this kernel". */
	REFUSE(socket, EPROTONOSUPPORT, "This netlink protocol configures the kernel.", ONE_OF(0, ALL_BITS, AF_NETLINK),
	       NONE_OF(2, NETLINK_PROTOCOL_MASK, NETLINK_ROUTE, NETLINK_SOCK_DIAG, NETLINK_KOBJECT_UEVENT, NETLINK_GENERIC)),
	/* A packet with a route of its own goes to another address than the one that was judged. */
	REFUSE(setsockopt, EPERM, ROUTES, ONE_OF(1, ALL_BITS, IPPROTO_IP), ONE_OF(2, ALL_BITS, IP_OPTIONS)),
	REFUSE(setsockopt, EPERM, ROUTES, ONE_OF(1, ALL_BITS, IPPROTO_IPV6),
	       ONE_OF(2, ALL_BITS, IPV6_RTHDR, IPV6_2292RTHDR, IPV6_2292PKTOPTIONS, OPTION_FLOWLABEL_MGR)),
	REFUSE(socketpair, EAFNOSUPPORT, "This address family has no address rules.", NONE_OF(0, ALL_BITS, AF_UNIX, AF_INET, AF_INET6)),
};

static const struct call_rule unknown_rule = { -1, "unknown", CALL_REFUSED, EPERM, "No rule allows this call." };

/* ---- one call against the table ---- */

static bool value_listed(const struct condition *c, uint32_t value)
{
	for (unsigned i = 0; i < c->nr_values; i++)
		if (c->values[i] == value)
			return true;
	return false;
}

static bool condition_holds(const struct condition *c, const struct seccomp_data *call)
{
	uint32_t value = (uint32_t)call->args[c->arg] & c->mask;

	switch (c->test) {
	case TEST_NONE:
		return true;
	case TEST_POINTER:
		return call->args[c->arg] != 0;
	case TEST_ANY_BIT:
		return value != 0;
	case TEST_ONE_OF:
		return value_listed(c, value);
	case TEST_NONE_OF:
		return !value_listed(c, value);
	}
	return false;
}

static bool row_matches(const struct row *row, const struct seccomp_data *call)
{
	if (row->rule.nr != call->nr)
		return false;
	for (unsigned i = 0; i < CONDITIONS_MAX; i++)
		if (!condition_holds(&row->conditions[i], call))
			return false;
	return true;
}

const struct call_rule *filter_rule_for(const struct seccomp_data *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (row_matches(&rows[i], call))
			return &rows[i].rule;
	return &unknown_rule;
}

const struct call_rule *filter_rule(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].rule.nr == nr)
			return &rows[i].rule;
	return &unknown_rule;
}

/* ---- the table as BPF ---- */

/*
 * libseccomp's plain comparisons look at all 64 bits, and it takes one comparison per argument and rule. Masked equality on the low
 * half says everything we need: a row becomes as many rules as it has combinations of (mask, value) that fulfil its conditions.
 */
struct expansion {
	scmp_filter_ctx context;
	const struct row *row;
	struct scmp_arg_cmp comparisons[CONDITIONS_MAX];
	unsigned nr_comparisons;
};

static int expand(struct expansion *e, unsigned index);

static int expand_pointer(struct expansion *e, unsigned index)
{
	int r;

	/* libseccomp compares both halves: a pointer whose low one is zero is no NULL. */
	e->comparisons[e->nr_comparisons++] = (struct scmp_arg_cmp){ .arg = e->row->conditions[index].arg, .op = SCMP_CMP_NE };
	r = expand(e, index + 1);
	e->nr_comparisons--;
	return r;
}

static int expand_equal(struct expansion *e, unsigned index, uint32_t mask, uint32_t value)
{
	int r;

	e->comparisons[e->nr_comparisons++] = (struct scmp_arg_cmp){
		.arg = e->row->conditions[index].arg,
		.op = SCMP_CMP_MASKED_EQ,
		.datum_a = mask,
		.datum_b = value,
	};
	r = expand(e, index + 1);
	e->nr_comparisons--;
	return r;
}

/*
 * Everything but the listed values, as masked equalities: walks the bits of the mask from the top; a prefix that no listed value has
 * is one rule, one that some have is looked into further.
 */
static int expand_others(struct expansion *e, unsigned index, uint32_t known, uint32_t prefix)
{
	const struct condition *c = &e->row->conditions[index];
	uint32_t left = c->mask & ~known, bit;
	bool shared = false;
	int r;

	for (unsigned i = 0; i < c->nr_values; i++)
		shared |= (c->values[i] & known) == prefix;
	if (!shared)
		return expand_equal(e, index, known, prefix);
	if (left == 0)
		return 0;
	bit = 1U << (31 - __builtin_clz(left));
	r = expand_others(e, index, known | bit, prefix);
	return r < 0 ? r : expand_others(e, index, known | bit, prefix | bit);
}

static int expand(struct expansion *e, unsigned index)
{
	const struct condition *c = &e->row->conditions[index];
	int r = 0;

	if (index == CONDITIONS_MAX || c->test == TEST_NONE)
		return seccomp_rule_add_exact_array(e->context, SCMP_ACT_NOTIFY, e->row->rule.nr, e->nr_comparisons, e->comparisons);
	switch (c->test) {
	case TEST_POINTER:
		return expand_pointer(e, index);
	case TEST_ANY_BIT:
		for (uint32_t bits = c->mask; bits != 0 && r == 0; bits &= bits - 1)
			r = expand_equal(e, index, bits & -bits, bits & -bits);
		return r;
	case TEST_ONE_OF:
		for (unsigned i = 0; i < c->nr_values && r == 0; i++)
			r = expand_equal(e, index, c->mask, c->values[i]);
		return r;
	case TEST_NONE_OF:
		return expand_others(e, index, 0, 0);
	default:
		return -EINVAL;
	}
}

static int add_rows(scmp_filter_ctx context, enum filter_kind kind, struct err *ret_error)
{
	const bool off = kind == FILTER_OFF;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row every = { .rule = rows[i].rule };
		const bool reads = kind == FILTER_READS && rows[i].rule.class == CALL_OPEN;
		struct expansion e = { .context = context, .row = reads ? &every : &rows[i] };
		int r;

		if (off && !rows[i].off)
			continue;
		r = expand(&e, 0);
		if (r < 0)
			return err_set(ret_error, r, "the call filter's rule for %s cannot be built: %s", rows[i].rule.name, strerror(-r));
	}
	if (!off) {
		/* Its flags are in memory, where namespaces could hide; every C library falls back to clone(2). */
		int r = seccomp_rule_add_exact(context, SCMP_ACT_ERRNO(ENOSYS), SYS_clone3, 0);

		if (r < 0)
			return err_set(ret_error, r, "the call filter's rule for clone3 cannot be built: %s", strerror(-r));
	}
	return 0;
}

static int set_attributes(scmp_filter_ctx context)
{
	/* The x32 numbers share our architecture; libseccomp gives them this action too. */
	int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	/* A binary tree over the numbers: a call that is not in the table passes after a handful of instructions. */
	return r < 0 ? r : seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
}

/* libseccomp 2.5 exports to descriptors only. */
static int export_program(scmp_filter_ctx context, struct filter_program *ret_program)
{
	_cleanup_close_ int fd = memfd_create("filter", MFD_CLOEXEC);
	_cleanup_free_ struct sock_filter *code = NULL;
	struct stat st;
	int r;

	if (fd < 0)
		return -errno;
	r = seccomp_export_bpf(context, fd);
	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || st.st_size % (off_t)sizeof(*code) != 0 || st.st_size / (off_t)sizeof(*code) > BPF_MAXINSNS)
		return -E2BIG;
	code = malloc((size_t)st.st_size);
	if (!code)
		return -ENOMEM;
	if (pread(fd, code, (size_t)st.st_size, 0) != st.st_size)
		return -EIO;
	ret_program->len = (unsigned)((size_t)st.st_size / sizeof(*code));
	ret_program->code = TAKE_PTR(code);
	return 0;
}

int filter_build(enum filter_kind kind, struct filter_program *ret_program, struct err *ret_error)
{
	scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
	int r;

	if (!context)
		return err_set(ret_error, -ENOMEM, "the call filter cannot be built: out of memory");
	r = set_attributes(context);
	if (r < 0) {
		err_set(ret_error, r, "the call filter cannot be built: libseccomp refuses its attributes: %s", strerror(-r));
		goto out;
	}
	r = add_rows(context, kind, ret_error);
	if (r < 0)
		goto out;
	r = export_program(context, ret_program);
	if (r < 0)
		err_set(ret_error, r, "the call filter cannot be exported: %s", strerror(-r));
out:
	seccomp_release(context);
	return r;
}

void filter_free(struct filter_program *program)
{
	free(program->code);
	*program = (struct filter_program){ 0 };
}
