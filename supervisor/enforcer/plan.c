/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy's words mean on this machine: homes for "~", masks for protected names, the mount namespaces, required layers. */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/mounts.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct list {			/* grows; the strings live in one buffer, as offsets until the end */
	struct buf text;
	size_t nr;
};

static void list_add(struct list *l, const char *head, const char *tail)
{
	buf_text(&l->text, head);
	buf_text(&l->text, tail);
	buf_char(&l->text, 0);
	l->nr++;
}

/* One allocation: the pointers, then the strings. */
static const char **list_finish(struct list *l)
{
	const char **items = l->text.failed ? NULL : malloc((l->nr + 1) * sizeof(*items) + l->text.len + 1);
	char *at;

	if (items) {
		at = (char *)(items + l->nr + 1);
		memcpy(at, l->text.data ? l->text.data : "", l->text.len);
		for (size_t i = 0; i < l->nr; i++) {
			items[i] = at;
			at += strlen(at) + 1;
		}
		items[l->nr] = NULL;
	}
	buf_free(&l->text);
	return items;
}

/* A user whose home is "/" or none has no home to speak of: its "~" must not become the whole tree. */
static void add_expanded(struct list *l, const char *path, const char *home)
{
	if (path[0] != '~')
		list_add(l, path, "");
	else if (home[0] == '/' && home[1])
		list_add(l, home, path + 1);
}

const char **plan_expand(const struct strings *paths, const char *home)
{
	struct list l = { 0 };

	for (size_t i = 0; i < paths->nr; i++)
		add_expanded(&l, paths->items[i], home);
	return list_finish(&l);
}

/* Paths that mean one place each: Cordon's own folders and sockets, and protected names that are not under a home. */
static const char **fixed_masks(const struct policy *policy)
{
	const struct strings *names = &policy->paths.protected_names;
	struct list l = { 0 };

	for (size_t i = 0; i < policy->paths.hidden.nr; i++)
		add_expanded(&l, policy->paths.hidden.items[i], "/root");
	for (size_t i = 0; i < names->nr; i++)
		if (names->items[i][0] != '~')
			list_add(&l, names->items[i], "");
	return list_finish(&l);
}

/* The protected names of every home in passwd. */
static const char **home_masks(const struct policy *policy)
{
	const struct strings *names = &policy->paths.protected_names;
	FILE *table = fopen("/etc/passwd", "re");
	const struct passwd *p;
	struct list l = { 0 };

	while (table && (p = fgetpwent(table)))
		for (size_t i = 0; p->pw_dir[0] == '/' && i < names->nr; i++)
			if (names->items[i][0] == '~')
				add_expanded(&l, names->items[i], p->pw_dir);
	if (table)
		fclose(table);
	return list_finish(&l);
}

static const char **write_roots(const struct enforcer *e)
{
	const struct paths *p = &e->policy->paths;
	struct list l = { 0 };

	for (size_t i = 0; i < p->write.nr; i++)
		add_expanded(&l, p->write.items[i], e->launch_user.home);
	for (size_t i = 0; i < p->allowed_roots.nr; i++)
		add_expanded(&l, p->allowed_roots.items[i], e->launch_user.home);
	return list_finish(&l);
}

int plan_mounts(struct enforcer *e, bool off, struct err *ret_error)
{
	_cleanup_free_ const char **roots = NULL, **masks = NULL, **homes = NULL;
	struct mounts_plan plan = { .off = off };
	int r;

	if (e->mounts[off] >= 0)
		return e->mounts[off];
	roots = write_roots(e);
	masks = fixed_masks(e->policy);
	homes = home_masks(e->policy);
	if (!roots || !masks || !homes)
		return err_set(ret_error, -ENOMEM, "out of memory");
	plan.write_roots = roots;
	plan.masks = masks;
	plan.homes = homes;
	r = mounts_build(&plan, &e->mounts[off], ret_error);
	if (r < 0) {
		e->mounts[off] = -1;
		return r;
	}
	pid1_tell(e, ENFORCER_KEEP, KEPT_AGENT_MOUNTS, off, 0, NULL, e->mounts[off]);
	return e->mounts[off];
}

const struct layer *plan_missing_layer(const struct enforcer *e)
{
	static struct layer unknown = { .name = "?", .state = LAYER_UNSUPPORTED, .why = "no such layer", .how = "correct policy.json" };

	for (size_t i = 0; i < e->policy->require.nr; i++) {
		const struct layer *layer = layer_find(e->layers, e->nr_layers, e->policy->require.items[i]);

		if (!layer) {
			unknown.name = e->policy->require.items[i];
			return &unknown;
		}
		if (layer->state != LAYER_ACTIVE)
			return layer;
	}
	return NULL;
}
