/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket: one line asks (a verb and its arguments), one JSON document answers, then the connection closes.
 *
 * Root asks anything; others only what the table in the enforcer marks open. A peer that descends from a launch is refused.
 */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"

#include <stddef.h>

#define CONTROL_REQUEST_MAX 4096
#define CONTROL_ANSWER_MAX (16u << 20)

/* $CORDON_RUN_DIR or the default, and a name in it. Returns 0 or -ENAMETOOLONG. */
int control_path(const char *name, char *ret_path, size_t path_bytes);

/*
 * Asks the running supervisor, waiting at most five seconds. Returns 0 with its JSON, -ENOENT or -ECONNREFUSED when none runs, -EACCES,
 * -ETIMEDOUT, …, with ret_error in words.
 */
int control_ask(const char *request, struct buf *ret_json, struct err *ret_error);

/*
 * Binds a listening socket at path with mode, CLOEXEC and non-blocking. A stale socket is replaced; a living one, or anything else
 * in the way, is an error. Returns the descriptor or -errno with ret_error.
 */
int control_listen(const char *path, int type, unsigned mode, struct err *ret_error);
