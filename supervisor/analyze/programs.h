/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for sed and awk, read only so far as to say what they write and run. PURE; no allocation. What is not understood counts as
 * running something: these readers never guess in the program's favour.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct program_facts {
	bool runs;		/* a shell, a pipe, a socket; or it cannot be said */
	bool reads;		/* files that the program itself names */
	bool writes;
	char file[256];		/* the first file it writes, where its name stands there; "" otherwise */
	char source[256];	/* the first file it reads, likewise */
	char command[256];	/* the first command line it runs, likewise */
};

/* GNU sed, whole program text. */
void sed_read(const char *text, struct program_facts *ret);
/* POSIX awk and gawk. */
void awk_read(const char *text, struct program_facts *ret);
