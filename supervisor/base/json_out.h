/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON into a buf, one value after another, with commas kept by the writer.
 *
 * Output is pure ASCII on one line. Text that is valid UTF-8 without C0, DEL, bidirectional controls, U+2028/9 comes out
 * readable (non-ASCII as \\u escapes). Bytes from an agent: json_bytes() percent-escapes what is not such text ("%" itself
 * becomes "%25" then) so that any byte string stays visible and valid; see audit documentation in docs/.
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
