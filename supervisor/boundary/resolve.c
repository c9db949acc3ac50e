/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/resolve.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>

#define PROC_ROOT_INO 1

struct walk {
	pid_t tid;
	int root;			/* O_PATH, owned; -1 until a step asks for it: most never do */
	int at;				/* O_PATH, where the walk stands; owned */
	int hops;
	bool follow;
	bool closed;			/* see resolve_passes_closed() */
	bool root_is_top;		/* the caller's root is that of its mount namespace */
	bool jumped;			/* the last step went through a /proc magic link */
	char rest[RESOLVE_PATH_MAX];	/* components still to go */
	char last[NAME_MAX + 1];	/* the name that did not exist */
};

int resolve_name(int fd, char *ret_path, size_t path_bytes)
{
	char link[32];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, ret_path, path_bytes - 1);
	if (len < 0)
		return -errno;
	if ((size_t)len >= path_bytes - 1)
		return -ENAMETOOLONG;
	ret_path[len] = 0;
	return 0;
}

void resolved_close(struct resolved *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

static int open_of(pid_t tid, const char *what)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", tid, what);
	fd = open(path, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int resolve_start(pid_t tid, int dirfd, const char *path)
{
	char name[32];
	int fd;

	if (path[0] == '/')
		return open_of(tid, "root");
	if (dirfd == AT_FDCWD)
		return open_of(tid, "cwd");
	if (dirfd < 0)
		return -EBADF;
	snprintf(name, sizeof(name), "fd/%d", dirfd);
	fd = open_of(tid, name);
	return fd == -ENOENT ? -EBADF : fd;
}

static int need_root(struct walk *w)
{
	if (w->root < 0)
		w->root = open_of(w->tid, "root");
	return w->root;
}

static void step_to(struct walk *w, int fd)
{
	close(w->at);
	w->at = fd;
}

static bool is_same(int a, int b)
{
	struct stat sa, sb;

	return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static bool on_proc(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* The text of a symlink put before what is left of the path. */
static int splice_link(struct walk *w, const char *target)
{
	char joined[RESOLVE_PATH_MAX];
	int root;

	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", target, w->rest) >= sizeof(joined))
		return -ENAMETOOLONG;
	memcpy(w->rest, joined, sizeof(joined));
	if (target[0] != '/')
		return 0;
	root = need_root(w);
	if (root < 0)
		return root;
	root = fcntl(root, F_DUPFD_CLOEXEC, 3);
	if (root < 0)
		return -errno;
	step_to(w, root);
	return 0;
}

/* self and thread-self are the reader's own: ours would be the enforcer's. */
static int proc_link_text(const struct walk *w, int link, const char *name, char *ret_text, size_t bytes)
{
	ssize_t len;

	if (strcmp(name, "self") == 0)
		return snprintf(ret_text, bytes, "%d", process_group(w->tid)), 0;
	if (strcmp(name, "thread-self") == 0)
		return snprintf(ret_text, bytes, "%d/task/%d", process_group(w->tid), w->tid), 0;
	len = readlinkat(link, "", ret_text, bytes - 1);
	if (len < 0)
		return -errno;
	ret_text[len] = 0;
	return 0;
}

/* name in w->at is the symlink `link` (O_PATH|O_NOFOLLOW), which this takes. */
static int follow_link(struct walk *w, const char *name, int link)
{
	char text[4096];
	const bool magic = on_proc(link);
	struct stat folder;
	int fd, r;

	if (++w->hops > RESOLVE_HOPS_MAX) {
		close(link);
		return -ELOOP;
	}
	if (magic && fstat(w->at, &folder) == 0 && folder.st_ino != PROC_ROOT_INO) {
		/* exe, cwd, root, fd/N: the kernel jumps to the object, whatever its text says. */
		close(link);
		fd = openat(w->at, name, O_PATH | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		step_to(w, fd);
		w->jumped = true;
		return 0;
	}
	r = proc_link_text(w, link, magic ? name : "", text, sizeof(text));
	close(link);
	if (r < 0)
		return r;
	return text[0] ? splice_link(w, text) : -ENOENT;
}

/* Takes the next component off rest. Returns its length; 0 at the end. */
static size_t next_component(struct walk *w, char *ret_name, bool *ret_last)
{
	size_t skip = strspn(w->rest, "/"), len = strcspn(w->rest + skip, "/");
	const char *after = w->rest + skip + len;

	if (len > NAME_MAX) {
		*ret_last = false;
		return len;
	}
	memcpy(ret_name, w->rest + skip, len);
	ret_name[len] = 0;
	*ret_last = after[strspn(after, "/")] == 0;
	memmove(w->rest, after, strlen(after) + 1);
	return len;
}

/* One component. Returns 0, 1 when name is the missing last one (kept in w->last), or -errno. */
static int take_step(struct walk *w, const char *name, bool last, bool trailing_slash)
{
	bool up = strcmp(name, "..") == 0;
	struct stat st;
	int fd;

	w->jumped = false;
	if (up && need_root(w) < 0)
		return w->root;
	if (strcmp(name, ".") == 0 || (up && is_same(w->at, w->root)))
		return 0;
	fd = openat(w->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT && last) {
		memcpy(w->last, name, strlen(name) + 1);
		return 1;
	}
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return -EIO;
	}
	w->closed |= S_ISDIR(st.st_mode) && !(st.st_mode & S_IXOTH);
	if (S_ISLNK(st.st_mode) && (!last || w->follow || trailing_slash))
		return follow_link(w, name, fd);
	step_to(w, fd);
	return 0;
}

/* Without a symlink in the way, path is one call instead of three per component. */
static int open_plainly(const struct walk *w, const char *path, bool follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };

	path += strspn(path, "/");
	return (int)syscall(SYS_openat2, w->at, *path ? path : ".", &how, sizeof(how));
}

/*
 * With one, the kernel follows it for us, within the caller's root, which is the top. Not into /proc: self is the reader's own there, and the other links
 * it refuses here.
 */
static int open_in_root(int root_fd, const char *path, bool follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd >= 0 && on_proc(fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* After a symlink: most have none behind them. Returns true when that was the end. */
static bool try_rest(struct walk *w)
{
	int fd;

	if (strspn(w->rest, "/") == strlen(w->rest) || strstr(w->rest, ".."))
		return false;
	fd = open_plainly(w, w->rest, w->follow);
	if (fd < 0)
		return false;
	step_to(w, fd);
	w->jumped = false;
	return true;
}

static int walk(struct walk *w)
{
	char name[NAME_MAX + 1];
	int r, hops;
	bool last;
	size_t len;

	while ((len = next_component(w, name, &last))) {
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		hops = w->hops;
		r = take_step(w, name, last, last && w->rest[0] == '/');
		if (r)
			return r;
		if (w->hops != hops && try_rest(w))
			return 0;
	}
	return 0;
}

/* An object that is there is the caller's from now on. */
static int finish(struct walk *w, bool missing, struct resolved *ret)
{
	size_t len;
	int r = resolve_name(w->at, ret->path, sizeof(ret->path));

	if (r < 0 || fstat(w->at, &ret->stat) < 0)
		return r < 0 ? r : -errno;
	ret->missing = missing;
	/* No path, or one that is only a memory of it. */
	ret->nameless = w->jumped && (ret->path[0] != '/' || (ret->stat.st_nlink == 0 && !S_ISDIR(ret->stat.st_mode)));
	if (!missing) {
		ret->fd = TAKE_FD(w->at);
		return 0;
	}
	len = strlen(ret->path);
	if (len + strlen(w->last) + 2 > sizeof(ret->path))
		return -ENAMETOOLONG;
	snprintf(ret->path + len, sizeof(ret->path) - len, "%s%s", len > 1 ? "/" : "", w->last);
	return 0;
}

/* A name to be created: its folder in one call, and then the name, which must not be there. */
static int resolve_new(struct walk *w, const char *path, struct resolved *ret)
{
	const char *name = path_base(path);
	size_t len = (size_t)(name - path);
	_cleanup_close_ int folder_fd = -1;
	const int start = w->at;
	char folder[PATH_MAX];
	struct stat st;
	int r;

	if (!*name || strlen(name) > NAME_MAX || len >= sizeof(folder))
		return -EAGAIN;
	memcpy(folder, path, len);
	folder[len] = 0;
	folder_fd = open_plainly(w, folder, true);
	if (folder_fd < 0 || fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return -EAGAIN;
	memcpy(w->last, name, strlen(name) + 1);
	w->at = folder_fd;
	r = finish(w, true, ret);
	w->at = start;
	return r < 0 ? -EAGAIN : 0;
}

/* Most paths hold no symlink at all. -EAGAIN: this one needs the walk. */
static int resolve_plainly(struct walk *w, const char *path, struct resolved *ret)
{
	const bool from_top = w->root_is_top && path[0] == '/';
	bool linked = false;
	int fd, r;

	if (strstr(path, "..") || path[0] == 0)
		return -EAGAIN; /* ".." at a chroot's root needs the walk */
	fd = open_plainly(w, path, w->follow);
	if (fd < 0 && errno == ELOOP && from_top) {
		fd = open_in_root(w->at, path, w->follow);
		linked = true;
	}
	if (fd < 0)
		return !linked && errno == ENOENT ? resolve_new(w, path, ret) : -EAGAIN;
	/* From the top, and without a symlink, it is its own name. */
	r = from_top && !linked ? path_normalize(NULL, path, ret->path, sizeof(ret->path))
					     : resolve_name(fd, ret->path, sizeof(ret->path));
	if (r < 0 || fstat(fd, &ret->stat) < 0) {
		close(fd);
		return -EAGAIN;
	}
	ret->fd = fd;
	return 0;
}

int resolve_under(int root_fd, pid_t tid, int dirfd, const char *path, bool follow, struct resolved *ret)
{
	struct walk w = { .tid = tid, .root = -1, .follow = follow, .jumped = path[0] == 0, .root_is_top = root_fd >= 0 };
	const bool borrowed = root_fd >= 0 && path[0] == '/';
	int r;

	ret->fd = -1;
	ret->missing = ret->nameless = false;
	w.at = borrowed ? root_fd : resolve_start(tid, dirfd, path);
	if (w.at < 0)
		return w.at;
	r = resolve_plainly(&w, path, ret);
	if (borrowed)
		w.at = r == -EAGAIN ? fcntl(root_fd, F_DUPFD_CLOEXEC, 3) : -1;
	if (r == -EAGAIN && w.at < 0) {
		r = -errno;
	} else if (r == -EAGAIN && strlen(path) >= sizeof(w.rest)) {
		r = -ENAMETOOLONG;
	} else if (r == -EAGAIN) {
		memcpy(w.rest, path, strlen(path) + 1);
		r = walk(&w);
		if (r >= 0)
			r = finish(&w, r == 1, ret);
	}
	if (w.at >= 0)
		close(w.at);
	if (w.root >= 0)
		close(w.root);
	return r;
}

int resolve(pid_t tid, int dirfd, const char *path, bool follow, struct resolved *ret)
{
	return resolve_under(-1, tid, dirfd, path, follow, ret);
}

bool resolve_passes_closed(pid_t tid, int dirfd, const char *path)
{
	struct walk w = { .tid = tid, .root = -1, .follow = true };

	if (strlen(path) >= sizeof(w.rest))
		return false;
	memcpy(w.rest, path, strlen(path) + 1);
	w.at = resolve_start(tid, dirfd, path);
	if (w.at < 0)
		return false;
	(void)walk(&w);
	close(w.at);
	if (w.root >= 0)
		close(w.root);
	return w.closed;
}
