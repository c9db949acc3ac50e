/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log as the writer has it open: newest file, place in the chain, rotation. One thread uses it.
 *
 * A line is in the log whole or not at all: what a full disk took of one is cut off again before anything else is written. What
 * a crash left of one stays where it is as evidence; the next file then begins with a `recovered` record that names it.
 */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct log {
	int dir_fd, lock_fd, fd;	/* owned */
	unsigned number;		/* of the newest file */
	uint64_t len_bytes;		/* of whole lines in it */
	bool ragged;			/* the file is longer than len_bytes */
	bool ended;			/* its last record is `rotate` */
	uint64_t seq;			/* of the last record, 0 in a new log */
	char prev[65];			/* that record's hash */
	struct buf torn;		/* JSON list of fragments found at open, "" for none: to go into `recovered` */
};

/*
 * Locks the folder against a second writer and finds the end of the chain. Returns 0, -EBUSY when another process writes there,
 * -EBADMSG when the last records do not chain, or -errno; ret_error says which file.
 */
int log_open(const char *dir, struct log *ret_log, struct err *ret_error);
/* Appends line (newline added) as record seq + 1. Returns 0, or -errno and the log is as before. */
int log_append(struct log *log, struct buf *line);
/* Makes and opens the file after this one. */
int log_next_file(struct log *log);
int log_sync(struct log *log);
/* Deletes files numbered below oldest. Returns the number of files deleted, or -errno. */
int log_delete_before(struct log *log, unsigned oldest);
void log_close(struct log *log);
