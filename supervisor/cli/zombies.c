/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who does not reap: PID 1 can only take orphans, a zombie whose parent lives is the parent's. Found in /proc by the command line itself, so that
 * looking costs the supervisor nothing.
 */
#include "supervisor/base/json_out.h"
#include "supervisor/boundary/process.h"
#include "supervisor/cli/cli.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PARENTS_SHOWN 32

struct parent {
	pid_t pid;
	unsigned zombies;
};

struct parents {
	struct parent *items;
	size_t nr, capacity;
	unsigned zombies;
};

static void count_for(struct parents *p, pid_t pid)
{
	struct parent *grown;
	size_t i = 0;

	while (i < p->nr && p->items[i].pid != pid)
		i++;
	if (i == p->capacity) {
		grown = realloc(p->items, (p->capacity ? 2 * p->capacity : 32) * sizeof(*grown));
		if (!grown)
			return;
		p->items = grown;
		p->capacity = p->capacity ? 2 * p->capacity : 32;
	}
	if (i == p->nr)
		p->items[p->nr++] = (struct parent){ .pid = pid };
	p->items[i].zombies++;
	p->zombies++;
}

static void collect(struct parents *p)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	struct process_facts facts;

	while (proc && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && process_read(pid, &facts) == 0 && facts.zombie)
			count_for(p, facts.parent);
	}
	if (proc)
		closedir(proc);
}

static int by_guilt(const void *a, const void *b)
{
	const struct parent *first = a, *second = b;

	return (first->zombies < second->zombies) - (first->zombies > second->zombies);
}

/* The program may have any bytes in its name: an agent may have written it. */
static void put_program(struct json_out *j, pid_t pid)
{
	char path[32], target[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	len = readlink(path, target, sizeof(target));
	if (len > 0)
		json_bytes(j, "program", (struct bytes){ target, (size_t)len });
}

json_t *cli_zombies(void)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };
	struct parents p = { 0 };

	collect(&p);
	if (p.nr)
		qsort(p.items, p.nr, sizeof(*p.items), by_guilt);
	json_object_begin(&j, NULL);
	json_uint(&j, "count", p.zombies);
	json_array_begin(&j, "parents");
	for (size_t i = 0; i < p.nr && i < PARENTS_SHOWN; i++) {
		json_object_begin(&j, NULL);
		json_int(&j, "pid", p.items[i].pid);
		put_program(&j, p.items[i].pid);
		json_uint(&j, "zombies", p.items[i].zombies);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	free(p.items);
	return text.failed ? NULL : json_loads(text.data, 0, NULL);
}
