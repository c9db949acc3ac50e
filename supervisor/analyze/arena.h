/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for one answer: the caller gives a block, everything of the answer lies in it, and all of it goes at once.
 *
 * Never grows: what does not fit is a refusal, not an allocation. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct arena {
	char *data;		/* the caller's; any alignment */
	size_t len_bytes, used_bytes;
};

/* Zeroed and aligned for any type; NULL when it does not fit. */
static inline void *arena_take(struct arena *a, size_t bytes)
{
	size_t skip = -((uintptr_t)a->data + a->used_bytes) & (_Alignof(max_align_t) - 1);
	char *taken;

	if (skip > a->len_bytes - a->used_bytes || bytes > a->len_bytes - a->used_bytes - skip)
		return NULL;
	taken = a->data + a->used_bytes + skip;
	a->used_bytes += skip + bytes;
	return memset(taken, 0, bytes);
}
