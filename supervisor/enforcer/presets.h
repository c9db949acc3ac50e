/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of presets: where they are, out of reach of what agents write. */
#pragma once

#include <limits.h>

struct preset_place {
	char named[PATH_MAX];		/* in a folder of PATH, perhaps a link */
	char program[PATH_MAX];		/* the file, canonical */
};

/* roots: trees that agents write, NULL-terminated. search: as PATH. Returns 0, -ENOENT, or -EPERM: there is one only where agents could replace it. */
int preset_find(const char *const *roots, const char *search, const char *name, struct preset_place *ret);

/* search without the folders in which, or on whose way, agents write, and without the entry folder. free() it; NULL: out of memory. */
char *preset_search(const char *const *roots, const char *search);
