/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch begins with: the image's variables, those that the client brings, the user's, and Cordon's own. One way through them, told to whoever
 * wants to know what becomes of each. Pure but for memory; any thread.
 */
#include "supervisor/judge/judging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct item {
	char *entry;		/* "K=V", owned */
	enum env_origin origin;
	const char *why;
};

struct building {
	const struct policy *policy;
	const struct launch_given *given;
	const struct judging *j;
	struct item *items;
	size_t nr, most;
	bool refused;
};

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool is_entry(const char *entry)
{
	return *entry != '=' && strchr(entry, '=');
}

static void tell(const struct building *b, const char *entry, enum env_origin origin, bool passes, const char *why)
{
	if (b->given->listener)
		b->given->listener->tell(b->given->listener->context, entry, origin, passes, why);
}

/* Takes the entry (NULL: out of memory); the last one of a name stays. */
static int set(struct building *b, char *entry, enum env_origin origin, const char *why)
{
	size_t i = 0, len;

	if (!entry)
		return -ENOMEM;
	len = name_length(entry) + 1;
	while (i < b->nr && strncmp(b->items[i].entry, entry, len) != 0)
		i++;
	if (i == b->most) {
		size_t most = b->most ? b->most * 2 : 64;
		struct item *grown = realloc(b->items, most * sizeof(*grown));

		if (!grown) {
			free(entry);
			return -ENOMEM;
		}
		b->items = grown;
		b->most = most;
	}
	if (i < b->nr)
		free(b->items[i].entry);
	else
		b->nr++;
	b->items[i] = (struct item){ entry, origin, why };
	return 0;
}

static char *joined(const char *name, const char *value)
{
	size_t name_len = strlen(name), len = name_len + 1 + strlen(value) + 1;
	char *entry = malloc(len);

	if (!entry)
		return NULL;
	memcpy(entry, name, name_len);
	entry[name_len] = '=';
	memcpy(entry + name_len + 1, value, len - name_len - 1);
	return entry;
}

static bool listed(const struct strings *list, const char *name, size_t len)
{
	size_t i;

	for (i = 0; list && i < list->nr; i++)
		if (strlen(list->items[i]) == len && memcmp(list->items[i], name, len) == 0)
			return true;
	return false;
}

/* deny wins; "all" with a list under allow passes only that list (and the baseline, always). */
static bool passes(const struct building *b, const char *name, bool whole, const char **ret_why)
{
	const struct environment *environment = &b->policy->environment;
	bool allow_lists = environment->allow.exact.nr || environment->allow.prefixes.nr;
	size_t len = name_length(name);

	if (listed(&environment->deny, name, len))
		return *ret_why = "deny", false;
	if (whole)
		return *ret_why = "image", true;
	if (names_match(&environment->baseline, name, len))
		return *ret_why = "baseline", true;
	if (names_match(&environment->allow, name, len))
		return *ret_why = "allow", true;
	if (environment->mode == ENV_ALL && !allow_lists)
		return *ret_why = "all", true;
	if (listed(b->given->also, name, len))
		return *ret_why = "preset", true;
	return *ret_why = "not in baseline or allow", false;
}

static int copy_passing(struct building *b, const char *const *from, enum env_origin origin)
{
	bool whole = origin == ENV_OF_IMAGE && b->policy->environment.image_pass;
	const char *why;
	int r = 0;

	for (; r == 0 && from && *from; from++) {
		if (origin == ENV_OF_CLIENT && environment_is_refused(b->j, b->given->image, *from)) {
			b->refused = true;
			tell(b, *from, origin, false, "changes which code is loaded: the launch is refused");
			if (!b->given->listener)
				return 0;
		} else if (!is_entry(*from)) {
			continue;
		} else if (passes(b, *from, whole, &why)) {
			r = set(b, strdup(*from), origin, why);
		} else {
			tell(b, *from, origin, false, why);
		}
	}
	return r;
}

/* PATH without the folder of the entry names: children of a launch are not launches of their own. */
static char *without_folder(const char *path, const char *folder)
{
	char *result = malloc(strlen("PATH=") + strlen(path) + 1), *out;
	const char *part = path;

	if (!result)
		return NULL;
	out = stpcpy(result, "PATH=");
	for (;;) {
		size_t len = strcspn(part, ":"), bare = len;

		while (bare > 1 && part[bare - 1] == '/')
			bare--;
		if (!folder || strlen(folder) != bare || memcmp(part, folder, bare) != 0) {
			if (out > result + strlen("PATH="))
				*out++ = ':';
			memcpy(out, part, len);
			out += len;
		}
		if (!part[len])
			break;
		part += len + 1;
	}
	*out = '\0';
	return result;
}

static int set_path(struct building *b)
{
	struct item none = { .entry = NULL, .origin = ENV_OF_CORDON, .why = "default" }, path = none;
	size_t i;
	char *entry;

	for (i = 0; i < b->nr; i++)
		if (strncmp(b->items[i].entry, "PATH=", 5) == 0)
			path = b->items[i];
	entry = b->given->path ? joined("PATH", b->given->path) : without_folder(path.entry ? path.entry + 5 : "", b->given->entry_folder);
	if (entry && strcmp(entry, "PATH=") == 0) {
		free(entry);
		entry = strdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
		path = none;
	}
	return set(b, entry, path.origin, path.why);
}

static int build(struct building *b)
{
	const struct launch_given *given = b->given;
	const char *const facts[][2] = { { "HOME", given->user->home }, { "USER", given->user->name }, { "LOGNAME", given->user->name }, { "SHELL", given->user->shell } };
	const char *const *added;
	size_t i;
	int r = copy_passing(b, given->image, ENV_OF_IMAGE);

	if (r == 0)
		r = copy_passing(b, given->asked, ENV_OF_CLIENT);
	for (i = 0; r == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i][1])
			r = set(b, joined(facts[i][0], facts[i][1]), ENV_OF_USER, "passwd");
	for (added = given->added; r == 0 && added && *added; added++)
		if (is_entry(*added))
			r = set(b, strdup(*added), ENV_OF_CORDON, "added");
	return r < 0 ? r : set_path(b);
}

static int finish(struct building *b, char ***ret_environment)
{
	char **list = b->refused ? NULL : calloc(b->nr + 1, sizeof(*list));
	size_t i;

	for (i = 0; i < b->nr; i++) {
		tell(b, b->items[i].entry, b->items[i].origin, true, b->items[i].why);
		if (list)
			list[i] = b->items[i].entry;
		else
			free(b->items[i].entry);
	}
	free(b->items);
	if (list)
		*ret_environment = list;
	return b->refused || list ? 0 : -ENOMEM;
}

int judge_launch_environment(const struct policy *policy, enum mode mode, const struct launch_given *given, struct decision *ret_decision, char ***ret_environment)
{
	const struct judge_subject subject = { .mode = mode };
	const struct action action = { .kind = ACTION_ENVIRONMENT };
	const struct judging j = { .policy = policy, .subject = &subject, .action = &action, .decision = ret_decision };
	struct building b = { .policy = policy, .given = given, .j = &j };
	int r;

	*ret_decision = (struct decision){ 0 };
	r = build(&b);
	if (r < 0) {
		while (b.nr)
			free(b.items[--b.nr].entry);
		free(b.items);
		return r;
	}
	if (!b.refused)
		answer_allow(&j, (struct ruling){ "environment.launch", policy->environment.origin, NULL }, "The environment holds no name that changes which code is loaded.");
	return finish(&b, ret_environment);
}
