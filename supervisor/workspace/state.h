/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of a workspace on the state volume: STATE/workspace/NAME/ with upper, work, middle (overlay) or copy, and the marker.
 *
 * The marker is written last: a folder without one is an interrupted preparation and is made anew; with one it is never touched again.
 */
#pragma once

#include "supervisor/base/err.h"
#include "supervisor/base/json_out.h"
#include "supervisor/workspace/copy.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKSPACE_FOLDER "workspace"
#define WORKSPACE_NAME_MAX 64
#define WORKSPACE_NOTES_MAX 10000u	/* kept in the marker; more are counted */

enum workspace_kind { WORKSPACE_OVERLAY, WORKSPACE_COPY, WORKSPACE_LIVE };

const char *workspace_kind_name(enum workspace_kind kind);

struct note {			/* one object of the tree, and what became of it */
	char *path;		/* relative; any bytes */
	const char *why;	/* static, or owned by the marker's document */
};

struct notes {
	struct note *items;
	size_t nr, total;
};

/* Copies path. Beyond WORKSPACE_NOTES_MAX it only counts. Returns 0 or -ENOMEM. */
int notes_add(struct notes *notes, const char *path, const char *why);
bool notes_has(const struct notes *notes, const char *path);
void notes_free(struct notes *notes);

struct workspace {
	char name[WORKSPACE_NAME_MAX + 1];
	enum workspace_kind kind;
	char why[256];		/* why this kind */
	struct copy_ids ids;
	int64_t source_ns, copy_ns;	/* CLOCK_REALTIME: before the source was looked at; after the last thing of ours was written */
	struct notes left_out, linked, protected;
	const char **frozen;	/* names that are protected wherever they are; NULL-terminated; the policy's, or the document's */
	json_t *document;	/* what it was read from: owns its texts; NULL: it was not */
};

void workspace_free(struct workspace *w);

/* Whether a name may be that of a workspace: letters, digits, "._-", no dot in front. On -EINVAL ret_error says what is wrong. */
int workspace_check_name(const char *name, struct err *ret_error);

/* STATE/workspace/NAME, made with its parents when make is set. Never through a symlink. Returns a descriptor, or -errno with ret_error. */
int state_open(const char *state_dir, const char *name, bool make, struct err *ret_error);
/* Returns 0 with the workspace, -ENOENT without a marker (ret stays as it is), or -errno with ret_error. */
int state_read(int folder, struct workspace *ret, struct err *ret_error);
/* Takes the marker away: the next start makes the workspace anew. Returns 0 or -errno. */
int state_forget(int folder);
int state_write(int folder, const struct workspace *w, struct err *ret_error);
/*
 * The mark of a folder of a copy: where in the tree it was made. Agents neither see nor set it ("trusted."). Where it cannot be set there is none.
 */
void state_mark(int folder, const char *path);
bool state_is_marked(int folder, const char *path);
/* Everything in folder, however deep. Returns 0 or -errno. */
int state_empty(int folder);

/* The marker's members, which are also those of what the container says of its workspaces. */
void state_put(struct json_out *j, const struct workspace *w);
/* The same back, with a reference to the document. Returns 0, -EBADMSG or -ENOMEM. */
int state_take(struct workspace *w, json_t *document);

int64_t state_now_ns(void);
/* Now, once the clock of file times has moved on: whatever changes later has a later time. */
int64_t state_next_ns(void);
