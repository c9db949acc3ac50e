/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1's side of the helper that makes workspaces. It takes what it takes (a large copy minutes): PID 1 reaps and can be stopped meanwhile,
 * launches wait. The enforcer starts when they stand, since it copies the agents' mount namespace.
 *
 * A source that cannot become a workspace ends the container: agents without what they are to look at are of no use to anybody.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/user.h"
#include "supervisor/workspace/prepare.h"
#include "supervisor/workspace/running.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int agents_namespace(const struct init *init)
{
	const struct kept_table *kept = &init->enforcer.kept;

	for (size_t i = 0; i < kept->nr; i++)
		if (kept->items[i].kind == KEPT_CONTAINER_MOUNTS)
			return kept->items[i].fd;
	return -1;
}

static bool is_off(const struct init *init)
{
	enum mode mode = init->settings->policy->mode;

	if (init->settings->mode)
		(void)mode_parse(init->settings->mode, &mode, NULL);	/* settled: it is a mode's name */
	return mode == MODE_OFF;
}

static void go_on(struct init *init)
{
	init->workspaces_done = true;
	enforcer_start(init);
}

/* The helper has no descriptor of ours but the namespace, which spawn_function() would close: it is given as its standard input. */
static int prepare(void *argument)
{
	struct workspace_job *job = argument;

	if (job->agents >= 0)
		job->agents = STDIN_FILENO;
	return workspace_prepare(job);
}

static int start_helper(struct init *init, struct workspace_job *job)
{
	const struct init_settings *s = init->settings;
	struct spawn spawn = { .in_fd = job->agents, .out_fd = 1, .error_fd = 2, .channel_fd = -1 };
	struct user_identity user;
	struct err e = { 0 };

	if (user_find(s->etc_dir, s->policy->launch_user, &user, &e) < 0)
		return init_fail(init, INIT_EXIT_POLICY, "workspaces: %s", e.text), -ENOENT;
	job->uid = user.uid;
	job->gid = user.gid;
	init->workspace_report = mmap(NULL, sizeof(*init->workspace_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (init->workspace_report == MAP_FAILED)
		return -errno;
	job->report = init->workspace_report;
	return spawn_function(&spawn, prepare, job);
}

void workspaces_start(struct init *init)
{
	const struct init_settings *s = init->settings;
	struct workspace_job job = { .policy = s->policy, .state_dir = s->state_dir, .run_dir = s->run_dir, .live = s->live_sources,
				     .off = is_off(init), .agents = agents_namespace(init) };
	int r;

	if (!workspace_wanted(s->policy)) {
		running_remove(s->run_dir);
		go_on(init);
		return;
	}
	r = start_helper(init, &job);
	if (r > 0)
		init->workspace_pid = r;
	else
		init_fail(init, INIT_EXIT_INTERNAL, "workspaces: %s", strerror(-r));
}

void workspaces_on_exit(struct init *init, int status)
{
	const struct workspace_report *report = init->workspace_report;
	bool ended = WIFEXITED(status);

	init->workspace_pid = 0;
	if (init->drain.phase != DRAIN_NONE)
		return;
	if (!ended || WEXITSTATUS(status) != 0) {
		init_fail(init, report->refused ? INIT_EXIT_POLICY : INIT_EXIT_INTERNAL, "%s",
			  ended && report->why[0] ? report->why : "the helper that makes workspaces was killed");
		return;
	}
	go_on(init);
	init_settle(init);
}
