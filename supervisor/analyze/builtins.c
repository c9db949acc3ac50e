/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builtins that take code: eval, trap, source, mapfile -C, let, …; static text is read on the spot, for the rest an evaluation is left.
 *
 * By name: a function of that name may hide the builtin, then this finds more than runs.
 */
#include "supervisor/analyze/reading.h"

#include "supervisor/base/cleanup.h"

char sh_option(struct sh_options *o)
{
	const struct shell_word *word = *o->next;
	const char *known;
	char letter;

	o->value = NULL;
	o->glued = (struct bytes){ NULL, 0 };
	if (o->cluster_len == 0) {
		if (!word || o->opaque)
			return 0;
		if (word->why) {
			o->opaque = word->prefix.len == 0 || word->prefix.data[0] == '-';
			return 0;
		}
		if (word->value.len < 2 || word->value.data[0] != '-')
			return 0;
		o->next++;
		if (bytes_equal(word->value, bytes_of("--")))
			return 0;
		o->cluster = word->value.data + 1;
		o->cluster_len = word->value.len - 1;
	}
	letter = *o->cluster++;
	o->cluster_len--;
	known = memchr(o->spec, letter, strlen(o->spec));
	if (!known || known[1] != ':')
		return letter;
	if (o->cluster_len) {
		o->glued = (struct bytes){ o->cluster, o->cluster_len };
		o->cluster_len = 0;
	} else if (*o->next) {
		o->value = *o->next++;
	}
	return letter;
}

static size_t words_behind(const struct shell_command *command, size_t i, const char *spec, bool *ret_query, bool *ret_opaque)
{
	struct sh_options o = { .next = command->words + i + 1, .spec = spec };
	char letter;

	*ret_query = false;
	while ((letter = sh_option(&o)))
		*ret_query |= letter == 'v' || letter == 'V' || letter == 'x';
	*ret_opaque |= o.opaque;
	return (size_t)(o.next - command->words);
}

size_t shell_program_index(const struct shell_command *command, bool *ret_opaque)
{
	size_t i = 0, behind;
	bool query;

	*ret_opaque = false;
	while (i < command->nr_words && !command->words[i]->why && !*ret_opaque) {
		struct bytes name = command->words[i]->value;

		if (bytes_equal(name, bytes_of("command"))) {
			i = words_behind(command, i, "pvV", &query, ret_opaque);
			if (query)
				return command->nr_words;
		} else if (bytes_equal(name, bytes_of("builtin"))) {
			i = words_behind(command, i, "", &query, ret_opaque);
		} else if (bytes_equal(name, bytes_of("exec"))) {
			i = words_behind(command, i, "cla:", &query, ret_opaque);
			return i;
		} else if (bytes_equal(name, bytes_of("jobs"))) {
			behind = words_behind(command, i, "lnprsx", &query, ret_opaque);
			return query || *ret_opaque ? behind : i;
		} else {
			break;
		}
	}
	return i;
}

static int evaluation(struct sh_reader *r, const struct sh_call *call, enum shell_evaluates what, struct shell_word *word)
{
	return sh_evaluation(r, what, r->at, word ? word->source : call->words[0]->source, word);
}

/* Text a builtin evaluates as commands. */
static int evaluated_text(struct sh_reader *r, struct shell_command *command, struct bytes text, unsigned context)
{
	struct sh_scope scope = sh_scope(r);

	sh_scope_enter(r, command, SHELL_EVALUATED, SHELL_IN_EVALUATION | context);
	TRY(sh_nested(r, text, command->offset, true, sh_whole_text));
	sh_scope_return(r, &scope);
	return 0;
}

static int evaluated_word(struct sh_reader *r, const struct sh_call *call, struct shell_word *word, unsigned context)
{
	if (word->why)
		return evaluation(r, call, SHELL_EVALUATES_TEXT, word);
	return evaluated_text(r, call->command, word->value, context);
}

/* The words joined by blanks. */
static int join(struct sh_reader *r, struct shell_word **words, struct bytes *ret_text)
{
	size_t len = 0, i;
	char *data;

	for (i = 0; words[i]; i++)
		len += words[i]->value.len + 1;
	data = sh_take(r, len + 1);
	if (!data)
		return -ENOMEM;
	*ret_text = (struct bytes){ data, len };
	for (i = 0; words[i]; i++) {
		memcpy(data, words[i]->value.data, words[i]->value.len);
		data += words[i]->value.len;
		*data++ = ' ';
	}
	return 0;
}

static int builtin_eval(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "" };
	struct bytes text;
	size_t i;

	while (sh_option(&o))
		;
	for (i = 0; o.next[i]; i++)
		if (o.next[i]->why)
			return evaluation(r, call, SHELL_EVALUATES_TEXT, o.next[i]);
	TRY(join(r, o.next, &text));
	return evaluated_text(r, call->command, text, 0);
}

