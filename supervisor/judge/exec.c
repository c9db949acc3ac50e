/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACTION_EXEC: the effects of a program with these arguments (facts of commands/), then the first rule of the mode that matches them.
 *
 * At the kernel boundary the program is the object that will run, and whatever it executes comes back as a question of its own; in
 * `check` only names are known. A name vouches for a program only where agents cannot put one of their own.
 */
#include "supervisor/judge/judging.h"

#include "supervisor/base/path.h"

#include <limits.h>
#include <string.h>

/* ---- effects ---- */

static bool lists(const struct strings *list, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (strncmp(list->items[i], text, len) == 0 && list->items[i][len] == '\0')
			return true;
	return false;
}

static const struct command_option *find_option(const struct command *command, const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < command->nr_options; i++)
		if (lists(&command->options[i].names, name, len))
			return &command->options[i];
	return NULL;
}

static unsigned effects_with_value(const struct command_option *option, const char *value)
{
	return value && lists(&option->unless, value, strlen(value)) ? 0 : option->effects;
}

/* An abbreviation, or no option of this program that we know: everything it could stand for, and unknown. */
static unsigned abbreviated_effects(const struct command *command, const char *name, size_t len)
{
	unsigned effects = EFFECT_UNKNOWN;
	size_t i, n;

	for (i = 0; i < command->nr_options; i++)
		for (n = 0; n < command->options[i].names.nr; n++)
			if (strncmp(command->options[i].names.items[n], name, len) == 0)
				effects |= command->options[i].effects;
	return effects;
}

/* "--name", "--name=value", "--name" "value". *ret_next is set when the next word is the value. */
static unsigned long_option_effects(const struct command *command, const char *word, const char *next, bool *ret_next)
{
	size_t len = strcspn(word, "=");
	const struct command_option *option = find_option(command, word, len);

	if (!option)
		return abbreviated_effects(command, word, len);
	if (!option->value)
		return option->effects;
	*ret_next = word[len] == '\0';
	return effects_with_value(option, word[len] ? word + len + 1 : next);
}

/* "-abc", "-ovalue", "-o" "value". */
static unsigned cluster_effects(const struct command *command, const char *word, const char *next, bool *ret_next)
{
	unsigned effects = 0;
	const char *letter;

	for (letter = word + 1; *letter; letter++) {
		const char name[2] = { '-', *letter };
		const struct command_option *option = find_option(command, name, 2);

		if (!option)
			return effects | EFFECT_UNKNOWN;
		if (option->value) {
			*ret_next = letter[1] == '\0';
			return effects | effects_with_value(option, letter[1] ? letter + 1 : next);
		}
		effects |= option->effects;
	}
	return effects;
}

/* GNU programs take options anywhere before "--". */
static unsigned option_effects(const struct command *command, const char *const *arguments)
{
	unsigned effects = 0;

	for (; *arguments && strcmp(*arguments, "--") != 0; arguments++) {
		const char *word = *arguments;
		bool takes_next = false;

		if (word[0] != '-' || word[1] == '\0')
			continue;
		if (word[1] == '-')
			effects |= long_option_effects(command, word, arguments[1], &takes_next);
		else
			effects |= cluster_effects(command, word, arguments[1], &takes_next);
		if (takes_next && !*++arguments)
			break;
	}
	return effects;
}

/* The name a program was called by: "-bash" is a login shell. */
static const char *called_name(const char *argv0)
{
	const char *base = path_base(argv0);

	return *base == '-' ? base + 1 : base;
}

static unsigned named_effects(const struct policy *policy, const char *name, const char *const *argv)
{
	const struct command *command = policy_command(policy, name);

	if (!command)
		return EFFECT_UNKNOWN;
	return command->effects | (command->options_listed ? option_effects(command, argv + 1) : 0);
}

/* argv[0] is the caller's to choose: it adds what it is known for, and speaks for the program only where the program asks it (busybox). */
static unsigned program_effects(const struct judging *j, const char *const *argv)
{
	const char *program = path_base(j->action->program), *called = called_name(argv[0]);
	const struct command *command = policy_command(j->policy, program);

	if (command && command->multicall && policy_command(j->policy, called) != command)
		return named_effects(j->policy, called, argv);
	if (strcmp(program, called) == 0 || !policy_command(j->policy, called))
		return named_effects(j->policy, program, argv);
	return named_effects(j->policy, program, argv) | named_effects(j->policy, called, argv);
}

/* In check, "ls" is the image's; "./ls" and "/tmp/ls" are whoever put them there. */
static bool is_agents_own(const struct judging *j, const char *argv0)
{
	char path[PATH_MAX];

	if (j->action->program)
		return path_is_writable(j, j->action->program);
	if (!strchr(argv0, '/'))
		return false;
	return path_normalize(j->action->cwd, argv0, path, sizeof(path)) < 0 || path_is_writable(j, path);
}

bool is_image_shell(const struct judging *j, const char *path)
{
	const struct command *command = policy_command(j->policy, path_base(path));

	return command && command->effects == EFFECT_SHELL && !path_is_writable(j, path);
}

