/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic: where an expression ends, which commands it holds, and whether it names variables.
 *
 * A variable's value is evaluated in turn, and a subscript in it runs commands: only an expression of numbers is harmless.
 * Quoting in arithmetic is removed once and expanded again by some versions: what depends on that is a problem.
 */
#include "supervisor/analyze/reading.h"

struct expression {
	enum sh_expression kind;
	size_t from, parentheses, brackets;
	bool names;
};

bool sh_is_count(const struct shell_part *part)
{
	if (part->why == SHELL_ARITHMETIC)
		return true;
	if (part->why != SHELL_PARAMETER || part->text.len == 0)
		return false;
	return part->text.len == 1 ? strchr("#?$!", part->text.data[0]) != NULL : bytes_start(part->text, bytes_of("${#"));
}

/* An expansion or a quoted piece: read for what is in it. */
static int expansion(struct sh_reader *r, struct expression *e, int c)
{
	struct sh_builder b;

	sh_builder_begin(r, &b);
	switch (c) {
	case '\'':
		e->names = true;
		sh_skip(r);
		return sh_plain_quotes(r, '\'');
	case '"':
		sh_skip(r);
		TRY(sh_double_quotes(r, &b, true));
		break;
	case '`':
		sh_skip(r);
		TRY(sh_backquotes(r, &b, QUOTE_OPERAND));
		break;
	default:
		TRY(sh_dollar(r, &b, QUOTE_OPERAND));
	}
	e->names |= c != '$' || !b.parts || !sh_is_count(b.parts);
	r->scratch_used = b.mark;
	return 0;
}

/* Names and numbers, whose letters are not names: 0x1f, 16#ff. */
static void operand(struct sh_reader *r, struct expression *e, int c)
{
	bool number = sh_is_digit(c);

	e->names |= !number;
	while (sh_is_name(c) || (number && (c == '#' || c == '@'))) {
		sh_skip(r);
		c = sh_peek(r);
	}
}

/* A closing parenthesis; ret_ended with ret_closed where it ends the expression, or shows that it was none. */
static int close_parenthesis(struct sh_reader *r, struct expression *e, bool *ret_ended, bool *ret_closed)
{
	if (e->parentheses > 0) {
		e->parentheses--;
		sh_skip(r);
		return 0;
	}
	if (e->kind != EXPRESSION_PARENTHESES && e->kind != EXPRESSION_FOR) {
		sh_skip(r);
		return 0;
	}
	*ret_ended = true;
	*ret_closed = sh_peek_next(r) == ')';
	sh_skip(r);
	if (*ret_closed) {
		(void)sh_peek(r);
		sh_skip(r);
		return 0;
	}
	return e->kind == EXPRESSION_FOR ? sh_problem(r, r->at, "a loop's arithmetic has no end") : 0;
}

/* What ends an expression of this kind. */
static bool ends(const struct expression *e, int c)
{
	switch (e->kind) {
	case EXPRESSION_BRACKET:
		return c == ']' && e->brackets == 0;
	case EXPRESSION_BRACE:
		return c == '}';
	case EXPRESSION_FOR:
		return c == ';';
	case EXPRESSION_TEXT:
		return c == -1;
	default:
		return false;
	}
}

static int piece(struct sh_reader *r, struct expression *e, int c, bool *ret_ended, bool *ret_closed)
{
	switch (c) {
	case -1:
		return sh_problem(r, e->from, "an arithmetic expression is not closed");
	case '(':
		e->parentheses++;
		break;
	case ')':
		return close_parenthesis(r, e, ret_ended, ret_closed);
	case '[':
		e->brackets++;
		break;
	case ']':
		e->brackets -= e->brackets > 0;
		break;
	case '\\':
		return sh_problem(r, r->at, "a backslash in arithmetic is not modelled");
	case '$': case '`': case '\'': case '"':
		return expansion(r, e, c);
	default:
		if (sh_is_name(c)) {
			operand(r, e, c);
			return 0;
		}
	}
	sh_skip(r);
	return 0;
}

int sh_expression(struct sh_reader *r, enum sh_expression kind, bool *ret_closed, bool *ret_names)
{
	struct expression e = { .kind = kind, .from = r->at };
	bool ended = false;
	int c;

	*ret_closed = false;
	while (!ended) {
		c = sh_peek(r);
		if (ends(&e, c)) {
			*ret_closed = kind != EXPRESSION_FOR;
			if (kind == EXPRESSION_BRACKET || kind == EXPRESSION_FOR)
				sh_skip(r);
			break;
		}
		TRY(piece(r, &e, c, &ended, ret_closed));
	}
	*ret_names = e.names;
	return 0;
}

int sh_subscript(struct sh_reader *r, struct bytes *ret_source)
{
	size_t from = r->at;
	bool closed, names;

	TRY(sh_enter(r));
	TRY(sh_expression(r, EXPRESSION_BRACKET, &closed, &names));
	sh_leave(r);
	*ret_source = (struct bytes){ r->text + from, r->at - 1 - from };
	return names ? sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, from, *ret_source, NULL) : 0;
}

int sh_double_parentheses(struct sh_reader *r, bool *ret_closed, bool *ret_names)
{
	struct sh_mark mark = sh_mark(r);
	size_t at = r->at;

	*ret_closed = false;
	if (r->not_arithmetic[at / 8] & (1u << at % 8))
		return 0;
	TRY(sh_enter(r));
	sh_skip(r);
	(void)sh_peek(r);
	sh_skip(r);
	TRY(sh_expression(r, EXPRESSION_PARENTHESES, ret_closed, ret_names));
	sh_leave(r);
	if (*ret_closed)
		return 0;
	TRY(sh_work(r, r->at - at));
	r->not_arithmetic[at / 8] |= (unsigned char)(1u << at % 8);
	sh_return(r, &mark);
	return 0;
}
