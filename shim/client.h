/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways a launch is asked for, and a question about one. All return the exit code for main(). */
#pragma once

#include "supervisor/base/buf.h"

#include <stddef.h>

struct ask {			/* one request, before it is bytes */
	const char *agent, *mode, *user;
	const char *scope, *roots;	/* as the flags say */
	const char *cwd;
	char **argv;
	char **extra_env;	/* --env, in order */
	size_t nr_extra_env;
	unsigned flags, timeout_ms;	/* enum request_flags */
};

/* `cordon run …`: argv[0] is "run". */
int client_run(int argc, char **argv);

/* Called by an entry name: argv as the host gave it. */
int client_entry(char **argv);

/* With REQUEST_EXPLAIN among its flags: what such a launch's environment would be. Fills ret_json and returns 0, or the exit code, all said. */
int client_explain(const struct ask *ask, struct buf *ret_json);
