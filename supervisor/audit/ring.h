/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue between whoever records and the writer: 4096 slots over one arena of bytes, first in, first out. It does not lock.
 *
 * A quarter of slots and bytes is for urgent records alone, and nobody takes what is reserved for a record that is still to come. Pages are touched
 * only as the queue grows: it starts again at the bottom whenever it runs empty.
 */
#pragma once

#include "supervisor/base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define RING_SLOTS 4096u
#define RING_BYTES (4u << 20)
#define RING_RECORD_MAX 16384u	/* the longest that a reservation has room for: a line of the log */

enum ring_claim { RING_PLAIN, RING_URGENT, RING_RESERVED };

struct ring_slot {
	uint64_t real_us, mono_us;	/* when it happened */
	uint32_t offset, type_len, members_len;	/* of the arena: type, then members */
	uint8_t severity;
	bool urgent;
};

struct ring {
	struct ring_slot *slots;	/* RING_SLOTS, owned */
	char *arena;			/* RING_BYTES, owned */
	unsigned first, count;
	uint32_t head, tail;		/* bytes: oldest record's start, next record's start */
	unsigned reserved;		/* records that will come and must find room */
};

int ring_init(struct ring *r);
void ring_free(struct ring *r);
/* Whether a plain record of any length would be taken now. */
bool ring_has_room(const struct ring *r);
/* Keeps room for one record of at most RING_RECORD_MAX bytes until it is pushed as RING_RESERVED, or given back. Returns 0 or -ENOBUFS. */
int ring_reserve(struct ring *r);
void ring_unreserve(struct ring *r);
/* Copies both texts; offset and lengths of slot are filled here. Returns 0 or -ENOBUFS, which a reserved one never gets. */
int ring_push(struct ring *r, struct ring_slot slot, enum ring_claim claim, struct bytes type, struct bytes members);
/* The oldest record, valid until ring_pop(): pushes touch other memory. NULL when empty. */
const struct ring_slot *ring_peek(const struct ring *r, struct bytes *ret_type, struct bytes *ret_members);
void ring_pop(struct ring *r);
