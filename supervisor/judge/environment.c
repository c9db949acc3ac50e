/* SPDX-License-Identifier: Apache-2.0 */
/* Names that change which code is loaded: in a command's text, in the environment of an exec, and in what a launch begins with. */
#include "supervisor/judge/judging.h"

#include "supervisor/base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

/* The value of the name in a NULL-terminated "K=V" list (which may be NULL), or NULL. */
static const char *value_in(const char *const *environment, const char *name, size_t len)
{
	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

static bool is_own_value(const char *const *environment, const char *entry, size_t len)
{
	const char *value = value_in(environment, entry, len);

	return value && entry[len] == '=' && strcmp(value, entry + len + 1) == 0;
}

static void deny_name(const struct judging *j, unsigned line, const char *name, size_t len)
{
	struct quoted q;

	answer_deny(j, "environment", (struct ruling){ "environment.code", { "environment.json", line }, "run the command without setting it" },
		    "%s changes which code is loaded or how programs behave, and is not set by the launch.", quote(&q, name, len));
}

static bool base_matches(const struct names *names, const char *path)
{
	const char *base = path_base(path);

	return names_match(names, base, strlen(base));
}

/* What loads code of the agents' choice is theirs already: it gains nothing by the name, and has to set it itself for a program of the image. */
static bool is_own_program(const struct judging *j)
{
	return j->action->program && !j->action->interpreter && path_is_writable(j, j->action->program);
}

static bool is_meant_for(const struct judging *j, const struct env_setter *helper)
{
	if (helper->own)
		return is_own_program(j);
	if (!helper->programs.exact.nr && !helper->programs.prefixes.nr)
		return true;
	return j->action->program && !j->action->interpreter && !path_is_writable(j, j->action->program) &&
	       base_matches(&helper->programs, j->action->program);
}

/*
 * A tool of the image sets names for its helpers (git -c a=b runs git maintenance with GIT_CONFIG_PARAMETERS), and a shell between them hands
 * on what it was given, which was judged then: a script cannot change what its shell began with.
 */
static bool is_for_helper(const struct judging *j, const char *entry, size_t len)
{
	const struct environment *environment = &j->policy->environment;
	const char *caller = j->action->caller;
	bool own, handed_on;
	size_t i;

	if (!caller)
		return false;
	own = path_is_writable(j, caller);
	handed_on = !own && is_image_shell(j, caller) && is_own_value(j->action->caller_environment, entry, len);
	for (i = 0; i < environment->nr_helpers; i++) {
		const struct env_setter *helper = &environment->helpers[i];

		if (names_match(&helper->names, entry, len) && is_meant_for(j, helper) &&
		    (own ? helper->own : handed_on || base_matches(&helper->setters, caller)))
			return true;
	}
	return false;
}

static bool is_harmless(const struct environment *environment, const char *entry)
{
	size_t i;

	for (i = 0; i < environment->harmless.nr; i++)
		if (strcmp(environment->harmless.items[i], entry) == 0)
			return true;
	return false;
}

/* Removing a name is fine: it only takes away what the launch gave. */
bool environment_loads_code(const struct judging *j)
{
	const struct environment *environment = &j->policy->environment;
	const char *const *entry, *const *own = j->subject->launch_environment;

	for (entry = j->action->environment; entry && *entry; entry++) {
		size_t len;

		/* Most programs hand on what the launch began with, in its order. */
		if (own && *own && strcmp(*own, *entry) == 0) {
			own++;
			continue;
		}
		len = name_length(*entry);
		if (!names_match(&environment->code_names, *entry, len) || is_own_value(j->subject->launch_environment, *entry, len) ||
		    is_harmless(environment, *entry))
			continue;
		if (!is_for_helper(j, *entry, len)) {
			deny_name(j, environment->code_names.line, *entry, len);
			return true;
		}
		j->decision->by = BY_HELPER;
	}
	return false;
}

static bool is_name(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f)
			return false;
	return len > 0;
}

/* ACTION_ENVIRONMENT: command text sets (or would set) this name. */
void judge_environment(const struct judging *j)
{
	const struct environment *environment = &j->policy->environment;
	const char *text = j->action->text;
	size_t len = text ? name_length(text) : 0;
	struct quoted q;

	if (!text || !is_name(text, len))
		return;		/* invalid_request stands */
	if (is_own_value(j->subject->launch_environment, text, len))
		answer_allow(j, (struct ruling){ "environment.same", environment->origin, NULL }, "%s is set as the launch has it.", quote(&q, text, len));
	else if (names_match(&environment->code_names, text, len))
		deny_name(j, environment->code_names.line, text, len);
	else if (names_match(&environment->text_names, text, len))
		deny_name(j, environment->text_names.line, text, len);
	else
		answer_allow(j, (struct ruling){ "environment.name", environment->origin, NULL }, "%s may be set.", quote(&q, text, len));
}

