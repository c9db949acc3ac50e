/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/build.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/workspace/git.h"
#include "supervisor/workspace/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PROGRESS_NS 2000000000

struct build {
	const struct build_plan *plan;
	struct workspace *w;
	struct view view;
	struct copy_pool *pool;		/* NULL for BUILD_NOTHING */
	struct buf path;		/* of what is looked at */
	char *changed;
	int64_t said_ns;
};

struct frame {				/* a folder being walked */
	struct view_folder folder;
	struct frame *up;
	const char *name;
	struct destination *destination;	/* NULL: not made yet */
	bool protected;			/* it, or one above */
};

/* ---- places to write to ---- */

/* Made when the first thing comes into it: most folders of a middle layer never are. */
static struct destination *need_destination(struct build *b, struct frame *f)
{
	struct destination *up;

	if (f->destination)
		return f->destination;
	up = need_destination(b, f->up);
	if (up)
		f->destination = destination_make(b->pool, up, f->name, f->folder.place, -1);
	return f->destination;
}

static int write_whiteout(struct build *b, struct frame *f, const char *name)
{
	struct destination *d = need_destination(b, f);

	if (!d)
		return copy_pool_error(b->pool);
	return mknodat(d->fd, name, S_IFCHR, makedev(0, 0)) < 0 ? -errno : 0;
}

static int write_file(struct build *b, struct frame *f, const struct view_entry *entry)
{
	struct destination *d = need_destination(b, f);
	struct view_place *place;
	char name[NAME_MAX + 1];
	int r = d ? view_find_file(&b->view, &f->folder, entry, &place, name) : copy_pool_error(b->pool);

	if (r == 0)
		copy_pool_add(b->pool, d, place, name, entry->name);
	return r == -ENOENT || r == -ENOTDIR ? 0 : r;	/* gone since it was listed */
}

static bool is_written(const struct build *b, const struct frame *f, const struct view_entry *entry)
{
	return b->plan->what == BUILD_ALL || (b->plan->what == BUILD_MIDDLE && (f->folder.linked || entry->link));
}

/* ---- what there is to say ---- */

static bool is_frozen(const struct build *b, const char *name)
{
	for (const char *const *frozen = b->plan->frozen; *frozen; frozen++)
		if (strcmp(*frozen, name) == 0)
			return true;
	return false;
}

static int protect(struct build *b, struct frame *f, const struct view_entry *entry)
{
	const char *why = "repository and agent settings stay as they are";
	int r = 0;

	if (strcmp(entry->name, ".git") == 0 && entry->kind == VIEW_FILE && !f->folder.linked && !entry->link)
		r = git_protect(&b->view, f->folder.place, b->plan->mounted_at, &b->w->protected, &why);
	return r < 0 ? r : notes_add(&b->w->protected, b->path.data, why);
}

/* A status change, which no program can set back, at or after the time the source was looked at. */
static void look_for_change(struct build *b, int folder, const char *name)
{
	struct statx stx;

	if (b->changed || !b->plan->changed_since_ns ||
	    statx(folder, name, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH), STATX_CTIME, &stx) < 0)
		return;
	if (stx.stx_ctime.tv_sec * 1000000000 + stx.stx_ctime.tv_nsec >= b->plan->changed_since_ns)
		b->changed = strdup(b->path.len ? b->path.data : ".");
}

static void say_progress(struct build *b)
{
	uint64_t files, bytes, gone;
	int64_t now;

	if (!b->plan->progress || !b->pool)
		return;
	now = state_now_ns();
	if (now - b->said_ns < PROGRESS_NS)
		return;
	b->said_ns = now;
	copy_pool_counts(b->pool, &files, &bytes, &gone);
	b->plan->progress(b->plan->data, files, bytes);
}

/* ---- the walk ---- */

static int walk_folder(struct build *b, struct frame *f);

static int enter_folder(struct build *b, struct frame *f, const struct view_entry *entry, bool protected)
{
	struct frame inner = { .up = f, .name = entry->name, .protected = protected };
	int r = view_enter(&b->view, &f->folder, entry, &inner.folder);

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR || r == -ELOOP ? 0 : r;	/* gone since it was listed */
	if (is_written(b, f, entry) && !need_destination(b, &inner))
		r = copy_pool_error(b->pool);
	if (r == 0 && b->plan->what == BUILD_ALL)
		state_mark(inner.destination->fd, b->path.data);
	if (r == 0)
		r = walk_folder(b, &inner);
	if (inner.destination)
		destination_put(b->pool, inner.destination);
	view_leave(&inner.folder);
	return r;
}

