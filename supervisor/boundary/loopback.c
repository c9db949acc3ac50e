/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who would receive what is sent to a loopback address. For TCP the kernel is asked for the very listener that it would connect to, which is one look
 * into its tables. For UDP every socket of the port counts, and finding them is a look at the whole table; it is good for a moment.
 */
#include "supervisor/boundary/loopback.h"

#include "supervisor/base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define LOOPBACK_INDEX 1		/* of lo, in every network namespace: a listener tied to it goes before any other */
#define PROOFS 16
#define PROOF_US 10000

bool loopback_is(const struct sockaddr *address, socklen_t bytes)
{
	if (address->sa_family == AF_INET && bytes >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *v4 = (const void *)address;

		return ntohl(v4->sin_addr.s_addr) >> 24 == 127 || v4->sin_addr.s_addr == INADDR_ANY;
	}
	if (address->sa_family == AF_INET6 && bytes >= 24) {
		const struct in6_addr *v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;

		return IN6_IS_ADDR_LOOPBACK(v6) || IN6_IS_ADDR_UNSPECIFIED(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
	}
	return false;
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

/* The address as the kernel looks it up: IPv4 where that is what it is. */
static void write_address(struct question *q, const struct sockaddr *address, bool udp)
{
	const struct sockaddr_in6 *v6 = (const void *)address;
	const struct sockaddr_in *v4 = (const void *)address;
	/* Source and destination are swapped between the two protocols, "for historical reasons" (udp_diag.c). */
	__be32 *where = udp ? q->body.id.idiag_dst : q->body.id.idiag_src;
	__be16 *port = udp ? &q->body.id.idiag_dport : &q->body.id.idiag_sport;

	*port = v4->sin_port; /* sin6_port stands in the same place */
	q->body.sdiag_family = AF_INET;
	if (address->sa_family == AF_INET) {
		where[0] = v4->sin_addr.s_addr ? v4->sin_addr.s_addr : htonl(INADDR_LOOPBACK);
	} else if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
		memcpy(where, &v6->sin6_addr.s6_addr[12], 4);
	} else {
		q->body.sdiag_family = AF_INET6;
		memcpy(where, IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr) ? &in6addr_loopback : &v6->sin6_addr, sizeof(v6->sin6_addr));
	}
}

static int open_diag(void)
{
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct timeval patience = { .tv_usec = 200000 };

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Returns 1 when the socket is uid's or there is none, 0 when it is another's, -1 when it cannot be known. */
static int read_answer(int fd, uint32_t sequence, uid_t uid)
{
	_Alignas(struct nlmsghdr) _uninitialized_ char buffer[4096];
	struct nlmsghdr *h = (void *)buffer;
	ssize_t len = recv(fd, buffer, sizeof(buffer), 0);

	if (len < 0 || !NLMSG_OK(h, (size_t)len) || h->nlmsg_seq != sequence)
		return -1;
	if (h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr)))
		return ((const struct nlmsgerr *)NLMSG_DATA(h))->error == -ENOENT ? 1 : -1;
	if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
		return -1;
	return ((const struct inet_diag_msg *)NLMSG_DATA(h))->idiag_uid == uid;
}

static struct question question_of(const struct sockaddr *address, bool udp)
{
	struct question q = {
		.head = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_protocol = udp ? IPPROTO_UDP : IPPROTO_TCP, .idiag_states = ~0U,
			  .id = { .idiag_if = LOOPBACK_INDEX, .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};

