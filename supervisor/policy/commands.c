/* SPDX-License-Identifier: Apache-2.0 */
/*
 * commands/: what programs do, option by option. Lists of words stand in one text each ("-o= --output="), so that a person can read
 * an entry as a whole; the loader takes them apart and is as strict about them as about keys.
 */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/policy/names.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(const struct node *node)
{
	return err_set(node->document->error, -ENOMEM, "out of memory");
}

/* ---- words in a text ---- */

static size_t count_words(const char *text)
{
	size_t nr = 0;

	for (; *text; text++)
		nr += *text != ' ' && (text[1] == ' ' || !text[1]);
	return nr;
}

static int read_words(const struct node *node, void *ret)
{
	struct word_list list = { 0 };
	char *text, *word, *place;
	size_t i;
	int r = read_text(node, &text);

	if (r < 0)
		return r;
	list.items = pool_take(node->document->pool, (count_words(text) + 1) * sizeof(*list.items));
	if (!list.items)
		return no_memory(node);
	for (word = strtok_r(text, " ", &place); word; word = strtok_r(NULL, " ", &place)) {
		for (i = 0; i < list.nr; i++)
			if (strcmp(list.items[i], word) == 0)
				return node_error(node, "\"%s\" stands here twice", word);
		list.items[list.nr++] = word;
	}
	*(struct word_list *)ret = list;
	return list.nr ? 0 : node_error(node, "expected at least one word");
}

static int word_error(const struct node *node, const char *word, const char *const *words, size_t nr)
{
	char expected[400] = "";
	size_t i, used = 0;

	for (i = 0; i < nr && used + 40 < sizeof(expected); i++)
		used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s", i ? ", " : "", words[i]);
	return node_error(node, "\"%.40s\" is unknown; expected one of: %s", word, expected);
}

static int read_effect_words(const struct node *node, void *ret)
{
	struct word_list list;
	unsigned effects = 0;
	size_t i, e;
	int r = read_words(node, &list);

	for (i = 0; r == 0 && i < list.nr; i++) {
		for (e = 0; e < EFFECT_COUNT && strcmp(effect_names[e], list.items[i]) != 0; e++)
			;
		if (e == EFFECT_COUNT)
			return word_error(node, list.items[i], effect_names, EFFECT_COUNT);
		effects |= 1u << e;
	}
	*(unsigned *)ret = effects;
	return r;
}

/* ---- labels: interned while one top-level command is read ---- */

#define LABELS_MAX 32

struct reading {
	const char *labels[LABELS_MAX];
	size_t nr_labels;
	labels set, asked;	/* a label that is asked for and never set is a slip */
};

/* One policy is read at a time, by one thread; readers get no context of their own. */
static _Thread_local struct reading reading;

static int intern(const struct node *node, const char *word, labels *ret)
{
	size_t i;

	for (i = 0; i < reading.nr_labels && strcmp(reading.labels[i], word) != 0; i++)
		;
	if (i == LABELS_MAX)
		return node_error(node, "more than %d labels in one command", LABELS_MAX);
	if (i == reading.nr_labels)
		reading.labels[reading.nr_labels++] = word;
	*ret |= (labels)1 << i;
	return 0;
}

static int read_labels(const struct node *node, labels *ret)
{
	struct word_list list;
	size_t i;
	int r = read_words(node, &list);

	for (i = 0; r == 0 && i < list.nr; i++)
		r = intern(node, list.items[i], ret);
	return r;
}

static int read_sets(const struct node *node, void *ret)
{
	int r = read_labels(node, ret);

	reading.set |= *(labels *)ret;
	return r;
}

static int read_asks(const struct node *node, void *ret)
{
	int r = read_labels(node, ret);

	reading.asked |= *(labels *)ret;
	return r;
}

/* ---- meanings ---- */

static int read_role(const struct node *node, void *ret)
{
	static const char *const words[ROLE_COUNT] = {
		[ROLE_TEXT] = "text", [ROLE_LOOK] = "look", [ROLE_READ] = "read", [ROLE_WRITE] = "write", [ROLE_DELETE] = "delete", [ROLE_URL] = "url",
		[ROLE_HOST] = "host", [ROLE_BODY] = "body", [ROLE_COMMAND] = "command", [ROLE_LINE] = "line", [ROLE_PROGRAM] = "program", [ROLE_SHELL] = "shell",
		[ROLE_SED] = "sed", [ROLE_AWK] = "awk", [ROLE_ASSIGNMENT] = "assignment", [ROLE_NAME] = "name", [ROLE_SCRIPT] = "script",
	};
	unsigned i = 0;
	int r = node_word(node, words, ROLE_COUNT, &i);

	*(enum role *)ret = (enum role)i;
	return r;
}

