/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools' own parsers, after their manuals: getopt_long(3), getopt_long_only(3), Go's flag package, find(1), dd(1).
 *
 * Where a word cannot be known (the shell makes it while it runs) everything it could be counts. An option that is not in the data is
 * EFFECT_UNKNOWN, never nothing.
 */
#include "supervisor/judge/walk.h"

#include <string.h>

/* ---- styles ---- */

static bool is_option(const struct walk *w, const char *word, uint8_t flags)
{
	if (w->operands_only || walk_style(w) == STYLE_WORDS)
		return false;
	return word[0] == '-' && word[1] && !(flags & WORD_OPERAND);
}

/* "--include=*.py" stays that option, whatever files there are. */
static bool keeps_its_option(const struct walk *w, const char *word, uint8_t flags)
{
	size_t len = strcspn(word, "=");

	return flags & WORD_GLOB && strncmp(word, "--", 2) == 0 && word[len] && strcspn(word, "*?[") > len && options_find(w, word, len, false).name;
}

static void take_word(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	if (word_may_be_option(flags) && !keeps_its_option(w, word, flags) && !w->operands_only && walk_style(w) != STYLE_WORDS && options_may_harm(w))
		walk_add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
	if (!is_option(w, word, flags)) {
		operands_take(w, word, flags, at);
	} else if (strcmp(word, "--") == 0) {
		const struct found found = options_find(w, word, 2, false);	/* git checkout -- FILE means more than the end of options */

		if (found.name)
			options_take(w, &found, NULL, flags, at);
		w->operands_only = true;
	} else if (word[1] == '-') {
		options_take_long(w, word, 2, flags, at);
	} else if (walk_style(w) == STYLE_SINGLE || walk_style(w) == STYLE_GO) {
		if (!options_take_single(w, word, flags, at)) {
			if (walk_style(w) == STYLE_SINGLE)
				options_take_cluster(w, word + 1, flags, at);
			else if (options_matter(w))
				walk_add_unknown(w, word);
		}
	} else if (options_find_exact(walk_leaf(w), word, strcspn(word, "=")) && word[2] && word[2] != '=') {
		options_take_single(w, word, flags, at);	/* a few tools of this style have names of several letters after one dash */
	} else {
		options_take_cluster(w, word + 1, flags, at);
	}
}

/* "tar xf a": the letters of the first word, whose values are the words after it, in order. */
static void take_bundle(struct walk *w, const char *word)
{
	for (word += *word == '-'; *word; word++) {
		const char name[] = { '-', *word, '\0' };
		const struct found found = options_find(w, name, 2, false);

		if (!found.name)
			walk_add_unknown(w, w->words.text[1]);
		else
			options_take(w, &found, NULL, WORD_STATIC, w->at);
	}
}

static void take_expression(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	struct found found;

	if (word_may_be_option(flags) && !(flags & WORD_GLOB && !options_any_matches(w, word)))
		walk_add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
	if (strchr("(),!", *word) && *word && !word[1])
		return;
	if (*word != '-' || !word[1]) {
		operands_take(w, word, flags, at);
		return;
	}
	found = options_find(w, word, strlen(word), false);
	if (!found.name)
		walk_add_unknown(w, word);
	else
		options_take(w, &found, found.name->prefix ? word + strlen(found.name->name) : NULL, flags, at);
}

static void take_pair(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	const char *equals = strchr(word, '=');
	struct found found = { 0 };

	if (flags & WORD_DYNAMIC && (!equals || flags & WORD_SPLITS))
		walk_add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
	if (equals)
		found = options_find(w, word, (size_t)(equals - word), false);
	if (found.name)
		options_take(w, &found, equals + 1, flags, at);
	else
		walk_add_unknown(w, word);
}

/* ---- the whole ---- */

static bool holds(struct condition when, labels set)
{
	return (set & when.all) == when.all && !(set & when.none);
}

static const struct base_rule *base_rule(const struct command *command, labels set)
{
	size_t i;

	for (i = 0; i < command->nr_bases; i++)
		if (holds(command->bases[i].when, set))
			return &command->bases[i];
	return NULL;
}

