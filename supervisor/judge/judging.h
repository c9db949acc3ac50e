/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the judge: one question on its way to an answer, and the words of an answer. */
#pragma once

#include "supervisor/judge/arguments.h"
#include "supervisor/judge/judge.h"

struct judging {
	const struct policy *policy;
	const struct judge_subject *subject;
	const struct action *action;
	struct decision *decision;
	size_t *steps;		/* taken for the whole question so far */
	unsigned depth;		/* of command lines inside command lines */
	/* Of the command line in its text: */
	bool fed;		/* its standard input is a file, a pipe or a text: nobody types there */
	bool piped;		/* namely a pipe */
	bool foreign;		/* or a file that is no part of the project */
	bool crowded;		/* other commands stand in the same text, or its output goes to a file */
	bool lost;		/* the working folder is not known */
	bool in_text;		/* the path is a word of a command text */
	bool wrapped;		/* nothing but shells stands around this text so far */
	bool guessed;		/* the tool makes the command line, these words are only part of it */
	unsigned also;		/* effects of its redirections and assignments */
	const struct decision *around;	/* an answer about those, or NULL */
};
#define JUDGE_DEPTH_MAX 8

/*
 * What an answer may take, whatever the text: a step is about what looking at a byte is, or 10 ns. A text of 8192 short commands takes 3 million; where
 * more are asked for, what they were for is left out, and judge() refuses the whole.
 */
#define JUDGE_STEPS_MAX (4u << 20)
bool judge_step(const struct judging *j, size_t steps);
/* The refusal, for whoever has to answer. */
void answer_too_much(const struct judging *j);

/* At the kernel boundary the program is known, what it runs comes back as a question of its own, and what it touches is judged when touched. */
static inline bool at_execve(const struct judging *j)
{
	return j->action->program;
}

struct ruling {			/* which rule speaks */
	const char *id;
	struct origin origin;	/* CODE_RULE for one that stands in C: its place in the source */
	const char *hint;	/* or NULL */
};
#define CODE_RULE CODE_ORIGIN

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

/* What the words of a command line lead to, beyond what its data says: paths, targets, code, command lines inside it. */
struct consequences {
	unsigned effects;		/* to add */
	unsigned without;		/* to take away */
	bool answered;			/* decision holds an answer of its own, which the rules' must not soften */
	bool runs;			/* a command line among them was judged */
	struct decision decision;
};

/* Each answers the kinds its file names. */
void judge_exec(const struct judging *j);
void judge_path(const struct judging *j);
void judge_connect(const struct judging *j);
void judge_bind(const struct judging *j);
void judge_environment(const struct judging *j);
void judge_http(const struct judging *j);

/* Answers for one command line; text: words the shell has not made yet are flagged. */
void judge_words(const struct judging *j, struct words words);
/* Says to whoever wants to know that these words will be a command line; reads: whoever runs it runs the command lines in it that were judged as well. */
void foresee(const struct judging *j, struct words words, bool reads);
/* Answers for the command line of a shell program, by what it makes the shell read; false when it is none. */
bool judge_shell_words(const struct judging *j, struct words words);
/* Answers for a text that a shell will read. */
void judge_text(const struct judging *j, const char *text);
/* Answers for the text that a launch's own shell will read, as if nothing stood around it; false when it is no such command line. */
bool judge_wrapped(const struct judging *j, struct words words);

/* Words of a shell's text as far as they are known before it runs. text and flags are in the subject's arena. False: too many, or no room. */
struct shell_word;
struct judged_words {
	const char **text;
	uint8_t *flags;
	size_t nr;
};
bool words_of_shell(const struct judging *j, struct shell_word *const *words, size_t nr, struct judged_words *ret);
/* One word; false: no room. */
bool word_of_shell(const struct judging *j, const struct shell_word *word, const char **ret_text, uint8_t *ret_flags);

/* What the redirections of a command do; the file it reads its input from in ret_input, or NULL. */
struct shell_redirection;
void weigh_redirections(const struct judging *j, const struct shell_redirection *redirections, struct consequences *ret, bool *ret_writes);

/* Of two answers about the same action the one that holds: hardline, deny, incomplete deny, review, allow. The earlier one when equal. */
void answer_worse(struct decision *decision, const struct decision *other);

void weigh_arguments(const struct judging *j, struct words words, const struct arguments *arguments, struct consequences *ret);

/* Where a URL or host leads. */
enum place {
	PLACE_SCOPE,		/* is in the declared scope, or always reachable */
	PLACE_PUBLIC,		/* no scope was declared */
	PLACE_OUTSIDE,		/* of the declared scope */
	PLACE_UNCLEAR,		/* not to be said without resolving or guessing */
	PLACE_REFUSED,		/* answered with a deny */
};
struct url;
enum place judge_target(const struct judging *j, const struct url *url);
/* A URL's own words: whether a GET of it changes something; whether it, or a body, destroys data. */
bool url_is_mutating(const struct policy *policy, const char *url);
/* The same where each "?" may be any letter. */
bool url_may_become_mutating(const struct policy *policy, const char *url);
bool text_is_destructive(const struct policy *policy, const char *text);

/* Whether the environment of an exec loads code the launch did not begin with; answers with a deny then. */
bool environment_loads_code(const struct judging *j);

/* Whether what a client asks for refuses its launch; answers with a deny then. image: PID 1's own variables. */
bool environment_is_refused(const struct judging *j, const char *const *image, const char *entry);

/* Answers for programs that run in a browser session, or nowhere else; true then. */
bool browser_answers(const struct judging *j);
/* Whether a path is a browser's own file, which others than its session do not open; answers with a deny then. */
bool browser_keeps(const struct judging *j, const char *path);
/* Whether the environment of an exec would lead the session's tool to another session; answers with a deny then. */
bool browser_is_led_away(const struct judging *j);
/* Whether what is to be connected to is a browser session that the caller has no business with; answers with a deny then. */
bool browser_is_foreign(const struct judging *j, const char *what);

/* A shell that agents cannot put in its place. */
bool is_image_shell(const struct judging *j, const char *path);
/* Whether this exec is one that the launch's template makes; answers with an allow then. */
bool transport_allows(const struct judging *j, const char *const *argv);

/* Places of paths.json, for a canonical absolute path. */
bool path_in_list(const struct strings *list, const char *home, const char *path);
bool path_is_own(const struct policy *policy, const char *path);
/* Whether a name below the devices stands for a disk or the memory; whether reading it shows credentials, environments or all of that. */
bool path_is_raw_device(const struct paths *paths, const char *path);
bool path_shows_secrets(const struct paths *paths, const char *path);
bool path_is_sensitive(const struct judging *j, const char *path);
/* Whether agents may write below it: then a file there is the agents' own, whatever its name. */
bool path_is_writable(const struct judging *j, const char *path);
/* For a path as typed in readonly: no expansion, no "..", inside the project or a skill folder, not sensitive. */
bool path_stays_inside(const struct judging *j, const char *typed);

#define WORDS_MAX 1024
#define TEXT_MAX_BYTES 65536
