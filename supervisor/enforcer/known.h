/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a record says of the process behind an allowed call, kept from one of its calls to the next: reading it anew costs more than judging.
 *
 * An entry is held to its process by a pidfd, so a number that is another's by now finds nothing; a verified exec makes its process unknown
 * (exec.c). So identity, start time and program are exact; the parent is the one it had when first seen, and the program's path what it was called
 * then. Not for mode off, where execs are not verified, and not for refusals, which are looked up anew.
 */
#pragma once

#include "supervisor/enforcer/internal.h"

#define KNOWN_PATH_MAX 256

struct known {
	struct caller_facts caller;	/* pid 0: nobody; the thread's own id, and the path is a view of program */
	int pidfd;			/* owned */
	uint64_t call;			/* the notification during which it was found to be there last; 0: none */
	char program[KNOWN_PATH_MAX];
};

/* Who made this call. NULL when it cannot be kept: gone, or a longer path than that. Good until the next call. */
const struct known *known_process(pid_t tid, uint64_t call);
/* The same unasked: perhaps it is gone. Its pidfd says so when used. */
const struct known *known_perhaps(pid_t tid);
/* Its pidfd was used during this call, and it was there: so the call is its. */
void known_calls(pid_t tid, uint64_t call);
void known_forget(pid_t tid);