/* Patterns may hold blanks, so they are an array. */
static int read_patterns(const struct node *node, void *ret)
{
	struct strings list;
	int r = read_strings(node, &list);

	if (r < 0)
		return r;
	*(struct word_list *)ret = (struct word_list){ list.items, list.nr };
	return list.nr ? 0 : node_error(node, "expected at least one pattern");
}

static int read_rule_role(const struct node *node, void *ret)
{
	struct value_rule *rule = ret;

	rule->has_role = true;
	return read_role(node, &rule->role);
}

static int read_value_rule(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct value_rule, name)
	static const struct field fields[] = {
		{ "match", read_patterns, MEMBER(match), false },
		{ "fold", read_bool, MEMBER(fold), false },
		{ "value", read_rule_role, 0, false },
		{ "effects", read_effect_words, MEMBER(effects), false },
		{ "sets", read_sets, MEMBER(sets), false },
		{ "if", read_asks, MEMBER(when.all), false },
		{ "unless", read_asks, MEMBER(when.none), false },
	};
#undef MEMBER

	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_values(const struct node *node, void *ret)
{
	struct meaning *meaning = ret;

	return node_array(node, read_value_rule, &meaning->values, &meaning->nr_values, sizeof(*meaning->values));
}

#define MEANING_FIELDS(base)                                                                                                               \
	{ "value", read_role, (base) + offsetof(struct meaning, role), false },                                                            \
	{ "effects", read_effect_words, (base) + offsetof(struct meaning, effects), false },                                               \
	{ "sets", read_sets, (base) + offsetof(struct meaning, sets), false },                                                             \
	{ "if", read_asks, (base) + offsetof(struct meaning, when.all), false },                                                           \
	{ "unless", read_asks, (base) + offsetof(struct meaning, when.none), false },                                                      \
	{ "absent_if", read_asks, (base) + offsetof(struct meaning, absent_if), false },                                                    \
	{ "values", read_values, (base), false }

/* ---- options ---- */

static bool adds_effects(const struct meaning *meaning)
{
	size_t i;

	if (meaning->effects || (meaning->role != ROLE_TEXT && meaning->role != ROLE_READ && meaning->role != ROLE_LOOK))
		return true;
	for (i = 0; i < meaning->nr_values; i++)
		if (meaning->values[i].effects)
			return true;
	return false;
}

/* "-o", "-o=", "--color[=]", "--arg=2", "-W*". Cuts the marks off. */
static int take_name(const struct node *node, char *text, struct option_name *ret)
{
	struct option_name name = { .name = text };
	size_t len = strlen(text);
	char *equals;

	if (len > 1 && text[len - 1] == '*') {
		name.prefix = true;
		text[--len] = '\0';
	} else if (len > 3 && strcmp(text + len - 3, "[=]") == 0) {
		name.arity = 1;
		name.optional = true;
		text[len -= 3] = '\0';
	} else if ((equals = strrchr(text, '='))) {
		char *end = equals + 1;

		name.arity = equals[1] ? (uint8_t)strtoul(equals + 1, &end, 10) : 1;
		if (*end || name.arity < 1 || name.arity > 9)
			return node_error(node, "after \"=\" of \"%.40s\" expected nothing, or the number of values", text);
		*equals = '\0';
		len = (size_t)(equals - text);
	}
	if (!len || strpbrk(text, name.prefix ? " *" : "= *") || (len == 1 && *text == '-' && name.arity))
		return node_error(node, "\"%.40s\" is not an option such as \"-o\", \"--output=\" or \"--color[=]\"", text);
	*ret = name;
	return 0;
}

static int read_option_names(const struct node *node, struct command *command, uint16_t option)
{
	struct word_list list;
	size_t i;
	int r = read_words(node, &list);

	for (i = 0; r == 0 && i < list.nr; i++) {
		struct option_name *name = pool_push(node->document->pool, &command->option_names, &command->nr_option_names,
						     sizeof(*command->option_names));
		char *text = pool_text(node->document->pool, list.items[i], strlen(list.items[i]));

		if (!name || !text)
			return no_memory(node);
		r = take_name(node, text, name);
		name->option = option;
	}
	return r;
}

static int keep_node(const struct node *node, void *ret)
{
	*(json_t **)ret = node->value;
	return 0;
}

