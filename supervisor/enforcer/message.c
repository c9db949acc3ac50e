/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private copies of messages to be sent: header, address, parts, control data; and of their data, piece by piece.
 *
 * Reads as the kernel does (__copy_msghdr(), import_iovec()), with its errors in its order.
 */
#include "supervisor/enforcer/sockets.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#ifndef SOL_UDP
#define SOL_UDP 17
#endif
#ifndef SOL_TLS
#define SOL_TLS 282
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#define BYTES_MAX 0x7ffff000u	/* MAX_RW_COUNT */

int message_flags(const struct seccomp_data *data)
{
	return (int)data->args[data->nr == SYS_sendmsg ? 2 : 3];
}

unsigned message_count(const struct seccomp_data *data)
{
	unsigned count = (unsigned)data->args[2];

	if (data->nr != SYS_sendmmsg)
		return 1;
	return count > MESSAGE_PARTS_MAX ? MESSAGE_PARTS_MAX : count;
}

static int read_sendto(struct target *t, const struct seccomp_data *data, struct message *m)
{
	int length = (int)data->args[5];

	if (length < 0 || length > (int)sizeof(m->name))
		return -EINVAL;
	if (target_read(t, data->args[4], &m->name, (size_t)length) < 0)
		return -EFAULT;
	m->named = true;
	m->name_bytes = (socklen_t)length;
	m->nr_parts = 1;
	m->parts[0] = (struct iovec){ (void *)(uintptr_t)data->args[1], data->args[2] > BYTES_MAX ? BYTES_MAX : data->args[2] };
	m->total = m->parts[0].iov_len;
	return 0;
}

static int read_name(struct target *t, const struct msghdr *head, struct message *m)
{
	if (!head->msg_name)
		return 0;
	if ((int)head->msg_namelen < 0)
		return -EINVAL;
	m->name_bytes = head->msg_namelen > sizeof(m->name) ? sizeof(m->name) : head->msg_namelen;
	m->named = m->name_bytes > 0;
	return target_read(t, (uintptr_t)head->msg_name, &m->name, m->name_bytes) < 0 ? -EFAULT : 0;
}

static int read_parts(struct target *t, const struct msghdr *head, struct message *m)
{
	if (head->msg_iovlen > MESSAGE_PARTS_MAX)
		return -EMSGSIZE;
	m->nr_parts = head->msg_iovlen;
	if (target_read(t, (uintptr_t)head->msg_iov, m->parts, m->nr_parts * sizeof(m->parts[0])) < 0)
		return -EFAULT;
	for (uint64_t i = 0; i < m->nr_parts; i++) {
		if ((ssize_t)m->parts[i].iov_len < 0)
			return -EINVAL;
		if (m->parts[i].iov_len > BYTES_MAX - m->total)
			m->parts[i].iov_len = BYTES_MAX - m->total;
		m->total += m->parts[i].iov_len;
	}
	return 0;
}

int message_read(struct target *t, const struct seccomp_data *data, unsigned index, struct message *m)
{
	struct msghdr head;
	int r;

	m->named = false;
	m->name_bytes = 0;
	m->total = m->nr_parts = m->control_bytes = 0;
	m->flags = message_flags(data);
	memset(&m->name, 0, sizeof(m->name));
	if (data->nr == SYS_sendto)
		return read_sendto(t, data, m);
	if (target_read(t, data->args[1] + (uint64_t)index * sizeof(struct mmsghdr), &head, sizeof(head)) < 0)
		return -EFAULT;
	r = read_name(t, &head, m);
	if (r == 0)
		r = read_parts(t, &head, m);
	if (r < 0 || !head.msg_control || !head.msg_controllen)
		return r;
	if (head.msg_controllen > sizeof(m->control))
		return -ENOBUFS;
	m->control_bytes = head.msg_controllen;
	return target_read(t, (uintptr_t)head.msg_control, m->control, m->control_bytes) < 0 ? -EFAULT : 0;
}

