/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the audit room: the log's state, shared by the public functions (audit.c) and what the writer thread does (writer.c).
 */
#pragma once

#include "supervisor/audit/audit.h"
#include "supervisor/audit/copy.h"
#include "supervisor/audit/log.h"
#include "supervisor/audit/ring.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

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
	bool sync_now, sync_failed;
	bool fresh_file;		/* a new file without its `file` record */
};

uint64_t writer_clock_us(clockid_t clock);
/* With the lock held: adds to a gap, or begins one behind `at` records. */
void writer_count_drop(struct drop *d, uint64_t at, uint64_t count, bool denial, uint64_t now_us);

/*
 * The writer thread's work. Writes count queued records, with gaps, anchors and rotations where they fall, then what the clock
 * asks for; sync: sync in any case. Returns 0, or -errno with what was not written still queued or due.
 */
int writer_write_queued(struct audit *a, unsigned count, bool sync);
int writer_write_seal(struct audit *a);
/* Before the thread runs: the record that names torn lines, when log_open() found some. */
int writer_write_recovered(struct audit *a);
