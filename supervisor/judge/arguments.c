/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools' own parsers, after their manuals: getopt_long(3), getopt_long_only(3), Go's flag package, find(1), dd(1).
 *
 * Where a word cannot be known (the shell makes it while it runs) everything it could be counts. An option that is not in the data is
 * EFFECT_UNKNOWN, never nothing.
 */
#include "supervisor/judge/arguments.h"

#include <ctype.h>
#include <string.h>

#define CHAIN_MAX 6

struct walk {
	struct words words;
	size_t at;			/* the word after the current one */
	const struct command *chain[CHAIN_MAX];	/* the command and the subcommands reached so far */
	size_t nr_chain;
	bool operands_only;
	size_t nr_operands, rule;	/* of the current subcommand */
	size_t last_operand;		/* its word, for the rule about the last one */
	struct arguments *ret;
};

static const struct command *leaf(const struct walk *w)
{
	return w->chain[w->nr_chain - 1];
}

/* A subcommand parses as its command does unless it says otherwise. */
static enum style style_of(const struct walk *w)
{
	size_t i = w->nr_chain;

	while (i-- > 1)
		if (w->chain[i]->style != STYLE_INHERIT)
			return w->chain[i]->style;
	return w->chain[0]->style;
}

static uint8_t flags_at(const struct walk *w, size_t word)
{
	return w->words.flags ? w->words.flags[word] : WORD_STATIC;
}

/* ---- what was found ---- */

static void add_hit(struct walk *w, unsigned effects, struct condition when, const char *name, const char *value)
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

static void add_unknown(struct walk *w, const char *word)
{
	add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, word, NULL);
}

static void add_item(struct walk *w, struct argument item)
{
	struct arguments *a = w->ret;

	if (item.role == ROLE_TEXT)
		return;
	if (a->nr_items == ARGUMENT_ITEMS_MAX)
		add_unknown(w, item.text);
	else
		a->items[a->nr_items++] = item;
}

