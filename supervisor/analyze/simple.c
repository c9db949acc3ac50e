/* SPDX-License-Identifier: Apache-2.0 */
/* Simple commands: assignments, words and redirections in one row; and the function definitions that begin like one. */
#include "supervisor/analyze/reading.h"

static bool has_blank(struct bytes b)
{
	size_t i;

	for (i = 0; i < b.len; i++)
		if (strchr(" \t\n;&|()<>", b.data[i]))
			return true;
	return false;
}

/*
 * "[subscript]" and what follows it: ret_assigns when that is "=" or "+=" (which stays). Otherwise r->at is back at the bracket, for
 * an ordinary word; bash takes blanks inside the brackets into that word, which sh_word() does not.
 */
static int subscript(struct sh_reader *r, struct bytes *ret_source, bool *ret_assigns)
{
	struct sh_mark mark = sh_mark(r);
	struct bytes source;
	int c;

	sh_skip(r);
	TRY(sh_subscript(r, &source));
	c = sh_peek(r);
	*ret_assigns = c == '=' || (c == '+' && sh_peek_next(r) == '=');
	if (*ret_assigns) {
		*ret_source = source;
		return 0;
	}
	if (has_blank(source))
		return sh_problem(r, mark.at, "a subscript with blanks is not modelled here");
	TRY(sh_work(r, r->at - mark.at));
	sh_return(r, &mark);
	return 0;
}

/* "=" or "+=" and the value, which may be empty. */
static int assigned_value(struct sh_reader *r, struct shell_assignment *assignment)
{
	struct sh_builder b;

	assignment->append = sh_take_byte(r, '+');
	(void)sh_peek(r);
	sh_skip(r);
	if (sh_peek(r) == '(')
		return sh_elements(r, assignment);
	TRY(sh_word(r, PLACE_ASSIGNED, &assignment->value));
	if (assignment->value)
		return 0;
	sh_builder_begin(r, &b);
	return sh_builder_end(r, &b, r->at, &assignment->value);
}

int sh_prefix_assignment(struct sh_reader *r, bool *ret_found)
{
	size_t at = r->at;
	struct bytes name, source = { NULL, 0 };
	struct shell_assignment *assignment;
	int c;

	*ret_found = false;
	TRY(sh_name(r, &name));
	c = sh_peek(r);
	if (name.len && !sh_is_digit((unsigned char)name.data[0])) {
		if (c == '[' && r->dialect == SHELL_BASH)
			TRY(subscript(r, &source, ret_found));
		else
			*ret_found = c == '=' || (c == '+' && sh_peek_next(r) == '=');
	}
	if (!*ret_found) {
		r->at = at;
		return 0;
	}
	if (c == '+')
		TRY(sh_bash_only(r, "\"+=\" is not the same in every shell"));
	TRY(sh_assignment(r, SHELL_ASSIGN_PREFIX, at, name, &assignment));
	assignment->subscript = source;
	TRY(assigned_value(r, assignment));
	return source.data || assignment->is_array ? sh_array(r, name) : 0;
}

/* One element: [key]=value, or a word. */
static int element(struct sh_reader *r, struct sh_words *words)
{
	struct shell_word *word;
	struct bytes source;
	bool assigns = false;

	if (sh_peek(r) == '[')
		TRY(subscript(r, &source, &assigns));
	if (assigns) {
		sh_take_byte(r, '+');
		(void)sh_peek(r);
		sh_skip(r);
	}
	TRY(sh_word(r, assigns ? PLACE_ASSIGNED : PLACE_ARGUMENT, &word));
	if (word)
		return sh_words_add_braces(r, words, word);
	return assigns ? 0 : sh_problem(r, r->at, "an array has something in it that is no word");
}

int sh_elements(struct sh_reader *r, struct shell_assignment *assignment)
{
	struct sh_words words;
	size_t at = r->at;

	TRY(sh_bash_only(r, "an array is not the same in every shell"));
	TRY(sh_enter(r));
	sh_skip(r);
	sh_words_begin(&words);
	for (;;) {
		sh_blanks(r);
		if (sh_take_byte(r, ')'))
			break;
		if (sh_peek(r) == '\n') {
			if (r->pending)
				return sh_problem(r, r->at, "a here-document's body would begin inside an array");
			sh_skip(r);
			continue;
		}
		if (sh_peek(r) == -1)
			return sh_problem(r, at, "an array is not closed");
		TRY(element(r, &words));
	}
	sh_leave(r);
	assignment->is_array = true;
	return sh_words_end(r, &words, &assignment->elements, &assignment->nr_elements);
}

