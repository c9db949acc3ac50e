/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a folder, with what the file system says they are. Any thread may call. */
#pragma once

#include "supervisor/base/buf.h"

#include <stddef.h>

/* Appends a byte DT_*, the name and a NUL for each, "." and ".." left out. folder may be O_PATH. Returns 0 or -errno. */
int names_read(int folder, struct buf *ret_names, size_t *ret_nr);
