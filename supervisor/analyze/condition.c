/* SPDX-License-Identifier: Apache-2.0 */
/*
 * [[ … ]]: words and operators of its own; what stands beside -eq and its like is arithmetic, what follows -v is a name.
 *
 * More is taken than bash takes (newlines, for example): what bash refuses does not run.
 */
#include "supervisor/analyze/reading.h"

static int either(struct sh_reader *r);

static bool is_one_of(const struct shell_word *word, const char *const *list)
{
	for (; *list; list++)
		if (!word->why && !word->quoted && bytes_equal(word->value, bytes_of(*list)))
			return true;
	return false;
}

static const char *const unary_operators[] = { "-a", "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-n", "-o", "-p", "-r", "-s", "-t",
					       "-u", "-v", "-w", "-x", "-z", "-G", "-L", "-N", "-O", "-R", "-S", NULL };
static const char *const name_operators[] = { "-v", "-R", NULL };
static const char *const text_operators[] = { "=", "==", "!=", "-nt", "-ot", "-ef", NULL };
static const char *const number_operators[] = { "-eq", "-ne", "-lt", "-le", "-gt", "-ge", NULL };
static const char *const match_operators[] = { "=~", NULL };
static const char *const closing[] = { "]]", NULL };

static int word_of(struct sh_reader *r, enum sh_place place, struct shell_word **ret_word)
{
	TRY(sh_newlines(r));
	TRY(sh_word(r, place, ret_word));
	if (!*ret_word || is_one_of(*ret_word, closing))
		return sh_problem(r, r->at, "a test in [[ ]] lacks a word");
	return 0;
}

/* "word operator word"; left is read */
static int binary(struct sh_reader *r, struct shell_word *left)
{
	struct sh_mark mark;
	struct shell_word *operator, *right;

	TRY(sh_newlines(r));
	if (sh_take_byte(r, '<') || sh_take_byte(r, '>'))
		return word_of(r, PLACE_TEST, &right);
	mark = sh_mark(r);
	TRY(sh_word(r, PLACE_TEST, &operator));
	if (!operator)
		return 0;
	if (is_one_of(operator, closing)) {
		sh_return(r, &mark);
		return 0;
	}
	if (is_one_of(operator, match_operators))
		return word_of(r, PLACE_REGEX, &right);
	if (is_one_of(operator, text_operators))
		return word_of(r, PLACE_TEST, &right);
	if (!is_one_of(operator, number_operators))
		return sh_problem(r, mark.at, "an operator in [[ ]] is not known");
	TRY(word_of(r, PLACE_TEST, &right));
	TRY(sh_evaluated_expression(r, r->command, left));
	return sh_evaluated_expression(r, r->command, right);
}

/* An operator alone is a word that is tested, as in [[ -n ]] and [[ -f == x ]]. */
static int unary(struct sh_reader *r, struct shell_word *operator)
{
	struct sh_mark mark;
	struct shell_word *operand;

	TRY(sh_newlines(r));
	mark = sh_mark(r);
	TRY(sh_word(r, PLACE_TEST, &operand));
	if (!operand || is_one_of(operand, closing) || is_one_of(operand, text_operators) || is_one_of(operand, number_operators) ||
	    is_one_of(operand, match_operators)) {
		sh_return(r, &mark);
		return binary(r, operator);
	}
	return is_one_of(operator, name_operators) ? sh_evaluated_name(r, r->command, operand) : 0;
}

static int term(struct sh_reader *r)
{
	struct shell_word *word;
	size_t end;

	TRY(sh_newlines(r));
	while (sh_keyword(r, &end) == KEYWORD_NOT) {
		r->at = end;
		TRY(sh_newlines(r));
	}
	if (sh_take_byte(r, '(')) {
		TRY(sh_enter(r));
		TRY(either(r));
		sh_leave(r);
		TRY(sh_newlines(r));
		return sh_take_byte(r, ')') ? 0 : sh_problem(r, r->at, "a parenthesis in [[ ]] is not closed");
	}
	TRY(word_of(r, PLACE_TEST, &word));
	return is_one_of(word, unary_operators) ? unary(r, word) : binary(r, word);
}

static int either(struct sh_reader *r)
{
	int c;

	for (;;) {
		TRY(term(r));
		TRY(sh_newlines(r));
		c = sh_peek(r);
		if ((c != '&' && c != '|') || sh_peek_next(r) != c)
			return 0;
		sh_skip(r);
		(void)sh_peek(r);
		sh_skip(r);
	}
}

int sh_condition(struct sh_reader *r, struct shell_command *command)
{
	struct shell_word *end;

	r->command = command;
	TRY(either(r));
	TRY(sh_newlines(r));
	TRY(sh_word(r, PLACE_TEST, &end));
	if (!end || !is_one_of(end, closing))
		return sh_problem(r, r->at, "a [[ has no ]]");
	return 0;
}
