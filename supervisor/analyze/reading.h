/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the shell reader: one text on its way to commands.
 *
 * Recursive descent over the bytes; each function below reads one construct at r->at and leaves r->at behind it. All return 0 or
 * a negative errno after sh_problem() recorded why; the first problem ends the reading. Recursion goes through sh_enter() only.
 */
#pragma once

#include "supervisor/analyze/shell.h"

#include <errno.h>

#define TRY(call)                                                                                                                      \
	do {                                                                                                                           \
		int try_ = (call);                                                                                                     \
		if (try_ < 0)                                                                                                          \
			return try_;                                                                                                   \
	} while (0)

struct sh_entry {			/* a command and its place in the order of discovery */
	struct sh_entry *next;
	struct shell_assignment **assignments_tail;
	struct shell_command command;
};

/* What all texts of one answer share. */
struct sh_answer {
	struct arena *arena;
	struct shell_limits limits;
	unsigned depth;
	struct sh_entry *first, **tail;
	size_t nr_commands;
	struct shell_function *functions, **functions_tail;
	struct shell_evaluation *evaluations, **evaluations_tail;
	struct sh_array_name *arrays;
	size_t nr_arrays;
	bool unsets_functions;		/* unset appears: no call is certain */
	size_t work_bytes;		/* read more than once: nested texts, and "((" that were none */
	bool failed;
	struct shell_problem problem;
};

struct sh_here {			/* a here-document whose body has not come yet */
	struct sh_here *next;
	struct shell_command *command;
	struct shell_redirection *redirection;
	struct bytes delimiter;
	bool strip_tabs;
};

struct sh_reader {
	struct sh_answer *answer;
	enum shell_dialect dialect;
	const char *text;
	size_t len, at;
	size_t origin;			/* offset of text[0] in the outermost text */
	bool copied;			/* text is not a slice of the outermost one: every offset is origin */
	struct sh_here *pending, **pending_tail;
	bool here_seen;			/* a here-document, in this substitution */
	bool joins_badly;		/* in a substitution a ";" behind one may get lost in bash */
	unsigned char *not_arithmetic;	/* a bit per byte: a "((" there turned out to be commands */
	char *scratch;			/* a stack of bytes: words under construction; never higher than text consumed */
	size_t scratch_used;
	struct shell_command *parent;	/* of what is read now */
	enum shell_relation relation;
	unsigned context;
	enum shell_joint joint;		/* of the command that comes next */
	struct shell_function *function;
	struct shell_command *command;	/* whose words are being read: owner of what they hold */
	struct shell_word *result;	/* what a nested reading made */
};

static inline size_t sh_offset(const struct sh_reader *r, size_t at)
{
	return r->copied ? r->origin : r->origin + at;
}

int sh_problem(struct sh_reader *r, size_t at, const char *sentence);
int sh_too_much(struct sh_reader *r, size_t at, const char *sentence);
void *sh_take(struct sh_reader *r, size_t bytes);
/* Charges a second reading of so many bytes: a text made of readings within readings ends at a limit, too. */
int sh_work(struct sh_reader *r, size_t bytes);
/* Every recursion: a limit, not the stack, ends deep nesting. */
int sh_enter(struct sh_reader *r);
static inline void sh_leave(struct sh_reader *r)
{
	r->answer->depth--;
}

/* The byte at r->at once line continuations are dropped, or -1 at the end. */
static inline int sh_peek(struct sh_reader *r)
{
	while (r->at + 1 < r->len && r->text[r->at] == '\\' && r->text[r->at + 1] == '\n')
		r->at += 2;
	return r->at < r->len ? (unsigned char)r->text[r->at] : -1;
}

/* The byte after that one. */
static inline int sh_peek_next(struct sh_reader *r)
{
	size_t i = r->at + 1;

	while (i + 1 < r->len && r->text[i] == '\\' && r->text[i + 1] == '\n')
		i += 2;
	return i < r->len ? (unsigned char)r->text[i] : -1;
}

/* Goes past one byte that sh_peek() showed. */
static inline void sh_skip(struct sh_reader *r)
{
	r->at++;
}

