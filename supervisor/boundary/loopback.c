/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/loopback.h"

#include "supervisor/base/cleanup.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>

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

/* Reads answers until DONE. Returns 1 when a foreign listener was among them, 0 when not, -1 when it cannot be known. */
static int read_answers(int fd, uid_t uid, in_port_t port)
{
	_Alignas(struct nlmsghdr) char buffer[16384];

	for (;;) {
		ssize_t len = recv(fd, buffer, sizeof(buffer), 0);
		const struct nlmsghdr *h = (const void *)buffer;

		if (len <= 0)
			return -1;
		for (; NLMSG_OK(h, (size_t)len); h = NLMSG_NEXT(h, len)) {
			const struct inet_diag_msg *m = NLMSG_DATA(h);

			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
				return -1;
			if (m->id.idiag_sport == port && m->idiag_uid != uid)
				return 1;
		}
	}
}

static int foreign_listener(int family, int protocol, in_port_t port, uid_t uid)
{
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	struct timeval patience = { .tv_usec = 200000 };
	struct question q = {
		.head = { .nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .sdiag_family = (__u8)family, .sdiag_protocol = (__u8)protocol,
			  .idiag_states = 1U << (protocol == IPPROTO_UDP ? TCP_CLOSE : TCP_LISTEN), .id.idiag_sport = port },
	};

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 || send(fd, &q, sizeof(q), 0) != sizeof(q))
		return -1;
	return read_answers(fd, uid, port);
}

bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid)
{
	/* sin_port and sin6_port stand in the same place. */
	in_port_t port = ((const struct sockaddr_in *)(const void *)address)->sin_port;
	int protocol = socket_type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP;

	/* A dual-stack listener of IPv6 answers IPv4 as well: both families are asked for either. */
	return foreign_listener(AF_INET, protocol, port, uid) == 0 && foreign_listener(AF_INET6, protocol, port, uid) == 0;
}
