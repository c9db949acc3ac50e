/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A workspace is made once: what an interrupted attempt left is removed first, the marker is written last, and what has a marker is only
 * mounted again. Nothing is mounted that is not whole.
 */
#include "supervisor/workspace/prepare.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/mount_tree.h"
#include "supervisor/workspace/build.h"
#include "supervisor/workspace/mount.h"
#include "supervisor/workspace/names.h"
#include "supervisor/workspace/running.h"
#include "supervisor/workspace/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PROTECTED_MAX 4096	/* mounts, in each of three namespaces */

struct preparing {
	const struct workspace_job *job;
	struct place_for at;
	struct err *error;
	const struct strings *frozen;
	struct running *items;
	size_t nr;
	char *no_overlay;		/* NULL: not tried, "": it works, else why not */
	/* of the one at hand: */
	struct running *running;
	struct workspace *w;
	int source, folder;
	const char *mounted_at;
};

bool workspace_wanted(const struct policy *policy)
{
	_cleanup_buf_ struct buf names = { 0 };
	_cleanup_close_ int fd = policy->paths.sources ? tree_open(AT_FDCWD, policy->paths.sources, false) : -1;
	size_t nr = 0;

	return fd >= 0 && (names_read(fd, &names, &nr) < 0 || nr > 0);
}

static int refuse(struct preparing *p, int r)
{
	p->job->report->refused = true;
	return r;
}

/* ---- which kind ---- */

static void try_overlay(struct preparing *p, int workspaces)
{
	struct err why = { 0 };

	if (!p->no_overlay)
		p->no_overlay = strdup(overlay_try(workspaces, &why) < 0 ? why.text : "");
}

/* An overlay where the state volume and the source's file system can. */
static int choose_kind(struct preparing *p)
{
	_cleanup_close_ int up = openat(p->folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC), tree = -1;
	struct err why = { 0 };
	const char *reason;

	try_overlay(p, up);
	if (!p->no_overlay)
		return -ENOMEM;
	reason = p->no_overlay;
	if (!*reason) {
		tree = source_clone(p->source, &p->w->ids, &why);
		reason = tree < 0 ? why.text : "";
	}
	p->w->kind = *reason ? WORKSPACE_COPY : WORKSPACE_OVERLAY;
	snprintf(p->w->why, sizeof(p->w->why), "%.250s", *reason ? reason : "the state volume takes overlays");
	return 0;
}

/* ---- making ---- */

static void say_progress(void *data, uint64_t files, uint64_t bytes)
{
	const struct preparing *p = data;

	dprintf(1, "cordon: workspace %s: %llu files, %llu MiB copied\n", p->w->name, (unsigned long long)files, (unsigned long long)(bytes >> 20));
}

