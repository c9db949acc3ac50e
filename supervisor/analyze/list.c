/* SPDX-License-Identifier: Apache-2.0 */
/* Lists, pipelines and what joins them; blanks, comments and newlines between commands. */
#include "supervisor/analyze/reading.h"

void sh_blanks(struct sh_reader *r)
{
	int c;

	while ((c = sh_peek(r)) == ' ' || c == '\t')
		sh_skip(r);
	if (c != '#')
		return;
	/* A comment: here a backslash before the newline is one more byte of it. */
	while (r->at < r->len && r->text[r->at] != '\n')
		r->at++;
}

int sh_newline(struct sh_reader *r)
{
	r->at++;
	return r->pending ? sh_here_documents(r) : 0;
}

int sh_newlines(struct sh_reader *r)
{
	for (;;) {
		sh_blanks(r);
		/* Not sh_peek(): behind a comment a continuation is impossible, elsewhere sh_blanks() has gone past it. */
		if (r->at >= r->len || r->text[r->at] != '\n')
			return 0;
		TRY(sh_newline(r));
	}
}

/* The words of `time`: keyword, -p, --. */
static void time_options(struct sh_reader *r)
{
	size_t at;
	const char *option;

	for (option = "-p"; option; option = strcmp(option, "-p") == 0 ? "--" : NULL) {
		sh_blanks(r);
		at = r->at;
		if (!sh_take_byte(r, option[0]) || !sh_take_byte(r, option[1]) || !sh_at_word_end(r))
			r->at = at;
	}
}

/* Whether a pipeline may be empty here: `time` and `!` alone are commands. */
static bool at_separator(struct sh_reader *r)
{
	int c = sh_peek(r);

	return c == -1 || c == '\n' || c == ';' || c == ')';
}

static int prefixes(struct sh_reader *r, bool *ret_any)
{
	size_t end;

	*ret_any = false;
	for (;; *ret_any = true) {
		sh_blanks(r);
		switch (sh_keyword(r, &end)) {
		case KEYWORD_NOT:
			r->at = end;
			if (sh_peek(r) == '(')
				return sh_problem(r, r->at, "\"!(\" is a pattern or a negated subshell, by an option of the shell");
			r->context |= SHELL_NEGATED;
			break;
		case KEYWORD_TIME:
			TRY(sh_bash_only(r, "\"time\" is a keyword in some shells and a program in others"));
			r->at = end;
			r->context |= SHELL_TIMED;
			time_options(r);
			break;
		default:
			return 0;
		}
	}
}

/* One command of a pipeline: its head entry. */
static int command(struct sh_reader *r, struct shell_command **ret_command)
{
	size_t end;

	*ret_command = NULL;
	sh_blanks(r);
	switch (sh_keyword(r, &end)) {
	case KEYWORD_FUNCTION:
		return sh_function_keyword(r, ret_command);
	case KEYWORD_COPROC:
		return sh_coproc(r, ret_command);
	default:
		break;
	}
	TRY(sh_compound(r, ret_command));
	return *ret_command ? 0 : sh_simple(r, ret_command);
}

/* "|" or "|&" but not "||" */
static int pipe_operator(struct sh_reader *r, bool *ret_found)
{
	*ret_found = false;
	sh_blanks(r);
	if (sh_peek(r) != '|' || sh_peek_next(r) == '|')
		return 0;
	sh_skip(r);
	if (sh_peek(r) == '&') {
		TRY(sh_bash_only(r, "\"|&\" is not the same in every shell"));
		sh_skip(r);
	}
	*ret_found = true;
	return sh_newlines(r);
}

/* What was learned of a pipeline only at its end. */
static void mark_from(struct sh_entry *first, unsigned context)
{
	for (; first; first = first->next)
		first->command.context |= context;
}

