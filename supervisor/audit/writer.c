/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log's writer: the queue's far end, one thread, the only one that touches files.
 *
 * Any thread may call the audit_* functions but open and close. Under the lock are only copies of memory; files are written
 * outside it. A record leaves the queue when it is in the log, not before: while the log cannot be written, records wait, then
 * are counted, and the count becomes a record at the place where the gap is.
 */
#include "supervisor/audit/audit.h"
#include "supervisor/audit/copy.h"
#include "supervisor/audit/folder.h"
#include "supervisor/audit/log.h"
#include "supervisor/audit/record.h"
#include "supervisor/audit/ring.h"
#include "supervisor/audit/shorthand.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAP_US 5000u		/* records gather for so long before the writer looks again: one wake-up, not thousands */
#define HURRY_COUNT 1024u	/* queued records that end a nap */
#define NEVER UINT64_MAX

enum drop_cause { DROP_RING_FULL, DROP_LOG_FAILED, DROP_UNSYNCED, NR_DROP_CAUSES };

/* What was lost, and where in the queue the gap begins. */
struct drop {
	bool open;			/* to be recorded */
	uint64_t count, denials;
	uint64_t from_us, to_us;
	uint64_t at;			/* records pushed before it */
};

enum sleeping { AWAKE, NAPPING, ASLEEP };

struct audit {
	struct audit_options options;	/* texts not kept */
	struct buf source;
	pthread_t thread;

	pthread_mutex_t lock;		/* holds what follows, up to the atomics */
	pthread_cond_t wake, synced;
	struct ring ring;
	struct drop drops[NR_DROP_CAUSES];
	uint64_t pushed, popped, safe;	/* records: queued so far, written, written and synced */
	enum sleeping sleeping;
	bool hurry, stop, seal;

	atomic_int health;		/* 0 or -errno */
	atomic_uint_fast64_t written, lost, seq;

	/* the writer's own */
	struct log log;
	struct copy copy;
	struct buf line, shown;
	uint64_t records_since_anchor, anchor_due, sync_due, retry_due;	/* monotonic us; NEVER when not due */
	uint64_t unsynced;		/* records written since the last sync */
	bool sync_now, fresh_file;	/* fresh: a new file without its `file` record */
};

static uint64_t clock_us(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Waits on a condition until a monotonic time; NEVER waits for a signal alone. Returns false when the time has come. */
static bool wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t time_us)
{
	struct timespec t = { .tv_sec = (time_t)(time_us / 1000000), .tv_nsec = (long)(time_us % 1000000) * 1000 };

	if (time_us == NEVER)
		return pthread_cond_wait(condition, lock) == 0;
	return pthread_cond_timedwait(condition, lock, &t) != ETIMEDOUT;
}

/* ---- recording ---- */

static void count_drop(struct drop *d, uint64_t at, uint64_t count, bool denial, uint64_t now_us)
{
	if (!d->open)
		*d = (struct drop){ .open = true, .from_us = now_us, .at = at };
	d->count += count;
	d->denials += denial ? count : 0;
	d->to_us = now_us;
}

