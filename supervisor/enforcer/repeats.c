/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repeated refusals: the first of a kind is recorded in full at once, what follows within the window is counted and summed up in one record.
 *
 * A kind is launch, call, rule, errno and object. A launch that is refused ever other things, faster than anybody would read of it, is held to a number
 * of full records: beyond, its kinds are launch, call, rule and errno, and the object is an example. So nobody washes the log with refusals. Nothing is
 * dropped: a kind that leaves the table early, and the end, write their sums.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sha256.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define KINDS_MAX 256
#define WINDOW_US 5000000
#define TICK_MS 1000
#define FULL_BURST 500		/* full records of refusals a launch may have at once, and then one each */
#define FULL_EVERY_US 100000

struct kind {
	uint64_t key;		/* 0: free */
	uint64_t count;		/* refusals since the full record */
	uint64_t first_us, last_us;
	struct buf members;	/* what the sum says of it */
	bool failed;		/* not refusals, but calls that could not succeed */
	bool many;		/* of many objects, of which members name one */
};

struct repeats {
	struct kind kinds[KINDS_MAX];
	struct source tick;
	bool armed;
	uint8_t secret[32];	/* or an agent could have one refusal counted as another */
};

static uint64_t key_of(const struct enforcer *e, const struct call *call, const struct outcome *o, bool many)
{
	struct sha256 hash;
	uint8_t digest[32];
	uint64_t key;

	sha256_init(&hash);
	sha256_update(&hash, e->repeats->secret, sizeof(e->repeats->secret));
	sha256_update(&hash, &call->launch->id, sizeof(call->launch->id));
	sha256_update(&hash, &call->request->data.nr, sizeof(call->request->data.nr));
	sha256_update(&hash, &o->error_number, sizeof(o->error_number));
	sha256_update(&hash, &many, sizeof(many));
	sha256_update(&hash, o->decision->rule, strlen(o->decision->rule) + 1);
	if (o->what && !many)
		sha256_update(&hash, o->what->data, o->what->len);
	sha256_final(&hash, digest);
	memcpy(&key, digest, sizeof(key));
	return key ? key : 1;
}

static void write_sum(struct enforcer *e, struct kind *k)
{
	struct json_out j = { .buf = &k->members, .comma = true };

	if (k->count) {
		json_object_begin(&j, "agg");
		json_uint(&j, "count", k->count);
		json_uint(&j, "span_us", k->last_us - k->first_us);
		if (k->many)
			json_bool(&j, "many", true);
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
	if (!e->repeats || timer < 0 || getrandom(e->repeats->secret, sizeof(e->repeats->secret), 0) != sizeof(e->repeats->secret))
		return -ENOMEM;
	return source_add(e, &e->repeats->tick, timer, EPOLLIN, tick_ready);
}

static void remember(struct enforcer *e, struct kind *k, uint64_t key, const struct call *call, const struct outcome *o, bool many)
{
	write_sum(e, k);
	k->key = key;
	k->first_us = k->last_us = now_us();
	k->failed = strcmp(o->verb, "fail") == 0;
	k->many = many;
	record_repeat_members(call, o, &k->members);
	arm(e);
}

/* Its place, or the next free one nearby; with all of them taken, the place's owner has to go. */
static struct kind *find_kind(struct enforcer *e, uint64_t key)
{
	struct kind *kinds = e->repeats->kinds, *place = &kinds[key % KINDS_MAX];

	for (size_t i = 0; i < 8; i++) {
		struct kind *k = &kinds[(key + i) % KINDS_MAX];

		if (k->key == key)
			return k;
		if (!k->key && place->key)
			place = k;
	}
	return place;
}

static bool has_full_records_left(struct launch *l)
{
	uint64_t now = now_us(), since = now - (uint64_t)FULL_BURST * FULL_EVERY_US;

	if (l->full_until_us < since)
		l->full_until_us = since;
	if (l->full_until_us + FULL_EVERY_US > now)
		return false;
	l->full_until_us += FULL_EVERY_US;
	return true;
}

bool repeats_counted(struct enforcer *e, const struct call *call, const struct outcome *o)
{
	uint64_t key = key_of(e, call, o, false);
	struct kind *k = find_kind(e, key);
	bool many = false;

	if (k->key != key && !has_full_records_left(call->launch)) {
		many = true;
		key = key_of(e, call, o, true);
		k = find_kind(e, key);
	}
	if (k->key == key) {
		k->count++;
		k->last_us = now_us();
		return true;
	}
	remember(e, k, key, call, o, many);
	return false;
}

void repeats_flush(struct enforcer *e)
{
	for (size_t i = 0; e->repeats && i < KINDS_MAX; i++)
		if (e->repeats->kinds[i].key)
			write_sum(e, &e->repeats->kinds[i]);
}
