/* SPDX-License-Identifier: Apache-2.0 */
/* Whole reads and writes; messages with descriptors. Whatever an unexpected message carried is closed here, never leaked. */
#include "supervisor/base/io.h"
#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int io_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_read_all(int fd, size_t limit_bytes, struct buf *ret_content)
{
	char chunk[16 * 1024];
	size_t total = 0;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if ((size_t)n > limit_bytes - total)
			return -EFBIG;
		total += (size_t)n;
		buf_append(ret_content, chunk, (size_t)n);
	}
	buf_append(ret_content, "", 0);		/* an empty file is "" and not NULL */
	return ret_content->failed ? -ENOMEM : 0;
}

int io_read_file(int dir_fd, const char *path, size_t limit_bytes, struct buf *ret_content)
{
	/* NONBLOCK: a FIFO in the file's place must not hold us until somebody writes. */
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	return io_read_all(fd, limit_bytes, ret_content);
}

/* The rest of a message of which a stream took only a part. Half a message cannot be taken back: the connection ends then. */
static int send_rest(int socket, const char *data, size_t len, int flags)
{
	while (len) {
		ssize_t n = send(socket, data, len, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			shutdown(socket, SHUT_RDWR);
			return -EPIPE;
		}
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int io_send(int socket, const void *data, size_t len, const int *fds, unsigned nr_fds, int flags)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(IO_FDS_MAX * sizeof(int))];
	struct iovec iov = { .iov_len = len };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	/* An empty message reads as "closed" at the far end. */
	if (len == 0 || nr_fds > IO_FDS_MAX)
		return -EINVAL;
	memcpy(&iov.iov_base, &data, sizeof(data));	/* sendmsg() does not write there */
	if (nr_fds) {
		struct cmsghdr *header;

		memset(control, 0, sizeof(control));
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(nr_fds * sizeof(int));
		memcpy(CMSG_DATA(header), fds, nr_fds * sizeof(int));
	}
	do
		n = sendmsg(socket, &message, MSG_NOSIGNAL | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return send_rest(socket, (const char *)data + n, len - (size_t)n, MSG_NOSIGNAL | flags);
}

/* Stores up to fds_max received descriptors, closes the others. Returns how many there were. */
static unsigned take_descriptors(struct msghdr *message, int *ret_fds, unsigned fds_max)
{
	unsigned seen = 0;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		size_t count;

		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
			if (seen < fds_max)
				ret_fds[seen] = fd;
			else
				close(fd);
			seen++;
		}
	}
	return seen;
}

ssize_t io_receive(int socket, void *ret_data, size_t data_bytes, int *ret_fds, unsigned fds_max, unsigned *ret_nr_fds, int flags)
{
	/* Room for credentials too: with SO_PASSCRED on they would crowd out a descriptor. */
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(IO_FDS_MAX * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
	struct iovec iov = { ret_data, data_bytes };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int fds[IO_FDS_MAX];
	unsigned seen;
	ssize_t n;

	if (fds_max > IO_FDS_MAX)
		return -EINVAL;
	/*
	 * A far end that closed before it read everything makes the kernel report ECONNRESET, once, ahead of the messages it
	 * had sent (unix_release_sock). Those still count: the last may be an exit status, or a descriptor handed over.
	 */
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0)
		return -errno;
	seen = take_descriptors(&message, fds, fds_max);
	/* A peer's message that does not fit is refused whole: half of one would mean something else. */
	if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || seen > fds_max || n == 0) {
		for (unsigned i = 0; i < seen && i < fds_max; i++)
			close(fds[i]);
		if (n != 0 || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || seen > fds_max)
			return -EMSGSIZE;
		seen = 0;
	}
	if (seen)
		memcpy(ret_fds, fds, seen * sizeof(int));
	if (ret_nr_fds)
		*ret_nr_fds = seen;
	return n;
}
