/* SPDX-License-Identifier: Apache-2.0 */
/* What a command line was found to do so far: effects with their conditions, and words with their roles. */
#include "supervisor/judge/walk.h"

#include <string.h>

const struct command *walk_leaf(const struct walk *w)
{
	return w->chain[w->nr_chain - 1];
}

/* A subcommand parses as its command does unless it says otherwise. */
enum style walk_style(const struct walk *w)
{
	size_t i = w->nr_chain;

	while (i-- > 1)
		if (w->chain[i]->style != STYLE_INHERIT)
			return w->chain[i]->style;
	return w->chain[0]->style;
}

uint8_t walk_flags(const struct walk *w, size_t word)
{
	return w->words.flags ? w->words.flags[word] : WORD_STATIC;
}

/* Of a pattern each name begins as the pattern does; a value that is split may hold anything behind its first blank. */
bool word_may_be_option(uint8_t flags)
{
	return flags & WORD_DYNAMIC && (!(flags & WORD_OPERAND) || (flags & WORD_SPLITS && !(flags & WORD_GLOB)));
}

/* ---- what was found ---- */

void walk_add_hit(struct walk *w, unsigned effects, struct condition when, const char *name, const char *value)
{
	struct arguments *a = w->ret;

	if (!effects)
		return;
	if (a->nr_hits == ARGUMENT_HITS_MAX) {
		a->effects |= effects | EFFECT_UNKNOWN;	/* without its condition: nothing is lost */
		return;
	}
	a->hits[a->nr_hits++] = (struct hit){ .effects = effects, .when = when, .name = name, .value = value };
}

void walk_add_unknown(struct walk *w, const char *word)
{
	walk_add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, word, NULL);
}

void walk_add_item(struct walk *w, struct argument item)
{
	struct arguments *a = w->ret;

	if (item.role == ROLE_TEXT)
		return;
	if (a->nr_items == ARGUMENT_ITEMS_MAX)
		walk_add_unknown(w, item.text);
	else
		a->items[a->nr_items++] = item;
}

bool word_is_sink(const char *path)
{
	static const char *const sinks[] = { "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2", "/proc/self/fd/1", "/proc/self/fd/2" };
	size_t i;

	for (i = 0; i < sizeof(sinks) / sizeof(sinks[0]); i++)
		if (strcmp(path, sinks[i]) == 0)
			return true;
	return false;
}

unsigned walk_role_effects(enum role role, const char *text, uint8_t flags)
{
	if (role == ROLE_WRITE)
		return flags & WORD_DYNAMIC || !word_is_sink(text) ? EFFECT_WRITE : 0;
	if (role == ROLE_DELETE)
		return EFFECT_DELETE;
	/* A helper nobody can name is a program nobody can judge. */
	if ((role == ROLE_PROGRAM || role == ROLE_SHELL) && flags & WORD_DYNAMIC)
		return EFFECT_DYNAMIC;
	return 0;
}

static bool rule_matches_text(const struct value_rule *rule, const char *text)
{
	size_t i;

	for (i = 0; i < rule->match.nr; i++)
		if (glob_match(rule->match.items[i], text, rule->fold))
			return true;
	return rule->match.nr == 0;
}

/* A word that nobody knows may be any of the values. */
void walk_mean_any(struct walk *w, const struct meaning *meaning, const char *name, const char *text)
{
	size_t i;

	walk_add_hit(w, meaning->effects, meaning->when, name, text);
	for (i = 0; i < meaning->nr_values; i++)
		walk_add_hit(w, meaning->values[i].effects, meaning->values[i].when, name, text);
}

/* text is NULL for an option without a value. */
void walk_mean(struct walk *w, const struct meaning *meaning, const char *name, const char *text, uint8_t flags, size_t word)
{
	const struct value_rule *rule = NULL;
	enum role role = meaning->role;
	size_t i;

	w->ret->labels |= meaning->sets;
	if (text && flags & WORD_DYNAMIC) {
		walk_mean_any(w, meaning, name, text);
	} else {
		for (i = 0; text && !rule && i < meaning->nr_values; i++)
			if (rule_matches_text(&meaning->values[i], text))
				rule = &meaning->values[i];
		if (rule) {
			w->ret->labels |= rule->sets;
			role = rule->has_role ? rule->role : role;
		}
		walk_add_hit(w, rule ? rule->effects : meaning->effects, rule ? rule->when : meaning->when, name, text);
	}
	if (!text)
		return;
	/* Not for the sinks: the condition of the option (a dry run) holds for what it writes as well. */
	walk_add_hit(w, walk_role_effects(role, text, flags), rule ? rule->when : meaning->when, name, text);
	walk_add_item(w, (struct argument){ .role = role, .text = text, .flags = flags, .word = word, .nr_words = 1,
				       .when = rule ? rule->when : meaning->when });
}