ssize_t message_read_data(struct target *t, const struct message *m, uint64_t offset, char *ret_data, size_t max)
{
	static struct iovec remote[MESSAGE_PARTS_MAX];
	struct iovec local = { ret_data, 0 };
	unsigned long nr = 0;
	ssize_t len;

	for (uint64_t i = 0; i < m->nr_parts && local.iov_len < max; i++) {
		const struct iovec *part = &m->parts[i];
		size_t bytes = part->iov_len;

		if (offset >= bytes) {
			offset -= bytes;
			continue;
		}
		bytes -= offset;
		if (bytes > max - local.iov_len)
			bytes = max - local.iov_len;
		remote[nr++] = (struct iovec){ (char *)part->iov_base + offset, bytes };
		local.iov_len += bytes;
		offset = 0;
	}
	if (!nr)
		return 0;
	len = process_vm_readv(t->tid, &local, 1, remote, nr, 0);
	return len < 0 ? -EFAULT : len;
}

int message_write_length(pid_t tid, const struct seccomp_data *data, unsigned index, unsigned bytes)
{
	struct iovec local = { &bytes, sizeof(bytes) };
	struct iovec remote = {
		(void *)(uintptr_t)(data->args[1] + index * sizeof(struct mmsghdr) + offsetof(struct mmsghdr, msg_len)), sizeof(bytes),
	};

	return process_vm_writev(tid, &local, 1, &remote, 1, 0) == sizeof(bytes) ? 0 : -EFAULT;
}

/* ---- control messages ---- */

static struct msghdr control_of(const struct message *m)
{
	return (struct msghdr){ .msg_control = (void *)(uintptr_t)m->control, .msg_controllen = m->control_bytes };
}

/* Every one that is known to leave the destination alone. IP_RETOPTS and IPV6_RTHDR are not: they carry source routes. */
static bool stays(const struct cmsghdr *c)
{
	switch (c->cmsg_level) {
	case SOL_SOCKET:	/* marks and the like ask for capabilities, which are lowered (sockets.c) */
	case SOL_TLS:
		return true;
	case SOL_UDP:
		return c->cmsg_type == UDP_SEGMENT;
	case IPPROTO_IP:
		return c->cmsg_type == IP_PKTINFO || c->cmsg_type == IP_TOS || c->cmsg_type == IP_TTL;
	case IPPROTO_IPV6:
		return c->cmsg_type == IPV6_PKTINFO || c->cmsg_type == IPV6_HOPLIMIT || c->cmsg_type == IPV6_TCLASS || c->cmsg_type == IPV6_DONTFRAG;
	default:
		return false;
	}
}

bool message_controls_stay(const struct message *m)
{
	struct msghdr head = control_of(m);

	/* A message that this walk does not reach is malformed to the kernel as well, which then sends nothing. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c; c = CMSG_NXTHDR(&head, c))
		if (!stays(c))
			return false;
	return true;
}

int message_passed(const struct message *m, int *ret_fds, unsigned max)
{
	struct msghdr head = control_of(m);
	unsigned nr = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(&head); c; c = CMSG_NXTHDR(&head, c)) {
		size_t room = m->control_bytes - (size_t)((char *)c - m->control);
		size_t bytes;

		if (c->cmsg_len < sizeof(*c) || c->cmsg_len > room)
			return -EINVAL;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type == SCM_CREDENTIALS) /* credentials are never passed on: the kernel adds the sender's */
			continue;
		if (c->cmsg_type != SCM_RIGHTS)
			return -EINVAL;
		bytes = c->cmsg_len - CMSG_LEN(0);
		if (bytes / sizeof(int) > max - nr)
			return -ETOOMANYREFS;
		memcpy(ret_fds + nr, CMSG_DATA(c), bytes / sizeof(int) * sizeof(int));
		nr += (unsigned)(bytes / sizeof(int));
	}
	return (int)nr;
}
