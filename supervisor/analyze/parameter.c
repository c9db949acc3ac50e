/* SPDX-License-Identifier: Apache-2.0 */
/* ${…} in all its forms. r->at is behind the brace to begin with. */
#include "supervisor/analyze/reading.h"

struct expansion {
	struct bytes name;
	bool indirect, length;
	bool all;			/* @ or *: may be many arguments */
	bool plain;			/* nothing but a name */
};

static bool is_special(int c)
{
	return c > 0 && strchr("@*#?-$!", c) != NULL;
}

/* A "#" or "!" in front of a name, as opposed to the parameters of that name. */
static void prefix(struct sh_reader *r, struct expansion *e)
{
	int c = sh_peek(r), next = sh_peek_next(r);

	if ((c != '#' && c != '!') || !(sh_is_name(next) || next == '@' || next == '*' || (c == '!' && next == '#')))
		return;
	sh_skip(r);
	*(c == '#' ? &e->length : &e->indirect) = true;
}

static int name(struct sh_reader *r, struct expansion *e)
{
	int c = sh_peek(r);

	if (sh_is_name(c)) {
		TRY(sh_name(r, &e->name));
		if (sh_is_digit(c) && !sh_bytes_digits(e->name))
			return sh_problem(r, r->at, "an expansion's parameter is neither a name nor a number");
		return 0;
	}
	if (!is_special(c))
		return sh_problem(r, r->at, "an expansion is not one this reader knows");
	e->name = (struct bytes){ r->text + r->at, 1 };
	e->all = c == '@' || c == '*';
	sh_skip(r);
	return 0;
}

static int subscript(struct sh_reader *r, struct expansion *e)
{
	struct bytes source;

	if (sh_peek(r) != '[')
		return 0;
	TRY(sh_bash_only(r, "an array is not the same in every shell"));
	sh_skip(r);
	TRY(sh_subscript(r, &source));
	e->all |= source.len == 1 && (source.data[0] == '@' || source.data[0] == '*');
	e->plain = false;
	return 0;
}

/* A quote inside an operand. */
static int operand_quote(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote, char c)
{
	sh_skip(r);
	if (quote == QUOTE_NONE)
		return c == '"' ? sh_double_quotes(r, b, false) : sh_single_quotes(r, b);
	if (c == '"' && quote == QUOTE_OPERAND)
		return sh_double_quotes(r, b, false);
	return sh_plain_quotes(r, c);
}

/* $'\r' between double quotes: by version and operator it is decoded or not, but its end is where it seems when it is this plain. */
static int plain_ansi_quotes(struct sh_reader *r)
{
	size_t at = r->at;

	sh_skip(r);
	(void)sh_peek(r);
	sh_skip(r);
	for (; r->at < r->len; r->at++) {
		if (r->text[r->at] == '\'') {
			r->at++;
			return 0;
		}
		if (r->text[r->at] == '\\' && r->at + 1 < r->len && strchr("abefnrtv01234567x", r->text[r->at + 1]))
			r->at++;
		else if (strchr("$`\\\"{}", r->text[r->at]))
			break;
	}
	return sh_problem(r, at, "\"$'\" inside a quoted expansion may or may not quote what is in it");
}

static int operand_dollar(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote)
{
	int next = sh_peek_next(r);

	if (quote != QUOTE_NONE && next == '"')
		return sh_problem(r, r->at, "\"$\" and a quote inside a quoted expansion are not modelled");
	if (quote != QUOTE_NONE && next == '\'') {
		TRY(sh_bash_only(r, "\"$'\" is not the same in every shell"));
		return plain_ansi_quotes(r);
	}
	return sh_dollar(r, b, quote);
}

/* The word behind an operator, up to the closing brace, which stays. */
static int operand(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote)
{
	int c;

	while ((c = sh_peek(r)) != '}') {
		switch (c) {
		case -1:
			return sh_problem(r, r->at, "an expansion is not closed");
		case '\\':
			r->at++;
			if (r->at >= r->len)
				return sh_problem(r, r->at, "the text ends in a backslash");
			sh_literal(r, b, r->text[r->at++]);
			break;
		case '\'': case '"':
			TRY(operand_quote(r, b, quote, (char)c));
			break;
		case '$':
			TRY(operand_dollar(r, b, quote));
			break;
		case '`':
			sh_skip(r);
			TRY(sh_backquotes(r, b, quote));
			break;
		case '<': case '>':
			if (sh_peek_next(r) == '(')
				return sh_problem(r, r->at, "a process substitution inside an expansion is not modelled");
			/* fallthrough */
		default:
			sh_skip(r);
			sh_literal(r, b, (char)c);
		}
	}
	return 0;
}

