/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The skill folders of paths.json. Each is opened to reading where nothing else outside the project is, and is read-only: so it must be a folder of
 * its own, that holds nothing secret and nothing that agents need to write.
 */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <string.h>

/* What follows a home: "~", "/root", "/home/NAME"; or NULL. */
static const char *below_home(const char *path)
{
	if (*path == '~')
		return path + 1;
	if (path_is_under(path, "/root"))
		return path + strlen("/root");
	if (path_is_under(path, "/home") && path[strlen("/home")])
		return path + strlen("/home/") + strcspn(path + strlen("/home/"), "/");
	return NULL;
}

/* Whether inner may be outer itself or below it, in some home. */
static bool may_hold(const char *outer, const char *inner)
{
	const char *outer_rest = below_home(outer), *inner_rest = below_home(inner);

	if (*outer != '~' && *inner != '~')
		return path_is_under(inner, outer);
	if (outer_rest && inner_rest)
		return path_is_under(*inner_rest ? inner_rest : "/", *outer_rest ? outer_rest : "/");
	return false;
}

static const char *held_by(const struct strings *list, const char *folder)
{
	for (size_t i = 0; i < list->nr; i++)
		if (may_hold(folder, list->items[i]))
			return list->items[i];
	return NULL;
}

static const char *holder_of(const struct strings *list, const char *folder)
{
	for (size_t i = 0; i < list->nr; i++)
		if (may_hold(list->items[i], folder))
			return list->items[i];
	return NULL;
}

static int check_folder(const struct node *node, const struct paths *paths, const char *folder)
{
	const struct strings *closed[] = { &paths->protected_names, &paths->own, &paths->own_files, &paths->hidden, &paths->blocked_roots };
	const struct strings *whole[] = { &paths->write, &paths->allowed_roots, &paths->system_roots, &paths->devices, &paths->irreplaceable };
	const char *rest = below_home(folder), *other;

	if (strcmp(folder, "/") == 0 || strcmp(folder, "/home") == 0 || (rest && !*rest))
		return node_error(node, "a skill folder is a folder of its own, not a home or what holds them");
	if (path_is_under(folder, "/proc") || path_is_under(folder, "/sys") || holder_of(&paths->devices, folder))
		return node_error(node, "a skill folder holds files, not the kernel's");
	if (may_hold(folder, paths->project) || may_hold(paths->project, folder))
		return node_error(node, "%s is the project: readonly reads what is in it without being told", paths->project);
	for (size_t i = 0; i < ARRAY_SIZE(closed); i++)
		if ((other = held_by(closed[i], folder)) || (other = holder_of(closed[i], folder)))
			return node_error(node, "%s is closed to agents, and one of the two holds the other", other);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		if ((other = held_by(whole[i], folder)))
			return node_error(node, "it holds %s: name the skills' own folder", other);
	return 0;
}

int skills_check(const struct node *root, const struct paths *paths)
{
	struct node list = { .document = root->document, .up = root, .key = "skills" }, item = { .document = root->document, .up = &list };
	const char *key;
	json_t *value;
	int r = 0;

	json_object_foreach(root->value, key, value) {
		if (strcmp(key, list.key) == 0)
			break;
		list.index++;
	}
	list.value = json_object_get(root->value, list.key);
	for (; item.index < paths->skills.nr && r == 0; item.index++) {
		item.value = json_array_get(list.value, item.index);
		r = check_folder(&item, paths, paths->skills.items[item.index]);
	}
	return r;
}