static int read_option(const struct node *node, void *ret)
{
	struct option_reading { struct meaning meaning; json_t *names; } option = { 0 };
	static const struct field fields[] = {
		MEANING_FIELDS(offsetof(struct option_reading, meaning)),
		{ "names", keep_node, offsetof(struct option_reading, names), true },
	};
	struct node names = { .document = node->document, .up = node, .key = "names" };
	struct command *command = ret;
	struct meaning *place;
	const char *key;
	json_t *value;
	int r = node_object(node, fields, ARRAY_SIZE(fields), &option);

	if (r < 0)
		return r;
	json_object_foreach(node->value, key, value) {	/* for its place in errors */
		if (strcmp(key, "names") == 0)
			break;
		names.index++;
	}
	names.value = option.names;
	place = pool_push(node->document->pool, &command->options, &command->nr_options, sizeof(*command->options));
	if (!place)
		return no_memory(node);
	*place = option.meaning;
	command->has_dangerous |= adds_effects(place);
	return read_option_names(&names, command, (uint16_t)(command->nr_options - 1));
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct option_name *)a)->name, ((const struct option_name *)b)->name);
}

/* Not node_array(): an option fills two arrays of its command. */
static int read_options(const struct node *node, void *ret)
{
	struct node child = { .document = node->document, .up = node };
	struct command *command = ret;
	size_t i;
	int r;

	if (!json_is_array(node->value))
		return node_error(node, "expected an array");
	command->options_listed = true;
	json_array_foreach(node->value, child.index, child.value) {
		r = read_option(&child, command);
		if (r < 0)
			return r;
	}
	if (command->nr_option_names)
		qsort(command->option_names, command->nr_option_names, sizeof(*command->option_names), compare_names);
	for (i = 1; i < command->nr_option_names; i++)
		if (compare_names(&command->option_names[i - 1], &command->option_names[i]) == 0)
			return node_error(node, "the option \"%s\" stands here twice", command->option_names[i].name);
	return 0;
}

/* ---- operands and the command as such ---- */

static int read_operand(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct operand_rule, name)
	static const struct field fields[] = {
		MEANING_FIELDS(MEMBER(meaning)),
		{ "match", read_patterns, MEMBER(match), false },
		{ "many", read_bool, MEMBER(many), false },
		{ "last", read_bool, MEMBER(last), false },
	};
#undef MEMBER

	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

/* Takes all words that are left. */
static bool is_rest(enum role role)
{
	return role == ROLE_COMMAND || role == ROLE_LINE;
}

static int read_operands(const struct node *node, void *ret)
{
	struct command *command = ret;
	size_t i;
	int r;

	command->operands_listed = true;
	r = node_array(node, read_operand, &command->operands, &command->nr_operands, sizeof(*command->operands));
	for (i = 0; r == 0 && i + 1 < command->nr_operands; i++)
		if (command->operands[i].last || (is_rest(command->operands[i].meaning.role) && !command->operands[i].match.nr && !command->operands[i].meaning.absent_if))
			r = node_error(node, "the last operand, or the one that is a command line, has to stand last");
	return r;
}

static int read_page(const struct node *node, void *ret)
{
	static const char *const words[PAGE_COUNT] = {
		[PAGE_NONE] = "none", [PAGE_KEEPS] = "keeps", [PAGE_SHOWS] = "shows", [PAGE_CHANGES] = "changes", [PAGE_ENDS] = "ends",
	};
	unsigned i = 0;
	int r = node_word(node, words, PAGE_COUNT, &i);

	*(enum page *)ret = (enum page)i;
	return r;
}

static int read_base(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct base_rule, name)
	static const struct field fields[] = {
		{ "if", read_asks, MEMBER(when.all), false },
		{ "unless", read_asks, MEMBER(when.none), false },
		{ "effects", read_effect_words, MEMBER(effects), true },
		{ "page", read_page, MEMBER(page), false },
	};
#undef MEMBER
	const struct base_rule *rule = ret;
	int r = node_object(node, fields, ARRAY_SIZE(fields), ret);

	return r == 0 && !rule->when.all && !rule->when.none ? node_error(node, "expected \"if\" or \"unless\"") : r;
}

static int read_bases(const struct node *node, void *ret)
{
	struct command *command = ret;

	return node_array(node, read_base, &command->bases, &command->nr_bases, sizeof(*command->bases));
}

static int read_style(const struct node *node, void *ret)
{
	static const char *const words[STYLE_COUNT] = {
		[STYLE_INHERIT] = "inherit", [STYLE_GNU] = "gnu", [STYLE_POSIX] = "posix", [STYLE_SINGLE] = "single", [STYLE_GO] = "go",
		[STYLE_FIND] = "find", [STYLE_PAIRS] = "pairs", [STYLE_WORDS] = "words",
	};
	unsigned i = 0;
	int r = node_word(node, words, STYLE_COUNT, &i);

	*(enum style *)ret = (enum style)i;
	return r;
}

