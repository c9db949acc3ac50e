/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Users by name or number, from the passwd and group files themselves.
 *
 * getpwnam() would load NSS modules into PID 1 and may ask a network; fgetpwent() only reads the file.
 */
#include "supervisor/base/user.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool parse_number(const char *text, unsigned long *ret_number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_number = strtoul(text, &end, 10);
	return !errno && !*end && *ret_number < UINT32_MAX;
}

FILE *user_open_table(const char *etc_dir, const char *name)
{
	char path[4096];
	FILE *file;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", etc_dir, name);
	/* Without waiting: root in mode off could have a lease on it. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	file = fdopen(fd, "r");
	if (!file)
		close(fd);
	return file;
}

static bool find_passwd(FILE *table, const char *user, struct user_identity *ret)
{
	unsigned long number = 0;
	bool by_number = parse_number(user, &number);
	const struct passwd *p;

	while ((p = fgetpwent(table))) {
		if (by_number ? p->pw_uid != number : strcmp(p->pw_name, user) != 0)
			continue;
		ret->uid = p->pw_uid;
		ret->gid = p->pw_gid;
		snprintf(ret->name, sizeof(ret->name), "%s", p->pw_name);
		snprintf(ret->home, sizeof(ret->home), "%s", p->pw_dir);
		snprintf(ret->shell, sizeof(ret->shell), "%s", p->pw_shell[0] ? p->pw_shell : "/bin/sh");
		return true;
	}
	return false;
}

static bool is_member(const struct group *g, const char *name)
{
	for (char **member = g->gr_mem; *member; member++)
		if (strcmp(*member, name) == 0)
			return true;
	return false;
}

static void find_groups(const char *etc_dir, struct user_identity *identity)
{
	FILE *table = user_open_table(etc_dir, "group");
	const struct group *g;

	identity->groups[identity->nr_groups++] = identity->gid;
	if (!table)
		return;
	while ((g = fgetgrent(table)) && identity->nr_groups < sizeof(identity->groups) / sizeof(identity->groups[0]))
		if (g->gr_gid != identity->gid && is_member(g, identity->name))
			identity->groups[identity->nr_groups++] = g->gr_gid;
	fclose(table);
}

int user_find(const char *etc_dir, const char *user, struct user_identity *ret_identity, struct err *ret_error)
{
	struct user_identity identity = { 0 };
	unsigned long number;
	bool found = false;
	FILE *table;

	table = user_open_table(etc_dir, "passwd");
	if (table) {
		found = find_passwd(table, user, &identity);
		fclose(table);
	}
	if (!found) {
		if (!parse_number(user, &number))
			return err_set(ret_error, -ENOENT, "user %s is not in %s/passwd", user, etc_dir);
		identity.uid = (uid_t)number;
		identity.gid = (gid_t)number;
		snprintf(identity.name, sizeof(identity.name), "%s", user);
		snprintf(identity.home, sizeof(identity.home), "/");
		snprintf(identity.shell, sizeof(identity.shell), "/bin/sh");
	}
	find_groups(etc_dir, &identity);
	*ret_identity = identity;
	return 0;
}

int user_assume(const struct user_identity *identity)
{
	if (geteuid() != 0)
		return identity->uid == geteuid() ? 0 : -EPERM;
	if (setgroups(identity->nr_groups, identity->groups) < 0 || setresgid(identity->gid, identity->gid, identity->gid) < 0 ||
	    setresuid(identity->uid, identity->uid, identity->uid) < 0)
		return -errno;
	return 0;
}
