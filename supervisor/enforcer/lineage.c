/* SPDX-License-Identifier: Apache-2.0 */
/* Who descends from whom, by /proc: whether somebody belongs to a launch, and whom a dead keeper left behind. */
#include "supervisor/enforcer/internal.h"

#include "supervisor/boundary/process.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The first ancestor without our filter is a living keeper, or PID 1, which adopts whoever lost one. Keepers are not looked up by number: one that
 * has just been forked, or adopted by a new enforcer, has not said yet who it is. Returns -1 when somebody on the way ended meanwhile.
 */
static int is_orphan(pid_t pid, int own_filters)
{
	struct process_facts facts;
	int filters;

	for (int hops = 0; pid > 1 && hops < 4096; hops++) {
		filters = process_filters(pid);
		if (filters < 0)
			return -1;
		/* A keeper that is dying hung up before its children got another parent. */
		if (filters <= own_filters)
			return hops && (process_read(pid, &facts) < 0 || facts.exiting) ? -1 : 0;
		pid = process_parent(pid);
	}
	return pid < 0 ? -1 : pid == 1;
}

static bool is_ours(const struct enforcer *e, pid_t pid)
{
	for (const struct zygote *z = e->zygotes; z; z = z->next)
		if (z->pid == pid)
			return true;
	for (const struct launch *l = e->launches; l; l = l->next)
		if (l->keeper_pid == pid)
			return true;
	return false;
}

struct launch *launch_above(const struct enforcer *e, pid_t pid)
{
	for (int hops = 0; pid > 1 && hops < 4096; hops++) {
		for (struct launch *l = e->launches; l; l = l->next)
			if (l->keeper_pid == pid)
				return l;
		pid = process_parent(pid);
	}
	return NULL;
}

/* A process that is gone may have been anybody's, and may have left its connection to a living one: it counts as a launch's. */
bool launch_descends(const struct enforcer *e, pid_t pid)
{
	pid_t at = pid;

	for (int hops = 0; at > 1 && hops < 4096; hops++) {
		if (is_ours(e, at))
			return true;
		at = process_parent(at);
		if (at < 0) /* an ancestor ended while we looked: what it left has another parent now */
			at = process_parent(pid);
	}
	return at < 0;
}

/*
 * A keeper died, so nobody is parent to its tree any more. What carries one of our filters and has no living keeper above it is killed; a
 * sweep that finds nobody ends it.
 */
void lineage_kill_orphans(void)
{
	int own_filters = process_filters(getpid()), orphan;
	struct dirent *entry;
	bool found = true;

	for (int round = 0; found && round < 200; round++) {
		DIR *proc = opendir("/proc");

		found = false;
		while (proc && (entry = readdir(proc))) {
			pid_t pid = atoi(entry->d_name);

			if (pid <= 1)
				continue;
			orphan = is_orphan(pid, own_filters);
			found |= orphan < 0 || (orphan && kill(pid, SIGKILL) == 0);
		}
		if (proc)
			closedir(proc);
	}
}
