/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed run of bytes an agent may have chosen: no NUL at the end, any value inside. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const char *data;
	size_t len;
};

static inline struct bytes bytes_of(const char *text)
{
	return (struct bytes){ text, text ? strlen(text) : 0 };
}

static inline bool bytes_equal(struct bytes a, struct bytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool bytes_start(struct bytes a, struct bytes prefix)
{
	return a.len >= prefix.len && (prefix.len == 0 || memcmp(a.data, prefix.data, prefix.len) == 0);
}