	write_address(&q, address, udp);
	return q;
}

/* Whom the kernel would give it to now. Returns as read_answer(). */
static int ask(struct question q, uid_t uid)
{
	static int fd = -1;
	static uint32_t sequence;
	int r = -1;

	q.head.nlmsg_seq = ++sequence;
	if (fd < 0)
		fd = open_diag();
	if (fd >= 0 && send(fd, &q, sizeof(q), 0) == sizeof(q))
		r = read_answer(fd, sequence, uid);
	if (r < 0 && fd >= 0) { /* an answer that is late must not become that of the next question */
		close(fd);
		fd = -1;
	}
	return r;
}

/* Reads a dump to its end. Returns as read_answer(), for all of its sockets together. */
static int read_dump(int fd, in_port_t port, uid_t uid)
{
	_Alignas(struct nlmsghdr) _uninitialized_ char buffer[16384];
	int r = 1;

	for (;;) {
		ssize_t len = recv(fd, buffer, sizeof(buffer), 0);
		struct nlmsghdr *h = (void *)buffer;

		if (len <= 0)
			return -1;
		for (; NLMSG_OK(h, (size_t)len); h = NLMSG_NEXT(h, len)) {
			const struct inet_diag_msg *m = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_DONE)
				return r;
			if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
				return -1;
			if (m->id.idiag_sport == port && m->idiag_uid != uid)
				r = 0;
		}
	}
}

/*
 * Datagrams find their receiver one by one: a socket of the agent's own that takes them while we look can be closed a moment later, and then they reach
 * whoever else is bound to that port. So nobody else may be, on any address.
 */
static int foreign_receivers(in_port_t port, int family, uid_t uid)
{
	struct question q = {
		.head = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .sdiag_family = (__u8)family, .sdiag_protocol = IPPROTO_UDP, .idiag_states = ~0U, .id.idiag_sport = port },
	};
	static int fd = -1;
	int r = -1;

	if (fd < 0)
		fd = open_diag();
	if (fd >= 0 && send(fd, &q, sizeof(q), 0) == sizeof(q))
		r = read_dump(fd, port, uid);
	if (r < 0 && fd >= 0) { /* what is left of the dump must not become part of the next one */
		close(fd);
		fd = -1;
	}
	return r;
}

/*
 * That nobody else was bound there stays good for a moment, for the one who asked and this very address, as long as the socket that would receive is its own. That
 * gives nobody anything: whoever was let through at that time could have connected a socket then, and sent through it to whoever is bound there later.
 */
static bool only_uid_receives(const struct sockaddr *address, uid_t uid, uint64_t asker, uint64_t now_us)
{
	static struct {
		uint64_t asker, since_us;
		uid_t uid;
		struct inet_diag_req_v2 what;
	} proofs[PROOFS], *proof;
	const struct question q = question_of(address, true);
	const in_port_t port = q.body.id.idiag_dport;

	proof = &proofs[(ntohs(port) + asker) % PROOFS];
	if (proof->asker == asker && proof->uid == uid && now_us - proof->since_us < PROOF_US && memcmp(&proof->what, &q.body, sizeof(q.body)) == 0 &&
	    ask(q, uid) == 1)
		return true;
	memset(proof, 0, sizeof(*proof));
	if (foreign_receivers(port, AF_INET, uid) != 1 || foreign_receivers(port, AF_INET6, uid) != 1)
		return false;
	proof->asker = asker;
	proof->since_us = now_us;
	proof->uid = uid;
	proof->what = q.body;
	return true;
}

/* A kernel without the protocol's part of sock_diag says "no such socket" to every question. So it must first find one of ours, as not another's. */
static bool answers(bool udp)
{
	struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC, 0);
	socklen_t bytes = sizeof(own);
	bool right;

	if (fd < 0)
		return false;
	right = bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0 && (udp || listen(fd, 1) == 0) &&
		getsockname(fd, (struct sockaddr *)&own, &bytes) == 0 && ask(question_of((struct sockaddr *)&own, udp), geteuid()) == 1 &&
		ask(question_of((struct sockaddr *)&own, udp), geteuid() + 1) == 0;
	close(fd);
	return right;
}

bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid, uint64_t asker, uint64_t now_us)
{
	static bool known[2];
	bool udp = socket_type == SOCK_DGRAM;

	if (!known[udp])
		known[udp] = answers(udp);
	if (!known[udp])
		return false;
	return udp ? only_uid_receives(address, uid, asker, now_us) : ask(question_of(address, false), uid) == 1;
}
