/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a source may become a workspace: its name, what it is, where it comes from, what it holds. */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/policy/policy.h"

/* A source's line in /proc/self/mountinfo, for what the policy refuses: the pure part, for tests. mounts: the file's text. */
int source_check_mounts(const struct paths *paths, char *mounts, const char *path, struct err *ret_error);
/* All of it: fd is the source's root, path where it is mounted in the caller's namespace. Returns 0, or -EPERM with ret_error saying why not. */
int source_check(const struct paths *paths, int fd, const char *path, struct err *ret_error);
