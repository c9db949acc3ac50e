/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What agents changed: the workspace as it stands against its source as the rules show it. The same comparison for both kinds; what cannot have
 * changed is not looked at (an overlay's upper layer, a copy's times of status change, say what can).
 *
 * Reads what agents write while they write it: by descriptors, no link followed, no FIFO waited for. What is gone in between is gone.
 */
#pragma once

#include "supervisor/workspace/running.h"
#include "supervisor/workspace/view.h"

#include <sys/stat.h>

enum change_kind {
	CHANGE_ADDED = 'A',
	CHANGE_DELETED = 'D',
	CHANGE_CONTENT = 'M',	/* and perhaps mode and owner */
	CHANGE_MODE = 'm',	/* mode, owner or extended attributes alone; times alone are no change */
	CHANGE_FORBIDDEN = '!',	/* a protected name that the source lacks: never exported */
};

struct change {
	enum change_kind kind;
	const char *path;		/* relative; any bytes */
	const struct stat *was, *is;	/* NULL: not there. was has the ids that the workspace shows */
	int64_t born_ns;		/* when was came to be; 0: nobody knows */
	/* where they are; see change_open_was() */
	struct view *view;
	const struct view_folder *folder;
	const struct view_entry *entry;
	int in;
	const char *name;
};

/* The regular file. Returns a descriptor or -errno. */
int change_open_was(const struct change *change);
int change_open_is(const struct change *change);

struct changes_plan {
	const struct running *running;
	const char *state_dir;
	/* A folder comes before what is in it; what is deleted before what takes its place. Returns 0, or what ends it all. */
	int (*each)(void *data, const struct change *change);
	void *data;
};

/* Whether the source changed since the workspace was made: ret_changed as below. ret_error may be NULL. Any thread. */
int changes_look(const struct running *running, char **ret_changed, struct err *ret_error);
/* ret_changed: the first path of the source that changed since, owned by the caller, or NULL. Returns 0, or -errno with ret_error. */
int changes_find(const struct changes_plan *plan, char **ret_changed, struct err *ret_error);
