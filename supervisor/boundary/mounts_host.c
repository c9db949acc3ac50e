/* SPDX-License-Identifier: Apache-2.0 */
/* Guards the namespace that hosts enter: restricts the write roots in it, and covers the folders of entry paths with links to the client. */
#include "supervisor/boundary/mounts_host.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/boundary/mounts_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif
#ifndef MOUNT_ATTR_NOSYMFOLLOW
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

#define ROOT_ATTRIBUTES (MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define COVER_ATTRIBUTES (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

int mounts_host_leave(int *ret_container_fd, struct err *ret_error)
{
	struct mount_attr slave = { .propagation = MS_SLAVE };
	_cleanup_close_ int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_set(ret_error, -errno, "cannot open /proc/self/ns/mnt: %s", strerror(errno));
	if (unshare(CLONE_NEWNS) < 0)
		return err_set(ret_error, -errno, "cannot make a mount namespace: %s", strerror(errno));
	/* What the engine mounts later still arrives; what we mount does not travel back, to the namespace we left or to the host. */
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &slave, sizeof(slave)) < 0)
		return err_set(ret_error, -errno, "cannot separate the mounts from the container's: %s", strerror(errno));
	*ret_container_fd = TAKE_FD(fd);
	return 0;
}

int mounts_host_restrict(int tree)
{
	return tree_set(tree, ROOT_ATTRIBUTES, true);
}

/* ---- write roots ---- */

static int find_root(struct builder *b, const char *path, const char *client)
{
	struct place root = { .fd = -1 };
	int r = place_resolve(b, path, &root.path);

	if (r <= 0)
		return r;
	if (path_is_under(client, root.path))
		return err_set(b->error, -EINVAL, "Cordon's own programs are in the write root %s", path);
	return places_add(&b->roots, root) < 0 ? err_set(b->error, -ENOMEM, "out of memory") : 0;
}

static int find_roots(struct builder *b, const struct mounts_host_plan *plan)
{
	int r = find_root(b, "/dev/shm", plan->client);

	for (const char *const *path = plan->write_roots; path && *path && r == 0; path++)
		r = find_root(b, *path, plan->client);
	return r;
}

static bool is_mount(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, 0, &stx) == 0 && stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

/* With all that is mounted below. Another root inside is done again, which changes nothing. */
static int restrict_root(struct builder *b, const struct place *root)
{
	_cleanup_close_ int fd = place_open(root->path), tree = -1;
	int r = fd;

	if (r >= 0 && is_mount(fd)) {
		r = mounts_host_restrict(fd);
	} else if (r >= 0) {
		r = tree = tree_clone(fd, "", true);
		if (r >= 0)
			r = mounts_host_restrict(tree);
		if (r >= 0)
			r = tree_attach(tree, fd);
	}
	return r < 0 ? err_set(b->error, r, "cannot forbid execution in %s: %s", root->path, strerror(-r)) : 0;
}

/* ---- entry paths ---- */

/* The folder name in parent, root's and sticky, made when it is missing. Returns its descriptor or -errno. */
static int take_folder(int parent, const char *name)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return fchown(fd, 0, 0) < 0 || fchmod(fd, 01777) < 0 ? -errno : TAKE_FD(fd);
}

/* All folders below root on the way to path. */
static int take_folders(struct builder *b, const struct place *root, const char *path)
{
	char rest[PATH_MAX], *at = rest, *name;
	_cleanup_close_ int fd = place_open(root->path);
	int next = fd;

	snprintf(rest, sizeof(rest), "%s", path + strlen(root->path));
	while (next >= 0 && (name = strsep(&at, "/"))) {
		if (!*name)
			continue;
		next = take_folder(fd, name);
		if (next >= 0) {
			close(fd);
			fd = next;
		}
	}
	return next < 0 ? err_set(b->error, next, "cannot prepare %s for entry paths: %s", path, strerror(-next)) : 0;
}

static bool same_folder(const char *first, const char *second)
{
	size_t len = (size_t)(path_base(first) - first);

	return len == (size_t)(path_base(second) - second) && strncmp(first, second, len) == 0;
}

/* A tmpfs, never in any namespace but ours, with a link for every entry path of the folder that path lies in. */
static int make_cover(const struct mounts_host_plan *plan, const char *path)
{
	_cleanup_close_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC), tree = -1;

	if (context < 0 || fsconfig(context, FSCONFIG_SET_STRING, "source", "cordon", 0) < 0 || fsconfig(context, FSCONFIG_SET_STRING, "mode", "0755", 0) < 0 ||
	    fsconfig(context, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	tree = fsmount(context, FSMOUNT_CLOEXEC, 0);
	if (tree < 0)
		return -errno;
	for (const char *const *other = plan->entry_paths; *other; other++)
		if (same_folder(*other, path) && symlinkat(plan->client, tree, path_base(*other)) < 0)
			return -errno;
	return TAKE_FD(tree);
}

/* Read-only once the links are in it. */
static int put_cover(struct builder *b, const struct mounts_host_plan *plan, const char *path, const char *folder)
{
	_cleanup_close_ int fd = place_open(folder), tree = -1;
	int r = fd;

	if (r >= 0)
		r = tree = make_cover(plan, path);
	if (r >= 0)
		r = tree_set(tree, COVER_ATTRIBUTES, false);
	if (r >= 0)
		r = tree_attach(tree, fd);
	return r < 0 ? err_set(b->error, r, "cannot cover %s with links to %s: %s", folder, plan->client, strerror(-r)) : 0;
}

/* A root that is not there, or is read-only, is no place where an agent could put a program. */
static bool is_writable(const struct place *root)
{
	return faccessat(AT_FDCWD, root->path, W_OK, AT_EACCESS) == 0;
}

static int cover_folder(struct builder *b, const struct mounts_host_plan *plan, const char *path)
{
	const struct place *root;
	char written[PATH_MAX], *folder = NULL;
	int r;

	snprintf(written, sizeof(written), "%.*s", (int)(path_base(path) - path - 1), path);
	r = place_resolve(b, written, &folder);
	if (r >= 0)
		r = places_check_links(b);
	if (r < 0)
		return r;
	root = places_root_of(b, folder);
	if (!root || !is_writable(root))
		return 0;
	if (strcmp(root->path, folder) == 0)
		return err_set(b->error, -EINVAL, "%s is a write root: entry paths need a folder of their own", folder);
	r = take_folders(b, root, folder);
	return r < 0 ? r : put_cover(b, plan, path, folder);
}

/* Each folder once: at the first of its entry paths. */
static int cover_folders(struct builder *b, const struct mounts_host_plan *plan)
{
	int r = 0;

	for (const char *const *path = plan->entry_paths; path && *path && r == 0; path++) {
		const char *const *first = plan->entry_paths;

		while (!same_folder(*first, *path))
			first++;
		if (first == path)
			r = cover_folder(b, plan, *path);
	}
	return r;
}

int mounts_host_guard(const struct mounts_host_plan *plan, struct err *ret_error)
{
	struct builder b = { .error = ret_error };
	int r = find_roots(&b, plan);

	if (r == 0)
		r = places_check_links(&b);
	for (unsigned i = 0; i < b.roots.nr && r == 0; i++)
		r = restrict_root(&b, &b.roots.items[i]);
	return r < 0 ? r : cover_folders(&b, plan);
}
