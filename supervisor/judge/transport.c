/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Templates of transports/: which one a launch's command line is, and which of the launch's execs it accounts for.
 *
 * A template is matched by its text, and an agent can bring a host to issue that text: so what passes here has to be harmless in
 * anybody's hands. An exec passes by its words, never by its program's name alone: a login shell reads files that agents write.
 */
#include "supervisor/judge/judging.h"

#include "supervisor/base/path.h"
#include "supervisor/base/sha256.h"

#include <limits.h>
#include <string.h>

#define UUID_DIGITS 32

/* ---- words ---- */

static bool is_name(const char *text, size_t len)
{
	if (len == 0 || memchr(text, '/', len))
		return false;
	return !(text[0] == '.' && (len == 1 || (len == 2 && text[1] == '.')));
}

static bool is_uuid_name(const char *text, size_t len)
{
	return len > UUID_DIGITS + 1 && strspn(text, "0123456789abcdef") == UUID_DIGITS && text[UUID_DIGITS] == '_' &&
	       is_name(text + UUID_DIGITS + 1, len - UUID_DIGITS - 1);
}

static bool is_number(const char *text, size_t len)
{
	return len > 0 && len <= 19 && strspn(text, "0123456789") >= len;
}

/* The text stays inside the quotes around it: a quote in it is written as '\''. */
static bool is_quoted(const char *text, size_t len)
{
	const char *end = text + len, *quote = text;

	while ((quote = memchr(quote, '\'', (size_t)(end - quote)))) {
		if (end - quote < 4 || memcmp(quote, "'\\''", 4) != 0)
			return false;
		quote += 4;
	}
	return true;
}

static bool is_path(const struct strings *roots, const char *text, size_t len)
{
	char path[PATH_MAX], normal[PATH_MAX];
	size_t i;

	if (len == 0 || len >= sizeof(path) || *text != '/')
		return false;
	memcpy(path, text, len);
	path[len] = '\0';
	if (path_normalize(NULL, path, normal, sizeof(normal)) < 0 || strcmp(path, normal) != 0)
		return false;
	for (i = 0; i < roots->nr; i++)
		if (path_is_under(path, roots->items[i]))
			return true;
	return false;
}

static bool has_digest(const struct strings *digests, const char *text, size_t len)
{
	char hex[65];
	size_t i;

	sha256_of(text, len, hex);
	for (i = 0; i < digests->nr; i++)
		if (strcmp(digests->items[i], hex) == 0)
			return true;
	return false;
}

static bool word_matches(const struct word_pattern *word, const char *text)
{
	size_t len = strlen(text), before = strlen(word->before), after = strlen(word->after);

	if (len < before + after || memcmp(text, word->before, before) != 0 || strcmp(text + len - after, word->after) != 0)
		return false;
	text += before;
	len -= before + after;
	switch (word->hole) {
	case HOLE_NONE:
		return len == 0;
	case HOLE_TEXT:
		return true;
	case HOLE_QUOTED:
		return is_quoted(text, len);
	case HOLE_NUMBER:
		return is_number(text, len);
	case HOLE_NAME:
		return is_name(text, len);
	case HOLE_UUID_NAME:
		return is_uuid_name(text, len);
	case HOLE_PATH:
		return is_path(&word->list, text, len);
	case HOLE_SHA256:
		return has_digest(&word->list, text, len);
	default:
		return false;
	}
}

static bool argv_matches(const struct argv_pattern *pattern, const char *const *argv)
{
	size_t i;

	for (i = 0; i < pattern->nr; i++)
		if (!argv[i] || !word_matches(&pattern->words[i], argv[i]))
			return false;
	return pattern->rest || !argv[i];
}

const struct transport *judge_transport(const struct policy *policy, const char *const *argv, size_t *ret_rest)
{
	size_t i;

	for (i = 0; i < policy->nr_transports; i++) {
		const struct transport *transport = &policy->transports[i];

		if (!argv_matches(&transport->argv, argv) || (transport->wrap && !argv[transport->argv.nr]))
			continue;
		if (ret_rest)
			*ret_rest = transport->argv.nr;
		return transport;
	}
	return NULL;
}

/* ---- execs ---- */

/* The program is the image's own and the one the words name, under whatever name: mawk is awk, pgrep is pkill, busybox is all. */
static bool is_named_program(const struct judging *j, const char *called)
{
	const char *program = j->action->program;
	const struct command *command = policy_command(j->policy, path_base(program));

	if (path_is_writable(j, program))
		return false;
	if (strcmp(path_base(program), path_base(called)) == 0)
		return true;
	return command && (command->multicall || command == policy_command(j->policy, path_base(called)) ||
			   !(command->effects & ~(unsigned)(EFFECT_READ | EFFECT_STATE)));
}

/* A script where agents write: no more than "sh SCRIPT", which needs no leave, while it is a shell of the image that reads it. */
static bool is_shell_script(const struct judging *j, const char *called)
{
	return j->action->interpreter && strcmp(j->action->program, called) == 0 && is_image_shell(j, j->action->interpreter);
}

static bool is_accounted_for(const struct judging *j, const char *const *argv)
{
	const struct transport *transport = j->subject->transport;
	size_t i;

	if (j->action->first)
		return !transport->wrap;
	if (!j->action->caller || !is_image_shell(j, j->action->caller))
		return false;
	for (i = 0; i < transport->nr_runs; i++)
		if (argv_matches(&transport->runs[i], argv))
			return true;
	return false;
}

bool transport_allows(const struct judging *j, const char *const *argv)
{
	const struct transport *transport = j->subject->transport;
	const bool mode_has_it = j->subject->mode == MODE_GUARDED || j->subject->mode == MODE_OBSERVE;
	struct quoted q;

	if (!transport || !mode_has_it || !j->action->program || !is_accounted_for(j, argv) ||
	    !(is_named_program(j, argv[0]) || is_shell_script(j, argv[0])))
		return false;
	j->decision->by = BY_PLAN;
	answer_allow(j, (struct ruling){ transport->id, transport->origin, NULL }, "%s is what the host itself runs here.",
		     quote_text(&q, j->action->program));
	return true;
}
