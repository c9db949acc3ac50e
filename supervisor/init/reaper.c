/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only place in PID 1 that waits for children.
 *
 * It looks first (WNOWAIT) and reaps after: while a service's leader is still a zombie its process group cannot be anybody else's,
 * so what it left behind can be killed safely. A process nobody here started is an orphan that was given to PID 1.
 */
#include "supervisor/init/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#define BATCH 64	/* then other events get their turn */

static void on_command_exit(struct init *init, int status)
{
	init->command_pid = 0;
	init->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	drain_begin(init, "the command ended");
}

static bool is_service_child(struct init *init, pid_t pid, int status)
{
	for (size_t i = 0; i < init->nr_services; i++) {
		struct service_run *s = &init->services[i];

		if (s->pid == pid) {
			service_on_exit(init, s, status);
			return true;
		}
		if (s->prober == pid) {
			service_on_probed(init, s, status);
			return true;
		}
	}
	return false;
}

static void dispatch(struct init *init, pid_t pid, int status)
{
	if (pid == init->enforcer.pid)
		enforcer_on_exit(init, status);
	else if (pid == init->command_pid)
		on_command_exit(init, status);
	else if (pid == init->trust_pid)
		trust_on_exit(init, status);
	else if (pid == init->workspace_pid)
		workspaces_on_exit(init, status);
	else if (pid == init->host_user_pid)
		host_user_on_exit(init, status);
	else if (pid == init->clients_pid)
		trust_on_clients_exit(init, status);
	else if (!is_service_child(init, pid, status))
		init->orphans_reaped++;
}

/* What a service started and left behind must not hold its port against the next attempt. */
static void kill_group_of_service(const struct init *init, pid_t pid)
{
	for (size_t i = 0; i < init->nr_services; i++)
		if (init->services[i].pid == pid)
			kill(-pid, SIGKILL);
}

bool reap(struct init *init)
{
	for (int i = 0; i < BATCH; i++) {
		siginfo_t info = { 0 };
		int status;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
			return false;
		kill_group_of_service(init, info.si_pid);
		if (waitpid(info.si_pid, &status, WNOHANG) == info.si_pid)
			dispatch(init, info.si_pid, status);
	}
	/* More may wait, and no further SIGCHLD would come for them. */
	return true;
}
