/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/changes.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/workspace/build.h"
#include "supervisor/workspace/mount.h"
#include "supervisor/workspace/names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/xattr.h>
#include <unistd.h>

struct comparing {
	const struct changes_plan *plan;
	const struct workspace *w;
	struct view view;
	struct buf path;
};

struct side {				/* the workspace's folder */
	int fd;				/* -1: there is none */
	int upper;			/* the overlay's own of it; -1: every entry may differ */
	bool in_place;			/* of a copy: it and all above are where they were made; false: every entry may differ */
};

/* ---- files of a change ---- */

int change_open_was(const struct change *change)
{
	return view_open_entry(change->view, change->folder, change->entry);
}

int change_open_is(const struct change *change)
{
	int fd = openat(change->in, change->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static int read_whole(int fd, char *to, size_t len)
{
	size_t have = 0;

	while (have < len) {
		ssize_t n = read(fd, to + have, len - have);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		have += n > 0 ? (size_t)n : 0;
	}
	return (int)have;
}

/* 1, 0 or -errno. */
static int is_same_content(const struct change *c)
{
	_cleanup_close_ int was = change_open_was(c), is = change_open_is(c);
	char a[32768], b[sizeof(a)];
	int len;

	if (was < 0 || is < 0)
		return was < 0 ? was : is;
	while ((len = read_whole(was, a, sizeof(a))) > 0)
		if (read_whole(is, b, sizeof(b)) != len || memcmp(a, b, (size_t)len) != 0)
			return 0;
	return len < 0 ? len : read_whole(is, b, 1) == 0;
}

/* ---- what can have changed ---- */

static int64_t ctime_ns(const struct stat *st)
{
	return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
}

/*
 * Of a copy nothing that is older than its last byte was touched by an agent: no program sets this time back. A rename sets the time of what is
 * renamed, not of what is in it: hence the mark of each folder.
 */
static bool is_untouched(const struct comparing *c, const struct side *side, const char *name, const struct stat *is)
{
	struct stat st;

	if (c->w->kind == WORKSPACE_COPY)
		return side->in_place && ctime_ns(is) < c->w->copy_ns;
	return side->upper >= 0 && fstatat(side->upper, name, &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;
}

/* Came after the workspace was made, so that no agent removed it: the host's doing. Where its birth is not known, its last change decides. */
static bool is_newer_than_workspace(const struct comparing *c, const struct change *change)
{
	return c->w->kind == WORKSPACE_COPY && (change->born_ns ? change->born_ns : ctime_ns(change->was)) >= c->w->source_ns;
}

/* Renamed or replaced as a whole: what it shows is not what lies at its place in the source. */
static bool shows_its_place(int upper)
{
	char value[PATH_MAX];

	return fgetxattr(upper, "trusted.overlay.redirect", value, sizeof(value)) < 0 && errno == ENODATA &&
	       fgetxattr(upper, "trusted.overlay.opaque", value, sizeof(value)) < 0;
}

/* ---- the walk ---- */

static int compare(struct comparing *c, const struct view_folder *was, const struct side *side);

static int tell(struct comparing *c, struct change *change, enum change_kind kind)
{
	change->kind = kind;
	change->path = c->path.data;
	return c->plan->each(c->plan->data, change);
}

static bool is_frozen(const struct workspace *w, const char *name)
{
	for (const char *const *frozen = w->frozen; frozen && *frozen; frozen++)
		if (strcmp(*frozen, name) == 0)
			return true;
	return false;
}

static int compare_inside(struct comparing *c, const struct change *change, bool was_there, const struct side *is)
{
	struct view_folder folder;
	int r = was_there ? view_enter(&c->view, change->folder, change->entry, &folder) : 0;

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR ? 0 : r;
	r = compare(c, was_there ? &folder : NULL, is);
	if (was_there)
		view_leave(&folder);
	return r;
}

static int tell_deleted(struct comparing *c, struct change *change)
{
	static const struct side none = { -1, -1, false };
	const struct stat *is = change->is;
	int r;

	change->is = NULL;
	r = tell(c, change, CHANGE_DELETED);
	if (r == 0 && S_ISDIR(change->was->st_mode))
		r = compare_inside(c, change, true, &none);
	change->is = is;
	return r;
}

static int tell_added(struct comparing *c, struct change *change)
{
	struct side inner = { -1, -1, false };
	int r;

	change->was = NULL;
	if (is_frozen(c->w, change->name))
		return notes_has(&c->w->protected, c->path.data) ? 0 : tell(c, change, CHANGE_FORBIDDEN);
	r = tell(c, change, CHANGE_ADDED);
	if (r < 0 || !S_ISDIR(change->is->st_mode))
		return r;
	inner.fd = openat(change->in, change->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner.fd < 0)
		return 0;
	r = compare_inside(c, change, false, &inner);
	close(inner.fd);
	return r;
}

static bool is_same_mode(const struct stat *was, const struct stat *is)
{
	return (was->st_mode & 07777) == (is->st_mode & 07777) && was->st_uid == is->st_uid && was->st_gid == is->st_gid;
}

/* What people and programs give files; the rest belongs to layers and labels. */
static bool is_told(const char *attribute)
{
	return strncmp(attribute, "user.", 5) == 0 || strncmp(attribute, "system.posix_acl_", 17) == 0 || strcmp(attribute, "security.capability") == 0;
}

/* Whether other has every attribute of fd that is told, with the same value; not so where one cannot be read. *ret_nr: how many these are. */
static bool has_attributes_of(int fd, int other, size_t *ret_nr)
{
	static char names[XATTR_LIST_MAX], a[XATTR_SIZE_MAX], b[XATTR_SIZE_MAX];	/* one comparison at a time */
	ssize_t len = flistxattr(fd, names, sizeof(names));

	*ret_nr = 0;
	if (len < 0)
		return errno == EOPNOTSUPP; /* a file system without any */
	for (const char *name = names; name < names + len; name += strlen(name) + 1) {
		ssize_t value;

		if (!is_told(name))
			continue;
		++*ret_nr;
		value = fgetxattr(fd, name, a, sizeof(a));
		if (value < 0 || fgetxattr(other, name, b, sizeof(b)) != value || memcmp(a, b, (size_t)value) != 0)
			return false;
	}
	return true;
}

static bool is_same_attributes(int was, int is)
{
	size_t nr_was, nr_is;

	return was < 0 || is < 0 || (has_attributes_of(was, is, &nr_was) && has_attributes_of(is, was, &nr_is) && nr_was == nr_is);
}

static bool has_same_attributes(const struct change *change)
{
	_cleanup_close_ int was = change_open_was(change), is = change_open_is(change);

	return is_same_attributes(was, is);
}

static bool has_folder_same_attributes(struct comparing *c, const struct change *change, int is)
{
	_cleanup_close_ int was = -1;
	struct view_folder folder;

	if (view_enter(&c->view, change->folder, change->entry, &folder) < 0)
		return true;
	was = openat(folder.place->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	view_leave(&folder);
	return is_same_attributes(was, is);
}

static int compare_files(struct comparing *c, struct change *change)
{
	int r = change->was->st_size != change->is->st_size ? 0 : is_same_content(change);

	if (r == -ENOENT || r == -EINVAL)	/* gone in between */
		return 0;
	if (r == 0)
		return tell(c, change, CHANGE_CONTENT);
	if (r < 0)
		return r;
	return is_same_mode(change->was, change->is) && has_same_attributes(change) ? 0 : tell(c, change, CHANGE_MODE);
}

static int compare_folders(struct comparing *c, struct change *change, const struct side *side)
{
	struct side inner = { -1, -1, false };
	int r;

	inner.fd = openat(change->in, change->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = is_same_mode(change->was, change->is) && (inner.fd < 0 || has_folder_same_attributes(c, change, inner.fd)) ? 0 : tell(c, change, CHANGE_MODE);
	if (inner.fd < 0)
		return r;
	if (r < 0) {
		close(inner.fd);
		return r;
	}
	if (side->upper >= 0)
		inner.upper = openat(side->upper, change->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (inner.upper >= 0 && !shows_its_place(inner.upper)) {
		close(inner.upper);
		inner.upper = -1;
	}
	inner.in_place = side->in_place && state_is_marked(inner.fd, c->path.data);
	r = compare_inside(c, change, true, &inner);
	close(inner.fd);
	if (inner.upper >= 0)
		close(inner.upper);
	return r;
}

/* change says which of the two are there. */
static int compare_entry(struct comparing *c, struct change *change, const struct side *side)
{
	const struct stat *was = change->was, *is = change->is;
	bool folders = was && is && S_ISDIR(was->st_mode) && S_ISDIR(is->st_mode);
	int r = 0;

	if (!is)
		return is_newer_than_workspace(c, change) ? 0 : tell_deleted(c, change);
	if (is_untouched(c, side, change->name, is) && !(folders && c->w->kind == WORKSPACE_COPY))
		return 0;
	if (folders)
		return compare_folders(c, change, side);
	if (was && S_ISREG(was->st_mode) && S_ISREG(is->st_mode))
		return compare_files(c, change);
	if (was)
		r = tell_deleted(c, change);
	return r < 0 ? r : tell_added(c, change);
}

static int stat_was(struct comparing *c, const struct view_folder *folder, const struct view_entry *entry, struct stat *ret, int64_t *ret_born_ns)
{
	int r = view_stat(&c->view, folder, entry, ret, ret_born_ns);

	ret->st_uid = copy_map_uid(&c->w->ids, ret->st_uid);
	ret->st_gid = copy_map_gid(&c->w->ids, ret->st_gid);
	return r;
}

static int visit(struct comparing *c, const struct view_folder *folder, const struct view_entry *entry, const struct side *side, const char *name)
{
	const size_t len = c->path.len;
	struct stat was, is;
	struct change change = { .view = &c->view, .folder = folder, .entry = entry, .in = side->fd, .name = name };
	int r = 0;

	if (entry && stat_was(c, folder, entry, &was, &change.born_ns) == 0)
		change.was = &was;
	if (side->fd >= 0 && fstatat(side->fd, name, &is, AT_SYMLINK_NOFOLLOW) == 0)
		change.is = &is;
	if (len)
		buf_char(&c->path, '/');
	buf_text(&c->path, name);
	if (c->path.failed)
		return -ENOMEM;
	if (change.was || change.is)
		r = compare_entry(c, &change, side);
	c->path.len = len;
	c->path.data[len] = 0;
	return r;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the workspace's folder, sorted: pointers into names. */
static int list_side(const struct side *side, struct buf *names, const char ***ret, size_t *ret_nr)
{
	const char *at;
	int r = side->fd < 0 ? 0 : names_read(side->fd, names, ret_nr);

	if (r < 0)
		return r;
	*ret = malloc((*ret_nr + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	at = names->data;
	for (size_t i = 0; i < *ret_nr; i++, at += strlen(at + 1) + 2)
		(*ret)[i] = at + 1;
	if (*ret_nr > 1)
		qsort(*ret, *ret_nr, sizeof(**ret), by_text);
	return 0;
}

/* Two sorted lists. */
static int merge(struct comparing *c, const struct view_folder *was, const struct view_listing *old, const struct side *side, const char **new, size_t nr_new)
{
	size_t o = 0, n = 0;
	int r = 0;

	while (r == 0 && (o < old->nr || n < nr_new)) {
		const struct view_entry *entry = o < old->nr ? &old->entries[o] : NULL;
		int order = !entry ? 1 : n == nr_new ? -1 : strcmp(entry->name, new[n]);
		const char *name = order <= 0 ? entry->name : new[n];

		r = visit(c, was, order <= 0 && entry->kind != VIEW_LEFT_OUT ? entry : NULL, side, name);
		o += order <= 0;
		n += order >= 0;
	}
	return r;
}

static int compare(struct comparing *c, const struct view_folder *was, const struct side *side)
{
	struct view_listing old = { 0 };
	_cleanup_buf_ struct buf names = { 0 };
	_cleanup_free_ const char **new = NULL;
	size_t nr_new = 0;
	int r = was ? view_list(&c->view, was, &old) : 0;

	if (r == 0)
		r = list_side(side, &names, &new, &nr_new);
	if (r == 0)
		r = merge(c, was, &old, side, new, nr_new);
	view_listing_free(&old);
	return r == -ENOENT ? 0 : r;
}

/* ---- both trees ---- */

static int compare_roots(struct comparing *c, struct view_folder *root, const struct side *side)
{
	struct stat was, is;
	struct change change = { .kind = CHANGE_MODE, .path = ".", .was = &was, .is = &is, .in = side->fd, .name = "." };

	if (fstat(root->place->fd, &was) < 0 || fstat(side->fd, &is) < 0)
		return -errno;
	was.st_uid = copy_map_uid(&c->w->ids, was.st_uid);
	was.st_gid = copy_map_gid(&c->w->ids, was.st_gid);
	if (!is_same_mode(&was, &is) || !is_same_attributes(root->place->fd, side->fd)) {
		int r = c->plan->each(c->plan->data, &change);

		if (r < 0)
			return r;
	}
	return compare(c, root, side);
}

/* Without SYS_ADMIN its marks cannot be seen, and nothing may be left out by them. */
static int open_upper(const struct changes_plan *plan)
{
	_cleanup_close_ int folder = -1;

	if (plan->running->workspace.kind != WORKSPACE_OVERLAY || prctl(PR_CAPBSET_READ, CAP_SYS_ADMIN) != 1)
		return -1;
	folder = state_open(plan->state_dir, plan->running->workspace.name, false, NULL);
	return folder < 0 ? -1 : openat(folder, UPPER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int find_changed(const struct running *running, int source, char **ret_changed, struct err *e)
{
	static const char *const none[] = { NULL };
	struct build_plan look = { .what = BUILD_NOTHING, .source = source, .to = -1, .frozen = none, .mounted_at = running->path,
				   .changed_since_ns = running->workspace.source_ns };
	struct workspace ignored = { 0 };
	int r = build_run(&look, &ignored, ret_changed, e);

	workspace_free(&ignored);
	return r;
}

int changes_look(const struct running *running, char **ret_changed, struct err *ret_error)
{
	_cleanup_close_ int source = open(running->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct err error = { 0 };

	*ret_changed = NULL;
	if (source < 0)
		return err_set(ret_error ? ret_error : &error, -errno, "%s: %s", running->source, strerror(errno));
	return find_changed(running, source, ret_changed, ret_error ? ret_error : &error);
}

int changes_find(const struct changes_plan *plan, char **ret_changed, struct err *e)
{
	struct comparing c = { .plan = plan, .w = &plan->running->workspace };
	_cleanup_close_ int source = open(plan->running->source, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct side side = { open(plan->running->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), open_upper(plan), true };
	struct view_folder root;
	int r = 0;

	*ret_changed = NULL;
	if (source < 0 || side.fd < 0)
		r = err_set(e, -errno, "%s: %s", source < 0 ? plan->running->source : plan->running->path, strerror(errno));
	if (r == 0)
		r = find_changed(plan->running, source, ret_changed, e);
	if (r == 0) {
		r = view_init(&c.view, fcntl(source, F_DUPFD_CLOEXEC, 3), &root);
		if (r == 0) {
			r = compare_roots(&c, &root, &side);
			view_close(&c.view, &root);
		}
		if (r < 0)
			err_set(e, r, "%.300s: %s", c.path.len ? c.path.data : ".", strerror(-r));
	}
	buf_free(&c.path);
	if (side.fd >= 0)
		close(side.fd);
	if (side.upper >= 0)
		close(side.upper);
	return r;
}
