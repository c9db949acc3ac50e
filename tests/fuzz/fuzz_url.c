/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs, hosts and scopes of any bytes: what is accepted is whole, and says of itself what it said before: the host of a URL is a host, and the same
 * address.
 */
#include "tests/fuzz/fuzz.h"

#include "supervisor/analyze/url.h"
#include "supervisor/base/err.h"
#include "supervisor/judge/judge.h"

#include <string.h>

static void expect_host(const struct url *url)
{
	struct url again;

	if (!memchr(url->host, '\0', sizeof(url->host)) || !memchr(url->scheme, '\0', sizeof(url->scheme)) || !*url->host)
		abort();
	if (url_parse_host(url->host, &again))
		abort();
	if (again.is_address != url->is_address || (url->is_address && memcmp(&again.address, &url->address, sizeof(again.address)) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scope scope;
	struct url url;
	struct err e;
	char *text = fuzz_text(data, len);
	unsigned guess;

	if (!text)
		return 0;
	for (guess = 0; guess < 2; guess++)
		if (!url_parse(text, guess, &url)) {
			expect_host(&url);
			if (url.path < text || url.path > text + len || (*url.path && !strchr("/?#", *url.path)))
				abort();
		}
	if (!url_parse_host(text, &url))
		expect_host(&url);
	if (scope_parse(text, &scope, &e) == 0)
		scope_free(&scope);
	free(text);
	return 0;
}
