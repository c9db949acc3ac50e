/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sendto, sendmsg, sendmmsg: each message judged on a private copy and sent from it, to the judged address, on the duplicate.
 *
 * Without waiting: a blocking send that finds no room goes on when there is some (waits.c). What a call has sent when it ends for any reason is its
 * answer, as in the kernel.
 */
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define CHUNK_BYTES (256u << 10)	/* of a stream, at a time */
#define CHUNKS_A_TURN 16		/* then others get theirs, however fast the receiver reads */
#define DATAGRAM_MAX 65535		/* above which IP says EMSGSIZE */
#define RECORDED_SLOTS 64
#define RECORDED_US 10000000		/* an allowed destination is recorded once in this time */

/* The one thread's. */
static struct message message;
static char chunk[CHUNK_BYTES];

static bool is_batch(const struct talk *t)
{
	return t->call.request->data.nr == SYS_sendmmsg;
}

int64_t send_progress(const struct talk *t)
{
	return is_batch(t) ? t->nr_sent : (int64_t)t->bytes_sent;
}

/* ---- the end ---- */

static enum talk_next finish(struct enforcer *e, struct talk *t, int error_number)
{
	pid_t tid = (pid_t)t->call.request->pid;

	if (is_batch(t) && t->bytes_sent && message_write_length(tid, &t->call.request->data, t->nr_sent, (unsigned)t->bytes_sent) == 0)
		t->nr_sent++;
	if (send_progress(t))
		return talk_answer(e, t, send_progress(t), 0);
	if (error_number == EPIPE && t->type == SOCK_STREAM && !(message_flags(&t->call.request->data) & MSG_NOSIGNAL))
		(void)syscall(SYS_tkill, tid, SIGPIPE); /* the kernel would have; ours was sent with MSG_NOSIGNAL */
	return talk_answer(e, t, 0, error_number);
}

void send_end(struct enforcer *e, struct talk *t, int error_number)
{
	finish(e, t, error_number);
}

/* ---- records ---- */

/* A program that sends a thousand datagrams to one place is one fact, not a thousand. */
static void record_allowed(struct enforcer *e, const struct talk *t, const char *path)
{
	static struct {
		uint64_t launch, until_us;
		pid_t tid;
		struct sockaddr_storage address;
	} recorded[RECORDED_SLOTS];
	uint64_t now = now_us();
	size_t slot = t->call.request->pid;

	for (socklen_t i = 0; i < t->address_bytes; i++)
		slot = slot * 31 + ((const unsigned char *)&t->address)[i];
	slot %= RECORDED_SLOTS;
	if (recorded[slot].launch == t->call.launch->id && recorded[slot].tid == (pid_t)t->call.request->pid && now < recorded[slot].until_us &&
	    memcmp(&recorded[slot].address, &t->address, sizeof(t->address)) == 0)
		return;
	recorded[slot].launch = t->call.launch->id;
	recorded[slot].tid = (pid_t)t->call.request->pid;
	recorded[slot].until_us = now + RECORDED_US;
	recorded[slot].address = t->address;
	talk_record_allowed(e, t, path, "emulated", 0);
}

static int refuse(struct enforcer *e, struct talk *t, const char *tag, const char *rule, const char *reason)
{
	t->decision = (struct decision){ .verdict = VERDICT_DENY, .tag = tag, .rule = rule, .origin = CODE_ORIGIN,
				   .hint = "send through a TCP or UDP socket, to an address that is named plainly" };
	snprintf(t->decision.reason, sizeof(t->decision.reason), "%s", reason);
	talk_record_denied(e, t, "", EPERM);
	return -EPERM;
}

/* ---- where it may go ---- */

static void take_name(struct talk *t, const struct message *m)
{
	t->address = m->name;
	t->address_bytes = m->name_bytes;
}

/* Returns 0 or -errno, which has been recorded. */
int send_judge_name(struct enforcer *e, struct talk *t, const struct message *m, int error_number)
{
	char path[RESOLVE_PATH_MAX];

	/* The call was let in with room for one record; a batch may go to a thousand places. */
	if (!audit_has_room(e->audit))
		return refuse(e, t, "audit_unavailable", "boundary.audit", "the audit log is full for the moment, and nothing is allowed that cannot be recorded");
	take_name(t, m);
	if (!talk_judge(e, t, ACTION_CONNECT, path)) {
		talk_record_denied(e, t, path, error_number);
		return -error_number;
	}
	record_allowed(e, t, path);
	return 0;
}

