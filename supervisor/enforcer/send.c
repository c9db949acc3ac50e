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

static int64_t progress(const struct talk *t)
{
	return is_batch(t) ? t->nr_sent : (int64_t)t->bytes_sent;
}

/* ---- the end ---- */

static enum talk_next finish(struct enforcer *e, struct talk *t, int error_number)
{
	pid_t tid = (pid_t)t->call.request->pid;

	if (is_batch(t) && t->bytes_sent && message_write_length(tid, &t->call.request->data, t->nr_sent, (unsigned)t->bytes_sent) == 0)
		t->nr_sent++;
	if (progress(t))
		return talk_answer(e, t, progress(t), 0);
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

static int refuse(struct enforcer *e, struct talk *t, const char *rule, const char *reason)
{
	t->decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "network_guard", .rule = rule, .origin = { "", 0 } };
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
static int judge_name(struct enforcer *e, struct talk *t, const struct message *m, int error_number)
{
	char path[RESOLVE_PATH_MAX];

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
			r = judge_name(e, t, m, ECONNREFUSED);
		if (r < 0)
			return r;
		t->begun = true;
	}
	t->timeout_error = EINPROGRESS;
	r = connect_step(t);
	if (r == -EINPROGRESS && t->blocks && !(m->flags & MSG_DONTWAIT))
		return TALK_WAIT_ROOM;
	t->joined = r == 0;
	t->timeout_error = EAGAIN;
	return r;
}

/* ---- IP: on the duplicate ---- */

static bool waits(const struct talk *t, const struct message *m, int error_number)
{
	return error_number == EAGAIN && t->blocks && !(m->flags & MSG_DONTWAIT);
}

static void say_progress(const struct talk *t)
{
	if (progress(t))
		talk_acted(t, progress(t), 0);
	else
		talk_idle(t);
}

static ssize_t send_copy(struct talk *t, const struct message *m, size_t bytes, bool last)
{
	struct iovec data = { chunk, bytes };
	struct msghdr head = { .msg_iov = &data, .msg_iovlen = 1 };
	int flags = (last ? m->flags : (m->flags & ~MSG_OOB) | MSG_MORE) | MSG_DONTWAIT | MSG_NOSIGNAL;
	ssize_t sent;

	if (m->control_bytes && !t->bytes_sent) {
		head.msg_control = (void *)(uintptr_t)m->control;
		head.msg_controllen = m->control_bytes;
	}
	if (t->type == SOCK_STREAM) {
		flags &= t->joined ? ~MSG_FASTOPEN : ~0;
	} else if (m->named) {
		head.msg_name = &t->address;
		head.msg_namelen = t->address_bytes;
	}
	talk_acting(t, progress(t));
	/* An address of no length is one to sendto(2) and none to sendmsg(2). */
	sent = m->named && t->type != SOCK_STREAM && !m->name_bytes ? sendto(t->source.fd, chunk, bytes, flags, head.msg_name, 0) :
								      sendmsg(t->source.fd, &head, flags);
	return sent < 0 ? -errno : sent;
}

/* Returns 0 when the message is done, as far as it goes; -errno; or what it waits for. */
static int send_data(struct enforcer *e, struct talk *t, const struct message *m)
{
	bool stream = t->type == SOCK_STREAM;

	for (;;) {
		uint64_t left = m->total - t->bytes_sent;
		ssize_t bytes = message_read_data(&e->target, m, t->bytes_sent, chunk, sizeof(chunk)), sent;

		if (bytes < 0 || (!stream && (uint64_t)bytes != m->total) || (left && !bytes))
			return -EFAULT;
		sent = send_copy(t, m, (size_t)bytes, (uint64_t)bytes == left);
		if (sent < 0) {
			say_progress(t);
			return waits(t, m, (int)-sent) ? TALK_WAIT_ROOM : (int)sent;
		}
		t->bytes_sent += (uint64_t)sent;
		if (!stream || t->bytes_sent >= m->total || (sent < bytes && (!t->blocks || m->flags & MSG_DONTWAIT)))
			return 0;
	}
}

