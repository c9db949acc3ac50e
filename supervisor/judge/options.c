/* SPDX-License-Identifier: Apache-2.0 */
/* Options by their names: exact, abbreviated, clustered, with one dash or two, with the values they take. */
#include "supervisor/judge/walk.h"

#include <ctype.h>
#include <string.h>

/* ---- option names ---- */

static int compare_span(const char *text, size_t len, const char *with)
{
	int r = strncmp(text, with, len);

	return r ? r : -(with[len] != '\0');
}

/* The first name that is not before text. */
static size_t lower_bound(const struct command *command, const char *text, size_t len)
{
	size_t low = 0, high = command->nr_option_names;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_span(text, len, command->option_names[middle].name) <= 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

const struct option_name *options_find_exact(const struct command *command, const char *text, size_t len)
{
	size_t i = lower_bound(command, text, len);

	return i < command->nr_option_names && compare_span(text, len, command->option_names[i].name) == 0 ? &command->option_names[i] : NULL;
}

/* getopt_long takes an abbreviation that only one option has, or whose options all mean the same. */
static bool find_abbreviated(const struct command *command, const char *text, size_t len, struct found *ret)
{
	size_t i = lower_bound(command, text, len);

	for (; i < command->nr_option_names && strncmp(command->option_names[i].name, text, len) == 0; i++) {
		if (command->option_names[i].prefix)
			continue;
		if (ret->name && (ret->name->option != command->option_names[i].option || ret->name->arity != command->option_names[i].arity))
			ret->ambiguous = true;
		ret->command = command;
		ret->name = &command->option_names[i];
	}
	return ret->name;
}

/* "-Wall" is "-W*". */
static const struct option_name *find_prefix(const struct command *command, const char *text)
{
	size_t i;

	for (i = 0; i < command->nr_option_names; i++)
		if (command->option_names[i].prefix &&
		    strncmp(text, command->option_names[i].name, strlen(command->option_names[i].name)) == 0)
			return &command->option_names[i];
	return NULL;
}

/* The subcommand's own options, then those of the commands above it that may stand anywhere. */
static bool may_look(const struct walk *w, size_t i)
{
	return i + 1 == w->nr_chain || w->chain[i]->anywhere;
}

struct found options_find(const struct walk *w, const char *text, size_t len, bool abbreviated)
{
	struct found found = { 0 };
	size_t i;

	for (i = w->nr_chain; i-- > 0;)
		if (may_look(w, i) && (found.name = options_find_exact(w->chain[i], text, len))) {
			found.command = w->chain[i];
			return found;
		}
	for (i = w->nr_chain; abbreviated && i-- > 0;)
		if (may_look(w, i) && find_abbreviated(w->chain[i], text, len, &found))
			return found;
	for (i = w->nr_chain; i-- > 0;)
		if (may_look(w, i) && (found.name = find_prefix(w->chain[i], text))) {
			found.command = w->chain[i];
			return found;
		}
	return found;
}

bool options_matter(const struct walk *w)
{
	size_t i;

	for (i = 0; i < w->nr_chain; i++)
		if (may_look(w, i) && w->chain[i]->options_listed)
			return true;
	return false;
}

bool options_may_harm(const struct walk *w)
{
	size_t i;

	for (i = 0; i < w->nr_chain; i++)
		if (may_look(w, i) && w->chain[i]->has_dangerous)
			return true;
	return false;
}

/* Whether a pattern of file names finds one that is an option: find takes whole words only. */
bool options_any_matches(const struct walk *w, const char *pattern)
{
	const struct command *command = walk_leaf(w);
	size_t i;

	for (i = 0; i < command->nr_option_names; i++)
		if (command->option_names[i].prefix || glob_match(pattern, command->option_names[i].name, false))
			return true;
	return false;
}

/* find -exec PROG … ; or {} + */
static size_t clause_end(const struct walk *w)
{
	size_t i;

	for (i = w->at; i < w->words.nr; i++) {
		const char *word = w->words.text[i];

		if (strcmp(word, ";") == 0 || (strcmp(word, "+") == 0 && i > w->at && strcmp(w->words.text[i - 1], "{}") == 0))
			return i;
	}
	return w->words.nr;
}

/* ---- options ---- */

static const char *next_word(struct walk *w, uint8_t *ret_flags, size_t *ret_word)
{
	if (w->at >= w->words.nr)
		return NULL;
	*ret_flags = walk_flags(w, w->at);
	*ret_word = w->at;
	/* "-name $X": what the shell makes of it behind the first blank is no value any more. */
	if (*ret_flags & WORD_SPLITS && word_may_be_option(*ret_flags) && options_may_harm(w) &&
	    !(walk_style(w) == STYLE_FIND && *ret_flags & WORD_GLOB && !options_any_matches(w, w->words.text[w->at])))
		walk_add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, w->words.text[w->at]);
	return w->words.text[w->at++];
}