bool word_is_sink(const char *path)
{
	static const char *const sinks[] = { "-", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/1", "/dev/fd/2" };
	size_t i;

	for (i = 0; i < sizeof(sinks) / sizeof(sinks[0]); i++)
		if (strcmp(path, sinks[i]) == 0)
			return true;
	return false;
}

static unsigned role_effects(enum role role, const char *text, uint8_t flags)
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
static void mean_any(struct walk *w, const struct meaning *meaning, const char *name, const char *text)
{
	size_t i;

	add_hit(w, meaning->effects, meaning->when, name, text);
	for (i = 0; i < meaning->nr_values; i++)
		add_hit(w, meaning->values[i].effects, meaning->values[i].when, name, text);
}

/* text is NULL for an option without a value. */
static void mean(struct walk *w, const struct meaning *meaning, const char *name, const char *text, uint8_t flags, size_t word)
{
	const struct value_rule *rule = NULL;
	enum role role = meaning->role;
	size_t i;

	w->ret->labels |= meaning->sets;
	if (text && flags & WORD_DYNAMIC) {
		mean_any(w, meaning, name, text);
	} else {
		for (i = 0; text && !rule && i < meaning->nr_values; i++)
			if (rule_matches_text(&meaning->values[i], text))
				rule = &meaning->values[i];
		if (rule) {
			w->ret->labels |= rule->sets;
			role = rule->has_role ? rule->role : role;
		}
		add_hit(w, rule ? rule->effects : meaning->effects, rule ? rule->when : meaning->when, name, text);
	}
	if (!text)
		return;
	/* Not for the sinks: the condition of the option (a dry run) holds for what it writes as well. */
	add_hit(w, role_effects(role, text, flags), rule ? rule->when : meaning->when, name, text);
	add_item(w, (struct argument){ .role = role, .text = text, .flags = flags, .word = word, .nr_words = 1 });
}

/* ---- option names ---- */

struct found {
	const struct command *command;
	const struct option_name *name;
	bool ambiguous;
};

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

static const struct option_name *find_exact(const struct command *command, const char *text, size_t len)
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

static struct found look_up(const struct walk *w, const char *text, size_t len, bool abbreviated)
{
	struct found found = { 0 };
	size_t i;

	for (i = w->nr_chain; i-- > 0;)
		if (may_look(w, i) && (found.name = find_exact(w->chain[i], text, len))) {
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

static bool options_matter(const struct walk *w)
{
	size_t i;

	for (i = 0; i < w->nr_chain; i++)
		if (may_look(w, i) && w->chain[i]->options_listed)
			return true;
	return false;
}

static bool has_dangerous(const struct walk *w)
{
	size_t i;

	for (i = 0; i < w->nr_chain; i++)
		if (may_look(w, i) && w->chain[i]->has_dangerous)
			return true;
	return false;
}

/* ---- options ---- */

static const char *next_word(struct walk *w, uint8_t *ret_flags, size_t *ret_word)
{
	if (w->at >= w->words.nr)
		return NULL;
	*ret_flags = flags_at(w, w->at);
	*ret_word = w->at;
	return w->words.text[w->at++];
}

static void take_command(struct walk *w, const struct meaning *meaning, size_t from, size_t to);
static size_t clause_end(const struct walk *w);

/* fd -x PROG … ; */
static void take_clause(struct walk *w, const struct meaning *meaning, const char *name, const char *attached)
{
	size_t end = clause_end(w);

	if (attached) {		/* its name is glued to the option: seen, not taken apart */
		add_hit(w, meaning->effects | EFFECT_DYNAMIC, meaning->when, name, attached);
	} else if (end > w->at) {
		take_command(w, meaning, w->at, end);
	} else {
		add_unknown(w, name);
	}
	w->at = end < w->words.nr ? end + 1 : end;
}

/* attached: the rest of the word, or NULL. */
static void take_option(struct walk *w, const struct found *found, const char *attached, uint8_t flags, size_t word)
{
	const struct option_name *name = found->name;
	const struct meaning *meaning = &found->command->options[name->option];
	unsigned left = name->arity;
	const char *value = attached;

	if (found->ambiguous)
		add_unknown(w, name->name);
	if (meaning->role == ROLE_COMMAND) {
		take_clause(w, meaning, name->name, attached);
		return;
	}
	if (left == 0 || name->prefix || (name->optional && !attached)) {
		mean(w, meaning, name->name, attached && (name->prefix || left) ? attached : NULL, flags, word);
		return;
	}
	for (; left > 0; left--, value = NULL) {
		if (!value)
			value = next_word(w, &flags, &word);
		if (!value) {
			add_hit(w, meaning->effects | EFFECT_UNKNOWN, (struct condition){ 0 }, name->name, NULL);	/* its value is missing */
			return;
		}
		mean(w, meaning, name->name, value, flags, word);
	}
}

static void take_long(struct walk *w, const char *word, size_t dashes, uint8_t flags, size_t at)
{
	size_t len = strcspn(word, "=");
	struct found found = { 0 };
	const char *text = word;
	char single[64];

	if (style_of(w) == STYLE_SINGLE || style_of(w) == STYLE_GO) {	/* one spelling for one dash and two */
		if (dashes == 2) {
			text++;
			len--;
		}
	}
	found = look_up(w, text, len, style_of(w) != STYLE_GO);
	if (!found.name && dashes == 2 && text != word && len + 1 < sizeof(single))
		found = look_up(w, word, strcspn(word, "="), true);
	if (found.name && found.name->prefix) {
		take_option(w, &found, text + strlen(found.name->name), flags, at);
		return;
	}
	if (!found.name) {
		if (options_matter(w))
			add_unknown(w, word);
		return;
	}
	take_option(w, &found, text[len] == '=' ? text + len + 1 : NULL, flags, at);
}

/* "-abc", "-ovalue", "-o value"; "-5" where the data knows "-#". */
static void take_cluster(struct walk *w, const char *letters, uint8_t flags, size_t at)
{
	for (; *letters; letters++) {
		const char name[2] = { '-', *letters };
		struct found found = look_up(w, name, 2, false);

		if (found.name && found.name->prefix)
			found.name = NULL;
		if (!found.name && isdigit((unsigned char)*letters)) {
			found = look_up(w, "-#", 2, false);
			while (found.name && isdigit((unsigned char)letters[1]))
				letters++;
		}
		if (!found.name) {
			if (options_matter(w))
				add_unknown(w, w->words.text[at]);
			return;
		}
		if (found.name->arity) {
			take_option(w, &found, letters[1] ? letters + 1 : NULL, flags, at);
			return;
		}
		take_option(w, &found, NULL, flags, at);
	}
}

static void take_operand(struct walk *w, const char *word, uint8_t flags, size_t at);

/* getopt_long_only: a long name first, then a cluster. */
static bool take_single(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	size_t len = strcspn(word, "=");
	struct found found = look_up(w, word, len, false);

	if (!found.name && style_of(w) == STYLE_SINGLE)
		found = look_up(w, word, len, len > 2);
	if (!found.name)
		return false;
	if (found.command->options[found.name->option].absent_if & w->ret->labels) {
		take_operand(w, word, flags, at);
		return true;
	}
	/* "-T4": the abbreviation of a longer name must not win over a short option with its value. */
	if (!found.name->prefix && strncmp(found.name->name, word, len) == 0 && found.name->name[len] && len > 1) {
		const struct found letter = look_up(w, word, 2, false);

		if (letter.name && letter.name->arity && !letter.name->prefix)
			found.ambiguous = true;
	}
	if (found.name->prefix)
		take_option(w, &found, word + strlen(found.name->name), flags, at);
	else
		take_option(w, &found, word[len] ? word + len + 1 : NULL, flags, at);
	return true;
}

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
	const struct command *command = leaf(w), *other = NULL;
	size_t i, n;

	if (!command->nr_commands || w->nr_operands)
		return false;
	if (w->nr_chain == CHAIN_MAX || flags & WORD_DYNAMIC) {
		add_hit(w, EFFECT_UNKNOWN | EFFECT_DYNAMIC, (struct condition){ 0 }, NULL, word);
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
		add_unknown(w, word);
		return false;
	}
	enter_subcommand(w, other);
	return true;
}

/* The word and all after it are another program's. */
static void take_command(struct walk *w, const struct meaning *meaning, size_t from, size_t to)
{
	w->ret->labels |= meaning->sets;
	add_hit(w, meaning->effects, meaning->when, NULL, w->words.text[from]);
	add_item(w, (struct argument){ .role = ROLE_COMMAND, .text = w->words.text[from], .flags = flags_at(w, from), .word = from,
				       .nr_words = to - from });
}

/* Which rule speaks for the next operand; NULL when none does. */
static const struct operand_rule *operand_rule(struct walk *w, const char *word, uint8_t flags)
{
	const struct command *command = leaf(w);

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
	const struct command *command = leaf(w);
	size_t i;

	for (i = w->rule; i < command->nr_operands; i++) {
		const struct meaning *meaning = &command->operands[i].meaning;

		mean_any(w, meaning, NULL, word);
		add_hit(w, role_effects(meaning->role, word, WORD_DYNAMIC), meaning->when, NULL, word);
		if (meaning->role == ROLE_COMMAND)
			add_hit(w, EFFECT_DYNAMIC, meaning->when, NULL, word);
	}
}

static void take_operand(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	const struct command *command = leaf(w);
	const struct operand_rule *rule;

	if (take_subcommand(w, word, flags))
		return;
	if (w->nr_operands++ == 0 && (style_of(w) == STYLE_POSIX || style_of(w) == STYLE_GO) && !command->nr_commands)
		w->operands_only = true;
	w->last_operand = at;
	if (flags & WORD_SPLITS)
		take_splitting(w, word);
	rule = operand_rule(w, word, flags);
	if (!rule) {
		if (command->operands_listed && !(command->nr_operands && command->operands[command->nr_operands - 1].last))
			add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
		return;
	}
	if (rule->meaning.role == ROLE_COMMAND) {
		take_command(w, &rule->meaning, at, w->words.nr);
		w->at = w->words.nr;
		return;
	}
	mean(w, &rule->meaning, NULL, word, flags, at);
}

/* cp A B: what B is was known only at the end. */
static void take_last(struct walk *w)
{
	const struct command *command = leaf(w);
	const struct operand_rule *rule = command->nr_operands ? &command->operands[command->nr_operands - 1] : NULL;

	if (rule && rule->last && w->nr_operands > 1)
		mean(w, &rule->meaning, NULL, w->words.text[w->last_operand], flags_at(w, w->last_operand), w->last_operand);
}

/* ---- styles ---- */

static bool is_option(const struct walk *w, const char *word, uint8_t flags)
{
	if (w->operands_only || style_of(w) == STYLE_WORDS)
		return false;
	return word[0] == '-' && word[1] && !(flags & WORD_OPERAND);
}

/* "--include=*.py" stays that option, whatever files there are. */
static bool keeps_its_option(const struct walk *w, const char *word, uint8_t flags)
{
	size_t len = strcspn(word, "=");

	return flags & WORD_GLOB && strncmp(word, "--", 2) == 0 && word[len] && strcspn(word, "*?[") > len && look_up(w, word, len, false).name;
}

static void take_word(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	if (!keeps_its_option(w, word, flags) && flags & WORD_DYNAMIC && !(flags & WORD_OPERAND) && !w->operands_only && style_of(w) != STYLE_WORDS && has_dangerous(w))
		add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
	if (!is_option(w, word, flags)) {
		take_operand(w, word, flags, at);
	} else if (strcmp(word, "--") == 0) {
		const struct found found = look_up(w, word, 2, false);	/* git checkout -- FILE means more than the end of options */

		if (found.name)
			take_option(w, &found, NULL, flags, at);
		w->operands_only = true;
	} else if (word[1] == '-') {
		take_long(w, word, 2, flags, at);
	} else if (style_of(w) == STYLE_SINGLE || style_of(w) == STYLE_GO) {
		if (!take_single(w, word, flags, at)) {
			if (style_of(w) == STYLE_SINGLE)
				take_cluster(w, word + 1, flags, at);
			else if (options_matter(w))
				add_unknown(w, word);
		}
	} else if (find_exact(leaf(w), word, strcspn(word, "=")) && word[2] && word[2] != '=') {
		take_single(w, word, flags, at);	/* a few tools of this style have names of several letters after one dash */
	} else {
		take_cluster(w, word + 1, flags, at);
	}
}

/* "tar xf a": the letters of the first word, whose values are the words after it, in order. */
static void take_bundle(struct walk *w, const char *word)
{
	for (word += *word == '-'; *word; word++) {
		const char name[2] = { '-', *word };
		const struct found found = look_up(w, name, 2, false);

		if (!found.name)
			add_unknown(w, w->words.text[1]);
		else
			take_option(w, &found, NULL, WORD_STATIC, w->at);
	}
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

static void take_expression(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	struct found found;

	if (flags & WORD_DYNAMIC && !(flags & WORD_OPERAND))
		add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
	if (strchr("(),!", *word) && *word && !word[1])
		return;
	if (*word != '-' || !word[1]) {
		take_operand(w, word, flags, at);
		return;
	}
	found = look_up(w, word, strlen(word), false);
	if (!found.name)
		add_unknown(w, word);
	else
		take_option(w, &found, found.name->prefix ? word + strlen(found.name->name) : NULL, flags, at);
}

static void take_pair(struct walk *w, const char *word, uint8_t flags, size_t at)
{
	const char *equals = strchr(word, '=');
	struct found found = { 0 };

	if (flags & WORD_DYNAMIC && (!equals || flags & WORD_SPLITS))
		add_hit(w, EFFECT_UNKNOWN, (struct condition){ 0 }, NULL, word);
	if (equals)
		found = look_up(w, word, (size_t)(equals - word), false);
	if (found.name)
		take_option(w, &found, equals + 1, flags, at);
	else
		add_unknown(w, word);
}

/* ---- the whole ---- */

static bool holds(struct condition when, labels set)
{
	return (set & when.all) == when.all && !(set & when.none);
}

static unsigned base_effects(const struct command *command, labels set)
{
	size_t i;

	for (i = 0; i < command->nr_bases; i++)
		if (holds(command->bases[i].when, set))
			return command->bases[i].effects;
	return command->effects;
}

static void sum_up(struct walk *w)
{
	struct arguments *a = w->ret;
	size_t i;

	if (w->nr_operands == 0)
		a->labels |= LABEL_BARE;
	a->effects |= base_effects(leaf(w), a->labels);
	for (i = 0; i < a->nr_hits; i++) {
		if (holds(a->hits[i].when, a->labels))
			a->effects |= a->hits[i].effects;
		else
			a->hits[i].effects = 0;
	}
}

/* "PROGRAM --version" and "PROGRAM --help" only print, for programs that do no worse than work. */
static bool is_query(const struct command *command, struct words words)
{
	const unsigned ordinary = EFFECT_READ | EFFECT_STATE | EFFECT_WRITE | EFFECT_CODE | EFFECT_NETWORK | EFFECT_NETWORK_MUTATE | EFFECT_FETCH |
				  EFFECT_SECRET | EFFECT_SHELL | EFFECT_TYPED | EFFECT_UNSEEN | EFFECT_PERSIST | EFFECT_DYNAMIC | EFFECT_SYSTEM;

	return words.nr == 2 && !(command->effects & ~ordinary) && command->style != STYLE_WORDS && !(words.flags && words.flags[1]) &&
	       (strcmp(words.text[1], "--version") == 0 || strcmp(words.text[1], "--help") == 0);
}

void arguments_parse(const struct command *command, struct words words, labels known, struct arguments *ret)
{
	struct walk w = { .words = words, .at = 1, .chain = { command }, .nr_chain = 1, .ret = ret };

	ret->effects = 0;
	ret->labels = known;
	ret->nr_items = ret->nr_hits = 0;
	ret->command = command;
	if (is_query(command, words)) {
		ret->effects = EFFECT_READ;
		return;
	}
	if (command->bundled && words.nr > 1 && !flags_at(&w, 1) && strncmp(words.text[1], "--", 2) != 0 && words.text[1][0] != '-') {
		w.at = 2;
		take_bundle(&w, words.text[1]);
	}
	while (w.at < words.nr) {
		size_t at = w.at++;
		const char *word = words.text[at];
		uint8_t flags = flags_at(&w, at);

		if (style_of(&w) == STYLE_FIND)
			take_expression(&w, word, flags, at);
		else if (style_of(&w) == STYLE_PAIRS)
			take_pair(&w, word, flags, at);
		else
			take_word(&w, word, flags, at);
	}
	take_last(&w);
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
