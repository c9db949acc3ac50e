/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builtins that take the names of variables: a subscript in a name is evaluated as arithmetic, which runs the commands in it
 * (test -v, printf -v, read, unset, declare, …), and declarations assign.
 */
#include "supervisor/analyze/reading.h"

static int read_expression(struct sh_reader *nested)
{
	bool closed, names;

	TRY(sh_expression(nested, EXPRESSION_TEXT, &closed, &names));
	return names ? sh_evaluation(nested, SHELL_EVALUATES_ARITHMETIC, 0, sh_slice(nested, 0), NULL) : 0;
}

static int expression_text(struct sh_reader *r, struct shell_command *command, struct bytes text)
{
	struct sh_scope scope = sh_scope(r);

	r->command = command;
	TRY(sh_nested(r, text, command->offset, true, read_expression));
	sh_scope_return(r, &scope);
	return 0;
}

static bool is_number(const struct shell_word *word)
{
	const struct shell_part *part;

	for (part = word->parts; part; part = part->next)
		if (part->why ? !sh_is_count(part) : !sh_bytes_digits(part->text))
			return false;
	return true;
}

static int unknown_name(struct sh_reader *r, struct shell_word *word)
{
	return sh_evaluation(r, SHELL_EVALUATES_NAME, r->at, word->source, word);
}

int sh_evaluated_expression(struct sh_reader *r, struct shell_command *command, struct shell_word *word)
{
	if (!word->why)
		return expression_text(r, command, word->value);
	return is_number(word) ? 0 : sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, r->at, word->source, word);
}

/* Up to the "=" of an assignment whose left side it is. */
static struct bytes left_side(struct bytes b)
{
	size_t i;

	for (i = 0; i < b.len; i++)
		if (b.data[i] == '=' && (!memchr(b.data, '[', i) || b.data[i - 1] == ']' || (i > 1 && b.data[i - 1] == '+' && b.data[i - 2] == ']')))
			return (struct bytes){ b.data, i };
	return b;
}

static int static_name(struct sh_reader *r, struct shell_command *command, struct bytes name)
{
	const char *bracket = name.len ? memchr(name.data, '[', name.len) : NULL;

	if (!bracket)
		return sh_special_name(r, r->at, name, false);
	TRY(sh_special_name(r, r->at, (struct bytes){ name.data, (size_t)(bracket - name.data) }, false));
	return expression_text(r, command, name);
}

int sh_evaluated_name(struct sh_reader *r, struct shell_command *command, struct shell_word *word)
{
	return word->why ? unknown_name(r, word) : static_name(r, command, word->value);
}

/* All operands are names. */
static int names(struct sh_reader *r, const struct sh_call *call, struct shell_word **words)
{
	for (; *words; words++)
		TRY(sh_evaluated_name(r, call->command, *words));
	return 0;
}

/* What stands behind "NAME=" of a declaration, as a word of its own. */
static int declared_value(struct sh_reader *r, const struct shell_word *word, size_t skip_bytes, struct shell_word **ret_value)
{
	struct shell_word *value = sh_take(r, sizeof(*value));

	if (!value)
		return -ENOMEM;
	*value = *word;
	value->prefix = (struct bytes){ word->prefix.data + skip_bytes, word->prefix.len - skip_bytes };
	if (word->value.len >= skip_bytes)
		value->value = (struct bytes){ word->value.data + skip_bytes, word->value.len - skip_bytes };
	*ret_value = value;
	return 0;
}

/* One operand of a declaration: NAME, NAME=value, NAME[subscript]=value. */
static int declared(struct sh_reader *r, const struct sh_call *call, struct shell_word *word, bool array)
{
	struct bytes left = left_side(word->prefix), name = left;
	struct shell_assignment *assignment;
	bool assigns = left.len < word->prefix.len;
	const char *bracket;

	if (word->why & SHELL_ARRAY)
		return 0;
	if (word->why && !assigns)
		return unknown_name(r, word);
	if (left.len && memchr(left.data, '[', left.len))
		TRY(static_name(r, call->command, left));
	if (name.len && name.data[name.len - 1] == '+')
		name.len--;
	bracket = name.len ? memchr(name.data, '[', name.len) : NULL;
	if (bracket)
		name.len = (size_t)(bracket - name.data);
	TRY(sh_assignment(r, SHELL_ASSIGN_DECLARED, r->at, name, &assignment));
	assignment->append = left.len && left.data[left.len - 1] == '+';
	if (bracket)
		assignment->subscript = (struct bytes){ bracket + 1, (size_t)(left.data + left.len - bracket - 1) };
	if (bracket || array)
		TRY(sh_array(r, name));
	if (!assigns)
		return 0;
	TRY(declared_value(r, word, left.len + 1, &assignment->value));
	/* an array's value in quotes is expanded all the same: declare -a 'x=($(cmd))' */
	if (!word->why && assignment->value->value.len && assignment->value->value.data[0] == '(')
		return sh_declared_elements(r, assignment->value->value);
	return 0;
}

