/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk over a source: finds what is left out, what links become and what is protected, and writes what must be written: all of it (a copy),
 * or only the middle layer of an overlay, which is nothing but the links' content and a whiteout for what is left out.
 *
 * The walk is one thread; content is copied by several.
 */
#pragma once

#include "supervisor/workspace/state.h"
#include "supervisor/workspace/view.h"

enum build_what {
	BUILD_NOTHING,	/* look only */
	BUILD_MIDDLE,
	BUILD_ALL,
};

struct build_plan {
	enum build_what what;
	int source;			/* the source's root */
	int to;				/* an empty folder; -1 for BUILD_NOTHING */
	const char *const *frozen;	/* names that are protected, NULL-terminated */
	const char *mounted_at;		/* what absolute paths into the workspace begin with */
	int64_t changed_since_ns;	/* look for objects whose status changed at or after it; 0: do not */
	void (*progress)(void *data, uint64_t files, uint64_t bytes);	/* every second or so; NULL: none */
	void *data;
};

/* Fills w's notes. ret_changed: the first path that changed since, owned by the caller, or NULL. Returns 0, or -errno with ret_error. */
int build_run(const struct build_plan *plan, struct workspace *w, char **ret_changed, struct err *ret_error);
