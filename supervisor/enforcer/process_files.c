/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of /proc/PID that programs write of themselves and their children: a thread's name, the order of out-of-memory kills, what a core dump holds.
 * For agents /proc is read-only, so the enforcer opens them in its own, and only what the caller's uid owns.
 *
 * What is written through such a descriptor is the kernel's to judge, by the writer and not by who opened it (fs/proc/base.c): comm of its own threads only, an
 * oom_score_adj never below where it was put.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

/* "/proc/PID/NAME" or "/proc/PID/task/TID/NAME". Returns the length of "/proc/PID", 0 for any other path. */
static size_t folder_length(const char *path)
{
	const char *rest;
	size_t len, digits;

	if (strncmp(path, "/proc/", 6) != 0)
		return 0;
	len = 6 + strspn(path + 6, "0123456789");
	rest = path + len;
	if (len == 6 || *rest++ != '/')
		return 0;
	if (strncmp(rest, "task/", 5) == 0) {
		digits = strspn(rest + 5, "0123456789");
		rest += 5 + digits;
		if (!digits || *rest++ != '/')
			return 0;
	}
	return *rest && !strchr(rest, '/') ? len : 0;
}

static bool on_proc(int fd)
{
	struct statfs fs;

	return fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

bool process_file_is_own(const struct enforcer *e, const struct launch *l, const struct resolved *object)
{
	return folder_length(object->path) && on_proc(object->fd) && process_is_own(e, l, atoi(object->path + 6));
}

int process_file_open(const struct enforcer *e, const struct call *call, const struct resolved *object, uint64_t flags)
{
	_cleanup_close_ int folder_fd = -1, fd = -1;
	const size_t len = folder_length(object->path);
	char folder[32];
	struct stat st;

	if (!len || len >= sizeof(folder))
		return -EACCES;
	if (flags & O_DIRECTORY)
		return -ENOTDIR;
	memcpy(folder, object->path, len);
	folder[len] = 0;
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* The folder is one process's for good: asked now, it is the one that was judged or another of the same agent. */
	if (folder_fd < 0 || !process_is_own(e, call->launch, atoi(folder + 6)))
		return -ESRCH;
	fd = openat(folder_fd, object->path + len + 1, (int)(flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	/* Root's where the process is not dumpable, as for whoever opens it. */
	if (!on_proc(fd) || st.st_uid != process_uid((pid_t)call->request->pid, (uid_t)-1) || !(st.st_mode & S_IWUSR))
		return -EACCES;
	return TAKE_FD(fd);
}
