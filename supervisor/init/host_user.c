/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The launch user takes the ids of the host's user (STRIX_HOST_UID, STRIX_HOST_GID), so that what agents write into a mounted folder belongs to him.
 *
 * passwd, group and the two folders themselves change before anything is started; what lies in the home is given to him by a helper beside the running
 * container, since it may take minutes (a changed owner copies a file up in an overlay). What an interrupted one left is remembered in the state folder.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TABLE_LIMIT_BYTES (1u << 20)

/* ---- passwd and group: lines of fields between colons ---- */

/* The field of a line that ends at its newline; NULL when it has not so many. */
static const char *field_of(const char *line, unsigned index, size_t *ret_len)
{
	const char *end = line + strcspn(line, "\n");

	for (; index; index--) {
		line = memchr(line, ':', (size_t)(end - line));
		if (!line)
			return NULL;
		line++;
	}
	*ret_len = strcspn(line, ":\n");
	return line;
}

static bool field_is(const char *line, unsigned index, const char *text)
{
	size_t len;
	const char *field = field_of(line, index, &len);

	return field && len == strlen(text) && memcmp(field, text, len) == 0;
}

/* The name in the first line where field index is this number, other than one called but. Empty when there is none. */
static void find_number(const char *table, unsigned index, unsigned number, const char *but, char ret_name[static 64])
{
	char text[16];

	ret_name[0] = '\0';
	snprintf(text, sizeof(text), "%u", number);
	for (const char *line = table; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len;
		const char *name = field_of(line, 0, &len);

		if (field_is(line, index, text) && !field_is(line, 0, but)) {
			snprintf(ret_name, 64, "%.*s", (int)len, name);
			return;
		}
	}
}

/* The table with numbers put into the fields from index on of the line called name. */
static int put_numbers(const char *table, const char *name, unsigned index, const unsigned *numbers, unsigned nr, struct buf *ret)
{
	for (const char *line = table; *line;) {
		const char *end = line + strcspn(line, "\n"), *at = line, *field;
		size_t len;

		end += *end == '\n';
		if (field_is(line, 0, name))
			for (unsigned i = 0; i < nr && (field = field_of(line, index + i, &len)); i++) {
				buf_append(ret, at, (size_t)(field - at));
				buf_format(ret, "%u", numbers[i]);
				at = field + len;
			}
		buf_append(ret, at, (size_t)(end - at));
		line = end;
	}
	return ret->failed ? -ENOMEM : 0;
}

static int read_table(const char *etc_dir, const char *name, char ret_path[static PATH_MAX], struct buf *ret, struct err *ret_error)
{
	int r;

	snprintf(ret_path, PATH_MAX, "%s/%s", etc_dir, name);
	r = io_read_file(AT_FDCWD, ret_path, TABLE_LIMIT_BYTES, ret);
	if (r == 0 && (ret->failed || !ret->data))
		r = -ENODATA;
	return r < 0 ? err_set(ret_error, r, "cannot read %s: %s", ret_path, strerror(-r)) : 0;
}

static int write_table(const char *path, const struct buf *table, struct err *ret_error)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_set(ret_error, -errno, "cannot look at %s: %s", path, strerror(errno));
	return trust_file_write(path, table->data, table->len, st.st_mode & 07777, NULL, ret_error);
}

/* A group of the user's own takes the host's number; one that others are in by that number already stays what it is. */
static int take_gid(const char *etc_dir, const struct user_identity *user, unsigned gid, unsigned *ret_gid, struct err *ret_error)
{
	_cleanup_buf_ struct buf table = { 0 }, changed = { 0 };
	char path[PATH_MAX], other[64], own[64];
	int r = read_table(etc_dir, "group", path, &table, ret_error);

	*ret_gid = user->gid;
	if (r < 0 || gid == user->gid)
		return r;
	find_number(table.data, 2, user->gid, "", own);
	find_number(table.data, 2, gid, own, other);
	if (other[0])
		return 0;
	if (!own[0]) {
		*ret_gid = gid;
		return 0;
	}
	r = put_numbers(table.data, own, 2, &gid, 1, &changed);
	if (r == 0)
		r = write_table(path, &changed, ret_error);
	if (r == 0)
		*ret_gid = gid;
	return r;
}