/* ---- what a launch begins with ---- */

struct list {			/* of malloc'ed "K=V" */
	char **items;		/* NULL-terminated */
	size_t nr, most;
};

static void list_free(struct list *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free(list->items[i]);
	free(list->items);
}

/* Takes entry (NULL: out of memory); the last one of a name stays. */
static int list_set(struct list *list, char *entry)
{
	size_t i, len;

	if (!entry)
		return -ENOMEM;
	len = name_length(entry) + 1;
	for (i = 0; i < list->nr; i++)
		if (strncmp(list->items[i], entry, len) == 0) {
			free(list->items[i]);
			list->items[i] = entry;
			return 0;
		}
	if (list->nr + 1 >= list->most) {
		size_t most = list->most ? list->most * 2 : 64;
		char **grown = realloc(list->items, most * sizeof(*grown));

		if (!grown) {
			free(entry);
			return -ENOMEM;
		}
		list->items = grown;
		list->most = most;
	}
	list->items[list->nr++] = entry;
	list->items[list->nr] = NULL;
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

	for (i = 0; i < list->nr; i++)
		if (strlen(list->items[i]) == len && memcmp(list->items[i], name, len) == 0)
			return true;
	return false;
}

/* deny wins; "all" with a list under allow passes only that list (and the baseline, always). */
static bool passes(const struct environment *environment, const char *name, size_t len)
{
	bool allow_lists = environment->allow.exact.nr || environment->allow.prefixes.nr;

	if (listed(&environment->deny, name, len))
		return false;
	if (names_match(&environment->baseline, name, len) || names_match(&environment->allow, name, len))
		return true;
	return environment->mode == ENV_ALL && !allow_lists;
}

static bool is_entry(const char *entry)
{
	return *entry != '=' && strchr(entry, '=');
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

static int set_path(struct list *list, const char *entry_folder)
{
	const char *path = value_in((const char *const *)list->items, "PATH", 4);
	char *entry = without_folder(path ? path : "", entry_folder);

	if (entry && strcmp(entry, "PATH=") == 0) {
		free(entry);
		entry = strdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	}
	return list_set(list, entry);
}

static int copy_passing(struct list *list, const struct environment *environment, const char *const *from, bool all)
{
	int r = 0;

	for (; r == 0 && from && *from; from++)
		if (is_entry(*from) && (all ? !listed(&environment->deny, *from, name_length(*from)) :
					      passes(environment, *from, name_length(*from))))
			r = list_set(list, strdup(*from));
	return r;
}

static int build(struct list *list, const struct environment *environment, const struct launch_user_facts *user,
		 const char *const *image, const char *const *asked, const char *const *added, const char *entry_folder)
{
	const char *const facts[][2] = { { "HOME", user->home }, { "USER", user->name }, { "LOGNAME", user->name }, { "SHELL", user->shell } };
	size_t i;
	int r = copy_passing(list, environment, image, environment->image_pass);

	if (r == 0)
		r = copy_passing(list, environment, asked, false);
	for (i = 0; r == 0 && i < sizeof(facts) / sizeof(facts[0]); i++)
		if (facts[i][1])
			r = list_set(list, joined(facts[i][0], facts[i][1]));
	for (; r == 0 && added && *added; added++)
		if (is_entry(*added))
			r = list_set(list, strdup(*added));
	return r < 0 ? r : set_path(list, entry_folder);
}

int judge_launch_environment(const struct policy *policy, enum mode mode, const struct launch_user_facts *user,
			     const char *const *image, const char *const *asked, const char *const *added, const char *entry_folder,
			     struct decision *ret_decision, char ***ret_environment)
{
	const struct judge_subject subject = { .mode = mode };
	const struct action action = { .kind = ACTION_ENVIRONMENT };
	const struct judging j = { .policy = policy, .subject = &subject, .action = &action, .decision = ret_decision };
	const struct environment *environment = &policy->environment;
	struct list list = { 0 };
	const char *const *entry;
	int r;

	*ret_decision = (struct decision){ 0 };
	for (entry = asked; mode != MODE_OFF && entry && *entry; entry++) {
		size_t len = name_length(*entry);

		if (names_match(&environment->code_names, *entry, len) && !is_own_value(image, *entry, len)) {
			deny_name(&j, environment->code_names.line, *entry, len);
			return 0;
		}
	}
	r = build(&list, environment, user, image, asked, added, entry_folder);
	if (r < 0) {
		list_free(&list);
		return r;
	}
	answer_allow(&j, (struct ruling){ "environment.launch", environment->origin, NULL }, "The environment holds no name that changes which code is loaded.");
	*ret_environment = list.items;
	return 0;
}
