/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The epoll loop. Knows nothing of what its sources mean, but that one of them may be waited for in person.
 *
 * Whoever waits by epoll is woken as if from nowhere: the kernel's word to wake the receiver of a notification where its caller ran (SYNC_WAKE_UP) ends
 * at the epoll descriptor, and on a machine with an idle CPU each answer comes from that other one (measured: 43 µs instead of 11). poll(2) passes it on.
 * While it is waited for so, the epoll set asks nothing of it but its end: else each call of it makes the whole set ready, and costs a look there.
 */
#include "supervisor/enforcer/internal.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_A_ROUND 64
#define TURNS_MAX 4	/* of the source that is waited for in person, until the others have one */

uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

int source_add(struct enforcer *e, struct source *source, int fd, uint32_t events,
	       void (*ready)(struct enforcer *, struct source *, uint32_t))
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	*source = (struct source){ .fd = fd, .events = events, .ready = ready };
	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int r = -errno;

		close(fd);
		source->fd = -1;
		return r;
	}
	return 0;
}

static void ask_epoll(const struct enforcer *e, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	epoll_ctl(e->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

static void be_no_longer_in_person(struct enforcer *e, const struct source *source)
{
	if (e->in_person == source)
		e->in_person = NULL;
	if (e->apart == source)
		e->apart = NULL;
}

void source_change(struct enforcer *e, struct source *source, uint32_t events)
{
	be_no_longer_in_person(e, source);
	source->events = events;
	if (source->fd >= 0)
		ask_epoll(e, source, events);
}

void source_close(struct enforcer *e, struct source *source)
{
	if (source->fd < 0)
		return;
	be_no_longer_in_person(e, source);
	/* Explicitly: a duplicate elsewhere (PID 1's) would keep the registration alive. */
	epoll_ctl(e->epoll, EPOLL_CTL_DEL, source->fd, NULL);
	close(source->fd);
	source->fd = -1;
}

void loop_free_later(struct enforcer *e, void *memory)
{
	if (e->nr_graveyard == e->graveyard_capacity) {
		size_t capacity = e->graveyard_capacity ? e->graveyard_capacity * 2 : 64;
		void **grown = realloc(e->graveyard, capacity * sizeof(*grown));

		if (!grown)
			return; /* leaked rather than freed under an event's feet */
		e->graveyard = grown;
		e->graveyard_capacity = capacity;
	}
	e->graveyard[e->nr_graveyard++] = memory;
}

void source_in_person(struct enforcer *e, struct source *source)
{
	e->in_person = source;
}

static void bury(struct enforcer *e)
{
	while (e->nr_graveyard)
		free(e->graveyard[--e->nr_graveyard]);
}

/* The one in person stands apart from the epoll set, and the one before goes back to it. Once a round, however many were called in it. */
static void set_apart(struct enforcer *e)
{
	if (e->apart == e->in_person)
		return;
	if (e->apart)
		ask_epoll(e, e->apart, e->apart->events);
	e->apart = e->in_person;
	if (e->apart)
		ask_epoll(e, e->apart, 0); /* EPOLLHUP and EPOLLERR come all the same */
}

/* Waits until anything is ready, and serves the one in person. Returns false when the others' turn has come. */
static bool serve_in_person(struct enforcer *e, unsigned turn)
{
	struct source *source = e->in_person;
	struct pollfd fds[] = { { .fd = e->epoll, .events = POLLIN }, { .fd = source ? source->fd : -1, .events = POLLIN } };

	set_apart(e);
	if (!source || poll(fds, 2, -1) < 0 || !(fds[1].revents & POLLIN) || (fds[0].revents && turn >= TURNS_MAX))
		return false;
	source->ready(e, source, EPOLLIN);
	bury(e);
	return true;
}

/* Returns 0 or -errno. */
static int serve_all(struct enforcer *e, int timeout_ms)
{
	struct epoll_event events[EVENTS_A_ROUND];
	int nr = epoll_wait(e->epoll, events, EVENTS_A_ROUND, timeout_ms);

	if (nr < 0 && errno != EINTR)
		return -errno;
	for (int i = 0; i < nr; i++) {
		struct source *source = events[i].data.ptr;

		if (source->fd >= 0)
			source->ready(e, source, events[i].events);
	}
	bury(e);
	return 0;
}

int loop_run(struct enforcer *e)
{
	unsigned turn = 0;

	while (e->exit_code < 0) {
		bool has_waited = e->in_person;

		if (serve_in_person(e, turn)) {
			turn++;
			continue;
		}
		turn = 0;
		if (serve_all(e, has_waited ? 0 : -1) < 0)
			return 115;
	}
	return e->exit_code;
}
