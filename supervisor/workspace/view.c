/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/view.h"

#include "supervisor/base/buf.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/workspace/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOPS_MAX 40	/* the kernel's own limit */
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* ---- places ---- */

struct view_place *view_get_place(struct view_place *place)
{
	__atomic_add_fetch(&place->refs, 1, __ATOMIC_RELAXED);	/* copying threads put theirs */
	return place;
}

void view_put_place(struct view_place *place)
{
	while (place && __atomic_sub_fetch(&place->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		struct view_place *up = place->up;

		close(place->fd);
		free(place);
		place = up;
	}
}

/* Takes fd. The new place holds a reference to up. */
static int make_place(struct view_place *up, int fd, const char *name, struct view_place **ret)
{
	struct view_place *place = malloc(sizeof(*place) + strlen(name) + 1);
	struct stat st;

	if (!place || fstat(fd, &st) < 0) {
		int r = place ? -errno : -ENOMEM;

		free(place);
		close(fd);
		return r;
	}
	*place = (struct view_place){ .refs = 1, .up = up ? view_get_place(up) : NULL, .fd = fd, .dev = st.st_dev, .ino = st.st_ino };
	memcpy(place->name, name, strlen(name) + 1);
	*ret = place;
	return 0;
}

int view_init(struct view *view, int root_fd, struct view_folder *ret_root)
{
	int r;

	*view = (struct view){ 0 };
	r = make_place(NULL, root_fd, "", &view->root);
	if (r == 0)
		*ret_root = (struct view_folder){ .place = view_get_place(view->root) };
	return r;
}

void view_close(struct view *view, struct view_folder *root)
{
	view_leave(root);
	view_put_place(view->root);
}

void view_leave(struct view_folder *folder)
{
	view_put_place(folder->place);
	folder->place = NULL;
}

/* ---- where a link leads ---- */

struct target {
	struct view_place *place;	/* the folder itself, or a file's folder; a reference */
	char name[NAME_MAX + 1];	/* "" for a folder */
	mode_t mode;
};

struct walk {
	struct view_place *at;		/* a reference */
	struct buf rest;		/* names still to go */
	unsigned hops;
};

static int splice_text(struct walk *w, const char *text, size_t used)
{
	_cleanup_buf_ struct buf old = w->rest;

	w->rest = (struct buf){ 0 };
	if (*text == '/')
		return -EXDEV;
	if (!*text)
		return -ENOENT;
	buf_text(&w->rest, text);
	buf_text(&w->rest, old.data ? old.data + used : "");
	return w->rest.failed ? -ENOMEM : w->rest.len > 4 * PATH_MAX ? -ENAMETOOLONG : 0;
}

static void move_to(struct walk *w, struct view_place *place)
{
	view_put_place(w->at);
	w->at = place;
}

/* One name. used: how much of rest it takes. Returns 0, 1 at a file (the end), or -errno. */
static int step(struct walk *w, const char *name, size_t used, struct target *ret)
{
	_cleanup_close_ int fd = -1;
	char text[PATH_MAX];
	struct view_place *next;
	struct stat st;
	ssize_t len;
	int r;

	fd = openat(w->at->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) {
		if (++w->hops > HOPS_MAX)
			return -ELOOP;
		len = readlinkat(fd, "", text, sizeof(text) - 1);
		if (len < 0)
			return -errno;
		text[len] = 0;
		return splice_text(w, text, used);
	}
	memmove(w->rest.data, w->rest.data + used, w->rest.len - used + 1);
	w->rest.len -= used;
	if (S_ISDIR(st.st_mode)) {
		r = make_place(w->at, TAKE_FD(fd), name, &next);
		if (r == 0)
			move_to(w, next);
		return r;
	}
	if (w->rest.len)
		return -ENOTDIR;
	memcpy(ret->name, name, strlen(name) + 1);
	ret->mode = st.st_mode;
	return 1;
}

static int go(struct walk *w, struct target *ret)
{
	char name[NAME_MAX + 1];
	int r = 0;

	ret->name[0] = 0;
	ret->mode = S_IFDIR;
	while (r == 0 && w->rest.len) {
		size_t skip = strspn(w->rest.data, "/"), len = strcspn(w->rest.data + skip, "/");

		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, w->rest.data + skip, len);
		name[len] = 0;
		if (len == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
			if (len == 2 && !w->at->up)
				return -EXDEV;
			if (len == 2)
				move_to(w, view_get_place(w->at->up));
			memmove(w->rest.data, w->rest.data + skip + len, w->rest.len - skip - len + 1);
			w->rest.len -= skip + len;
			continue;
		}
		r = step(w, name, skip + len, ret);
	}
	return r < 0 ? r : 0;
}