/* NAME=( behind a declaring builtin: the word ended at the parenthesis. */
static int array_argument(struct sh_reader *r, struct shell_word *word)
{
	struct shell_assignment *assignment;
	struct bytes name = word->value;

	if (word->why || word->quoted || name.len < 2 || name.data[name.len - 1] != '=')
		return 0;
	name.len--;
	if (name.data[name.len - 1] == '+')
		name.len--;
	if (!sh_bytes_name(name))
		return 0;
	TRY(sh_assignment(r, SHELL_ASSIGN_DECLARED, r->at, name, &assignment));
	TRY(sh_elements(r, assignment));
	word->why = SHELL_ARRAY;
	word->value = (struct bytes){ NULL, 0 };
	return 0;
}

static bool may_define(const struct shell_command *command, const struct sh_words *words)
{
	const struct shell_word *word = words->first ? words->first->word : NULL;

	return words->nr == 1 && !command->assignments && !command->redirections && !word->why && !word->quoted;
}

/* "NAME ()": r->at at the parenthesis */
static int definition(struct sh_reader *r, struct shell_command *command, const struct sh_words *words)
{
	if (!may_define(command, words))
		return sh_problem(r, r->at, "a parenthesis stands where none can");
	sh_skip(r);
	sh_blanks(r);
	if (!sh_take_byte(r, ')'))
		return sh_problem(r, r->at, "a parenthesis stands where none can");
	return sh_function(r, command, words->first->word->value);
}

/* bash takes {name[1]}> for a redirection; here it is not one, and must not pass as a word. */
static bool is_subscripted_descriptor(struct sh_reader *r, const struct shell_word *word)
{
	struct bytes s = word->source;
	int c = sh_peek(r);

	return (c == '<' || c == '>') && s.len > 3 && s.data[0] == '{' && s.data[s.len - 1] == '}' && memchr(s.data, '[', s.len);
}

/* The next piece of the command; ret_more false where none is. */
static int piece(struct sh_reader *r, struct shell_command *command, struct sh_words *words, struct shell_redirection ***tail,
		 bool *ret_more)
{
	struct shell_word *word;

	sh_blanks(r);
	TRY(sh_redirection(r, tail, ret_more));
	if (!*ret_more && words->nr == 0)
		TRY(sh_prefix_assignment(r, ret_more));
	if (*ret_more)
		return 0;
	if (sh_peek(r) == '(')
		return definition(r, command, words);
	TRY(sh_word(r, words->nr ? PLACE_ARGUMENT : PLACE_COMMAND, &word));
	*ret_more = word != NULL;
	if (!word)
		return 0;
	if (is_subscripted_descriptor(r, word))
		return sh_problem(r, r->at, "a redirection into an array is not modelled");
	if (words->nr && sh_peek(r) == '(')
		TRY(array_argument(r, word));
	return sh_words_add_braces(r, words, word);
}

int sh_simple(struct sh_reader *r, struct shell_command **ret_command)
{
	struct sh_scope scope = sh_scope(r);
	struct shell_redirection **tail;
	struct sh_words words;
	struct shell_command *command;
	size_t at;
	bool more = true;

	(void)sh_peek(r);
	at = r->at;
	TRY(sh_enter(r));
	TRY(sh_command(r, SHELL_SIMPLE, at, &command));
	r->command = command;
	tail = &command->redirections;
	sh_words_begin(&words);
	while (more && command->kind == SHELL_SIMPLE)
		TRY(piece(r, command, &words, &tail, &more));
	if (command->kind == SHELL_SIMPLE) {
		if (r->at == at)
			return sh_problem(r, at, "a command is missing");
		TRY(sh_words_end(r, &words, &command->words, &command->nr_words));
		TRY(sh_builtin(r, command));
	}
	sh_scope_return(r, &scope);
	sh_leave(r);
	*ret_command = command;
	return 0;
}
