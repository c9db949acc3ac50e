/* SPDX-License-Identifier: Apache-2.0 */
/* Names and trust of the log's folder. Holds no state. */
#include "supervisor/audit/folder.h"
#include "supervisor/base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void folder_file_name(unsigned number, char ret_name[static FOLDER_NAME_BYTES])
{
	snprintf(ret_name, FOLDER_NAME_BYTES, "audit-%06u.jsonl", number);
}

unsigned folder_file_number(const char *name)
{
	char again[FOLDER_NAME_BYTES];
	unsigned number;

	if (sscanf(name, "audit-%6u.jsonl", &number) != 1 || number == 0)
		return 0;
	folder_file_name(number, again);
	return strcmp(name, again) == 0 ? number : 0;
}

static bool owner_is_trusted(const struct stat *st)
{
	return st->st_uid == 0 || st->st_uid == geteuid();
}

static int make_folder(const char *dir)
{
	char path[PATH_MAX];

	if (strlen(dir) >= sizeof(path))
		return -ENAMETOOLONG;
	strcpy(path, dir);
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(dir, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* Records may hold what agents must not see, and a folder that others may write lets them swap files. */
static int hold_private(int dir_fd, const char *dir, struct err *ret_error)
{
	struct stat st;

	if (fstat(dir_fd, &st) < 0)
		return err_set(ret_error, -errno, "audit folder %s: %s", dir, strerror(errno));
	if (!owner_is_trusted(&st))
		return err_set(ret_error, -EPERM, "audit folder %s belongs to uid %u, it must be root's", dir, st.st_uid);
	if ((st.st_mode & 0777) != 0700 && fchmod(dir_fd, 0700) < 0)
		return err_set(ret_error, -errno, "audit folder %s: cannot make it 0700: %s", dir, strerror(errno));
	return 0;
}

int folder_open(const char *dir, bool create, struct err *ret_error)
{
	_cleanup_close_ int fd = -1;
	int r = create ? make_folder(dir) : 0;

	if (r < 0)
		return err_set(ret_error, r, "audit folder %s: cannot make it: %s", dir, strerror(-r));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return err_set(ret_error, -errno, "audit folder %s is a symlink or no folder", dir);
	if (fd < 0)
		return err_set(ret_error, -errno, "audit folder %s: %s", dir, strerror(errno));
	r = create ? hold_private(fd, dir, ret_error) : 0;
	return r < 0 ? r : TAKE_FD(fd);
}

static int compare_numbers(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

int folder_list(int dir_fd, unsigned **ret_numbers, size_t *ret_count)
{
	_cleanup_free_ unsigned *numbers = NULL;
	size_t count = 0, capacity = 0;
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	int r = 0;

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (struct dirent *entry; r == 0 && (errno = 0, entry = readdir(d));) {
		unsigned number = folder_file_number(entry->d_name);

		if (number && count == capacity) {
			unsigned *more = reallocarray(numbers, capacity += 64, sizeof(*more));

			if (more)
				numbers = more;
			else
				r = -ENOMEM;
		}
		if (number && r == 0)
			numbers[count++] = number;
	}
	if (r == 0)
		r = -errno;
	closedir(d);
	if (r < 0)
		return r;
	if (count)
		qsort(numbers, count, sizeof(*numbers), compare_numbers);
	*ret_numbers = TAKE_PTR(numbers);
	*ret_count = count;
	return 0;
}

int folder_open_file(int dir_fd, unsigned number, int flags, struct err *ret_error)
{
	_cleanup_close_ int fd = -1;
	char name[FOLDER_NAME_BYTES];
	struct stat st;

	folder_file_name(number, name);
	fd = openat(dir_fd, name, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(ret_error, -errno, "audit file %s: %s", name, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1 || !owner_is_trusted(&st))
		return err_set(ret_error, -EPERM, "audit file %s must be a regular file of root's with one name", name);
	return TAKE_FD(fd);
}
