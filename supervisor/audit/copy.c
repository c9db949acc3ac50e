/* SPDX-License-Identifier: Apache-2.0 */
/* Printing without waiting, on a descriptor whose flags are not ours to change. The writer thread blocks SIGPIPE. */
#include "supervisor/audit/copy.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * O_NONBLOCK on the given descriptor would hit everybody who shares it (PID 1, services). A pipe or terminal opened again
 * through /proc is a description of our own; where that is not allowed we look for room first.
 */
void copy_open(struct copy *ret_copy, int fd)
{
	char path[64];
	struct stat st;

	*ret_copy = (struct copy){ .fd = fd };
	if (fd < 0 || fstat(fd, &st) < 0) {
		ret_copy->fd = -1;
		return;
	}
	ret_copy->socket = S_ISSOCK(st.st_mode);
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0)
		*ret_copy = (struct copy){ .fd = fd, .owned = true };
	else
		ret_copy->may_block = true;
}

void copy_line(struct copy *copy, const char *line, size_t len)
{
	struct pollfd p = { .fd = copy->fd, .events = POLLOUT };
	char bytes[PIPE_BUF];
	ssize_t n;

	if (copy->fd < 0)
		return;
	if (len > sizeof(bytes) - 1)
		len = sizeof(bytes) - 1;
	memcpy(bytes, line, len);
	bytes[len++] = '\n';
	if (copy->may_block && (poll(&p, 1, 0) != 1 || !(p.revents & POLLOUT)))
		n = -1;
	else if (copy->socket)
		n = send(copy->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(copy->fd, bytes, len);
	if (n != (ssize_t)len)
		copy->lost++;
}

void copy_close(struct copy *copy)
{
	if (copy->owned)
		close(copy->fd);
	copy->fd = -1;
}
