/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that no filter guards: found by a thread of its own, because looking takes milliseconds that a notified call must not wait for, and
 * recorded, or stopped where the policy says so, by the loop, which knows services and launches.
 *
 * The thread owns its census and writes findings into a pipe; it touches nothing of the enforcer's.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/census.h"
#include "supervisor/boundary/process.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define PAUSE_S 1
#define FINDINGS_A_SCAN 64
#define RECORDS_A_SECOND 10

struct watch {
	struct source findings;
	struct census census;		/* the thread's */
	int pipe;			/* the thread's end */
	uint64_t second;		/* records are at most RECORDS_A_SECOND */
	unsigned in_second, unrecorded;
};

static void *watch_run(void *argument)
{
	struct watch *w = argument;
	struct census_stranger found[FINDINGS_A_SCAN];
	const struct timespec pause = { .tv_sec = PAUSE_S };

	for (;;) {
		nanosleep(&pause, NULL);
		if (!census_is_due(&w->census))
			continue;
		for (size_t nr = census_scan(&w->census, found, FINDINGS_A_SCAN), i = 0; i < nr; i++)
			(void)!write(w->pipe, &found[i], sizeof(found[i]));
	}
	return NULL;
}

/* Not after its number was given to somebody else: a pidfd names the process, and its start says that it is the one. */
static bool stop(const struct census_stranger *s)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(s->pid, 0);
	struct process_facts facts;

	return pidfd >= 0 && process_read(s->pid, &facts) == 0 && facts.start == s->start && sys_pidfd_send_signal(pidfd, SIGKILL) == 0;
}

static bool may_record(struct watch *w)
{
	uint64_t second = now_us() / 1000000;

	if (second != w->second)
		w->in_second = 0;
	w->second = second;
	if (w->in_second++ < RECORDS_A_SECOND)
		return true;
	w->unrecorded++;
	return false;
}

static void judge_stranger(struct enforcer *e, const struct census_stranger *s)
{
	struct watch *w = e->watch;
	bool records;

	/* Without a listener (off, without SYS_ADMIN) a launch has no filter either, but a keeper above it. */
	if ((s->top && status_is_service(e, s->top)) || launch_descends(e, s->pid))
		return;
	e->unsupervised++;
	records = may_record(w);
	if (records)
		record_unsupervised(e, s->pid, s->top == 0, e->policy->unsupervised_stop, w->unrecorded);
	if (records)
		w->unrecorded = 0;
	if (e->policy->unsupervised_stop && stop(s))
		e->unsupervised_stopped++;
}

static void findings_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct census_stranger s;

	(void)events;
	while (read(source->fd, &s, sizeof(s)) == sizeof(s))
		judge_stranger(e, &s);
}

int watch_start(struct enforcer *e)
{
	const char *shim = getenv("CORDON_SHIM");
	int ends[2], r;

	e->watch = calloc(1, sizeof(*e->watch));
	if (!e->watch)
		return -ENOMEM;
	r = census_open(&e->watch->census, getppid(), CORDON_CLIENT, shim ? shim : CORDON_SHIM);
	if (r < 0)
		return r;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	e->watch->pipe = ends[1];
	r = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : source_add(e, &e->watch->findings, ends[0], EPOLLIN, findings_ready);
	return r < 0 ? r : thread_begin(watch_run, e->watch);
}
