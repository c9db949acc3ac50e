/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordond value`: a process between the enforcer and a command of the operator's, so that all the command starts has one ancestor that is nobody else's:
 * a subreaper, which kills it to the last process. One thread.
 */
#include "supervisor/enforcer/value.h"

#include "shim/tree.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static pid_t start(char *const *command, int output)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(output, 1) == 1 && chdir("/") == 0)
		execv(command[0], command);
	_exit(127);
}

/* Until the last writer closes its end, or the limit or the time is over. Returns 0, -EFBIG or -ETIMEDOUT. */
static int read_output(int fd, int64_t deadline, struct buf *ret)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char piece[4096];
	ssize_t len = 1;

	while (len > 0) {
		int64_t left = deadline - now_ms();

		if (left <= 0 || (poll(&p, 1, (int)left) == 0))
			return -ETIMEDOUT;
		len = read(fd, piece, sizeof(piece));
		if (len > 0)
			buf_append(ret, piece, (size_t)len);
		if (ret->failed || ret->len > VALUE_MAX_BYTES + 1)
			return -EFBIG;
	}
	return len < 0 ? -errno : 0;
}

static int wait_for(pid_t pid, int64_t deadline, int *ret_status)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	pid_t ended;

	while ((ended = waitpid(pid, ret_status, WNOHANG)) == 0) {
		if (now_ms() >= deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return ended < 0 ? -errno : 0;
}

/* NULL: one line that is no empty one, without its end in ret. */
static const char *fault_of(struct buf *output, int status)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return WIFEXITED(status) && WEXITSTATUS(status) == 127 ? "its command could not be run" : "its command failed";
	if (output->len && output->data[output->len - 1] == '\n')
		output->len--;
	if (!output->len)
		return "its command printed nothing";
	if (memchr(output->data, '\n', output->len) || memchr(output->data, '\r', output->len) || memchr(output->data, 0, output->len))
		return "its command printed more than one line";
	return output->len > VALUE_MAX_BYTES ? "its command printed more than 8 KiB" : NULL;
}

int value_main(char *const *arguments)
{
	_cleanup_buf_ struct buf output = { 0 };
	int64_t deadline = now_ms() + atoi(arguments[0]);
	const char *fault;
	int ends[2], status = 0, r;
	pid_t pid;

	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return EXIT_FAILURE;
	pid = start(arguments + 1, ends[1]);
	close(ends[1]);
	r = pid < 0 ? -errno : read_output(ends[0], deadline, &output);
	if (r == 0)
		r = wait_for(pid, deadline, &status);
	tree_kill();
	if (r == -ETIMEDOUT)
		fault = "its command took too long and was killed";
	else if (r == -EFBIG)
		fault = "its command printed more than 8 KiB";
	else
		fault = r < 0 ? "its command could not be run" : fault_of(&output, status);
	if (fault)
		return io_write_all(1, "-", 1) < 0 || io_write_all(1, fault, strlen(fault)) < 0;
	return io_write_all(1, "+", 1) < 0 || io_write_all(1, output.data, output.len) < 0;
}
