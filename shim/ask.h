/* SPDX-License-Identifier: Apache-2.0 */
/* One request to the supervisor. The client has no other way to it. */
#pragma once

#include "supervisor/base/buf.h"

#include <stddef.h>

#define EXIT_UNSTARTED 125	/* Cordon could not start it */

struct ask {			/* one request, before it is bytes */
	const char *agent, *mode, *user;
	const char *scope, *roots;	/* as the flags say */
	const char *cwd;
	char **argv;
	char **extra_env;	/* --env, in order */
	size_t nr_extra_env;
	unsigned flags, timeout_ms;	/* enum request_flags */
};

/* Asks for a launch and stays until it ended. Returns the exit code for main(); what there is to say was said. */
int ask_launch(const struct ask *ask);

/* With REQUEST_EXPLAIN among its flags: what such a launch's environment would be. Fills ret_json and returns 0, or the exit code, all said. */
int ask_explain(const struct ask *ask, struct buf *ret_json);

/* Says "cordon: …" on stderr. Returns code. */
int ask_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