int sh_builtin_declare(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "" };
	struct shell_word **word;
	bool array = false;
	char letter;

	while ((letter = sh_option(&o))) {
		array |= letter == 'a' || letter == 'A';
		if (letter == 'i')	/* whatever is assigned to it later is evaluated */
			TRY(sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, r->at, call->words[0]->source, NULL));
		if (letter == 'n')
			TRY(sh_evaluation(r, SHELL_EVALUATES_NAME, r->at, call->words[0]->source, NULL));
	}
	for (word = o.next; *word; word++) {
		if ((*word)->prefix.len && (*word)->prefix.data[0] == '+')
			continue;
		TRY(declared(r, call, *word, array));
	}
	return 0;
}

static bool is_static(const struct shell_word *word, const char *text)
{
	return !word->why && bytes_equal(word->value, bytes_of(text));
}

/* Whether a word may turn out to be a name with code in it. */
static bool may_hold_code(const struct shell_word *word)
{
	return word && (word->why ? !is_number(word) : memchr(word->value.data, '[', word->value.len) != NULL);
}

/*
 * test and [: -v and -R take names. A quoted expansion can be -v itself when a name that is not plain follows; an unquoted one can
 * bring -v and its name along.
 */
int sh_builtin_test(struct sh_reader *r, const struct sh_call *call)
{
	struct shell_word **word;

	for (word = call->words + 1; *word; word++) {
		if ((is_static(*word, "-v") || is_static(*word, "-R")) && word[1])
			TRY(sh_evaluated_name(r, call->command, word[1]));
		else if ((*word)->why && !is_number(*word) && (!(*word)->single || ((*word)->prefix.len == 0 && may_hold_code(word[1]))))
			TRY(unknown_name(r, *word));
	}
	return 0;
}

int sh_builtin_printf(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "v:" };
	struct shell_word **word;
	char letter;

	while ((letter = sh_option(&o))) {
		if (letter == 'v' && o.value)
			TRY(sh_evaluated_name(r, call->command, o.value));
		else if (letter == 'v')
			TRY(static_name(r, call->command, o.glued));
	}
	if (!o.opaque)
		return 0;
	for (word = o.next + 1; *word; word++)
		if (may_hold_code(*word))
			return unknown_name(r, *o.next);
	return (*o.next)->single ? 0 : unknown_name(r, *o.next);
}

int sh_builtin_read(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "a:d:i:n:p:t:u:N:" };
	char letter;

	while ((letter = sh_option(&o))) {
		if (letter == 'a' && o.value && !o.value->why)
			TRY(sh_array(r, o.value->value));
		if (letter == 'a' && o.value)
			TRY(sh_evaluated_name(r, call->command, o.value));
		else if (letter == 'a')
			TRY(static_name(r, call->command, o.glued));
		else if (o.value && !o.value->single)	/* splits: a name behind it */
			TRY(unknown_name(r, o.value));
	}
	return names(r, call, o.next);
}

int sh_builtin_unset(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "fvn" };

	r->answer->unsets_functions = true;
	while (sh_option(&o))
		;
	return names(r, call, o.next);
}

int sh_builtin_wait(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "p:" };
	char letter;

	while ((letter = sh_option(&o))) {
		if (letter == 'p' && o.value)
			TRY(sh_evaluated_name(r, call->command, o.value));
		else if (letter == 'p')
			TRY(static_name(r, call->command, o.glued));
	}
	return o.opaque && !is_number(*o.next) && *(o.next + 1) ? unknown_name(r, *o.next) : 0;
}

int sh_builtin_getopts(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "" };

	while (sh_option(&o))
		;
	if (*o.next && !(*o.next)->single)
		return unknown_name(r, *o.next);
	return *o.next && o.next[1] ? sh_evaluated_name(r, call->command, o.next[1]) : 0;
}
