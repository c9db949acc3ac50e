/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the judge: one question on its way to an answer, and the words of an answer. */
#pragma once

#include "supervisor/judge/judge.h"

struct judging {
	const struct policy *policy;
	const struct judge_subject *subject;
	const struct action *action;
	struct decision *decision;
};

struct ruling {			/* which rule speaks */
	const char *id;
	struct origin origin;	/* CODE_RULE for one that stands in C */
	const char *hint;	/* or NULL */
};
#define CODE_RULE ((struct origin){ .file = "" })

void answer_allow(const struct judging *j, struct ruling ruling, const char *format, ...) __attribute__((format(printf, 3, 4)));
void answer_deny(const struct judging *j, const char *tag, struct ruling ruling, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Room for a quoted name in a sentence. */
struct quoted {
	char text[104];
};
/* 'NAME' in printable ASCII: other bytes as \xHH, cut with "..." when long. Returns q->text. */
const char *quote(struct quoted *q, const char *name, size_t len);
const char *quote_text(struct quoted *q, const char *name);

/* Each answers the kinds its file names. */
void judge_exec(const struct judging *j);
void judge_path(const struct judging *j);
void judge_connect(const struct judging *j);
void judge_bind(const struct judging *j);
void judge_environment(const struct judging *j);

/* Whether the environment of an exec loads code the launch did not begin with; answers with a deny then. */
bool environment_loads_code(const struct judging *j);

/* A shell that agents cannot put in its place. */
bool is_image_shell(const struct judging *j, const char *path);
/* Whether this exec is one that the launch's template makes; answers with an allow then. */
bool transport_allows(const struct judging *j, const char *const *argv);

/* Places of paths.json, for a canonical absolute path. */
bool path_in_list(const struct strings *list, const char *home, const char *path);
bool path_is_own(const struct policy *policy, const char *path);
bool path_is_sensitive(const struct policy *policy, const char *path);
/* Whether agents may write below it: then a file there is the agents' own, whatever its name. */
bool path_is_writable(const struct judging *j, const char *path);
/* For a path as typed in readonly: no expansion, no "..", inside the project, not sensitive. */
bool path_stays_inside(const struct judging *j, const char *typed);

#define WORDS_MAX 256
#define TEXT_MAX_BYTES 16384
/*
 * Splits a command text that holds no shell syntax at all into words; the text is copied into storage, the words point there.
 * Returns the number of words (NULL follows the last), 0 for a text without a word, or -1 with ret_why: what has to be read by a shell.
 */
int text_words(const char *text, char storage[static TEXT_MAX_BYTES], const char *words[static WORDS_MAX + 1], const char **ret_why);
