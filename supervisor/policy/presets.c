/* SPDX-License-Identifier: Apache-2.0 */
/*
 * presets/NAME.json: commands of the image that are offered by name, and the variables that pass to each; policy.json says which presets are on. That a
 * command is found is not asked here.
 */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/policy/names.h"

#include <errno.h>
#include <string.h>

const char *const profile_names[PROFILE_COUNT] = { "bare", "assistant", "extended" };

const char *profile_name(enum command_profile profile)
{
	return (unsigned)profile < PROFILE_COUNT ? profile_names[profile] : "?";
}

static int read_profile(const struct node *node, void *ret)
{
	const char *now = json_is_string(node->value) ? name_now(json_string_value(node->value)) : NULL;
	unsigned i = 0;
	int r = now ? node_error(node, "the name \"%s\" is retired: it is now %s", json_string_value(node->value), now) :
		      node_word(node, profile_names, PROFILE_COUNT, &i);

	*(enum command_profile *)ret = (enum command_profile)i;
	return r;
}

int read_offered(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct offered, name)
	static const struct field fields[] = {
		{ "profile", read_profile, MEMBER(profile), true },
		{ "presets", read_strings, MEMBER(presets), true },
	};
#undef MEMBER
	struct offered *offered = ret;

	offered->line = node_origin(node).line;
	return node_object(node, fields, ARRAY_SIZE(fields), offered);
}

static bool is_variable(const char *name)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

	return *name && !strchr("0123456789", *name) && !name[strspn(name, letters)];
}

static int read_variables(const struct node *node, void *ret)
{
	struct strings *list = ret;
	struct node child = { .document = node->document, .up = node };
	int r = read_strings(node, ret);

	for (; r == 0 && child.index < list->nr; child.index++) {
		child.value = json_array_get(node->value, child.index);
		if (!is_variable(list->items[child.index]))
			r = node_error(&child, "expected the exact name of a variable");
	}
	return r;
}

static int read_command_name(const struct node *node, void *ret)
{
	int r = read_text(node, ret);
	const char *name = r == 0 ? *(const char **)ret : "";

	if (r == 0 && (strchr(name, '/') || strchr("-.", *name)))
		return node_error(node, "expected a program's name, without a folder");
	return r;
}

static int read_command(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct preset_command, name)
	static const struct field fields[] = {
		{ "name", read_command_name, MEMBER(name), true },
		{ "environment", read_variables, MEMBER(environment), false },
	};
#undef MEMBER
	static const char *no_items[1];
	struct preset_command *command = ret;

	command->environment.items = no_items;
	command->origin = node_origin(node);
	return node_object(node, fields, ARRAY_SIZE(fields), command);
}

static int read_commands(const struct node *node, void *ret)
{
	struct preset *preset = ret;
	int r = node_array(node, read_command, &preset->commands, &preset->nr_commands, sizeof(*preset->commands));

	return r == 0 && !preset->nr_commands ? node_error(node, "expected at least one command") : r;
}

int section_preset(const struct node *root, struct policy *policy)
{
	static const struct field fields[] = { { "commands", read_commands, 0, true } };
	struct preset *preset = pool_push(root->document->pool, &policy->presets, &policy->nr_presets, sizeof(*policy->presets));
	const char *base = strrchr(root->document->file, '/') + 1;

	if (!preset)
		return err_set(root->document->error, -ENOMEM, "out of memory");
	preset->origin = node_origin(root);
	preset->name = pool_text(root->document->pool, base, strlen(base) - strlen(".json"));
	return preset->name ? node_object(root, fields, ARRAY_SIZE(fields), preset) : err_set(root->document->error, -ENOMEM, "out of memory");
}

/* ---- all of them together ---- */

static bool lists(const struct strings *list, const char *text)
{
	size_t i = 0;

	while (i < list->nr && strcmp(list->items[i], text) != 0)
		i++;
	return i < list->nr;
}

bool preset_is_on(const struct policy *policy, const struct preset *preset)
{
	return policy->offered.profile != PROFILE_BARE && lists(&policy->offered.presets, preset->name);
}

const struct preset_command *policy_preset(const struct policy *policy, const char *name)
{
	for (size_t p = 0; p < policy->nr_presets; p++)
		for (size_t c = 0; preset_is_on(policy, &policy->presets[p]) && c < policy->presets[p].nr_commands; c++)
			if (strcmp(policy->presets[p].commands[c].name, name) == 0)
				return &policy->presets[p].commands[c];
	return NULL;
}

/* Whether a command before this one has its name. */
static bool is_second(const struct policy *policy, const struct preset_command *command)
{
	for (size_t p = 0; p < policy->nr_presets; p++)
		for (size_t c = 0; c < policy->presets[p].nr_commands; c++) {
			const struct preset_command *other = &policy->presets[p].commands[c];

			if (other == command)
				return false;
			if (strcmp(other->name, command->name) == 0)
				return true;
		}
	return false;
}

static int check_command(const struct policy *policy, const struct preset_command *command, struct err *ret_error)
{
	const struct environment *environment = &policy->environment;

	if (is_second(policy, command))
		return err_set(ret_error, -EINVAL, "%s is a command of a preset already", command->name);
	for (size_t i = 0; i < command->environment.nr; i++) {
		const char *name = command->environment.items[i];

		if (lists(&environment->deny, name))
			return err_set(ret_error, -EINVAL, "%s never passes: it stands under deny in environment.json", name);
		if (names_match(&environment->code_names, name, strlen(name)))
			return err_set(ret_error, -EINVAL, "%s changes which code is loaded: it stands under code_names in environment.json", name);
	}
	return 0;
}

int presets_check(const struct policy *policy, struct origin *ret_place, struct err *ret_error)
{
	int r = 0;

	for (size_t p = 0; p < policy->nr_presets; p++)
		for (size_t c = 0; r == 0 && c < policy->presets[p].nr_commands; c++) {
			*ret_place = policy->presets[p].commands[c].origin;
			r = check_command(policy, &policy->presets[p].commands[c], ret_error);
		}
	for (size_t i = 0; r == 0 && i < policy->offered.presets.nr; i++) {
		size_t p = 0;

		while (p < policy->nr_presets && strcmp(policy->presets[p].name, policy->offered.presets.items[i]) != 0)
			p++;
		*ret_place = (struct origin){ "policy.json", policy->offered.line };
		if (p == policy->nr_presets)
			r = err_set(ret_error, -EINVAL, "%s is no preset: there is no presets/%s.json", policy->offered.presets.items[i], policy->offered.presets.items[i]);
	}
	return r;
}
