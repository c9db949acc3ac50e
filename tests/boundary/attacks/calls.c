/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that are refused by their registers alone, each as it is and with junk where the kernel does not look. */
#include "attack.h"

#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define JUNK 0x5bad5badUL << 32

static void call(const char *name, long nr, unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e)
{
	report(name, syscall(nr, a, b, c, d, e, 0));
}

/* int arguments also with a junk high half */
static void both(const char *name, long nr, unsigned long a, unsigned long b, unsigned long c)
{
	char with_junk[64];

	call(name, nr, a, b, c, 0, 0);
	snprintf(with_junk, sizeof(with_junk), "%s+junk", name);
	call(with_junk, nr, a | JUNK, b | JUNK, c | JUNK, 0, 0);
}

static void listener(const char *name, unsigned long operation, unsigned long flags)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF) };
	struct sock_fprog program = { .len = 1, .filter = all };
	pid_t pid = fork();

	if (pid == 0) {
		long r = syscall(SYS_seccomp, operation, flags, &program);

		report(name, r);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void foreign(const char *name, void (*function)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		function();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s signal %d\n", name, WTERMSIG(status));
	else
		printf("%s exit %d\n", name, WEXITSTATUS(status));
}

static void getpid_i386(void)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20L) : "memory");
	_exit(r > 0 ? 1 : 2);
}

static void open_i386(void)
{
	char *low = mmap((void *)0x10000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	long r;

	strcpy(low, "/srv/open/target");
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(5L), "b"(low), "c"((long)O_RDWR) : "memory");
	_exit(r >= 0 ? 1 : 2);
}

static void getpid_x32(void)
{
	long r = syscall(0x40000000 | SYS_getpid);

	_exit(r > 0 ? 1 : 2);
}

static void execve_x32(void)
{
	syscall(0x40000000 | 520, "/srv/deny/rm", NULL, NULL);
	_exit(2);
}

