/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the commands of presets are. A command counts as found only where no agent can put another in its place: neither its file nor a folder or link on
 * the way to it lies in a tree that agents write. Looked for anew each time, for a host may install one meanwhile. Any thread.
 */
#include "supervisor/enforcer/presets.h"
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define HOPS_MAX 64

/* By its mode and owner: whoever is not root may be the user of some launch. A link's folder says who may replace it. */
static bool may_be_written(const struct stat *st)
{
	return !S_ISLNK(st->st_mode) && (st->st_uid != 0 || st->st_mode & S_IWOTH || (st->st_gid != 0 && st->st_mode & S_IWGRP));
}

/*
 * Below a root, or not root's alone: what is mounted in two places is found by its owner. What a name in /proc leads to depends on who asks, and agents choose
 * much of it.
 */
static bool is_written(const char *const *roots, const char *path, const struct stat *st)
{
	struct statfs system;

	if (S_ISDIR(st->st_mode) && (statfs(path, &system) < 0 || system.f_type == PROC_SUPER_MAGIC))
		return true;
	for (const char *const *root = roots; *root; root++)
		if (path_is_under(path, *root))
			return true;
	return may_be_written(st);
}

/* Puts the link's text in front of what is left of the way. */
static int follow(const char *link, char done[static PATH_MAX], char left[static PATH_MAX])
{
	char target[PATH_MAX], rest[PATH_MAX];
	ssize_t len = readlink(link, target, sizeof(target) - 1);

	if (len <= 0)
		return -ENOENT;
	target[len] = 0;
	memcpy(rest, left, strlen(left) + 1);
	if ((size_t)snprintf(left, PATH_MAX, "%s/%s", target, rest) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (target[0] == '/')
		strcpy(done, "");
	return 0;
}

/* One name of the way. Returns 0 or -errno. */
static int step(const char *const *roots, const char *name, size_t len, char done[static PATH_MAX], char left[static PATH_MAX], unsigned *hops)
{
	char next[PATH_MAX + 1];
	struct stat st;

	if (len == 0 || (len == 1 && *name == '.'))
		return 0;
	if (len == 2 && memcmp(name, "..", 2) == 0) {
		*(strrchr(done, '/') ? strrchr(done, '/') : done) = 0;
		return 0;
	}
	if ((size_t)snprintf(next, sizeof(next), "%s/%.*s", done, (int)len, name) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (lstat(next, &st) < 0)
		return -errno;
	if (is_written(roots, next, &st))
		return -EPERM;
	if (S_ISLNK(st.st_mode))
		return ++*hops > HOPS_MAX ? -ELOOP : follow(next, done, left);
	memcpy(done, next, strlen(next) + 1);
	return 0;
}

/* The canonical path of what an absolute path leads to. -EPERM: by way of what agents write. */
static int resolve_unwritten(const char *const *roots, const char *path, char ret_path[static PATH_MAX])
{
	char left[PATH_MAX], name[NAME_MAX + 1], done[PATH_MAX] = "";
	unsigned hops = 0;
	int r = 0;

	if (path[0] != '/' || (size_t)snprintf(left, sizeof(left), "%s", path) >= sizeof(left))
		return -EINVAL;
	while (r == 0 && *left) {
		size_t len = strcspn(left, "/");

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, left, len);
		memmove(left, left + len + (left[len] == '/'), strlen(left + len + (left[len] == '/')) + 1);
		r = step(roots, name, len, done, left, &hops);
	}
	if (r == 0)
		snprintf(ret_path, PATH_MAX, "%s", *done ? done : "/");
	return r;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

char *preset_search(const char *const *roots, const char *search)
{
	char *kept = malloc(strlen(search) + 1), *out = kept, folder[PATH_MAX], found[PATH_MAX];

	if (!kept)
		return NULL;
	for (const char *part = search; *part;) {
		size_t len = strcspn(part, ":");

		if (len && len < sizeof(folder)) {
			snprintf(folder, sizeof(folder), "%.*s", (int)len, part);
			if (strcmp(folder, CORDON_ENTRY_DIR) != 0 && resolve_unwritten(roots, folder, found) == 0)
				out += sprintf(out, "%s%s", out > kept ? ":" : "", folder);
		}
		part += len + (part[len] == ':');
	}
	*out = 0;
	return kept;
}

int preset_find(const char *const *roots, const char *search, const char *name, struct preset_place *ret)
{
	int r = -ENOENT;

	for (const char *part = search; *part;) {
		size_t len = strcspn(part, ":");
		int found = -ENOENT;

		if (len && (size_t)snprintf(ret->named, sizeof(ret->named), "%.*s/%s", (int)len, part, name) < sizeof(ret->named) &&
		    strncmp(ret->named, CORDON_ENTRY_DIR "/", sizeof(CORDON_ENTRY_DIR)) != 0)
			found = resolve_unwritten(roots, ret->named, ret->program);
		if (found == 0 && is_program(ret->program))
			return 0;
		if (found == -EPERM && is_program(ret->named))
			r = -EPERM;
		part += len + (part[len] == ':');
	}
	return r;
}

/* ---- cordon commands list ---- */

static const char *path_of(const char *const *environment)
{
	while (*environment && strncmp(*environment, "PATH=", 5) != 0)
		environment++;
	return *environment && (*environment)[5] ? *environment + 5 : "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
}

static void put_command(struct json_out *j, const struct enforcer *e, const struct preset *preset, const struct preset_command *command, const char *const *roots)
{
	static struct preset_place place;	/* large, and this is the one thread */
	const bool on = preset_is_on(e->policy, preset);
	const int found = preset_find(roots, path_of(e->image), command->name, &place);

	json_object_begin(j, NULL);
	json_text(j, "name", command->name);
	json_text(j, "preset", preset->name);
	json_bool(j, "enabled", on);
	json_bool(j, "found", found == 0);
	json_bool(j, "registered", on && found == 0);
	json_text(j, "why", found == -EPERM ? "agents can write it, or replace what leads to it" : found < 0 ? "not in the image's PATH" : on ? NULL : "its preset is not on");
	if (found == 0) {
		json_bytes(j, "program", bytes_of(place.program));
		json_bytes(j, "named", bytes_of(place.named));
	}
	json_array_begin(j, "environment");
	for (size_t i = 0; i < command->environment.nr; i++)
		json_text(j, NULL, command->environment.items[i]);
	json_array_end(j);
	json_object_end(j);
}

void presets_answer(const struct enforcer *e, const char *argument, struct buf *ret)
{
	_cleanup_free_ const char **roots = plan_roots(e->policy, e->launch_user.home, NULL);
	struct json_out j = { .buf = ret };

	(void)argument;
	ret->failed |= !roots;		/* an answer in part would be a wrong one */
	json_object_begin(&j, NULL);
	json_text(&j, "profile", profile_name(e->policy->offered.profile));
	json_text(&j, "user", e->launch_user.name);
	json_text(&j, "mode", mode_name(e->mode));
	json_text(&j, "scope", e->scope_text ? e->scope_text : "");
	json_text(&j, "roots", roots_name(e->policy->paths.roots));
	json_array_begin(&j, "commands");
	for (size_t p = 0; roots && p < e->policy->nr_presets; p++)
		for (size_t c = 0; c < e->policy->presets[p].nr_commands; c++)
			put_command(&j, e, &e->policy->presets[p], &e->policy->presets[p].commands[c], roots);
	json_array_end(&j);
	json_object_end(&j);
}
