/* SPDX-License-Identifier: Apache-2.0 */
/* The growing buffer. One owner; no locking. */
#include "supervisor/base/buf.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT_ROOM 32

/* Room for more bytes and the NUL behind them. Doubles, so that appending stays linear. */
static bool buf_reserve(struct buf *b, size_t more)
{
	size_t capacity = b->capacity ? b->capacity : 128;
	char *data;

	if (b->failed)
		return false;
	if (more >= SIZE_MAX / 2 - b->len) {
		b->failed = true;
		return false;
	}
	if (b->len + more + 1 <= b->capacity)
		return true;
	while (capacity < b->len + more + 1)
		capacity *= 2;
	data = realloc(b->data, capacity);
	if (!data) {
		b->failed = true;
		return false;
	}
	b->data = data;
	b->capacity = capacity;
	return true;
}

char *buf_extend(struct buf *b, size_t len)
{
	char *at;

	if (!buf_reserve(b, len))
		return NULL;
	at = b->data + b->len;
	b->len += len;
	at[len] = '\0';
	return at;
}

void buf_append(struct buf *b, const void *data, size_t len)
{
	char *at = buf_extend(b, len);

	if (at && len)
		memcpy(at, data, len);
}

void buf_text(struct buf *b, const char *text)
{
	buf_append(b, text, strlen(text));
}

void buf_char(struct buf *b, char c)
{
	buf_append(b, &c, 1);
}

void buf_format(struct buf *b, const char *format, ...)
{
	va_list arguments;
	size_t room;
	int len;

	/* Most fit into what is there already, and are then formatted once. */
	if (!buf_reserve(b, FORMAT_ROOM))
		return;
	room = b->capacity - b->len;
	va_start(arguments, format);
	len = vsnprintf(b->data + b->len, room, format, arguments);
	va_end(arguments);
	if (len >= 0 && (size_t)len >= room && buf_reserve(b, (size_t)len)) {
		va_start(arguments, format);
		vsnprintf(b->data + b->len, (size_t)len + 1, format, arguments);
		va_end(arguments);
	}
	if (len < 0 || b->failed) {
		b->failed = true;
		b->data[b->len] = '\0';
		return;
	}
	b->len += (size_t)len;
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->failed = false;
	if (b->data)
		b->data[0] = '\0';
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){ 0 };
}
