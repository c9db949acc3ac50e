/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge on any command text, argument vector, environment, launch, address, name of a variable, path and URL, with the policy of this tree: whatever comes, there is an
 * answer, and a refusal says why and what is allowed instead.
 *
 * The first byte, "a" to "n", chooses the kind; then every mode is asked.
 */
#include "tests/fuzz/fuzz.h"

#include "supervisor/analyze/shell.h"
#include "supervisor/base/err.h"
#include "supervisor/judge/judge.h"

#include <string.h>

#define ARGUMENTS_MAX 64

static const char *scopes[] = { "", "target.test, 127.0.0.1, 10.0.0.0/8" };

static void expect_whole(const struct decision *d)
{
	if (!d->rule || !*d->rule || !d->origin.file || !*d->origin.file || !memchr(d->reason, '\0', sizeof(d->reason)) || !*d->reason)
		abort();
	if (d->verdict == VERDICT_DENY && (!d->tag || !*d->tag))
		abort();
	if (d->verdict != VERDICT_ALLOW && (!d->hint || !*d->hint))
		abort();
}

/* Lines become words. */
static size_t split(char *text, const char **words)
{
	size_t nr = 0;
	char *word;

	while (nr < ARGUMENTS_MAX && (word = strsep(&text, "\n")))
		words[nr++] = word;
	words[nr] = NULL;
	return nr;
}

/* Of any length: the kernel takes what the caller says. */
static bool address_of(uint8_t kind, const uint8_t *data, size_t len, struct action *ret)
{
	static struct sockaddr_storage address;

	ret->kind = kind == 'j' ? ACTION_BIND : ACTION_CONNECT;
	ret->unresolved = false;
	len = len < sizeof(address) ? len : sizeof(address);
	memset(&address, 0, sizeof(address));
	memcpy(&address, data, len);
	ret->address = (const struct sockaddr *)&address;
	ret->address_bytes = (socklen_t)len;
	ret->socket_type = kind == 'k' ? SOCK_DGRAM : SOCK_STREAM;
	ret->path = len > 2 && address.ss_family == AF_UNIX ? "/workspace/socket" : NULL;
	return true;
}

static bool action_of(uint8_t kind, char *text, const char **words, struct action *ret)
{
	static const char *const tool[] = { "git", "status", NULL };

	*ret = (struct action){ .cwd = "/workspace", .unresolved = true };
	switch (kind) {
	case 'a': case 'b':
		words[0] = text;
		words[1] = NULL;
		ret->kind = ACTION_EXEC;
		ret->argv = words;
		ret->shell_text = true;
		return true;
	case 'c':
		ret->kind = ACTION_EXEC;
		ret->argv = words;
		return split(text, words) > 0;
	case 'd':	/* at the kernel boundary */
		ret->kind = ACTION_EXEC;
		ret->argv = words;
		ret->program = "/usr/bin/find";
		return split(text, words) > 0;
	case 'l':	/* with what it would begin with */
		split(text, words);
		ret->kind = ACTION_EXEC;
		ret->argv = tool;
		ret->program = "/usr/bin/git";
		ret->environment = words;
		return true;
	case 'm':
		ret->kind = ACTION_STDIN;
		ret->typed = text;
		ret->typed_bytes = strlen(text);
		return true;
	case 'e':
		ret->kind = ACTION_ENVIRONMENT;
		ret->text = text;
		return true;
	case 'f': case 'g':
		ret->kind = kind == 'f' ? ACTION_READ : ACTION_WRITE;
		ret->path = text;
		return true;
	case 'h':
		ret->kind = ACTION_HTTP;
		ret->method = "GET";
		ret->url = text;
		return true;
	default:
		return false;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct arena arena;
	static struct scope scope[2];
	const char *words[ARGUMENTS_MAX + 1];
	struct action action;
	struct decision d;
	struct err e;
	unsigned mode;
	char *text;

	if (!arena.data) {
		arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
		if (!arena.data || scope_parse(scopes[0], &scope[0], &e) < 0 || scope_parse(scopes[1], &scope[1], &e) < 0)
			abort();
	}
	if (len < 1)
		return 0;
	if (data[0] >= 'i' && data[0] <= 'k') {
		action = (struct action){ 0 };
		address_of(data[0], data + 1, len - 1, &action);
		for (mode = MODE_OFF; mode < MODE_COUNT; mode++) {
			const struct judge_subject subject = { .mode = mode, .home = "/home/agent", .scope = &scope[data[0] & 1] };

			judge(fuzz_policy(), &subject, &action, &d);
			expect_whole(&d);
		}
		return 0;
	}
	if (!(text = fuzz_text(data + 1, len - 1)))
		return 0;
	if (data[0] == 'n' ? split(text, words) > 0 : action_of(data[0], text, words, &action))
		for (mode = MODE_OFF; mode < MODE_COUNT; mode++) {
			const struct judge_subject subject = { .mode = mode, .home = "/home/agent", .scope = &scope[data[0] & 1], .arena = &arena };

			arena.used_bytes = 0;
			if (data[0] == 'n')
				judge_launch(fuzz_policy(), &subject, words, "/workspace", &d);
			else
				judge(fuzz_policy(), &subject, &action, &d);
			expect_whole(&d);
		}
	free(text);
	return 0;
}
