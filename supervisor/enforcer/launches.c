/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches: their list, what keepers report, and the end of each.
 *
 * A launch's facts are read back from the spec its keeper holds, by a first enforcer and a later one alike, so nothing is lost with this process.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* ---- the list ---- */

static void tell_count(struct enforcer *e)
{
	pid1_tell(e, ENFORCER_LAUNCHES, 0, 0, e->nr_launches, NULL, -1);
}

static struct launch *launch_add(struct enforcer *e, uint64_t id)
{
	struct launch *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->id = id;
	l->client = l->keeper.fd = l->calls.fd = l->listener.fd = l->root = -1;
	l->next = e->launches;
	e->launches = l;
	e->nr_launches++;
	if (id >= e->next_launch)
		e->next_launch = id + 1;
	return l;
}

static void launch_remove(struct enforcer *e, struct launch *l)
{
	struct launch **link = &e->launches;

	while (*link && *link != l)
		link = &(*link)->next;
	if (*link)
		*link = l->next;
	e->nr_launches--;
	status_ended(e, l);
	exec_forget(e, l);
	socket_forget(e, l);
	browsers_forget(e, l);
	held_forget(e, l);
	source_close(e, &l->keeper);
	source_close(e, &l->calls);
	if (l->client >= 0)
		close(l->client);
	if (l->root >= 0)
		close(l->root);
	if (l->table)
		munmap(l->table, sizeof(*l->table));
	foresight_free(l->foresight);
	free(l->begun);
	free(l->environment);
	free(l->argv);
	free(l->roots);
	free(l->noticed);
	free(l->blob);
	scope_free(&l->narrowed);
	loop_free_later(e, l);
	pid1_tell(e, ENFORCER_DROP, KEPT_KEEPER, l->id, 0, NULL, -1);
	tell_count(e);
}

/* ---- starting ---- */

static void keeper_ready(struct enforcer *e, struct source *source, uint32_t events);

static int order_zygote(const struct zygote *z, uint64_t id, const struct buf *spec, const struct launch_order *o, int channel)
{
	struct zygote_launch message = { .magic = PROTO_MAGIC, .spec_bytes = (uint32_t)spec->len, .launch_id = id };
	_cleanup_close_ int memfd = spec_to_memfd(spec);
	int fds[] = { memfd, o->client, o->stdio[0], o->stdio[1], o->stdio[2], channel };
	struct launch_event taken = { .type = EVENT_TAKEN };

	if (memfd < 0)
		return memfd;
	/* First: a client that asks again after our death must never be served twice. */
	(void)io_send(o->client, &taken, sizeof(taken), NULL, 0, MSG_DONTWAIT);
	return io_send(z->source.fd, &message, sizeof(message), fds, ARRAY_SIZE(fds), MSG_DONTWAIT);
}

static int order_launch(struct enforcer *e, struct launch_order *o, uint64_t id, int *ret_channel, struct err *ret_error)
{
	_cleanup_buf_ struct buf spec = { 0 };
	struct zygote *z = zygote_for(e, o->agent, o->user->uid, o->mode == MODE_OFF, ret_error);
	int pair[2], r;

	if (!z)
		return -EIO;
	r = spec_write(e, id, o, &spec);
	if (r < 0)
		return err_set(ret_error, r, "cannot describe the launch: %s", strerror(-r));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(ret_error, -errno, "no socket pair: %s", strerror(errno));
	r = order_zygote(z, id, &spec, o, pair[1]);
	close(pair[1]);
	if (r == -EAGAIN)
		zygote_wants_room(e, z);
	if (r < 0) {
		close(pair[0]);
		return err_set(ret_error, r, "the zygote does not take the launch: %s", strerror(-r));
	}
	*ret_channel = pair[0];
	return 0;
}

int launch_start(struct enforcer *e, struct launch_order *o, struct err *ret_error)
{
	uint64_t id = e->next_launch++;
	struct launch *l;
	int channel, r = order_launch(e, o, id, &channel, ret_error);

	if (r < 0)
		return r;
	l = launch_add(e, id);
	if (!l) {
		close(channel); /* the keeper sees its enforcer hang up and ends */
		return err_set(ret_error, -ENOMEM, "out of memory");
	}
	r = source_add(e, &l->keeper, channel, EPOLLIN, keeper_ready);
	if (r < 0) {
		launch_remove(e, l);
		return err_set(ret_error, r, "cannot watch the keeper: %s", strerror(-r));
	}
	l->client = o->client;
	l->begun = malloc(sizeof(*l->begun));	/* without it the record says less */
	if (l->begun && !o->decision) { /* Cordon's own: a browser session's daemon */
		free(l->begun);
		l->begun = NULL;
	}
	if (l->begun)
		*l->begun = (struct launch_verdict){ .decision = *o->decision, .shadow = o->shadow ? *o->shadow : (struct decision){ 0 } };
	pid1_tell(e, ENFORCER_KEEP, KEPT_KEEPER, id, 0, NULL, channel);
	tell_count(e);
	return 0;
}

