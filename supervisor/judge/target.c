/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a URL leads and what it asks for there: scope, internal names and addresses, requests that change something. Literal
 * addresses only: what a name resolves to is for whoever resolves it (and for connect(2)).
 */
#include "supervisor/judge/judging.h"

#include "supervisor/analyze/url.h"
#include "supervisor/base/cleanup.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- places ---- */

static bool scope_names(const struct scope *scope, const struct url *url)
{
	size_t i;

	for (i = 0; scope && i < scope->nr; i++)
		if (scope->entries[i].name && glob_match(scope->entries[i].name, url->host, true) &&
		    (!scope->entries[i].port || !url->port || scope->entries[i].port == url->port))
			return true;
	return false;
}

static const struct network_name *find_name(const struct policy *policy, const char *host, bool only_always)
{
	size_t i;

	for (i = 0; i < policy->nr_names; i++)
		if ((!only_always || policy->names[i].always) && glob_match(policy->names[i].pattern, host, true))
			return &policy->names[i];
	return NULL;
}

static bool is_debugger(const struct policy *policy, const struct url *url)
{
	bool here = strcmp(url->host, "localhost") == 0 ||
		    (url->is_address && (IN6_IS_ADDR_LOOPBACK(&url->address) ||
					 (IN6_IS_ADDR_V4MAPPED(&url->address) && (url->address.s6_addr[12] == 127 || url->address.s6_addr[12] == 0))));
	size_t i;

	for (i = 0; here && i < policy->debugger_ports.nr; i++)
		if (strtoul(policy->debugger_ports.items[i], NULL, 10) == url->port)
			return true;
	return false;
}

static bool is_here(const char *host)
{
	return glob_match("localhost", host, true) || glob_match("*.localhost", host, true);
}

static enum place judge_address(const struct judging *j, const struct url *url)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(url->port), .sin6_addr = url->address };
	struct action action = { .kind = ACTION_CONNECT, .address = (const struct sockaddr *)&in6, .address_bytes = sizeof(in6),
				 .socket_type = SOCK_STREAM };
	struct judging inner = *j;

	inner.action = &action;
	/* What is declared is declared, whoever listens there. */
	judge_connect(&inner);
	if (j->action->agent_listens && !(strcmp(j->decision->rule, "network.scope") == 0 && j->decision->verdict == VERDICT_ALLOW)) {
		action.agent_listens = true;
		judge_connect(&inner);
	}
	if (strcmp(j->decision->rule, "network.scope") == 0)
		return j->decision->verdict == VERDICT_ALLOW ? PLACE_SCOPE : PLACE_OUTSIDE;
	if (j->decision->verdict != VERDICT_ALLOW)
		return PLACE_REFUSED;
	return strcmp(j->decision->rule, "network.port") == 0 ? PLACE_SCOPE : PLACE_PUBLIC;
}

/* "0x7f.1", "2130706433": clients read them in different ways, so that none of them is a declared target or surely a public one. */
static enum place judge_odd_address(const struct judging *j, const struct url *url)
{
	enum place place = judge_address(j, url);
	struct quoted q;

	if (place == PLACE_REFUSED)
		return place;
	if (j->subject->scope && j->subject->scope->nr)
		return PLACE_OUTSIDE;
	answer_deny(j, "network_guard", (struct ruling){ "network.spelling", CODE_RULE, "write the address as four decimal numbers" }, "%s is an address that clients read in different ways.",
		    quote_text(&q, url->host));
	return PLACE_REFUSED;
}

enum place judge_target(const struct judging *j, const struct url *url)
{
	const struct scope *scope = j->subject->scope, *narrowed = j->subject->narrowed;
	const struct network_name *name;
	struct quoted q;

	if (is_debugger(j->policy, url)) {
		answer_deny(j, "network_guard",
			    (struct ruling){ "network.debugger", { "network.json", j->policy->debugger_ports.line }, "issue browser actions as agent-browser commands" },
			    "Port %u of this host gives a browser or a process away.", url->port);
		return PLACE_REFUSED;
	}
	if (url->is_address)
		return url->is_odd ? judge_odd_address(j, url) : judge_address(j, url);
	name = find_name(j->policy, url->host, true);
	if (!name && !scope_names(scope, url))
		name = find_name(j->policy, url->host, false);
	if (j->action->agent_listens && is_here(url->host) && !scope_names(scope, url))
		return PLACE_PUBLIC;
	if (name && !(!name->always && j->subject->mode == MODE_GUARDED && !j->policy->paths.block_internal_http)) {
		answer_deny(j, "network_guard", (struct ruling){ name->id, name->origin, "use a target that was declared" }, "%s %s.",
			    quote_text(&q, url->host), name->reason);
		return PLACE_REFUSED;
	}
	if (narrowed && narrowed->nr && !scope_names(narrowed, url))
		return PLACE_OUTSIDE;
	if (!scope || !scope->nr)
		return PLACE_PUBLIC;
	return scope_names(scope, url) ? PLACE_SCOPE : PLACE_OUTSIDE;
}

/* ---- what is asked for ---- */

