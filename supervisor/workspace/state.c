/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/state.h"

#include "supervisor/base/bytes.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/json_out.h"
#include "supervisor/base/sha256.h"
#include "supervisor/workspace/names.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MARKER "marker.json"
#define MARKER_NEW "marker.new"
#define MARKER_VERSION 1
#define MARK "trusted.cordon.place"
#define MARKER_BYTES_MAX (64u << 20)

static const char *const kind_names[] = { "overlay", "copy", "live" };

const char *workspace_kind_name(enum workspace_kind kind)
{
	return kind_names[kind];
}

/* ---- notes ---- */

int notes_add(struct notes *notes, const char *path, const char *why)
{
	struct note *items;

	notes->total++;
	if (notes->nr == WORKSPACE_NOTES_MAX)
		return 0;
	if ((notes->nr & (notes->nr - 1)) == 0) {
		items = realloc(notes->items, (notes->nr ? 2 * notes->nr : 1) * sizeof(*items));
		if (!items)
			return -ENOMEM;
		notes->items = items;
	}
	notes->items[notes->nr] = (struct note){ strdup(path), why };
	return notes->items[notes->nr].path ? (notes->nr++, 0) : -ENOMEM;
}

bool notes_has(const struct notes *notes, const char *path)
{
	for (size_t i = 0; i < notes->nr; i++)
		if (strcmp(notes->items[i].path, path) == 0)
			return true;
	return false;
}

void notes_free(struct notes *notes)
{
	for (size_t i = 0; i < notes->nr; i++)
		free(notes->items[i].path);
	free(notes->items);
	*notes = (struct notes){ 0 };
}

void workspace_free(struct workspace *w)
{
	notes_free(&w->left_out);
	notes_free(&w->linked);
	notes_free(&w->protected);
	if (w->document) {	/* its array was made for it */
		free(w->frozen);
		w->frozen = NULL;
	}
	json_decref(w->document);
	w->document = NULL;
}

/* ---- names and folders ---- */

int workspace_check_name(const char *name, struct err *ret_error)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
	struct buf shown = { 0 };
	int r = -EINVAL;

	if (name[0] && name[0] != '.' && name[0] != '-' && strlen(name) <= WORKSPACE_NAME_MAX && strspn(name, allowed) == strlen(name))
		return 0;
	json_bytes(&(struct json_out){ .buf = &shown }, NULL, bytes_of(name));
	r = err_set(ret_error, r, "%s cannot be a workspace's name: 1 to %d letters, digits, \".\", \"_\" and \"-\", the first a letter, a digit or \"_\"",
		    shown.data ? shown.data : "this", WORKSPACE_NAME_MAX);
	buf_free(&shown);
	return r;
}

