/* SPDX-License-Identifier: Apache-2.0 */
/* Names that change which code is loaded: in a command's text, in the environment of an exec, and in what a launch is asked to begin with. */
#include "supervisor/judge/judging.h"

#include "supervisor/base/path.h"

#include <errno.h>
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

/* What a client asks for: true when the launch is refused for it; answered then. */
bool environment_is_refused(const struct judging *j, const char *const *image, const char *entry)
{
	const struct environment *environment = &j->policy->environment;
	size_t len = name_length(entry);

	if (j->subject->mode == MODE_OFF || !names_match(&environment->code_names, entry, len) || is_own_value(image, entry, len))
		return false;
	deny_name(j, environment->code_names.line, entry, len);
	return true;
}
