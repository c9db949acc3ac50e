/* SPDX-License-Identifier: Apache-2.0 */
/* What the policy's words mean on this machine: homes for "~", masks for protected names, the mount namespaces, required layers. */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/boundary/mounts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
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

/*
 * Paths that mean one place each. In mode off only what is Cordon's own; else also foreign sockets, what the operator blocked, and protected names
 * that are not under a home. A mask is what holds a judged refusal inside a write root, where Landlock cannot.
 */
static const char **fixed_masks(const struct policy *policy, bool off)
{
	const struct paths *p = &policy->paths;
	struct list l = { 0 };

	for (size_t i = 0; i < p->own.nr; i++)
		list_add(&l, p->own.items[i], "");
	for (size_t i = 0; !off && i < p->hidden.nr; i++)
		add_expanded(&l, p->hidden.items[i], "/root");
	for (size_t i = 0; !off && i < p->blocked_roots.nr; i++)
		add_expanded(&l, p->blocked_roots.items[i], "/root");
	for (size_t i = 0; !off && i < p->protected_names.nr; i++)
		if (p->protected_names.items[i][0] != '~')
			list_add(&l, p->protected_names.items[i], "");
	return list_finish(&l);
}

const char **plan_protected(const struct policy *policy)
{
	const struct strings *names = &policy->paths.protected_names;
	FILE *table = user_open_table("/etc", "passwd");
	const struct passwd *p;
	struct list l = { 0 };

	/* A table that is there and cannot be read is no table without homes: their secrets would lie open. */
	if (!table && errno != ENOENT)
		return NULL;
	while (table && (p = fgetpwent(table)))
		for (size_t i = 0; p->pw_dir[0] == '/' && i < names->nr; i++)
			if (names->items[i][0] == '~')
				add_expanded(&l, names->items[i], p->pw_dir);
	if (table)
		fclose(table);
	return list_finish(&l);
}

const char **plan_roots(const struct policy *policy, const char *home, const char *another)
{
	const struct paths *p = &policy->paths;
	struct list l = { 0 };

	for (size_t i = 0; i < p->write.nr; i++)
		add_expanded(&l, p->write.items[i], home);
	for (size_t i = 0; i < p->allowed_roots.nr; i++)
		add_expanded(&l, p->allowed_roots.items[i], home);
	if (another)
		list_add(&l, another, "");
	return list_finish(&l);
}

const char **plan_skills(const struct policy *policy, const char *home)
{
	const struct strings *skills = &policy->paths.skills;
	struct list l = { 0 };

	for (size_t i = 0; i < skills->nr; i++)
		add_expanded(&l, skills->items[i], home);
	return list_finish(&l);
}

const char **plan_browsers(const struct policy *policy)
{
	const struct strings *browsers = &policy->browser.browsers;
	struct list l = { 0 };

	for (size_t i = 0; i < browsers->nr; i++)
		list_add(&l, browsers->items[i], "");
	return list_finish(&l);
}

/* What stays as it is, as a mount of its own: skill folders, and the browsers, whose opens are asked about (browser_file.c). */
static const char **stay(const struct enforcer *e)
{
	const struct strings *browsers = &e->policy->browser.browsers, *skills = &e->policy->paths.skills;
	struct list l = { 0 };

	for (size_t i = 0; i < skills->nr; i++)
		add_expanded(&l, skills->items[i], e->launch_user.home);
	for (size_t i = 0; i < browsers->nr; i++)
		list_add(&l, browsers->items[i], "");
	return list_finish(&l);
}

int plan_mounts(struct enforcer *e, bool off, struct err *ret_error)
{
	_cleanup_free_ const char **roots = NULL, **masks = NULL, **homes = NULL, **kept = NULL;
	struct mounts_plan plan = { .off = off, .container_fd = e->container_mounts };
	int r;

	if (e->mounts[off] >= 0)
		return e->mounts[off];
	/* Sessions' folders are written by their daemons, and by no other launch: its Landlock layer says so. */
	roots = plan_roots(e->policy, e->launch_user.home, !off && browsers_exist(e) ? e->policy->browser.folder : NULL);
	masks = fixed_masks(e->policy, off);
	homes = plan_protected(e->policy);
	kept = stay(e);
	if (!roots || !masks || !homes || !kept)
		return err_set(ret_error, -EIO, "the masks cannot be planned: %s", strerror(errno));
	plan.write_roots = roots;
	plan.masks = masks;
	plan.homes = off ? NULL : homes;
	plan.read_only = off ? NULL : kept;
	r = mounts_build(&plan, &e->mounts[off], ret_error);
	if (r < 0) {
		e->mounts[off] = -1;
		return r;
	}
	e->mounts_are_ours |= !off;
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

/* ---- the host's gateway ---- */

static bool is_address(const char *text)
{
	struct in6_addr address;

	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

/* One line of hosts(5): adds its address when it carries the name. */
static void add_host(struct buf *addresses, char *line, const char *name)
{
	char *rest, *address, *word;

	line[strcspn(line, "#")] = 0;
	address = strtok_r(line, " \t\r", &rest);
	if (!address || !is_address(address))
		return;
	while ((word = strtok_r(NULL, " \t\r", &rest)))
		if (strcasecmp(word, name) == 0) {
			buf_text(addresses, address);
			buf_char(addresses, ',');
			return;
		}
}

int plan_gateway(const char *const *image, const char *hosts, struct scope *ret_gateway)
{
	static const char variable[] = "HOST_GATEWAY=";
	_cleanup_buf_ struct buf addresses = { 0 }, text = { 0 };
	char *line, *rest;

	while (*image && strncmp(*image, variable, sizeof(variable) - 1) != 0)
		image++;
	if (!*image)
		return 0;
	if (is_address(*image + sizeof(variable) - 1))
		return scope_parse(*image + sizeof(variable) - 1, ret_gateway, NULL);
	if (io_read_file(AT_FDCWD, hosts, 1u << 20, &text) < 0)
		return 0;
	buf_char(&text, 0);
	for (line = text.failed ? NULL : strtok_r(text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		add_host(&addresses, line, *image + sizeof(variable) - 1);
	buf_char(&addresses, 0);
	return addresses.failed ? -ENOMEM : scope_parse(addresses.data, ret_gateway, NULL);
}
