/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host runs by absolute path has root's rights and no guard: before anything else is started, PID 1 takes care that nothing which an
 * agent can write is run that way. It moves into a mount namespace of its own, the one `docker exec` will enter from then on, and a helper
 * guards it (boundary/mounts_host.h). The namespace it leaves is kept for the enforcer, which copies the agents' from there.
 *
 * What is not possible is said, and never stops the container: the enforcer probes the effect as the layer "host_exec", and the policy says
 * whether it must be there.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/mounts_host.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_MS 5000		/* it takes a few */

struct host_job {
	const struct init_settings *settings;
	struct err *error;	/* shared memory */
};

/* "~" is the home of the launch user; one without a home has no such root. */
static const char **expand_roots(const struct paths *paths, const char *home)
{
	const struct strings *lists[] = { &paths->write, &paths->allowed_roots };
	const char **roots = calloc(paths->write.nr + paths->allowed_roots.nr + 1, sizeof(*roots));
	size_t nr = 0;
	char *joined;

	for (size_t l = 0; roots && l < ARRAY_SIZE(lists); l++)
		for (size_t i = 0; i < lists[l]->nr; i++) {
			const char *path = lists[l]->items[i];

			if (path[0] != '~')
				roots[nr++] = path;
			else if (home[0] == '/' && home[1] && asprintf(&joined, "%s%s", home, path + 1) > 0)
				roots[nr++] = joined;
		}
	return roots;
}

/* In the helper, which ends with it: nothing is given back. */
static int guard(void *argument)
{
	const struct host_job *job = argument;
	const struct policy *policy = job->settings->policy;
	struct mounts_host_plan plan = { .entry_paths = policy->entry_paths.items, .client = job->settings->client };
	struct user_identity user;

	if (user_find(job->settings->etc_dir, policy->launch_user, &user, job->error) < 0)
		return 1;
	plan.write_roots = expand_roots(&policy->paths, user.home);
	if (!plan.write_roots)
		return 1;
	return mounts_host_guard(&plan, job->error) < 0;
}

/* The helper's exit code. PID 1 waits for it: nothing may run before, and there is nothing yet to be looked after. */
static int wait_for(pid_t pid)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	int status;

	if (pidfd < 0 || poll(&p, 1, HELPER_MS) != 1)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -ETIMEDOUT;
}

static int guard_in_helper(const struct init *init, struct err *ret_error)
{
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = 2, .channel_fd = -1 };
	struct host_job job = { .settings = init->settings };
	pid_t pid;
	int r;

	job.error = mmap(NULL, sizeof(*job.error), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job.error == MAP_FAILED)
		return err_set(ret_error, -ENOMEM, "out of memory");
	pid = spawn_function(&spawn, guard, &job);
	r = pid < 0 ? pid : wait_for(pid);
	if (r == 1 && job.error->text[0])
		*ret_error = *job.error;
	else if (r != 0)
		err_set(ret_error, -EIO, "the helper that mounts failed");
	munmap(job.error, sizeof(*job.error));
	return r ? -EIO : 0;
}

static int guard_namespace(struct init *init, struct err *ret_error)
{
	int fd = -1, r;

	if (getpid() != 1)	/* then it is not our namespace that a host enters */
		return err_set(ret_error, -ENOTSUP, "not PID 1");
	r = mounts_host_leave(&fd, ret_error);
	if (r == 0)
		r = kept_put(&init->enforcer.kept, KEPT_CONTAINER_MOUNTS, 0, 0, fd);
	return r < 0 ? r : guard_in_helper(init, ret_error);
}

void host_exec_guard(struct init *init)
{
	struct err error = { 0 };
	enum mode mode = init->settings->policy->mode;

	if (init->settings->mode)
		(void)mode_parse(init->settings->mode, &mode, NULL);	/* settled: it is a mode's name */
	if (mode == MODE_OFF)	/* an agent is root there */
		return;
	if (guard_namespace(init, &error) == 0)
		return;
	init->host_exec_missing = true;
	init_say(init, "host_exec is degraded, what a host runs by absolute path may be an agent's: %s", error.text);
}
