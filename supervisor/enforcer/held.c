/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that wait for room in the audit log: what cannot be recorded is not allowed, and a log that is slow for a moment is no reason to refuse.
 *
 * A held call keeps its slot as one that was received, so that another enforcer judges it anew. Nobody is held for longer than a second: then the
 * call is refused. Held only while the log works; one that cannot be written refuses at once (notify.c).
 */
#include "supervisor/enforcer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_MS 10
#define HOLD_US 1000000

struct held_call {
	struct held_call *next;
	struct call call;
};

struct held {
	struct source tick;
	struct held_call *first, **last;
};

static void arm(struct held *h, bool on)
{
	struct itimerspec every = { .it_interval = { .tv_nsec = on * TICK_MS * 1000000L }, .it_value = { .tv_nsec = on * TICK_MS * 1000000L } };

	(void)timerfd_settime(h->tick.fd, 0, &every, NULL);
}

static struct held_call *take_first(struct held *h)
{
	struct held_call *first = h->first;

	h->first = first->next;
	if (!h->first)
		h->last = &h->first;
	return first;
}

/* Its launch may be gone, and a caller that was killed needs no answer: the kernel has forgotten the call. */
static void tick_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct held *h = container_of(source, struct held, tick);
	uint64_t ticks;

	(void)events;
	if (read(source->fd, &ticks, sizeof(ticks)) < 0)
		return;
	while (h->first && (!h->first->call.launch || audit_health(e->audit) < 0 || audit_has_room(e->audit) ||
			    now_us() - h->first->call.received_us >= HOLD_US)) {
		struct held_call *held = take_first(h);

		if (held->call.launch)
			notify_resume(e, &held->call);
		free(held);
	}
	if (!h->first)
		arm(h, false);
}

bool held_add(struct enforcer *e, const struct call *call)
{
	struct held_call *held;

	if (now_us() - call->received_us >= HOLD_US)
		return false;
	held = malloc(sizeof(*held));
	if (!held)
		return false;
	*held = (struct held_call){ .call = *call };
	if (!e->held->first)
		arm(e->held, true);
	*e->held->last = held;
	e->held->last = &held->next;
	return true;
}

void held_forget(struct enforcer *e, const struct launch *l)
{
	for (struct held_call *held = e->held->first; held; held = held->next)
		if (held->call.launch == l)
			held->call.launch = NULL;
}

int held_start(struct enforcer *e)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	e->held = calloc(1, sizeof(*e->held));
	if (timer < 0 || !e->held)
		return -ENOMEM;
	e->held->last = &e->held->first;
	return source_add(e, &e->held->tick, timer, EPOLLIN, tick_ready);
}