static int walk_entry(struct build *b, struct frame *f, const struct view_entry *entry)
{
	bool frozen = !f->protected && entry->kind != VIEW_LEFT_OUT && is_frozen(b, entry->name);
	int r = frozen ? protect(b, f, entry) : 0;

	if (!f->folder.linked)
		look_for_change(b, f->folder.place->fd, entry->name);
	if (r == 0 && entry->link && entry->kind != VIEW_LEFT_OUT)
		r = notes_add(&b->w->linked, b->path.data, "a link inside the tree: its target's content");
	if (r < 0)
		return r;
	switch (entry->kind) {
	case VIEW_FOLDER:
		return enter_folder(b, f, entry, f->protected || frozen);
	case VIEW_FILE:
		return is_written(b, f, entry) ? write_file(b, f, entry) : 0;
	case VIEW_LEFT_OUT:
	default:
		r = notes_add(&b->w->left_out, b->path.data, entry->why);
		return r == 0 && b->plan->what == BUILD_MIDDLE && !f->folder.linked ? write_whiteout(b, f, entry->name) : r;
	}
}

static int walk_folder(struct build *b, struct frame *f)
{
	struct view_listing listing;
	const size_t len = b->path.len;
	int r = view_list(&b->view, &f->folder, &listing);

	if (r < 0)
		return r;
	for (size_t i = 0; i < listing.nr && r == 0; i++) {
		if (len)
			buf_char(&b->path, '/');
		buf_text(&b->path, listing.entries[i].name);
		r = b->path.failed ? -ENOMEM : b->pool ? copy_pool_error(b->pool) : 0;
		if (r == 0)
			r = walk_entry(b, f, &listing.entries[i]);
		b->path.len = len;
		if (b->path.data)
			b->path.data[len] = 0;
	}
	view_listing_free(&listing);
	say_progress(b);
	return r;
}

static int say_failure(const struct build *b, int r, struct err *e)
{
	const char *at = b->path.len ? b->path.data : ".";

	switch (-r) {
	case E2BIG:
		return err_set(e, r, "its symbolic links together lead to more than a workspace takes (%u entries)", VIEW_WORK_MAX);
	case ENOSPC:
	case EDQUOT:
		return err_set(e, r, "the state volume is full (at %s)", at);
	case EEXIST:
		return err_set(e, r, "%s is there already: does the state volume tell upper from lower case?", at);
	case EMFILE:
		return err_set(e, r, "more folders within each other than descriptors (at %.200s…)", at);
	default:
		return err_set(e, r, "%.400s: %s", at, strerror(-r));
	}
}

static int walk(struct build *b, struct frame *root, int to)
{
	int r = view_init(&b->view, b->plan->source, &root->folder);

	if (r < 0)
		return r;
	b->pool = b->plan->what == BUILD_NOTHING ? NULL : copy_pool_start(&b->w->ids);
	if (b->plan->what != BUILD_NOTHING && !b->pool)
		r = -ENOMEM;
	if (r == 0 && b->pool) {
		root->destination = destination_make(b->pool, NULL, "", root->folder.place, to);
		r = root->destination ? 0 : copy_pool_error(b->pool);
	}
	look_for_change(b, root->folder.place->fd, "");
	if (r == 0)
		r = walk_folder(b, root);
	if (b->pool) {
		if (r < 0)
			copy_pool_fail(b->pool, r);
		destination_put(b->pool, root->destination);
		r = copy_pool_end(b->pool);
	}
	view_close(&b->view, &root->folder);
	return r;
}

int build_run(const struct build_plan *plan, struct workspace *w, char **ret_changed, struct err *ret_error)
{
	struct build b = { .plan = plan, .w = w, .said_ns = state_now_ns() };
	struct frame root = { 0 };
	int source = fcntl(plan->source, F_DUPFD_CLOEXEC, 3), to = plan->to < 0 ? -1 : fcntl(plan->to, F_DUPFD_CLOEXEC, 3);
	struct build_plan own = *plan;
	int r;

	own.source = source;
	b.plan = &own;
	r = source < 0 || (plan->to >= 0 && to < 0) ? -errno : walk(&b, &root, to);
	if (r < 0)
		say_failure(&b, r, ret_error);
	buf_free(&b.path);
	*ret_changed = b.changed;
	return r;
}
