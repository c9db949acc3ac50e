/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PURE: the text of a shell script -> every simple command it can run, wherever it hides. docs/SHELL.md says what is modelled.
 *
 * Mirrors bash's own reading, or the common ground of dash, busybox and bash for `sh`. What it does not model is a problem, never
 * silently skipped: a text without a problem holds no command that is not listed, but for those an evaluation stands for. It may
 * list commands that never run. No file, process or clock is touched; all memory is the caller's arena; any thread.
 */
#pragma once

#include "supervisor/analyze/arena.h"
#include "supervisor/base/bytes.h"

enum shell_dialect {
	SHELL_BASH,		/* bash, not in posix mode, not interactive */
	SHELL_POSIX,		/* sh, dash, ash: whatever they and bash read differently is a problem */
	SHELL_OTHER,		/* zsh, ksh, fish, …: nothing is modelled */
};

struct shell_limits {
	size_t text_bytes;	/* longest text; at most 1 MiB */
	unsigned depth;		/* nested constructs; at most 200 (about 1 KiB of stack each) */
	size_t commands;	/* entries of the answer */
};
#define SHELL_LIMITS ((struct shell_limits){ .text_bytes = 65536, .depth = 64, .commands = 8192 })
/* Enough for any text within SHELL_LIMITS but for odd ones; pages never touched cost nothing. */
#define SHELL_ARENA_BYTES (16u << 20)

/* Why a word is not known before the shell runs. Bits; 0: static. */
enum shell_why {
	SHELL_PARAMETER = 1,		/* $x, ${x…} */
	SHELL_COMMAND = 2,		/* $(…), `…` */
	SHELL_PROCESS = 4,		/* <(…), >(…): a /dev/fd/N */
	SHELL_ARITHMETIC = 8,		/* $((…)), $[…] */
	SHELL_GLOB = 16,
	SHELL_BRACE = 32,
	SHELL_TILDE = 64,
	SHELL_LOCALE = 128,		/* $"…", \u in $'…' */
	SHELL_ARRAY = 256,		/* name=(…) as an argument */
};
/* With these alone, value still holds the typed pattern after quote removal. */
#define SHELL_PATTERNS (SHELL_GLOB | SHELL_BRACE | SHELL_TILDE)

struct shell_part {			/* a dynamic word, piece by piece */
	struct shell_part *next;
	unsigned why;			/* 0: literal, after quote removal */
	bool quoted;			/* an expansion inside quotes: stays in this argument ("$@" and "${a[@]}" may still be many) */
	struct bytes text;		/* literal bytes; a parameter's name; otherwise the source */
};

struct shell_word {
	struct bytes source;		/* as typed */
	size_t offset;			/* in the outermost text (where a nested one began, for texts that are copies) */
	unsigned why;
	bool quoted;			/* some of it was quoted or escaped */
	bool single;			/* exactly one argument, whatever it expands to */
	bool odd;			/* has control or non-ASCII bytes */
	struct bytes value;		/* after quote removal, NUL-terminated; valid when !(why & ~SHELL_PATTERNS), else empty */
	struct bytes prefix;		/* what it certainly begins with; equals value when static */
	struct shell_part *parts;	/* of a dynamic word */
};

enum shell_assigner {
	SHELL_ASSIGN_PREFIX,		/* NAME=value before (or without) a command word */
	SHELL_ASSIGN_DECLARED,		/* an operand of export, declare, readonly, local, typeset; value may be absent */
	SHELL_ASSIGN_LOOP,		/* for, select: elements are the list */
	SHELL_ASSIGN_EXPANSION,		/* ${NAME:=value}; of the enclosing command */
	SHELL_ASSIGN_DESCRIPTOR,	/* {NAME}>file */
	SHELL_ASSIGN_COPROC,		/* coproc NAME */
};

struct shell_assignment {
	struct shell_assignment *next;
	enum shell_assigner by;
	struct shell_command *command;
	size_t offset;
	struct bytes name;
	struct bytes subscript;		/* the source between the brackets; data NULL when there is none */
	bool append;			/* += */
	bool is_array;			/* NAME=(elements), or a loop */
	struct shell_word *value;	/* scalar; or NULL */
	struct shell_word **elements;
	size_t nr_elements;
};