/* "%44ROP+TABLE" is "DROP TABLE" to the server. Longer texts are decoded as far as the buffer goes. */
static void decode(const char *text, char *ret, size_t bytes)
{
	size_t used = 0;

	while (*text && used + 1 < bytes) {
		char hex[3] = "";

		if (text[0] == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2])) {
			memcpy(hex, text + 1, 2);
			ret[used++] = (char)strtoul(hex, NULL, 16);
			text += 3;
		} else {
			ret[used++] = *text == '+' || *text == '\t' || *text == '\n' ? ' ' : *text;
			text++;
		}
		if (!ret[used - 1])
			ret[used - 1] = ' ';
	}
	ret[used] = '\0';
}

bool text_is_destructive(const struct policy *policy, const char *text)
{
	_uninitialized_ char decoded[4096];
	size_t i;

	decode(text, decoded, sizeof(decoded));
	for (i = 0; i < policy->destructive.nr; i++)
		if (glob_match(policy->destructive.items[i], decoded, true))
			return true;
	return false;
}

/* path: from the first "/", "?" or "#". Its words are what letters make; "deleted_at" is one word and "delete-user" two. */
bool url_is_mutating(const struct policy *policy, const char *path)
{
	_uninitialized_ char decoded[2048];
	const char *word = decoded;
	size_t i;

	decode(path, decoded, sizeof(decoded));
	if (strcasestr(decoded, "_method="))
		return true;
	for (; *word; word++) {
		size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

		for (i = 0; len && i < policy->mutating_words.nr; i++)
			if (strlen(policy->mutating_words.items[i]) == len && strncasecmp(word, policy->mutating_words.items[i], len) == 0)
				return true;
		word += len;
		if (!*word)
			break;
	}
	return false;
}

bool url_may_become_mutating(const struct policy *policy, const char *url)
{
	_uninitialized_ char decoded[2048];
	size_t i, at;

	decode(url, decoded, sizeof(decoded));
	for (i = 0; i < policy->mutating_words.nr; i++)
		for (at = 0; decoded[at]; at++) {
			const char *word = policy->mutating_words.items[i], *text = decoded + at;

			while (*word && *text && (*text == '?' || tolower((unsigned char)*text) == tolower((unsigned char)*word))) {
				word++;
				text++;
			}
			if (!*word)
				return true;
		}
	return false;
}

/* ---- ACTION_HTTP ---- */

static bool is_passive(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "OPTIONS") == 0;
}

static bool is_method(const char *method)
{
	return *method && strlen(method) <= 32 && method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_")] == '\0';
}

static void answer_request(const struct judging *j, const char *method, const struct url *url)
{
	const struct ruling passive = { "http.passive", CODE_RULE, NULL }, mutate = { "http.mutate", CODE_RULE, "only GET, HEAD and OPTIONS without a body are passive" };
	struct quoted q;

	quote_text(&q, url->host);
	if (is_passive(method) && !url_is_mutating(j->policy, url->path)) {
		answer_allow(j, passive, "A %s request to %s is passive.", method, q.text);
	} else if (j->subject->mode == MODE_OBSERVE && strcmp(method, "TRACE") != 0) {
		answer_deny(j, "target_mutation", mutate, "A %s request to %s may change the target, and the mode is observe.", method, q.text);
	} else {
		answer_allow(j, mutate, "A %s request to %s may change the target.", method, q.text);
		j->decision->verdict = VERDICT_REVIEW;
	}
}

void judge_http(const struct judging *j)
{
	const struct ruling invalid = { "http.url", CODE_RULE, "give one absolute http or https URL" };
	const char *method = j->action->method, *why;
	struct url url;

	if (!method || !j->action->url || !is_method(method)) {
		answer_deny(j, "invalid_request", (struct ruling){ "http.method", CODE_RULE, "give the method first, then the URL, for example: GET http://TARGET/" }, "The request has no method that is one word of letters.");
		return;
	}
	why = url_parse(j->action->url, false, &url);
	if (why) {
		answer_deny(j, "network_guard", invalid, "The URL %s.", why);
		return;
	}
	if (strcmp(url.scheme, "http") != 0 && strcmp(url.scheme, "https") != 0) {
		answer_deny(j, "network_guard", invalid, "The URL's scheme is %s, not http or https.", url.scheme);
		return;
	}
	if (j->subject->mode == MODE_READONLY) {
		answer_deny(j, "policy_block", (struct ruling){ "network.readonly", CODE_RULE, "read files of the project instead; nothing goes to a network in readonly mode" }, "A request goes to a network, and the mode is readonly.");
		return;
	}
	switch (judge_target(j, &url)) {
	case PLACE_SCOPE:
	case PLACE_PUBLIC:
		if (text_is_destructive(j->policy, j->action->url))
			answer_deny(j, "target_mutation", (struct ruling){ "http.destroy", { "network.json", j->policy->destructive.line }, "show the flaw with a statement that only reads, such as SELECT" },
				    "The URL holds a statement that destroys data.");
		else
			answer_request(j, method, &url);
		break;
	case PLACE_OUTSIDE:
		answer_deny(j, "network_guard", (struct ruling){ "network.scope", CODE_RULE, "use a target that was declared" }, "The host of the URL is outside the declared scope.");
		break;
	case PLACE_REFUSED:
		break;
	default:
		answer_deny(j, "network_guard", invalid, "The URL leads somewhere that cannot be said.");
		break;
	}
}
