/* SPDX-License-Identifier: Apache-2.0 */
/* modes/: what a mode thinks of effects. Rules that nothing can reach are errors. */
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
		"network_guard", "protected_path", "blocked_root", "outside_root", "stale_snapshot", "unreviewable_stdin",
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
