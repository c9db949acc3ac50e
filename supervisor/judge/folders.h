/* SPDX-License-Identifier: Apache-2.0 */
/* The folders in which the commands of a shell's text may stand. */
#pragma once

#include "supervisor/analyze/shell.h"
#include "supervisor/judge/judging.h"

#define FOLDERS_MAX 4

struct folders {
	const char *path[FOLDERS_MAX];	/* absolute; in the subject's arena, or the caller's cwd */
	unsigned nr;
	bool lost;			/* or somewhere else, nobody knows where */
};

/*
 * For each command of script, by its index, where it may stand when the text begins in cwd (lost: nobody knows where). cwd must outlive the answer, which lies in
 * the subject's arena; NULL when that is full.
 */
const struct folders **folders_of_script(const struct judging *j, const struct shell_script *script, const char *cwd, bool lost);
