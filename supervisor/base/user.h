/* SPDX-License-Identifier: Apache-2.0 */
/* Users by name or number from the passwd and group files themselves: getpwnam() would load NSS modules and may ask a network. */
#pragma once

#include "supervisor/base/err.h"

#include <stdio.h>
#include <sys/types.h>

#define USER_GROUPS_MAX 64

struct user_identity {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX];
	unsigned nr_groups;
	char name[64], home[256], shell[256];
};

/* ETC_DIR/passwd or group, or NULL with errno; never waits (EAGAIN: somebody has a lease on it). */
FILE *user_open_table(const char *etc_dir, const char *name);
/* user: a name or a number, looked up in ETC_DIR/passwd and group. A number not in passwd is taken as it is, home "/". Returns 0, -ENOENT or -errno, with ret_error. */
int user_find(const char *etc_dir, const char *user, struct user_identity *ret_identity, struct err *ret_error);
/* Becomes identity for good (groups, gid, uid). Called in a child. Returns 0 or -errno. */
int user_assume(const struct user_identity *identity);
