/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer thread does: records, anchors, rotation, gaps and the seal become lines of the log. Nothing else touches files.
 *
 * The lock is held only to copy memory. A record leaves the queue when it is in the log, not before: while the log cannot be
 * written, records wait, then are counted, and the count becomes a record at the place where the gap is.
 */
#include "supervisor/audit/writer.h"
#include "supervisor/audit/folder.h"
#include "supervisor/audit/record.h"
#include "supervisor/audit/shorthand.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"

#include <errno.h>
#include <string.h>

uint64_t writer_clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void writer_count_drop(struct drop *d, uint64_t at, uint64_t count, bool denial, uint64_t now_us)
{
	if (!d->open)
		*d = (struct drop){ .open = true, .from_us = now_us, .at = at };
	d->count += count;
	d->denials += denial ? count : 0;
	d->to_us = now_us;
}

/* ---- one record ---- */

/* Lines that leave the container at once: denials, what is serious, and what an outside check of the log needs. */
static bool is_shown(struct bytes type, enum audit_severity severity, bool urgent)
{
	static const char *const types[] = { "state", "service", "start", "ready", "stop", "seal", "anchor" };

	if (urgent || severity >= AUDIT_MED)
		return true;
	for (unsigned i = 0; i < ARRAY_SIZE(types); i++)
		if (bytes_equal(type, bytes_of(types[i])))
			return true;
	return false;
}

static void show(struct audit *a, struct bytes line)
{
	struct record record;

	if (record_parse(line, &record, NULL) < 0)
		return;
	buf_reset(&a->shown);
	shorthand_format(&a->shown, &record, false);
	if (!a->shown.failed)
		copy_line(&a->copy, a->shown.data, a->shown.len);
	record_free(&record);
}

/* Puts one record at the end of the log. Returns 0, or -errno with nothing changed. */
static int write_record(struct audit *a, const struct ring_slot *slot, struct bytes type, struct bytes members)
{
	struct envelope envelope = {
		.seq = a->log.seq + 1, .real_us = slot->real_us, .mono_us = slot->mono_us, .source = a->source.data,
		.type = type, .severity = (enum audit_severity)slot->severity, .prev = a->log.prev,
	};
	_cleanup_buf_ struct buf shorter = { 0 };
	int r;

	if (!record_members_valid(members)) {
		record_shrink(&shorter, members);
		members = (struct bytes){ shorter.data, shorter.failed ? 0 : shorter.len };
	}
	buf_reset(&a->line);
	record_format(&a->line, &envelope, members);
	r = log_append(&a->log, &a->line);
	if (r < 0)
		return r;
	atomic_fetch_add(&a->written, 1);
	atomic_store(&a->seq, a->log.seq);
	a->unsynced++;
	if (a->sync_due == NEVER)
		a->sync_due = writer_clock_us(CLOCK_MONOTONIC) + (uint64_t)a->options.sync_ms * 1000;
	if (slot->urgent && slot->severity >= AUDIT_HIGH)
		a->sync_now = true;
	if (!bytes_equal(type, bytes_of("anchor"))) {
		a->records_since_anchor++;
		if (a->anchor_due == NEVER)
			a->anchor_due = writer_clock_us(CLOCK_MONOTONIC) + (uint64_t)a->options.anchor_ms * 1000;
	}
	if (a->copy.fd >= 0 && is_shown(type, (enum audit_severity)slot->severity, slot->urgent))
		show(a, (struct bytes){ a->line.data, a->line.len - 1 });
	return 0;
}

/* A record of the writer's own. */
static int write_own(struct audit *a, const char *type, enum audit_severity severity, const struct buf *members)
{
	struct ring_slot slot = {
		.real_us = writer_clock_us(CLOCK_REALTIME),
		.mono_us = writer_clock_us(CLOCK_MONOTONIC),
		.severity = (uint8_t)severity,
	};

	if (members->failed)
		return -ENOMEM;
	return write_record(a, &slot, bytes_of(type), (struct bytes){ members->data, members->len });
}

/* The kernel forgets pages it could not write: a later sync that works says nothing about these. */
static void note_unsynced(struct audit *a)
{
	if (a->unsynced) {
		pthread_mutex_lock(&a->lock);
		writer_count_drop(&a->drops[DROP_UNSYNCED], a->popped, a->unsynced, false, writer_clock_us(CLOCK_REALTIME));
		pthread_mutex_unlock(&a->lock);
	}
	a->unsynced = 0;
	a->sync_failed = true;
}

static int sync_log(struct audit *a)
{
	int r = a->unsynced || a->sync_failed ? log_sync(&a->log) : 0;

	if (r < 0) {
		note_unsynced(a);
		return r;
	}
	a->unsynced = 0;
	a->sync_due = NEVER;
	a->sync_now = a->sync_failed = false;
	pthread_mutex_lock(&a->lock);
	a->safe = a->popped;
	pthread_cond_broadcast(&a->synced);
	pthread_mutex_unlock(&a->lock);
	return 0;
}

/* {seq, hash} of the last record. In "head", because the envelope has a seq of its own. */
static void put_head(struct json_out *j, const struct log *log)
{
	json_object_begin(j, "head");
	json_uint(j, "seq", log->seq);
	json_text(j, "hash", log->prev);
	json_object_end(j);
}

static int write_anchor(struct audit *a)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };
	int r;

	put_head(&j, &a->log);
	r = write_own(a, "anchor", AUDIT_INFO, &members);
	if (r < 0)
		return r;
	a->records_since_anchor = 0;
	a->anchor_due = NEVER;
	return 0;
}

/* ---- rotation: every step may fail and is then tried again ---- */