void launch_adopt(struct enforcer *e, uint64_t id, int channel)
{
	struct keeper_message present = { .type = KEEPER_PRESENT, .launch_id = id };
	struct launch *l = launch_add(e, id);

	if (!l) {
		close(channel);
		return;
	}
	if (source_add(e, &l->keeper, channel, EPOLLIN, keeper_ready) < 0)
		return launch_remove(e, l);
	/* A keeper that is gone does not hear it, but what it said before still waits in the channel. */
	(void)io_send(l->keeper.fd, &present, sizeof(present), NULL, 0, MSG_DONTWAIT);
}

/* ---- what keepers say ---- */

static int take_table(struct launch *l, int fd)
{
	l->table = mmap(NULL, sizeof(*l->table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (l->table == MAP_FAILED) {
		l->table = NULL;
		return -errno;
	}
	return l->table->magic == PROTO_MAGIC ? 0 : -EINVAL;
}

/* The filter of the safe modes refuses chroot, pivot_root, setns and new namespaces: the keeper's root is that of every process it has. */
static void take_root(struct launch *l)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/root", l->keeper_pid);
	if (l->subject.mode != MODE_OFF && l->root < 0)
		l->root = open(path, O_PATH | O_CLOEXEC);
}

static void take_exited(struct enforcer *e, struct launch *l, int status)
{
	if (!l->spec)
		l->end_unrecorded = true;
	else if (l->state != LAUNCH_ENDED)
		record_end(e, l, status);
	l->end_status = status;
	l->state = LAUNCH_ENDED;
}

static void record_late_end(struct enforcer *e, struct launch *l)
{
	if (l->end_unrecorded)
		record_end(e, l, l->end_status);
	l->end_unrecorded = false;
}

static void take_hello(struct enforcer *e, struct launch *l, const struct keeper_message *m, int *fds, unsigned nr_fds)
{
	struct keeper_message go = { .type = KEEPER_GO, .launch_id = l->id };
	bool adopted = l->client < 0;
	int r;

	if (l->calls.fd >= 0) /* one that an earlier enforcer did not live to read, then the answer to PRESENT */
		return;
	r = nr_fds >= 2 && !l->spec ? spec_read(e, l, fds[0], m->number) : -EINVAL;
	if (r == 0)
		r = take_table(l, fds[1]);
	l->keeper_pid = m->keeper_pid;
	l->command = m->pid;
	if (r == 0)
		take_root(l);
	if (r == 0 && nr_fds == 3) {
		r = listener_open(TAKE_FD(fds[2]), &l->listener);
		if (r == 0)
			r = source_add(e, &l->calls, l->listener.fd, EPOLLIN, notify_ready);
	}
	if (r < 0) {
		record_failed(e, l, AUDIT_HIGH, "a keeper's hello could not be taken: its launch is killed", NULL);
		launch_kill(e, l, 0);
		return;
	}
	l->state = m->flags & HELLO_ENDED ? LAUNCH_ENDED : LAUNCH_RUNNING;
	l->end_status = m->status;
	if (l->client >= 0)
		close(TAKE_FD(l->client));
	if (!(m->flags & HELLO_AGAIN))
		record_begin(e, l);
	free(l->begun);
	l->begun = NULL;
	if (adopted)
		notify_recover(e, l);
	record_late_end(e, l);
	/* Also to one that was adopted: its enforcer may have died before it said so, and a command that runs does not hear it. */
	(void)io_send(l->keeper.fd, &go, sizeof(go), NULL, 0, MSG_DONTWAIT);
}

/* One that ended while nobody was there: a process that its enforcer took with it in the middle of an exec is still to be recorded. */
static void take_last_word(struct enforcer *e, struct launch *l, const struct keeper_message *m, int *fds, unsigned nr_fds)
{
	if (l->spec || nr_fds != 2 || spec_read(e, l, fds[0], m->number) < 0 || take_table(l, fds[1]) < 0)
		return;
	l->keeper_pid = m->keeper_pid;
	l->command = m->pid;
	notify_recover(e, l);
}

static bool notice_text(const struct launch *l, enum event_type type, const char *text)
{
	struct {
		struct keeper_message head;
		char text[PROTO_TEXT_MAX];
	} notice = { .head = { .type = KEEPER_NOTICE, .launch_id = l->id, .number = type } };
	size_t len = strlen(text);

	if (len > sizeof(notice.text))
		len = sizeof(notice.text);
	notice.head.text_bytes = (uint32_t)len;
	memcpy(notice.text, text, len);
	return io_send(l->keeper.fd, &notice, sizeof(notice.head) + len, NULL, 0, MSG_DONTWAIT) >= 0;
}

void launch_notice(struct enforcer *e, struct launch *l, const struct decision *decision)
{
	_cleanup_buf_ struct buf json = { 0 };

	(void)e;
	/* The same again: the keeper has it, with the case that is recorded in full. A flood of them need not wake it each time. */
	if (l->noticed && strcmp(l->noticed, decision->reason) == 0)
		return;
	record_refusal_json(l->id, l->cases, decision, &json);
	free(l->noticed);
	l->noticed = NULL;
	if (notice_text(l, EVENT_REFUSED, json.data && !json.failed ? json.data : ""))
		l->noticed = strdup(decision->reason);
}

static const char *stage_text(int stage)
{
	static const char *const texts[] = {
		[STAGE_SPEC] = "the launch could not be read", [STAGE_PTY] = "no terminal could be made",
		[STAGE_FORK] = "the command could not be forked", [STAGE_LANDLOCK] = "the Landlock layer could not be added",
		[STAGE_IDS] = "the user's ids could not be taken", [STAGE_CWD] = "the working folder could not be entered",
		[STAGE_STDIO] = "stdio is not usable inside (a file must be visible there, a folder is none)",
		[STAGE_FILTER] = "the filter could not be installed", [STAGE_EXEC] = "the command could not be started",
	};

	return stage > 0 && (size_t)stage < ARRAY_SIZE(texts) ? texts[stage] : "the launch failed";
}

static void take_failed(struct enforcer *e, struct launch *l, const struct keeper_message *m)
{
	char line[256];

	snprintf(line, sizeof(line), "%s: %s", stage_text(m->stage), strerror((int)m->number));
	if (m->stage == STAGE_CWD) {
		struct decision d = { .verdict = VERDICT_DENY, .tag = "missing_working_dir", .rule = "launch.cwd", .origin = CODE_ORIGIN,
				      .hint = "choose a working folder that exists and that the launch user may enter" };

		snprintf(d.reason, sizeof(d.reason), "%s", line);
		record_failed(e, l, AUDIT_MED, line, &d);
		launch_notice(e, l, &d);
		return;
	}
	record_failed(e, l, AUDIT_MED, line, NULL);
	(void)notice_text(l, EVENT_FAILED, line);
}

/* ---- ends ---- */

/* Without a hello nothing ran: its zygote could not start or take it, which is recorded where it happened. */
static void keeper_gone(struct enforcer *e, struct launch *l)
{
	const char *text = l->spec ? "the keeper of this launch died; its processes are killed" :
				     "the launch did not start: its zygote or keeper ended first (the audit log says why)";
	struct {
		struct launch_event head;
		char text[160];
	} message = { .head = { .type = EVENT_FAILED, .text_bytes = (uint32_t)strlen(text) } };

	if (l->state == LAUNCH_FAILED) /* it had nothing to keep */
		return launch_remove(e, l);
	memcpy(message.text, text, message.head.text_bytes);
	if (l->client >= 0)
		(void)io_send(l->client, &message, sizeof(message.head) + message.head.text_bytes, NULL, 0, MSG_DONTWAIT);
	record_late_end(e, l);
	record_failed(e, l, AUDIT_HIGH, text, NULL);
	launch_remove(e, l);
	lineage_kill_orphans();
}

static void record_refused_input(struct enforcer *e, const struct launch *l, int64_t bytes)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_text(&j, "decision", "deny");
	json_text(&j, "tag", "unreviewable_stdin");
	json_text(&j, "reason", "typed input other than Ctrl-C does not reach a terminal launch in a safety mode");
	json_uint(&j, "launch", l->id);
	json_int(&j, "bytes", bytes);
	audit_record(e->audit, "syscall", AUDIT_MED, true, &members);
}

