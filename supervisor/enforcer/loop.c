/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll loop. Knows nothing of what its sources mean. */
#include "supervisor/enforcer/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define EVENTS_A_ROUND 64

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

	*source = (struct source){ .fd = fd, .ready = ready };
	if (epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
		int r = -errno;

		close(fd);
		source->fd = -1;
		return r;
	}
	return 0;
}

void source_change(struct enforcer *e, struct source *source, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	if (source->fd >= 0)
		epoll_ctl(e->epoll, EPOLL_CTL_MOD, source->fd, &event);
}

void source_close(struct enforcer *e, struct source *source)
{
	if (source->fd < 0)
		return;
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

int loop_run(struct enforcer *e)
{
	struct epoll_event events[EVENTS_A_ROUND];

	while (e->exit_code < 0) {
		int nr = epoll_wait(e->epoll, events, EVENTS_A_ROUND, -1);

		if (nr < 0 && errno != EINTR)
			return 115;
		for (int i = 0; i < nr; i++) {
			struct source *source = events[i].data.ptr;

			if (source->fd >= 0)
				source->ready(e, source, events[i].events);
		}
		while (e->nr_graveyard)
			free(e->graveyard[--e->nr_graveyard]);
	}
	return e->exit_code;
}
