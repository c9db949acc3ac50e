/* SPDX-License-Identifier: Apache-2.0 */
/* ".git" as a file: a worktree's or a submodule's pointer to its repository, which is protected like a ".git" folder where it is in the tree. */
#pragma once

#include "supervisor/workspace/state.h"
#include "supervisor/workspace/view.h"

/*
 * place holds a regular file ".git". Adds the repository it points to, and the one that shares its settings ("commondir"), to protected. ret_why:
 * a static phrase about the file. Returns 0 (also for what is no pointer), or -errno.
 */
int git_protect(struct view *view, struct view_place *place, const char *mounted_at, struct notes *protected, const char **ret_why);
/* The text after "gitdir:" of a pointer, or NULL. Pure; changes text. */
char *git_pointer(char *text);
