/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/sources.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MOUNTINFO_BYTES_MAX (16u << 20)

struct mount_line {
	char *root, *point, *type;
};

/* "\040" and its like, in place: proc(5). */
static char *unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		bool octal = from[0] == '\\' && strspn(from + 1, "01234567") >= 3;

		*to = octal ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0')) : *from;
		from += octal ? 4 : 1;
	}
	*to = 0;
	return text;
}

/* "36 35 98:0 ROOT POINT options optional… - TYPE source super" */
static bool parse_line(char *line, struct mount_line *ret)
{
	char *fields[5] = { 0 }, *rest, *word = strtok_r(line, " ", &rest);

	for (unsigned i = 0; word && i < 5; i++, word = strtok_r(NULL, " ", &rest))
		fields[i] = word;
	while (word && strcmp(word, "-") != 0)
		word = strtok_r(NULL, " ", &rest);
	*ret = (struct mount_line){ fields[3], fields[4], word ? strtok_r(NULL, " ", &rest) : NULL };
	if (!ret->type)
		return false;
	unescape(ret->root);
	unescape(ret->point);
	return true;
}

static bool is_listed(const struct strings *list, const char *text)
{
	for (size_t i = 0; i < list->nr; i++)
		if (strcmp(list->items[i], text) == 0)
			return true;
	return false;
}

/* "~/.ssh": that folder of any home, or something in it. */
static const char *protected_part(const struct paths *paths, const char *root)
{
	for (size_t i = 0; i < paths->protected_names.nr; i++) {
		const char *name = paths->protected_names.items[i];
		const char *at = *name == '~' ? strstr(root, name + 1) : path_is_under(root, name) ? root : NULL;
		size_t len = strlen(name) - (*name == '~');

		if (at && (at == root || !at[len] || at[len] == '/'))
			return name;
	}
	return NULL;
}

static int check_mount(const struct paths *paths, const struct mount_line *m, struct err *e)
{
	const char *name = protected_part(paths, m->root);

	if (is_listed(&paths->refused_file_systems, m->type))
		return err_set(e, -EPERM, "it is a file system of the kernel's (%s), not somebody's files", m->type);
	if (is_listed(&paths->refused_sources, m->root))
		return err_set(e, -EPERM, "it is %s of the host, a part of the system", m->root);
	return name ? err_set(e, -EPERM, "it is %.200s of the host: %s holds credentials", m->root, name) : 0;
}

int source_check_mounts(const struct paths *paths, char *mounts, const char *path, struct err *ret_error)
{
	char *rest, *line = strtok_r(mounts, "\n", &rest);
	struct mount_line m;
	int r = 0;

	for (; line && r == 0; line = strtok_r(NULL, "\n", &rest)) {
		if (!parse_line(line, &m))
			continue;
		if (strcmp(m.point, path) == 0)
			r = check_mount(paths, &m, ret_error);
		else if (path_is_under(m.point, path))
			r = err_set(ret_error, -EPERM, "something else is mounted in it, at %.200s: give it as a source of its own", m.point);
	}
	return r;
}

int source_check(const struct paths *paths, int fd, const char *path, struct err *ret_error)
{
	_cleanup_buf_ struct buf mounts = { 0 };
	struct stat st;
	int r = io_read_file(AT_FDCWD, "/proc/thread-self/mountinfo", MOUNTINFO_BYTES_MAX, &mounts);

	if (r < 0)
		return err_set(ret_error, r, "/proc/self/mountinfo cannot be read: %s", strerror(-r));
	for (size_t i = 0; i < paths->refused_holds.nr; i++)
		if (fstatat(fd, paths->refused_holds.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			return err_set(ret_error, -EPERM, "it holds %s: a part of a system or of a home, not a project", paths->refused_holds.items[i]);
	return source_check_mounts(paths, mounts.data, path, ret_error);
}
