/* SPDX-License-Identifier: Apache-2.0 */
/* What /proc says of a process that is alive now. All of it may be another process's a moment later: pair it with its start time, or ask again. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct process_facts {
	pid_t parent;
	unsigned long long start;	/* clock ticks after boot: with the pid, who it is */
	unsigned long long argv_start, argv_end, environment_start, environment_end;	/* in its memory; 0 where we may not know */
	bool zombie;			/* it has ended, and its parent has not asked */
	bool exiting;			/* its descriptors may be closed already, while its children still call it parent */
};

/* Returns 0, or -errno (-ENOENT, -ESRCH: no such process). */
int process_read(pid_t pid, struct process_facts *ret_facts);
/* The parent, 0 when that is outside our namespace; -1 when there is no such process. */
pid_t process_parent(pid_t pid);
/* The id of the thread group that tid belongs to; tid itself when that cannot be known. */
pid_t process_group(pid_t tid);
/* Its process group, or -1 when there is no such process. */
pid_t process_group_id(pid_t pid);
/* How many seccomp filters it carries; -1 when there is no such process. */
int process_filters(pid_t pid);
/* The effective uid; unknown when there is no such process. */
uid_t process_uid(pid_t pid, uid_t unknown);
/* Its umask; 0777, nobody's rather than everybody's, when that cannot be known. */
mode_t process_umask(pid_t tid);
/* Whether tid is a thread of the process pid. */
bool process_has_thread(pid_t pid, pid_t tid);
