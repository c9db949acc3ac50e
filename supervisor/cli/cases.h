/* SPDX-License-Identifier: Apache-2.0 */
/* Decision cases: a team's own files of questions with the answers it wants. docs/POLICY.md describes them. */
#pragma once

#include "supervisor/judge/judge.h"

struct decision_case {
	const char *file;
	unsigned line;
	enum mode mode;
	const char *kind, *action, *wanted, *why;	/* action as it stands in the file; why may be "" */
	const char *words[4];		/* kind and arguments, NULL-terminated: a question */
	const struct scope *scope;	/* as the file declares it up to here */
	const char *cwd;		/* likewise, or NULL */
};

/* Whether a verdict is one that the case wants. */
bool case_wants(const struct decision_case *c, enum verdict verdict);

/*
 * Reads a file of cases and hands each to take(), which returns 0 to go on. Returns 0, what take() returned, or -errno with ret_error naming file
 * and line of the first fault.
 */
typedef int case_taker(void *context, const struct decision_case *c);
int cases_read(const char *file, case_taker *take, void *context, struct err *ret_error);