static bool type_is_valid(const char *type)
{
	size_t len = type ? strspn(type, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;

	return len > 0 && len <= RECORD_TYPE_MAX && type[len] == '\0';
}

/* With the lock held. */
static int queue_record(struct audit *a, struct ring_slot slot, const char *type, struct bytes members)
{
	int r, health = atomic_load(&a->health);

	/* Under the lock: the order of the queue is the order of time. */
	slot.real_us = clock_us(CLOCK_REALTIME);
	slot.mono_us = clock_us(CLOCK_MONOTONIC);
	r = ring_push(&a->ring, slot, bytes_of(type), members);
	if (r < 0) {
		count_drop(&a->drops[health ? DROP_LOG_FAILED : DROP_RING_FULL], a->pushed, 1, slot.urgent, slot.real_us);
		atomic_fetch_add(&a->lost, 1);
		return health ? -EIO : r;
	}
	a->pushed++;
	if (slot.urgent && slot.severity >= AUDIT_HIGH)
		a->hurry = true;
	if (a->sleeping == ASLEEP || (a->sleeping == NAPPING && (a->hurry || a->ring.count >= HURRY_COUNT)))
		pthread_cond_signal(&a->wake);
	return health ? -EIO : 0;
}

int audit_record(struct audit *a, const char *type, enum audit_severity severity, bool urgent, const struct buf *members)
{
	struct ring_slot slot = { .severity = (uint8_t)severity, .urgent = urgent };
	struct bytes bytes = members ? (struct bytes){ members->data, members->len } : (struct bytes){ 0 };
	_cleanup_buf_ struct buf shorter = { 0 };
	int r;

	if (!type_is_valid(type) || severity < AUDIT_INFO || severity > AUDIT_CRIT)
		return -EINVAL;
	/* Members that ran out of memory half way are no JSON either: their "cut" says so. */
	if (bytes.len > RECORD_MEMBERS_MAX || (members && members->failed)) {
		record_shrink(&shorter, bytes);
		bytes = (struct bytes){ shorter.data, shorter.failed ? 0 : shorter.len };
	}
	pthread_mutex_lock(&a->lock);
	r = queue_record(a, slot, type, bytes);
	pthread_mutex_unlock(&a->lock);
	return r;
}

int audit_health(const struct audit *a)
{
	return atomic_load(&a->health);
}

void audit_counts(const struct audit *a, uint64_t *ret_written, uint64_t *ret_lost, uint64_t *ret_seq)
{
	if (ret_written)
		*ret_written = atomic_load(&a->written);
	if (ret_lost)
		*ret_lost = atomic_load(&a->lost);
	if (ret_seq)
		*ret_seq = atomic_load(&a->seq);
}

int audit_flush(struct audit *a, unsigned timeout_ms)
{
	uint64_t target, until = clock_us(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000;
	int r = 0;

	pthread_mutex_lock(&a->lock);
	target = a->pushed;
	while (a->safe < target) {
		r = atomic_load(&a->health);
		if (r < 0)
			break;
		a->hurry = true;
		pthread_cond_signal(&a->wake);
		if (!wait_until(&a->synced, &a->lock, until)) {
			r = a->safe < target ? -ETIMEDOUT : 0;
			break;
		}
	}
	pthread_mutex_unlock(&a->lock);
	return r;
}

/* ---- writing, in the writer's thread ---- */

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
		a->sync_due = clock_us(CLOCK_MONOTONIC) + (uint64_t)a->options.sync_ms * 1000;
	if (slot->urgent && slot->severity >= AUDIT_HIGH)
		a->sync_now = true;
	if (!bytes_equal(type, bytes_of("anchor"))) {
		a->records_since_anchor++;
		if (a->anchor_due == NEVER)
			a->anchor_due = clock_us(CLOCK_MONOTONIC) + (uint64_t)a->options.anchor_ms * 1000;
	}
	if (a->copy.fd >= 0 && is_shown(type, (enum audit_severity)slot->severity, slot->urgent))
		show(a, (struct bytes){ a->line.data, a->line.len - 1 });
	return 0;
}

/* A record of the writer's own. */
static int write_own(struct audit *a, const char *type, enum audit_severity severity, const struct buf *members)
{
	struct ring_slot slot = { .real_us = clock_us(CLOCK_REALTIME), .mono_us = clock_us(CLOCK_MONOTONIC), .severity = (uint8_t)severity };

	if (members->failed)
		return -ENOMEM;
	return write_record(a, &slot, bytes_of(type), (struct bytes){ members->data, members->len });
}

static int sync_log(struct audit *a)
{
	int r;

	if (a->unsynced || atomic_load(&a->health) < 0) {
		r = log_sync(&a->log);
		if (r < 0) {
			/* The kernel forgets pages it could not write: a later sync that works says nothing about these. */
			pthread_mutex_lock(&a->lock);
			count_drop(&a->drops[DROP_UNSYNCED], a->popped, a->unsynced, false, clock_us(CLOCK_REALTIME));
			pthread_mutex_unlock(&a->lock);
			a->unsynced = 0;
			a->sync_due = 0;
			return r;
		}
	}
	a->unsynced = 0;
	a->sync_due = NEVER;
	a->sync_now = false;
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

/* ---- the loop ---- */

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

/* Everything that was queued when we looked, with gaps, anchors and rotations where they fall, then what the clock asks for. */
static int write_queued(struct audit *a, unsigned count, bool sync)
{
	int r = 0;

	do {
		r = rotate_when_due(a);
		if (r == 0)
			r = write_drops(a);
		if (r == 0 && count)
			r = write_next(a);
		if (r == 0 && (a->records_since_anchor >= a->options.anchor_records || clock_us(CLOCK_MONOTONIC) >= a->anchor_due))
			r = write_anchor(a);
	} while (r == 0 && count-- > 1);
	if (r == 0)
		r = write_drops(a);
	if (r == 0 && (sync || a->sync_now || clock_us(CLOCK_MONOTONIC) >= a->sync_due))
		r = sync_log(a);
	return r;
}

/* Keeps health, and the log_failed gap that tells of an outage even when nothing was lost in it. */
static void set_health(struct audit *a, int r)
{
	uint64_t now_us = clock_us(CLOCK_REALTIME);

	pthread_mutex_lock(&a->lock);
	if (r < 0)
		count_drop(&a->drops[DROP_LOG_FAILED], a->pushed, 0, false, now_us);
	if (r < 0)
		pthread_cond_broadcast(&a->synced);	/* who waits for a flush is told */
	atomic_store(&a->health, r);
	pthread_mutex_unlock(&a->lock);
	a->retry_due = r < 0 ? clock_us(CLOCK_MONOTONIC) + (uint64_t)a->options.sync_ms * 1000 : NEVER;
}

/* With the lock held. */
static bool is_pressing(const struct audit *a)
{
	return a->stop || a->hurry || a->ring.count >= HURRY_COUNT;
}

/*
 * Sleeps until there is something to do. While the log fails, only the timer counts: records do not make a disk larger. Else
 * first a nap that only pressing things end, so that a burst of records costs one wake-up and not one each; after it, the next
 * record is written at once.
 */
static void wait_for_work(struct audit *a, unsigned *ret_count, bool *ret_sync, bool *ret_stop)
{
	uint64_t nap_end = clock_us(CLOCK_MONOTONIC) + NAP_US, timer = earliest(a->sync_due, a->anchor_due);

	pthread_mutex_lock(&a->lock);
	if (a->retry_due != NEVER) {
		while (!a->stop && wait_until(&a->wake, &a->lock, a->retry_due))
			;
	} else {
		a->sleeping = NAPPING;
		while (!is_pressing(a) && wait_until(&a->wake, &a->lock, nap_end))
			;
		a->sleeping = ASLEEP;
		while (!is_pressing(a) && a->ring.count == 0 && wait_until(&a->wake, &a->lock, timer))
			;
	}
	a->sleeping = AWAKE;
	*ret_count = a->ring.count;
	*ret_sync = a->hurry;
	*ret_stop = a->stop;
	a->hurry = false;
	pthread_mutex_unlock(&a->lock);
}

/* The last record, and beside the log the hash of that record itself, which nothing in the log can hold. */
static int write_seal(struct audit *a)
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

static void *writer_thread(void *argument)
{
	struct audit *a = argument;
	bool sync, stop = false;
	unsigned count;

	while (!stop) {
		int r;

		wait_for_work(a, &count, &sync, &stop);
		/* After a failure the log is well again only when a sync says so. */
		r = write_queued(a, count, sync || stop || atomic_load(&a->health) < 0);
		if (r == 0 && stop && a->seal)
			r = write_seal(a);
		if (r != atomic_load(&a->health) || r < 0)
			set_health(a, r);
	}
	return NULL;
}

/* ---- opening and closing ---- */

static void set_defaults(struct audit_options *o)
{
	o->file_limit_bytes = o->file_limit_bytes ? o->file_limit_bytes : 8u << 20;
	o->files_max = o->files_max ? o->files_max : 8;
	o->sync_ms = o->sync_ms ? o->sync_ms : 200;
	o->anchor_records = o->anchor_records ? o->anchor_records : 256;
	o->anchor_ms = o->anchor_ms ? o->anchor_ms : 10000;
}

/* A log whose last line a crash tore goes on in a new file that begins by saying so. */
static int write_recovered(struct audit *a)
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

static void free_audit(struct audit *a)
{
	log_close(&a->log);
	copy_close(&a->copy);
	ring_free(&a->ring);
	buf_free(&a->source);
	buf_free(&a->line);
	buf_free(&a->shown);
	pthread_mutex_destroy(&a->lock);
	pthread_cond_destroy(&a->wake);
	pthread_cond_destroy(&a->synced);
	free(a);
}

/* Signals are for the threads that wait for them; SIGPIPE from a closed stdout is for nobody. */
static int start_thread(struct audit *a)
{
	sigset_t all, before;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = -pthread_create(&a->thread, NULL, writer_thread, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void init_locks(struct audit *a)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->wake, &attributes);
	pthread_cond_init(&a->synced, &attributes);
	pthread_condattr_destroy(&attributes);
}

int audit_open(const struct audit_options *options, struct audit **ret_audit, struct err *ret_error)
{
	struct audit *a;
	int r;

	if (!options->run || !options->boot || strlen(options->run) > 63 || strlen(options->boot) > 63)
		return err_set(ret_error, -EINVAL, "audit: run and boot must be given, at most 63 bytes each");
	a = calloc(1, sizeof(*a));
	if (!a)
		return err_set(ret_error, -ENOMEM, "audit: no memory");
	a->options = *options;
	a->log = (struct log){ .dir_fd = -1, .lock_fd = -1, .fd = -1 };
	a->copy.fd = -1;
	a->sync_due = a->anchor_due = a->retry_due = NEVER;
	set_defaults(&a->options);
	init_locks(a);
	record_source(&a->source, options->run, options->boot);
	r = a->source.failed ? -ENOMEM : ring_init(&a->ring);
	if (r < 0)
		err_set(ret_error, r, "audit: no memory");
	if (r == 0)
		r = log_open(options->dir, &a->log, ret_error);
	if (r == 0) {
		copy_open(&a->copy, options->copy_fd);
		r = write_recovered(a);
		if (r == 0)
			r = start_thread(a);
		if (r < 0)
			err_set(ret_error, r, "audit log in %s: cannot write: %s", options->dir, strerror(-r));
	}
	if (r < 0) {
		free_audit(a);
		return r;
	}
	a->options.dir = a->options.run = a->options.boot = NULL;
	atomic_store(&a->seq, a->log.seq);
	*ret_audit = a;
	return 0;
}

int audit_close(struct audit *a, bool seal)
{
	int r;

	if (!a)
		return 0;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	a->seal = seal;
	pthread_cond_signal(&a->wake);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	r = atomic_load(&a->health);
	free_audit(a);
	return r;
}
