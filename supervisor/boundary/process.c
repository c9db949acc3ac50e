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

/* Fields of the stat file by proc(5)'s numbers. */
enum { FIELD_PARENT = 4, FIELD_FLAGS = 9, FIELD_START = 22, FIELD_ARGV_START = 48, FIELD_ENVIRONMENT_END = 51, FIELDS = 52 };

/* A number, negative ones as their two's complement. Returns what follows it, or NULL. */
static const char *take_number(const char *at, unsigned long long *ret_number)
{
	unsigned long long number = 0;
	const bool negative = *at == '-';
	const char *digits = at += negative;

	for (; *at >= '0' && *at <= '9'; at++)
		number = number * 10 + (unsigned long long)(*at - '0');
	*ret_number = negative ? -number : number;
	return at == digits ? NULL : at;
}

int process_read(pid_t pid, struct process_facts *ret_facts)
{
	unsigned long long fields[FIELDS];
	char text[2048], state;
	const char *at;
	int r = slurp(pid, "stat", text, sizeof(text));

	if (r < 0)
		return r;
	at = strrchr(text, ')'); /* the name may hold spaces and brackets; nothing after it does */
	if (!at || at[1] != ' ' || !at[2])
		return -EBADMSG;
	state = at[2];
	at += 3;
	for (unsigned i = FIELD_PARENT; i <= FIELD_ENVIRONMENT_END; i++)
		if (*at++ != ' ' || !(at = take_number(at, &fields[i])))
			return -EBADMSG;
	*ret_facts = (struct process_facts){
		.parent = (pid_t)fields[FIELD_PARENT], .start = fields[FIELD_START],
		.argv_start = fields[FIELD_ARGV_START], .argv_end = fields[FIELD_ARGV_START + 1],
		.environment_start = fields[FIELD_ARGV_START + 2], .environment_end = fields[FIELD_ENVIRONMENT_END],
		.zombie = state == 'Z',
		.exiting = fields[FIELD_FLAGS] & PF_EXITING || state == 'Z' || state == 'X',
	};
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

mode_t process_umask(pid_t tid)
{
	char text[4096];
	const char *at;
	unsigned mask;

	if (slurp(tid, "status", text, sizeof(text)) < 0)
		return 0777;
	at = strstr(text, "\nUmask:\t");
	return at && sscanf(at, "\nUmask: %o", &mask) == 1 ? mask : 0777;
}

bool process_has_thread(pid_t pid, pid_t tid)
{
	char path[48];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	return stat(path, &st) == 0;
}
