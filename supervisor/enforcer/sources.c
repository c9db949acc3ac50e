/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources that change while their workspaces stand: looked at by a worker, one after another, and once more at the end. A record of its own, once each; the run
 * folder and status say so from then on.
 *
 * Looked at, not watched: a source may be the host's whole disk or a file system of another machine, where marks see too much or nothing, and a time of status change is
 * what no program sets back. A look takes what find(1) takes; the next one waits a hundred times as long.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/workspace/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define PAUSE_US 5000000
#define PAUSE_SHARE 100
#define LAST_LOOK_US 1000000	/* what may be waited for at the end: a stop has seconds for everything */

struct looking {
	struct worker_job job;
	struct source timer;
	const struct running *running;	/* what is looked at, or was last; its strings stay */
	size_t next;
	bool at_work, told_failure;
	char *changed;			/* the outcome */
	int error;
	struct err problem;		/* what that was */
	uint64_t took_us, longest_us;
};

static bool is_looked_at(const struct running *running)
{
	return running->workspace.kind != WORKSPACE_LIVE && !running->changed;
}

static void look(struct looking *l)
{
	const uint64_t began = now_us();

	l->changed = NULL;
	l->error = changes_look(l->running, &l->changed, &l->problem);
	l->took_us = now_us() - began;
}

static void work(struct worker_job *job, struct arena *arena)
{
	(void)arena;
	look(container_of(job, struct looking, job));
}

/* The run folder's file is what `cordon workspace` reads, and the next enforcer; its text is what status shows. */
static void say_in_run_folder(struct enforcer *e)
{
	_cleanup_close_ int dir = open(e->run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct running_list again;

	if (dir < 0 || running_write(dir, e->workspaces.items, e->workspaces.nr) < 0 || running_read(e->run_dir, &again, NULL) < 0)
		return record_text(e, "layer", AUDIT_MED, "workspaces", "that a source changed cannot be written to the run folder");
	free(e->workspaces.text);
	e->workspaces.text = TAKE_PTR(again.text);
	running_free(&again);
}

static void record_change(struct enforcer *e, const struct running *running)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_object_begin(&j, "workspace");
	json_text(&j, "name", running->workspace.name);
	json_text(&j, "kind", workspace_kind_name(running->workspace.kind));
	json_text(&j, "source", running->source);
	json_bytes(&j, "source_changed", bytes_of(running->changed));
	json_object_end(&j);
	audit_record(e->audit, "source_changed", AUDIT_HIGH, true, &members);
}

static void take_outcome(struct enforcer *e, struct looking *l)
{
	struct running *running = &e->workspaces.items[l->running - e->workspaces.items];

	if (l->took_us > l->longest_us)
		l->longest_us = l->took_us;
	if (l->error < 0 && !l->told_failure) {
		char text[sizeof(l->problem.text) + 64];

		snprintf(text, sizeof(text), "whether a source changed cannot be seen: %s", l->problem.text);
		record_text(e, "layer", AUDIT_MED, "source", text);
		l->told_failure = true;
	}
	if (!l->changed)
		return;
	running->changed = TAKE_PTR(l->changed);	/* for good */
	record_change(e, running);
	say_in_run_folder(e);
}

static void arm(struct looking *l)
{
	const uint64_t pause = l->took_us * PAUSE_SHARE > PAUSE_US ? l->took_us * PAUSE_SHARE : PAUSE_US;
	const struct itimerspec at = { .it_value = { .tv_sec = (time_t)(pause / 1000000), .tv_nsec = (long)(pause % 1000000) * 1000 } };

	(void)timerfd_settime(l->timer.fd, 0, &at, NULL);
}

static void done(struct enforcer *e, struct worker_job *job)
{
	struct looking *l = container_of(job, struct looking, job);

	l->at_work = false;
	if (!e->audit)	/* sealed */
		return;
	take_outcome(e, l);
	arm(l);
}

static const struct running *next_of(const struct enforcer *e, struct looking *l)
{
	for (size_t i = 0; i < e->workspaces.nr; i++) {
		const struct running *running = &e->workspaces.items[l->next++ % e->workspaces.nr];

		if (is_looked_at(running))
			return running;
	}
	return NULL;
}

static void timer_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct looking *l = container_of(source, struct looking, timer);
	uint64_t ticks;

	(void)events;
	if (read(source->fd, &ticks, sizeof(ticks)) < 0)
		return;
	l->running = next_of(e, l);
	if (!l->running) /* all of them changed */
		return;
	l->at_work = workers_give(e, &l->job) == 0;
	if (!l->at_work)
		arm(l);
}

int sources_start(struct enforcer *e)
{
	struct looking *l;
	int timer, r;

	if (!e->workspaces.nr)
		return 0;
	l = calloc(1, sizeof(*l));
	timer = l ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK) : -1;
	if (timer < 0)
		return l ? (free(l), -errno) : -ENOMEM;
	l->job = (struct worker_job){ .owner = l, .work = work, .done = done };
	r = source_add(e, &l->timer, timer, EPOLLIN, timer_ready);
	if (r < 0)
		return free(l), r;
	e->looking = l;
	arm(l);
	return 0;
}

void sources_end(struct enforcer *e)
{
	struct looking *l = e->looking;

	if (!l)
		return;
	if (l->at_work || l->longest_us > LAST_LOOK_US / (e->workspaces.nr + 1))
		return record_text(e, "layer", AUDIT_MED, "source", "the last look at the sources is left out: it would take longer than a stop may");
	for (size_t i = 0; i < e->workspaces.nr; i++) {
		l->running = &e->workspaces.items[i];
		if (!is_looked_at(l->running))
			continue;
		look(l);
		take_outcome(e, l);
	}
}
