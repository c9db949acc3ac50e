/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeated refusals: the first of a kind is recorded in full at once, what follows within the window is counted and summed up in one record.
 *
 * A kind is launch, call, rule, errno and object. Nothing is dropped: a kind that leaves the table early, and the end, write their sums.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define KINDS_MAX 256
#define WINDOW_US 5000000
#define TICK_MS 1000

struct kind {
	uint64_t key;		/* 0: free */
	uint64_t count;		/* refusals since the full record */
	uint64_t first_us, last_us;
	struct buf members;	/* what the sum says of it */
	bool failed;		/* not refusals, but calls that could not succeed */
};

struct repeats {
	struct kind kinds[KINDS_MAX];
	struct source tick;
	bool armed;
};

/* FNV-1a: spreads well and needs no table; who forges a collision hides a repeat of his own refusal behind another of his own, still counted. */
static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

static uint64_t key_of(const struct call *call, const struct outcome *o)
{
	uint64_t key = 0xcbf29ce484222325ULL;

	key = mix(key, &call->launch->id, sizeof(call->launch->id));
	key = mix(key, &call->request->data.nr, sizeof(call->request->data.nr));
	key = mix(key, &o->error_number, sizeof(o->error_number));
	key = mix(key, o->decision->rule, strlen(o->decision->rule));
	if (o->what)
		key = mix(key, o->what->data, o->what->len);
	return key ? key : 1;
}

static void write_sum(struct enforcer *e, struct kind *k)
{
	struct json_out j = { .buf = &k->members, .comma = true };

	if (k->count) {
		json_object_begin(&j, "agg");
		json_uint(&j, "count", k->count);
		json_uint(&j, "span_us", k->last_us - k->first_us);
		json_object_end(&j);
		audit_record(e->audit, "syscall", k->failed ? AUDIT_LOW : AUDIT_MED, !k->failed, &k->members);
	}
	buf_free(&k->members);
	*k = (struct kind){ 0 };
}

static void arm(struct enforcer *e)
{
	struct itimerspec next = { .it_value = { .tv_sec = TICK_MS / 1000 } };

	if (!e->repeats->armed)
		e->repeats->armed = timerfd_settime(e->repeats->tick.fd, 0, &next, NULL) == 0;
}

static void tick_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	uint64_t ticks, now = now_us();
	bool left = false;

	(void)events;
	if (read(source->fd, &ticks, sizeof(ticks)) < 0)
		return;
	e->repeats->armed = false;
	for (size_t i = 0; i < KINDS_MAX; i++) {
		struct kind *k = &e->repeats->kinds[i];

		if (k->key && now - k->first_us >= WINDOW_US)
			write_sum(e, k);
		left |= k->key != 0;
	}
	if (left)
		arm(e);
}

int repeats_start(struct enforcer *e)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	e->repeats = calloc(1, sizeof(*e->repeats));
	if (!e->repeats || timer < 0)
		return -ENOMEM;
	return source_add(e, &e->repeats->tick, timer, EPOLLIN, tick_ready);
}

static void remember(struct enforcer *e, struct kind *k, uint64_t key, const struct call *call, const struct outcome *o)
{
	write_sum(e, k);
	k->key = key;
	k->first_us = k->last_us = now_us();
	k->failed = strcmp(o->verb, "fail") == 0;
	record_repeat_members(call, o, &k->members);
	arm(e);
}

bool repeats_counted(struct enforcer *e, const struct call *call, const struct outcome *o)
{
	uint64_t key = key_of(call, o);
	/* Its place, or the next free one nearby; with all of them taken, the place's owner has to go. */
	struct kind *kinds = e->repeats->kinds, *place = &kinds[key % KINDS_MAX];

	for (size_t i = 0; i < 8; i++) {
		struct kind *k = &kinds[(key + i) % KINDS_MAX];

		if (k->key == key) {
			k->count++;
			k->last_us = now_us();
			return true;
		}
		if (!k->key && place->key)
			place = k;
	}
	remember(e, place, key, call, o);
	return false;
}

void repeats_flush(struct enforcer *e)
{
	for (size_t i = 0; e->repeats && i < KINDS_MAX; i++)
		if (e->repeats->kinds[i].key)
			write_sum(e, &e->repeats->kinds[i]);
}
