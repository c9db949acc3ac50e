/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a workspace of every source, in a process of its own that ends when they stand: it reads names and files that agents wrote.
 *
 * What it made is told in RUN/workspaces.json, which the enforcer and the command line read: see running.h.
 */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdbool.h>
#include <sys/types.h>

struct workspace_report {		/* shared memory: the helper writes, PID 1 reads after it ended */
	bool refused;			/* what the host gave cannot be taken; else it could not be made */
	char why[600];
};

struct workspace_job {
	const struct policy *policy;
	const char *state_dir, *run_dir;
	const char *live;		/* names that the host says are to be mounted as they are, separated by commas; NULL: none */
	bool off;			/* all of them are */
	int agents;			/* see struct place_for */
	uid_t uid;			/* the launch user, whose the files are to be */
	gid_t gid;
	struct workspace_report *report;
};

/* Whether there is anything to make. */
bool workspace_wanted(const struct policy *policy);
/* In the helper. Prints progress on stdout. Returns its exit code: 0, or 1 with the report. */
int workspace_prepare(void *job);