/* MSG_FASTOPEN connects: so it is judged and done as a connect, the data follows once there is a connection. */
static int join(struct enforcer *e, struct talk *t, const struct message *m)
{
	int r;

	if (!t->begun) {
		r = m->name_bytes < sizeof(struct sockaddr_in) ? -EINVAL : m->name.ss_family == AF_UNSPEC ? -EOPNOTSUPP : 0;
		if (r == 0)
			r = send_judge_name(e, t, m, ECONNREFUSED);
		if (r < 0)
			return r;
		t->begun = true;
	}
	t->timeout_error = EINPROGRESS;
	r = connect_step(t);
	if (r == -EINPROGRESS && talk_blocks(t) && !(m->flags & MSG_DONTWAIT))
		return TALK_WAIT_ROOM;
	t->joined = r == 0;
	t->timeout_error = EAGAIN;
	return r;
}

/* ---- on the duplicate ---- */

bool send_waits(struct talk *t, const struct message *m, int error_number)
{
	return error_number == EAGAIN && !(m->flags & MSG_DONTWAIT) && talk_blocks(t);
}

void send_say_progress(const struct talk *t)
{
	if (send_progress(t))
		talk_acted(t, send_progress(t), 0);
	else
		talk_idle(t);
}

/* Who looks at the sender (SO_PASSCRED) sees the caller, as it would have. */
static void name_sender(const struct talk *t, char *control, struct msghdr *head)
{
	struct cmsghdr *c;

	head->msg_control = control;
	head->msg_controllen = CMSG_SPACE(sizeof(t->sender));
	c = CMSG_FIRSTHDR(head);
	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(t->sender)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS };
	memcpy(CMSG_DATA(c), &t->sender, sizeof(t->sender));
}

static ssize_t send_copy(struct talk *t, const struct message *m, size_t bytes, bool last)
{
	struct iovec data = { chunk, bytes };
	struct msghdr head = { .msg_iov = &data, .msg_iovlen = 1 };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))] = { 0 };
	int flags = (last ? m->flags : (m->flags & ~MSG_OOB) | MSG_MORE) | MSG_DONTWAIT | MSG_NOSIGNAL;
	ssize_t sent;

	if (t->domain == AF_UNIX) {
		name_sender(t, control, &head);
	} else if (m->control_bytes && !t->bytes_sent) {
		head.msg_control = (void *)(uintptr_t)m->control;
		head.msg_controllen = m->control_bytes;
	}
	if (t->type == SOCK_STREAM) {
		flags &= t->joined ? ~MSG_FASTOPEN : ~0;
	} else if (m->named) {
		head.msg_name = &t->address;
		head.msg_namelen = t->address_bytes;
	}
	talk_acting(t, send_progress(t));
	/* An address of no length is one to sendto(2) and none to sendmsg(2). */
	sent = m->named && t->type != SOCK_STREAM && !m->name_bytes ? sendto(t->source.fd, chunk, bytes, flags, head.msg_name, 0) :
								      sendmsg(t->source.fd, &head, flags);
	return sent < 0 ? -errno : sent;
}

/* Returns 0 when the message is done, as far as it goes; -errno; or what it waits for. */
static int send_data(struct enforcer *e, struct talk *t, const struct message *m)
{
	bool stream = t->type == SOCK_STREAM;

	for (unsigned chunks = 1;; chunks++) {
		uint64_t left = m->total - t->bytes_sent;
		ssize_t bytes = message_read_data(&e->target, m, t->bytes_sent, chunk, sizeof(chunk)), sent;

		if (bytes < 0 || (!stream && (uint64_t)bytes != m->total) || (left && !bytes))
			return -EFAULT;
		sent = send_copy(t, m, (size_t)bytes, (uint64_t)bytes == left);
		if (sent < 0) {
			send_say_progress(t);
			return send_waits(t, m, (int)-sent) ? TALK_WAIT_ROOM : (int)sent;
		}
		t->bytes_sent += (uint64_t)sent;
		if (!stream || t->bytes_sent >= m->total || (sent < bytes && !send_waits(t, m, EAGAIN)))
			return 0;
		if (chunks == CHUNKS_A_TURN) { /* one that does not wait is told how far it came, as by a full buffer */
			send_say_progress(t);
			return send_waits(t, m, EAGAIN) ? TALK_WAIT_ROOM : 0;
		}
	}
}

