/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages for the enforcer that its socket has not taken yet. Owns their text and a copy of their descriptor.
 *
 * Bounded: an enforcer that does not read costs PID 1 a number of messages, not its memory; how many were lost is counted.
 */
#include "supervisor/init/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_MAX 1024	/* beyond the descriptors kept */

void enforcer_queued_free(struct queued *q)
{
	if (q->fd >= 0)
		close(q->fd);
	free(q->text);
	free(q);
}

static struct queued *queued_new(const struct init_message *message, const char *text, int fd)
{
	struct queued *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->message = *message;
	q->fd = -1;
	if (text) {
		q->text = strndup(text, INIT_TEXT_MAX);
		if (!q->text)
			goto fail;
	}
	/* A copy: the enforcer may drop what is kept before this message has left. */
	if (fd >= 0) {
		q->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (q->fd < 0)
			goto fail;
	}
	return q;
fail:
	enforcer_queued_free(q);
	return NULL;
}

void enforcer_append(struct enforcer *e, const struct init_message *message, const char *text, int fd)
{
	struct queued *q = e->nr_queued < QUEUE_MAX + e->kept.nr ? queued_new(message, text, fd) : NULL;

	if (!q) {
		e->nr_dropped++;
		return;
	}
	if (!e->last)
		e->last = &e->first;
	*e->last = q;
	e->last = &q->next;
	e->nr_queued++;
}

void enforcer_pop(struct enforcer *e)
{
	struct queued *q = e->first;

	e->first = q->next;
	if (!e->first)
		e->last = &e->first;
	e->nr_queued--;
	enforcer_queued_free(q);
}
