/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A browser's own file, which sessions' daemons alone open: so that no copy of it, other name for it, or loader that takes its bytes is another
 * browser. The agents' namespace has the file as a mount of its own, and each open of it is a question.
 *
 * The loop opens such files as well, to judge and to hash them, and could not answer itself: a thread takes the questions and lets this process pass.
 * It touches nothing of the enforcer's; the rest comes to the loop by a pipe, and is refused where that is full.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define EVENTS_A_ROUND 8
#define PIPE_BYTES 4096		/* 512 questions: each holds a descriptor */
#define LOOKS 16		/* at who a process descends from, while its ancestors end */

struct browser_file {
	struct source questions;
	int guard, pipe;
	pid_t self;
};

static void *take_questions(void *argument)
{
	const struct browser_file *b = argument;
	struct pollfd wait = { .fd = b->guard, .events = POLLIN };
	struct guard_event waiting[EVENTS_A_ROUND];

	for (;;) {
		int nr = poll(&wait, 1, -1) == 1 ? guard_receive(b->guard, waiting, EVENTS_A_ROUND) : 0;

		for (int i = 0; i < nr; i++) {
			if (waiting[i].pid == b->self)
				guard_allow(b->guard, &waiting[i]);
			else if (write(b->pipe, &waiting[i], sizeof(waiting[i])) != (ssize_t)sizeof(waiting[i]))
				guard_refuse(b->guard, &waiting[i]);
		}
	}
	return NULL;
}

/* The opener stands in its call; who stands above it may end while we look. */
static struct launch *find_launch(const struct enforcer *e, pid_t pid)
{
	struct launch *l = NULL;

	for (unsigned looks = 0; !l && looks < LOOKS; looks++)
		l = launch_above(e, pid);
	return l && l->spec ? l : NULL;
}

static void answer(struct enforcer *e, const struct guard_event *event)
{
	struct launch *l = find_launch(e, event->pid);
	char path[RESOLVE_PATH_MAX] = "?";
	const struct action action = { .kind = ACTION_READ, .path = path, .of_session = true };
	struct decision decision, shadow;

	resolve_name(event->fd, path, sizeof(path));
	if (!l) { /* nobody else is in the agents' namespace but zygotes and keepers, which read no browser */
		guard_refuse(e->browser_file->guard, event);
		return;
	}
	notify_judge(e, l, &action, &decision, &shadow);
	if (decision.verdict == VERDICT_ALLOW) {
		guard_allow(e->browser_file->guard, event);
		return;
	}
	status_denied(e, decision.tag);
	record_protected(e, l, event->pid, path, &decision);
	l->denials++;
	launch_notice(e, l, &decision);
	guard_refuse(e->browser_file->guard, event);
}

static void questions_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct guard_event event;

	(void)events;
	for (unsigned i = 0; i < EVENTS_A_ROUND && read(source->fd, &event, sizeof(event)) == (ssize_t)sizeof(event); i++)
		answer(e, &event);
}

int browser_file_adopt(struct enforcer *e, int guard)
{
	struct browser_file *b = calloc(1, sizeof(*b));
	int ends[2], r;

	if (!b)
		return -ENOMEM;
	*b = (struct browser_file){ .guard = guard, .self = getpid() };
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) {
		r = -errno;
		free(b);
		return r;
	}
	b->pipe = ends[1];
	r = fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) < 0 ? -errno : source_add(e, &b->questions, ends[0], EPOLLIN, questions_ready);
	if (r == 0)
		r = thread_begin(take_questions, b);
	if (r == 0)
		e->browser_file = b;
	return r;
}

int browser_file_start(struct enforcer *e, struct err *ret_error)
{
	_cleanup_free_ const char **files = NULL;
	int fd, r;

	if (e->browser_file || e->mounts[0] < 0)
		return 0;
	files = plan_browsers(e->policy);
	if (!files)
		return err_set(ret_error, -ENOMEM, "out of memory");
	fd = guard_open(e->mounts[0], files, ret_error);
	if (fd < 0)
		return fd;
	pid1_tell(e, ENFORCER_KEEP, KEPT_GUARD, 1, 0, NULL, fd);
	r = browser_file_adopt(e, fd);
	return r < 0 ? err_set(ret_error, r, "opens of browsers cannot be watched: %s", strerror(-r)) : 0;
}
