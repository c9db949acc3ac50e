/* SPDX-License-Identifier: Apache-2.0 */
/* commands/: what programs do; modes/: what a mode thinks of it. Rules that nothing can reach are errors. */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/policy/names.h"

#include <errno.h>
#include <string.h>

static int read_effects(const struct node *node, void *ret)
{
	struct node child = { .document = node->document, .up = node };
	unsigned effects = 0, i;
	int r;

	if (!json_is_array(node->value))
		return node_error(node, "expected an array of effects");
	json_array_foreach(node->value, child.index, child.value) {
		r = node_word(&child, effect_names, EFFECT_COUNT, &i);
		if (r < 0)
			return r;
		if (effects & 1u << i)
			return node_error(&child, "the effect stands here twice");
		effects |= 1u << i;
	}
	*(unsigned *)ret = effects;
	return 0;
}

static int read_some_effects(const struct node *node, void *ret)
{
	int r = read_effects(node, ret);

	if (r == 0 && *(unsigned *)ret == 0)
		return node_error(node, "expected at least one effect");
	return r;
}

/* ---- commands ---- */

/* "*" alone would hide every other command; one in the middle is not what a prefix means. */
static int read_command_names(const struct node *node, void *ret)
{
	struct strings *names = ret;
	size_t i;
	int r = read_strings(node, ret);

	if (r == 0 && names->nr == 0)
		return node_error(node, "expected at least one name");
	for (i = 0; r == 0 && i < names->nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };
		const char *star = strchr(names->items[i], '*');

		if (strchr(names->items[i], '/'))
			r = node_error(&child, "expected a base name without \"/\"");
		else if (star && (star == names->items[i] || star[1]))
			r = node_error(&child, "a \"*\" stands only at the end, after at least one character");
	}
	return r;
}

static int read_option_names(const struct node *node, void *ret)
{
	struct strings *names = ret;
	size_t i;
	int r = read_strings(node, ret);

	if (r == 0 && names->nr == 0)
		return node_error(node, "expected at least one option");
	for (i = 0; r == 0 && i < names->nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };
		const char *name = names->items[i];
		bool is_short = name[0] == '-' && name[1] && name[1] != '-' && !name[2];
		bool is_long = strncmp(name, "--", 2) == 0 && name[2] && !strpbrk(name, "=* ");

		if (!is_short && !is_long)
			r = node_error(&child, "expected an option such as \"-o\" or \"--output\"");
	}
	return r;
}

static int read_option(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct command_option, name)
	static const struct field fields[] = {
		{ "names", read_option_names, MEMBER(names), true },
		{ "value", read_bool, MEMBER(value), false },
		{ "unless", read_strings, MEMBER(unless), false },
		{ "effects", read_some_effects, MEMBER(effects), false },
	};
#undef MEMBER
	struct command_option *option = ret;
	int r = node_object(node, fields, ARRAY_SIZE(fields), ret);

	if (r == 0 && option->unless.nr && (!option->value || !option->effects))
		return node_error(node, "\"unless\" lists values for which \"effects\" do not hold: it needs both, and \"value\": true");
	return r;
}

static int read_options(const struct node *node, void *ret)
{
	struct command *command = ret;

	command->options_listed = true;
	return node_array(node, read_option, &command->options, &command->nr_options, sizeof(*command->options));
}

static int read_command(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct command, name)
	static const struct field fields[] = {
		{ "names", read_command_names, MEMBER(names), true },
		{ "effects", read_some_effects, MEMBER(effects), true },
		{ "multicall", read_bool, MEMBER(multicall), false },
		{ "options", read_options, 0, false },
	};
#undef MEMBER

	((struct command *)ret)->origin = node_origin(node);
	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_commands(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return node_array(node, read_command, &policy->commands, &policy->nr_commands, sizeof(*policy->commands));
}

int section_commands(const struct node *root, struct policy *policy)
{
	static const struct field fields[] = { { "commands", read_commands, 0, true } };

	return node_object(root, fields, ARRAY_SIZE(fields), policy);
}

/* ---- modes ---- */

static int read_verdict(const struct node *node, void *ret)
{
	static const char *const words[] = { [VERDICT_ALLOW] = "allow", [VERDICT_REVIEW] = "review", [VERDICT_DENY] = "deny" };
	unsigned i = VERDICT_DENY;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(enum verdict *)ret = (enum verdict)i;
	return r;
}

static int read_place(const struct node *node, void *ret)
{
	static const char *const words[] = { [PLACE_ANY] = "any", [PLACE_EXECVE] = "execve", [PLACE_TEXT] = "text" };
	unsigned i = PLACE_ANY;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(enum rule_place *)ret = (enum rule_place)i;
	return r;
}