int main(void)
{
	struct iovec io = { &io, sizeof(io) };
	struct io_uring_params uring = { 0 };
	unsigned long clone_args[8] = { 0 };
	int pty = posix_openpt(O_RDWR | O_NOCTTY), fd = open("/", O_PATH | O_DIRECTORY);
	pid_t parent = getppid();

	setvbuf(stdout, NULL, _IOLBF, 0);
	both("ptrace-traceme", SYS_ptrace, PTRACE_TRACEME, 0, 0);
	both("ptrace-seize", SYS_ptrace, PTRACE_SEIZE, (unsigned long)parent, 0);
	call("mount", SYS_mount, 0, (unsigned long)"/", 0, 0x1000 | 32, 0);
	call("umount", SYS_umount2, (unsigned long)"/workspace", 2, 0, 0, 0);
	call("pivot_root", SYS_pivot_root, (unsigned long)"/", (unsigned long)"/", 0, 0, 0);
	call("chroot", SYS_chroot, (unsigned long)"/workspace", 0, 0, 0, 0);
	call("open_tree", SYS_open_tree, (unsigned long)fd, (unsigned long)"/", 1, 0, 0);
	call("move_mount", SYS_move_mount, (unsigned long)fd, (unsigned long)"", (unsigned long)fd, (unsigned long)"/workspace", 4);
	call("mount_setattr", SYS_mount_setattr, (unsigned long)fd, (unsigned long)"", 0x1000, 0, 0);
	call("fsopen", SYS_fsopen, (unsigned long)"tmpfs", 0, 0, 0, 0);
	for (unsigned bit = 0; bit < 32; bit++) {
		static const struct { unsigned long flag; const char *name; } flags[] = {
			{ 0x80, "newtime" }, { 0x20000, "newns" }, { 0x2000000, "newcgroup" }, { 0x4000000, "newuts" }, { 0x8000000, "newipc" },
			{ 0x10000000, "newuser" }, { 0x20000000, "newpid" }, { 0x40000000, "newnet" },
		};
		char name[64];

		if (bit >= sizeof(flags) / sizeof(flags[0]))
			break;
		snprintf(name, sizeof(name), "unshare-%s", flags[bit].name);
		both(name, SYS_unshare, flags[bit].flag, 0, 0);
		if (flags[bit].flag == 0x80)
			continue;
		snprintf(name, sizeof(name), "clone-%s", flags[bit].name);
		long r = syscall(SYS_clone, flags[bit].flag | SIGCHLD, 0, 0, 0, 0);

		if (r == 0)
			_exit(0);
		report(name, r);
	}
	both("clone-parent", SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0);
	both("clone-untraced", SYS_clone, CLONE_UNTRACED | SIGCHLD, 0, 0);
	call("clone3", SYS_clone3, (unsigned long)clone_args, sizeof(clone_args), 0, 0, 0);
	both("setns", SYS_setns, (unsigned long)fd, 0, 0);
	call("io_uring_setup", SYS_io_uring_setup, 8, (unsigned long)&uring, 0, 0, 0);
	call("io_uring_enter", SYS_io_uring_enter, 0, 0, 0, 0, 0);
	call("io_setup", SYS_io_setup, 1, (unsigned long)clone_args, 0, 0, 0);
	both("bpf", SYS_bpf, BPF_PROG_LOAD, (unsigned long)clone_args, 64);
	call("perf_event_open", SYS_perf_event_open, (unsigned long)clone_args, 0, (unsigned long)-1, (unsigned long)-1, 0);
	both("keyctl", SYS_keyctl, 0, (unsigned long)-3, 0);
	call("add_key", SYS_add_key, (unsigned long)"user", (unsigned long)"x", (unsigned long)"x", 1, (unsigned long)-3);
	call("request_key", SYS_request_key, (unsigned long)"user", (unsigned long)"x", 0, 0, 0);
	call("process_vm_readv", SYS_process_vm_readv, (unsigned long)getpid(), (unsigned long)&io, 1, (unsigned long)&io, 1);
	call("process_vm_writev", SYS_process_vm_writev, (unsigned long)getpid(), (unsigned long)&io, 1, (unsigned long)&io, 1);
	both("pidfd_getfd", SYS_pidfd_getfd, (unsigned long)syscall(SYS_pidfd_open, getpid(), 0), 0, 0);
	both("kcmp", SYS_kcmp, (unsigned long)getpid(), (unsigned long)getpid(), 0);
	both("tiocsti", SYS_ioctl, (unsigned long)pty, TIOCSTI, (unsigned long)"x");
	both("tioclinux", SYS_ioctl, (unsigned long)pty, TIOCLINUX, (unsigned long)"\x02");
	both("personality", SYS_personality, 0x0040000, 0, 0);
	both("personality-i386", SYS_personality, 0x0400000, 0, 0);
	both("prctl-set-mm", SYS_prctl, PR_SET_MM, 8, 4096);
	call("userfaultfd", SYS_userfaultfd, 0, 0, 0, 0, 0);
	call("open_by_handle_at", SYS_open_by_handle_at, (unsigned long)fd, (unsigned long)clone_args, 0, 0, 0);
	call("fanotify_init", SYS_fanotify_init, 0, 0, 0, 0, 0);
	call("init_module", SYS_init_module, (unsigned long)clone_args, 8, (unsigned long)"", 0, 0);
	call("kexec_load", SYS_kexec_load, 0, 0, 0, 0, 0);
	call("reboot", SYS_reboot, 0xfee1dead, 672274793, 0x1234567, 0, 0);
	call("acct", SYS_acct, 0, 0, 0, 0, 0);
	call("swapon", SYS_swapon, (unsigned long)"/dev/null", 0, 0, 0, 0);
	both("socket-packet", SYS_socket, AF_PACKET, SOCK_RAW, 0x300);
	both("socket-raw", SYS_socket, AF_INET, SOCK_RAW, 1);
	both("socket-sock-packet", SYS_socket, AF_INET, SOCK_PACKET, 0x300);
	both("socket-vsock", SYS_socket, AF_VSOCK, SOCK_STREAM, 0);
	both("socket-alg", SYS_socket, AF_ALG, SOCK_SEQPACKET, 0);
	both("socket-xdp", SYS_socket, AF_XDP, SOCK_RAW, 0);
	both("socket-netfilter", SYS_socket, AF_NETLINK, SOCK_RAW, 12);
	both("socket-sctp", SYS_socket, AF_INET, SOCK_STREAM, 132);
	listener("listener", SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	listener("listener+junk", SECCOMP_SET_MODE_FILTER | JUNK, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	foreign("int80-getpid", getpid_i386);
	foreign("int80-open", open_i386);
	foreign("x32-getpid", getpid_x32);
	foreign("x32-execve", execve_x32);
	return 0;
}
