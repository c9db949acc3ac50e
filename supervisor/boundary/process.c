/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PF_EXITING 0x4	/* include/linux/sched.h; proc(5) shows the flags */

/* A small /proc file whole, with a NUL. One open, one read: half of the notify path's cost would else be here. */
static int slurp(pid_t pid, const char *name, char *ret_text, size_t bytes)
{
	char path[48];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, ret_text, bytes - 1);
	close(fd);
	if (len <= 0)
		return -ESRCH;
	ret_text[len] = 0;
	return 0;
}

int process_read(pid_t pid, struct process_facts *ret_facts)
{
	struct process_facts facts;
	char text[1024], state;
	unsigned flags;
	const char *after;
	int r = slurp(pid, "stat", text, sizeof(text));

	if (r < 0)
		return r;
	after = strrchr(text, ')'); /* the name may hold spaces and brackets; nothing after it does */
	if (!after || sscanf(after, ") %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &state, &facts.parent,
			     &flags, &facts.start) != 4)
		return -EBADMSG;
	facts.exiting = flags & PF_EXITING || state == 'Z' || state == 'X';
	facts.zombie = state == 'Z';
	*ret_facts = facts;
	return 0;
}

pid_t process_parent(pid_t pid)
{
	struct process_facts facts;

	return process_read(pid, &facts) < 0 ? -1 : facts.parent;
}

/* The number behind "\nKEY:\t" in the status file. */
static int status_number(pid_t pid, const char *key, int unknown)
{
	char text[4096];
	const char *at;

	if (slurp(pid, "status", text, sizeof(text)) < 0)
		return unknown;
	at = strstr(text, key);
	return at ? atoi(at + strlen(key)) : unknown;
}

pid_t process_group(pid_t tid)
{
	return status_number(tid, "\nTgid:\t", tid);
}

pid_t process_group_id(pid_t pid)
{
	char text[1024];
	const char *after;
	pid_t group;

	if (slurp(pid, "stat", text, sizeof(text)) < 0)
		return -1;
	after = strrchr(text, ')');
	return after && sscanf(after, ") %*c %*d %d", &group) == 1 ? group : -1;
}

int process_filters(pid_t pid)
{
	return status_number(pid, "\nSeccomp_filters:\t", -1);
}

uid_t process_uid(pid_t pid, uid_t unknown)
{
	char text[4096];
	const char *at;
	uid_t uid;

	if (slurp(pid, "status", text, sizeof(text)) < 0)
		return unknown;
	at = strstr(text, "\nUid:\t");
	return at && sscanf(at, "\nUid: %*u %u", &uid) == 1 ? uid : unknown;
}

bool process_has_thread(pid_t pid, pid_t tid)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	return stat(path, &st) == 0;
}
