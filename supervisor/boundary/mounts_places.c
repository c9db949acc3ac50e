/* SPDX-License-Identifier: Apache-2.0 */
/* Where the plan's paths really are, and which symlinks had a say in it. */
#include "supervisor/boundary/mounts_private.h"

#include "supervisor/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HOPS_MAX 40	/* the kernel's own limit */

struct walk {
	char done[PATH_MAX];		/* canonical so far; "" is "/" */
	char left[2 * PATH_MAX];	/* still to go */
	unsigned hops;
};

static int add_link(struct builder *b, const char *path)
{
	char **links = realloc(b->links, (b->nr_links + 1) * sizeof(*links));

	if (!links)
		return -ENOMEM;
	b->links = links;
	links[b->nr_links] = strdup(path);
	return links[b->nr_links++] ? 0 : -ENOMEM;
}

static void step_back(struct walk *w)
{
	char *slash = strrchr(w->done, '/');

	if (slash)
		*slash = '\0';
}

/* The link at w->done takes its place: back to its folder, or to "/", and its target before what is left. */
static int follow_link(struct builder *b, struct walk *w, const char *target)
{
	char left[2 * PATH_MAX];
	int r;

	if (++w->hops > HOPS_MAX)
		return -ELOOP;
	r = add_link(b, w->done);
	if (r < 0)
		return r;
	if (*target == '/')
		*w->done = '\0';
	else
		step_back(w);
	if (snprintf(left, sizeof(left), "%s/%s", target, w->left) >= (int)sizeof(left))
		return -ENAMETOOLONG;
	memcpy(w->left, left, strlen(left) + 1);
	return 0;
}

/* Takes the next name off what is left. False at the end. */
static bool next_name(struct walk *w, char ret_name[static NAME_MAX + 1], int *ret_error)
{
	const char *start = w->left + strspn(w->left, "/");
	size_t len = strcspn(start, "/");

	*ret_error = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (len == 0 || len > NAME_MAX)
		return false;
	memcpy(ret_name, start, len);
	ret_name[len] = '\0';
	memmove(w->left, start + len, strlen(start + len) + 1);
	return true;
}

static int step(struct builder *b, struct walk *w, const char *name)
{
	char target[PATH_MAX];
	ssize_t len;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		step_back(w);
		return 0;
	}
	if (strlen(w->done) + strlen(name) + 2 > sizeof(w->done))
		return -ENAMETOOLONG;
	strcat(strcat(w->done, "/"), name);
	len = readlink(w->done, target, sizeof(target) - 1);
	if (len < 0)
		return errno == EINVAL ? 0 : -errno;	/* EINVAL: there, and no link */
	target[len] = '\0';
	return follow_link(b, w, target);
}

int place_resolve(struct builder *b, const char *path, char **ret_path)
{
	struct walk w = { 0 };
	char name[NAME_MAX + 1], joined[3 * PATH_MAX], normal[PATH_MAX];
	int r = 0;

	if (*path != '/' || strlen(path) >= PATH_MAX)
		return err_set(b->error, -EINVAL, "\"%s\" is not an absolute path", path);
	memcpy(w.left, path, strlen(path) + 1);
	while (r == 0 && next_name(&w, name, &r))
		r = step(b, &w, name);
	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		return err_set(b->error, r, "%s cannot be resolved: %s", path, strerror(-r));
	snprintf(joined, sizeof(joined), "%s/%s", w.done, w.left);
	if (path_normalize("/", joined, normal, sizeof(normal)) < 0)
		return err_set(b->error, -ENAMETOOLONG, "%s is too long once resolved", path);
	*ret_path = strdup(normal);
	return *ret_path ? r == 0 : err_set(b->error, -ENOMEM, "out of memory");
}

int places_add(struct places *places, struct place place)
{
	struct place *items;

	for (unsigned i = 0; i < places->nr; i++)
		if (strcmp(places->items[i].path, place.path) == 0)
			return 0;
	items = realloc(places->items, (places->nr + 1) * sizeof(*items));
	if (!items)
		return -ENOMEM;
	places->items = items;
	items[places->nr++] = place;
	return 0;
}

const struct place *places_root_of(const struct builder *b, const char *path)
{
	const struct place *longest = NULL;

	for (unsigned i = 0; i < b->roots.nr; i++) {
		const struct place *root = &b->roots.items[i];

		if (path_is_under(path, root->path) && (!longest || strlen(root->path) > strlen(longest->path)))
			longest = root;
	}
	return longest;
}

int places_check_links(const struct builder *b)
{
	for (unsigned i = 0; i < b->nr_links; i++) {
		const struct place *root = places_root_of(b, b->links[i]);

		if (root)
			return err_set(b->error, -ELOOP, "a path of the policy goes through the symlink %s, which agents can change (it is in the write root %s)",
				       b->links[i], root->path);
	}
	return 0;
}

int place_open(const char *path)
{
	return tree_open(AT_FDCWD, path, false);
}