static int resolve_text(struct view_place *from, const char *text, struct target *ret)
{
	struct walk w = { .at = view_get_place(from) };
	int r = splice_text(&w, text, 0);

	if (r == 0)
		r = go(&w, ret);
	buf_free(&w.rest);
	if (r < 0)
		view_put_place(w.at);
	else
		ret->place = w.at;
	return r;
}

static int resolve_link(const struct view_folder *folder, const char *name, struct target *ret)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(folder->place->fd, name, text, sizeof(text) - 1);

	if (len < 0)
		return -errno;
	text[len] = 0;
	return resolve_text(folder->place, text, ret);
}

int view_resolve_folder(struct view *view, struct view_place *place, const char *text, struct view_place **ret_place)
{
	struct target target;
	int r = resolve_text(place, text, &target);

	(void)view;
	if (r < 0)
		return r;
	if (!S_ISDIR(target.mode)) {
		view_put_place(target.place);
		return -ENOTDIR;
	}
	*ret_place = target.place;
	return 0;
}

/* ---- how large a link becomes ---- */

static bool is_walked(const struct view_folder *folder, const struct view_place *place)
{
	for (; folder; folder = folder->up)
		if (folder->place->dev == place->dev && folder->place->ino == place->ino)
			return true;
	return false;
}

struct size {
	uint64_t entries, bytes;
};

static int measure(struct view *view, const struct view_folder *folder, struct size *size);

static int measure_entry(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct size *size)
{
	struct view_folder inner;
	struct stat st;
	int r;

	if (++size->entries > VIEW_LINK_ENTRIES_MAX || size->bytes > VIEW_LINK_BYTES_MAX)
		return -EFBIG;
	if (++view->links_work > VIEW_WORK_MAX)
		return -E2BIG;
	if (entry->kind == VIEW_FILE) {
		if (fstatat(folder->place->fd, entry->name, &st, 0) == 0)	/* a link's target is in the tree: it was resolved */
			size->bytes += (uint64_t)st.st_size;
		return 0;
	}
	if (entry->kind != VIEW_FOLDER || view_enter(view, folder, entry, &inner) < 0)
		return 0;
	r = measure(view, &inner, size);
	view_leave(&inner);
	return r;
}

static int measure(struct view *view, const struct view_folder *folder, struct size *size)
{
	struct view_listing listing;
	int r = view_list(view, folder, &listing);

	if (r < 0)
		return r == -E2BIG || r == -ENOMEM ? r : 0;
	for (size_t i = 0; i < listing.nr && r == 0; i++)
		r = measure_entry(view, folder, &listing.entries[i], size);
	view_listing_free(&listing);
	return r;
}

/* ---- what an entry is ---- */

static void leave_out(struct view_entry *entry, const char *why)
{
	entry->kind = VIEW_LEFT_OUT;
	entry->why = why;
}

static const char *special_name(mode_t mode, bool link)
{
	switch (mode & S_IFMT) {
	case S_IFSOCK:
		return link ? "a link to a socket" : "a socket";
	case S_IFIFO:
		return link ? "a link to a FIFO" : "a FIFO";
	default:
		return link ? "a link to a device" : "a device";
	}
}

static const char *broken_link(int error)
{
	switch (-error) {
	case EXDEV:
		return "a link that leads out of the tree";
	case ELOOP:
		return "a link that leads in a circle";
	default:
		return "a link to what is not there";
	}
}

/* A folder reached through a link was measured with all that is in it, so what is below needs no measure of its own. */
static int classify_folder_link(struct view *view, const struct view_folder *folder, struct view_place *place, struct view_entry *entry)
{
	struct view_folder inner = { .up = folder, .place = place, .linked = true };
	struct size size = { 0 };
	int r = 0;

	entry->kind = VIEW_FOLDER;
	if (is_walked(folder, place))
		leave_out(entry, "a link that leads in a circle");
	else if (!folder->linked)
		r = measure(view, &inner, &size);
	if (r == -EFBIG)
		leave_out(entry, "a link to more than a workspace takes for one link");
	return r == -EFBIG ? 0 : r;
}

static int classify_link(struct view *view, const struct view_folder *folder, struct view_entry *entry)
{
	struct target target;
	int r = resolve_link(folder, entry->name, &target);

	entry->link = true;
	if (r < 0) {
		leave_out(entry, broken_link(r));
		return r == -ENOMEM || r == -EMFILE || r == -ENFILE ? r : 0;
	}
	if (S_ISDIR(target.mode))
		r = classify_folder_link(view, folder, target.place, entry);
	else if (S_ISREG(target.mode))
		entry->kind = VIEW_FILE;
	else
		leave_out(entry, special_name(target.mode, true));
	view_put_place(target.place);
	return r;
}

