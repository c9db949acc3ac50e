/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's folder. Its top is root's, so that what the tool is told there stays what Cordon wrote; below it the daemon has places of its own.
 * No launch but the daemon's may write there.
 */
#include "supervisor/browser/session.h"

#include "supervisor/base/buf.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/json_out.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64	/* of folders in a session's tmp: a descriptor each while they are emptied */

char *session_text(const char *text, const char *title, const char *folder, const char *browser)
{
	const struct { const char *mark, *value; } marks[] = { { "{SESSION}", title }, { "{FOLDER}", folder }, { "{BROWSER}", browser } };
	struct buf result = { 0 };
	size_t i;

	while (*text) {
		for (i = 0; i < ARRAY_SIZE(marks) && strncmp(text, marks[i].mark, strlen(marks[i].mark)) != 0; i++)
			;
		if (i < ARRAY_SIZE(marks)) {
			buf_text(&result, marks[i].value);
			text += strlen(marks[i].mark);
		} else {
			buf_char(&result, *text++);
		}
	}
	buf_char(&result, 0);
	if (result.failed) {
		buf_free(&result);
		return NULL;
	}
	return result.data;
}

/* Anew each time: an earlier one may be of another mode, and nobody else writes here. */
static int write_file(int folder, const char *name, const char *text)
{
	_cleanup_close_ int fd = -1;

	if (unlinkat(folder, name, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 || fchmod(fd, 0644) < 0)
		return -errno;
	return io_write_all(fd, text, strlen(text));
}

static int make_folder(int at, const char *name, mode_t mode, uid_t uid, gid_t gid, int *ret_fd)
{
	int fd, r = mkdirat(at, name, mode) < 0 && errno != EEXIST ? -errno : 0;

	if (r < 0)
		return r;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchown(fd, uid, gid) < 0 || fchmod(fd, mode) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	*ret_fd = fd;
	return 0;
}

/* What a browser that was killed left. Nobody writes here now: the launch that may is gone. What does not go stays. */
static void empty(int folder, unsigned depth)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), below;
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!entries && fd >= 0)
		close(fd);
	while (entries && (entry = readdir(entries))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || unlinkat(folder, entry->d_name, 0) == 0)
			continue;
		below = depth ? openat(folder, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (below < 0)
			continue;
		empty(below, depth - 1);
		close(below);
		(void)unlinkat(folder, entry->d_name, AT_REMOVEDIR);
	}
	if (entries)
		closedir(entries);
}

static int write_actions(const struct strings *actions, int folder)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };

	json_object_begin(&j, NULL);
	json_text(&j, "default", "deny");
	json_array_begin(&j, "allow");
	for (size_t i = 0; i < actions->nr; i++)
		json_text(&j, NULL, actions->items[i]);
	json_array_end(&j);
	json_object_end(&j);
	buf_char(&text, 0);
	return text.failed ? -ENOMEM : write_file(folder, "actions.json", text.data);
}

/* The file by which the tool knows a daemon that began with its own variables; the daemon's user may replace it, and loses its page then. */
static int write_fingerprint(const struct browser *b, const char *title, const char *path, int run)
{
	_cleanup_free_ char *text = session_text(b->fingerprint, title, path, "");
	char file[SESSION_NAME_BYTES + 8];

	if (!text)
		return -ENOMEM;
	snprintf(file, sizeof(file), "%s.config", title);
	return write_file(run, file, text);
}

/* The certificates that a user's browser trusts stand in the real home. */
static int link_certificates(int folder, const char *home)
{
	char target[300];

	snprintf(target, sizeof(target), "%s/.pki", home);
	return symlinkat(target, folder, ".pki") < 0 && errno != EEXIST ? -errno : 0;
}

int session_prepare_folder(const struct browser *b, const char *name, const char *title, enum mode mode, uid_t uid, gid_t gid, const char *home,
			   struct err *ret_error)
{
	_cleanup_close_ int top = open(b->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), folder = -1, run = -1, own_home = -1, tmp = -1;
	char path[512];
	int r;

	snprintf(path, sizeof(path), "%s/%s", b->folder, name);
	r = top < 0 ? -errno : make_folder(top, name, 0755, 0, 0, &folder);
	if (r == 0)
		r = make_folder(folder, "run", 0700, uid, gid, &run);
	if (r == 0)
		r = make_folder(folder, "home", 0700, uid, gid, &own_home);
	if (r == 0)
		r = make_folder(folder, "tmp", 0700, uid, gid, &tmp);
	if (r == 0)
		empty(tmp, DEPTH_MAX);
	if (r == 0)
		r = link_certificates(own_home, home);
	if (r == 0)
		r = write_file(folder, "config.json", b->config);
	if (r == 0)
		r = write_actions(&b->actions[mode >= MODE_OBSERVE], folder);
	if (r == 0)
		r = write_fingerprint(b, title, path, run);
	return r < 0 ? err_set(ret_error, r, "cannot prepare %s: %s", path, strerror(-r)) : 0;
}
