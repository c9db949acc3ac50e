/* SPDX-License-Identifier: Apache-2.0 */
/* policy.json, environment.json and paths.json: tables of keys over the structs of policy.h. */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/policy/names.h"

#include <errno.h>
#include <string.h>

/* ---- policy.json ---- */

static int read_mode(const struct node *node, void *ret)
{
	const char *text = json_string_value(node->value);
	struct err why = { 0 };

	if (!text)
		return node_error(node, "expected a mode: off, guarded, observe or readonly");
	if (mode_parse(text, ret, &why) < 0)
		return node_error(node, "%s", why.text);
	return 0;
}

static int read_unreviewed(const struct node *node, void *ret)
{
	static const char *const words[] = { "deny", "allow" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(bool *)ret = i == 1;
	return r;
}

static int read_unsupervised(const struct node *node, void *ret)
{
	static const char *const words[] = { "leave", "stop" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(bool *)ret = i == 1;
	return r;
}

static int read_wrappers(const struct node *node, void *ret)
{
	static const char *const words[] = { "block", "follow" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(bool *)ret = i == 1;
	return r;
}

static int read_audit_allowed(const struct node *node, void *ret)
{
	static const char *const words[] = { "none", "decisions", "all" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(enum audit_allowed *)ret = (enum audit_allowed)i;
	return r;
}

static int read_audit(const struct node *node, void *ret)
{
	static const struct field fields[] = { { "allowed", read_audit_allowed, 0, true } };

	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

int section_policy(const struct node *root, struct policy *policy)
{
#define MEMBER(name) offsetof(struct policy, name)
	static const struct field fields[] = {
		{ "mode", read_mode, MEMBER(mode), true },
		{ "max_unattended", read_mode, MEMBER(max_unattended), true },
		{ "unreviewed", read_unreviewed, MEMBER(unreviewed_allow), true },
		{ "wrappers", read_wrappers, MEMBER(wrappers_follow), true },
		{ "unsupervised", read_unsupervised, MEMBER(unsupervised_stop), false },
		{ "launch_user", read_text, MEMBER(launch_user), true },
		{ "require", read_strings, MEMBER(require), true },
		{ "commands", read_offered, MEMBER(offered), false },
		{ "audit", read_audit, MEMBER(audit_allowed), true },
	};
#undef MEMBER

	return node_object(root, fields, ARRAY_SIZE(fields), policy);
}

/* ---- environment.json ---- */

static int read_env_mode(const struct node *node, void *ret)
{
	static const char *const words[] = { "selected", "all" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(enum env_mode *)ret = (enum env_mode)i;
	return r;
}

static int read_image(const struct node *node, void *ret)
{
	static const char *const words[] = { "block", "pass" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(bool *)ret = i == 1;
	return r;
}

/* "exact names only": a pattern that looks as if it withheld a family of secrets, and does not, is worse than none. */
static int read_exact_names(const struct node *node, void *ret)
{
	struct strings *list = ret;
	size_t i;
	int r = read_strings(node, ret);

	for (i = 0; r == 0 && i < list->nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };

		if (strpbrk(list->items[i], "*?=["))
			r = node_error(&child, "names are exact here: no wildcard, no value");
	}
	return r;
}

static int read_some_names(const struct node *node, void *ret)
{
	const struct names *names = ret;
	int r = read_names(node, ret);

	return r == 0 && !names->exact.nr && !names->prefixes.nr ? node_error(node, "expected at least one name") : r;
}

static int read_setter(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct env_setter, name)
	static const struct field fields[] = {
		{ "setters", read_some_names, MEMBER(setters), true },
		{ "names", read_some_names, MEMBER(names), true },
		{ "programs", read_some_names, MEMBER(programs), false },
		{ "own", read_bool, MEMBER(own), false },
	};
#undef MEMBER
	struct env_setter *setter = ret;
	int r;

	setter->origin = node_origin(node);
	r = node_object(node, fields, ARRAY_SIZE(fields), ret);
	return r == 0 && setter->own && (setter->programs.exact.nr || setter->programs.prefixes.nr) ?
		       node_error(node, "\"own\" and \"programs\" exclude each other: agents' programs have any name") : r;
}

static int read_helpers(const struct node *node, void *ret)
{
	struct environment *environment = ret;

	return node_array(node, read_setter, &environment->helpers, &environment->nr_helpers, sizeof(*environment->helpers));
}

static bool is_variable(const char *name)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

	return name[strspn(name, letters)] == '\0' && !(*name >= '0' && *name <= '9');
}

static int read_source(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct env_source, name)
	static const struct field fields[] = {
		{ "name", read_text, MEMBER(name), true },
		{ "command", read_command_line, MEMBER(command), true },
		{ "timeout_ms", read_milliseconds, MEMBER(timeout_ms), false },
	};
#undef MEMBER
	struct env_source *source = ret;
	int r;

	source->origin = node_origin(node);
	source->timeout_ms = 3000;
	r = node_object(node, fields, ARRAY_SIZE(fields), source);
	if (r == 0 && !is_variable(source->name))
		return node_error(node, "expected the name of a variable");
	if (r == 0 && source->command.items[0][0] != '/')
		return node_error(node, "the command is named by its absolute path");
	if (r == 0 && source->timeout_ms > 10000)
		return node_error(node, "a launch waits for it: at most 10000 milliseconds");
	return r;
}

static int read_sources(const struct node *node, void *ret)
{
	struct environment *environment = ret;
	size_t i, k;
	int r = node_array(node, read_source, &environment->sources, &environment->nr_sources, sizeof(*environment->sources));

	for (i = 0; r == 0 && i < environment->nr_sources; i++)
		for (k = 0; k < i; k++)
			if (strcmp(environment->sources[i].name, environment->sources[k].name) == 0)
				r = node_error(node, "%s has two sources", environment->sources[i].name);
	return r;
}

/* deny wins: a source that is never asked is a mistake. */
static int check_sources(const struct node *root, const struct environment *environment)
{
	size_t i, k;

	for (i = 0; i < environment->nr_sources; i++)
		for (k = 0; k < environment->deny.nr; k++)
			if (strcmp(environment->sources[i].name, environment->deny.items[k]) == 0)
				return node_error(root, "%s has a source and is denied", environment->deny.items[k]);
	return 0;
}

int section_environment(const struct node *root, struct policy *policy)
{
#define MEMBER(name) offsetof(struct environment, name)
	static const struct field fields[] = {
		{ "mode", read_env_mode, MEMBER(mode), true },
		{ "image", read_image, MEMBER(image_pass), true },
		{ "baseline", read_names, MEMBER(baseline), true },
		{ "allow", read_names, MEMBER(allow), true },
		{ "deny", read_exact_names, MEMBER(deny), true },
		{ "code_names", read_names, MEMBER(code_names), true },
		{ "text_names", read_names, MEMBER(text_names), true },
		{ "helpers", read_helpers, 0, false },
		{ "sources", read_sources, 0, false },
		{ "harmless", read_strings, MEMBER(harmless), false },
	};
#undef MEMBER
	int r;

	policy->environment.origin = node_origin(root);
	r = node_object(root, fields, ARRAY_SIZE(fields), &policy->environment);
	return r < 0 ? r : check_sources(root, &policy->environment);
}

/* ---- paths.json ---- */

/* Absolute or below "~", without ".", "..", empty parts and a slash at the end: comparing names needs one spelling. */
static bool path_is_normal(const char *path)
{
	const char *part = path;

	if (*part == '~')
		part++;
	if (*part == '\0')
		return part > path;
	if (*part != '/')
		return false;
	if (strcmp(path, "/") == 0)
		return true;
	while (*part == '/') {
		size_t len = strcspn(++part, "/");

		if (len == 0 || (len == 1 && *part == '.') || (len == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		part += len;
	}
	return true;
}

int read_path(const struct node *node, void *ret)
{
	int r = read_text(node, ret);

	if (r == 0 && !path_is_normal(*(const char **)ret))
		return node_error(node, "expected an absolute path or one below \"~\", without \".\", \"..\", \"//\" or a \"/\" at the end");
	return r;
}

int read_paths(const struct node *node, void *ret)
{
	struct strings *list = ret;
	size_t i;
	int r = read_strings(node, ret);

	for (i = 0; r == 0 && i < list->nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };
		const char *path;

		r = read_path(&child, &path);
	}
	return r;
}

static int read_roots(const struct node *node, void *ret)
{
	unsigned i = 0;
	const char *now = json_is_string(node->value) ? name_now(json_string_value(node->value)) : NULL;
	int r = now ? node_error(node, "the name \"%s\" is retired: it is now %s", json_string_value(node->value), now) : node_word(node, roots_names, ROOTS_COUNT, &i);

	*(enum root_style *)ret = (enum root_style)i;
	return r;
}

/* Masks take one list: Cordon's own folders, then the others. */
static int join_hidden(const struct node *root, struct paths *paths)
{
	struct strings joined = { .line = paths->hidden.line };

	joined.items = pool_take(root->document->pool, (paths->own.nr + paths->hidden.nr + 1) * sizeof(*joined.items));
	if (!joined.items)
		return err_set(root->document->error, -ENOMEM, "out of memory");
	memcpy(joined.items, paths->own.items, paths->own.nr * sizeof(*joined.items));
	memcpy(joined.items + paths->own.nr, paths->hidden.items, paths->hidden.nr * sizeof(*joined.items));
	joined.nr = paths->own.nr + paths->hidden.nr;
	paths->hidden = joined;
	return 0;
}

int section_paths(const struct node *root, struct policy *policy)
{
#define MEMBER(name) offsetof(struct paths, name)
	static const struct field fields[] = {
		{ "project", read_path, MEMBER(project), true },
		{ "roots", read_roots, MEMBER(roots), true },
		{ "confine_writes", read_bool, MEMBER(confine_writes), true },
		{ "block_internal_http", read_bool, MEMBER(block_internal_http), true },
		{ "write", read_paths, MEMBER(write), true },
		{ "allowed_roots", read_paths, MEMBER(allowed_roots), true },
		{ "blocked_roots", read_paths, MEMBER(blocked_roots), true },
		{ "system_roots", read_paths, MEMBER(system_roots), true },
		{ "protected", read_paths, MEMBER(protected_names), true },
		{ "own", read_paths, MEMBER(own), true },
		{ "own_files", read_paths, MEMBER(own_files), true },
		{ "hidden", read_paths, MEMBER(hidden), true },
		{ "devices", read_paths, MEMBER(devices), true },
		{ "raw_devices", read_names, MEMBER(raw_devices), true },
		{ "process_files", read_names, MEMBER(process_files), false },
		{ "sensitive", read_strings, MEMBER(sensitive), true },
		{ "irreplaceable", read_paths, MEMBER(irreplaceable), false },
		{ "scratch", read_paths, MEMBER(scratch), false },
		{ "start_files", read_paths, MEMBER(start_files), false },
		{ "frozen", read_strings, MEMBER(frozen), false },
		{ "sources", read_path, MEMBER(sources), false },
		{ "live_sources", read_strings, MEMBER(live_sources), false },
		{ "refused_file_systems", read_strings, MEMBER(refused_file_systems), false },
		{ "refused_sources", read_paths, MEMBER(refused_sources), false },
		{ "refused_holds", read_strings, MEMBER(refused_holds), false },
		{ "secret_files", read_strings, MEMBER(secret_files), false },
		{ "skills", read_paths, MEMBER(skills), false },
	};
#undef MEMBER
	int r;

	policy->paths.origin = node_origin(root);
	r = node_object(root, fields, ARRAY_SIZE(fields), &policy->paths);
	if (r == 0)
		r = skills_check(root, &policy->paths);
	return r < 0 ? r : join_hidden(root, &policy->paths);
}
