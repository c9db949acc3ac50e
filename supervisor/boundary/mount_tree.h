/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts as descriptors: copied, changed and attached by what they are, never by a name that could change in between. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A detached copy of what fd (name "") or name in fd is, with what is mounted below if recursive. Returns its descriptor or -errno. */
int tree_clone(int fd, const char *name, bool recursive);
/* Sets MOUNT_ATTR_* on a mount, and on what is below if recursive. */
int tree_set(int tree, uint64_t attributes, bool recursive);
/* Puts a detached tree over what fd names. */
int tree_attach(int tree, int fd);
/* O_PATH descriptor of path, in which no symlink may stand (-ELOOP); beneath: nor lead out of fd (-EXDEV). Returns it or -errno. */
int tree_open(int fd, const char *path, bool beneath);
