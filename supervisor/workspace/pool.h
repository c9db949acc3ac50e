/* SPDX-License-Identifier: Apache-2.0 */
/* The threads that copy content, and the folders they copy into: a folder gets its times when nothing more comes into it. */
#pragma once

#include "supervisor/workspace/copy.h"
#include "supervisor/workspace/view.h"

struct copy_pool;

struct destination {
	unsigned refs;
	struct destination *up;
	int fd;
	struct view_place *place;	/* whose metadata it gets */
};

/* Returns the pool, or NULL without memory or threads. */
struct copy_pool *copy_pool_start(const struct copy_ids *ids);
/* Takes fd. name "" and up NULL: fd is the folder; else name is made in up. Returns it, or NULL with the pool's error. */
struct destination *destination_make(struct copy_pool *pool, struct destination *up, const char *name, struct view_place *place, int fd);
void destination_put(struct copy_pool *pool, struct destination *d);
/* Copies from (in place) to the name to in d, sooner or later. Takes place. */
void copy_pool_add(struct copy_pool *pool, struct destination *d, struct view_place *place, const char *from, const char *to);
/* 0, or what failed first. */
int copy_pool_error(struct copy_pool *pool);
void copy_pool_fail(struct copy_pool *pool, int error);
void copy_pool_counts(struct copy_pool *pool, uint64_t *ret_files, uint64_t *ret_bytes, uint64_t *ret_gone);
/* Waits for all of it and frees the pool. Returns copy_pool_error(). */
int copy_pool_end(struct copy_pool *pool);
