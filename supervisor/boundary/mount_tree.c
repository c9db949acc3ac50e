/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/mount_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

int tree_clone(int fd, const char *name, bool recursive)
{
	int tree = open_tree(fd, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (*name ? 0 : AT_EMPTY_PATH) | (recursive ? AT_RECURSIVE : 0));

	return tree < 0 ? -errno : tree;
}

int tree_set(int tree, uint64_t attributes, bool recursive)
{
	struct mount_attr attr = { .attr_set = attributes };

	return mount_setattr(tree, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0), &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int tree_attach(int tree, int fd)
{
	return move_mount(tree, "", fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0 ? -errno : 0;
}

int tree_open(int fd, const char *path, bool beneath)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | (beneath ? RESOLVE_BENEATH : 0) };
	int found = (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));

	return found < 0 ? -errno : found;
}