static inline bool sh_take_byte(struct sh_reader *r, char c)
{
	if (sh_peek(r) != c)
		return false;
	sh_skip(r);
	return true;
}

static inline struct bytes sh_slice(const struct sh_reader *r, size_t from)
{
	return (struct bytes){ r->text + from, r->at - from };
}

static inline bool sh_is_name_start(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static inline bool sh_is_digit(int c)
{
	return c >= '0' && c <= '9';
}

static inline bool sh_is_name(int c)
{
	return sh_is_name_start(c) || sh_is_digit(c);
}

bool sh_bytes_name(struct bytes b);		/* a whole identifier */
bool sh_bytes_digits(struct bytes b);

/* ---- reading.c: entries ---- */
struct sh_mark {			/* where to return to when a reading turns out wrong */
	size_t at, arena_used, scratch_used, nr_commands;
	struct sh_entry **tail;
	struct shell_function **functions_tail;
	struct shell_evaluation **evaluations_tail;
	struct sh_here **pending_tail;
	struct shell_assignment **assignments_tail;
};
struct sh_mark sh_mark(struct sh_reader *r);
void sh_return(struct sh_reader *r, const struct sh_mark *mark);

int sh_command(struct sh_reader *r, enum shell_kind kind, size_t at, struct shell_command **ret_command);
int sh_evaluation(struct sh_reader *r, enum shell_evaluates what, size_t at, struct bytes source, struct shell_word *word);
int sh_assignment(struct sh_reader *r, enum shell_assigner by, size_t at, struct bytes name, struct shell_assignment **ret_assignment);

/* What surrounds the commands of a nested list; saved by the one who changes it. */
struct sh_scope {
	struct shell_command *parent, *command;
	enum shell_relation relation;
	unsigned context;
	struct shell_function *function;
};
struct sh_scope sh_scope(const struct sh_reader *r);
void sh_scope_return(struct sh_reader *r, const struct sh_scope *scope);
void sh_scope_enter(struct sh_reader *r, struct shell_command *parent, enum shell_relation relation, unsigned context);

/* Reads a text other than r's own, in r's surroundings: a backquoted command, a here-document, what eval gets. */
int sh_nested(struct sh_reader *r, struct bytes text, size_t origin, bool copied, int (*read)(struct sh_reader *nested));
/* A whole text as commands up to its end. */
int sh_whole_text(struct sh_reader *r);

/* ---- list.c ---- */
void sh_blanks(struct sh_reader *r);			/* and a comment */
int sh_newline(struct sh_reader *r);			/* past a newline and the here-documents that begin there */
int sh_newlines(struct sh_reader *r);			/* any number, blanks and comments too */
int sh_list(struct sh_reader *r, size_t *ret_commands);	/* until something that only a caller can end; how many it held */
bool sh_at_word_end(struct sh_reader *r);

/* ---- keywords.c ---- */
enum sh_keyword {
	KEYWORD_NONE, KEYWORD_NOT, KEYWORD_BRACE, KEYWORD_UNBRACE, KEYWORD_TEST, KEYWORD_CASE, KEYWORD_COPROC, KEYWORD_DO, KEYWORD_DONE,
	KEYWORD_ELIF, KEYWORD_ELSE, KEYWORD_ESAC, KEYWORD_FI, KEYWORD_FOR, KEYWORD_FUNCTION, KEYWORD_IF, KEYWORD_IN, KEYWORD_SELECT,
	KEYWORD_THEN, KEYWORD_TIME, KEYWORD_UNTIL, KEYWORD_WHILE,
};
/* The reserved word at r->at, which stays; ret_end is behind it. */
enum sh_keyword sh_keyword(struct sh_reader *r, size_t *ret_end);
/* A problem in a dialect where what stands here means something else. */
int sh_bash_only(struct sh_reader *r, const char *sentence);
bool sh_take_keyword(struct sh_reader *r, enum sh_keyword keyword);

/* ---- compound.c, clauses.c, condition.c ---- */
/* One compound command and its redirections, if one begins here: ret_command stays NULL otherwise. */
int sh_compound(struct sh_reader *r, struct shell_command **ret_command);
/* Behind the name and its parentheses; command becomes the definition. */
int sh_function(struct sh_reader *r, struct shell_command *command, struct bytes name);
int sh_function_keyword(struct sh_reader *r, struct shell_command **ret_command);
int sh_coproc(struct sh_reader *r, struct shell_command **ret_command);
/* do … done, or in bash { … } */
int sh_loop_body(struct sh_reader *r, struct shell_command *command);
int sh_for(struct sh_reader *r, struct shell_command *command, enum sh_keyword keyword);
int sh_case(struct sh_reader *r, struct shell_command *command);
int sh_condition(struct sh_reader *r, struct shell_command *command);

/* ---- simple.c, redirect.c, heredoc.c ---- */
int sh_simple(struct sh_reader *r, struct shell_command **ret_command);
/* NAME=value at r->at, as it may stand before a command word; ret_found false leaves r->at. */
int sh_prefix_assignment(struct sh_reader *r, bool *ret_found);
/* "(" elements ")" of an array */
int sh_elements(struct sh_reader *r, struct shell_assignment *assignment);
/* A redirection at r->at, with its number or {name}; ret_found false leaves r->at. */
int sh_redirection(struct sh_reader *r, struct shell_redirection ***tail, bool *ret_found);
int sh_redirections(struct sh_reader *r, struct shell_command *command);
void sh_settle_stdin(struct shell_command *command);
int sh_here_documents(struct sh_reader *r);

/* ---- words.c ---- */
struct sh_word_node {
	struct sh_word_node *next;
	struct shell_word *word;
};
struct sh_words {			/* a list of words while its length is not known; an array in the end. Does not move. */
	struct sh_word_node *first, **tail;
	size_t nr;
};
void sh_words_begin(struct sh_words *words);
int sh_words_add(struct sh_reader *r, struct sh_words *words, struct shell_word *word);
/* Words that a plain {a,b} stands for, or the word itself. */
int sh_words_add_braces(struct sh_reader *r, struct sh_words *words, struct shell_word *word);
int sh_words_end(struct sh_reader *r, const struct sh_words *words, struct shell_word ***ret_array, size_t *ret_nr);

/* ---- word.c ---- */
enum sh_place {
	PLACE_ARGUMENT,
	PLACE_COMMAND,			/* the first word: what is a pattern with parentheses there is not modelled */
	PLACE_ASSIGNED,			/* behind NAME=: no braces, no globs; a tilde after a colon */
	PLACE_TARGET,			/* of a redirection */
	PLACE_DELIMITER,		/* of a here-document: nothing expands */
	PLACE_PATTERN,			/* case */
	PLACE_TEST,			/* [[ ]] */
	PLACE_REGEX,			/* right of =~ */
};

struct sh_builder {			/* a word being read */
	size_t mark;			/* in scratch: its literal bytes */
	size_t flushed;			/* literal bytes up to here are parts already */
	unsigned why;
	bool quoted, odd, many;
	struct shell_part *parts, **tail;
};

enum sh_quote { QUOTE_NONE, QUOTE_DOUBLE, QUOTE_OPERAND /* ${…} between double quotes */, QUOTE_HERE };

/* ret_word stays NULL where no word begins. */
int sh_word(struct sh_reader *r, enum sh_place place, struct shell_word **ret_word);
void sh_builder_begin(struct sh_reader *r, struct sh_builder *b);
void sh_literal(struct sh_reader *r, struct sh_builder *b, char c);
int sh_part(struct sh_reader *r, struct sh_builder *b, unsigned why, bool quoted, struct bytes text);
int sh_builder_end(struct sh_reader *r, struct sh_builder *b, size_t from, struct shell_word **ret_word);
/* The body of a here-document or a PS4, into r->result: expansions as in double quotes, but quotes are bytes. */
int sh_body_text(struct sh_reader *r);

/* ---- quote.c: r->at is behind the opening quote ---- */
int sh_single_quotes(struct sh_reader *r, struct sh_builder *b);
int sh_double_quotes(struct sh_reader *r, struct sh_builder *b, bool arithmetic);
int sh_ansi_quotes(struct sh_reader *r, struct sh_builder *b);
/* A quote where bash's scanner and its expander disagree: fine when nothing in it could matter to either. */
int sh_plain_quotes(struct sh_reader *r, char quote);

/* ---- dollar.c, parameter.c, arithmetic.c ---- */
/* r->at is at the $ */
int sh_dollar(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote);
/* r->at is behind the opening backquote */
int sh_backquotes(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote);
/* r->at is at < or > of <( or >( */
int sh_process(struct sh_reader *r, struct sh_builder *b);
/* Behind "$(" : commands up to ")". */
int sh_substitution(struct sh_reader *r, enum shell_relation relation);
/* Behind "${" */
int sh_parameter(struct sh_reader *r, struct sh_builder *b, size_t from, enum sh_quote quote);
/* An expression up to what ends it; ret_names: more than numbers in it. */
enum sh_expression {
	EXPRESSION_PARENTHESES,		/* "))" ; ret_closed false and no error: it is not arithmetic */
	EXPRESSION_BRACKET,		/* "]" */
	EXPRESSION_BRACE,		/* "}", which stays */
	EXPRESSION_FOR,			/* ";" or "))" in for (( */
	EXPRESSION_TEXT,		/* the end of the text */
};
int sh_expression(struct sh_reader *r, enum sh_expression kind, bool *ret_closed, bool *ret_names);
/* [subscript] ; r->at behind the bracket; evaluations recorded */
int sh_subscript(struct sh_reader *r, struct bytes *ret_source);
/* r->at at "((" : the expression and its end, or ret_closed false with r->at unmoved */
int sh_double_parentheses(struct sh_reader *r, bool *ret_closed, bool *ret_names);
/* A name at r->at without the continuations in it; empty where there is none. */
int sh_name(struct sh_reader *r, struct bytes *ret_name);

/* An expansion that is a number whatever happens: $#, $?, ${#x}. */
bool sh_is_count(const struct shell_part *part);

/* ---- variables.c ---- */
/* Variables that mean something to the shell itself. with_value: sh_special_values() will look at what it gets. */
int sh_special_name(struct sh_reader *r, size_t at, struct bytes name, bool with_value);
int sh_special_values(struct sh_reader *r, struct shell_command *command);
/* A name that is an array somewhere in the text: a declaration of it may evaluate "(…)" in a value. */
int sh_array(struct sh_reader *r, struct bytes name);
/* "(…)" as the static value of a declaration. */
int sh_declared_elements(struct sh_reader *r, struct bytes text);
int sh_array_declarations(struct sh_reader *r);

/* ---- builtins.c, builtin_names.c, builtin_options.c ---- */
/* Reads what a complete simple command makes the shell evaluate. */
int sh_builtin(struct sh_reader *r, struct shell_command *command);
/* A word evaluated as an expression, or that is the name of a variable: a subscript in it is evaluated. */
int sh_evaluated_expression(struct sh_reader *r, struct shell_command *command, struct shell_word *word);
int sh_evaluated_name(struct sh_reader *r, struct shell_command *command, struct shell_word *word);

struct sh_call {			/* a builtin's own words */
	struct shell_command *command;
	struct shell_word **words;	/* words[0] is the builtin's name; NULL-terminated */
};
/* The builtins by what their words are. */
int sh_builtin_declare(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_test(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_printf(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_read(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_unset(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_wait(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_getopts(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_set(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_shopt(struct sh_reader *r, const struct sh_call *call);
int sh_builtin_alias(struct sh_reader *r, const struct sh_call *call);

/* Options as bash's builtins read them: clusters, values glued or next, "--". */
struct sh_options {
	struct shell_word **next;	/* in the end: the first operand */
	const char *spec;		/* letters; those with a ":" behind take a value */
	const char *cluster;		/* rest of a word of letters */
	size_t cluster_len;
	struct shell_word *value;	/* of the last option; NULL when none was given */
	struct bytes glued;		/* the value when it was glued to its letter */
	bool opaque;			/* next is dynamic and may be an option */
};
/* The next letter, or 0 where operands begin. */
char sh_option(struct sh_options *o);
