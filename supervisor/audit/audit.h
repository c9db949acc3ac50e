/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: records go in, a hash-chained JSONL file comes out, written by one thread that nobody waits for.
 *
 * Owns DIR/audit-NNNNNN.jsonl (root 0600, O_APPEND) and the chain. audit_record() may be called from any thread; it copies into
 * a bounded ring and never blocks or touches a file. What the ring cannot take is counted and itself becomes a record
 * (audit_drop); denials use slots reserved for them. The writer alone assigns seq, ts and prev.
 * It never decides anything, and never prints what an agent wrote without the escaper.
 */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum audit_severity { AUDIT_INFO, AUDIT_LOW, AUDIT_MED, AUDIT_HIGH, AUDIT_CRIT };

struct audit_options {
	const char *dir;		/* created 0700 when missing */
	const char *run, *boot;		/* run id (host's) and container start id; text, at most 63 bytes */
	uint64_t file_limit_bytes;	/* rotation; 0: 8 MiB */
	unsigned files_max;		/* oldest deleted beyond this many, recorded; 0: 8 */
	unsigned sync_ms;		/* fdatasync timer; 0: 200 */
	unsigned anchor_records, anchor_ms;	/* 0: 256 records, 10000 ms */
	int copy_fd;			/* shorthand lines and anchors go here too (the container's stdout); -1: nowhere */
};

struct audit;

/*
 * Continues the chain found in DIR (also one whose last line was torn by a crash: that is recorded) or begins one. Starts the
 * writer thread. Returns 0, or -errno with ret_error saying which file and why; a log that does not verify at its tail is
 * -EBADMSG, one that another process writes -EBUSY.
 */
int audit_open(const struct audit_options *options, struct audit **ret_audit, struct err *ret_error);

/*
 * type is [a-z0-9_], at most 32: start state layer policy_load service ready cmd_begin cmd_end program syscall signal_refused
 * unsupervised_process source_changed stop (rotate file anchor seal audit_drop recovered are the writer's own).
 * members: JSON object members without braces, made with json_out at top level; none may have a name of the envelope's (v seq ts
 * mono_us run boot type sev prev): such members are left out whole and "cut" says so; members above 15 KiB are shortened, and
 * "cut" says so too.
 * urgent: a denial; uses the reserved slots, is synced at once when severity >= AUDIT_HIGH.
 * Returns 0, or -ENOBUFS (counted), or -EIO when the log cannot be written now: the record then waits in the queue, or is
 * counted when that is full; or -EINVAL for a type that is none.
 */
int audit_record(struct audit *audit, const char *type, enum audit_severity severity, bool urgent, const struct buf *members);

/* As audit_record(), also where only denials find room: for the few records without which the others say little. No denial. */
int audit_record_vital(struct audit *audit, const char *type, enum audit_severity severity, const struct buf *members);

/*
 * What cannot be recorded is not allowed: whether a record of any length would be taken now. Holds for the next record of the one thread that records.
 */
bool audit_has_room(struct audit *audit);

/* The same for a record that comes later, however full the queue is by then. Returns 0 or -ENOBUFS. Each one is used up, or given back. */
int audit_reserve(struct audit *audit);
void audit_unreserve(struct audit *audit);
/* As audit_record(), not urgent, in the place that was reserved for it. */
int audit_record_reserved(struct audit *audit, const char *type, enum audit_severity severity, const struct buf *members);

/*
 * 0 while the log can be written, else -errno of the failure (ENOSPC, EIO, EROFS): safety modes then stop launching. The writer
 * keeps trying.
 */
int audit_health(const struct audit *audit);

/* Records written since audit_open, records lost since, and the sequence number of the last one. Any pointer may be NULL. */
void audit_counts(const struct audit *audit, uint64_t *ret_written, uint64_t *ret_lost, uint64_t *ret_seq);

/*
 * Waits until everything recorded so far is written and synced, at most timeout_ms; not at all while the log fails. Returns 0,
 * -ETIMEDOUT or the log's error.
 */
int audit_flush(struct audit *audit, unsigned timeout_ms);

/*
 * Writes the seal (seq, hash, counts), syncs, stops the thread, frees. With seal false only flushes (the enforcer is going to be
 * restarted). Returns 0 or the log's error; then what was still queued is lost.
 */
int audit_close(struct audit *audit, bool seal);
