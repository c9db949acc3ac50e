/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files that build the agents' mount namespace (mounts.c, mounts_places.c, mounts_masks.c), and by nobody else.
 *
 * All of it runs in the forked child, which ends at once: memory and descriptors are not given back.
 */
#pragma once

#include "supervisor/boundary/mount_tree.h"
#include "supervisor/boundary/mounts.h"

#include <stdbool.h>
#include <stdint.h>

enum cover { COVER_EMPTY, COVER_NAMES, COVER_ITSELF };	/* nothing; the names below, empty; the same, read-only */

struct place {
	char *path;		/* canonical: no symlink, no ".." */
	int fd;			/* roots: the cloned tree; masks: the object to cover */
	bool devices;		/* roots: device nodes stay usable */
	enum cover cover;	/* masks: what lies over the object */
};

struct places {
	struct place *items;
	unsigned nr;
};

struct builder {
	const struct mounts_plan *plan;
	struct err *error;
	struct places roots, masks;
	char **links;		/* canonical place of every symlink that led to a root or a mask */
	unsigned nr_links;
};

/* ---- mounts_places.c ---- */

/*
 * Canonical form of path, with the symlinks on the way added to the builder's. Returns 1 when it exists, 0 when it does not (the missing
 * rest is appended as text), or -errno with the builder's error.
 */
int place_resolve(struct builder *b, const char *path, char **ret_path);
/* Takes path. A path that is there already is not added twice. Returns 0 or -ENOMEM. */
int places_add(struct places *places, struct place place);
/* -ELOOP with the builder's error when a symlink on the way to any place stands in a write root. */
int places_check_links(const struct builder *b);
/* The longest write root that holds path, or NULL. */
const struct place *places_root_of(const struct builder *b, const char *path);
/* O_PATH descriptor of a canonical path; a symlink that appeared since is -ELOOP. Returns it or -errno. */
int place_open(const char *path);

/* ---- mounts_masks.c ---- */

/* Resolves every mask of the plan; write roots must be known. */
int masks_find(struct builder *b);
/* Covers them; write roots must be in place. */
int masks_cover(struct builder *b);