static int builtin_trap(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "lpP" };
	struct shell_word *action;
	char letter;

	while ((letter = sh_option(&o)))
		if (letter == 'l' || letter == 'p' || letter == 'P')
			return 0;
	action = o.next[0];
	if (!action || (!o.next[1] && !action->why))	/* a signal alone: back to its default */
		return 0;
	if (!action->why && (action->value.len == 0 || bytes_equal(action->value, bytes_of("-")) || sh_bytes_digits(action->value)))
		return 0;
	return evaluated_word(r, call, action, SHELL_CONDITIONAL);
}

static int builtin_source(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "p:" };

	while (sh_option(&o))
		;
	return evaluation(r, call, SHELL_EVALUATES_FILE, o.next[0]);
}

static int builtin_let(struct sh_reader *r, const struct sh_call *call)
{
	size_t i;

	for (i = 1; call->words[i]; i++)
		TRY(sh_evaluated_expression(r, call->command, call->words[i]));
	return 0;
}

/* mapfile -C CODE; the shell appends an index and the line to CODE, so that not even static code is known in full. */
static int builtin_mapfile(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "d:n:O:s:tu:C:c:" };
	char letter;

	while ((letter = sh_option(&o))) {
		if (letter != 'C')
			continue;
		TRY(evaluation(r, call, SHELL_EVALUATES_TEXT, o.value));
		if (o.glued.len)
			TRY(evaluated_text(r, call->command, o.glued, 0));
		else if (o.value && !o.value->why)
			TRY(evaluated_text(r, call->command, o.value->value, 0));
	}
	if (o.opaque)
		return evaluation(r, call, SHELL_EVALUATES_TEXT, *o.next);
	if (*o.next && !(*o.next)->why)
		TRY(sh_array(r, (*o.next)->value));
	return *o.next ? sh_evaluated_name(r, call->command, *o.next) : 0;
}

/* compgen, complete, bind, fc: what they run, now or later, this reader does not follow. */
static int builtin_opaque(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "o:A:G:W:F:C:X:P:S:" };
	char letter;

	if (!call->words[1])
		return 0;
	while ((letter = sh_option(&o)))
		if (letter == 'C' && o.value && !o.value->why)
			TRY(evaluated_text(r, call->command, o.value->value, 0));
	return evaluation(r, call, SHELL_EVALUATES_TEXT, call->words[1]);
}

static int builtin_hash(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "p:" };
	char letter;
	bool maps = false;

	while ((letter = sh_option(&o)))
		maps |= letter == 'p';
	return maps || o.opaque ? evaluation(r, call, SHELL_EVALUATES_REMAP, call->words[1]) : 0;
}

static int builtin_enable(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "f:" };
	char letter;
	bool plugin = false;

	while ((letter = sh_option(&o)))
		plugin |= letter == 'f';
	if (!call->words[1])
		return 0;
	return evaluation(r, call, plugin || o.opaque ? SHELL_EVALUATES_PLUGIN : SHELL_EVALUATES_REMAP, call->words[1]);
}

static const struct {
	const char *name;
	int (*read)(struct sh_reader *r, const struct sh_call *call);
} builtins[] = {
	{ ".", builtin_source }, { "[", sh_builtin_test }, { "alias", sh_builtin_alias }, { "bind", builtin_opaque },
	{ "compgen", builtin_opaque }, { "complete", builtin_opaque }, { "declare", sh_builtin_declare }, { "enable", builtin_enable },
	{ "eval", builtin_eval }, { "export", sh_builtin_declare }, { "fc", builtin_opaque }, { "getopts", sh_builtin_getopts },
	{ "hash", builtin_hash }, { "let", builtin_let }, { "local", sh_builtin_declare }, { "mapfile", builtin_mapfile },
	{ "printf", sh_builtin_printf }, { "read", sh_builtin_read }, { "readarray", builtin_mapfile }, { "readonly", sh_builtin_declare },
	{ "set", sh_builtin_set }, { "shopt", sh_builtin_shopt }, { "source", builtin_source }, { "test", sh_builtin_test },
	{ "trap", builtin_trap }, { "typeset", sh_builtin_declare }, { "unset", sh_builtin_unset }, { "wait", sh_builtin_wait },
};

int sh_builtin(struct sh_reader *r, struct shell_command *command)
{
	bool opaque;
	size_t first = shell_program_index(command, &opaque), i;
	struct sh_call call = { command, command->words + first };

	if (first < command->nr_words && !command->words[first]->why)
		for (i = 0; i < ARRAY_SIZE(builtins); i++)
			if (bytes_equal(call.words[0]->value, bytes_of(builtins[i].name)))
				TRY(builtins[i].read(r, &call));
	return sh_special_values(r, command);
}