static int read_confined(const struct node *node, void *ret)
{
	static const char *const words[] = { "any", "project" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(bool *)ret = i == 1;
	return r;
}

/* Tags are what other programs switch on (DESIGN, "Modes and verdicts"): a misspelt one would be lost on them. */
static int read_tag(const struct node *node, void *ret)
{
	static const char *const words[] = {
		"hardline", "policy_block", "incomplete_evidence", "target_mutation", "state_mutation", "unresolved_network_mutation",
		"network_guard", "protected_path", "blocked_root", "outside_root",
	};
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(const char **)ret = words[i];
	return r;
}

static int read_rule(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct mode_rule, name)
	static const struct field fields[] = {
		{ "id", read_text, MEMBER(id), true },
		{ "effects", read_some_effects, MEMBER(effects), false },
		{ "where", read_place, MEMBER(place), false },
		{ "arguments", read_confined, MEMBER(confined), false },
		{ "verdict", read_verdict, MEMBER(verdict), true },
		{ "tag", read_tag, MEMBER(tag), false },
		{ "reason", read_text, MEMBER(reason), true },
		{ "hint", read_text, MEMBER(hint), false },
	};
#undef MEMBER
	struct mode_rule *rule = ret;
	int r;

	rule->origin = node_origin(node);
	r = node_object(node, fields, ARRAY_SIZE(fields), ret);
	if (r < 0)
		return r;
	if ((rule->verdict == VERDICT_DENY) != (rule->tag != NULL))
		return node_error(node, "a \"tag\" belongs to a deny, and every deny has one");
	if (rule->confined && rule->verdict != VERDICT_ALLOW)
		return node_error(node, "\"arguments\": \"project\" belongs to an allow");
	return 0;
}

/* What earlier rules leave over, for one place of judgement. */
struct cover {
	unsigned any;			/* effects whose presence some earlier deny or review takes */
	const struct mode_rule *all;	/* the rule that matches everything, once there was one */
};

static bool is_covered(const struct cover *cover, const struct mode_rule *rules, size_t nr_before, const struct mode_rule *rule,
		       enum rule_place place)
{
	size_t i;

	if (cover->all)
		return true;
	if (!rule->effects)
		return false;
	if (!(rule->effects & ~cover->any))
		return true;
	if (rule->verdict != VERDICT_ALLOW)
		return false;
	/* Allow rules match a set of effects when they list all of it: a longer list before hides a shorter one. */
	for (i = 0; i < nr_before; i++)
		if (rules[i].verdict == VERDICT_ALLOW && (rules[i].place == PLACE_ANY || rules[i].place == place) &&
		    !(rule->effects & ~cover->any & ~rules[i].effects))
			return true;
	return false;
}

static int check_reachable(const struct node *node, const struct mode_rule *rules, size_t nr)
{
	static const enum rule_place places[] = { PLACE_EXECVE, PLACE_TEXT };
	struct cover covers[ARRAY_SIZE(places)] = { 0 };
	struct node child = { .document = node->document, .up = node };
	size_t i, p;

	for (i = 0; i < nr; i++) {
		bool reachable = false;

		for (p = 0; p < ARRAY_SIZE(places); p++) {
			if (rules[i].place != PLACE_ANY && rules[i].place != places[p])
				continue;
			reachable |= !is_covered(&covers[p], rules, i, &rules[i], places[p]);
			if (!rules[i].effects && !covers[p].all)
				covers[p].all = &rules[i];
			else if (rules[i].verdict != VERDICT_ALLOW)
				covers[p].any |= rules[i].effects;
		}
		child.index = i;
		child.value = json_array_get(node->value, i);
		if (!reachable)
			return node_error(&child, "no action can reach this rule: the rules before it decide all that it would match");
	}
	if (!covers[0].all || !covers[1].all)
		return node_error(node, "the last rule has to match everything (no \"effects\", no \"where\")");
	return 0;
}

struct mode_reading {
	struct policy *policy;
	enum mode mode;
};

static int check_ids(const struct node *node, const struct mode_reading *reading)
{
	const struct policy *policy = reading->policy;
	struct node child = { .document = node->document, .up = node };
	unsigned mode;
	size_t i, j;

	for (i = 0; i < policy->nr_rules[reading->mode]; i++)
		for (mode = 0; mode < MODE_COUNT; mode++)
			for (j = 0; j < policy->nr_rules[mode]; j++) {
				const struct mode_rule *mine = &policy->rules[reading->mode][i], *other = &policy->rules[mode][j];

				if (other == mine || strcmp(mine->id, other->id) != 0 || (mode == (unsigned)reading->mode && j > i))
					continue;
				child.index = i;
				child.value = json_array_get(node->value, i);
				return node_error(&child, "the id \"%s\" is taken by %s:%u", mine->id, other->origin.file,
						  other->origin.line);
			}
	return 0;
}

static int read_rules(const struct node *node, void *ret)
{
	struct mode_reading *reading = ret;
	struct policy *policy = reading->policy;
	struct mode_rule **rules = &policy->rules[reading->mode];
	size_t *nr = &policy->nr_rules[reading->mode];
	int r = node_array(node, read_rule, rules, nr, sizeof(**rules));

	if (r == 0)
		r = check_ids(node, reading);
	return r < 0 ? r : check_reachable(node, *rules, *nr);
}

int section_mode(const struct node *root, struct policy *policy, enum mode mode)
{
	static const struct field fields[] = { { "rules", read_rules, 0, true } };
	struct mode_reading reading = { policy, mode };

	return node_object(root, fields, ARRAY_SIZE(fields), &reading);
}
