/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hand makes for its agent: files, folders, links, names. The path is one that the enforcer resolved and judged: its last part is the name that
 * is made, whatever happens meanwhile; no part of it is a symbolic link, or what is made would have another name or place than the judged one. Where no path is short
 * enough, it starts at a folder of the agent's.
 */
#include "shim/hand.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE_FILE 0100000	/* the C library's O_LARGEFILE is 0 here; open(2) adds it, and F_GETFL shows it */
#define OPEN_FLAGS (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_ASYNC | O_DIRECT | O_NOFOLLOW | O_NOATIME)
#define PIECE_BYTES 4000	/* of a path that may be longer than one call takes */

struct place {
	int folder;
	const char *name;		/* one part, perhaps with a slash behind it */
};

static int step(int from, const char *piece)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, from, piece, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* With the agent's own right to search. A relative path starts at the next of the descriptors. Returns 0 or -errno. */
static int find_place(const char *path, const int **start, const int *end, struct place *ret)
{
	char piece[PIECE_BYTES + 1];
	size_t len = strlen(path), at = 0;
	int fd = AT_FDCWD;

	while (len && path[len - 1] == '/')
		len--;
	while (len && path[len - 1] != '/')
		len--;
	if (!path[len] || (path[0] != '/' && *start == end))
		return -EINVAL;
	if (path[0] != '/')
		fd = step(*(*start)++, ".");
	if (fd < 0 && fd != AT_FDCWD)
		return fd;
	while (at < len) {
		int next;
		size_t take = len - at < PIECE_BYTES ? len - at : PIECE_BYTES;

		while (path[at + take - 1] != '/')
			take--;
		memcpy(piece, path + at, take);
		piece[take] = 0;
		next = step(fd, piece);
		if (fd >= 0)
			close(fd);
		fd = next;
		if (fd < 0)
			return fd;
		at += take;
	}
	*ret = (struct place){ fd, path + len };
	return 0;
}

/*
 * -EAGAIN for what is no file: the enforcer looks again. O_NONBLOCK: for who has put a FIFO there, nobody waits here. openat2(2), which can refuse a link
 * without leaving O_NOFOLLOW in the file's flags, takes no flag that it does not know, where open(2) passes over it.
 */
static int open_file(const struct place *at, const struct hand_request *r, int *ret_fd)
{
	const uint64_t flags = r->call_flags & OPEN_FLAGS;
	struct open_how how = { .flags = flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | LARGE_FILE, .mode = r->mode & 07777, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = (int)syscall(SYS_openat2, at->folder, at->name, &how, sizeof(how));
	struct stat st;

	if (fd < 0)
		return errno == ENXIO ? -EAGAIN : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK) < 0)) {
		close(fd);
		return -EAGAIN;
	}
	*ret_fd = fd;
	return 0;
}

/* An object without a name comes as a descriptor. */
static int link_object(int object, const struct place *to)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", object);
	return linkat(AT_FDCWD, path, to->folder, to->name, AT_SYMLINK_FOLLOW);
}

/* Returns 0 or -errno. */
static int make(const struct hand_request *r, const struct place *at, const char *second, const int *fds, const int *end, int *ret_fd)
{
	const bool nameless = r->action == HAND_LINK && !*second;
	struct place to = { -1, NULL };
	int done = -1, error;

	if (r->action == HAND_OPEN)
		return open_file(at, r, ret_fd);
	if (nameless && fds == end)
		return -EINVAL;
	if (r->action == HAND_RENAME || (r->action == HAND_LINK && !nameless)) {
		error = find_place(second, &fds, end, &to);
		if (error < 0)
			return error;
	}
	switch (r->action) {
	case HAND_MKDIR:
		done = mkdirat(at->folder, at->name, r->mode);
		break;
	case HAND_MKNOD:
		done = mknodat(at->folder, at->name, r->mode, r->device);
		break;
	case HAND_SYMLINK:
		done = symlinkat(second, at->folder, at->name);
		break;
	case HAND_LINK:
		done = nameless ? link_object(*fds, at) : linkat(to.folder, to.name, at->folder, at->name, 0);
		break;
	case HAND_RENAME:
		done = (int)syscall(SYS_renameat2, to.folder, to.name, at->folder, at->name, r->call_flags);
		break;
	default:
		errno = EINVAL;
	}
	error = done < 0 ? -errno : 0;
	if (to.folder >= 0)
		close(to.folder);
	return error;
}

int hand_make(const struct hand_request *r, char *data, const int *fds, unsigned nr_fds, int *ret_fd)
{
	const int *const end = fds + nr_fds;
	const char *second = memchr(data, 0, r->data_bytes);
	struct place at;
	int error;

	if (!second || data[r->data_bytes - 1] || ++second > data + r->data_bytes - 1)
		return -EINVAL;
	error = find_place(data, &fds, end, &at);
	if (error < 0)
		return error;
	umask(r->umask & 0777);
	error = make(r, &at, second, fds, end, ret_fd);
	close(at.folder);
	return error;
}
