/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a URL leads, as clients take it (WHATWG, curl): scheme, host in every spelling of an address, port. PURE; no allocation;
 * nothing is resolved. What two clients would read in two ways is refused.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct url {
	char scheme[16];		/* lower case */
	char host[256];			/* lower case, without brackets and the dot at the end */
	bool is_address;
	bool is_odd;		/* an IPv4 address in another spelling than four decimal numbers */
	struct in6_addr address;	/* IPv4 as ::ffff:a.b.c.d */
	uint16_t port;			/* 0: none that is known */
	bool has_userinfo;
	const char *path;		/* into the text: what follows the authority, beginning with "/", "?", "#", or empty */
};

/*
 * text: a whole URL; with guess, one without a scheme is http. Returns NULL, or what is wrong with it, to go on after "the URL ".
 */
const char *url_parse(const char *text, bool guess, struct url *ret);

/* A host, alone: "target.test", "0x7f.1", "[::1]", "::1", "1.2.3.4:80". Returns as url_parse(). */
const char *url_parse_host(const char *text, struct url *ret);
