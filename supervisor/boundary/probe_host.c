/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe of "host_exec": tries in each write root what must not work there in the namespace that hosts enter.
 *
 * The file it tries to execute is empty: where that is not forbidden, the kernel knows no format for it and nothing runs.
 */
#include "supervisor/boundary/probe_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An agent may own the root and swap names under us: what we execute is what we made, by its descriptor. Returns 1, 0 or -errno. */
static int executes(int folder)
{
	char *const argv[] = { (char *)(uintptr_t)"probe", NULL }, *const envp[] = { NULL };
	_cleanup_close_ int made = openat(folder, "file", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700), fd = -1;
	char path[32];

	if (made < 0 || fchmod(made, 0700) < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", made);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(TAKE_FD(made));	/* or it would be busy */
	syscall(SYS_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
	return errno != EACCES;
}

/* Returns 1, 0 or -errno. */
static int follows(int folder)
{
	_cleanup_close_ int fd = -1;

	if (symlinkat("/", folder, "link") < 0)
		return -errno;
	fd = openat(folder, "link", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 || errno != ELOOP;
}

/* A folder in which nobody but us writes, under the name that mkdtemp() fills in. Returns its descriptor or -errno. */
static int make_folder(char *name)
{
	_cleanup_close_ int fd = -1;
	struct stat st;

	if (!mkdtemp(name))
		return -errno;
	fd = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_uid == geteuid() && (st.st_mode & 07777) == 0700 ? TAKE_FD(fd) : -EBUSY;
}

/* NULL, or what is wrong with the root. */
static const char *try_root(const char *root)
{
	char name[PATH_MAX];
	_cleanup_close_ int folder = -1;
	int runs, linked;

	if (snprintf(name, sizeof(name), "%s/.cordon-probe-XXXXXX", root) >= (int)sizeof(name))
		return "has too long a name";
	folder = make_folder(name);
	/* Not there, no folder, or read-only to all: an agent writes nothing in it. */
	if (folder == -ENOENT || folder == -ENOTDIR || folder == -EROFS)
		return NULL;
	if (folder < 0)
		return "cannot be tried";
	runs = executes(folder);
	linked = follows(folder);
	unlinkat(folder, "file", 0);
	unlinkat(folder, "link", 0);
	rmdir(name);
	if (runs < 0 || linked < 0)
		return "cannot be tried";
	return runs ? "is executed from by absolute path" : linked ? "has its links followed" : NULL;
}

/* A path in a root that nobody writes needs no link. */
static bool is_in_writable_root(const char *path, const char *const *roots)
{
	for (; *roots; roots++)
		if (path_is_under(path, *roots) && faccessat(AT_FDCWD, *roots, W_OK, AT_EACCESS) == 0)
			return true;
	return false;
}

/* Whether a host that executes path meets our link, in a folder that nobody changes. */
static bool is_covered(const char *path)
{
	char folder[PATH_MAX];
	struct statvfs mount;
	struct stat st;

	snprintf(folder, sizeof(folder), "%.*s", (int)(path_base(path) - path), path);
	return statvfs(folder, &mount) == 0 && mount.f_flag & ST_RDONLY && lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid == 0;
}

void probe_host_exec_places(struct finding *f, const char *const *roots, const char *const *entry_paths)
{
	for (const char *const *root = roots; *root; root++) {
		const char *wrong = try_root(*root);

		if (!wrong)
			continue;
		found(f, LAYER_UNSUPPORTED, "In PID 1's namespace %.80s %s.", *root, wrong);
		return;
	}
	for (; entry_paths && *entry_paths; entry_paths++) {
		if (!is_in_writable_root(*entry_paths, roots) || is_covered(*entry_paths))
			continue;
		found(f, LAYER_DEGRADED, "In PID 1's namespace %.90s is no launch.", *entry_paths);
		return;
	}
	found(f, LAYER_ACTIVE, "In PID 1's namespace no write root is executed from, and no link in it followed.");
}
