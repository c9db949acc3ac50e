/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hand of an agent: does single calls on AF_UNIX and netlink sockets, and makes files and names (hand_files.c), that the enforcer judged and may not let
 * the caller do itself.
 *
 * It has the agent's ids and no capability, and stands in the agents' mount namespace and the agent's Landlock scope, so a path or an abstract
 * name means and reaches what it does for the agent. What others see of it is the agent's uid and groups, and its own pid. It decides nothing,
 * trusts no length, never waits, and needs nothing that the agent could take away but its life: then the enforcer has another one forked.
 */
#include "shim/hand.h"

#include "shim/lockdown.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct order {
	struct hand_request head;
	char data[HAND_DATA_MAX];
};

static int take_ids(const struct zygote_hand *order)
{
	static const struct spec nobody = { .flags = SPEC_DROP_CAPABILITIES };

	if (order->nr_groups > HAND_GROUPS_MAX || setgroups(order->nr_groups, order->groups) < 0 ||
	    setresgid(order->gid, order->gid, order->gid) < 0 || setresuid(order->uid, order->uid, order->uid) < 0)
		return -1;
	return lockdown_last_capabilities(&nobody) < 0 ? -1 : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* connect(2) of a blocking socket would wait for room in the server's queue. */
static int connect_now(int fd, const struct hand_request *r)
{
	int on = r->flags & HAND_UNBLOCK ? 1 : 0, off = 0, result;

	if (on && ioctl(fd, FIONBIO, &on) < 0)
		return -errno;
	result = connect(fd, (const struct sockaddr *)(const void *)r->address, r->address_bytes) < 0 ? -errno : 0;
	if (on)
		(void)ioctl(fd, FIONBIO, &off);
	return result;
}

static ssize_t send_now(int fd, struct order *o, const int *passed, unsigned nr_passed)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(HAND_FDS_MAX * sizeof(int))];
	struct iovec data = { o->data, o->head.data_bytes };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	struct cmsghdr *c;
	ssize_t sent;

	if (o->head.address_bytes) {
		m.msg_name = o->head.address;
		m.msg_namelen = o->head.address_bytes;
	}
	if (nr_passed) {
		memset(control, 0, sizeof(control));
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(nr_passed * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nr_passed * sizeof(int));
		memcpy(CMSG_DATA(c), passed, nr_passed * sizeof(int));
	}
	sent = sendmsg(fd, &m, (int)o->head.call_flags | MSG_DONTWAIT | MSG_NOSIGNAL);
	return sent < 0 ? -errno : sent;
}

static ssize_t perform(struct order *o, const int *fds, unsigned nr_fds, int *ret_fd)
{
	const struct hand_request *r = &o->head;
	unsigned passed = r->flags & HAND_CWD ? 2 : 1;

	if (r->action >= HAND_OPEN)
		return hand_make(r, o->data, fds, nr_fds, ret_fd);
	if (nr_fds < passed || r->address_bytes > sizeof(r->address))
		return -EINVAL;
	if (r->flags & HAND_CWD && fchdir(fds[1]) < 0)
		return -errno;
	switch (r->action) {
	case HAND_CONNECT:
		return connect_now(fds[0], r);
	case HAND_BIND:
		umask(r->umask & 0777);
		return bind(fds[0], (const struct sockaddr *)(const void *)r->address, r->address_bytes) < 0 ? -errno : 0;
	case HAND_SEND:
		return send_now(fds[0], o, fds + passed, nr_fds - passed);
	default:
		return -EINVAL;
	}
}

/* io_receive() takes fewer descriptors than one message may pass on. Returns the length, 0 at the end, or -errno; fds are the caller's then. */
static ssize_t receive(int channel, struct order *o, int *ret_fds, unsigned *ret_nr_fds)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(HAND_FDS_MAX * sizeof(int))];
	struct iovec data = { o, sizeof(*o) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t len = recvmsg(channel, &m, MSG_CMSG_CLOEXEC);

	*ret_nr_fds = 0;
	if (len < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
		unsigned nr = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(ret_fds + *ret_nr_fds, CMSG_DATA(c), nr * sizeof(int));
		*ret_nr_fds += nr;
	}
	return len;
}

int hand_main(const struct zygote_hand *order, int channel)
{
	static struct order o;
	int fds[HAND_FDS_MAX], made;
	unsigned nr_fds;
	ssize_t len;

	prctl(PR_SET_NAME, "cordon-hand", 0, 0, 0);
	if (take_ids(order) < 0)
		return 1;
	for (;;) {
		struct hand_answer answer = { 0 };

		len = receive(channel, &o, fds, &nr_fds);
		if (len == -EINTR)
			continue;
		if (len < (ssize_t)sizeof(o.head))
			return 0;
		answer.job = o.head.job;
		made = -1;
		answer.value = o.head.data_bytes == (size_t)len - sizeof(o.head) ? perform(&o, fds, nr_fds, &made) : -EINVAL;
		if (answer.value < 0) {
			answer.error_number = (int)-answer.value;
			answer.value = 0;
		}
		while (nr_fds)
			close(fds[--nr_fds]);
		if ((o.head.flags & HAND_CWD && chdir("/") < 0) || io_send(channel, &answer, sizeof(answer), &made, made < 0 ? 0 : 1, 0) < 0)
			return 1;
		if (made >= 0)
			close(made);
	}
}
