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

struct target {
	pid_t tid;
	uint64_t page_address;		/* of what is in page; 0: nothing */
	size_t page_len;
	char page[TARGET_PAGE];
};

/* A NULL-terminated vector of strings: the strings with their NULs one after another. */
struct target_vector {
	struct buf strings;
	size_t nr;
};

void target_init(struct target *t, pid_t tid);
/* All of len bytes, or -EFAULT. */
int target_read(struct target *t, uint64_t address, void *ret_data, size_t len);
/* Appends the string and its NUL. -EFAULT, -ENAMETOOLONG when no NUL within max bytes, -ENOMEM. */
int target_read_string(struct target *t, uint64_t address, size_t max, struct buf *ret_string);
/* address 0 is an empty vector, as for the kernel. -EFAULT, -E2BIG, -ENOMEM. The vector's memory is kept between calls. */
int target_read_vector(struct target *t, uint64_t address, struct target_vector *ret_vector);
