/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LOOPBACK_INDEX 1	/* in every network namespace */

bool loopback_is(const struct sockaddr *address, socklen_t bytes)
{
	if (address->sa_family == AF_INET && bytes >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *v4 = (const void *)address;

		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	}
	if (address->sa_family == AF_INET6 && bytes >= 24) {
		const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
	}
	return false;
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static int diag = -1;		/* kept: the one thread that asks would else open and close it for every connect */
static uint32_t sequence;

static int ask(struct question *q)
{
	struct timeval patience = { .tv_usec = 200000 };

	if (diag < 0) {
		diag = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
		if (diag < 0 || setsockopt(diag, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
			return -1;
	}
	q->head.nlmsg_len = sizeof(*q);
	q->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	q->head.nlmsg_seq = ++sequence;
	return send(diag, q, sizeof(*q), 0) == sizeof(*q) ? 0 : -1;
}

/* After anything unexpected: what may still be on its way must not answer the next question. */
static int give_up(void)
{
	if (diag >= 0)
		close(diag);
	diag = -1;
	return -1;
}

/* One message about the question asked last. Returns 1 for a foreign listener, 0 for none, -ENODATA when there are no more, -1. */
static int judge_answer(const struct nlmsghdr *h, uid_t uid, in_port_t port)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	const struct nlmsgerr *error = NLMSG_DATA(h);

	if (h->nlmsg_seq != sequence)
		return -1;
	switch (h->nlmsg_type) {
	case NLMSG_DONE:
		return -ENODATA;
	case NLMSG_ERROR:	/* of a question about one socket: there is none */
		return h->nlmsg_len >= NLMSG_LENGTH(sizeof(*error)) && error->error == -ENOENT ? -ENODATA : -1;
	case SOCK_DIAG_BY_FAMILY:
		return h->nlmsg_len >= NLMSG_LENGTH(sizeof(*m)) ? m->id.idiag_sport == port && m->idiag_uid != uid : -1;
	default:
		return -1;
	}
}

/* Reads answers until the last. Returns 1 when a foreign listener was among them, 0 when not, -1 when it cannot be known. */
static int read_answers(uid_t uid, in_port_t port, bool dump)
{
	_Alignas(struct nlmsghdr) char buffer[16384];
	int found = 0;

	for (;;) {
		ssize_t len = recv(diag, buffer, sizeof(buffer), 0);
		const struct nlmsghdr *h = (const void *)buffer;

		if (len <= 0)
			return -1;
		for (; NLMSG_OK(h, (size_t)len); h = NLMSG_NEXT(h, len)) {
			int r = judge_answer(h, uid, port);

			if (r == -ENODATA)
				return found;
			if (r < 0)
				return r;
			found |= r;
			if (!dump)
				return found;
		}
	}
}

/* Every unconnected UDP socket on the port: two may hold it (SO_REUSEADDR), and the agent's own may go before the first datagram. */
static int foreign_receiver(int family, in_port_t port, uid_t uid)
{
	struct question q = {
		.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		.body = { .sdiag_family = (__u8)family, .sdiag_protocol = IPPROTO_UDP, .idiag_states = 1U << TCP_CLOSE, .id.idiag_sport = port },
	};
	int r = ask(&q) < 0 ? -1 : read_answers(uid, port, true);

	return r < 0 ? give_up() : r;
}

/*
 * The socket that the kernel itself would give a connection to this address, dual-stack ones included: a dump walks the whole table, which takes
 * longer than the connect. Two listeners cannot hold one TCP address. Both ends name it: kernels differ in which one they take for the local one.
 */
static int foreign_listener(const struct sockaddr *address, uid_t uid)
{
	const struct sockaddr_in6 *v6 = (const void *)address;
	const struct sockaddr_in *v4 = (const void *)address;
	bool mapped = address->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
	struct question q = {
		.head.nlmsg_flags = NLM_F_REQUEST,
		.body = { .sdiag_family = mapped ? AF_INET : (__u8)address->sa_family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << TCP_LISTEN,
			  .id = { .idiag_sport = v4->sin_port, .idiag_dport = v4->sin_port, .idiag_if = LOOPBACK_INDEX,
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	int r;

	if (address->sa_family == AF_INET)
		memcpy(q.body.id.idiag_src, &v4->sin_addr, sizeof(v4->sin_addr));
	else if (mapped)
		memcpy(q.body.id.idiag_src, &v6->sin6_addr.s6_addr[12], sizeof(v4->sin_addr));
	else
		memcpy(q.body.id.idiag_src, &v6->sin6_addr, sizeof(v6->sin6_addr));
	memcpy(q.body.id.idiag_dst, q.body.id.idiag_src, sizeof(q.body.id.idiag_dst));
	r = ask(&q) < 0 ? -1 : read_answers(uid, v4->sin_port, false);
	return r < 0 ? give_up() : r;
}

bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid)
{
	/* sin_port and sin6_port stand in the same place. */
	in_port_t port = ((const struct sockaddr_in *)(const void *)address)->sin_port;

	if (socket_type != SOCK_DGRAM)
		return foreign_listener(address, uid) == 0;
	/* A dual-stack receiver of IPv6 answers IPv4 as well: both families are asked for either. */
	return foreign_receiver(AF_INET, port, uid) == 0 && foreign_receiver(AF_INET6, port, uid) == 0;
}
