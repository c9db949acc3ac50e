/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least any notify supervisor can do: Cordon is measured against this.
 *
 * Starts COMMAND under the very filter Cordon's safe modes use (its table is the only thing shared), and for each notified call receives,
 * reads the memory the arguments point at, acts and replies, on one thread. An exec is seized, and its image and arguments are compared at
 * PTRACE_EVENT_EXEC. Decides nothing, records nothing, isolates nothing; it is no sandbox. Known to be too little for real use: one exec per
 * thread group must be in flight, and a connect that waits holds up everybody.
 */
#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL	/* since 6.9 */
#endif
#define PAGE 4096
#define ARGV_BYTES_MAX (128 * 1024)
#define WRITE_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

struct flight {			/* an exec that was continued and not yet seen to have happened */
	struct flight *next;
	pid_t tid;
	bool script;		/* the image is the interpreter's, which the floor does not follow */
	struct stat file;
	size_t argv_bytes;
	char argv[ARGV_BYTES_MAX];
};

static int listener;
static pid_t command;
static bool inject;
static struct flight *flying, *spare;
static unsigned long nr_calls, nr_mismatches;
static struct { uint64_t address; char bytes[PAGE]; } page;

static void die(const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	exit(115);
}

/* ---- reading ---- */

static bool fetch(pid_t tid, uint64_t address)
{
	uint64_t start = address & ~(uint64_t)(PAGE - 1);
	struct iovec local = { page.bytes, PAGE }, remote = { (void *)(uintptr_t)start, PAGE };

	if (page.address && page.address == start)
		return true;
	page.address = process_vm_readv(tid, &local, 1, &remote, 1, 0) == PAGE ? start : 0;
	return page.address != 0;
}

static bool read_bytes(pid_t tid, uint64_t address, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		size_t offset = (address + done) & (PAGE - 1), part = PAGE - offset;

		if (!fetch(tid, address + done))
			return false;
		if (part > len - done)
			part = len - done;
		memcpy((char *)to + done, page.bytes + offset, part);
		done += part;
	}
	return true;
}

/* Returns the bytes including the NUL, 0 when there is none within max or the memory is not there. */
static size_t read_string(pid_t tid, uint64_t address, char *to, size_t max)
{
	for (size_t done = 0; done < max;) {
		size_t offset = (address + done) & (PAGE - 1), part = PAGE - offset;
		const char *end;

		if (!fetch(tid, address + done))
			return 0;
		end = memchr(page.bytes + offset, 0, part);
		if (end)
			part = (size_t)(end - (page.bytes + offset)) + 1;
		if (part > max - done)
			return 0;
		memcpy(to + done, page.bytes + offset, part);
		done += part;
		if (end)
			return done;
	}
	return 0;
}

/* The caller's path as the supervisor can open it. */
static void name_of(pid_t tid, int dirfd, const char *path, char *ret_name, size_t bytes)
{
	if (path[0] == '/')
		snprintf(ret_name, bytes, "/proc/%d/root%s", tid, path);
	else if (dirfd == AT_FDCWD)
		snprintf(ret_name, bytes, "/proc/%d/cwd/%s", tid, path);
	else
		snprintf(ret_name, bytes, "/proc/%d/fd/%d%s%s", tid, dirfd, path[0] ? "/" : "", path);
}

/* ---- replying ---- */

static void reply(uint64_t id, int error_number, int64_t value, bool go_on)
{
	struct seccomp_notif_resp response = { .id = id, .error = -error_number, .val = value,
					       .flags = go_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0 };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT)
		die("cannot answer a call");
}

static void reply_fd(uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_addfd add = { .id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd,
					   .newfd_flags = cloexec ? O_CLOEXEC : 0 };

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0 && errno != ENOENT)
		reply(id, errno, 0, false);
	close(fd);
}

/* ---- exec ---- */

static struct flight *flight_new(pid_t tid)
{
	struct flight *f = spare;

	if (f)
		spare = f->next;
	else if (!(f = malloc(sizeof(*f))))
		die("memory");
	f->tid = tid;
	f->argv_bytes = 0;
	return f;
}

static void flight_end(struct flight *f)
{
	for (struct flight **link = &flying; *link; link = &(*link)->next)
		if (*link == f) {
			*link = f->next;
			break;
		}
	f->next = spare;
	spare = f;
}

static bool read_argv(struct flight *f, uint64_t address)
{
	for (uint64_t pointer; address; address += sizeof(pointer)) {
		size_t len;

		if (!read_bytes(f->tid, address, &pointer, sizeof(pointer)))
			return false;
		if (!pointer)
			break;
		len = read_string(f->tid, pointer, f->argv + f->argv_bytes, sizeof(f->argv) - f->argv_bytes);
		if (!len)
			return false;
		f->argv_bytes += len;
	}
	return true;
}

