/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for the judge, offline: what `cordon check` and `cordon policy test` ask. */
#pragma once

#include "supervisor/analyze/arena.h"
#include "supervisor/judge/judge.h"

struct questions {		/* who asks, of which policy; stays where it was opened, for it points to itself */
	struct policy *policy;
	struct scope scope;	/* may be put in place of the empty one */
	struct judge_subject subject;
	struct arena arena;	/* for one question at a time */
	const char *cwd;
	char home[256];
};

enum question_kind { QUESTION_EXEC, QUESTION_READ, QUESTION_WRITE, QUESTION_CONNECT, QUESTION_ENV, QUESTION_STDIN, QUESTION_HTTP, QUESTION_BROWSER, QUESTION_COUNT };
/* QUESTION_COUNT for a word that is none. */
enum question_kind question_kind(const char *word);

/* dir, else $CORDON_POLICY, else the installed folder. */
const char *questions_folder(const char *dir);
/* dir as above. Returns 0, or -errno, having said on stderr what is wrong; questions_close() in both cases. */
int questions_open(struct questions *q, const char *dir, struct err *ret_error);
void questions_close(struct questions *q);
/* words: the kind and its arguments, NULL-terminated; the kind's place may get a program's name. Always answers. */
void questions_ask(const struct questions *q, const char **words, struct decision *ret);
/* An answer of our own, for requests that are no question for the judge. */
void questions_refuse(struct decision *d, const char *rule, const char *reason);

const char *verdict_name(enum verdict verdict);