/* fd -x PROG … ; */
static void take_clause(struct walk *w, const struct meaning *meaning, const char *name, const char *attached)
{
	size_t end = clause_end(w);

	if (attached) {		/* its name is glued to the option: seen, not taken apart */
		walk_add_hit(w, meaning->effects | EFFECT_DYNAMIC, meaning->when, name, attached);
	} else if (end > w->at) {
		operands_take_command(w, meaning, w->at, end);
	} else {
		walk_add_unknown(w, name);
	}
	w->at = end < w->words.nr ? end + 1 : end;
}

/* Where no option changes what a command does, its value may still name a file: diff --to-file=FILE, tac -sX. */
static void take_unlisted(struct walk *w, const char *value, uint8_t flags, size_t word)
{
	if (options_matter(w))
		walk_add_unknown(w, w->words.text[word]);
	else if (value && *value)
		walk_add_item(w, (struct argument){ .role = ROLE_READ, .text = value, .flags = flags, .word = word, .nr_words = 1 });
}

/* attached: the rest of the word, or NULL. */
void options_take(struct walk *w, const struct found *found, const char *attached, uint8_t flags, size_t word)
{
	const struct option_name *name = found->name;
	const struct meaning *meaning = &found->command->options[name->option];
	unsigned left = name->arity;
	const char *value = attached;

	if (found->ambiguous)
		walk_add_unknown(w, name->name);
	if (meaning->role == ROLE_COMMAND) {
		take_clause(w, meaning, name->name, attached);
		return;
	}
	if (left == 0 || name->prefix || (name->optional && !attached)) {
		walk_mean(w, meaning, name->name, attached && (name->prefix || left) ? attached : NULL, flags, word);
		return;
	}
	for (; left > 0; left--, value = NULL) {
		if (!value)
			value = next_word(w, &flags, &word);
		if (!value) {
			walk_add_hit(w, meaning->effects | EFFECT_UNKNOWN, (struct condition){ 0 }, name->name, NULL);	/* its value is missing */
			return;
		}
		walk_mean(w, meaning, name->name, value, flags, word);
	}
}

void options_take_long(struct walk *w, const char *word, size_t dashes, uint8_t flags, size_t at)
{
	size_t len = strcspn(word, "=");
	struct found found = { 0 };
	const char *text = word;
	char single[64];

	if (walk_style(w) == STYLE_SINGLE || walk_style(w) == STYLE_GO) {	/* one spelling for one dash and two */
		if (dashes == 2) {
			text++;
			len--;
		}
	}
	found = options_find(w, text, len, walk_style(w) != STYLE_GO);
	if (!found.name && dashes == 2 && text != word && len + 1 < sizeof(single))
		found = options_find(w, word, strcspn(word, "="), true);
	if (found.name && found.name->prefix) {
		options_take(w, &found, text + strlen(found.name->name), flags, at);
		return;
	}
	if (!found.name)
		take_unlisted(w, text[len] ? text + len + 1 : NULL, flags, at);
	else
		options_take(w, &found, text[len] ? text + len + 1 : NULL, flags, at);
}

/* "-abc", "-ovalue", "-o value"; "-5" where the data knows "-#". */
void options_take_cluster(struct walk *w, const char *letters, uint8_t flags, size_t at)
{
	for (; *letters; letters++) {
		const char name[] = { '-', *letters, '\0' };
		struct found found = options_find(w, name, 2, false);

		if (found.name && found.name->prefix && strcmp(found.name->name, "-") != 0) /* "-*" speaks for every letter */
			found.name = NULL;
		if (!found.name && isdigit((unsigned char)*letters)) {
			found = options_find(w, "-#", 2, false);
			while (found.name && isdigit((unsigned char)letters[1]))
				letters++;
		}
		if (!found.name) {
			take_unlisted(w, letters + 1, flags, at);
			return;
		}
		if (found.name->arity) {
			options_take(w, &found, letters[1] ? letters + 1 : NULL, flags, at);
			return;
		}
		options_take(w, &found, NULL, flags, at);
	}
}

/* getopt_long_only: a long name first, then a cluster. */
bool options_take_single(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	size_t len = strcspn(word, "=");
	struct found found = options_find(w, word, len, false);

	if (!found.name && walk_style(w) == STYLE_SINGLE)
		found = options_find(w, word, len, len > 2);
	if (!found.name)
		return false;
	if (found.command->options[found.name->option].absent_if & w->ret->labels) {
		operands_take(w, word, flags, at);
		return true;
	}
	/* "-T4": the abbreviation of a longer name must not win over a short option with its value. */
	if (!found.name->prefix && strncmp(found.name->name, word, len) == 0 && found.name->name[len] && len > 1) {
		const struct found letter = options_find(w, word, 2, false);

		if (letter.name && letter.name->arity && !letter.name->prefix)
			found.ambiguous = true;
	}
	if (found.name->prefix)
		options_take(w, &found, word + strlen(found.name->name), flags, at);
	else
		options_take(w, &found, word[len] ? word + len + 1 : NULL, flags, at);
	return true;
}
