/* SPDX-License-Identifier: Apache-2.0 */
/* Execs that were received and have not ended: exec.c leads them through, flight.c keeps them, exec_judge.c and exec_record.c serve them. One thread. */
#pragma once

#include "supervisor/enforcer/internal.h"

struct flight {
	struct flight *next;
	struct exec_call exec;
	struct call call;		/* its slot stays taken until the exec is verified or has failed */
	pid_t tid, group;
	bool held;			/* waiting, namely for the agent's browser session */
	bool tool;			/* of that session */
	bool snapshot_holds;
	bool waiting;			/* not judged yet: another exec of its thread group is in flight, too many are, or */
	bool later;			/* what its launch foretells is being found out */
	struct process_facts facts;	/* of the process, once it was verified */
	bool reserved;			/* there is room in the log for the record of its success */
	uint64_t id;			/* never used twice */
	unsigned hashing;		/* files of it whose digest is awaited while it stands at its first instruction */
	struct decision decision;
	char sha256[65];		/* of the file that was named; "": not known */
};

struct exec_flights {
	struct flight *flying, *spare;	/* flying: in the order they came, with those that wait */
	unsigned nr, nr_waiting, nr_hashing;
	uint64_t last_id;
};

/* ---- flight.c ---- */

/* A spare one or a new one, whose members are the caller's to set. NULL: out of memory. */
struct flight *flight_take(struct enforcer *e);
void flight_give(struct enforcer *e, struct flight *f);
void flight_add(struct enforcer *e, struct flight *f);
void flight_remove(struct enforcer *e, struct flight *f);
void flight_give_back_room(struct enforcer *e, struct flight *f);
/* Another exec of its thread group is in flight, or too many are. */
bool flight_must_wait(const struct enforcer *e, struct flight *f);
/* The first that waits and need not any more, or NULL. */
struct flight *flight_next(const struct enforcer *e);
/* The one of this thread that was continued, or NULL. */
struct flight *flight_find(const struct enforcer *e, pid_t tid);

/* ---- exec_judge.c ---- */

/* Fills f->decision. Returns false when it has to wait for what its launch foretells. */
bool flight_judge(struct enforcer *e, struct flight *f, struct decision *ret_shadow);

/* ---- exec_record.c ---- */

/* Answers, and gives f back. */
void flight_deny(struct enforcer *e, struct flight *f, int error_number);
/* verified: who it is now; NULL where nothing was verified. */
void flight_record_allowed(struct enforcer *e, struct flight *f, const struct decision *shadow, const struct caller_facts *verified);
void flight_note_failure(struct enforcer *e, struct flight *f, int error_number);
void flight_kill(struct enforcer *e, struct flight *f, pid_t pid, const char *why);