/* A subcommand that says nothing of the page means what stands above it. */
static enum page page_of(const struct walk *w, const struct base_rule *base)
{
	size_t i = w->nr_chain;

	if (base && base->page)
		return base->page;
	while (i && !w->chain[i - 1]->page)
		i--;
	return i ? w->chain[i - 1]->page : PAGE_NONE;
}

static void sum_up(struct walk *w)
{
	struct arguments *a = w->ret;
	const struct base_rule *base;
	size_t i;

	if (w->nr_operands == 0)
		a->labels |= LABEL_BARE;
	base = base_rule(walk_leaf(w), a->labels);
	a->effects |= base ? base->effects : walk_leaf(w)->effects;
	a->page = page_of(w, base);
	for (i = 0; i < a->nr_hits; i++) {
		if (holds(a->hits[i].when, a->labels))
			a->effects |= a->hits[i].effects;
		else
			a->hits[i].effects = 0;
	}
	for (i = 0; i < a->nr_items; i++)
		if ((a->items[i].role == ROLE_WRITE || a->items[i].role == ROLE_DELETE) && !holds(a->items[i].when, a->labels))
			a->items[i].role = ROLE_READ;
	if (a->page && a->page < PAGE_CHANGES && a->effects & EFFECT_UNKNOWN)
		a->page = PAGE_CHANGES;
}

/* A tool that looks for its --help among all words before anything else. */
static bool asks_about_itself(const struct command *command, struct words words)
{
	size_t i, n;

	for (i = 1; command->asks.nr && i < words.nr; i++)
		for (n = 0; n < command->asks.nr; n++)
			if (!(words.flags && words.flags[i]) && strcmp(words.text[i], command->asks.items[n]) == 0)
				return true;
	return false;
}

/* "PROGRAM --version" and "PROGRAM --help" only print, for programs that do no worse than work. */
static bool is_query(const struct command *command, struct words words)
{
	const unsigned ordinary = EFFECT_READ | EFFECT_STATE | EFFECT_WRITE | EFFECT_CODE | EFFECT_NETWORK | EFFECT_NETWORK_MUTATE | EFFECT_FETCH |
				  EFFECT_SECRET | EFFECT_SHELL | EFFECT_TYPED | EFFECT_UNSEEN | EFFECT_PERSIST | EFFECT_DYNAMIC | EFFECT_SYSTEM;

	if (asks_about_itself(command, words))
		return true;
	return words.nr == 2 && !(command->effects & ~ordinary) && command->style != STYLE_WORDS && !(words.flags && words.flags[1]) &&
	       (strcmp(words.text[1], "--version") == 0 || strcmp(words.text[1], "--help") == 0);
}

void arguments_parse(const struct command *command, struct words words, labels known, struct arguments *ret)
{
	struct walk w = { .words = words, .at = 1, .chain = { command }, .nr_chain = 1, .ret = ret };

	ret->effects = 0;
	ret->page = command->elsewhere ? PAGE_KEEPS : PAGE_NONE;
	ret->labels = known;
	ret->nr_items = ret->nr_hits = 0;
	ret->command = command;
	if (is_query(command, words)) {
		ret->effects = EFFECT_READ;
		return;
	}
	if (command->bundled && words.nr > 1 && !walk_flags(&w, 1) && strncmp(words.text[1], "--", 2) != 0 && words.text[1][0] != '-') {
		w.at = 2;
		take_bundle(&w, words.text[1]);
	}
	while (w.at < words.nr) {
		size_t at = w.at++;
		const char *word = words.text[at];
		uint8_t flags = walk_flags(&w, at);

		if (walk_style(&w) == STYLE_FIND)
			take_expression(&w, word, flags, at);
		else if (walk_style(&w) == STYLE_PAIRS)
			take_pair(&w, word, flags, at);
		else
			take_word(&w, word, flags, at);
	}
	operands_take_last(&w);
	sum_up(&w);
}

const struct hit *arguments_cause(const struct arguments *arguments, unsigned effects)
{
	size_t i;

	for (i = 0; i < arguments->nr_hits; i++)
		if (arguments->hits[i].effects & effects)
			return &arguments->hits[i];
	return NULL;
}
