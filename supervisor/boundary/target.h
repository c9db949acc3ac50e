/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private copies of what a caller pointed at. Whatever is decided is decided on these bytes; the caller may change its own at any time.
 *
 * A pid may be another process's by the time it is read: ask listener_waits() after reading and before believing.
 */
#pragma once

#include "supervisor/base/buf.h"

#include <stdint.h>
#include <sys/types.h>

#define TARGET_PAGE 4096
#define TARGET_STRINGS_MAX (6u << 20)	/* the kernel's own limit for argv and envp together: three quarters of 8 MiB */
#define TARGET_STRING_MAX (32u * TARGET_PAGE)	/* MAX_ARG_STRLEN */
/*
 * Pages fetched for one call, beyond which it is E2BIG: the kernel takes 700,000 one-byte strings, each of which may lie on a page of its own, and
 * everybody else waits while we read. What fits the kernel's limit and lies side by side needs 3,000.
 */
#define TARGET_FETCHES_MAX 16384u

struct target {
	pid_t tid;
	uint64_t page_address;		/* of what page points to */
	const char *page;		/* NULL: nothing */
	unsigned fetches;		/* for this call */
	struct target_cache *cache;	/* of pages, for vectors whose strings are scattered; NULL until one needs it */
	char first[TARGET_PAGE];
};

/* A NULL-terminated vector of strings: the strings with their NULs one after another. */
struct target_vector {
	struct buf strings;
	size_t nr;
};

/* For the next call. A target begins as zeroes. */
void target_init(struct target *t, pid_t tid);
/* All of len bytes, or -EFAULT. */
int target_read(struct target *t, uint64_t address, void *ret_data, size_t len);
/* Appends the string and its NUL. -EFAULT, -ENAMETOOLONG when no NUL within max bytes, -ENOMEM. */
int target_read_string(struct target *t, uint64_t address, size_t max, struct buf *ret_string);
/* address 0 is an empty vector, as for the kernel. -EFAULT, -E2BIG, -ENOMEM. The vector's memory is kept between calls. */
int target_read_vector(struct target *t, uint64_t address, struct target_vector *ret_vector);
