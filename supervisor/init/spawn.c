/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children of PID 1: every one is made here, so that every one has the same clean beginning.
 *
 * None has a descriptor beyond 0, 1, 2 (and the channel, for the enforcer).
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

static void give_up(const char *what, int number)
{
	dprintf(2, "cordond: %s: %s\n", what, strerror(number));
	_exit(number == ENOENT ? 127 : 126);
}

/*
 * Descriptors first move out of the way of their targets: a source numbered 0…3 would be overwritten by an earlier dup2().
 * The copies stay below the close_range() and are closed by it.
 */
static void place_descriptors(const struct spawn *s)
{
	const int sources[] = { s->in_fd, s->out_fd, s->error_fd, s->channel_fd };
	int copies[4];

	for (int i = 0; i < 4; i++) {
		if (sources[i] >= 0)
			copies[i] = fcntl(sources[i], F_DUPFD_CLOEXEC, 10);
		else if (i < 3)
			copies[i] = fcntl(open("/dev/null", O_RDWR | O_CLOEXEC), F_DUPFD_CLOEXEC, 10);
		else
			continue;
		if (copies[i] < 0)
			give_up("descriptors", errno);
	}
	for (int i = 0; i < (s->channel_fd >= 0 ? 4 : 3); i++)
		if (dup2(copies[i], i) < 0)
			give_up("descriptors", errno);
	sys_close_range(s->channel_fd >= 0 ? 4 : 3, ~0U, 0);
}

/*
 * The command of the container owns the terminal. Where PID 1 leads the terminal's session (docker run -t) the child
 * becomes its foreground group, elsewhere it takes the terminal along into a session of its own.
 */
static void take_terminal(void)
{
	if (tcgetsid(0) == getsid(0)) {
		setpgid(0, 0);
		signal(SIGTTOU, SIG_IGN);
		tcsetpgrp(0, getpgrp());
		return;
	}
	setsid();
	(void)ioctl(0, TIOCSCTTY, 0);
}

static void begin_child(const struct spawn *s, pid_t parent)
{
	int r;

	place_descriptors(s);
	if (s->foreground && isatty(0))
		take_terminal();
	else
		setsid();
	prepare_undo();
	if (s->identity) {
		r = user_assume(s->identity);
		if (r < 0)
			give_up("cannot become the service's user", -r);
	}
	if (s->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		give_up("no_new_privs", errno);
	/* After the change of ids, which would clear it. The parent may be gone already. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(126);
}

pid_t spawn_program(const struct spawn *s)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		begin_child(s, parent);
		environ = (char **)(uintptr_t)s->envp; /* searched in the child's PATH, not in ours with the entry links */
		execvp(s->program ? s->program : s->argv[0], s->argv);
		give_up(s->argv[0], errno);
	}
	return pid;
}

pid_t spawn_function(const struct spawn *s, int (*function)(void *argument), void *argument)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		begin_child(s, parent);
		prctl(PR_SET_DUMPABLE, 0); /* a change of ids sets it to the system's default */
		_exit(function(argument));
	}
	return pid;
}
