/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps by which a process gives up what it could do, each one call, each irreversible. They return 0 or -1 with errno; a caller
 * that goes on after a failure would start an unguarded command, so none does.
 */
#pragma once

#include "shim/proto.h"

#include <stdbool.h>

/* Bounding and ambient sets emptied; SETUID SETGID SETPCAP KILL stay permitted and effective, nothing inheritable. */
int lockdown_zygote_capabilities(void);

/* KILL alone stays: what a keeper needs to end a tree of another uid. */
int lockdown_keeper_capabilities(void);

/* The Landlock layer that only scopes signals and abstract sockets. It handles and grants REFER, or renames across folders would fail with EXDEV. */
int lockdown_scope_layer(void);

/* Opens the launch's rules as a ruleset. Returns the descriptor, -1 with errno; a rule whose path is missing is left out. */
int lockdown_open_ruleset(const struct spec *spec, const char *blob);

/* Groups, gid, uid as spec says. With keep_admin, SYS_ADMIN stays effective until lockdown_last_capabilities(). */
int lockdown_ids(const struct spec *spec, const char *blob, bool keep_admin);

/* Everything gone from a process that is about to become the command (uid 0 in mode off keeps what it has). */
int lockdown_last_capabilities(const struct spec *spec);
