/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/child.h"

#include "shim/lockdown.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void report(const struct child_plan *plan, const struct child_report *r)
{
	if (io_write_all(plan->report_fd, r, sizeof(*r)) < 0)
		_exit(125);
}

static void fail(const struct child_plan *plan, enum keeper_stage stage)
{
	struct child_report r = { .stage = (int32_t)stage, .error_number = errno ? errno : EINVAL, .listener_fd = -1, .master_fd = -1 };

	report(plan, &r);
	_exit(125);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * The pty is opened by the agent itself, so that its slave belongs to the agent. The master's number is valid in the keeper, whose table
 * this still is.
 */
static int open_pty(const struct spec *spec)
{
	struct winsize size = { .ws_row = spec->rows ? spec->rows : 24, .ws_col = spec->columns ? spec->columns : 80 };
	bool any = isatty(0) || isatty(1) || isatty(2);
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK), slave;
	char name[64];

	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 || ptsname_r(master, name, sizeof(name)) != 0)
		return -1;
	slave = open(name, O_RDWR | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0)
		return -1;
	for (int fd = 0; fd <= 2; fd++)
		if ((!any || isatty(fd)) && dup2(slave, fd) < 0)
			return -1;
	close(slave);
	return master;
}

/*
 * A regular file the host handed us is opened anew with the agent's rights and by its name in the agents' namespace: a descriptor from
 * outside would be writable through the read-only tree. Position and O_APPEND are kept.
 */
static int reopen_file(int fd, const struct stat *given)
{
	char link[32], path[4096];
	struct stat found;
	int flags = fcntl(fd, F_GETFL), opened;
	off_t offset = lseek(fd, 0, SEEK_CUR);
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (flags < 0 || len <= 0 || (size_t)len >= sizeof(path) - 1)
		return -1;
	path[len] = 0;
	opened = open(path, (flags & (O_ACCMODE | O_APPEND)) | O_CLOEXEC | O_NOCTTY);
	if (opened < 0)
		return -1;
	if (fstat(opened, &found) < 0 || found.st_dev != given->st_dev || found.st_ino != given->st_ino) {
		close(opened);
		errno = ENOENT; /* not visible there, or something else is by now */
		return -1;
	}
	if (offset > 0 && lseek(opened, offset, SEEK_SET) < 0) {
		close(opened);
		return -1;
	}
	if (dup2(opened, fd) < 0)
		return -1;
	close(opened);
	return 0;
}

static int check_stdio(void)
{
	struct stat st;

	for (int fd = 0; fd <= 2; fd++) {
		if (fstat(fd, &st) < 0)
			return -1;
		if (fcntl(fd, F_GETFL) & O_PATH) {
			errno = EBADF;
			return -1;
		}
		switch (st.st_mode & S_IFMT) {
		case S_IFIFO:
		case S_IFSOCK:
		case S_IFCHR: /* /dev/null and its like, terminals; what a device node gives, Landlock and the id change rule */
			break;
		case S_IFREG:
			if (reopen_file(fd, &st) < 0)
				return -1;
			break;
		default:
			errno = EISDIR;
			return -1;
		}
	}
	return 0;
}

static int install_filter(const struct spec *spec, const char *blob)
{
	struct sock_fprog program = {
		.len = (unsigned short)spec->nr_filter,
		.filter = (struct sock_filter *)(uintptr_t)(blob + spec->filter_offset),
	};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, spec->seccomp_flags, &program);
}

/* Like execvp, but every attempt is a call the enforcer judges, and the first refusal ends the search as it would for a missing right. */
static void search_and_exec(const struct child_plan *plan, char *const *argv, char *const *env)
{
	const char *search = plan->blob + plan->spec->search_offset;
	char path[4096 + 256];
	int denied = 0;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, env);
		return;
	}
	for (const char *dir = search; *dir;) {
		size_t len = strcspn(dir, ":");

		if (len > 0 && len + strlen(argv[0]) + 2 <= sizeof(path)) {
			snprintf(path, sizeof(path), "%.*s/%s", (int)len, dir, argv[0]);
			execve(path, argv, env);
			if (errno == EACCES || errno == EPERM)
				denied = errno;
			else if (errno != ENOENT && errno != ENOTDIR)
				return;
		}
		dir += len + (dir[len] == ':');
	}
	errno = denied ? denied : ENOENT;
}

static char **string_vector(const char *strings, uint32_t nr)
{
	char **vector = calloc(nr + 1, sizeof(*vector));

	for (uint32_t i = 0; vector && i < nr; i++) {
		vector[i] = (char *)(uintptr_t)strings;
		strings += strlen(strings) + 1;
	}
	return vector;
}

static void leave_keeper(const struct child_plan *plan)
{
	char byte;

	if (read(plan->go_fd, &byte, 1) != 1 || unshare(CLONE_FILES) < 0)
		_exit(125);
	if (io_write_all(plan->report_fd, "u", 1) < 0 || sys_close_range(3, ~0U, 0) < 0)
		_exit(125);
}

/*
 * The order: ids before anything is opened, so that the agent's own rights count; the layer before stdio is reopened, so that a
 * host's redirection cannot write where the launch may not; the filter last, since nothing may be trapped while nobody listens.
 */
void child_main(const struct child_plan *plan)
{
	const struct spec *spec = plan->spec;
	bool keep_admin = spec->nr_filter && !(spec->flags & SPEC_NO_NEW_PRIVS);
	char **argv = string_vector(plan->blob + spec->argv_offset, spec->argc);
	char **env = string_vector(plan->blob + spec->env_offset, spec->envc);
	struct child_report ready = { .listener_fd = -1, .master_fd = -1 };

	reset_signals();
	errno = 0;
	if (!argv || !env)
		fail(plan, STAGE_SPEC);
	if (setsid() < 0)
		fail(plan, STAGE_PTY);
	umask(spec->umask);
	if (spec->flags & SPEC_NO_CORE && setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }) < 0)
		fail(plan, STAGE_SPEC);
	if (lockdown_ids(spec, plan->blob, keep_admin) < 0)
		fail(plan, STAGE_IDS);
	/* Set after the ids: changing them clears it. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		fail(plan, STAGE_IDS);
	if (chdir(plan->blob + spec->cwd_offset) < 0)
		fail(plan, STAGE_CWD);
	if (plan->ruleset_fd >= 0 && sys_landlock_restrict_self(plan->ruleset_fd) < 0)
		fail(plan, STAGE_LANDLOCK);
	if (spec->flags & SPEC_TTY && (ready.master_fd = open_pty(spec)) < 0)
		fail(plan, STAGE_PTY);
	if (check_stdio() < 0)
		fail(plan, STAGE_STDIO);
	if (spec->nr_filter && (ready.listener_fd = install_filter(spec, plan->blob)) < 0)
		fail(plan, STAGE_FILTER);
	if (lockdown_last_capabilities(spec) < 0)
		fail(plan, STAGE_IDS);
	report(plan, &ready);
	leave_keeper(plan);
	search_and_exec(plan, argv, env);
	plan->table->exec_error = (uint32_t)errno;
	_exit(errno == ENOENT ? 127 : 126);
}
