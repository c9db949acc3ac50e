/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives what a home holds to the launch user's new ids, in a forked helper of low priority.
 *
 * Agents may be at work in it meanwhile: every entry is opened before it is looked at and given by its descriptor, links are not followed, other file
 * systems not entered, and a file with several names is left alone, since one of them may be outside.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64	/* descriptors: one for each folder on the way */

struct walk {
	const struct host_user_job *job;
	dev_t device;
	unsigned long failed;
};

static void give_folder(struct walk *w, int fd, int depth);

static void give_entry(struct walk *w, int folder, const char *name, int depth)
{
	_cleanup_close_ int fd = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const struct host_user_job *job = w->job;
	struct stat st;
	int inside;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != w->device)
		return; /* gone, or not of this file system */
	if (st.st_uid == job->old_uid && (S_ISDIR(st.st_mode) || st.st_nlink == 1) &&
	    fchownat(fd, "", job->uid, st.st_gid == job->old_gid ? job->gid : (gid_t)-1, AT_EMPTY_PATH) < 0)
		w->failed++;
	if (!S_ISDIR(st.st_mode))
		return;
	inside = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (inside >= 0)
		give_folder(w, inside, depth + 1);
	else
		w->failed++;
}

/* Takes fd. */
static void give_folder(struct walk *w, int fd, int depth)
{
	DIR *folder = depth < DEPTH_MAX ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (!folder) {
		close(fd);
		w->failed++;
		return;
	}
	while ((entry = readdir(folder)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			give_entry(w, dirfd(folder), entry->d_name, depth);
	closedir(folder);
}

int host_user_give_home(void *argument)
{
	const struct host_user_job *job = argument;
	struct walk w = { .job = job };
	struct stat st;
	int fd = open(job->home, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		return errno == ENOENT ? 0 : 1;
	(void)setpriority(PRIO_PROCESS, 0, 19);
	w.device = st.st_dev;
	give_folder(&w, fd, 0);
	return w.failed ? 1 : 0;
}