static int enter(int *fd, const char *name, bool make)
{
	int next;

	if (make && mkdirat(*fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return -errno;
	close(*fd);
	*fd = next;
	return 0;
}

int state_open(const char *state_dir, const char *name, bool make, struct err *ret_error)
{
	_cleanup_close_ int fd = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : enter(&fd, WORKSPACE_FOLDER, make);

	if (r == 0)
		r = enter(&fd, name, make);
	return r < 0 ? err_set(ret_error, r, "%s/%s/%s: %s", state_dir, WORKSPACE_FOLDER, name, strerror(-r)) : TAKE_FD(fd);
}

/* Folder by folder, by descriptors: a tree can be deeper than a path is long. */
static int remove_entry(int folder, const char *name)
{
	_cleanup_close_ int inner = -1;
	int r;

	if (unlinkat(folder, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	inner = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = inner < 0 ? -errno : state_empty(inner);
	return r < 0 ? r : unlinkat(folder, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int state_empty(int folder)
{
	_cleanup_buf_ struct buf names = { 0 };
	const char *at;
	size_t nr;
	int r = names_read(folder, &names, &nr);

	for (at = names.data; r == 0 && nr > 0; nr--, at += strlen(at + 1) + 2)
		r = remove_entry(folder, at + 1);
	return r;
}

/* ---- where a folder was made ---- */

static void hash_path(const char *path, uint8_t ret_mark[static 32])
{
	struct sha256 hash;

	sha256_init(&hash);
	sha256_update(&hash, path, strlen(path));
	sha256_final(&hash, ret_mark);
}

void state_mark(int folder, const char *path)
{
	uint8_t mark[32];

	hash_path(path, mark);
	(void)fsetxattr(folder, MARK, mark, sizeof(mark), 0);
}

bool state_is_marked(int folder, const char *path)
{
	uint8_t expected[32], mark[sizeof(expected)];

	hash_path(path, expected);
	return fgetxattr(folder, MARK, mark, sizeof(mark)) == sizeof(mark) && memcmp(mark, expected, sizeof(mark)) == 0;
}

/* ---- time ---- */

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t state_now_ns(void)
{
	return clock_ns(CLOCK_REALTIME_COARSE);	/* what files get */
}

int64_t state_next_ns(void)
{
	const int64_t before = state_now_ns();
	const struct timespec tick = { .tv_nsec = 1000000 };
	int64_t now;

	while ((now = state_now_ns()) == before)
		nanosleep(&tick, NULL);
	return now;
}

/* ---- the marker ---- */

static void put_notes(struct json_out *j, const char *key, const struct notes *notes)
{
	json_object_begin(j, key);
	json_uint(j, "total", notes->total);
	json_array_begin(j, "items");
	for (size_t i = 0; i < notes->nr; i++) {
		json_array_begin(j, NULL);
		json_bytes(j, NULL, bytes_of(notes->items[i].path));
		json_text(j, NULL, notes->items[i].why);
		json_array_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void state_put(struct json_out *j, const struct workspace *w)
{
	json_text(j, "name", w->name);
	json_text(j, "kind", workspace_kind_name(w->kind));
	json_text(j, "why", w->why);
	json_array_begin(j, "ids");
	json_uint(j, NULL, w->ids.uid_from);
	json_uint(j, NULL, w->ids.uid_to);
	json_uint(j, NULL, w->ids.gid_from);
	json_uint(j, NULL, w->ids.gid_to);
	json_array_end(j);
	json_array_begin(j, "frozen");
	for (const char **name = w->frozen; name && *name; name++)
		json_text(j, NULL, *name);
	json_array_end(j);
	json_int(j, "source_ns", w->source_ns);
	json_int(j, "copy_ns", w->copy_ns);
	put_notes(j, "left_out", &w->left_out);
	put_notes(j, "linked", &w->linked);
	put_notes(j, "protected", &w->protected);
}

/* Whole or not at all. */
int state_write(int folder, const struct workspace *w, struct err *ret_error)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };
	_cleanup_close_ int fd = openat(folder, MARKER_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : 0;

	json_object_begin(&j, NULL);
	json_uint(&j, "version", MARKER_VERSION);
	state_put(&j, w);
	json_object_end(&j);
	if (r == 0 && text.failed)
		r = -ENOMEM;
	if (r == 0)
		r = io_write_all(fd, text.data, text.len);
	if (r == 0 && (fsync(fd) < 0 || renameat(folder, MARKER_NEW, folder, MARKER) < 0))
		r = -errno;
	return r < 0 ? err_set(ret_error, r, "the marker cannot be written: %s", strerror(-r)) : 0;
}

int state_forget(int folder)
{
	return unlinkat(folder, MARKER, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int unhex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* What json_bytes() made of them. In place. */
static void decode_bytes(char *text)
{
	char *to = text;

	for (; *text; text++, to++) {
		bool escaped = *text == '%' && unhex(text[1]) >= 0 && unhex(text[2]) >= 0;

		*to = escaped ? (char)(unhex(text[1]) << 4 | unhex(text[2])) : *text;
		text += escaped ? 2 : 0;
	}
	*to = 0;
}

static int take_notes(const json_t *document, const char *key, struct notes *ret)
{
	const json_t *notes = json_object_get(document, key), *item;
	size_t i;

	json_array_foreach(json_object_get(notes, "items"), i, item) {
		const char *path = json_string_value(json_array_get(item, 0)), *why = json_string_value(json_array_get(item, 1));

		if (!path || !why)
			return -EBADMSG;
		if (notes_add(ret, path, why) < 0)
			return -ENOMEM;
		decode_bytes(ret->items[ret->nr - 1].path);
	}
	ret->total = (size_t)json_integer_value(json_object_get(notes, "total"));
	return 0;
}

static int take_names(const json_t *list, const char ***ret)
{
	const json_t *name;
	size_t i;

	*ret = calloc(json_array_size(list) + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	json_array_foreach(list, i, name) {
		(*ret)[i] = json_string_value(name);
		if (!(*ret)[i])
			return -EBADMSG;
	}
	return 0;
}

static int take_kind(const char *text, enum workspace_kind *ret)
{
	for (size_t i = 0; text && i < ARRAY_SIZE(kind_names); i++)
		if (strcmp(kind_names[i], text) == 0) {
			*ret = (enum workspace_kind)i;
			return 0;
		}
	return -EBADMSG;
}

int state_take(struct workspace *w, json_t *d)
{
	const json_t *ids = json_object_get(d, "ids");
	const char *name = json_string_value(json_object_get(d, "name")), *why = json_string_value(json_object_get(d, "why"));
	int r = name && strlen(name) <= WORKSPACE_NAME_MAX && json_array_size(ids) == 4 ? take_kind(json_string_value(json_object_get(d, "kind")), &w->kind) : -EBADMSG;

	if (r < 0)
		return r;
	memcpy(w->name, name, strlen(name) + 1);
	snprintf(w->why, sizeof(w->why), "%s", why ? why : "");
	w->ids = (struct copy_ids){ (uid_t)json_integer_value(json_array_get(ids, 0)), (uid_t)json_integer_value(json_array_get(ids, 1)),
				    (gid_t)json_integer_value(json_array_get(ids, 2)), (gid_t)json_integer_value(json_array_get(ids, 3)) };
	w->document = json_incref(d);
	w->source_ns = json_integer_value(json_object_get(d, "source_ns"));
	w->copy_ns = json_integer_value(json_object_get(d, "copy_ns"));
	r = take_names(json_object_get(d, "frozen"), &w->frozen);
	if (r == 0)
		r = take_notes(d, "left_out", &w->left_out);
	if (r == 0)
		r = take_notes(d, "linked", &w->linked);
	return r < 0 ? r : take_notes(d, "protected", &w->protected);
}

int state_read(int folder, struct workspace *ret, struct err *ret_error)
{
	_cleanup_buf_ struct buf text = { 0 };
	json_t *document;
	int r = io_read_file(folder, MARKER, MARKER_BYTES_MAX, &text);

	if (r == -ENOENT)
		return r;
	*ret = (struct workspace){ 0 };
	if (r < 0)
		return err_set(ret_error, r, "the marker cannot be read: %s", strerror(-r));
	document = json_loadb(text.data, text.len, 0, NULL);
	r = json_integer_value(json_object_get(document, "version")) == MARKER_VERSION ? state_take(ret, document) : -EBADMSG;
	json_decref(document);
	if (r < 0)
		workspace_free(ret);
	return r < 0 ? err_set(ret_error, r, "the marker is not one of this version") : 0;
}
