/* SPDX-License-Identifier: Apache-2.0 */
/* RUN/workspaces.json: the workspaces of this container as they stand now. Written whole at each start, by the helper; root's alone. */
#pragma once

#include "supervisor/workspace/state.h"

struct running {
	struct workspace workspace;
	const char *path;		/* where it is mounted */
	const char *source;
	const char *changed;		/* the source changed since the workspace was made: the first such path; NULL: it did not */
	bool fresh;			/* made at this start */
};

struct running_list {
	struct running *items;
	size_t nr;
	void *document;			/* owns the texts */
	char *text;			/* the file, for whoever passes it on; NULL: there is none */
};

/* No file: no workspaces. Returns 0 or -errno with ret_error. */
int running_read(const char *run_dir, struct running_list *ret, struct err *ret_error);
void running_free(struct running_list *list);
/* There are no workspaces: what an earlier start said is gone. */
void running_remove(const char *run_dir);
/* items of what has been written so far, to fd RUN. Returns 0 or -errno. */
int running_write(int run_dir, const struct running *items, size_t nr);
