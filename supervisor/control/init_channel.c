/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of init_channel.h on their socket: a fixed header, then text, then at most one descriptor.
 *
 * Both ends are Cordon, but a length that does not add up is still refused: PID 1 must survive a broken enforcer.
 */
#include "supervisor/control/init_channel.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

const char *init_state_name(enum init_state state)
{
	static const char *const names[] = {
		[STATE_BOOT] = "boot",	       [STATE_STARTING] = "starting", [STATE_READY] = "ready",
		[STATE_DEGRADED] = "degraded", [STATE_DRAINING] = "draining", [STATE_STOPPED] = "stopped",
	};

	return (unsigned)state < ARRAY_SIZE(names) ? names[state] : "unknown";
}

int init_channel_send(int channel, const struct init_message *message, const char *text, int fd)
{
	char data[sizeof(*message) + INIT_TEXT_MAX];
	size_t len = text ? strlen(text) : 0;
	struct init_message m = *message;

	if (len > INIT_TEXT_MAX)
		return -EMSGSIZE;
	m.text_bytes = (uint32_t)len;
	memcpy(data, &m, sizeof(m));
	if (len)
		memcpy(data + sizeof(m), text, len);
	/* A full queue must come back as -EAGAIN on a non-blocking socket, and wait on a blocking one: no flag of ours. */
	return io_send(channel, data, sizeof(m) + len, fd >= 0 ? &fd : NULL, fd >= 0 ? 1 : 0, 0);
}

int init_channel_receive(int channel, struct init_message *ret_message, char *ret_text, size_t text_max, int *ret_fd, int flags)
{
	char data[sizeof(*ret_message) + INIT_TEXT_MAX];
	_cleanup_close_ int fd = -1;
	struct init_message m;
	unsigned nr_fds = 0;
	ssize_t len;

	len = io_receive(channel, data, sizeof(data), &fd, 1, &nr_fds, flags);
	if (len <= 0)
		return (int)len;
	if (nr_fds == 0)
		fd = -1;
	if ((size_t)len < sizeof(m))
		return -EBADMSG;
	memcpy(&m, data, sizeof(m));
	if (m.text_bytes != (size_t)len - sizeof(m) || m.text_bytes >= text_max)
		return -EBADMSG;
	memcpy(ret_text, data + sizeof(m), m.text_bytes);
	ret_text[m.text_bytes] = '\0';
	*ret_message = m;
	*ret_fd = TAKE_FD(fd);
	return 1;
}
