/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue between whoever records and the writer: 4096 slots over one arena of bytes, first in, first out. It does not lock.
 *
 * A quarter of slots and bytes is for urgent records alone. Pages are touched only as the queue grows: it starts again at the
 * bottom whenever it runs empty.
 */
#pragma once

#include "supervisor/base/bytes.h"

#include <stdbool.h>
#include <stdint.h>

#define RING_SLOTS 4096u
#define RING_BYTES (4u << 20)

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
};

int ring_init(struct ring *r);
void ring_free(struct ring *r);
/* Copies both texts; offset and lengths of slot are filled here. Returns 0 or -ENOBUFS. */
int ring_push(struct ring *r, struct ring_slot slot, struct bytes type, struct bytes members);
/* The oldest record, valid until ring_pop(): pushes touch other memory. NULL when empty. */
const struct ring_slot *ring_peek(const struct ring *r, struct bytes *ret_type, struct bytes *ret_members);
void ring_pop(struct ring *r);
