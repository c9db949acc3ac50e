/* SPDX-License-Identifier: Apache-2.0 */
/* Redirections: descriptor, operator, target; and what they and pipes make a command's standard input. */
#include "supervisor/analyze/reading.h"

#define FD_DIGITS 9

/* "<" or ">" that is an operator, not the start of a process substitution. */
static bool at_operator(struct sh_reader *r)
{
	int c = sh_peek(r);

	return (c == '<' || c == '>') && !(r->dialect == SHELL_BASH && sh_peek_next(r) == '(');
}

/* Digits right before an operator. */
static int number(struct sh_reader *r, int *ret_fd)
{
	size_t at = r->at, digits = 0;
	int fd = 0;

	for (; sh_is_digit(sh_peek(r)); digits++) {
		if (digits < FD_DIGITS)
			fd = fd * 10 + r->text[r->at] - '0';
		sh_skip(r);
	}
	if (digits == 0 || !at_operator(r)) {
		r->at = at;
		return 0;
	}
	if (digits > (r->dialect == SHELL_BASH ? FD_DIGITS : 1))
		return sh_problem(r, at, "a descriptor of several digits is not the same in every shell");
	*ret_fd = fd;
	return 0;
}

/* {NAME} right before an operator. */
static int named(struct sh_reader *r, struct bytes *ret_name)
{
	size_t at = r->at;
	struct bytes name;

	if (sh_peek(r) != '{')
		return 0;
	sh_skip(r);
	TRY(sh_name(r, &name));
	if (!sh_bytes_name(name) || !sh_take_byte(r, '}') || !at_operator(r)) {
		r->at = at;
		return 0;
	}
	*ret_name = name;
	return sh_bash_only(r, "a named descriptor is not the same in every shell");
}

/* The operator at r->at. */
static int operator(struct sh_reader *r, struct shell_redirection *redirection, bool *ret_strip_tabs)
{
	bool both = sh_take_byte(r, '&'), read;

	read = sh_peek(r) == '<';
	sh_skip(r);
	redirection->op = read ? SHELL_READ : both ? SHELL_WRITE_BOTH : SHELL_WRITE;
	if (read && sh_take_byte(r, '<')) {
		redirection->op = SHELL_HERE_DOCUMENT;
		*ret_strip_tabs = sh_take_byte(r, '-');
		if (!*ret_strip_tabs && sh_take_byte(r, '<')) {
			redirection->op = SHELL_HERE_STRING;
			return sh_bash_only(r, "a here-string is not the same in every shell");
		}
	} else if (read && sh_take_byte(r, '>')) {
		redirection->op = SHELL_READ_WRITE;
	} else if (!read && sh_take_byte(r, '>')) {
		redirection->op = both ? SHELL_APPEND_BOTH : SHELL_APPEND;
	} else if (!both && sh_take_byte(r, '&')) {
		redirection->op = read ? SHELL_DUP_IN : SHELL_DUP_OUT;
	} else if (!read && !both && sh_take_byte(r, '|')) {
		redirection->clobber = true;
	}
	return 0;
}

/* "-" behind >& is a token of its own in bash, and part of a word in dash. */
static int closing(struct sh_reader *r, struct shell_redirection *redirection)
{
	struct sh_builder b;
	size_t from = r->at;

	sh_builder_begin(r, &b);
	sh_literal(r, &b, '-');
	sh_skip(r);
	if (!sh_at_word_end(r))
		return sh_problem(r, from, "a descriptor is closed and a word goes on");
	return sh_builder_end(r, &b, from, &redirection->target);
}

/* Digits, or digits and a minus. */
static bool is_descriptor(struct bytes b)
{
	if (b.len > 1 && b.data[b.len - 1] == '-')
		b.len--;
	return sh_bytes_digits(b);
}

static int duplicate(struct sh_reader *r, struct shell_redirection *redirection)
{
	if (sh_peek(r) == '-')
		return closing(r, redirection);
	TRY(sh_word(r, PLACE_TARGET, &redirection->target));
	if (!redirection->target)
		return sh_problem(r, r->at, "a redirection has no target");
	if (redirection->target->why || is_descriptor(redirection->target->value))
		return 0;
	if (redirection->op == SHELL_DUP_IN)
		return sh_problem(r, r->at, "input is duplicated from something that is no descriptor");
	redirection->op = SHELL_WRITE_BOTH;
	return 0;
}

