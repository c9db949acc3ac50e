/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What went wrong, for a person: one line of text and, where a file of theirs caused it, the place.
 *
 * A plain value the caller owns; filled by the lowest layer that knows, reported once by the top layer.
 * Functions that fill one also return -errno; a caller that passes NULL only wants the number.
 */
#pragma once

#include <stdarg.h>

struct err {
	char text[512];		/* one line, no newline, ready to print after "cordon: " */
	char file[256];		/* "" when no file is at fault */
	char key[128];		/* key path inside a JSON file, for example "rules[2].verdict"; "" when none */
	unsigned line, column;	/* from 1; 0 when unknown */
};

/* Fills text (truncated to fit); the place stays as it is. A no-op for NULL. Returns number, so that it can be returned on. */
int err_set(struct err *e, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prefixes the text with "CONTEXT: ". A no-op for NULL. Returns number. */
int err_prefix(struct err *e, int number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes "FILE:LINE:COLUMN: KEY: TEXT" with the unknown parts left out; always ends with NUL. */
void err_format(const struct err *e, char *ret_line, unsigned line_bytes);