static void keeper_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct launch *l = container_of(source, struct launch, keeper);
	struct keeper_message m;
	int fds[4] = { -1, -1, -1, -1 };
	unsigned nr_fds = 0;
	ssize_t len = io_receive(source->fd, &m, sizeof(m), fds, 4, &nr_fds, MSG_DONTWAIT);

	(void)events;
	if (len == -EAGAIN)
		return;
	if (len != sizeof(m))
		return keeper_gone(e, l);
	switch (m.type) {
	case KEEPER_HELLO:
		take_hello(e, l, &m, fds, nr_fds);
		break;
	case KEEPER_FAILED:
		take_failed(e, l, &m);
		l->state = LAUNCH_FAILED;
		break;
	case KEEPER_EXITED:
		take_exited(e, l, m.status);
		break;
	case KEEPER_STDIN_REFUSED:
		record_refused_input(e, l, m.number);
		break;
	case KEEPER_EMPTY:
		take_last_word(e, l, &m, fds, nr_fds);
		record_late_end(e, l);
		launch_remove(e, l);
		break;
	default:
		break;
	}
	for (unsigned i = 0; i < nr_fds; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

void launch_kill(struct enforcer *e, struct launch *l, int signal_number)
{
	struct keeper_message kill_message = { .type = KEEPER_KILL, .launch_id = l->id, .number = signal_number };

	(void)e;
	(void)io_send(l->keeper.fd, &kill_message, sizeof(kill_message), NULL, 0, MSG_DONTWAIT);
}
