/* SPDX-License-Identifier: Apache-2.0 */
/* Messages that the agent's hand sends: to names of UNIX sockets, with descriptors, and over netlink. */
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Duplicates of what an SCM_RIGHTS message passes on, after the socket and the folder. Returns how many fds there are, or -errno. */
static int collect_passed(const struct talk *t, const struct message *m, int *fds, int nr)
{
	int numbers[HAND_FDS_MAX], nr_passed = message_passed(m, numbers, (unsigned)(HAND_FDS_MAX - nr));
	_cleanup_close_ int pidfd = nr_passed > 0 ? call_pidfd(&t->call) : -1;

	if (nr_passed < 0)
		return nr_passed;
	for (int i = 0; i < nr_passed; i++) {
		fds[nr] = sys_pidfd_getfd(pidfd, numbers[i]);
		if (fds[nr++] < 0)
			return -EBADF;
	}
	return nr;
}

static int ask(struct enforcer *e, struct talk *t, const struct message *m, char *data)
{
	struct hand_request request = { .action = HAND_SEND, .call_flags = (uint32_t)(m->flags & ~MSG_ZEROCOPY), .address_bytes = m->name_bytes };
	size_t left = m->total - t->bytes_sent;
	int fds[HAND_FDS_MAX], nr = 1, r;
	ssize_t bytes;

	if (t->type != SOCK_STREAM && left > HAND_DATA_MAX)
		return -EMSGSIZE;
	bytes = message_read_data(&e->target, m, t->bytes_sent, data, left < HAND_DATA_MAX ? left : HAND_DATA_MAX);
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
	r = fds[1] == -ENOENT || fds[1] >= 0 ? 0 : fds[1];
	if (r == 0 && !t->bytes_sent)
		r = nr = collect_passed(t, m, fds, nr);
	talk_acting(t, send_progress(t));
	if (r >= 0)
		r = hand_ask(e, t, &request, data, fds, (unsigned)nr);
	for (int i = 1; i < HAND_FDS_MAX; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return r;
}

static int take_answer(struct talk *t, const struct message *m)
{
	t->handed = false;
	t->job = 0;
	send_say_progress(t);
	if (t->hand_error)
		return send_waits(t, m, t->hand_error) ? (m->name_bytes ? TALK_WAIT_TICK : TALK_WAIT_ROOM) : -t->hand_error;
	t->bytes_sent += (uint64_t)t->hand_value;
	send_say_progress(t);
	if (t->type != SOCK_STREAM || t->bytes_sent >= m->total)
		return 0;
	return (size_t)t->hand_value == t->hand_bytes || (!(m->flags & MSG_DONTWAIT) && talk_blocks(t)) ? TALK_WAIT_HAND : 0;
}

int send_by_hand(struct enforcer *e, struct talk *t, const struct message *m, char *data)
{
	int r;

	if (t->handed) {
		r = take_answer(t, m);
		if (r != TALK_WAIT_HAND) /* else: there is more */
			return r;
	} else if (t->domain == AF_UNIX && t->type == SOCK_DGRAM && m->name_bytes > sizeof(sa_family_t)) {
		r = send_judge_name(e, t, m, EACCES);
		if (r < 0)
			return r;
	}
	t->address = m->name;
	t->address_bytes = m->name_bytes;
	r = ask(e, t, m, data);
	if (r == -EAGAIN) { /* the hand's queue is full */
		send_say_progress(t);
		return TALK_WAIT_TICK;
	}
	return r < 0 ? r : TALK_WAIT_HAND;
}

