/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/census.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/process.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOPS_MAX 4096

enum standing { STANDING_GONE, STANDING_KNOWN, STANDING_LATER, STANDING_STRANGE };

/* ---- ids ---- */

static bool is_seen(const struct census *c, pid_t pid)
{
	return (size_t)pid < c->seen_bits && c->seen[pid / 64] >> (pid % 64) & 1;
}

static void set_seen(struct census *c, pid_t pid)
{
	size_t bits = c->seen_bits ? c->seen_bits : 32768;
	uint64_t *grown;

	while (bits <= (size_t)pid)
		bits *= 2;
	if (bits != c->seen_bits) {
		grown = realloc(c->seen, bits / 8);
		if (!grown)
			return; /* it is looked at again */
		memset((char *)grown + c->seen_bits / 8, 0, (bits - c->seen_bits) / 8);
		c->seen = grown;
		c->seen_bits = bits;
	}
	c->seen[pid / 64] |= UINT64_C(1) << (pid % 64);
}

/* The id given last in this pid namespace (proc_pid_loadavg(5)); 0 when that cannot be known. */
static pid_t last_id(void)
{
	FILE *file = fopen("/proc/loadavg", "re");
	int last = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%*s %*s %*s %*s %d", &last) != 1)
		last = 0;
	fclose(file);
	return last;
}

bool census_is_due(struct census *c)
{
	pid_t last = last_id();
	bool due = !last || last != c->last || c->nr_doubts;

	/* Ids begin anew: those seen may be somebody else's by now. */
	if (last < c->last && c->seen)
		memset(c->seen, 0, c->seen_bits / 8);
	c->last = last;
	return due;
}

/* ---- what a process is ---- */

static int executable_of(pid_t pid, struct stat *ret_stat)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat(path, ret_stat) < 0 ? -errno : 0;
}

/*
 * Guarded processes stay so, and Cordon's become guarded before they become anything else, so both need no second look. One whose program cannot be
 * read is one that hides from us as Cordon's own do, or a kernel's thread: it is not called a stranger.
 */
static enum standing standing_of(const struct census *c, pid_t pid, struct census_stranger *ret, struct stat *ret_exe)
{
	int filters = process_filters(pid);
	struct process_facts facts;
	struct stat exe;
	pid_t at = pid, below = 0;

	if (filters < 0)
		return STANDING_GONE;
	if (filters > c->own_filters)
		return STANDING_KNOWN;
	*ret = (struct census_stranger){ .pid = pid };
	for (int hops = 0; hops < HOPS_MAX; hops++) {
		if (at == getpid() || (at == 1 && c->init != 1))
			return STANDING_KNOWN;
		if (at == 0 || at == c->init) {
			ret->top = at ? below : 0;
			return below ? STANDING_STRANGE : STANDING_KNOWN;
		}
		if (process_read(at, &facts) < 0 || facts.exiting)
			return STANDING_GONE;
		if (executable_of(at, &exe) < 0)
			return STANDING_KNOWN;
		for (size_t i = 0; i < ARRAY_SIZE(c->ours); i++)
			if (exe.st_ino == c->ours[i].inode && exe.st_dev == c->ours[i].device)
				return at == pid && c->ours[i].client ? STANDING_LATER : STANDING_KNOWN;
		if (at == pid) {
			ret->start = facts.start;
			*ret_exe = exe;
		}
		below = at;
		at = facts.parent;
	}
	return STANDING_KNOWN;
}

/* ---- scans ---- */

/* Whether it was met before, as the same program. */
static bool confirm(struct census *c, const struct census_stranger *s, const struct stat *exe)
{
	unsigned i;

	for (i = 0; i < c->nr_doubts; i++)
		if (c->doubts[i].stranger.pid == s->pid)
			break;
	if (i == CENSUS_DOUBTS_MAX)
		return false; /* its turn comes when others are settled */
	if (i < c->nr_doubts && c->doubts[i].stranger.start == s->start && c->doubts[i].inode == exe->st_ino && c->doubts[i].device == exe->st_dev)
		return true;
	c->doubts[i].stranger = *s;
	c->doubts[i].device = exe->st_dev;
	c->doubts[i].inode = exe->st_ino;
	c->doubts[i].fresh = true;
	if (i == c->nr_doubts)
		c->nr_doubts++;
	return false;
}

/* Who was not met again is gone, or was settled. */
static void forget_stale(struct census *c)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < c->nr_doubts; i++)
		if (c->doubts[i].fresh)
			c->doubts[kept++] = c->doubts[i];
	c->nr_doubts = kept;
}

static bool look_at(struct census *c, pid_t pid, struct census_stranger *ret)
{
	struct stat exe = { 0 };

	switch (standing_of(c, pid, ret, &exe)) {
	case STANDING_STRANGE:
		if (!confirm(c, ret, &exe))
			return false;
		set_seen(c, pid);
		return true;
	case STANDING_KNOWN:
		set_seen(c, pid);
		return false;
	case STANDING_GONE:
	case STANDING_LATER:
	default:
		return false;
	}
}

size_t census_scan(struct census *c, struct census_stranger *ret, size_t max)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	size_t nr = 0;

	if (!proc)
		return 0;
	for (unsigned i = 0; i < c->nr_doubts; i++)
		c->doubts[i].fresh = false;
	while (nr < max && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 1 && !is_seen(c, pid))
			nr += look_at(c, pid, &ret[nr]);
	}
	closedir(proc);
	forget_stale(c);
	return nr;
}

int census_open(struct census *c, pid_t init, const char *client, const char *shim)
{
	const char *const paths[] = { client, "/proc/self/exe", shim };
	struct stat st;

	*c = (struct census){ .init = init, .own_filters = process_filters(getpid()) };
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (stat(paths[i], &st) < 0)
			continue;
		c->ours[i].device = st.st_dev;
		c->ours[i].inode = st.st_ino;
		c->ours[i].client = i == 0;
	}
	set_seen(c, getpid());
	return c->seen ? 0 : -ENOMEM;
}

void census_close(struct census *c)
{
	free(c->seen);
}
