/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The enforcer as a child: started, spoken to, given back what an earlier one had PID 1 keep, restarted when it dies.
 *
 * PID 1 never blocks on it: messages go to a queue that the loop empties as the socket takes them. What an enforcer
 * that died had not been sent yet (states, services, records) goes to the next one.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY_MS 30000		/* from start to ENFORCER_READY */
#define MAX_DELAY_MS 800	/* a new enforcer stands within a second */
#define RECEIVE_BATCH 64
#define HOLD_MS 5000		/* what runs waits so long for an enforcer that will not come */

static void ask_for_room(struct init *init, bool wanted)
{
	struct enforcer *e = &init->enforcer;
	struct epoll_event event = { .events = EPOLLIN | (wanted ? EPOLLOUT : 0), .data.u64 = TAG_CHANNEL };

	if (e->waits_for_room == wanted)
		return;
	if (epoll_ctl(init->epoll_fd, EPOLL_CTL_MOD, e->channel, &event) == 0)
		e->waits_for_room = wanted;
}

static void flush(struct init *init)
{
	struct enforcer *e = &init->enforcer;
	int r;

	if (e->channel < 0)
		return;
	while (e->first) {
		r = init_channel_send(e->channel, &e->first->message, e->first->text, e->first->fd);
		if (r == -EAGAIN || r == -ETOOMANYREFS) {
			ask_for_room(init, true);
			return;
		}
		/* The far end is gone: its death is about to be reaped, and what is queued goes to the next. */
		if (r < 0)
			return;
		enforcer_pop(e);
	}
	ask_for_room(init, false);
}

void enforcer_tell(struct init *init, enum init_message_type type, int64_t number, const char *text)
{
	struct enforcer *e = &init->enforcer;
	struct init_message message = { .type = type, .number = number };

	if (type == INIT_STATE)
		message.kind = init->final;
	if (e->lost)
		return;
	enforcer_append(e, &message, text, -1);
	flush(init);
}

static void text_begin(const struct init *init, struct buf *ret_text)
{
	const struct init_settings *s = init->settings;
	struct json_out j = { .buf = ret_text };
	char audit_dir[4096];

	snprintf(audit_dir, sizeof(audit_dir), "%s/audit", s->state_dir);
	json_object_begin(&j, NULL);
	json_text(&j, "run", s->run ? s->run : init->boot);
	json_text(&j, "boot", init->boot);
	json_text(&j, "mode", s->mode);
	json_bool(&j, "mode_explicit", s->mode_explicit);
	json_text(&j, "unreviewed", s->unreviewed);
	json_text(&j, "scope", s->scope);
	json_text(&j, "policy", s->policy_dir);
	json_text(&j, "run_dir", s->run_dir);
	json_text(&j, "audit_dir", audit_dir);
	json_uint(&j, "restarts", init->enforcer.restarts.total);
	json_object_end(&j);
}

static bool survives(const struct queued *q)
{
	return q->message.type == INIT_STATE || q->message.type == INIT_SERVICE || q->message.type == INIT_RECORD;
}

static void confess_lost(struct enforcer *e)
{
	char text[64];

	if (!e->nr_dropped)
		return;
	snprintf(text, sizeof(text), "state\n\"messages_lost\":%zu", e->nr_dropped);
	e->nr_dropped = 0;
	enforcer_append(e, &(struct init_message){ .type = INIT_RECORD, .number = 3 /* AUDIT_HIGH */ }, text, -1);
}

/* BEGIN, what is kept, the environment and the state, then what its predecessor was not told. */
static void fill_queue(struct init *init)
{
	struct enforcer *e = &init->enforcer;
	struct queued *left = e->first, *next;
	_cleanup_buf_ struct buf begin = { 0 };
	bool has_state = false;

	e->first = NULL;
	e->last = &e->first;
	e->nr_queued = 0;
	text_begin(init, &begin);
	enforcer_append(e, &(struct init_message){ .type = INIT_BEGIN }, begin.data, -1);
	for (size_t i = 0; i < e->kept.nr; i++) {
		const struct kept *k = &e->kept.items[i];

		enforcer_append(e, &(struct init_message){ .type = INIT_KEPT, .kind = k->kind, .id = k->id, .number = k->number }, NULL, k->fd);
	}
	enforcer_append(e, &(struct init_message){ .type = INIT_KEPT_END }, NULL, -1);
	if (init->environment)
		enforcer_append(e, &(struct init_message){ .type = INIT_ENVIRONMENT }, init->environment, -1);
	confess_lost(e);
	for (; left; left = next) {
		next = left->next;
		if (survives(left)) {
			enforcer_append(e, &left->message, left->text, -1);
			has_state |= left->message.type == INIT_STATE;
		}
		enforcer_queued_free(left);
	}
	if (!has_state)
		enforcer_append(e, &(struct init_message){ .type = INIT_STATE, .kind = init->final, .number = init->state }, init->why, -1);
}

