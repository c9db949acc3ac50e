/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/audit/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int ring_init(struct ring *r)
{
	/* calloc of this much comes straight from mmap: no page is resident before it is used. */
	*r = (struct ring){ .slots = calloc(RING_SLOTS, sizeof(*r->slots)), .arena = calloc(1, RING_BYTES) };
	if (r->slots && r->arena)
		return 0;
	ring_free(r);
	return -ENOMEM;
}

void ring_free(struct ring *r)
{
	free(r->slots);
	free(r->arena);
	*r = (struct ring){ 0 };
}

static uint32_t bytes_used(const struct ring *r)
{
	if (r->count == 0)
		return 0;
	return r->tail > r->head ? r->tail - r->head : RING_BYTES - r->head + r->tail;
}

/* Where len contiguous bytes are free: behind the newest record, else at the bottom. RING_BYTES when nowhere. */
static uint32_t find_room(const struct ring *r, uint32_t len)
{
	if (r->count == 0)
		return 0;
	if (r->tail > r->head) {
		if (RING_BYTES - r->tail >= len)
			return r->tail;
		return r->head >= len ? 0 : RING_BYTES;
	}
	return r->head - r->tail >= len ? r->tail : RING_BYTES;
}

/* Bytes in use once a record of len is in: with those at the end that it leaves behind where it starts again at the bottom. */
static uint64_t bytes_after(const struct ring *r, uint32_t len)
{
	bool wraps = r->count && r->tail > r->head && RING_BYTES - r->tail < len;

	return (uint64_t)bytes_used(r) + len + (wraps ? RING_BYTES - r->tail : 0);
}

/*
 * Two records' worth more than what is reserved stays free: a record that starts again at the bottom leaves less than one behind, and records that
 * come to their reservations may do so twice before the ring has gone round.
 */
static bool leaves_reserved(const struct ring *r, uint32_t len, unsigned reserved, bool urgent)
{
	unsigned slots_max = urgent ? RING_SLOTS : RING_SLOTS / 4 * 3;
	uint32_t bytes_max = urgent ? RING_BYTES : RING_BYTES / 4 * 3;
	uint64_t kept = reserved ? (reserved + 2ULL) * RING_RECORD_MAX : 0;

	return r->count + reserved < slots_max && bytes_after(r, len) + kept <= bytes_max;
}

bool ring_has_room(const struct ring *r)
{
	return leaves_reserved(r, RING_RECORD_MAX, r->reserved, false);
}

int ring_reserve(struct ring *r)
{
	if (!leaves_reserved(r, 0, r->reserved + 1, false))
		return -ENOBUFS;
	r->reserved++;
	return 0;
}

void ring_unreserve(struct ring *r)
{
	r->reserved--;
}

int ring_push(struct ring *r, struct ring_slot slot, enum ring_claim claim, struct bytes type, struct bytes members)
{
	uint32_t len, offset;

	if (claim == RING_RESERVED)
		r->reserved--;
	if (type.len + members.len > RING_BYTES / 4 || type.len == 0)
		return -ENOBUFS;
	len = (uint32_t)(type.len + members.len);
	if (claim != RING_RESERVED && !leaves_reserved(r, len, r->reserved, claim == RING_URGENT))
		return -ENOBUFS;
	if (r->count == RING_SLOTS)
		return -ENOBUFS;
	offset = find_room(r, len);
	if (offset == RING_BYTES)
		return -ENOBUFS;
	slot.offset = offset;
	slot.type_len = (uint32_t)type.len;
	slot.members_len = (uint32_t)members.len;
	memcpy(r->arena + offset, type.data, type.len);
	if (members.len)
		memcpy(r->arena + offset + type.len, members.data, members.len);
	if (r->count == 0)
		r->head = offset;
	r->tail = offset + len;
	r->slots[(r->first + r->count++) % RING_SLOTS] = slot;
	return 0;
}

const struct ring_slot *ring_peek(const struct ring *r, struct bytes *ret_type, struct bytes *ret_members)
{
	const struct ring_slot *slot = &r->slots[r->first];

	if (r->count == 0)
		return NULL;
	*ret_type = (struct bytes){ r->arena + slot->offset, slot->type_len };
	*ret_members = (struct bytes){ r->arena + slot->offset + slot->type_len, slot->members_len };
	return slot;
}

void ring_pop(struct ring *r)
{
	r->first = (r->first + 1) % RING_SLOTS;
	if (--r->count == 0)
		r->first = 0;
	else
		r->head = r->slots[r->first].offset;
}
