/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/mount.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/mount_tree.h"
#include "supervisor/boundary/mounts_host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOURCE_ATTRIBUTES (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
#define ROOT_ATTRIBUTES (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* ---- the overlay ---- */

/* The kernel's own words for what a context refused, where it has some. */
static int refused(int context, const char *what, struct err *ret_error)
{
	char said[160] = "";
	const int r = -errno;
	ssize_t len = read(context, said, sizeof(said) - 1);

	said[len > 0 ? strcspn(said, "\n") : 0] = 0;
	return err_set(ret_error, r, "no overlay can be mounted on the state volume (%s: %s)", what, len > 2 ? said + 2 : strerror(-r));
}

/* Names relative to the working directory: no path of ours can hold what the option's syntax gives a meaning. */
static int mount_layers(const char *lower, struct err *ret_error)
{
	_cleanup_close_ int context = fsopen("overlay", FSOPEN_CLOEXEC);
	const struct {
		const char *key, *value;
	} options[] = {
		{ "source", "cordon" }, { "lowerdir", lower }, { "upperdir", UPPER }, { "workdir", WORK },
		{ "redirect_dir", "on" },	/* or a folder of the source could not be renamed */
		{ "metacopy", "off" },		/* upper holds whole files: what an export reads */
		{ "index", "off" },
	};
	int tree;

	if (context < 0)
		return err_set(ret_error, -errno, "the kernel gives us no overlay: %s", strerror(errno));
	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (fsconfig(context, FSCONFIG_SET_STRING, options[i].key, options[i].value, 0) < 0)
			return refused(context, options[i].key, ret_error);
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return refused(context, "create", ret_error);
	tree = fsmount(context, FSMOUNT_CLOEXEC, ROOT_ATTRIBUTES);
	return tree < 0 ? refused(context, "mount", ret_error) : tree;
}

int overlay_mount(int folder, int source, struct err *ret_error)
{
	_cleanup_close_ int lower = -1;
	int r, tree;

	if (fchdir(folder) < 0 || (mkdir(LOWER, 0700) < 0 && errno != EEXIST))
		return err_set(ret_error, -errno, "the state folder: %s", strerror(errno));
	lower = tree_open(folder, LOWER, true);
	r = lower < 0 ? lower : tree_attach(source, lower);
	if (r < 0)
		return err_set(ret_error, r, "the source cannot be mounted: %s", strerror(-r));
	tree = mount_layers(MIDDLE ":" LOWER, ret_error);
	umount2(LOWER, MNT_DETACH);	/* the overlay has its own */
	return tree;
}

static int rename_a_folder(int folder, struct err *ret_error)
{
	_cleanup_close_ int tree = -1;

	if (fchdir(folder) < 0)
		return err_set(ret_error, -errno, "%s", strerror(errno));
	for (const char *const *name = (const char *const[]){ UPPER, WORK, MIDDLE, MIDDLE "/from", NULL }; *name; name++)
		if (mkdir(*name, 0700) < 0)
			return err_set(ret_error, -errno, "%s", strerror(errno));
	tree = mount_layers(MIDDLE, ret_error);
	if (tree < 0)
		return tree;
	if (renameat(tree, "from", tree, "to") < 0)
		return err_set(ret_error, -errno, "an overlay there cannot rename a folder of the source: %s", strerror(errno));
	return 0;
}

int overlay_try(int folder, struct err *ret_error)
{
	static const char name[] = ".try";
	_cleanup_close_ int inner = -1;
	int r;

	if (mkdirat(folder, name, 0700) < 0 && errno != EEXIST)
		return err_set(ret_error, -errno, "the state folder: %s", strerror(errno));
	inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner < 0)
		return err_set(ret_error, -errno, "the state folder: %s", strerror(errno));
	(void)state_empty(inner);	/* an earlier try was killed */
	r = rename_a_folder(inner, ret_error);
	(void)state_empty(inner);
	(void)unlinkat(folder, name, AT_REMOVEDIR);
	return r;
}

/* ---- the source, by other ids ---- */

/* Two ids change places; every other stays. */
static int write_map(pid_t pid, const char *file, unsigned a, unsigned b)
{
	const unsigned low = a < b ? a : b, high = a < b ? b : a;
	char path[64], text[256];
	_cleanup_close_ int fd = -1;
	int len = 0;

	if (low == high) {
		len = snprintf(text, sizeof(text), "0 0 4294967295\n");
	} else {
		if (low > 0)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "0 0 %u\n", low);
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%u %u 1\n", low, high);
		if (high - low > 1)
			len += snprintf(text + len, sizeof(text) - (size_t)len, "%u %u %u\n", low + 1, low + 1, high - low - 1);
		len += snprintf(text + len, sizeof(text) - (size_t)len, "%u %u 1\n%u %u %u\n", high, low, high + 1, high + 1, 4294967294u - high);
	}
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd < 0 || write(fd, text, (size_t)len) != len ? -errno : 0;
}

