/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands: one per agent (zygote), forked on first use. It performs what must be done with the caller's ids in the agents' namespace.
 *
 * An agent may kill its own hand, which has its uid: what it was asked then fails with EIO, and the next call gets a new one.
 */
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct hand {
	struct hand *next;
	struct source source;
	uint64_t zygote;
};

static void hand_remove(struct enforcer *e, struct hand *h)
{
	struct hand **link = &e->hands;

	while (*link && *link != h)
		link = &(*link)->next;
	if (*link)
		*link = h->next;
	source_close(e, &h->source);
	loop_free_later(e, h);
	talks_lost(e, h);
}

static void hand_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct hand *h = container_of(source, struct hand, source);
	struct hand_answer answer;
	unsigned nr_fds = 0;
	int fd = -1;
	ssize_t len = io_receive(source->fd, &answer, sizeof(answer), &fd, 1, &nr_fds, MSG_DONTWAIT);
	_cleanup_close_ int made = len >= 0 && nr_fds ? fd : -1;
	struct talk *t;

	(void)events;
	if (len == -EAGAIN)
		return;
	if (len != (ssize_t)sizeof(answer))
		return hand_remove(e, h);
	t = talk_of_job(e, answer.job);
	if (!t || t->hand != h || !t->call.launch)
		return; /* the caller was killed meanwhile */
	t->handed = true;
	t->hand_error = answer.error_number;
	t->hand_value = answer.value;
	t->hand_fd = TAKE_FD(made);
	talk_resume(e, t);
}

static int order_hand(const struct enforcer *e, const struct launch *l, int channel)
{
	struct zygote_hand order = { .magic = PROTO_HAND_MAGIC, .uid = l->spec->uid, .gid = l->spec->gid, .nr_groups = l->spec->nr_groups };
	const struct zygote *z = e->zygotes;

	while (z && z->id != l->zygote)
		z = z->next;
	if (!z)
		return -EIO;
	if (order.nr_groups > HAND_GROUPS_MAX)
		return -E2BIG;
	memcpy(order.groups, l->blob + l->spec->groups_offset, order.nr_groups * sizeof(order.groups[0]));
	return io_send(z->source.fd, &order, sizeof(order), &channel, 1, MSG_DONTWAIT);
}

static struct hand *hand_start(struct enforcer *e, const struct launch *l)
{
	struct hand *h = calloc(1, sizeof(*h));
	int pair[2], r, room = 4 * (int)HAND_DATA_MAX;

	if (!h || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		free(h);
		return NULL;
	}
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
	r = order_hand(e, l, pair[1]);
	close(pair[1]);
	h->zygote = l->zygote;
	if (r < 0)
		close(pair[0]);
	else
		r = source_add(e, &h->source, pair[0], EPOLLIN, hand_ready);
	if (r < 0) {
		free(h);
		return NULL;
	}
	h->next = e->hands;
	return e->hands = h;
}

static struct hand *hand_of(struct enforcer *e, const struct launch *l)
{
	struct hand *h = e->hands;

	while (h && h->zygote != l->zygote)
		h = h->next;
	return h ? h : hand_start(e, l);
}

static int send_request(int channel, const struct hand_request *request, const void *data, const int *fds, unsigned nr_fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(HAND_FDS_MAX * sizeof(int))] = { 0 };
	struct hand_request head = *request;
	struct iovec parts[] = { { &head, sizeof(head) }, { (void *)(uintptr_t)data, request->data_bytes } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = data ? 2 : 1, .msg_control = control, .msg_controllen = CMSG_SPACE(nr_fds * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
	memcpy(CMSG_DATA(c), fds, nr_fds * sizeof(int));
	return sendmsg(channel, &m, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int hand_ask(struct enforcer *e, struct talk *t, struct hand_request *request, const void *data, const int *fds, unsigned nr_fds)
{
	static uint64_t last_job;	/* never used twice: an answer that comes too late finds nobody */
	struct hand *h = hand_of(e, t->call.launch);
	int r;

	if (!h)
		return -EIO;
	request->job = ++last_job;
	r = send_request(h->source.fd, request, data, fds, nr_fds);
	if (r < 0)
		return r == -EAGAIN ? r : -EIO;
	t->hand = h;
	t->job = request->job;
	t->handed = false;
	t->hand_bytes = request->data_bytes;
	return 0;
}

int hand_folder(const struct talk *t)
{
	const struct sockaddr_un *un = (const void *)&t->address;
	char path[32];
	int fd;

	if (t->domain != AF_UNIX || t->address_bytes <= sizeof(sa_family_t) || !un->sun_path[0] || un->sun_path[0] == '/')
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%d/cwd", (pid_t)t->call.request->pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -EACCES : fd;
}
