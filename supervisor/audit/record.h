/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of the log as text: the envelope written, a line read back, and what is done to a record that is too long. Pure.
 *
 * {"v":1,"seq":N,"ts":"…Z","mono_us":N,"run":"…","boot":"…","type":"…","sev":"…","prev":"<64 hex>", …members}
 * prev is the SHA-256 of the bytes of the line before, without its newline; 64 zeros in the first record of a log.
 */
#pragma once

#include "supervisor/audit/audit.h"
#include "supervisor/base/buf.h"
#include "supervisor/base/bytes.h"
#include "supervisor/base/err.h"

#include <jansson.h>
#include <stdint.h>

#define RECORD_LINE_MAX 16384u				/* without the newline */
#define RECORD_MEMBERS_MAX (RECORD_LINE_MAX - 768u)	/* the longest envelope is shorter than that */
#define RECORD_TYPE_MAX 32u
#define RECORD_NO_PREV "0000000000000000000000000000000000000000000000000000000000000000"

struct envelope {
	uint64_t seq, real_us, mono_us;
	const char *source;	/* record_source() */
	struct bytes type;
	enum audit_severity severity;
	const char *prev;	/* 64 hex digits */
};

const char *audit_severity_name(enum audit_severity severity);

/* The part of all envelopes of one writer: "run":"…","boot":"…" */
void record_source(struct buf *ret_source, const char *run, const char *boot);
/* Microseconds since 1970 as 2026-11-30T15:04:05.123456Z */
void record_time(uint64_t real_us, char ret_text[static 32]);
/* Appends the line without a newline. */
void record_format(struct buf *line, const struct envelope *envelope, struct bytes members);

/* Whether members may stand in a record: JSON members on one line, none with a name of the envelope's. */
bool record_members_valid(struct bytes members);
/*
 * Members that do not fit become shorter ones that do: long strings and long lists end early, and "cut" tells the original
 * length and digest. Members that are not valid are left out whole, only "cut" stays.
 */
void record_shrink(struct buf *ret_members, struct bytes members);

struct record {
	json_t *root;		/* owned; the texts below are its */
	uint64_t seq;
	const char *type, *severity, *ts, *prev;
};

/* Returns 0 or -EBADMSG with ret_error's text saying what is wrong with the line. */
int record_parse(struct bytes line, struct record *ret_record, struct err *ret_error);
void record_free(struct record *record);