static int classify(struct view *view, const struct view_folder *folder, struct view_entry *entry, unsigned char type)
{
	struct stat st;

	if (type == DT_UNKNOWN) {
		if (fstatat(folder->place->fd, entry->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return -errno;
		type = IFTODT(st.st_mode);
	}
	switch (type) {
	case DT_REG:
		entry->kind = VIEW_FILE;
		return 0;
	case DT_DIR:
		entry->kind = VIEW_FOLDER;
		return 0;
	case DT_LNK:
		return classify_link(view, folder, entry);
	default:
		leave_out(entry, special_name(DTTOIF(type), false));
		return 0;
	}
}

/* ---- listing ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct view_entry *)a)->name, ((const struct view_entry *)b)->name);
}

static int fill(struct view *view, const struct view_folder *folder, struct view_listing *l)
{
	char *at = l->names;
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < l->nr && r == 0; i++) {
		struct view_entry *entry = &l->entries[kept];

		*entry = (struct view_entry){ .name = at + 1 };
		r = classify(view, folder, entry, (unsigned char)*at);
		at += strlen(at + 1) + 2;
		if (r == -ENOENT)	/* gone since */
			r = 0;
		else
			kept++;
	}
	l->nr = kept;
	if (kept > 1)
		qsort(l->entries, kept, sizeof(*l->entries), by_name);
	return r;
}

int view_list(struct view *view, const struct view_folder *folder, struct view_listing *ret)
{
	_cleanup_buf_ struct buf names = { 0 };
	int r;

	*ret = (struct view_listing){ 0 };
	r = names_read(folder->place->fd, &names, &ret->nr);
	if (r < 0 || ret->nr == 0)
		return r;
	ret->entries = calloc(ret->nr, sizeof(*ret->entries));
	if (!ret->entries)
		return -ENOMEM;
	ret->names = TAKE_PTR(names.data);
	r = fill(view, folder, ret);
	if (r < 0)
		view_listing_free(ret);
	return r;
}

void view_listing_free(struct view_listing *listing)
{
	free(listing->entries);
	free(listing->names);
	*listing = (struct view_listing){ 0 };
}

int view_enter(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct view_folder *ret)
{
	struct target target;
	int r, fd;

	(void)view;
	*ret = (struct view_folder){ .up = folder, .linked = folder->linked || entry->link };
	if (entry->link) {
		r = resolve_link(folder, entry->name, &target);
		if (r < 0)
			return r;
		ret->place = target.place;
		if (S_ISDIR(target.mode) && !is_walked(folder, target.place))
			return 0;
		view_leave(ret);
		return -ENOTDIR;
	}
	fd = openat(folder->place->fd, entry->name, FOLDER_FLAGS);
	return fd < 0 ? -errno : make_place(folder->place, fd, entry->name, &ret->place);
}

/* ---- files ---- */

int view_find_file(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct view_place **ret_place, char *ret_name)
{
	struct target target;
	int r;

	(void)view;
	if (!entry->link) {
		*ret_place = view_get_place(folder->place);
		memcpy(ret_name, entry->name, strlen(entry->name) + 1);
		return 0;
	}
	r = resolve_link(folder, entry->name, &target);
	if (r < 0)
		return r;
	*ret_place = target.place;
	memcpy(ret_name, target.name, strlen(target.name) + 1);
	return 0;
}

int view_open_file(const struct view_place *place, const char *name)
{
	/* NONBLOCK: a FIFO that took its place must not hold us. */
	int fd = openat(place->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ELOOP || errno == ENXIO ? -EINVAL : -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

int view_open_entry(struct view *view, const struct view_folder *folder, const struct view_entry *entry)
{
	struct view_place *place;
	char name[NAME_MAX + 1];
	int r = view_find_file(view, folder, entry, &place, name);

	if (r < 0)
		return r;
	r = view_open_file(place, name);
	view_put_place(place);
	return r;
}

static int stat_at(int folder, const char *name, struct stat *ret, int64_t *ret_born_ns)
{
	const int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
	struct statx stx;

	*ret_born_ns = 0;
	if (fstatat(folder, name, ret, flags) < 0)
		return -errno;
	if (statx(folder, name, flags, STATX_BTIME, &stx) == 0 && stx.stx_mask & STATX_BTIME)
		*ret_born_ns = stx.stx_btime.tv_sec * 1000000000 + stx.stx_btime.tv_nsec;
	return 0;
}

int view_stat(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct stat *ret, int64_t *ret_born_ns)
{
	struct target target;
	int r;

	(void)view;
	if (!entry->link)
		return stat_at(folder->place->fd, entry->name, ret, ret_born_ns);
	r = resolve_link(folder, entry->name, &target);
	if (r < 0)
		return r;
	r = stat_at(target.place->fd, target.name, ret, ret_born_ns);
	view_put_place(target.place);
	return r;
}