static unsigned exec_effects(const struct judging *j, const char *const *argv)
{
	unsigned effects;

	if (j->action->program)
		effects = program_effects(j, argv);
	else
		effects = named_effects(j->policy, called_name(argv[0]), argv);
	if (j->action->interpreter) {
		effects |= named_effects(j->policy, path_base(j->action->interpreter), argv);
		if (path_is_writable(j, j->action->interpreter))
			effects |= EFFECT_UNKNOWN;
	}
	if (is_agents_own(j, argv[0]))
		effects |= EFFECT_UNKNOWN;
	/* Followed wrappers are judged where nothing can hide: at the exec they make. */
	if (j->policy->wrappers_follow && j->action->program && effects & EFFECT_WRAP)
		effects = (effects & ~(unsigned)EFFECT_WRAP) | EFFECT_RUN;
	return effects;
}

/* ---- rules ---- */

static bool rule_matches(const struct mode_rule *rule, unsigned effects, bool execve)
{
	if (rule->place != PLACE_ANY && (rule->place == PLACE_EXECVE) != execve)
		return false;
	if (!rule->effects)
		return true;
	if (rule->verdict == VERDICT_ALLOW)
		return !(effects & ~rule->effects);
	return effects & rule->effects;
}

static const char *argument_outside(const struct judging *j, const char *const *argv)
{
	for (argv++; *argv; argv++) {
		const char *word = *argv;

		/* An option that holds a path, attached or after "=", is judged by that path. */
		if (*word == '-' && strcmp(word, "-") != 0) {
			const char *slash = strchr(word, '/'), *equals = strchr(word, '=');

			if (path_is_sensitive(j->policy, word) || strstr(word, "..") || strpbrk(word, "~$"))
				return *argv;
			if (!slash && !equals)
				continue;
			word = equals ? equals + 1 : slash;
		}
		if (*word && !path_stays_inside(j, word))
			return *argv;
	}
	return NULL;
}

static void answer_by_rule(const struct judging *j, const struct mode_rule *rule, const char *const *argv)
{
	const struct ruling ruling = { rule->id, rule->origin, rule->hint };
	const char *outside = rule->confined ? argument_outside(j, argv) : NULL;
	struct quoted q, p;
	const char *name = quote_text(&q, j->action->program ? j->action->program : argv[0]);

	if (rule->verdict == VERDICT_DENY) {
		answer_deny(j, rule->tag, ruling, "%s %s.", name, rule->reason);
		return;
	}
	if (outside) {
		answer_deny(j, "outside_root", ruling, "%s names %s, which is outside the project or sensitive.", name,
			    quote_text(&p, outside));
		return;
	}
	answer_allow(j, ruling, "%s %s.", name, rule->reason);
	j->decision->verdict = rule->verdict;	/* allow or review */
}

static void apply_rules(const struct judging *j, const char *const *argv, unsigned effects)
{
	const enum mode mode = j->subject->mode;
	size_t i;

	for (i = 0; i < j->policy->nr_rules[mode]; i++)
		if (rule_matches(&j->policy->rules[mode][i], effects, j->action->program)) {
			answer_by_rule(j, &j->policy->rules[mode][i], argv);
			break;
		}
	j->decision->effects = effects;
}

/* ---- the question ---- */

static void answer_no_program(const struct judging *j)
{
	answer_deny(j, "invalid_request", (struct ruling){ "exec.no_name", CODE_RULE, NULL }, "The command has no program name.");
}

static void judge_words(const struct judging *j, const char *const *argv)
{
	unsigned effects;

	if (!argv || !argv[0] || (!j->action->program && !*path_base(argv[0]))) {
		answer_no_program(j);
		return;
	}
	effects = exec_effects(j, argv);
	if (!environment_loads_code(j) && !transport_allows(j, argv))
		apply_rules(j, argv, effects);
	j->decision->effects = effects;
}

void judge_exec(const struct judging *j)
{
	const char *const *argv = j->action->argv;
	const char *program = j->action->program, *words[WORDS_MAX + 1], *why;
	char storage[TEXT_MAX_BYTES];
	struct quoted q;
	int nr;

	if (program && (path_is_own(j->policy, program) || path_in_list(&j->policy->paths.hidden, j->subject->home, program))) {
		answer_deny(j, "protected_path", (struct ruling){ "path.hidden", { "paths.json", j->policy->paths.hidden.line }, NULL },
			    "The program %s is out of reach for agents.", quote_text(&q, program));
		return;
	}
	if (!j->action->shell_text) {
		judge_words(j, argv);
		return;
	}
	nr = argv && argv[0] ? text_words(argv[0], storage, words, &why) : 0;
	if (nr > 0)
		judge_words(j, words);
	else if (nr == 0)
		answer_no_program(j);
	else
		answer_deny(j, "incomplete_evidence",
			    (struct ruling){ "exec.shell_syntax", CODE_RULE, "issue one plain command with literal arguments" },
			    "The command text needs a shell to be read: %s.", why);
}
