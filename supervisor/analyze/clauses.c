/* SPDX-License-Identifier: Apache-2.0 */
/* for, select and case: compound commands with words of their own before their lists. */
#include "supervisor/analyze/reading.h"

/* The words behind "in", up to ";" or a newline. */
static int loop_words(struct sh_reader *r, struct shell_assignment *assignment)
{
	struct sh_words words;

	sh_words_begin(&words);
	for (;;) {
		struct shell_word *word;

		sh_blanks(r);
		TRY(sh_word(r, PLACE_ARGUMENT, &word));
		if (!word)
			break;
		TRY(sh_words_add(r, &words, word));
	}
	TRY(sh_words_end(r, &words, &assignment->elements, &assignment->nr_elements));
	if (sh_take_byte(r, ';') || sh_peek(r) == '\n')
		return 0;
	return sh_problem(r, r->at, "the words of a loop have no end");
}

/* for (( ; ; )), r->at at "((" */
static int counted_loop(struct sh_reader *r, struct shell_command *command)
{
	size_t at = r->at, parts = 0;
	bool closed = false, names, any = false;

	TRY(sh_bash_only(r, "\"for ((\" is not the same in every shell"));
	sh_skip(r);
	sh_take_byte(r, '(');
	while (parts++ < 3) {
		TRY(sh_expression(r, EXPRESSION_FOR, &closed, &names));
		any |= names;
		if (closed != (parts == 3))
			return sh_problem(r, at, "a loop's arithmetic does not have three parts");
	}
	if (any)
		TRY(sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, at, sh_slice(r, at), NULL));
	sh_blanks(r);
	sh_take_byte(r, ';');
	return sh_loop_body(r, command);
}

int sh_for(struct sh_reader *r, struct shell_command *command, enum sh_keyword keyword)
{
	struct shell_assignment *assignment;
	struct shell_word *name;
	size_t at;

	r->command = command;
	sh_blanks(r);
	at = r->at;
	if (keyword == KEYWORD_FOR && sh_peek(r) == '(' && sh_peek_next(r) == '(')
		return counted_loop(r, command);
	TRY(sh_word(r, PLACE_ARGUMENT, &name));
	if (!name || name->why || !sh_bytes_name(name->value))
		return sh_problem(r, at, "a loop's variable is not a plain name");
	TRY(sh_assignment(r, SHELL_ASSIGN_LOOP, at, name->value, &assignment));
	assignment->is_array = true;
	sh_blanks(r);
	if (sh_take_byte(r, ';'))
		return sh_loop_body(r, command);
	TRY(sh_newlines(r));
	if (sh_take_keyword(r, KEYWORD_IN))
		TRY(loop_words(r, assignment));
	return sh_loop_body(r, command);
}

/* [(] pattern [| pattern]… ) */
static int patterns(struct sh_reader *r)
{
	struct shell_word *word;

	if (sh_take_byte(r, '('))
		sh_blanks(r);
	for (;;) {
		TRY(sh_word(r, PLACE_PATTERN, &word));
		if (!word)
			return sh_problem(r, r->at, "a pattern is missing");
		/* "(esac)" loses its parenthesis when bash 5.2 prints a substitution to read it again */
		if (!word->why && !word->quoted && bytes_equal(word->value, bytes_of("esac")))
			return sh_problem(r, r->at, "\"esac\" as a pattern is not modelled");
		sh_blanks(r);
		if (sh_take_byte(r, ')'))
			return 0;
		if (!sh_take_byte(r, '|'))
			return sh_problem(r, r->at, "a pattern has no end");
		sh_blanks(r);
	}
}

/* ";;", ";&", ";;&" */
static int clause_end(struct sh_reader *r, bool *ret_found)
{
	*ret_found = false;
	if (sh_peek(r) != ';')
		return 0;
	sh_skip(r);
	*ret_found = true;
	if (sh_take_byte(r, ';') && sh_peek(r) != '&')
		return 0;
	TRY(sh_bash_only(r, "\";&\" is not the same in every shell"));
	return sh_take_byte(r, '&') ? 0 : sh_problem(r, r->at, "a case has a stray semicolon");
}

int sh_case(struct sh_reader *r, struct shell_command *command)
{
	struct sh_scope scope = sh_scope(r);
	struct shell_word *word;
	bool more = true;

	r->command = command;
	sh_blanks(r);
	TRY(sh_word(r, PLACE_ARGUMENT, &word));
	if (!word)
		return sh_problem(r, r->at, "a case has no word");
	TRY(sh_newlines(r));
	if (!sh_take_keyword(r, KEYWORD_IN))
		return sh_problem(r, r->at, "a case has no \"in\"");
	for (;;) {
		TRY(sh_newlines(r));
		if (sh_take_keyword(r, KEYWORD_ESAC))
			break;
		if (!more)
			return sh_problem(r, r->at, "a case has no esac");
		r->command = command;
		TRY(patterns(r));
		sh_scope_enter(r, command, SHELL_BODY, SHELL_CONDITIONAL);
		TRY(sh_list(r, NULL));
		sh_scope_return(r, &scope);
		TRY(clause_end(r, &more));
	}
	sh_scope_return(r, &scope);
	return 0;
}