/* A user namespace is what the kernel takes such a mapping from; nobody ever lives in it. */
static int make_user_namespace(const struct copy_ids *ids)
{
	char path[64], byte;
	int ready[2], r = 0, fd = -1;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		byte = unshare(CLONE_NEWUSER) < 0 ? (char)errno : 0;
		(void)!write(ready[1], &byte, 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		r = pid < 0 ? -errno : -EIO;
	else if (byte)
		r = -byte;
	if (r == 0)
		r = write_map(pid, "uid_map", ids->uid_from, ids->uid_to);
	if (r == 0)
		r = write_map(pid, "gid_map", ids->gid_from, ids->gid_to);
	if (r == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		r = fd < 0 ? -errno : fd;
	}
	close(ready[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	return r;
}

int source_clone(int source, const struct copy_ids *ids, struct err *ret_error)
{
	_cleanup_close_ int tree = tree_clone(source, "", false), users = -1;
	struct mount_attr attr = { .attr_set = SOURCE_ATTRIBUTES };
	int r = tree;

	if (r >= 0)
		r = mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
	if (r < 0)
		return err_set(ret_error, r, "the source cannot be mounted: %s", strerror(-r));
	if (ids->uid_from == ids->uid_to && ids->gid_from == ids->gid_to)
		return TAKE_FD(tree);
	users = make_user_namespace(ids);
	attr = (struct mount_attr){ .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)users };
	r = users < 0 ? users : mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
	if (r < 0)
		return err_set(ret_error, r, "the source is uid %u's, and its file system cannot show it as uid %u's: %s", ids->uid_from, ids->uid_to, strerror(-r));
	return TAKE_FD(tree);
}

/* ---- its place ---- */

static bool is_mount(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, 0, &stx) == 0 && stx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
}

static int open_place(const char *project, const char *name)
{
	_cleanup_close_ int fd = tree_open(AT_FDCWD, project, false);

	if (fd < 0)
		return fd;
	if (mkdirat(fd, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	return tree_open(fd, name, true);
}

/* Relative, of any length: what is too long for one call is walked in pieces. */
static int open_inside(int root, const char *path)
{
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 3);
	char piece[PATH_MAX];

	while (fd >= 0 && *path) {
		size_t len = strlen(path);
		int next;

		if (len >= sizeof(piece))
			for (len = sizeof(piece) - 1; path[len] != '/'; len--)
				;
		memcpy(piece, path, len);
		piece[len] = 0;
		next = tree_open(fd, piece, true);
		close(fd);
		fd = next;
		path += len + (path[len] == '/');
	}
	return fd;
}

/* A mount of its own: it cannot be renamed, removed, or be on either side of a rename or link. */
static int pin(int root, const char *path, uint64_t attributes)
{
	_cleanup_close_ int fd = open_inside(root, path), tree = -1;
	int r = fd;

	if (r >= 0 && !attributes && is_mount(fd))
		return 0;
	if (r >= 0)
		r = tree = tree_clone(fd, "", true);
	if (r >= 0)
		r = tree_set(tree, attributes | ROOT_ATTRIBUTES, true);
	return r < 0 ? r : tree_attach(tree, fd);
}

/*
 * A read-only mount holds what is below it, not its name: a folder above could be renamed with it, and another be made in its place. So each
 * of them is a mount too.
 */
static int protect(int root, const char *path)
{
	_cleanup_buf_ struct buf above = { 0 };
	int r = 0;

	for (const char *slash = strchr(path, '/'); slash && r == 0; slash = strchr(slash + 1, '/')) {
		buf_reset(&above);
		buf_append(&above, path, (size_t)(slash - path));
		r = above.failed ? -ENOMEM : pin(root, above.data, 0);
	}
	return r < 0 ? r : pin(root, path, MOUNT_ATTR_RDONLY);
}

static int protect_all(int root, const struct workspace *w, struct err *ret_error)
{
	for (size_t i = 0; i < w->protected.nr; i++) {
		int r = protect(root, w->protected.items[i].path);

		if (r < 0 && r != -ENOENT)	/* gone from the source since the workspace was made */
			return err_set(ret_error, r, "%.300s cannot be made read-only: %s", w->protected.items[i].path, strerror(-r));
	}
	return 0;
}

static int enter(int namespace_fd, struct err *ret_error)
{
	if (namespace_fd >= 0 && setns(namespace_fd, CLONE_NEWNS) < 0)
		return err_set(ret_error, -errno, "a mount namespace cannot be entered: %s", strerror(errno));
	return 0;
}

static int attach(const struct place_for *at, const char *name, int tree, struct err *ret_error)
{
	_cleanup_close_ int fd = open_place(at->project, name);
	int r = fd;

	if (r >= 0 && is_mount(fd))
		r = -EBUSY;
	if (r >= 0)
		r = tree_attach(tree, fd);
	return r < 0 ? err_set(ret_error, r, "%s/%s cannot be its place: %s", at->project, name,
			       r == -EBUSY ? "something is mounted there" : r == -ELOOP ? "a symbolic link is there" : strerror(-r)) : 0;
}

/* The same mounts once more, as write roots are there. The caller is in the agents' namespace, and ends in the host's. */
static int attach_for_host(const struct place_for *at, const char *name, int root, struct err *ret_error)
{
	_cleanup_close_ int tree = tree_clone(root, "", true);
	int r = tree < 0 ? err_set(ret_error, tree, "the workspace cannot be cloned: %s", strerror(-tree)) : enter(at->host, ret_error);

	if (r == 0 && mounts_host_restrict(tree) < 0)
		r = err_set(ret_error, -errno, "execution in the workspace cannot be forbidden for hosts: %s", strerror(errno));
	return r < 0 ? r : attach(at, name, tree, ret_error);
}

int workspace_attach(const struct place_for *at, int tree, const struct workspace *w, struct err *ret_error)
{
	_cleanup_close_ int taken = tree, root = -1;
	int r = enter(at->agents, ret_error);

	if (r == 0)
		r = attach(at, w->name, taken, ret_error);
	if (r < 0)
		return r;
	root = open_place(at->project, w->name);
	if (root < 0)
		return err_set(ret_error, root, "%s/%s: %s", at->project, w->name, strerror(-root));
	r = protect_all(root, w, ret_error);
	return r < 0 || at->agents < 0 ? r : attach_for_host(at, w->name, root, ret_error);
}