static int send_ip(struct enforcer *e, struct talk *t, const struct message *m)
{
	bool stream = t->type == SOCK_STREAM;
	int r = 0;

	take_name(t, m);
	if (!stream && t->type != SOCK_DGRAM) /* none is made here; one that was inherited writes its own addresses */
		return refuse(e, t, "network_guard", "network.raw", "Raw sockets go around every address rule.");
	if (!message_controls_stay(m))
		return refuse(e, t, "network_guard", "network.ancillary", "This ancillary data could lead the message elsewhere.");
	if (m->flags & MSG_ZEROCOPY) /* would send from our memory, which changes; programs then send plainly */
		return -ENOBUFS;
	if (!stream && m->total > DATAGRAM_MAX)
		return -EMSGSIZE;
	if (stream && m->named && m->flags & MSG_FASTOPEN && !t->joined)
		r = join(e, t, m);
	else if (!stream && m->name_bytes)
		r = talk_address_is_short(t) ? -EINVAL : send_judge_name(e, t, m, EPERM);
	return r ? r : send_data(e, t, m);
}

/* ---- UNIX sockets that are connected: on the duplicate, in the caller's name ---- */

/*
 * Quicker than the hand, and with the caller's own pid, but not for everything: a name must be looked up by the caller's rights, and descriptors that
 * are under way count against the user who sent them.
 */
static bool may_send_for(const struct talk *t, const struct message *m)
{
	int one;

	return t->domain == AF_UNIX && !m->name_bytes && message_passed(m, &one, 0) == 0;
}

static int send_elsewhere(struct enforcer *e, struct talk *t, const struct message *m)
{
	int r;

	if (!t->handed && may_send_for(t, m)) {
		if (t->type != SOCK_STREAM && m->total > sizeof(chunk))
			return -EMSGSIZE;
		r = send_data(e, t, m);
		if (r != -EPERM) /* else: we may not speak in another's name here */
			return r;
	}
	return send_by_hand(e, t, m, chunk);
}

/* ---- the call ---- */

static int read_message(struct enforcer *e, struct talk *t, unsigned index)
{
	int r;

	target_init(&e->target, (pid_t)t->call.request->pid);
	r = message_read(&e->target, &t->call.request->data, index, &message);
	return listener_waits(&t->call.launch->listener, t->id) ? r : -EINTR;
}

/* The descriptors are the caller's own: sockets.h says why these may go on in its hands. */
static bool may_continue(const struct talk *t)
{
	if (t->shared)
		return false;
	return t->domain == AF_UNIX || t->domain == AF_NETLINK ||
	       (talk_is_ip(t) && t->type == SOCK_STREAM && !(message_flags(&t->call.request->data) & MSG_FASTOPEN));
}

static enum talk_next continue_judged(struct enforcer *e, struct talk *t)
{
	unsigned count = t->domain == AF_UNIX && t->type == SOCK_DGRAM ? message_count(&t->call.request->data) : 0;

	for (unsigned i = 0; i < count; i++) {
		int r = read_message(e, t, i);

		if (r == 0 && message.name_bytes > sizeof(sa_family_t))
			r = send_judge_name(e, t, &message, EACCES);
		if (r == -EACCES)
			return talk_answer(e, t, 0, EACCES);
		if (r < 0)
			break; /* the kernel finds the same, after what comes before it */
	}
	return talk_continue(e, t);
}

enum talk_next send_act(struct enforcer *e, struct talk *t)
{
	unsigned count = message_count(&t->call.request->data);

	if (may_continue(t))
		return continue_judged(e, t);
	t->timeout_error = EAGAIN;
	while (t->nr_sent < count) {
		int r = read_message(e, t, t->nr_sent);

		if (r == 0)
			r = talk_is_ip(t) ? send_ip(e, t, &message) : send_elsewhere(e, t, &message);
		if (r > 0)
			return (enum talk_next)r;
		if (r < 0 || !is_batch(t))
			return finish(e, t, -r);
		r = message_write_length((pid_t)t->call.request->pid, &t->call.request->data, t->nr_sent, (unsigned)t->bytes_sent);
		if (r < 0 || t->bytes_sent < message.total) {
			t->nr_sent += r == 0;
			t->bytes_sent = 0;
			return finish(e, t, -r);
		}
		t->nr_sent++;
		t->bytes_sent = 0;
	}
	return finish(e, t, 0);
}