static bool is_script(const char *name)
{
	_cleanup_close_ int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[2];

	return fd >= 0 && pread(fd, head, 2, 0) == 2 && memcmp(head, "#!", 2) == 0;
}

static int exec_begin(struct flight *f, const struct seccomp_notif *n)
{
	const __u64 *args = n->data.args;
	bool at = n->data.nr == SYS_execveat;
	char path[PATH_MAX], name[PATH_MAX + 64];

	if (!read_string(f->tid, args[at], path, sizeof(path)) || !read_argv(f, args[1 + at]))
		return -EFAULT;
	name_of(f->tid, at ? (int)args[0] : AT_FDCWD, path, name, sizeof(name));
	if (stat(name, &f->file) < 0)
		return -errno;
	f->script = is_script(name);
	if (ptrace(PTRACE_SEIZE, f->tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) < 0)
		return -errno;
	/* A failed exec gives no event; this stop does (knowledge/kernel-and-peers.md). */
	return ptrace(PTRACE_INTERRUPT, f->tid, 0, 0) < 0 ? -errno : 0;
}

static void on_exec(const struct seccomp_notif *n)
{
	struct flight *f = flight_new((pid_t)n->pid);
	int r = exec_begin(f, n);

	if (r < 0) {
		flight_end(f);
		reply(n->id, -r, 0, false);
		return;
	}
	f->next = flying;
	flying = f;
	reply(n->id, 0, 0, true);
}

static bool is_what_was_asked(pid_t pid, const struct flight *f)
{
	static char seen[ARGV_BYTES_MAX];
	_cleanup_close_ int fd = -1;
	size_t len = 0;
	char name[48];
	struct stat st;
	ssize_t part;

	if (f->script)
		return true;
	snprintf(name, sizeof(name), "/proc/%d/exe", pid);
	if (stat(name, &st) < 0 || st.st_dev != f->file.st_dev || st.st_ino != f->file.st_ino)
		return false;
	snprintf(name, sizeof(name), "/proc/%d/cmdline", pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < sizeof(seen) && (part = read(fd, seen + len, sizeof(seen) - len)) > 0)
		len += (size_t)part;
	return len == f->argv_bytes && memcmp(seen, f->argv, len) == 0;
}

static void on_stop(pid_t pid, int status)
{
	unsigned event = (unsigned)status >> 16;
	unsigned long former = (unsigned long)pid;
	struct flight *f = flying;

	if (event == PTRACE_EVENT_EXEC)
		ptrace(PTRACE_GETEVENTMSG, pid, 0, &former);
	while (f && f->tid != (pid_t)former)
		f = f->next;
	if (f && event != PTRACE_EVENT_EXEC && event != PTRACE_EVENT_STOP) { /* a signal on its way */
		ptrace(PTRACE_CONT, pid, 0, (unsigned long)WSTOPSIG(status));
		ptrace(PTRACE_INTERRUPT, pid, 0, 0);
		return;
	}
	if (f && event == PTRACE_EVENT_EXEC && !is_what_was_asked(pid, f))
		nr_mismatches++;
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (f)
		flight_end(f);
}

/* Returns the command's exit code once it has ended, else -1. */
static int reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			on_stop(pid, status);
			continue;
		}
		for (struct flight *f = flying; f; f = f->next)
			if (f->tid == pid) {
				flight_end(f);
				break;
			}
		if (pid == command)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	}
	return -1;
}

/* ---- files and sockets ---- */

static void on_open(const struct seccomp_notif *n)
{
	const __u64 *args = n->data.args;
	bool at = n->data.nr == SYS_openat || n->data.nr == SYS_openat2;
	uint64_t flags = n->data.nr == SYS_creat ? O_WRONLY | O_CREAT | O_TRUNC : (uint32_t)args[1 + at];
	mode_t mode = (mode_t)args[n->data.nr == SYS_creat ? 1 : 2 + at];
	char path[PATH_MAX], name[PATH_MAX + 64];
	struct open_how how;
	int fd;

	if (!read_string((pid_t)n->pid, args[at], path, sizeof(path)))
		return reply(n->id, EFAULT, 0, false);
	if (n->data.nr == SYS_openat2) {
		if (!read_bytes((pid_t)n->pid, args[2], &how, sizeof(how)))
			return reply(n->id, EFAULT, 0, false);
		flags = how.flags;
	}
	if (!inject || n->data.nr == SYS_openat2 || !(flags & WRITE_FLAGS))
		return reply(n->id, 0, 0, true);
	name_of((pid_t)n->pid, at ? (int)args[0] : AT_FDCWD, path, name, sizeof(name));
	fd = open(name, (int)flags | O_CLOEXEC, mode);
	if (fd < 0)
		return reply(n->id, errno, 0, false);
	reply_fd(n->id, fd, flags & O_CLOEXEC);
}

