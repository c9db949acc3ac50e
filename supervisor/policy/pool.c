/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in a list; an array that grows doubles into a new place and leaves the old one to the pool. */
#include "supervisor/policy/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pool_block {
	struct pool_block *next;
	max_align_t data[];
};

void *pool_take(struct pool *pool, size_t bytes)
{
	struct pool_block *block;

	if (bytes > SIZE_MAX - sizeof(*block))
		return NULL;
	block = calloc(1, sizeof(*block) + bytes);
	if (!block)
		return NULL;
	block->next = pool->blocks;
	pool->blocks = block;
	return block->data;
}

char *pool_text(struct pool *pool, const char *text, size_t len)
{
	char *copy = pool_take(pool, len + 1);

	if (copy)
		memcpy(copy, text, len);
	return copy;
}

void *pool_push(struct pool *pool, void *array_pointer, size_t *nr, size_t item_bytes)
{
	char **array = array_pointer;

	/* Grows at 0, 1, 2, 4, …: the capacity needs no field. */
	if ((*nr & (*nr - 1)) == 0) {
		char *grown = pool_take(pool, (*nr ? *nr * 2 : 1) * item_bytes);

		if (!grown)
			return NULL;
		if (*nr)
			memcpy(grown, *array, *nr * item_bytes);
		*array = grown;
	}
	return *array + (*nr)++ * item_bytes;
}

void pool_free(struct pool *pool)
{
	while (pool->blocks) {
		struct pool_block *next = pool->blocks->next;

		free(pool->blocks);
		pool->blocks = next;
	}
}
