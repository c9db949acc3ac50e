/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the policy: modes, effects, verdicts; and the index from a program's base name to what is known of it. */
#pragma once

#include "supervisor/policy/policy.h"
#include "supervisor/policy/pool.h"

extern const char *const mode_names[MODE_COUNT];
extern const char *const roots_names[ROOTS_COUNT];
extern const char *const effect_names[EFFECT_COUNT];

/* What a retired name is now, for an error's text, or NULL. */
const char *name_now(const char *text);

/* The names of all commands, sorted. Two commands with the same name: *ret_twice is the second, *ret_name the name. Returns 0, -EEXIST or -ENOMEM. */
int command_index_build(struct policy *policy, struct pool *pool, const struct command **ret_twice, const struct command **ret_first,
			const char **ret_name);
