/* SPDX-License-Identifier: Apache-2.0 */
/* Operands by their place: subcommands, words with a meaning, command lines inside this one. */
#include "supervisor/judge/walk.h"

#include <string.h>

/* ---- operands ---- */

static bool matches_any(const struct word_list *patterns, const char *text)
{
	size_t i;

	for (i = 0; i < patterns->nr; i++)
		if (glob_match(patterns->items[i], text, false))
			return true;
	return patterns->nr == 0;
}

static void enter_subcommand(struct walk *w, const struct command *command)
{
	w->chain[w->nr_chain++] = command;
	w->ret->command = command;
	w->nr_operands = w->rule = 0;
	w->operands_only = false;
}

static bool take_subcommand(struct walk *w, const char *word, uint8_t flags)
{
	const struct command *command = walk_leaf(w), *other = NULL;
	size_t i, n;

	if (!command->nr_commands || w->nr_operands)
		return false;
	if (w->nr_chain == CHAIN_MAX || flags & WORD_DYNAMIC) {
		walk_add_hit(w, EFFECT_UNKNOWN | EFFECT_DYNAMIC, (struct condition){ 0 }, NULL, word);
		return false;
	}
	for (i = 0; i < command->nr_commands; i++)
		for (n = 0; n < command->commands[i].names.nr; n++) {
			if (strcmp(command->commands[i].names.items[n], "*") == 0)
				other = &command->commands[i];
			else if (glob_match(command->commands[i].names.items[n], word, false)) {
				enter_subcommand(w, &command->commands[i]);
				return true;
			}
		}
	if (!other) {
		walk_add_unknown(w, word);
		return false;
	}
	enter_subcommand(w, other);
	return true;
}

/* The word and all after it are another program's. */
void operands_take_command(struct walk *w, const struct meaning *meaning, size_t from, size_t to)
{
	w->ret->labels |= meaning->sets;
	walk_add_hit(w, meaning->effects, meaning->when, NULL, w->words.text[from]);
	walk_add_item(w, (struct argument){ .role = meaning->role, .text = w->words.text[from], .flags = walk_flags(w, from), .word = from,
				       .nr_words = to - from });
}

/* Which rule speaks for the next operand; NULL when none does. */
static const struct operand_rule *operand_rule(struct walk *w, const char *word, uint8_t flags)
{
	const struct command *command = walk_leaf(w);

	for (; w->rule < command->nr_operands; w->rule++) {
		const struct operand_rule *rule = &command->operands[w->rule];

		if (rule->last || rule->meaning.absent_if & w->ret->labels || (rule->match.nr && (flags & WORD_DYNAMIC || !matches_any(&rule->match, word))))
			continue;
		if (!rule->many)
			w->rule++;
		return rule;
	}
	return NULL;
}

/* A word that may become several stands for every operand from here on. */
static void take_splitting(struct walk *w, const char *word)
{
	const struct command *command = walk_leaf(w);
	size_t i;

	for (i = w->rule; i < command->nr_operands; i++) {
		const struct meaning *meaning = &command->operands[i].meaning;

		walk_mean_any(w, meaning, NULL, word);
		walk_add_hit(w, walk_role_effects(meaning->role, word, WORD_DYNAMIC), meaning->when, NULL, word);
		if (meaning->role == ROLE_COMMAND || meaning->role == ROLE_LINE)
			walk_add_hit(w, EFFECT_DYNAMIC, meaning->when, NULL, word);
	}
}

void operands_take(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	const struct command *command = walk_leaf(w);
	const struct operand_rule *rule;

	if (take_subcommand(w, word, flags))
		return;
	if (w->nr_operands++ == 0 && (walk_style(w) == STYLE_POSIX || walk_style(w) == STYLE_GO) && !command->nr_commands)
		w->operands_only = true;
	w->last_operand = at;
	if (flags & WORD_SPLITS)
		take_splitting(w, word);
	rule = operand_rule(w, word, flags);
	if (!rule) {
		if (command->operands_listed && !(command->nr_operands && command->operands[command->nr_operands - 1].last))
			walk_add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
		return;
	}
	if (rule->meaning.role == ROLE_COMMAND || rule->meaning.role == ROLE_LINE) {
		operands_take_command(w, &rule->meaning, at, w->words.nr);
		w->at = w->words.nr;
		return;
	}
	walk_mean(w, &rule->meaning, NULL, word, flags, at);
}

/* cp A B: what B is was known only at the end. */
void operands_take_last(struct walk *w)
{
	const struct command *command = walk_leaf(w);
	const struct operand_rule *rule = command->nr_operands ? &command->operands[command->nr_operands - 1] : NULL;

	if (rule && rule->last && w->nr_operands > 1)
		walk_mean(w, &rule->meaning, NULL, w->words.text[w->last_operand], walk_flags(w, w->last_operand), w->last_operand);
}
