/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables the shell itself looks at: assigning them evaluates text, changes how text is read, or what a name means. And arrays:
 * a declaration of one evaluates a value that looks like "(…)", quoted or not.
 */
#include "supervisor/analyze/reading.h"

struct sh_array_name {
	struct sh_array_name *next;
	struct bytes name;
};

static bool is_one_of(struct bytes name, const char *const *list)
{
	for (; *list; list++)
		if (bytes_equal(name, bytes_of(*list)))
			return true;
	return false;
}

static const char *const modes[] = { "POSIXLY_CORRECT", "BASH_COMPAT", "SHELLOPTS", "BASHOPTS", NULL };
static const char *const texts[] = { "PS0", "PS1", "PS2", "PS3", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", NULL };
static const char *const maps[] = { "BASH_CMDS", "BASH_ALIASES", NULL };
/* Integers from the start: whatever is assigned is evaluated as arithmetic. */
static const char *const integers[] = { "RANDOM", "SRANDOM", "SECONDS", "HISTCMD", "OPTIND", "LINENO", "BASHPID", "EPOCHSECONDS",
					"BASH_SUBSHELL", NULL };

int sh_special_name(struct sh_reader *r, size_t at, struct bytes name, bool with_value)
{
	if (is_one_of(name, modes))
		return sh_problem(r, at, "a variable changes how later text is read");
	if (is_one_of(name, texts))
		return sh_evaluation(r, SHELL_EVALUATES_TEXT, at, name, NULL);
	if (is_one_of(name, maps))
		return sh_evaluation(r, SHELL_EVALUATES_REMAP, at, name, NULL);
	if (!with_value && is_one_of(name, integers))
		return sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, at, name, NULL);
	return 0;
}

int sh_special_values(struct sh_reader *r, struct shell_command *command)
{
	const struct shell_assignment *assignment;

	for (assignment = command->assignments; assignment; assignment = assignment->next)
		if (assignment->value && is_one_of(assignment->name, integers))
			TRY(sh_evaluated_expression(r, command, assignment->value));
	return 0;
}

int sh_array(struct sh_reader *r, struct bytes name)
{
	struct sh_array_name *array;

	/* the same array, element by element */
	if (r->answer->arrays && bytes_equal(r->answer->arrays->name, name))
		return 0;
	array = sh_take(r, sizeof(*array));
	if (!array)
		return -ENOMEM;
	*array = (struct sh_array_name){ r->answer->arrays, name };
	r->answer->arrays = array;
	r->answer->nr_arrays++;
	return 0;
}

static int read_elements(struct sh_reader *nested)
{
	struct shell_assignment unused = { 0 };

	return sh_elements(nested, &unused);
}

int sh_declared_elements(struct sh_reader *r, struct bytes text)
{
	TRY(sh_nested(r, text, r->command->offset, true, read_elements));
	return sh_evaluation(r, SHELL_EVALUATES_TEXT, r->at, text, NULL);
}

static bool is_array(const struct sh_answer *a, struct bytes name)
{
	const struct sh_array_name *array;

	for (array = a->arrays; array; array = array->next)
		if (bytes_equal(array->name, name))
			return true;
	return false;
}

/* Declarations whose value may turn out to be "(…)", once all arrays of the text are known. */
int sh_array_declarations(struct sh_reader *r)
{
	const struct sh_entry *entry;
	const struct shell_assignment *assignment;

	if (!r->answer->arrays)
		return 0;
	for (entry = r->answer->first; entry; entry = entry->next)
		for (assignment = entry->command.assignments; assignment; assignment = assignment->next) {
			struct shell_word *value = assignment->value;

			if (assignment->by != SHELL_ASSIGN_DECLARED || !value || !value->why || value->prefix.len)
				continue;
			TRY(sh_work(r, r->answer->nr_arrays * 4));
			if (!is_array(r->answer, assignment->name))
				continue;
			r->command = assignment->command;
			TRY(sh_evaluation(r, SHELL_EVALUATES_TEXT, assignment->offset, value->source, value));
		}
	return 0;
}
