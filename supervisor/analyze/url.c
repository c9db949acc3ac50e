/* SPDX-License-Identifier: Apache-2.0 */
/* URL and host texts. Addresses are read as inet_aton(3) and the URL standard do: decimal, octal and hex numbers, one to four of them. */
#include "supervisor/analyze/url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_plain_text(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f)
			return false;
	return true;
}

/* ---- addresses ---- */

/* One part: 10, 012, 0xa. Digits only: strtoul() takes more than clients do. */
static bool take_number(const char **text, unsigned long *ret)
{
	const char *from = *text, *digits = "0123456789";
	int base = 10;
	size_t len;

	if (from[0] == '0' && (from[1] == 'x' || from[1] == 'X')) {
		base = 16;
		from += 2;
		digits = "0123456789abcdefABCDEF";
	} else if (from[0] == '0' && isdigit((unsigned char)from[1])) {
		base = 8;
		digits = "01234567";
	}
	len = strspn(from, digits);
	if ((len == 0 && base != 16) || len > 20)
		return false;
	*ret = len ? strtoul(from, NULL, base) : 0;
	*text = from + len;
	return true;
}

/* Whether the last label is a number: then clients take the whole for an IPv4 address, or for nothing. */
static bool looks_numeric(const char *host)
{
	const char *last = strrchr(host, '.');

	last = last ? last + 1 : host;
	return isdigit((unsigned char)*last) && (last[strspn(last, "0123456789")] == '\0' ||
						 (last[0] == '0' && tolower((unsigned char)last[1]) == 'x' &&
						  last[2 + strspn(last + 2, "0123456789abcdefABCDEF")] == '\0'));
}

static bool parse_v4(const char *host, struct in6_addr *ret)
{
	unsigned long parts[4], value = 0;
	unsigned nr = 0, i;

	for (;;) {
		if (nr == 4 || !take_number(&host, &parts[nr++]))
			return false;
		if (!*host)
			break;
		if (*host++ != '.')
			return false;
	}
	for (i = 0; i + 1 < nr; i++) {
		if (parts[i] > 255)
			return false;
		value |= parts[i] << (24 - 8 * i);
	}
	if (parts[nr - 1] > 0xfffffffful >> (8 * (nr - 1)))
		return false;
	value |= parts[nr - 1];
	*ret = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff, [12] = (uint8_t)(value >> 24), [13] = (uint8_t)(value >> 16),
					       [14] = (uint8_t)(value >> 8), [15] = (uint8_t)value } };
	return true;
}

/* ---- hosts ---- */

/* host is bounded and NUL-terminated in ret->host already. */
static const char *read_host(struct url *ret)
{
	size_t len = strlen(ret->host), i;

	if (ret->host[0] == '.' || strstr(ret->host, ".."))
		return "has a host with an empty label";
	if (len > 1 && ret->host[len - 1] == '.')	/* the root: the same name */
		ret->host[--len] = '\0';
	for (i = 0; i < len; i++)
		ret->host[i] = (char)tolower((unsigned char)ret->host[i]);
	if (!len)
		return "names no host";
	if (ret->host[strspn(ret->host, "abcdefghijklmnopqrstuvwxyz0123456789-_.")])
		return "has a host with bytes that are not those of a plain name; look-alikes are not followed";
	if (!looks_numeric(ret->host))
		return NULL;
	struct in_addr plain;

	ret->is_address = true;
	ret->is_odd = inet_pton(AF_INET, ret->host, &plain) != 1;
	return parse_v4(ret->host, &ret->address) ? NULL : "has a host that looks like an address and is none";
}

static const char *read_v6(struct url *ret)
{
	if (strchr(ret->host, '%'))
		return "has an address with a zone";
	ret->is_address = true;
	return inet_pton(AF_INET6, ret->host, &ret->address) == 1 ? NULL : "has brackets around what is no IPv6 address";
}

static const char *read_port(const char *text, size_t len, struct url *ret)
{
	unsigned long port = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (!isdigit((unsigned char)text[i]) || port > 65535)
			return "has a port that is no number";
		port = port * 10 + (unsigned long)(text[i] - '0');
	}
	if (port > 65535)
		return "has a port that is no number";
	if (len)
		ret->port = (uint16_t)port;
	return NULL;
}