static int end_file(struct audit *a)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };
	char name[FOLDER_NAME_BYTES];
	int r;

	folder_file_name(a->log.number + 1, name);
	json_text(&j, "next", name);
	r = write_own(a, "rotate", AUDIT_INFO, &members);
	if (r < 0)
		return r;
	a->log.ended = true;
	return 0;
}

/*
 * The first record of a file says which file was before it and which is the oldest left. It is on the disk before anything is
 * deleted: a missing file that no record explains is somebody else's doing.
 */
static int begin_file(struct audit *a)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };
	unsigned oldest = a->log.number > a->options.files_max ? a->log.number - a->options.files_max + 1 : 1;
	char name[FOLDER_NAME_BYTES];
	int r;

	folder_file_name(a->log.number - 1, name);
	json_text(&j, "previous", name);
	folder_file_name(oldest, name);
	json_text(&j, "oldest", name);
	r = write_own(a, "file", AUDIT_INFO, &members);
	if (r < 0)
		return r;
	a->fresh_file = false;
	r = sync_log(a);
	if (r < 0)
		return r;
	(void)log_delete_before(&a->log, oldest);	/* tried again at the next rotation */
	return 0;
}

static int rotate_when_due(struct audit *a)
{
	int r = 0;

	if (!a->log.ended && !a->fresh_file && a->log.len_bytes >= a->options.file_limit_bytes)
		r = end_file(a);
	if (r == 0 && a->log.ended) {
		r = sync_log(a);
		if (r == 0)
			r = log_next_file(&a->log);
		a->fresh_file = r == 0;
	}
	if (r == 0 && a->fresh_file)
		r = begin_file(a);
	return r;
}

/* ---- gaps ---- */

static int write_drop(struct audit *a, enum drop_cause cause, const struct drop *d)
{
	static const char *const classes[] = { "ring_full", "log_failed", "unsynced" };
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };
	char from[32], to[32];

	record_time(d->from_us, from);
	record_time(d->to_us, to);
	json_uint(&j, "count", d->count);
	json_text(&j, "class", classes[cause]);
	json_uint(&j, "denials", d->denials);
	json_text(&j, "from_ts", from);
	json_text(&j, "to_ts", to);
	return write_own(a, "audit_drop", d->denials || cause != DROP_RING_FULL ? AUDIT_HIGH : AUDIT_MED, &members);
}

/* Records each gap the writer has come to. */
static int write_drops(struct audit *a)
{
	for (enum drop_cause cause = 0; cause < NR_DROP_CAUSES; cause++) {
		struct drop *d = &a->drops[cause], now;
		int r;

		pthread_mutex_lock(&a->lock);
		now = *d;
		pthread_mutex_unlock(&a->lock);
		if (!now.open || a->popped < now.at)
			continue;
		r = write_drop(a, cause, &now);
		if (r < 0)
			return r;
		pthread_mutex_lock(&a->lock);
		d->count -= now.count;
		d->denials -= now.denials;
		d->open = d->count > 0;
		d->from_us = now.to_us;
		d->at = a->pushed;
		pthread_mutex_unlock(&a->lock);
	}
	return 0;
}

/* ---- the queue ---- */

static int write_next(struct audit *a)
{
	const struct ring_slot *slot;
	struct bytes type, members;
	int r;

	pthread_mutex_lock(&a->lock);
	slot = ring_peek(&a->ring, &type, &members);
	pthread_mutex_unlock(&a->lock);
	if (!slot)
		return 0;
	r = write_record(a, slot, type, members);
	if (r < 0)
		return r;
	pthread_mutex_lock(&a->lock);
	ring_pop(&a->ring);
	a->popped++;
	pthread_mutex_unlock(&a->lock);
	return 0;
}

int writer_write_queued(struct audit *a, unsigned count, bool sync)
{
	/* On a disk that keeps nothing, more records would only rotate older ones out. */
	int r = a->sync_failed ? sync_log(a) : 0;

	if (r < 0)
		return r;
	do {
		r = rotate_when_due(a);
		if (r == 0)
			r = write_drops(a);
		if (r == 0 && count)
			r = write_next(a);
		if (r == 0 && (a->records_since_anchor >= a->options.anchor_records || writer_clock_us(CLOCK_MONOTONIC) >= a->anchor_due))
			r = write_anchor(a);
	} while (r == 0 && count-- > 1);
	if (r == 0)
		r = write_drops(a);
	if (r == 0 && (sync || a->sync_now || writer_clock_us(CLOCK_MONOTONIC) >= a->sync_due))
		r = sync_log(a);
	return r;
}

/* The last record, and beside the log the hash of that record itself, which nothing in the log can hold. */
int writer_write_seal(struct audit *a)
{
	_cleanup_buf_ struct buf members = { 0 }, line = { 0 };
	struct json_out j = { .buf = &members };
	int r;

	put_head(&j, &a->log);
	json_uint(&j, "records", atomic_load(&a->written) + 1);
	json_uint(&j, "lost", atomic_load(&a->lost));
	json_uint(&j, "copies_lost", a->copy.lost);
	r = write_own(a, "seal", AUDIT_INFO, &members);
	if (r == 0)
		r = sync_log(a);
	if (r < 0)
		return r;
	buf_format(&line, "ANCHOR seq=%llu hash=%s", (unsigned long long)a->log.seq, a->log.prev);
	if (!line.failed)
		copy_line(&a->copy, line.data, line.len);
	return 0;
}

/* A log whose last line a crash tore goes on in a new file that begins by saying so. */
int writer_write_recovered(struct audit *a)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };
	int r;

	if (a->log.torn.len == 0)
		return 0;
	json_array_begin(&j, "torn");
	json_raw(&j, NULL, a->log.torn.data);
	json_array_end(&j);
	r = write_own(a, "recovered", AUDIT_MED, &members);
	return r < 0 ? r : sync_log(a);
}
