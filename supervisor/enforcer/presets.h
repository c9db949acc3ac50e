/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of presets: where they are, out of reach of what agents write. */
#pragma once

#include "supervisor/base/user.h"

#include <limits.h>

struct preset_reach {		/* what agents can change */
	const char *const *roots;	/* trees they write, NULL-terminated */
	const struct user_identity *user;	/* who they are */
};

struct preset_place {
	char named[PATH_MAX];		/* in a folder of PATH, perhaps a link */
	char program[PATH_MAX];		/* the file, canonical */
};

/* search: as PATH. Returns 0, -ENOENT, or -EPERM: there is one only where agents could replace it. */
int preset_find(const struct preset_reach *reach, const char *search, const char *name, struct preset_place *ret);

/* search without the folders in which, or on whose way, agents write, and without the entry folder. free() it; NULL: out of memory. */
char *preset_search(const struct preset_reach *reach, const char *search);
