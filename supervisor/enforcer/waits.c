/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that cannot be answered yet: a connect under way, a full buffer, a hand at work. No thread waits for any of them.
 *
 * The caller sits in an uninterruptible wait (WAIT_KILLABLE) meanwhile, so what the kernel would do for it is done here: its timeout, its signals,
 * and nothing more once it is gone. A tick runs while anybody waits, and once more.
 */
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>

#define TICK_MS 20
#define TICKS_A_SIGNAL 5	/* where many wait, signals are looked at less often: it takes a file in /proc for each */
#define FEW 16
#define WAITING_MAX 768		/* of one launch: the rest of its table stays for calls that are answered at once */
#define ERESTARTSYS 512		/* kernel-internal: the call restarts where the handler asked for it, and is EINTR elsewhere */

struct connects {
	struct talk *waiting;
	struct source tick;
	bool ticking;
	unsigned round;
};

static void tick_set(struct enforcer *e, bool on)
{
	long ns = on ? TICK_MS * 1000000L : 0;
	struct itimerspec every = { .it_interval.tv_nsec = ns, .it_value.tv_nsec = ns };

	if (e->connects->ticking != on && timerfd_settime(e->connects->tick.fd, 0, &every, NULL) == 0)
		e->connects->ticking = on;
}

static void unlink_talk(struct enforcer *e, struct talk *t)
{
	struct talk **link = &e->connects->waiting;

	while (*link && *link != t)
		link = &(*link)->next;
	if (*link)
		*link = t->next;
}

/* t is on the heap. Whatever event of this round still names it finds a closed source. */
static void drop(struct enforcer *e, struct talk *t)
{
	unlink_talk(e, t);
	source_close(e, &t->source);
	if (t->hand_fd >= 0)
		close(t->hand_fd);
	loop_free_later(e, t);
}

static unsigned nr_waiting(const struct enforcer *e, const struct launch *l)
{
	unsigned nr = 0;

	for (const struct talk *t = e->connects->waiting; t; t = t->next)
		nr += t->call.launch == l;
	return nr;
}

static void room_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	(void)events;
	talk_resume(e, container_of(source, struct talk, source));
}

static void set_deadline(struct talk *t)
{
	struct timeval timeout = { 0 };
	socklen_t bytes = sizeof(timeout);

	if (t->deadline_us || getsockopt(t->source.fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, &bytes) < 0 || (!timeout.tv_sec && !timeout.tv_usec))
		return;
	t->timed = true;
	t->deadline_us = t->call.received_us + (uint64_t)timeout.tv_sec * 1000000 + (uint64_t)timeout.tv_usec;
}

/* Says what it waits for. Returns 0 or -errno. */
static int watch(struct enforcer *e, struct talk *t)
{
	int fd = t->source.fd, r;

	if (t->waits_for != TALK_WAIT_ROOM)
		return 0;
	if (t->watched) {
		source_change(e, &t->source, EPOLLOUT | EPOLLONESHOT);
		return 0;
	}
	r = source_add(e, &t->source, fd, EPOLLOUT | EPOLLONESHOT, room_ready);
	t->watched = r == 0;
	return r;
}

void talk_wait(struct enforcer *e, struct talk *t)
{
	struct connects *c = e->connects;
	struct talk *kept = nr_waiting(e, t->call.launch) < WAITING_MAX ? malloc(sizeof(*kept)) : NULL;
	int r = kept ? 0 : -EAGAIN;

	if (kept) {
		*kept = *t;
		set_deadline(kept);
		r = watch(e, kept);
	}
	if (r < 0) {
		t->end(e, t, -r);
		if (kept)
			t->source.fd = kept->source.fd;
		source_close(e, &t->source);
		free(kept);
		return;
	}
	kept->next = c->waiting;
	c->waiting = kept;
	tick_set(e, true);
}

void talk_run(struct enforcer *e, struct talk *t)
{
	t->waits_for = t->act(e, t);
	if (t->waits_for == TALK_ANSWERED)
		close(t->source.fd);
	else
		talk_wait(e, t);
}

void talk_resume(struct enforcer *e, struct talk *t)
{
	t->waits_for = t->act(e, t);
	if (t->waits_for == TALK_ANSWERED)
		drop(e, t);
	else if (watch(e, t) < 0) {
		t->end(e, t, ENOMEM);
		drop(e, t);
	}
}

