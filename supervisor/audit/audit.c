/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log's front: recording from any thread, and the life of the writer thread. Nobody here waits for a file.
 */
#include "supervisor/audit/audit.h"
#include "supervisor/audit/record.h"
#include "supervisor/audit/writer.h"
#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(RECORD_MEMBERS_MAX + RECORD_TYPE_MAX <= RING_RECORD_MAX, "a reservation has room for the longest record");

#define NAP_US 5000u		/* records gather for so long before the writer looks again: one wake-up, not thousands */
#define HURRY_COUNT 1024u	/* queued records that end a nap */

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

static bool type_is_valid(const char *type)
{
	size_t len = type ? strspn(type, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;

	return len > 0 && len <= RECORD_TYPE_MAX && type[len] == '\0';
}

/* With the lock held. */
static int queue_record(struct audit *a, struct ring_slot slot, enum ring_claim claim, const char *type, struct bytes members)
{
	int r, health = atomic_load(&a->health);

	/* Under the lock: the order of the queue is the order of time. */
	slot.real_us = writer_clock_us(CLOCK_REALTIME);
	slot.mono_us = writer_clock_us(CLOCK_MONOTONIC);
	r = ring_push(&a->ring, slot, claim, bytes_of(type), members);
	if (r < 0) {
		writer_count_drop(&a->drops[health ? DROP_LOG_FAILED : DROP_RING_FULL], a->pushed, 1, slot.urgent, slot.real_us);
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

static int record(struct audit *a, const char *type, enum audit_severity severity, bool denial, enum ring_claim claim, const struct buf *members)
{
	struct ring_slot slot = { .severity = (uint8_t)severity, .urgent = denial };
	struct bytes bytes = members ? (struct bytes){ members->data, members->len } : (struct bytes){ 0 };
	_cleanup_buf_ struct buf shorter = { 0 };
	int r;

	if (!type_is_valid(type) || severity < AUDIT_INFO || severity > AUDIT_CRIT) {
		if (claim == RING_RESERVED)
			audit_unreserve(a);
		return -EINVAL;
	}
	/* Members that ran out of memory half way are no JSON either: their "cut" says so. */
	if (bytes.len > RECORD_MEMBERS_MAX || (members && members->failed)) {
		record_shrink(&shorter, bytes);
		bytes = (struct bytes){ shorter.data, shorter.failed ? 0 : shorter.len };
	}
	pthread_mutex_lock(&a->lock);
	r = queue_record(a, slot, claim, type, bytes);
	pthread_mutex_unlock(&a->lock);
	return r;
}

int audit_record(struct audit *a, const char *type, enum audit_severity severity, bool urgent, const struct buf *members)
{
	return record(a, type, severity, urgent, urgent ? RING_URGENT : RING_PLAIN, members);
}

int audit_record_vital(struct audit *a, const char *type, enum audit_severity severity, const struct buf *members)
{
	return record(a, type, severity, false, RING_URGENT, members);
}

int audit_record_reserved(struct audit *a, const char *type, enum audit_severity severity, const struct buf *members)
{
	return record(a, type, severity, false, RING_RESERVED, members);
}

bool audit_has_room(struct audit *a)
{
	bool has_room;

	pthread_mutex_lock(&a->lock);
	has_room = ring_has_room(&a->ring);
	pthread_mutex_unlock(&a->lock);
	return has_room;
}

int audit_reserve(struct audit *a)
{
	int r;

	pthread_mutex_lock(&a->lock);
	r = ring_reserve(&a->ring);
	pthread_mutex_unlock(&a->lock);
	return r;
}

void audit_unreserve(struct audit *a)
{
	pthread_mutex_lock(&a->lock);
	ring_unreserve(&a->ring);
	pthread_mutex_unlock(&a->lock);
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
	uint64_t target, until = writer_clock_us(CLOCK_MONOTONIC) + (uint64_t)timeout_ms * 1000;
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

/* ---- the writer thread ---- */

/* Keeps health, and the log_failed gap that tells of an outage even when nothing was lost in it. */
static void set_health(struct audit *a, int r)
{
	uint64_t now_us = writer_clock_us(CLOCK_REALTIME);

	pthread_mutex_lock(&a->lock);
	if (r < 0)
		writer_count_drop(&a->drops[DROP_LOG_FAILED], a->pushed, 0, false, now_us);
	if (r < 0)
		pthread_cond_broadcast(&a->synced);	/* who waits for a flush is told */
	atomic_store(&a->health, r);
	pthread_mutex_unlock(&a->lock);
	a->retry_due = r < 0 ? writer_clock_us(CLOCK_MONOTONIC) + (uint64_t)a->options.sync_ms * 1000 : NEVER;
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
	uint64_t nap_end = writer_clock_us(CLOCK_MONOTONIC) + NAP_US, timer = earliest(a->sync_due, a->anchor_due);

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

static void *writer_thread(void *argument)
{
	struct audit *a = argument;
	bool sync, stop = false;
	unsigned count;

	while (!stop) {
		int r;

		wait_for_work(a, &count, &sync, &stop);
		/* After a failure the log is well again only when a sync says so. */
		r = writer_write_queued(a, count, sync || stop || atomic_load(&a->health) < 0);
		if (r == 0 && stop && a->seal)
			r = writer_write_seal(a);
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
		r = writer_write_recovered(a);
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
