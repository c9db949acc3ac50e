/* SPDX-License-Identifier: Apache-2.0 */
/* Path names as text: pure, no file system. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Joins base (absolute) and path, removes "." and empty parts, applies ".." lexically, never above "/". Writes to ret_path.
 * Returns 0, -ENAMETOOLONG, or -EINVAL for an empty path. Judges see such names only after symlinks were resolved by whoever could.
 */
int path_normalize(const char *base, const char *path, char *ret_path, size_t path_bytes);
/* Both absolute and normal: path is root itself or below it. "/" holds everything. */
bool path_is_under(const char *path, const char *root);
/* The part after the last "/", or the whole. */
const char *path_base(const char *path);