enum shell_redirect {
	SHELL_READ,			/* <  */
	SHELL_WRITE,			/* > >| */
	SHELL_APPEND,			/* >> */
	SHELL_READ_WRITE,		/* <> */
	SHELL_WRITE_BOTH,		/* &> >&file */
	SHELL_APPEND_BOTH,		/* &>> */
	SHELL_DUP_IN,			/* <&N, N<&- : target is digits, digits- or -; a dynamic one may be anything */
	SHELL_DUP_OUT,			/* >&N ; dynamic: may also write a file */
	SHELL_HERE_DOCUMENT,		/* body */
	SHELL_HERE_STRING,		/* target, a newline follows it */
};

struct shell_redirection {
	struct shell_redirection *next;
	enum shell_redirect op;
	size_t offset;
	int fd;				/* explicit or the operator's own; -1 with fd_name */
	struct bytes fd_name;		/* {NAME}> */
	bool clobber;			/* >| */
	struct shell_word *target;	/* NULL for a here-document */
	/* here-document */
	bool verbatim;			/* the delimiter was quoted: nothing expands */
	struct shell_word *body;	/* static: value is what the program reads */
};

enum shell_kind {
	SHELL_SIMPLE,
	SHELL_GROUP, SHELL_SUBSHELL, SHELL_IF, SHELL_FOR, SHELL_SELECT, SHELL_WHILE, SHELL_CASE,
	SHELL_CONDITION,		/* [[ … ]] */
	SHELL_CALCULATION,		/* (( … )) */
	SHELL_DEFINITION,		/* of a function; its body follows with this as parent */
	SHELL_COPROC,
};

enum shell_relation {			/* what a command is to its parent */
	SHELL_TOP,			/* has none */
	SHELL_BODY,			/* a part of a compound command */
	SHELL_FUNCTION_BODY,
	SHELL_CAPTURED,			/* $(…) or `…` in a word of it */
	SHELL_READ_FROM,		/* <(…): the parent reads what it prints */
	SHELL_WRITTEN_TO,		/* >(…): reads what the parent writes there */
	SHELL_EVALUATED,		/* text that the parent, a builtin or an assignment, evaluates */
};

enum shell_context {			/* bits; inherited from parents */
	SHELL_IN_BACKGROUND = 1,
	SHELL_IN_SUBSHELL = 2,		/* what it changes of the shell is lost: (…), pipelines, substitutions, background */
	SHELL_IN_CONDITION = 4,		/* decides an if or while */
	SHELL_IN_LOOP = 8,
	SHELL_IN_FUNCTION = 16,
	SHELL_IN_SUBSTITUTION = 32,
	SHELL_IN_EVALUATION = 64,
	SHELL_CONDITIONAL = 128,	/* may be left out: after && and ||, in if, case, loops, traps */
	SHELL_NEGATED = 256,		/* ! */
	SHELL_TIMED = 512,		/* the keyword time */
};

enum shell_joint {			/* what stands between a pipeline and the one before it, at its first command */
	SHELL_AFTER_ALL,		/* ";", "&", a newline, or nothing: runs however that ended */
	SHELL_AFTER_SUCCESS,		/* && */
	SHELL_AFTER_FAILURE,		/* || */
};

enum shell_stdin {
	SHELL_STDIN_INHERITED,		/* from the parent: shell_stdin_source() follows */
	SHELL_STDIN_PIPE,		/* from pipe_from */
	SHELL_STDIN_REDIRECTED,		/* stdin_redirection */
	SHELL_STDIN_WRITTEN,		/* >(…): what the parent writes there */
	SHELL_STDIN_BACKGROUND,		/* the shell gives /dev/null to a background command */
	SHELL_STDIN_COPROC,
};

struct shell_function;

struct shell_command {
	enum shell_kind kind;
	unsigned index;			/* in script->commands; a parent comes before its children */
	size_t offset;
	struct shell_command *parent;
	enum shell_relation relation;
	unsigned context;
	enum shell_joint joint;
	struct shell_function *function;	/* inside which definition it stands; or NULL */
	struct shell_word **words;	/* SHELL_SIMPLE: NULL-terminated; may be empty */
	size_t nr_words;
	struct shell_assignment *assignments;
	struct shell_redirection *redirections;
	enum shell_stdin stdin_from;
	struct shell_redirection *stdin_redirection;
	struct shell_command *pipe_from, *pipe_to;	/* heads of the neighbours in a pipeline */
	/*
	 * A function of this text that the command's name may mean. With calls_certain it does; otherwise it may as well be
	 * the builtin or program of that name.
	 */
	struct shell_function *calls;
	bool calls_certain;
};