/* An option that only sets a label: what it changes, others say. "grep -e" makes the pattern a file to read, which is no more than reading. */
static bool labels_matter(const struct command *command)
{
	bool sets = false, changes = command->nr_bases > 0;
	size_t i, n;

	for (i = 0; i < command->nr_options; i++) {
		sets |= command->options[i].sets != 0;
		for (n = 0; n < command->options[i].nr_values; n++)
			sets |= command->options[i].values[n].sets != 0;
	}
	for (i = 0; i < command->nr_operands; i++)
		changes |= adds_effects(&command->operands[i].meaning);
	return sets && changes;
}

static node_reader read_subcommands;

static int read_entry(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct command, name)
	static const struct field fields[] = {
		{ "names", read_words, MEMBER(names), true },
		{ "effects", read_effect_words, MEMBER(effects), true },
		{ "style", read_style, MEMBER(style), false },
		{ "multicall", read_bool, MEMBER(multicall), false },
		{ "bundled", read_bool, MEMBER(bundled), false },
		{ "anywhere", read_bool, MEMBER(anywhere), false },
		{ "alone", read_bool, MEMBER(alone), false },
		{ "elsewhere", read_bool, MEMBER(elsewhere), false },
		{ "page", read_page, MEMBER(page), false },
		{ "asks", read_words, MEMBER(asks), false },
		{ "helpers", read_words, MEMBER(helpers), false },
		{ "options", read_options, 0, false },
		{ "operands", read_operands, 0, false },
		{ "when", read_bases, 0, false },
		{ "commands", read_subcommands, 0, false },
	};
#undef MEMBER
	struct command *command = ret;

	int r;

	command->file = node->document->file;
	command->line = node_origin(node).line;
	r = node_object(node, fields, ARRAY_SIZE(fields), ret);
	command->has_dangerous |= labels_matter(command);
	return r;
}

static int read_subcommands(const struct node *node, void *ret)
{
	struct command *command = ret;

	return node_array(node, read_entry, &command->commands, &command->nr_commands, sizeof(*command->commands));
}

/* "*" alone would hide every other command; one in the middle is not what a prefix means. */
static int check_names(const struct node *node, const struct command *command)
{
	size_t i;

	for (i = 0; i < command->names.nr; i++) {
		const char *name = command->names.items[i], *star = strchr(name, '*');

		if (strchr(name, '/'))
			return node_error(node, "\"%s\" is not a base name without \"/\"", name);
		if (star && (star == name || star[1]))
			return node_error(node, "a \"*\" stands only at the end, after at least one character: \"%s\"", name);
	}
	return 0;
}

static int read_command(const struct node *node, void *ret)
{
	struct command *command = ret;
	labels lost;
	size_t i;
	int r;

	reading = (struct reading){ .labels = { "bare", "recursive", "sandbox", "fed", "piped", "foreign", "fills" }, .nr_labels = 7,
				      .set = LABEL_BARE | LABEL_FED | LABEL_PIPED | LABEL_FOREIGN };
	r = read_entry(node, ret);
	if (r == 0)
		r = check_names(node, command);
	if (r < 0)
		return r;
	if (command->style == STYLE_INHERIT)
		command->style = STYLE_GNU;
	lost = reading.asked & ~reading.set;
	for (i = 0; i < reading.nr_labels; i++)
		if (lost & (labels)1 << i)
			return node_error(node, "nothing sets \"%s\", which is asked for", reading.labels[i]);
	return 0;
}

static int read_commands(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return node_array(node, read_command, &policy->commands, &policy->nr_commands, sizeof(*policy->commands));
}

static int read_otherwise(const struct node *node, void *ret)
{
	struct policy *policy = ret;
	void *place;

	if (policy->nr_otherwise)
		return node_error(node, "\"otherwise\" stands in %s:%u already", policy->otherwise->file, policy->otherwise->line);
	place = pool_push(node->document->pool, &policy->otherwise, &policy->nr_otherwise, sizeof(*policy->otherwise));
	return place ? read_command(node, place) : no_memory(node);
}

int section_commands(const struct node *root, struct policy *policy)
{
	static const struct field fields[] = { { "commands", read_commands, 0, true }, { "otherwise", read_otherwise, 0, false } };

	return node_object(root, fields, ARRAY_SIZE(fields), policy);
}
