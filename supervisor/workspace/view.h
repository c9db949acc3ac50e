/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source as its workspace shows it: symbolic links inside the tree are what they lead to; links that lead nowhere, in a circle or out of the
 * tree, devices, sockets and FIFOs are left out. Everything that reads a source reads it through this, so that the rules exist once.
 *
 * Never by a path of the source: folder by folder, by descriptors, so depth is not limited by PATH_MAX and nothing leads out of the tree. One thread,
 * apart from view_open_file(), which any may call.
 */
#pragma once

#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* What one link may grow to, and all of them: a tree of links can be larger than any disk. */
#define VIEW_LINK_ENTRIES_MAX 50000u
#define VIEW_LINK_BYTES_MAX (2ull << 30)
#define VIEW_WORK_MAX 4000000u

struct view_place {			/* a folder where it really is */
	unsigned refs;
	struct view_place *up;		/* NULL: the tree's root */
	int fd;
	dev_t dev;
	ino_t ino;
	char name[];			/* in up */
};

struct view {
	struct view_place *root;
	uint64_t links_work;		/* entries looked at to measure links */
};

struct view_folder {			/* a folder of the workspace, while it is being walked */
	const struct view_folder *up;
	struct view_place *place;	/* owned */
	bool linked;			/* it, or one above, is reached through a link */
};

enum view_kind { VIEW_FILE, VIEW_FOLDER, VIEW_LEFT_OUT };

struct view_entry {
	const char *name;		/* in the listing's memory */
	enum view_kind kind;
	bool link;
	const char *why;		/* of what is left out: a phrase, static */
};

struct view_listing {
	struct view_entry *entries;	/* sorted by name's bytes */
	size_t nr;
	char *names;
};

/* Takes root_fd, a folder. Returns 0 or -errno. */
int view_init(struct view *view, int root_fd, struct view_folder *ret_root);
void view_close(struct view *view, struct view_folder *root);
/* Returns 0, -E2BIG when the links of the tree would grow beyond all bounds, or -errno. */
int view_list(struct view *view, const struct view_folder *folder, struct view_listing *ret);
void view_listing_free(struct view_listing *listing);
/* entry is a VIEW_FOLDER of folder. view_leave() afterwards. */
int view_enter(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct view_folder *ret);
void view_leave(struct view_folder *folder);

/* Where the content of a VIEW_FILE really is. ret_place is a reference: view_put_place(). ret_name: NAME_MAX + 1. */
int view_find_file(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct view_place **ret_place, char *ret_name);
/* The regular file name in place, for reading; -EINVAL when it is no such file any more. */
int view_open_file(const struct view_place *place, const char *name);
/* What it is, and when it was made (CLOCK_REALTIME), 0 where the file system does not say. Returns 0 or -errno. */
int view_stat(struct view *view, const struct view_folder *folder, const struct view_entry *entry, struct stat *ret, int64_t *ret_born_ns);
/* Both in one. */
int view_open_entry(struct view *view, const struct view_folder *folder, const struct view_entry *entry);
/* The folder that text, as a link in place would have it, leads to: 0 with a reference, -EXDEV out of the tree, -ENOENT, -ENOTDIR, -ELOOP. */
int view_resolve_folder(struct view *view, struct view_place *place, const char *text, struct view_place **ret_place);
struct view_place *view_get_place(struct view_place *place);
void view_put_place(struct view_place *place);
