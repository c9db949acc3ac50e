/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors the enforcer asked PID 1 to hold, by kind and id. Owns them.
 *
 * A flat array: there are a handful of namespaces and zygotes and one entry per running launch.
 */
#include "supervisor/init/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static struct kept *find(const struct kept_table *table, uint32_t kind, uint64_t id)
{
	for (size_t i = 0; i < table->nr; i++)
		if (table->items[i].kind == kind && table->items[i].id == id)
			return &table->items[i];
	return NULL;
}

static int grow(struct kept_table *table)
{
	size_t capacity = table->capacity ? 2 * table->capacity : 32;
	struct kept *items;

	if (table->nr < table->capacity)
		return 0;
	if (table->nr >= KEPT_MAX)
		return -ENOSPC;
	items = reallocarray(table->items, capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	table->items = items;
	table->capacity = capacity;
	return 0;
}

int kept_put(struct kept_table *table, uint32_t kind, uint64_t id, int64_t number, int fd)
{
	struct kept *k = find(table, kind, id);
	int r;

	if (k) {
		close(k->fd);
		k->fd = fd;
		k->number = number;
		return 0;
	}
	r = grow(table);
	if (r < 0) {
		close(fd);
		return r;
	}
	table->items[table->nr++] = (struct kept){ .kind = kind, .id = id, .number = number, .fd = fd };
	return 0;
}

int kept_drop(struct kept_table *table, uint32_t kind, uint64_t id)
{
	struct kept *k = find(table, kind, id);

	if (!k)
		return -ENOENT;
	close(k->fd);
	*k = table->items[--table->nr];
	return 0;
}

size_t kept_count(const struct kept_table *table, uint32_t kind)
{
	size_t nr = 0;

	for (size_t i = 0; i < table->nr; i++)
		nr += table->items[i].kind == kind;
	return nr;
}

void kept_free(struct kept_table *table)
{
	for (size_t i = 0; i < table->nr; i++)
		close(table->items[i].fd);
	free(table->items);
	*table = (struct kept_table){ 0 };
}