/* Reads an operand; with assigns it is what a variable gets. */
static int read_operand(struct sh_reader *r, struct sh_builder *b, const struct expansion *e, enum sh_quote quote, bool assigns)
{
	struct sh_builder inner;
	struct shell_assignment *assignment;
	struct shell_word *word;
	size_t from = r->at;

	sh_builder_begin(r, &inner);
	TRY(operand(r, &inner, quote));
	b->many |= inner.many;
	TRY(sh_builder_end(r, &inner, from, &word));
	if (!assigns)
		return 0;
	TRY(sh_assignment(r, SHELL_ASSIGN_EXPANSION, from, e->name, &assignment));
	assignment->value = word;
	return 0;
}

static int substring(struct sh_reader *r)
{
	size_t from = r->at;
	bool closed, names;

	TRY(sh_bash_only(r, "a substring is not the same in every shell"));
	TRY(sh_expression(r, EXPRESSION_BRACE, &closed, &names));
	return names ? sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, from, sh_slice(r, from), NULL) : 0;
}

/* ${x@P} and its like */
static int transformation(struct sh_reader *r, struct expansion *e)
{
	int c;

	TRY(sh_bash_only(r, "\"@\" in an expansion is not the same in every shell"));
	c = sh_peek(r);
	if (c <= 0 || !strchr("UuLQEPAKak", c))
		return sh_problem(r, r->at, "a transformation is not one this reader knows");
	sh_skip(r);
	return c == 'P' ? sh_evaluation(r, SHELL_EVALUATES_TEXT, r->at, e->name, NULL) : 0;
}

static int operator(struct sh_reader *r, struct sh_builder *b, struct expansion *e, enum sh_quote quote)
{
	int c = sh_peek(r), next = sh_peek_next(r);

	if (c == '}')
		return 0;
	e->plain = false;
	sh_skip(r);
	switch (c) {
	case ':':
		if (next != '-' && next != '=' && next != '?' && next != '+')
			return substring(r);
		(void)sh_peek(r);
		sh_skip(r);
		return read_operand(r, b, e, quote, next == '=');
	case '-': case '=': case '?': case '+': case '#': case '%':
		return read_operand(r, b, e, quote, c == '=');
	case '/': case '^': case ',': case '~':
		TRY(sh_bash_only(r, "an expansion is not the same in every shell"));
		return read_operand(r, b, e, quote, false);
	case '@':
		return transformation(r, e);
	default:
		return sh_problem(r, r->at - 1, "an expansion is not one this reader knows");
	}
}

/* ${!x}: a name in a variable. ${!prefix@}, ${!prefix*} and ${!array[@]} only list names and keys. */
static int indirect(struct sh_reader *r, const struct expansion *e, size_t from)
{
	int c = sh_peek(r);

	TRY(sh_bash_only(r, "indirection is not the same in every shell"));
	if ((e->all && !e->plain && c == '}') || ((c == '@' || c == '*') && sh_peek_next(r) == '}')) {
		if (c != '}')
			sh_skip(r);
		return 0;
	}
	return sh_evaluation(r, SHELL_EVALUATES_NAME, from, e->name, NULL);
}

int sh_parameter(struct sh_reader *r, struct sh_builder *b, size_t from, enum sh_quote quote)
{
	struct expansion e = { .plain = true };

	if (quote == QUOTE_DOUBLE)
		quote = QUOTE_OPERAND;
	TRY(sh_enter(r));
	prefix(r, &e);
	TRY(name(r, &e));
	TRY(subscript(r, &e));
	if (e.indirect) {
		TRY(indirect(r, &e, from));
		e.plain = false;
	}
	e.plain &= !e.length;
	TRY(operator(r, b, &e, quote));
	if (!sh_take_byte(r, '}'))
		return sh_problem(r, r->at, "an expansion is not one this reader knows");
	sh_leave(r);
	b->many |= e.all;
	return sh_part(r, b, SHELL_PARAMETER, quote != QUOTE_NONE, e.plain ? e.name : sh_slice(r, from));
}
