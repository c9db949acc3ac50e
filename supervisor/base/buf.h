/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing byte buffer that remembers failure: append freely, check once.
 *
 * data always ends with a NUL that len does not count. After an allocation failed, appends do nothing and failed stays set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;		/* owned; NULL until the first append */
	size_t len, capacity;
	bool failed;
};

void buf_append(struct buf *b, const void *data, size_t len);
/*
 * Where the next len bytes go, for who writes them itself: all of them, before anything else is done with the buffer. NULL when there is no memory: then nothing may
 * be written.
 */
char *buf_extend(struct buf *b, size_t len);
void buf_text(struct buf *b, const char *text);
void buf_char(struct buf *b, char c);
void buf_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Keeps the memory, drops the content and the failure. */
void buf_reset(struct buf *b);
void buf_free(struct buf *b);
#define _cleanup_buf_ __attribute__((cleanup(buf_free)))