static int pipeline(struct sh_reader *r)
{
	unsigned context = r->context;
	struct sh_entry **begun = r->answer->tail;
	struct shell_command *head, *before = NULL;
	bool any, more;

	TRY(prefixes(r, &any));
	if (any && at_separator(r)) {
		r->context = context;
		return 0;
	}
	for (;;) {
		TRY(command(r, &head));
		head->pipe_from = before;
		if (before)
			before->pipe_to = head;
		sh_settle_stdin(head);
		before = head;
		/* negation and timing are the pipeline's, marked on its heads and what is in them */
		TRY(pipe_operator(r, &more));
		if (!more)
			break;
		r->context |= SHELL_IN_SUBSHELL;
	}
	if (head->pipe_from)
		mark_from(*begun, SHELL_IN_SUBSHELL);
	r->context = context;
	return 0;
}

/* Pipelines joined by && and ||. */
static int and_or(struct sh_reader *r)
{
	unsigned context = r->context;
	int c;

	r->joint = SHELL_AFTER_ALL;
	for (;;) {
		TRY(pipeline(r));
		sh_blanks(r);
		c = sh_peek(r);
		if ((c != '&' && c != '|') || sh_peek_next(r) != c)
			break;
		sh_skip(r);
		(void)sh_peek(r);
		sh_skip(r);
		TRY(sh_newlines(r));
		r->context |= SHELL_CONDITIONAL;
		r->joint = c == '&' ? SHELL_AFTER_SUCCESS : SHELL_AFTER_FAILURE;
	}
	r->context = context;
	return 0;
}

/* Standard input of a background command is /dev/null unless something else feeds it. */
static void background(struct sh_entry *first, const struct shell_command *parent, enum shell_relation relation)
{
	struct sh_entry *entry;

	for (entry = first; entry; entry = entry->next) {
		struct shell_command *c = &entry->command;

		c->context |= SHELL_IN_BACKGROUND | SHELL_IN_SUBSHELL;
		if (c->parent == parent && c->relation == relation && c->stdin_from == SHELL_STDIN_INHERITED)
			c->stdin_from = SHELL_STDIN_BACKGROUND;
	}
}

/* Whether what stands here ends the list: the caller decides whether it is the right end. */
static bool at_list_end(struct sh_reader *r)
{
	size_t end;
	int c = sh_peek(r);

	if (c == -1 || c == ')' || (c == ';' && (sh_peek_next(r) == ';' || sh_peek_next(r) == '&')))
		return true;
	switch (sh_keyword(r, &end)) {
	case KEYWORD_UNBRACE: case KEYWORD_DO: case KEYWORD_DONE: case KEYWORD_ELIF: case KEYWORD_ELSE: case KEYWORD_ESAC:
	case KEYWORD_FI: case KEYWORD_THEN:
		return true;
	default:
		return false;
	}
}

/* What may follow an and-or list: ";", "&", a newline, or the end of the list. */
static int separator(struct sh_reader *r, struct sh_entry *first, bool *ret_ended)
{
	int c;

	sh_blanks(r);
	c = sh_peek(r);
	*ret_ended = false;
	if (c == '&') {
		background(first, r->parent, r->relation);
		sh_skip(r);
		return 0;
	}
	if (c == ';' && sh_peek_next(r) != ';' && sh_peek_next(r) != '&') {
		sh_skip(r);
		return 0;
	}
	if (c == '\n')
		return sh_newline(r);
	*ret_ended = true;
	return 0;
}

int sh_list(struct sh_reader *r, size_t *ret_commands)
{
	struct sh_entry **begun;
	size_t nr = 0, from = 0;
	bool ended = false, semicolon = false;

	TRY(sh_enter(r));
	while (!ended) {
		TRY(sh_newlines(r));
		if (at_list_end(r))
			break;
		/* bash 5.2 turns "$(a <<E | b; c" into "$(a <<E | b c" */
		if (semicolon && r->here_seen && r->joins_badly)
			return sh_problem(r, from, "a \";\" behind a here-document inside a substitution is not modelled");
		begun = r->answer->tail;
		TRY(and_or(r));
		nr++;
		from = r->at;
		semicolon = sh_peek(r) == ';';
		TRY(separator(r, *begun, &ended));
	}
	sh_leave(r);
	if (ret_commands)
		*ret_commands = nr;
	return 0;
}
