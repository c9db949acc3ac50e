/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes as a tar archive in GNU's format (any path, any size), to be unpacked over the source. What was deleted is an empty file ".wh.NAME" beside
 * it, as in container image layers. Owners are the source's.
 */
#pragma once

#include "supervisor/workspace/changes.h"

/* Writes the change to fd. Returns 0, 1 for what an archive does not take (a socket, a file that is gone), or -errno. */
int tar_put(const struct change *change, const struct copy_ids *ids, int fd);
int tar_end(int fd);
