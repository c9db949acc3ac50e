/* SPDX-License-Identifier: Apache-2.0 */
/* Inside `cordon policy`: what its verbs share. */
#pragma once

#include "supervisor/policy/policy.h"

enum policy_exit { POLICY_DIFFERS = 1, POLICY_USAGE = 2 };

struct policy_options {
	bool json, rules;
	const char *policy_dir;		/* or NULL */
	const char **words;		/* NULL-terminated */
	unsigned nr;
};

int policy_test(const struct policy_options *o);
int policy_diff(const struct policy_options *o);

/* One line on stderr; return POLICY_USAGE. */
int __attribute__((format(printf, 1, 2))) policy_complain(const char *format, ...);
int policy_fault(const struct err *error);
/* Whether all that was printed went out: code, else as policy_complain(). */
int policy_end(int code);
