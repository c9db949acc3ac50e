/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into a buf, one value after another, with commas kept by the writer.
 *
 * Output is pure ASCII on one line. json_text() is for our own words: other than printable ASCII comes out as \u escapes, bytes that
 * are no UTF-8 as U+FFFD. json_bytes() is for bytes an agent may have chosen: characters of text_is_plain() come out readable
 * (non-ASCII as \u escapes), everything else and "%" itself as %XX per byte, so that percent-decoding the string always gives
 * back exactly the bytes.
 */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

struct json_out {
	struct buf *buf;	/* borrowed */
	bool comma;		/* a value was written at this depth */
};

/* key is NULL inside an array and at the top. Keys are our own literals. */
void json_object_begin(struct json_out *j, const char *key);
void json_object_end(struct json_out *j);
void json_array_begin(struct json_out *j, const char *key);
void json_array_end(struct json_out *j);
void json_text(struct json_out *j, const char *key, const char *text);	/* NULL text: nothing is written */
void json_bytes(struct json_out *j, const char *key, struct bytes value);
void json_int(struct json_out *j, const char *key, int64_t value);
void json_uint(struct json_out *j, const char *key, uint64_t value);
void json_bool(struct json_out *j, const char *key, bool value);
/* fragment must be valid JSON on one line (ours: it is not looked at). */
void json_raw(struct json_out *j, const char *key, const char *fragment);