static int open_channel(struct init *init, int *ret_far_end)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	/* Ours only: the enforcer may block on its end. */
	r = fcntl(pair[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : init_watch(init, pair[0], EPOLLIN, TAG_CHANNEL, 0);
	if (r < 0) {
		close(pair[0]);
		close(pair[1]);
		return r;
	}
	init->enforcer.channel = pair[0];
	init->enforcer.waits_for_room = false;
	*ret_far_end = pair[1];
	return 0;
}

static void close_channel(struct enforcer *e)
{
	if (e->channel >= 0)
		close(e->channel);
	e->channel = -1;
}

static void start_again(struct init *init, uint64_t ran_ms)
{
	struct enforcer *e = &init->enforcer;

	if (restarts_again(&e->restarts, now_ms(), ran_ms, MAX_DELAY_MS, &e->start_ms))
		return;
	e->lost = true;
	e->start_ms = NEVER;
	e->release_ms = now_ms() + HOLD_MS;
	if (!e->was_ready)
		init_fail(init, INIT_EXIT_INTERNAL, "the enforcer did not become ready in %d attempts", RESTARTS_MAX + 1);
	else
		init_say(init, "the enforcer ended %d times within %d s and is not started again", RESTARTS_MAX + 1,
			 RESTARTS_WINDOW_MS / 1000);
	init_settle(init);
}

void enforcer_start(struct init *init)
{
	struct enforcer *e = &init->enforcer;
	_cleanup_close_ int far_end = -1;
	struct spawn spawn = {
		.program = init->settings->enforcer_program,
		.argv = init->settings->enforcer_argv,
		.envp = environ,
		.in_fd = -1,
		/* Once an interactive command owns the terminal, copies of records would land in the middle of its screen. */
		.out_fd = init->settings->command && isatty(1) ? -1 : 1,
		.error_fd = 2,
	};
	int r;

	e->start_ms = NEVER;
	e->ready = e->said_why = false;
	e->started_ms = now_ms();
	e->deadline_ms = e->started_ms + READY_MS;
	r = open_channel(init, &far_end);
	if (r == 0) {
		spawn.channel_fd = far_end;
		r = spawn_program(&spawn);
	}
	if (r < 0) {
		close_channel(e);
		init_say(init, "cannot start the enforcer: %s", strerror(-r));
		start_again(init, 0);
		return;
	}
	e->pid = r;
	/* What it will find; it tells as soon as that changes. */
	e->launches = (int64_t)kept_count(&e->kept, KEPT_KEEPER);
	fill_queue(init);
	flush(init);
}

static void on_ready(struct init *init)
{
	struct enforcer *e = &init->enforcer;

	e->ready = true;
	e->was_ready = true;
	e->deadline_ms = NEVER;
	drain_enforcer_ready(init);
	init_settle(init);
}

/* During start-up its reason ends the container; later it is an enforcer that ended and is restarted. */
static void on_failed(struct init *init, int64_t code, const char *text)
{
	init->enforcer.said_why = true;
	if (init->enforcer.was_ready || init->drain.phase != DRAIN_NONE)
		init_say(init, "%s", text);
	else
		init_fail(init, code >= INIT_EXIT_POLICY && code <= INIT_EXIT_INTERNAL ? (int)code : INIT_EXIT_INTERNAL, "%s", text);
}

static void on_keep(struct init *init, const struct init_message *m, int fd)
{
	int r;

	if (fd < 0)
		return;
	r = kept_put(&init->enforcer.kept, m->kind, m->id, m->number, fd);
	if (r < 0)
		init_say(init, "cannot keep a descriptor (kind %u, id %llu): %s", m->kind, (unsigned long long)m->id, strerror(-r));
}

static void on_message(struct init *init, const struct init_message *m, const char *text, int *fd)
{
	switch (m->type) {
	case ENFORCER_READY:
		on_ready(init);
		break;
	case ENFORCER_FAILED:
		on_failed(init, m->number, text);
		break;
	case ENFORCER_KEEP:
		on_keep(init, m, TAKE_FD(*fd));
		break;
	case ENFORCER_DROP:
		(void)kept_drop(&init->enforcer.kept, m->kind, m->id);
		break;
	case ENFORCER_LAUNCHES:
		init->enforcer.launches = m->number;
		break;
	default:
		init_say(init, "the enforcer sent a message of unknown type %u", m->type);
		break;
	}
}

/* Returns true while there may be more. */
static bool receive_one(struct init *init)
{
	struct enforcer *e = &init->enforcer;
	static char text[INIT_TEXT_MAX + 1];
	_cleanup_close_ int fd = -1;
	struct init_message m;
	int r;

	r = init_channel_receive(e->channel, &m, text, sizeof(text), &fd, MSG_DONTWAIT);
	if (r == 1) {
		on_message(init, &m, text, &fd);
		return true;
	}
	if (r == -EAGAIN)
		return false;
	/* Closed or out of step: an enforcer that cannot be spoken to must go; its end is handled when it is reaped. */
	close_channel(e);
	if (e->pid)
		kill(e->pid, SIGKILL);
	return false;
}

void enforcer_on_channel(struct init *init, uint32_t events)
{
	struct enforcer *e = &init->enforcer;

	if (events & EPOLLOUT)
		flush(init);
	for (int i = 0; i < RECEIVE_BATCH && e->channel >= 0; i++)
		if (!receive_one(init))
			break;
}

void enforcer_on_exit(struct init *init, int status)
{
	struct enforcer *e = &init->enforcer;
	uint64_t ran_ms = now_ms() - e->started_ms;
	bool draining;

	/* What it sent before it died still counts: a descriptor handed over last is a launch that lives on. */
	e->pid = 0;
	while (e->channel >= 0 && receive_one(init))
		;
	close_channel(e);
	e->ready = false;
	e->deadline_ms = NEVER;
	draining = init->drain.phase != DRAIN_NONE;
	if (!e->said_why && !(init->drain.phase == DRAIN_SEAL && status == 0))
		init_say(init, "the enforcer ended (%s %d)", WIFEXITED(status) ? "exit" : "signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	/* While stopping, a new one is worth it only as long as it can still end the launches and seal the log. */
	if (!draining || (e->was_ready && init->drain.phase == DRAIN_LAUNCHES && !init->drain.hurry_ms))
		start_again(init, ran_ms);
	init_settle(init);
}

/* Keepers whose channel hangs up end their launch: nobody would ever answer its calls. Zygotes end too. */
static void release_launches(struct init *init)
{
	struct enforcer *e = &init->enforcer;
	size_t nr = kept_count(&e->kept, KEPT_KEEPER);

	e->release_ms = NEVER;
	kept_free(&e->kept);
	e->launches = 0;
	if (nr)
		init_say(init, "no enforcer came back: what was held is ended (%zu)", nr);
}

void enforcer_tick(struct init *init, uint64_t now)
{
	struct enforcer *e = &init->enforcer;

	if (e->release_ms <= now)
		release_launches(init);
	if (e->start_ms <= now && !e->pid)
		enforcer_start(init);
	if (e->pid && e->deadline_ms <= now) {
		init_say(init, "the enforcer was not ready within %d s", READY_MS / 1000);
		e->deadline_ms = NEVER;
		kill(e->pid, SIGKILL);
	}
}

uint64_t enforcer_deadline(const struct init *init)
{
	const struct enforcer *e = &init->enforcer;
	uint64_t first = e->start_ms < e->deadline_ms ? e->start_ms : e->deadline_ms;

	return e->release_ms < first ? e->release_ms : first;
}

void enforcer_free(struct init *init)
{
	struct enforcer *e = &init->enforcer;

	while (e->first)
		enforcer_pop(e);
	close_channel(e);
	kept_free(&e->kept);
}
