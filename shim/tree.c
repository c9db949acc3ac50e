/* SPDX-License-Identifier: Apache-2.0 */
/* Descendants by /proc, signalled by pidfd: a pid that was reused between looking and killing must not be hit. */
#include "shim/tree.h"

#include "supervisor/base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

struct member {
	pid_t pid, parent;
	unsigned long long start;
	bool ours;
};

struct census {
	struct member *members;
	size_t nr, capacity;
};

static int read_stat(pid_t pid, pid_t *ret_parent, unsigned long long *ret_start)
{
	char path[32], text[1024], *after;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (len <= 0)
		return -ESRCH;
	text[len] = 0;
	after = strrchr(text, ')'); /* the name may hold spaces and brackets; nothing after it does */
	if (!after || sscanf(after, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", ret_parent,
			     ret_start) != 2)
		return -ESRCH;
	return 0;
}

static int add_member(struct census *c, pid_t pid)
{
	struct member m = { .pid = pid };

	if (read_stat(pid, &m.parent, &m.start) < 0)
		return 0;
	if (c->nr == c->capacity) {
		size_t capacity = c->capacity ? c->capacity * 2 : 256;
		struct member *grown = realloc(c->members, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		c->members = grown;
		c->capacity = capacity;
	}
	c->members[c->nr++] = m;
	return 0;
}

static int compare_pid(const void *a, const void *b)
{
	return ((const struct member *)a)->pid - ((const struct member *)b)->pid;
}

/* Whether the chain of parents leads to us. /proc lists pids in ascending order, so the census is sorted as it stands. */
static bool descends(const struct census *c, const struct member *m, pid_t self)
{
	for (int hops = 0; m && hops < 4096; hops++) {
		struct member key = { .pid = m->parent };

		if (m->parent == self)
			return true;
		m = bsearch(&key, c->members, c->nr, sizeof(key), compare_pid);
	}
	return false;
}

static void take_census(struct census *c)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	c->nr = 0;
	if (!proc)
		return;
	while ((entry = readdir(proc)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && add_member(c, atoi(entry->d_name)) < 0)
			break;
	closedir(proc);
	for (size_t i = 0; i < c->nr; i++)
		c->members[i].ours = descends(c, &c->members[i], getpid());
}

static void signal_member(const struct member *m, int signal_number)
{
	int pidfd = sys_pidfd_open(m->pid, 0);
	unsigned long long start;
	pid_t parent;

	if (pidfd < 0)
		return;
	if (read_stat(m->pid, &parent, &start) == 0 && start == m->start)
		(void)sys_pidfd_send_signal(pidfd, signal_number);
	close(pidfd);
}

/* Returns how many descendants were signalled that the last census of this kind had not. */
static size_t sweep(struct census *c, size_t *last_nr, int signal_number)
{
	size_t ours = 0, fresh;

	take_census(c);
	for (size_t i = 0; i < c->nr; i++) {
		if (!c->members[i].ours)
			continue;
		signal_member(&c->members[i], signal_number);
		ours++;
	}
	fresh = ours > *last_nr ? ours - *last_nr : 0;
	*last_nr = ours;
	return fresh;
}

void tree_kill(void)
{
	struct timespec pause = { .tv_nsec = 2000000 };
	struct census c = { 0 };
	size_t last = 0;

	for (int i = 0; i < 50 && sweep(&c, &last, SIGSTOP); i++)
		;
	for (int i = 0; i < 1000; i++) {
		sweep(&c, &last, SIGKILL);
		while (waitpid(-1, NULL, WNOHANG | __WALL) > 0)
			;
		if (last == 0)
			break;
		nanosleep(&pause, NULL);
	}
	free(c.members);
}
