/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PID 1 does before anything else, and the folders it works in.
 *
 * Signals are blocked before the first fork: one that arrives in between waits in the signalfd instead of being lost.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct rlimit inherited_files;

/* Faults of our own are never blocked: a blocked one kills without a word. */
static void all_but_faults(sigset_t *ret_set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };

	sigfillset(ret_set);
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++)
		sigdelset(ret_set, faults[i]);
}

static const int faults_caught[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
static volatile sig_atomic_t forged_signal, forged_sender;

/*
 * A process inside may send a fault's signal too: with a handler in place the kernel delivers it to PID 1. Only the kernel's own (a positive code),
 * our own abort(), and the runtime's (pid 0, as in signals.c) are believed.
 */
static void on_fault(int number, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code <= 0 && info->si_pid != getpid() && !signal_from_outside(info->si_code, info->si_pid, getpid(), getppid())) {
		forged_sender = info->si_pid;
		forged_signal = number;
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(faults_caught); i++)
		signal(faults_caught[i], SIG_DFL);
	init_panic("PID 1 crashed");
}

int prepare_take_forged_fault(pid_t *ret_sender)
{
	int number = forged_signal;

	*ret_sender = forged_sender;
	forged_signal = 0;
	return number;
}

static void catch_faults(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	static char stack[65536];
	const stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };
	const struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_NODEFER };

	sigaltstack(&alternate, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(faults_caught); i++)
		sigaction(faults_caught[i], &action, NULL);
#else
	(void)on_fault;	/* the sanitizer's own report is worth more */
#endif
}

/* 0, 1 and 2 must be something, or the next descriptor opened becomes somebody's stdout. */
static int fill_stdio(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd <= 2);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* PID 1 holds a descriptor per launch. Children get back what the container was given. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &inherited_files) < 0)
		return;
	limit = inherited_files;
	limit.rlim_cur = limit.rlim_max < KEPT_MAX * 2 ? limit.rlim_max : KEPT_MAX * 2;
	if (limit.rlim_cur > inherited_files.rlim_cur)
		setrlimit(RLIMIT_NOFILE, &limit);
}

void prepare_signals(void)
{
	sigset_t set;

	all_but_faults(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGCHLD, SIG_DFL); /* an inherited SIG_IGN would reap behind our back */
	catch_faults();
}

/* Root that can become nobody else could only run everything as itself, and would fail later with a riddle. */
int prepare_rights(struct err *ret_error)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	const uint32_t needed = 1u << CAP_CHOWN | 1u << CAP_SETUID | 1u << CAP_SETGID;

	if (geteuid() != 0 || syscall(SYS_capget, &header, data) < 0 || (data[0].effective & needed) == needed)
		return 0;
	return err_set(ret_error, -EPERM, "root needs CAP_CHOWN, CAP_SETUID and CAP_SETGID (three of Docker's defaults) to run the proxy and launches as their users");
}

int prepare_process(struct err *ret_error)
{
	sigset_t set;
	int fd, r;

	prepare_signals();
	r = fill_stdio();
	if (r < 0)
		return err_set(ret_error, r, "cannot open /dev/null: %s", strerror(-r));
	if (sys_close_range(3, ~0U, 0) < 0)
		return err_set(ret_error, -errno, "close_range: %s (kernel 5.9 or newer is needed)", strerror(errno));
	all_but_faults(&set);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_set(ret_error, -errno, "signalfd: %s", strerror(errno));
	if (chdir("/") < 0)
		return err_set(ret_error, -errno, "cannot enter /: %s", strerror(errno));
	umask(077);
	/* With the same uid an agent could otherwise read our memory and trace us. */
	prctl(PR_SET_DUMPABLE, 0);
	if (getpid() != 1)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	raise_file_limit();
	return fd;
}

void prepare_undo(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (inherited_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &inherited_files);
	umask(022);
}

int prepare_parents(const char *path)
{
	char parent[PATH_MAX];

	snprintf(parent, sizeof(parent), "%s", path);
	for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(parent, 0755) == 0)
			(void)chmod(parent, 0755);
		else if (errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int prepare_folder(const char *path, mode_t mode, struct err *ret_error)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	r = prepare_parents(path);
	if (r == 0 && mkdir(path, mode) < 0 && errno != EEXIST)
		r = -errno;
	if (r < 0)
		return err_set(ret_error, r, "cannot make folder %s: %s", path, strerror(-r));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_set(ret_error, -errno, "%s must be a folder, not a link or a file: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0)
		return err_set(ret_error, -errno, "cannot stat %s: %s", path, strerror(errno));
	if (st.st_uid != geteuid())
		return err_set(ret_error, -EPERM, "folder %s belongs to uid %u, expected %u", path, st.st_uid, geteuid());
	if ((st.st_mode & 07777) != mode && fchmod(fd, mode) < 0)
		return err_set(ret_error, -errno, "cannot set the mode of %s to %04o: %s", path, mode, strerror(errno));
	return 0;
}