static int here_document(struct sh_reader *r, struct shell_redirection *redirection, bool strip_tabs)
{
	struct sh_here *here = sh_take(r, sizeof(*here));
	struct shell_word *delimiter;
	size_t at = r->at;

	if (!here)
		return -ENOMEM;
	TRY(sh_word(r, PLACE_DELIMITER, &delimiter));
	if (!delimiter || (delimiter->why & ~(unsigned)SHELL_PATTERNS) || memchr(delimiter->value.data, '\n', delimiter->value.len))
		return sh_problem(r, at, "a here-document's delimiter is not a plain word");
	/* "<<$'EOF'" means different delimiters to different versions */
	if (memchr(delimiter->source.data, '$', delimiter->source.len))
		return sh_problem(r, at, "a here-document's delimiter has a \"$\" in it");
	redirection->verbatim = delimiter->quoted;
	*here = (struct sh_here){ NULL, r->command, redirection, delimiter->value, strip_tabs };
	r->here_seen = true;
	*r->pending_tail = here;
	r->pending_tail = &here->next;
	return 0;
}

static int target(struct sh_reader *r, struct shell_redirection *redirection, bool strip_tabs)
{
	sh_blanks(r);
	switch (redirection->op) {
	case SHELL_HERE_DOCUMENT:
		return here_document(r, redirection, strip_tabs);
	case SHELL_DUP_IN:
	case SHELL_DUP_OUT:
		return duplicate(r, redirection);
	default:
		TRY(sh_word(r, redirection->op == SHELL_HERE_STRING ? PLACE_ASSIGNED : PLACE_TARGET, &redirection->target));
		return redirection->target ? 0 : sh_problem(r, r->at, "a redirection has no target");
	}
}

static bool is_input(enum shell_redirect op)
{
	return op == SHELL_READ || op == SHELL_READ_WRITE || op == SHELL_DUP_IN || op == SHELL_HERE_DOCUMENT || op == SHELL_HERE_STRING;
}

int sh_redirection(struct sh_reader *r, struct shell_redirection ***tail, bool *ret_found)
{
	struct bytes name = { NULL, 0 };
	struct shell_redirection *redirection;
	struct shell_assignment *assignment;
	size_t at = r->at;
	bool strip_tabs = false;
	int fd = -1;

	*ret_found = false;
	TRY(number(r, &fd));
	TRY(named(r, &name));
	if (sh_peek(r) == '&' && sh_peek_next(r) == '>')
		TRY(sh_bash_only(r, "\"&>\" is not the same in every shell"));
	else if (!at_operator(r))
		return 0;
	redirection = sh_take(r, sizeof(*redirection));
	if (!redirection)
		return -ENOMEM;
	redirection->offset = sh_offset(r, at);
	TRY(operator(r, redirection, &strip_tabs));
	redirection->fd = name.len ? -1 : fd >= 0 ? fd : is_input(redirection->op) ? 0 : 1;
	redirection->fd_name = name;
	if (name.len)
		TRY(sh_assignment(r, SHELL_ASSIGN_DESCRIPTOR, at, name, &assignment));
	TRY(target(r, redirection, strip_tabs));
	**tail = redirection;
	*tail = &redirection->next;
	*ret_found = true;
	return 0;
}

int sh_redirections(struct sh_reader *r, struct shell_command *command)
{
	struct shell_redirection **tail = &command->redirections;
	bool more = true;

	while (more) {
		sh_blanks(r);
		TRY(sh_redirection(r, &tail, &more));
	}
	return 0;
}

void sh_settle_stdin(struct shell_command *command)
{
	struct shell_redirection *redirection;

	if (command->stdin_from == SHELL_STDIN_COPROC)
		return;
	if (command->pipe_from)
		command->stdin_from = SHELL_STDIN_PIPE;
	else if (command->relation == SHELL_WRITTEN_TO)
		command->stdin_from = SHELL_STDIN_WRITTEN;
	for (redirection = command->redirections; redirection; redirection = redirection->next)
		if (redirection->fd == 0) {
			command->stdin_from = SHELL_STDIN_REDIRECTED;
			command->stdin_redirection = redirection;
		}
}
