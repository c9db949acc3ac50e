/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once: what a policy consists of. One thread while it grows. */
#pragma once

#include <stddef.h>

struct pool {
	struct pool_block *blocks;
};

/* Zeroed memory that lives as long as the pool, or NULL. */
void *pool_take(struct pool *pool, size_t bytes);
char *pool_text(struct pool *pool, const char *text, size_t len);
/* Appends one zeroed item of item_bytes to an array of *nr items: returns it, or NULL. The array may move. */
void *pool_push(struct pool *pool, void *array_pointer, size_t *nr, size_t item_bytes);
void pool_free(struct pool *pool);