struct shell_function {
	struct shell_function *next;
	struct bytes name;
	struct shell_command *definition;
};

/* Something the shell evaluates whose outcome this reader cannot know: incomplete evidence unless the caller knows better. */
enum shell_evaluates {
	SHELL_EVALUATES_ARITHMETIC,	/* names in arithmetic or a subscript: their values are evaluated, "a[$(cmd)]" runs cmd */
	SHELL_EVALUATES_NAME,		/* a name known at run time only: ${!x}, test -v "$x", read "$x", declare -n */
	SHELL_EVALUATES_TEXT,		/* code known at run time only: eval "$x", trap "$x", ${x@P}, mapfile -C, $"…" */
	SHELL_EVALUATES_FILE,		/* source FILE: word */
	SHELL_EVALUATES_REMAP,		/* hash -p, enable, BASH_CMDS: a name comes to mean another program or builtin */
	SHELL_EVALUATES_PLUGIN,		/* enable -f */
};

struct shell_evaluation {
	struct shell_evaluation *next;
	enum shell_evaluates what;
	size_t offset;
	struct bytes source;
	struct shell_word *word;	/* the operand, where there is one */
	struct shell_command *command;	/* in which */
};

struct shell_script {
	struct shell_command **commands;	/* in the order they begin in the text */
	size_t nr_commands;
	struct shell_function *functions;
	struct shell_evaluation *evaluations;
};

struct shell_problem {
	size_t offset;			/* byte in the text */
	const char *sentence;		/* static, one sentence without a full stop */
};

/*
 * Reads text as -c or eval would. A text that comes to a shell on standard input is read by the commands in it, too: `read x` takes the
 * next line away, and what seemed to be in a here-document runs. There an answer is no more than evidence.
 * Texts that builtins evaluate (eval, trap, let, test -v, declare, …) are read too and their commands listed with
 * SHELL_EVALUATED. Returns 0, -EBADMSG (not a script, or not modelled), -E2BIG (a limit), -ENOMEM (the arena is too small);
 * ret_problem is filled on failure, ret_script only on success. The answer borrows from text and arena.
 */
int shell_read(struct bytes text, enum shell_dialect dialect, struct shell_limits limits, struct arena *arena,
	       struct shell_script *ret_script, struct shell_problem *ret_problem);

/*
 * From which word on a simple command names what runs, past `command`, `builtin`, `exec`, `jobs -x` and their options; nr_words when
 * it names nothing (no word, or `command -v`). ret_opaque: an operand known at run time only stands where an option may.
 */
size_t shell_program_index(const struct shell_command *command, bool *ret_opaque);

/* Where the standard input of a command comes from once inheritance is followed. */
struct shell_source {
	enum shell_stdin from;			/* INHERITED: what the whole script got */
	const struct shell_redirection *redirection;	/* REDIRECTED */
	const struct shell_command *pipe_from;		/* PIPE */
	const struct shell_command *owner;		/* whose stdin_from it is: the command or an ancestor */
};
struct shell_source shell_stdin_source(const struct shell_command *command);

/* What a command line of a shell program makes that shell read. */
enum shell_reads {
	SHELL_READS_NOTHING,		/* --version, --help, -n … */
	SHELL_READS_TEXT,		/* -c: word index */
	SHELL_READS_FILE,		/* word index */
	SHELL_READS_STDIN,
	SHELL_READS_UNKNOWN,		/* why */
};

struct shell_invocation {
	enum shell_reads reads;
	size_t index;			/* of the text or file in words */
	enum shell_dialect dialect;
	bool interactive;		/* -i: startup files, aliases and history may change everything */
	bool login;			/* -l: profiles run first */
	bool startup;			/* --rcfile, --init-file, -O, -o …: a word says what else it does */
	const char *why;		/* a sentence for SHELL_READS_UNKNOWN */
};

/* Whether name (or a path to it) is a shell program; which dialect it speaks. */
bool shell_is_program(struct bytes name, enum shell_dialect *ret_dialect);

/*
 * words[0] is the shell's name as called. Static words alone decide; a dynamic word where an option, text or file may stand gives
 * SHELL_READS_UNKNOWN, or SHELL_READS_TEXT/FILE with a dynamic words[index].
 */
void shell_read_invocation(struct shell_word *const *words, size_t nr_words, struct shell_invocation *ret_invocation);