int host_user_rewrite(const char *etc_dir, const struct user_identity *user, unsigned uid, unsigned gid, struct err *ret_error)
{
	_cleanup_buf_ struct buf table = { 0 }, changed = { 0 };
	char path[PATH_MAX], other[64];
	unsigned numbers[2] = { uid, user->gid };
	int r = read_table(etc_dir, "passwd", path, &table, ret_error);

	if (r < 0)
		return r;
	find_number(table.data, 2, uid, user->name, other);
	if (other[0])
		return err_set(ret_error, -EEXIST, "uid %u is %s in this image: agents cannot be the same user", uid, other);
	r = take_gid(etc_dir, user, gid, &numbers[1], ret_error);
	if (r == 0)
		r = put_numbers(table.data, user->name, 2, numbers, 2, &changed);
	return r == 0 ? write_table(path, &changed, ret_error) : r;
}

/* ---- the folders ---- */

/* The folder itself; nobody runs yet who could put something else there. */
static void give_folder(const char *path, const struct user_identity *from, const struct user_identity *to)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == from->uid)
		(void)!fchown(fd, to->uid, st.st_gid == from->gid ? to->gid : st.st_gid);
}

static void pending_path(const struct init *init, char ret_path[static PATH_MAX])
{
	snprintf(ret_path, PATH_MAX, "%s/host-user", init->settings->state_dir);
}

/* Says what is done, and what an earlier start did not come to the end of. */
static bool read_pending(const struct init *init, struct user_identity *from)
{
	_cleanup_buf_ struct buf text = { 0 };
	char path[PATH_MAX];

	pending_path(init, path);
	return io_read_file(AT_FDCWD, path, 64, &text) == 0 && text.data && sscanf(text.data, "%u %u", &from->uid, &from->gid) == 2;
}

static int write_pending(const struct init *init, const struct user_identity *from, struct err *ret_error)
{
	char path[PATH_MAX], text[32];
	int len = snprintf(text, sizeof(text), "%u %u\n", from->uid, from->gid);

	pending_path(init, path);
	return trust_file_write(path, text, (size_t)len, 0600, NULL, ret_error);
}

static int start_helper(struct init *init, const struct user_identity *from, const struct user_identity *to)
{
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = 2, .channel_fd = -1 };
	struct host_user_job job = { .home = to->home, .old_uid = from->uid, .old_gid = from->gid, .uid = to->uid, .gid = to->gid };

	return init->host_user_pid = spawn_function(&spawn, host_user_give_home, &job);
}

int host_user_take(struct init *init, struct err *ret_error)
{
	const struct init_settings *s = init->settings;
	struct user_identity user, taken, from;
	int r;

	/* By hand, the files are not a container's. */
	if (!s->host_uid || geteuid() != 0 || getpid() != 1)
		return 0;
	r = user_find(s->etc_dir, s->policy->launch_user, &user, ret_error);
	if (r < 0)
		return r;
	from = user;
	if (user.uid != s->host_uid) {
		r = write_pending(init, &user, ret_error);
		if (r == 0)
			r = host_user_rewrite(s->etc_dir, &user, s->host_uid, s->host_gid ? s->host_gid : s->host_uid, ret_error);
		if (r == -EEXIST)
			return r;
		if (r < 0) {
			init_say(init, "agents keep their uid %u, the host's %u cannot be taken: %s", user.uid, s->host_uid, ret_error->text);
			return 0;
		}
	} else if (!read_pending(init, &from)) {
		return 0;
	}
	r = user_find(s->etc_dir, s->policy->launch_user, &taken, ret_error);
	if (r < 0)
		return r;
	give_folder("/workspace", &from, &taken);
	give_folder(taken.home, &from, &taken);
	if (start_helper(init, &from, &taken) < 0)
		init_say(init, "what is in %s stays uid %u's: cannot fork", taken.home, from.uid);
	return 0;
}

void host_user_on_exit(struct init *init, int status)
{
	bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	char path[PATH_MAX];

	init->host_user_pid = 0;
	if (init->drain.phase != DRAIN_NONE)
		return; /* the next start goes on */
	pending_path(init, path);
	if (done)
		(void)unlink(path);
	trust_tell(init, "host-user", done ? "ready" : "degraded", done ? NULL : "not everything in the home could be given to the launch user");
}
