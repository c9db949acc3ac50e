/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a log is whole: every line a record, each chained to the one before, numbered without gap, in files that follow each
 * other; and, against anchors kept outside, whether it is the same log. Only reads.
 */
#pragma once

#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verify_result { VERIFY_INTACT, VERIFY_BROKEN, VERIFY_TRUNCATED };

/* A record's hash, as somebody outside noted it. */
struct anchor {
	uint64_t seq;
	char hash[65];
};

struct verify_options {
	const char *dir;
	bool sealed;			/* the log must end with a seal */
	const struct anchor *anchors;	/* ascending by seq; may be NULL */
	size_t nr_anchors;
};

struct verify_report {
	enum verify_result result;
	struct err why;			/* file, line and text, when not intact */
	uint64_t seq;			/* at which record, or the last one */
	uint64_t first_seq, records;
	unsigned first_file, last_file;
	size_t anchors_met, anchors_before;	/* checked; older than the oldest record left */
	uint64_t lost;			/* records that audit_drop records own up to */
	unsigned torn;			/* fragments of crashes, each explained by a `recovered` record */
	bool sealed;
};

/* Returns 0 with the report, or -errno with ret_error when the log cannot be read at all. */
int verify_log(const struct verify_options *options, struct verify_report *ret_report, struct err *ret_error);

/*
 * Finds anchors in text that went out of the container (anything around them is skipped), sorted, doubles kept.
 * ret_anchors is malloc'ed. Returns 0 or -errno.
 */
int verify_read_anchors(int fd, struct anchor **ret_anchors, size_t *ret_count);
