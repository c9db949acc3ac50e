/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer and the one escaper. Pure; the buf belongs to the caller. */
#include "supervisor/base/json_out.h"
#include "supervisor/base/text.h"

#include <inttypes.h>

static void put_point(struct buf *b, uint32_t point)
{
	if (point == '"' || point == '\\') {
		buf_char(b, '\\');
		buf_char(b, (char)point);
	} else if (point >= 0x20 && point < 0x7f) {
		buf_char(b, (char)point);
	} else if (point < 0x10000) {
		buf_format(b, "\\u%04" PRIx32, point);
	} else {
		point -= 0x10000;
		buf_format(b, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (point >> 10), 0xdc00 + (point & 0x3ff));
	}
}

/* Which bytes stand for themselves: in our own text, in an agent's bytes. */
enum plain { PLAIN_TEXT = 1, PLAIN_BYTES = 2 };
#define PLAIN (PLAIN_TEXT | PLAIN_BYTES)
static const unsigned char plain[256] = {
	[' ' ... '!'] = PLAIN, ['#' ... '$'] = PLAIN, ['%'] = PLAIN_TEXT, ['&' ... '['] = PLAIN, [']' ... '~'] = PLAIN,
};

static size_t plain_run(struct bytes text, enum plain kind)
{
	size_t len = 0;

	while (len < text.len && plain[(unsigned char)text.data[len]] & kind)
		len++;
	return len;
}

/* Nearly all of every text needs no look at its meaning: appended a run at a time. Takes the run off rest. */
static void put_plain(struct buf *b, struct bytes *rest, enum plain kind)
{
	size_t len = plain_run(*rest, kind);

	buf_append(b, rest->data, len);
	rest->data += len;
	rest->len -= len;
}

/* Our own text: whatever is wrong in it is a slip of ours or of a policy's author, shown as U+FFFD. */
static void put_text(struct buf *b, struct bytes rest)
{
	for (put_plain(b, &rest, PLAIN_TEXT); rest.len; put_plain(b, &rest, PLAIN_TEXT)) {
		uint32_t point = 0xfffd;
		unsigned len = text_decode(rest, &point);

		put_point(b, point);
		rest.data += len ? len : 1;
		rest.len -= len ? len : 1;
	}
}

/* An agent's bytes: percent-decoding what stands here gives exactly them, whatever they were. That is why "%" is escaped too. */
static void put_bytes(struct buf *b, struct bytes rest)
{
	for (put_plain(b, &rest, PLAIN_BYTES); rest.len; put_plain(b, &rest, PLAIN_BYTES)) {
		uint32_t point = 0;
		unsigned len = text_decode(rest, &point);

		if (len && point != '%' && text_is_plain(point)) {
			put_point(b, point);
		} else {
			if (!len)
				len = 1;
			for (unsigned i = 0; i < len; i++)
				buf_format(b, "%%%02X", (unsigned char)rest.data[i]);
		}
		rest.data += len;
		rest.len -= len;
	}
}

static void put_number(struct buf *b, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	buf_append(b, digits + at, sizeof(digits) - at);
}

/* In quotes, and mostly in one piece. */
static void put_string(struct buf *b, struct bytes text, enum plain kind)
{
	char *at;

	if (plain_run(text, kind) == text.len) {
		at = buf_extend(b, text.len + 2);
		if (!at)
			return;
		at[0] = at[text.len + 1] = '"';
		if (text.len)
			memcpy(at + 1, text.data, text.len);
		return;
	}
	buf_char(b, '"');
	if (kind == PLAIN_TEXT)
		put_text(b, text);
	else
		put_bytes(b, text);
	buf_char(b, '"');
}

/* The comma before a value, and its key. */
static void lead_in(struct json_out *j, const char *key)
{
	if (j->comma)
		buf_char(j->buf, ',');
	j->comma = true;
	if (!key)
		return;
	put_string(j->buf, bytes_of(key), PLAIN_TEXT);
	buf_char(j->buf, ':');
}

static void open_with(struct json_out *j, const char *key, char bracket)
{
	lead_in(j, key);
	buf_char(j->buf, bracket);
	j->comma = false;
}

static void close_with(struct json_out *j, char bracket)
{
	buf_char(j->buf, bracket);
	j->comma = true;
}

void json_object_begin(struct json_out *j, const char *key)
{
	open_with(j, key, '{');
}

void json_object_end(struct json_out *j)
{
	close_with(j, '}');
}

void json_array_begin(struct json_out *j, const char *key)
{
	open_with(j, key, '[');
}

void json_array_end(struct json_out *j)
{
	close_with(j, ']');
}

void json_text(struct json_out *j, const char *key, const char *text)
{
	if (!text)
		return;
	lead_in(j, key);
	put_string(j->buf, bytes_of(text), PLAIN_TEXT);
}

void json_bytes(struct json_out *j, const char *key, struct bytes value)
{
	lead_in(j, key);
	put_string(j->buf, value, PLAIN_BYTES);
}

void json_int(struct json_out *j, const char *key, int64_t value)
{
	lead_in(j, key);
	if (value < 0)
		buf_char(j->buf, '-');
	put_number(j->buf, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_uint(struct json_out *j, const char *key, uint64_t value)
{
	lead_in(j, key);
	put_number(j->buf, value);
}

void json_bool(struct json_out *j, const char *key, bool value)
{
	lead_in(j, key);
	buf_text(j->buf, value ? "true" : "false");
}

void json_raw(struct json_out *j, const char *key, const char *fragment)
{
	lead_in(j, key);
	buf_text(j->buf, fragment);
}
