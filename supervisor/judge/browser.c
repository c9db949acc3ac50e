/* SPDX-License-Identifier: Apache-2.0 */
/* The browser sessions that Cordon gives: who runs a browser, who talks to it, and by which variables its tool is told where it is. */
#include "supervisor/judge/judging.h"

#include "supervisor/base/path.h"

#include <string.h>

#define SESSION_HINT "use agent-browser, one command each; Cordon starts the browser"

static bool listed(const struct strings *list, const char *path)
{
	for (size_t i = 0; i < list->nr; i++)
		if (strcmp(list->items[i], path) == 0)
			return true;
	return false;
}

static bool list_holds(const char *const *list, const char *entry)
{
	for (; list && *list; list++)
		if (strcmp(*list, entry) == 0)
			return true;
	return false;
}

/* A script in a session's folder would be one that a page wrote. */
static bool is_of_session(const struct judging *j)
{
	const struct browser *b = &j->policy->browser;
	const char *program = j->action->program;

	return !j->action->interpreter && (listed(&b->programs, program) || listed(&b->browsers, program) || listed(&b->helpers, program));
}

/* In other modes nothing is refused, or nothing runs that is none of the project's read commands. */
static bool mode_has_browsers(const struct judging *j)
{
	return j->subject->mode == MODE_GUARDED || j->subject->mode == MODE_OBSERVE;
}

/* A program of the agents' own that is told what only browsers are told. A script's words are its own. */
static const char *find_switch(const struct judging *j)
{
	const struct action *a = j->action;

	if (a->interpreter || !a->argv || !a->argv[0] || !path_is_writable(j, a->program))
		return NULL;
	for (const char *const *word = a->argv + 1; *word; word++)
		if (names_match(&j->policy->browser.switches, *word, strlen(*word)))
			return *word;
	return NULL;
}

bool browser_answers(const struct judging *j)
{
	const struct browser *b = &j->policy->browser;
	const char *program = j->action->program, *word;
	const struct ruling ruling = { "browser.program", b->origin, SESSION_HINT };
	struct quoted q, p;

	if (!program || !mode_has_browsers(j))
		return false;
	if (j->subject->session == SESSION_DAEMON) {
		if (is_of_session(j))
			answer_allow(j, ruling, "%s is part of the agent's browser session.", quote_text(&q, program));
		else
			answer_deny(j, "policy_block", ruling, "A browser session runs its own programs only, and %s is none of them.", quote_text(&q, program));
		return true;
	}
	if (listed(&b->browsers, program) || names_match(&b->others, path_base(program), strlen(path_base(program)))) {
		answer_deny(j, "policy_block", ruling, "%s is a browser, or drives one, and agents have browser sessions for that.", quote_text(&q, program));
		return true;
	}
	word = find_switch(j);
	if (word)
		answer_deny(j, "policy_block", ruling, "%s is started as a browser is, with %s.", quote_text(&q, program), quote_text(&p, word));
	return word;
}

bool browser_keeps(const struct judging *j, const char *path)
{
	const struct browser *b = &j->policy->browser;
	struct quoted q;

	if (!mode_has_browsers(j) || j->subject->session == SESSION_DAEMON || !(j->action->of_session || listed(&b->browsers, path)))
		return false;
	answer_deny(j, "policy_block", (struct ruling){ "browser.file", b->origin, SESSION_HINT }, "%s is a browser, which only an agent's browser session opens.",
		    quote_text(&q, path));
	return true;
}

/* Both ways: one that was changed or added, and one that is missing, lead the tool elsewhere. */
static const char *find_difference(const struct names *fixed, const char *const *entries, const char *const *in)
{
	for (; entries && *entries; entries++)
		if (names_match(fixed, *entries, strcspn(*entries, "=")) && !list_holds(in, *entries))
			return *entries;
	return NULL;
}

bool browser_is_led_away(const struct judging *j)
{
	const struct names *fixed = &j->policy->browser.fixed;
	const char *const *launch = j->subject->launch_environment;
	const char *entry;
	struct quoted q;

	if (!at_execve(j) || j->subject->session == SESSION_NONE)
		return false;
	entry = find_difference(fixed, j->action->environment, launch);
	if (!entry)
		entry = find_difference(fixed, launch, j->action->environment);
	if (!entry)
		return false;
	answer_deny(j, "environment", (struct ruling){ "browser.environment", { "browser.json", fixed->line }, "run agent-browser with the variables of the launch" },
		    "%s is not what Cordon assigned, and leads to another browser session.", quote(&q, entry, strcspn(entry, "=")));
	return true;
}

bool browser_is_foreign(const struct judging *j, const char *what)
{
	if (!j->action->of_session || j->action->session_client)
		return false;
	answer_deny(j, "policy_block", (struct ruling){ "browser.connect", j->policy->browser.origin, SESSION_HINT },
		    "%s belongs to a browser session, which only agent-browser talks to.", what);
	return true;
}