static void on_connect(const struct seccomp_notif *n)
{
	struct sockaddr_storage address = { 0 };
	_cleanup_close_ int pidfd = -1, fd = -1;
	size_t len = (uint32_t)n->data.args[2];

	if (len > sizeof(address))
		return reply(n->id, EINVAL, 0, false);
	if (!read_bytes((pid_t)n->pid, n->data.args[1], &address, len))
		return reply(n->id, EFAULT, 0, false);
	if (address.ss_family == AF_UNIX) /* done for the caller, the server would see the supervisor's SO_PEERCRED */
		return reply(n->id, 0, 0, true);
	pidfd = sys_pidfd_open((pid_t)n->pid, PIDFD_THREAD);
	fd = pidfd < 0 ? -1 : sys_pidfd_getfd(pidfd, (int)n->data.args[0]);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, (socklen_t)len) < 0)
		return reply(n->id, errno, 0, false);
	reply(n->id, 0, 0, false);
}

/* Any other call that Cordon notifies: the first argument that is an address is read, and the call goes on. */
static void on_other(const struct seccomp_notif *n)
{
	char text[PATH_MAX];

	for (int i = 0; i < 3; i++)
		if (n->data.args[i] >= 0x10000 && n->data.args[i] < UINT64_MAX / 2) {
			read_string((pid_t)n->pid, n->data.args[i], text, sizeof(text));
			break;
		}
	reply(n->id, 0, 0, true);
}

static void on_call(void)
{
	struct seccomp_notif n = { 0 };
	const struct call_rule *rule;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0) {
		if (errno != ENOENT && errno != EINTR)
			die("cannot receive a call");
		return;
	}
	nr_calls++;
	page.address = 0;
	rule = filter_rule_for(&n.data);
	switch (rule->class) {
	case CALL_EXEC:
		return on_exec(&n);
	case CALL_OPEN:
		return on_open(&n);
	case CALL_CONNECT:
		return on_connect(&n);
	case CALL_REFUSED:
		return reply(n.id, rule->error_number, 0, false);
	default:
		return on_other(&n);
	}
}

static int serve(int signals)
{
	struct pollfd sources[2] = { { .fd = listener, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	struct signalfd_siginfo drained;
	int code = -1;

	while (code < 0) {
		if (poll(sources, 2, -1) < 0 && errno != EINTR)
			die("poll");
		if (sources[0].revents & POLLIN)
			on_call();
		else if (sources[0].revents)
			sources[0].fd = -1;
		if (sources[1].revents & POLLIN && read(signals, &drained, sizeof(drained)) == sizeof(drained))
			code = reap();
	}
	return code;
}

/* ---- starting ---- */

/*
 * Shares our descriptor table until the listener is in it: under the filter nothing can be sent that needs no answer. Then has its own.
 */
static void run_command(const struct filter_program *filter, const int channel[2], char **argv)
{
	struct sock_fprog program = { .len = (unsigned short)filter->len, .filter = filter->code };
	sigset_t none;
	char taken;
	int fd;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		die("no_new_privs");
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
	if (fd < 0)
		die("cannot install the filter");
	if (write(channel[1], &fd, sizeof(fd)) != sizeof(fd) || read(channel[1], &taken, 1) != 1 || unshare(CLONE_FILES) < 0)
		die("cannot hand over the listener");
	execvp(argv[0], argv);
	die(argv[0]);
}

static void start(const struct filter_program *filter, char **argv)
{
	int channel[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		die("cannot start");
	command = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (command < 0)
		die("clone");
	if (command == 0)
		run_command(filter, channel, argv);
	if (read(channel[0], &listener, sizeof(listener)) != sizeof(listener) || write(channel[0], "t", 1) != 1)
		die("no listener came");
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) < 0)
		die("no same-CPU wake-up");
}

int main(int argc, char **argv)
{
	struct filter_program filter;
	struct err error = { 0 };
	bool stats = false;
	sigset_t watched;
	int signals, at = 1, code;

	for (; at < argc && argv[at][0] == '-'; at++) {
		if (strcmp(argv[at], "--inject") == 0)
			inject = true;
		else if (strcmp(argv[at], "--stats") == 0)
			stats = true;
		else
			break;
	}
	if (at >= argc || argv[at][0] == '-') {
		fprintf(stderr, "usage: floor [--inject] [--stats] COMMAND ARG...\n"
				"  --inject  answer write-opens with a descriptor (ADDFD_SEND) instead of letting the kernel go on\n"
				"  --stats   say at the end how many calls were answered\n");
		return 2;
	}
	if (filter_build(FILTER_SAFE, &filter, &error) < 0)
		die("cannot build Cordon's filter");
	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigprocmask(SIG_BLOCK, &watched, NULL);
	signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0)
		die("signals");
	start(&filter, argv + at);
	code = serve(signals);
	if (stats)
		fprintf(stderr, "floor: %lu calls, %lu execs that were not what was asked\n", nr_calls, nr_mismatches);
	return code;
}
