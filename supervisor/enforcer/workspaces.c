/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container's workspaces, as PID 1's helper left word of them: which paths are protected in them, for the judge; what doctor and status say;
 * one record each. What holds there are mounts: nothing here is a backstop.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool workspaces_protect_name(const struct enforcer *e, struct bytes name)
{
	const struct strings *frozen = &e->policy->paths.frozen;

	for (size_t i = 0; i < frozen->nr; i++)
		if (strlen(frozen->items[i]) == name.len && memcmp(frozen->items[i], name.data, name.len) == 0)
			return true;
	return false;
}

/* What is protected by its name the judge knows by the name; a repository that a .git file points to has any. */
static int add_paths(struct enforcer *e, const struct running *running, size_t *nr)
{
	const struct notes *protected = &running->workspace.protected;

	for (size_t i = 0; i < protected->nr; i++) {
		char *path;

		if (workspaces_protect_name(e, bytes_of(path_base(protected->items[i].path))))
			continue;
		if (asprintf(&path, "%s/%s", running->path, protected->items[i].path) < 0)
			return -ENOMEM;
		e->frozen_paths[(*nr)++] = path;
	}
	return 0;
}

static size_t count_protected(const struct running_list *list)
{
	size_t nr = 0;

	for (size_t i = 0; i < list->nr; i++)
		nr += list->items[i].workspace.protected.nr;
	return nr;
}

static int list_frozen(struct enforcer *e)
{
	size_t nr_roots = 0, nr_paths = 0;
	int r = 0;

	e->frozen_roots = calloc(e->workspaces.nr + 1, sizeof(*e->frozen_roots));
	e->frozen_paths = calloc(count_protected(&e->workspaces) + 1, sizeof(*e->frozen_paths));
	if (!e->frozen_roots || !e->frozen_paths)
		return -ENOMEM;
	for (size_t i = 0; i < e->workspaces.nr && r == 0; i++) {
		if (e->workspaces.items[i].workspace.kind == WORKSPACE_LIVE)
			continue;
		e->frozen_roots[nr_roots++] = e->workspaces.items[i].path;
		r = add_paths(e, &e->workspaces.items[i], &nr_paths);
	}
	return r;
}

static void record_workspace(struct enforcer *e, const struct running *running)
{
	const struct workspace *w = &running->workspace;
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_object_begin(&j, "workspace");
	json_text(&j, "name", w->name);
	json_text(&j, "kind", workspace_kind_name(w->kind));
	json_text(&j, "why", w->why);
	json_text(&j, "path", running->path);
	json_bool(&j, "fresh", running->fresh);
	json_uint(&j, "left_out", w->left_out.total);
	json_uint(&j, "linked", w->linked.total);
	json_uint(&j, "protected", w->protected.total);
	if (running->changed)
		json_text(&j, "source_changed", running->changed);
	json_object_end(&j);
	audit_record(e->audit, "workspace", running->changed ? AUDIT_HIGH : AUDIT_INFO, running->changed != NULL, &members);
}

static void fill_layer(const struct running_list *list, struct layer *ret)
{
	const struct running *first[3] = { 0 };
	unsigned nr[3] = { 0 };

	*ret = (struct layer){ .name = "workspace", .state = LAYER_ACTIVE };
	for (size_t i = 0; i < list->nr; i++)
		if (nr[list->items[i].workspace.kind]++ == 0)
			first[list->items[i].workspace.kind] = &list->items[i];
	if (first[WORKSPACE_COPY]) {
		ret->state = LAYER_DEGRADED;
		ret->how = "a volume at /var/lib/cordon that takes overlays (ext4, xfs, btrfs, tmpfs; not another overlay)";
		snprintf(ret->why, sizeof(ret->why), "%s is a copy: %.80s.", first[WORKSPACE_COPY]->workspace.name, first[WORKSPACE_COPY]->workspace.why);
	} else if (first[WORKSPACE_LIVE]) {
		snprintf(ret->why, sizeof(ret->why), "%u overlays, %u not isolated (%s).", nr[WORKSPACE_OVERLAY], nr[WORKSPACE_LIVE],
			 first[WORKSPACE_LIVE]->workspace.name);
	} else {
		snprintf(ret->why, sizeof(ret->why), "%u overlays: the sources do not change.", nr[WORKSPACE_OVERLAY]);
	}
}

int workspaces_load(struct enforcer *e, struct err *ret_error)
{
	int r = running_read(e->run_dir, &e->workspaces, ret_error);

	if (r < 0)
		return r;
	if (list_frozen(e) < 0)
		return err_set(ret_error, -ENOMEM, "out of memory");
	if (e->workspaces.nr)
		fill_layer(&e->workspaces, &e->layers[e->nr_layers++]);
	for (size_t i = 0; i < e->workspaces.nr && e->restarts == 0; i++)
		record_workspace(e, &e->workspaces.items[i]);
	return 0;
}

/* git would refresh its index whenever it looks; where it cannot write that, each look would be a refusal. */
const char *workspaces_environment(const struct enforcer *e)
{
	return e->frozen_roots && e->frozen_roots[0] ? "GIT_OPTIONAL_LOCKS=0\n" : "";
}
