/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of what a path leads to, for those who judge the name alone: two or three calls for most paths, where a descriptor of the object takes six.
 *
 * Remembers where to read a caller's working folder from; the folder itself is read for every call, because it changes without a word. The one thread
 * of the enforcer.
 */
#include "supervisor/boundary/resolve.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLERS_MAX 128

/*
 * A place is for one thread at a time. The link is /proc/TID/cwd itself (O_PATH), which belongs to that process and to no later one of its number: once it
 * is gone, reading the link fails. 0, which is never one of ours: the thread called once so far, and most never call again.
 */
static struct caller {
	pid_t tid;
	int link;
} callers[CALLERS_MAX];

static ssize_t read_cwd(pid_t tid, char *ret_text, size_t bytes)
{
	struct caller *c = &callers[(unsigned)tid % CALLERS_MAX];
	const bool known = c->tid == tid;
	char path[32];
	ssize_t len;

	if (known && c->link) {
		len = readlinkat(c->link, "", ret_text, bytes);
		if (len > 0)
			return len;
	}
	if (c->link)
		close(c->link);
	*c = (struct caller){ .tid = tid };
	snprintf(path, sizeof(path), "/proc/%d/cwd", tid);
	if (known)
		c->link = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (c->link > 0)
		return readlinkat(c->link, "", ret_text, bytes);
	c->link = 0;
	return readlink(path, ret_text, bytes);
}

static ssize_t read_folder(pid_t tid, int dirfd, char *ret_text, size_t bytes)
{
	char link[48];

	if (dirfd == AT_FDCWD)
		return read_cwd(tid, ret_text, bytes);
	snprintf(link, sizeof(link), "/proc/%d/fd/%d", tid, dirfd);
	return readlink(link, ret_text, bytes);
}

/* The folder a relative path starts from. Returns 0, or -EAGAIN where it has no name that leads there: deleted, or not in our tree. */
static int name_start(pid_t tid, int dirfd, char *ret_text, size_t bytes)
{
	static const char deleted[] = " (deleted)";
	const size_t tail = sizeof(deleted) - 1;
	ssize_t len = read_folder(tid, dirfd, ret_text, bytes - 1);

	if (len <= 0 || (size_t)len >= bytes - 1 || ret_text[0] != '/')
		return -EAGAIN;
	ret_text[len] = 0;
	return (size_t)len > tail && memcmp(ret_text + len - tail, deleted, tail) == 0 ? -EAGAIN : 0;
}

/* Whether what stands under name in folder, whose own way was looked at, is no symlink, if anything. Returns 0, or -EAGAIN for a symlink and whatever else. */
static int look(int folder, const char *name)
{
	char target;

	return readlinkat(folder, name, &target, 1) < 0 && (errno == EINVAL || errno == ENOENT) ? 0 : -EAGAIN;
}

static int open_plainly(int root_fd, const char *path, uint64_t flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, root_fd, *path ? path : ".", &how, sizeof(how));
}

/* The folder of ret->path in one call; its last name in another, where a symlink would be followed. */
static int look_in_folder(int root_fd, bool follow, struct resolved *ret)
{
	char *name = strrchr(ret->path, '/'), *folder = ret->path + 1;
	_cleanup_close_ int fd = -1;

	if (name < folder)
		return follow ? look(root_fd, folder) : 0;
	*name = 0;
	fd = open_plainly(root_fd, folder, O_DIRECTORY);
	*name = '/';
	if (fd < 0)
		return -EAGAIN;
	return follow ? look(fd, name + 1) : 0;
}

static int look_at_whole(int root_fd, bool follow, struct resolved *ret)
{
	int fd = open_plainly(root_fd, ret->path + 1, follow ? 0 : O_NOFOLLOW);

	if (fd < 0)
		return errno == ENOENT ? look_in_folder(root_fd, follow, ret) : -EAGAIN;
	close(fd);
	return 0;
}

/*
 * Without a symlink in the way a path is its own name, after the name of the folder it starts from. ".." is resolve.c's (at the root it stays there), and
 * so is a slash or a dot at the end, which follow a last symlink whatever is asked.
 */
int resolve_named(int root_fd, pid_t tid, int dirfd, const char *path, bool follow, bool creates, struct resolved *ret)
{
	const size_t len = strlen(path);
	const bool absolute = path[0] == '/';
	_uninitialized_ char start[RESOLVE_PATH_MAX];
	int r = 0;

	ret->fd = -1;
	ret->missing = ret->nameless = false;
	if (root_fd < 0 || len == 0 || path[len - 1] == '/' || path[len - 1] == '.' || strstr(path, ".."))
		return -EAGAIN;
	if (!absolute)
		r = name_start(tid, dirfd, start, sizeof(start));
	if (r < 0 || path_normalize(absolute ? NULL : start, path, ret->path, sizeof(ret->path)) < 0)
		return -EAGAIN;
	/* What the kernel calls a folder leads through no symlink. (Of a descriptor that is none it says ENOTDIR to whoever goes on.) */
	if (!absolute && !strchr(path, '/'))
		return follow ? look(root_fd, ret->path + 1) : 0;
	return creates ? look_in_folder(root_fd, follow, ret) : look_at_whole(root_fd, follow, ret);
}