/* HOST, HOST:PORT, [V6], [V6]:PORT */
static const char *read_authority(const char *text, size_t len, struct url *ret)
{
	const char *colon = memchr(text, ':', len), *end;
	size_t host_len;

	if (len && text[0] == '[') {
		const char *why;

		end = memchr(text, ']', len);
		if (!end || (size_t)(end - text - 1) >= sizeof(ret->host))
			return "has a bracket that is not closed";
		memcpy(ret->host, text + 1, (size_t)(end - text - 1));
		ret->host[end - text - 1] = '\0';
		end++;
		if (end < text + len && *end != ':')
			return "has text behind the address";
		why = read_v6(ret);
		if (!why && end < text + len)
			why = read_port(end + 1, (size_t)(text + len - end - 1), ret);
		return why;
	}
	host_len = colon ? (size_t)(colon - text) : len;
	if (host_len >= sizeof(ret->host))
		return "has a host that is too long";
	memcpy(ret->host, text, host_len);
	ret->host[host_len] = '\0';
	if (colon) {
		const char *why = read_port(colon + 1, len - host_len - 1, ret);

		if (why)
			return why;
	}
	return read_host(ret);
}

static uint16_t default_port(const char *scheme)
{
	static const struct { const char *scheme; uint16_t port; } known[] = {
		{ "http", 80 }, { "https", 443 }, { "ws", 80 }, { "wss", 443 }, { "ftp", 21 },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].scheme, scheme) == 0)
			return known[i].port;
	return 0;
}

/* Behind "scheme:"; NULL when the text does not begin with one. */
static const char *take_scheme(const char *text, struct url *ret)
{
	size_t len = 0;

	while (isalnum((unsigned char)text[len]) || (len && text[len] && strchr("+-.", text[len])))
		len++;
	if (len == 0 || text[len] != ':' || len >= sizeof(ret->scheme) || !isalpha((unsigned char)text[0]))
		return NULL;
	for (size_t i = 0; i < len; i++)
		ret->scheme[i] = (char)tolower((unsigned char)text[i]);
	ret->scheme[len] = '\0';
	return text + len + 1;
}

const char *url_parse(const char *text, bool guess, struct url *ret)
{
	const char *rest, *at, *why;
	size_t len;

	*ret = (struct url){ 0 };
	if (!*text)
		return "is empty";
	if (!is_plain_text(text))
		return "holds blanks or control characters";
	rest = take_scheme(text, ret);
	/* "target.test:8080/x" is a host with its port to a client that guesses */
	if (rest && strncmp(rest, "//", 2) != 0 && guess && isdigit((unsigned char)*rest))
		rest = NULL;
	if (!rest) {
		if (!guess || strncmp(text, "//", 2) == 0)
			return "has no scheme";
		memcpy(ret->scheme, "http", 5);
		rest = text;
	} else {
		if (strncmp(rest, "//", 2) != 0)
			return "does not go on with \"//\" after its scheme";
		rest += 2;
	}
	len = strcspn(rest, "/?#");
	if (memchr(rest, '\\', len))
		return "has a backslash in its authority";
	ret->path = rest + len;
	/* "http://a?@b/": a host to some, and userinfo before "@b" to others. */
	if (rest[len] && rest[len] != '/' && strchr(ret->path, '@'))
		return "has an \"@\" after its authority, which clients read in different ways";
	at = memrchr(rest, '@', len);
	if (at) {
		ret->has_userinfo = true;
		len -= (size_t)(at + 1 - rest);
		rest = at + 1;
	}
	why = read_authority(rest, len, ret);
	if (!why && !ret->port)
		ret->port = default_port(ret->scheme);
	return why;
}

const char *url_parse_host(const char *text, struct url *ret)
{
	const char *colon = strchr(text, ':');

	*ret = (struct url){ .path = "" };
	if (!*text)
		return "is empty";
	if (!is_plain_text(text))
		return "holds blanks or control characters";
	if (strlen(text) >= sizeof(ret->host))
		return "is too long";
	if (text[0] != '[' && colon && strchr(colon + 1, ':')) {	/* a bare IPv6 address */
		memcpy(ret->host, text, strlen(text) + 1);
		return read_v6(ret);
	}
	return read_authority(text, strlen(text), ret);
}
