/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the namespace: copy, clone the write roots as they are, turn the whole tree read-only and nosuid, put the clones back, mask.
 *
 * Write roots are cloned before the tree turns read-only, not switched back after: what the operator mounted read-only inside one stays so.
 */
#include "supervisor/boundary/mounts_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

/* Kernel-made trees that programs write to by their own permissions; Landlock says who may. /dev itself needs no writing: nodes do not. */
static const struct {
	const char *path;
	bool devices;
} kept[] = { { "/dev/pts", true }, { "/dev/shm", false }, { "/dev/mqueue", false } };

static int add_root(struct builder *b, const char *path, bool devices)
{
	struct place root = { .fd = -1, .devices = devices };
	int r = place_resolve(b, path, &root.path);

	if (r <= 0)
		return r;
	if (strcmp(root.path, "/") == 0)
		return err_set(b->error, -EINVAL, "the whole tree cannot be a write root (%s)", path);
	return places_add(&b->roots, root) < 0 ? err_set(b->error, -ENOMEM, "out of memory") : 0;
}

static int by_length(const void *a, const void *b)
{
	size_t first = strlen(((const struct place *)a)->path), second = strlen(((const struct place *)b)->path);

	return (first > second) - (first < second);
}

/* Sorted by length, so that a root comes before what lies in it. */
static int find_roots(struct builder *b)
{
	int r = 0;

	if (b->plan->off)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(kept) && r == 0; i++)
		r = add_root(b, kept[i].path, kept[i].devices);
	for (const char *const *path = b->plan->write_roots; path && *path && r == 0; path++)
		r = add_root(b, *path, false);
	if (b->roots.nr > 1)
		qsort(b->roots.items, b->roots.nr, sizeof(*b->roots.items), by_length);
	return r;
}

static int clone_root(struct builder *b, struct place *root)
{
	_cleanup_close_ int fd = place_open(root->path);
	int r = fd;

	if (r >= 0)
		r = root->fd = tree_clone(fd, "", true);
	if (r >= 0)
		r = tree_set(root->fd, MOUNT_ATTR_NOSUID | (root->devices ? 0 : MOUNT_ATTR_NODEV), true);
	return r < 0 ? err_set(b->error, r, "cannot clone the write root %s: %s", root->path, strerror(-r)) : 0;
}

/* Opened again by name: the place of a root in another is a different mount once the outer one stands. */
static int put_root(struct builder *b, const struct place *root)
{
	_cleanup_close_ int fd = place_open(root->path);
	int r = fd < 0 ? fd : tree_attach(root->fd, fd);

	return r < 0 ? err_set(b->error, r, "cannot bind the write root %s back: %s", root->path, strerror(-r)) : 0;
}

static int lock_tree(struct builder *b)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID };
	int r = 0;

	if (b->plan->off)
		return 0;
	for (unsigned i = 0; i < b->roots.nr && r == 0; i++)
		r = clone_root(b, &b->roots.items[i]);
	if (r < 0)
		return r;
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return err_set(b->error, -errno, "cannot make the tree read-only: %s", strerror(errno));
	for (unsigned i = 0; i < b->roots.nr && r == 0; i++)
		r = put_root(b, &b->roots.items[i]);
	return r;
}

/* Of our own from here on, and what we do in it does not travel to where it was copied from. */
static int enter_copy(struct builder *b)
{
	if (b->plan->container_fd > 0 && setns(b->plan->container_fd, CLONE_NEWNS) < 0)
		return err_set(b->error, -errno, "cannot enter the container's mount namespace: %s", strerror(errno));
	if (unshare(CLONE_NEWNS) < 0)
		return err_set(b->error, -errno, "cannot make a mount namespace: %s", strerror(errno));
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_set(b->error, -errno, "cannot make mounts private: %s", strerror(errno));
	return 0;
}

/* Returns the namespace's descriptor or -errno. */
static int build(struct builder *b)
{
	int r = enter_copy(b), namespace_fd;

	if (r < 0)
		return r;
	namespace_fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (namespace_fd < 0)
		return err_set(b->error, -errno, "cannot open /proc/self/ns/mnt: %s", strerror(errno));
	r = find_roots(b);
	if (r == 0)
		r = masks_find(b);
	if (r == 0)
		r = places_check_links(b);
	if (r == 0)
		r = lock_tree(b);
	if (r == 0)
		r = masks_cover(b);
	return r < 0 ? r : namespace_fd;
}

struct answer {
	int error_number;
	struct err error;
};

static void build_in_child(const struct mounts_plan *plan, int channel)
{
	struct answer answer = { 0 };
	struct builder b = { .plan = plan, .error = &answer.error };
	int fd;

	umask(0);
	fd = build(&b);
	if (fd < 0)
		answer.error_number = -fd;
	_exit(io_send(channel, &answer, sizeof(answer), &fd, fd >= 0, 0) < 0);
}

static int take_answer(int channel, int *ret_namespace_fd, struct err *ret_error)
{
	struct answer answer;
	unsigned nr_fds = 0;
	int fd = -1;
	ssize_t len = io_receive(channel, &answer, sizeof(answer), &fd, 1, &nr_fds, 0);

	if (len != (ssize_t)sizeof(answer))
		return err_set(ret_error, -EPROTO, "the agents' mounts cannot be built: the process that builds them died");
	if (answer.error_number) {
		if (ret_error)
			*ret_error = answer.error;
		return err_prefix(ret_error, -answer.error_number, "the agents' mounts cannot be built");
	}
	if (nr_fds != 1)
		return err_set(ret_error, -EPROTO, "the agents' mounts cannot be built: no namespace came back");
	*ret_namespace_fd = fd;
	return 0;
}

int mounts_build(const struct mounts_plan *plan, int *ret_namespace_fd, struct err *ret_error)
{
	int pair[2], r;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(ret_error, -errno, "the agents' mounts cannot be built: %s", strerror(errno));
	child = fork();
	if (child == 0)
		build_in_child(plan, pair[1]);
	r = child < 0 ? -errno : 0;
	close(pair[1]);	/* or the child's death would not end our wait */
	if (r < 0)
		err_set(ret_error, r, "the agents' mounts cannot be built: cannot fork: %s", strerror(-r));
	else
		r = take_answer(pair[0], ret_namespace_fd, ret_error);
	close(pair[0]);
	while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}
