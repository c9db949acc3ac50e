/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log's lines in order, over all files, also while it is being written. Knows nothing of what a line says.
 * Used by one thread; only reads.
 */
#pragma once

#include "supervisor/base/bytes.h"
#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct reader_line {
	unsigned number;	/* of the file */
	uint64_t line;		/* in the file, from 1 */
	struct bytes text;	/* without its newline; valid until the next call */
	bool whole;		/* false: the file ends without a newline here, and a newer one goes on */
};

struct reader;

/* Returns 0, -ENOENT when there is no folder or no file, or -errno with ret_error filled. */
int reader_open(const char *dir, struct reader **ret_reader, struct err *ret_error);
/*
 * Returns 1 with a line, 0 at the end for now (call again later: more may have been written, or a file begun), or -errno;
 * -EBADMSG for a line longer than any record.
 */
int reader_next(struct reader *r, struct reader_line *ret_line, struct err *ret_error);
/* What the newest file holds behind its last newline; empty unless reader_next() just returned 0. */
struct bytes reader_rest(const struct reader *r);
/* The number of the file the reader is in. */
unsigned reader_file(const struct reader *r);
void reader_close(struct reader *r);