static int send_ip(struct enforcer *e, struct talk *t, const struct message *m)
{
	bool stream = t->type == SOCK_STREAM;
	int r = 0;

	take_name(t, m);
	if (!stream && t->type != SOCK_DGRAM) /* none is made here; one that was inherited writes its own addresses */
		return refuse(e, t, "network.raw", "Raw sockets go around every address rule.");
	if (!message_controls_stay(m))
		return refuse(e, t, "network.ancillary", "This ancillary data could lead the message elsewhere.");
	if (m->flags & MSG_ZEROCOPY) /* would send from our memory, which changes; programs then send plainly */
		return -ENOBUFS;
	if (!stream && m->total > DATAGRAM_MAX)
		return -EMSGSIZE;
	if (stream && m->named && m->flags & MSG_FASTOPEN && !t->joined)
		r = join(e, t, m);
	else if (!stream && m->name_bytes)
		r = talk_address_is_short(t) ? -EINVAL : judge_name(e, t, m, EPERM);
	return r ? r : send_data(e, t, m);
}

/* ---- the rest: by hand ---- */

/* Duplicates of what an SCM_RIGHTS message passes on, after the socket and the folder. Returns how many fds there are, or -errno. */
static int collect_passed(const struct talk *t, const struct message *m, int *fds, int nr)
{
	int numbers[HAND_FDS_MAX], nr_passed = message_passed(m, numbers, (unsigned)(HAND_FDS_MAX - nr));
	_cleanup_close_ int pidfd = nr_passed > 0 ? talk_pidfd(t) : -1;

	if (nr_passed < 0)
		return nr_passed;
	for (int i = 0; i < nr_passed; i++) {
		fds[nr] = sys_pidfd_getfd(pidfd, numbers[i]);
		if (fds[nr++] < 0)
			return -EBADF;
	}
	return nr;
}

static int ask(struct enforcer *e, struct talk *t, const struct message *m)
{
	struct hand_request request = { .action = HAND_SEND, .send_flags = (uint32_t)(m->flags & ~MSG_ZEROCOPY), .address_bytes = m->name_bytes };
	size_t left = m->total - t->bytes_sent;
	int fds[HAND_FDS_MAX], first, nr = 1, r;
	ssize_t bytes;

	if (t->type != SOCK_STREAM && left > HAND_DATA_MAX)
		return -EMSGSIZE;
	bytes = message_read_data(&e->target, m, t->bytes_sent, chunk, left < HAND_DATA_MAX ? left : HAND_DATA_MAX);
	if (bytes < 0 || (left && !bytes) || (t->type != SOCK_STREAM && (size_t)bytes != left))
		return -EFAULT;
	request.data_bytes = (uint32_t)bytes;
	memcpy(request.address, &m->name, sizeof(request.address));
	for (int i = 0; i < HAND_FDS_MAX; i++)
		fds[i] = -1;
	fds[0] = t->source.fd;
	fds[1] = m->name_bytes ? hand_folder(t) : -ENOENT;
	if (fds[1] >= 0) {
		request.flags |= HAND_CWD;
		nr = 2;
	}
	first = 1;
	r = fds[1] == -ENOENT || fds[1] >= 0 ? 0 : fds[1];
	if (r == 0 && !t->bytes_sent)
		r = nr = collect_passed(t, m, fds, nr);
	talk_acting(t, progress(t));
	if (r >= 0)
		r = hand_ask(e, t, &request, chunk, fds, (unsigned)nr);
	for (int i = first; i < HAND_FDS_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}

static int take_answer(struct talk *t, const struct message *m)
{
	t->handed = false;
	t->job = 0;
	say_progress(t);
	if (t->hand_error)
		return waits(t, m, t->hand_error) ? (m->name_bytes ? TALK_WAIT_TICK : TALK_WAIT_ROOM) : -t->hand_error;
	t->bytes_sent += (uint64_t)t->hand_value;
	say_progress(t);
	if (t->type != SOCK_STREAM || t->bytes_sent >= m->total)
		return 0;
	return (size_t)t->hand_value == t->hand_bytes || (t->blocks && !(m->flags & MSG_DONTWAIT)) ? TALK_WAIT_HAND : 0;
}

static int send_by_hand(struct enforcer *e, struct talk *t, const struct message *m)
{
	int r;

	if (t->handed) {
		r = take_answer(t, m);
		if (r != TALK_WAIT_HAND) /* else: there is more */
			return r;
	} else if (t->domain == AF_UNIX && t->type == SOCK_DGRAM && m->name_bytes > sizeof(sa_family_t)) {
		r = judge_name(e, t, m, EACCES);
		if (r < 0)
			return r;
	}
	take_name(t, m);
	r = ask(e, t, m);
	if (r == -EAGAIN) { /* the hand's queue is full */
		say_progress(t);
		return TALK_WAIT_TICK;
	}
	return r < 0 ? r : TALK_WAIT_HAND;
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
			r = judge_name(e, t, &message, EACCES);
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
			r = talk_is_ip(t) ? send_ip(e, t, &message) : send_by_hand(e, t, &message);
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