static int make_inside(int folder, const char *name)
{
	int fd;

	if (mkdirat(folder, name, 0700) < 0)
		return -errno;
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* An empty folder in the tree's own for each protected name it lacks there: what is mounted over it keeps the name from being made. */
static int make_placeholders(struct preparing *p, int root)
{
	struct stat st;

	for (size_t i = 0; i < p->frozen->nr; i++) {
		const char *name = p->frozen->items[i];

		if (fstatat(p->source, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISLNK(st.st_mode))
			continue;
		if (mkdirat(root, name, 0755) < 0) {
			if (errno == EEXIST)	/* a link that became what it leads to */
				continue;
			if (unlinkat(root, name, 0) < 0 || mkdirat(root, name, 0755) < 0)
				return -errno;
		}
		if (notes_add(&p->w->protected, name, "not in the source: an empty folder, so that none can be made") < 0)
			return -ENOMEM;
	}
	return 0;
}

static int build_into(struct preparing *p, const char *name, enum build_what what)
{
	_cleanup_close_ int to = make_inside(p->folder, name);
	struct build_plan plan = { .what = what, .source = p->source, .to = to, .frozen = p->frozen->items, .mounted_at = p->mounted_at,
				   .progress = say_progress, .data = p };
	char *changed;
	int r;

	if (to < 0)
		return err_set(p->error, to, "the state folder: %s", strerror(-to));
	r = build_run(&plan, p->w, &changed, p->error);
	if (r < 0)
		return r;
	r = make_placeholders(p, to);
	if (r == 0)
		r = copy_folder_metadata(p->source, to, &p->w->ids);	/* its times, once more */
	return r < 0 ? err_set(p->error, r, "the state volume: %s", strerror(-r)) : 0;
}

static int build_overlay(struct preparing *p)
{
	_cleanup_close_ int upper = make_inside(p->folder, UPPER), work = make_inside(p->folder, WORK);
	int r = upper < 0 ? upper : work < 0 ? work : copy_folder_metadata(p->source, upper, &p->w->ids);

	return r < 0 ? err_set(p->error, r, "the state volume: %s", strerror(-r)) : build_into(p, MIDDLE, BUILD_MIDDLE);
}

static int make(struct preparing *p)
{
	struct stat st;
	int r = state_empty(p->folder);

	if (r < 0 || fstat(p->source, &st) < 0)
		return err_set(p->error, r < 0 ? r : -errno, "what an interrupted start left cannot be removed: %s", strerror(r < 0 ? -r : errno));
	p->w->ids = (struct copy_ids){ st.st_uid, p->job->uid, st.st_gid, p->job->gid };
	p->w->source_ns = state_now_ns();
	r = choose_kind(p);
	if (r == 0)
		r = p->w->kind == WORKSPACE_OVERLAY ? build_overlay(p) : build_into(p, COPY, BUILD_ALL);
	/* The marker says that all of it is there: so it must be after a power cut. One call for the volume. */
	if (r == 0 && (p->w->kind == WORKSPACE_COPY || p->w->linked.total) && syncfs(p->folder) < 0)
		r = err_set(p->error, -errno, "the state volume: %s", strerror(errno));
	if (r == 0) {
		p->w->copy_ns = state_next_ns();
		r = state_write(p->folder, p->w, p->error);
	}
	if (r < 0)
		(void)state_empty(p->folder);	/* half of it is of no use, and takes room */
	p->running->fresh = true;
	return r;
}

/* ---- resuming ---- */

/* What the source protects now is protected as well as what it did. */
static int look_again(struct preparing *p)
{
	struct build_plan plan = { .what = BUILD_NOTHING, .source = p->source, .to = -1, .frozen = p->frozen->items, .mounted_at = p->mounted_at,
				   .changed_since_ns = p->w->source_ns };
	struct workspace now = { 0 };
	char *changed = NULL;
	int r = build_run(&plan, &now, &changed, p->error);

	for (size_t i = 0; i < now.protected.nr && r == 0; i++)
		if (!notes_has(&p->w->protected, now.protected.items[i].path))
			r = notes_add(&p->w->protected, now.protected.items[i].path, now.protected.items[i].why);
	workspace_free(&now);
	p->running->changed = changed;
	return r;
}

/* ---- mounting ---- */

static int mount_isolated(struct preparing *p)
{
	_cleanup_close_ int copy = -1, source = -1;
	int tree;

	if (p->w->protected.total > PROTECTED_MAX)
		return err_set(p->error, -E2BIG, "more than %d protected names (%zu)", PROTECTED_MAX, p->w->protected.total);
	if (p->w->kind == WORKSPACE_COPY) {
		copy = tree_open(p->folder, COPY, true);
		tree = copy < 0 ? copy : tree_clone(copy, "", false);
		if (tree < 0)
			return err_set(p->error, tree, "the copy cannot be mounted: %s", strerror(-tree));
	} else {
		source = source_clone(p->source, &p->w->ids, p->error);
		tree = source < 0 ? source : overlay_mount(p->folder, source, p->error);
		if (tree < 0)
			return tree;
	}
	return workspace_attach(&p->at, tree, p->w, p->error);
}

static int isolate(struct preparing *p)
{
	int r = source_check(&p->job->policy->paths, p->source, p->running->source, p->error);

	if (r < 0)
		return refuse(p, r);
	p->folder = state_open(p->job->state_dir, p->w->name, true, p->error);
	if (p->folder < 0)
		return p->folder;
	if (flock(p->folder, LOCK_EX | LOCK_NB) < 0)
		return err_set(p->error, -errno, "another container prepares it");
	r = state_read(p->folder, p->w, p->error);
	r = r == -ENOENT ? make(p) : r == 0 ? look_again(p) : r;
	return r < 0 ? r : mount_isolated(p);
}

/* Where nothing can be mounted, a link does the same. Agents in off are as strong as the host: nobody is kept from anything. */
static int link_live(struct preparing *p)
{
	_cleanup_close_ int project = tree_open(AT_FDCWD, p->at.project, false);
	char text[PATH_MAX];
	ssize_t len;

	if (project < 0)
		return err_set(p->error, project, "%s: %s", p->at.project, strerror(-project));
	if (symlinkat(p->running->source, project, p->w->name) == 0)
		return 0;
	len = errno == EEXIST ? readlinkat(project, p->w->name, text, sizeof(text) - 1) : -1;
	if (len > 0 && (size_t)len == strlen(p->running->source) && memcmp(text, p->running->source, (size_t)len) == 0)
		return 0;
	return err_set(p->error, -EEXIST, "%s cannot be linked to: something is there already", p->mounted_at);
}

static int live(struct preparing *p, const char *why)
{
	struct statvfs fs;
	int tree = tree_clone(p->source, "", true);

	p->w->kind = WORKSPACE_LIVE;
	snprintf(p->w->why, sizeof(p->w->why), "%s%s", why,
		 fstatvfs(p->source, &fs) == 0 && fs.f_flag & ST_RDONLY ? "; the host mounted it read-only, so nothing can be written" : "");
	if (tree >= 0)
		return workspace_attach(&p->at, tree, p->w, p->error);
	return p->job->off ? link_live(p) : err_set(p->error, tree, "the source cannot be mounted: %s", strerror(-tree));
}

/* ---- all of them ---- */

static bool is_named(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (list && *list) {
		size_t word = strcspn(list, ",");

		if (word == len && strncmp(list, name, len) == 0)
			return true;
		list += word + (list[word] == ',');
	}
	return false;
}

static bool is_live(const struct preparing *p)
{
	const struct strings *names = &p->job->policy->paths.live_sources;

	for (size_t i = 0; i < names->nr; i++)
		if (strcmp(names->items[i], p->w->name) == 0)
			return true;
	return is_named(p->job->live, p->w->name);
}

static int prepare_one(struct preparing *p, int sources, const char *name)
{
	char *source, *path;
	int r;

	if (workspace_check_name(name, p->error) < 0)
		return refuse(p, -EINVAL);
	p->running = &p->items[p->nr++];
	p->w = &p->running->workspace;
	p->w->frozen = p->frozen->items;
	memcpy(p->w->name, name, strlen(name) + 1);
	if (asprintf(&source, "%s/%s", p->job->policy->paths.sources, name) < 0 || asprintf(&path, "%s/%s", p->at.project, name) < 0)
		return -ENOMEM;
	p->running->source = source;
	p->running->path = p->mounted_at = path;
	p->source = openat(sources, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (p->source < 0)
		return refuse(p, err_set(p->error, -errno, "it is not a folder: %s", strerror(errno)));
	if (p->job->off)
		r = live(p, "the mode is off");
	else
		r = is_live(p) ? live(p, "the host made it to be thrown away") : isolate(p);
	close(p->source);
	return r;
}

static int enter(int namespace_fd, struct err *ret_error)
{
	if (namespace_fd >= 0 && setns(namespace_fd, CLONE_NEWNS) < 0)
		return err_set(ret_error, -errno, "the agents' mount namespace cannot be entered: %s", strerror(errno));
	return 0;
}

static int prepare_all(struct preparing *p, struct buf *names, size_t nr)
{
	const char *sources_path = p->job->policy->paths.sources, *at = names->data;
	int r = 0;

	p->items = calloc(nr + 1, sizeof(*p->items));
	if (!p->items)
		return err_set(p->error, -ENOMEM, "out of memory");
	for (; nr > 0 && r == 0; nr--, at += strlen(at + 1) + 2) {
		_cleanup_close_ int sources = -1;

		r = enter(p->at.agents, p->error);	/* attaching the one before ended in the other */
		if (r == 0) {
			sources = tree_open(AT_FDCWD, sources_path, false);
			r = prepare_one(p, sources, at + 1);
		}
		if (r < 0)
			err_prefix(p->error, r, "workspace %.100s", at + 1);
	}
	return r;
}

static int prepare(struct preparing *p)
{
	_cleanup_buf_ struct buf names = { 0 };
	_cleanup_close_ int run = open(p->job->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), sources = -1;
	size_t nr;
	int r;

	p->at.host = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
	if (run < 0 || p->at.host < 0)
		return err_set(p->error, -errno, "%s: %s", p->job->run_dir, strerror(errno));
	r = enter(p->at.agents, p->error);
	if (r < 0)
		return r;
	sources = tree_open(AT_FDCWD, p->job->policy->paths.sources, false);
	r = sources < 0 ? sources : names_read(sources, &names, &nr);
	if (r < 0)
		return err_set(p->error, r, "%s: %s", p->job->policy->paths.sources, strerror(-r));
	r = prepare_all(p, &names, nr);
	if (r < 0)
		return r;
	r = running_write(run, p->items, p->nr);
	return r < 0 ? err_set(p->error, r, "%s: %s", p->job->run_dir, strerror(-r)) : 0;
}

/* A folder's descriptor per level, and those of folders whose files still wait to be copied. */
static void raise_file_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

int workspace_prepare(void *job)
{
	static const char *none[1];
	static const struct strings nothing_frozen = { .items = none };
	const struct workspace_job *j = job;
	struct err error = { 0 };
	struct preparing p = { .job = j, .error = &error, .at = { .project = j->policy->paths.project, .agents = j->agents },
			       .frozen = j->policy->paths.frozen.items ? &j->policy->paths.frozen : &nothing_frozen };

	umask(0);
	raise_file_limit();
	if (prepare(&p) == 0)
		return 0;
	snprintf(j->report->why, sizeof(j->report->why), "%s", error.text[0] ? error.text : "out of memory");
	return 1;
}
