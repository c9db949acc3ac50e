/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller's path names, seen from the caller: its root, its cwd, its /proc/self. Component by component, at most 64 symlinks.
 *
 * The answer is good for judging and for the record. It is not what the kernel will act on: that is what verification and backstops are for.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#define RESOLVE_HOPS_MAX 64
#define RESOLVE_PATH_MAX 8192

struct resolved {
	int fd;				/* O_PATH of the object, owned; -1 when the last name does not exist */
	bool missing;			/* the folder is there, the name in it is not */
	bool nameless;			/* reached through /proc/PID/fd and the like, and has no path: a pipe, a socket, a memfd */
	struct stat stat;		/* of the object; of its folder when missing */
	char path[RESOLVE_PATH_MAX];	/* absolute in the caller's mount namespace; what the kernel calls it when nameless */
};

/*
 * dirfd is the caller's: AT_FDCWD or a descriptor number; path is NUL-terminated; "" means dirfd itself (AT_EMPTY_PATH).
 * follow: whether a symlink in the last place is followed. Returns 0 (also when missing), -ELOOP above 64 hops, or the error the kernel
 * would give (-ENOENT, -ENOTDIR, -EACCES, -EBADF, …). ret_resolved->fd is -1 unless 0 is returned.
 */
int resolve(pid_t tid, int dirfd, const char *path, bool follow, struct resolved *ret_resolved);
/*
 * The same for a caller whose root is known: root_fd (O_PATH, not owned) is the top of its mount namespace, and it cannot take another, as under the
 * filter of the safe modes. -1: looked up, as resolve() does.
 */
int resolve_under(int root_fd, pid_t tid, int dirfd, const char *path, bool follow, struct resolved *ret_resolved);
void resolved_close(struct resolved *r);
/*
 * The name alone, where it can be had in a call or two: ret_resolved->fd is -1, its stat stays as it was, and whether it is missing is not said. -EAGAIN where it
 * cannot, for whatever reason: ask resolve_under(). creates: the last name is likely not there yet (which way is tried first). Where nothing is followed, 0 may
 * also be the name of what cannot be, in a folder that is none. One thread.
 */
int resolve_named(int root_fd, pid_t tid, int dirfd, const char *path, bool follow, bool creates, struct resolved *ret_resolved);
/*
 * Whether a folder on the way is one that not everybody may search: we may, the caller perhaps not, and then what we find there, or miss, is
 * nothing to tell it. For a path that did not resolve; the last name's own mode is nobody's business here.
 */
bool resolve_passes_closed(pid_t tid, int dirfd, const char *path);

/* The folder that a relative path starts from, or the root: an O_PATH descriptor, or -errno. */
int resolve_start(pid_t tid, int dirfd, const char *path);
/* The path an O_PATH descriptor of ours has in its mount namespace. Returns 0 or -errno. */
int resolve_name(int fd, char *ret_path, size_t path_bytes);
