/* SPDX-License-Identifier: Apache-2.0 */
/* The declared scope as text: names, addresses, ranges, each with or without a port. */
#include "supervisor/judge/judge.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Digits only, 1 to most. strtoul() alone would take signs and blanks. */
static bool parse_number(const char *text, unsigned long most, unsigned long *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	*ret = strtoul(text, &end, 10);
	return !*end && !errno && *ret <= most;
}

static bool parse_host(char *host, struct scope_entry *entry)
{
	char *slash = strchr(host, '/');
	unsigned long bits;
	struct in_addr v4;
	bool is_v4, is_v6;

	if (slash)
		*slash = '\0';
	is_v4 = inet_pton(AF_INET, host, &v4) == 1;
	is_v6 = !is_v4 && inet_pton(AF_INET6, host, &entry->address) == 1;
	if (is_v4) {
		entry->address = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
		memcpy(&entry->address.s6_addr[12], &v4, 4);
	}
	entry->prefix_bits = 128;
	if (is_v4 || is_v6) {
		if (!slash)
			return true;
		if (!parse_number(slash + 1, is_v4 ? 32 : 128, &bits))
			return false;
		entry->prefix_bits = (unsigned)bits + (is_v4 ? 96 : 0);
		return true;
	}
	entry->name = host;
	/* "300.1.1.1" is a mistyped address, not a name: names do not end in a number. */
	return !slash && *host && host[strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.*")] == '\0' &&
	       host[strspn(host, "0123456789.")] != '\0';
}

/* HOST, HOST:PORT, [IPV6], [IPV6]:PORT, bare IPV6. */
static bool parse_entry(char *text, struct scope_entry *ret)
{
	struct scope_entry entry = { 0 };
	char *port = NULL;
	unsigned long number = 0;

	if (*text == '[') {
		char *end = strchr(text, ']');

		if (!end || (end[1] && end[1] != ':'))
			return false;
		port = end[1] ? end + 2 : NULL;
		*end = '\0';
		text++;
		if (!strchr(text, ':'))
			return false;
	} else if (strchr(text, ':') && strchr(text, ':') == strrchr(text, ':')) {
		port = strchr(text, ':');
		*port++ = '\0';
	}
	if (port && (!parse_number(port, 65535, &number) || number == 0))
		return false;
	entry.port = (uint16_t)number;
	if (!parse_host(text, &entry))
		return false;
	*ret = entry;
	return true;
}

int scope_parse(const char *text, struct scope *ret_scope, struct err *ret_error)
{
	struct scope scope = { .text = strdup(text) };
	size_t most = 1;
	const char *c, *wrong = NULL;
	char *word, *rest;

	if (strlen(text) > SCOPE_TEXT_MAX) {
		scope_free(&scope);
		return err_set(ret_error, -EINVAL, "a scope is at most %d bytes long", SCOPE_TEXT_MAX);
	}
	for (c = text; *c; c++)
		most += *c == ',';
	scope.entries = calloc(most, sizeof(*scope.entries));
	if (!scope.text || !scope.entries) {
		scope_free(&scope);
		return err_set(ret_error, -ENOMEM, "out of memory");
	}
	for (rest = scope.text; (word = strsep(&rest, ","));) {
		size_t len, at = (size_t)(word - scope.text);

		word += strspn(word, " \t");
		len = strlen(word);
		while (len && strchr(" \t", word[len - 1]))
			word[--len] = '\0';
		if (!len)
			continue;
		if (!parse_entry(word, &scope.entries[scope.nr])) {
			wrong = text + at;
			break;
		}
		scope.nr++;
	}
	if (wrong) {
		scope_free(&scope);
		return err_set(ret_error, -EINVAL, "\"%.60s\" in the scope is not a name, address or range with an optional port", wrong);
	}
	*ret_scope = scope;
	return 0;
}

void scope_free(struct scope *scope)
{
	free(scope->entries);
	free(scope->text);
	*scope = (struct scope){ 0 };
}
