/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for the judge, offline: a policy folder, somebody who asks, and the kinds of questions as words. Touches no process and no network. */
#include "supervisor/cli/question.h"

#include "supervisor/analyze/shell.h"
#include "supervisor/control/layout.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *verdict_name(enum verdict verdict)
{
	return verdict == VERDICT_ALLOW ? "allow" : verdict == VERDICT_REVIEW ? "review" : "deny";
}

const char *questions_folder(const char *dir)
{
	if (!dir)
		dir = getenv("CORDON_POLICY");
	return dir && *dir ? dir : CORDON_POLICY_DIR;
}

int questions_open(struct questions *q, const char *dir, struct err *ret_error)
{
	char line[1024];
	int r;

	*q = (struct questions){ 0 };
	r = policy_load(questions_folder(dir), &q->policy, ret_error);
	if (r < 0) {
		err_format(ret_error, line, sizeof(line));
		fprintf(stderr, "cordon: %s\n", line);
		return r;
	}
	q->cwd = q->policy->paths.project;
	/* The launch user's home is passwd's to say, which an offline question does not ask: useradd's default stands for it. */
	snprintf(q->home, sizeof(q->home), "/home/%s", q->policy->launch_user);
	q->arena = (struct arena){ .data = malloc(SHELL_ARENA_BYTES), .len_bytes = SHELL_ARENA_BYTES };
	if (!q->arena.data) {
		fputs("cordon: out of memory\n", stderr);
		return -ENOMEM;
	}
	q->subject = (struct judge_subject){ .arena = &q->arena, .mode = q->policy->mode, .home = q->home, .scope = &q->scope,
					     .unreviewed_allow = q->policy->unreviewed_allow };
	return 0;
}

void questions_close(struct questions *q)
{
	policy_free(q->policy);
	scope_free(&q->scope);
	free(q->arena.data);
	*q = (struct questions){ 0 };
}

/* An answer of our own, for requests that are no question for the judge. */
void questions_refuse(struct decision *d, const char *rule, const char *reason)
{
	*d = (struct decision){ .verdict = VERDICT_DENY, .tag = "invalid_request", .rule = rule, .origin = CODE_ORIGIN,
				.hint = "ask as cordon-check(1) says, for example: cordon check exec 'ls -la'" };
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
}

/* "1.2.3.4:80" or "[::1]:80": literals only, for names are resolved by whoever connects. Octal and short spellings are no literals here. */
static bool parse_address(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_bytes)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool is_v6 = len > 2 && text[0] == '[' && colon[-1] == ']';
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char host[64], *end;
	unsigned long port;

	if (!colon || len >= sizeof(host) || !isdigit((unsigned char)colon[1]))
		return false;
	memcpy(host, is_v6 ? text + 1 : text, is_v6 ? len - 2 : len);
	host[is_v6 ? len - 2 : len] = '\0';
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (*end || errno || port > 65535)
		return false;
	in.sin_port = in6.sin6_port = htons((uint16_t)port);
	if (is_v6 ? inet_pton(AF_INET6, host, &in6.sin6_addr) != 1 : inet_pton(AF_INET, host, &in.sin_addr) != 1)
		return false;
	*ret_bytes = is_v6 ? sizeof(in6) : sizeof(in);
	memcpy(ret_address, is_v6 ? (const void *)&in6 : (const void *)&in, *ret_bytes);
	return true;
}

static const char *const kinds[] = { "exec", "read", "write", "connect", "env", "stdin", "http", "browser" };

enum question_kind question_kind(const char *word)
{
	unsigned i;

	for (i = 0; i < QUESTION_COUNT && strcmp(word, kinds[i]) != 0; i++)
		;
	return (enum question_kind)i;
}

void questions_ask(const struct questions *q, const char **words, struct decision *ret)
{
	const char *const *arguments = words + 1;
	struct action action = { .cwd = q->cwd, .unresolved = true };
	enum question_kind kind = question_kind(words[0]);
	struct sockaddr_storage address;
	char text[65536];

	if (kind != QUESTION_HTTP && kind != QUESTION_BROWSER && kind != QUESTION_COUNT && (!arguments[0] || (arguments[1] && kind != QUESTION_EXEC))) {
		questions_refuse(ret, "check.arguments", "The kind needs exactly one argument (exec: at least one).");
		return;
	}
	switch (kind) {
	case QUESTION_EXEC:
		action.kind = ACTION_EXEC;
		action.argv = arguments;
		action.shell_text = !arguments[1];
		break;
	case QUESTION_READ:
	case QUESTION_WRITE:
		action.kind = kind == QUESTION_READ ? ACTION_READ : ACTION_WRITE;
		action.path = arguments[0];
		break;
	case QUESTION_ENV:
		action.kind = ACTION_ENVIRONMENT;
		action.text = arguments[0];
		break;
	case QUESTION_STDIN:
		action.kind = ACTION_STDIN;
		action.typed = arguments[0];
		action.typed_bytes = strlen(arguments[0]);
		break;
	case QUESTION_CONNECT:
		action.kind = ACTION_CONNECT;
		action.address = (const struct sockaddr *)&address;
		action.socket_type = SOCK_STREAM;
		if (parse_address(arguments[0], &address, &action.address_bytes))
			break;
		questions_refuse(ret, "check.address", "Expected a literal address and a port, such as 192.0.2.1:80 or [2001:db8::1]:80.");
		return;
	case QUESTION_HTTP:
		action.kind = ACTION_HTTP;
		action.method = arguments[0];
		action.url = arguments[0] ? arguments[1] : NULL;
		if (arguments[0] && arguments[1] && !arguments[2])
			break;
		questions_refuse(ret, "check.arguments", "The kind http needs a method and a URL.");
		return;
	case QUESTION_BROWSER:
		/* The words of the array stand behind the kind, which gives its place to the program's name. One with blanks is a text, as for exec. */
		action.kind = ACTION_EXEC;
		words[0] = "agent-browser";
		action.argv = words;
		if (!arguments[0] || arguments[1] || !strpbrk(arguments[0], " \t\n"))
			break;
		if ((size_t)snprintf(text, sizeof(text), "agent-browser %s", arguments[0]) >= sizeof(text)) {
			questions_refuse(ret, "check.arguments", "The words behind agent-browser are too long.");
			return;
		}
		words[0] = text;
		words[1] = NULL;
		action.shell_text = true;
		break;
	default:
		questions_refuse(ret, "check.kind", "The kind is not one of exec, read, write, connect, env, stdin, http, browser.");
		return;
	}
	q->subject.arena->used_bytes = 0;
	judge(q->policy, &q->subject, &action, ret);
}
