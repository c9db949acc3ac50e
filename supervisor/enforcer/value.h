/* SPDX-License-Identifier: Apache-2.0 */
/* A variable's value that a command of the operator's prints: how the enforcer asks, and what `cordond value` is. */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/policy/policy.h"

#define VALUE_MAX_BYTES 8192

/*
 * On a worker: blocks for as long as the command may take. Returns 0 with the value appended to ret_value, or -errno with one sentence in why. The
 * helper is reaped by whoever reaps the enforcer's children.
 */
int value_ask(const struct env_source *source, struct buf *ret_value, char *why, size_t why_bytes);

/*
 * `cordond value MILLISECONDS COMMAND…`: runs the command and prints "+" and its one line, or "-" and a sentence. Everything the command started is gone
 * when it ends. Returns the exit code.
 */
int value_main(char *const *arguments);