struct talk *talk_of_job(struct enforcer *e, uint64_t job)
{
	struct talk *t = e->connects->waiting;

	while (t && t->job != job)
		t = t->next;
	return t;
}

void talks_lost(struct enforcer *e, const struct hand *hand)
{
	struct talk *t, *next;

	for (t = e->connects->waiting; t; t = next) {
		next = t->next;
		if (t->hand != hand || !t->job)
			continue;
		t->hand = NULL;
		t->handed = true;
		t->hand_error = EIO;
		if (t->call.launch)
			talk_resume(e, t);
	}
}

/* ---- signals ---- */

struct signals {
	unsigned threads;
	unsigned long long own, process, blocked, caught;
};

static int read_signals(pid_t tid, struct signals *ret)
{
	_cleanup_buf_ struct buf text = { 0 };
	char path[32];
	const char *at;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	r = io_read_file(AT_FDCWD, path, 8192, &text);
	if (r < 0)
		return r;
	at = strstr(text.data, "\nThreads:");
	if (!at || sscanf(at, "\nThreads: %u SigQ: %*s SigPnd: %llx ShdPnd: %llx SigBlk: %llx SigIgn: %*x SigCgt: %llx", &ret->threads, &ret->own,
			  &ret->process, &ret->blocked, &ret->caught) != 5)
		return -EBADMSG;
	return 0;
}

#define SIGNAL_BIT(number) (1ULL << ((number) - 1))

/*
 * What a signal makes of this wait: 0 for nothing, else the errno. The kernel's own waits end with ERESTARTSYS without a timeout and with EINTR
 * under one. ERESTARTSYS is safe only where the signal is certainly this thread's: with no signal to take, it would reach the program.
 */
static int interruption(const struct talk *t)
{
	const unsigned long long stops = SIGNAL_BIT(SIGSTOP) | SIGNAL_BIT(SIGTSTP) | SIGNAL_BIT(SIGTTIN) | SIGNAL_BIT(SIGTTOU);
	struct signals s;

	if (read_signals((pid_t)t->call.request->pid, &s) < 0)
		return 0;
	if (!((s.own | s.process) & ~s.blocked & (s.caught | stops)))
		return 0;
	if (t->timed || (s.threads > 1 && !(s.own & ~s.blocked & (s.caught | stops))))
		return EINTR;
	return ERESTARTSYS;
}

/* ---- the tick ---- */

static void look_after(struct enforcer *e, struct talk *t, bool look_at_signals)
{
	int error_number = 0;

	if (!t->call.launch)
		return drop(e, t);
	if (!listener_waits(&t->call.launch->listener, t->id)) {
		notify_release(e, &t->call);
		return drop(e, t);
	}
	if (t->waits_for == TALK_WAIT_HAND)
		return; /* it does not wait, so neither do we for long; what it does must be answered */
	if (t->deadline_us && now_us() >= t->deadline_us)
		error_number = t->timeout_error;
	else if (look_at_signals)
		error_number = interruption(t);
	if (error_number) {
		t->end(e, t, error_number);
		return drop(e, t);
	}
	if (t->waits_for == TALK_WAIT_TICK)
		talk_resume(e, t);
}

static void tick_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	unsigned turn = ++e->connects->round, nr = 0, share;
	struct talk *t, *next;
	uint64_t ticks;

	(void)events;
	if (read(source->fd, &ticks, sizeof(ticks)) < 0)
		return;
	for (t = e->connects->waiting; t; t = t->next)
		nr++;
	if (!nr) /* here and not when the last one ends: most of them wait for a hand, and another comes at once */
		tick_set(e, false);
	share = nr > FEW ? TICKS_A_SIGNAL : 1; /* each tick's part of those that wait */
	for (t = e->connects->waiting; t; t = next) {
		next = t->next;
		look_after(e, t, turn++ % share == 0);
	}
}

void socket_forget(struct enforcer *e, const struct launch *l)
{
	for (struct talk *t = e->connects->waiting; t; t = t->next)
		if (t->call.launch == l)
			t->call.launch = NULL;
}

int waits_start(struct enforcer *e)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	e->connects = calloc(1, sizeof(*e->connects));
	if (timer < 0 || !e->connects) {
		if (timer >= 0)
			close(timer);
		return -ENOMEM;
	}
	return source_add(e, &e->connects->tick, timer, EPOLLIN, tick_ready);
}
