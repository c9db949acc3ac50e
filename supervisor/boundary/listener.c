/* SPDX-License-Identifier: Apache-2.0 */
/* The four ioctls of a notification descriptor, and what their errors mean. */
#include "supervisor/boundary/listener.h"

#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ERROR_NUMBER_MAX 4095	/* the kernel returns anything beyond as a value */

int listener_open(int fd, struct listener *ret_listener)
{
	struct seccomp_notif_sizes sizes;
	struct listener l = { .fd = fd, .request_bytes = sizeof(struct seccomp_notif) };

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0) {
		int r = -errno;

		close(fd);
		return r;
	}
	if (sizes.seccomp_notif > l.request_bytes)
		l.request_bytes = sizes.seccomp_notif;
	l.sync_wake_up = ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) == 0;
	*ret_listener = l;
	return 0;
}

int listener_receive(const struct listener *l, void *slot, size_t slot_bytes)
{
	if (slot_bytes < l->request_bytes)
		return -EMSGSIZE;
	/* The kernel refuses a request that is not all zeroes (EINVAL). */
	memset(slot, 0, l->request_bytes);
	if (ioctl(l->fd, SECCOMP_IOCTL_NOTIF_RECV, slot) == 0)
		return 1;
	/* Between poll and RECV the caller was killed, or took a signal. Peers that took this for a dead listener died. */
	if (errno == ENOENT || errno == EINTR)
		return 0;
	return -errno;
}

bool listener_waits(const struct listener *l, uint64_t id)
{
	return ioctl(l->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int listener_answer(const struct listener *l, uint64_t id, struct answer answer)
{
	struct seccomp_notif_resp response = { .id = id };

	switch (answer.kind) {
	case ANSWER_DENY:
		if (answer.error_number <= 0 || answer.error_number > ERROR_NUMBER_MAX)
			return -EINVAL;
		response.error = -answer.error_number;
		break;
	case ANSWER_CONTINUE:
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		break;
	case ANSWER_VALUE:
		response.val = answer.value;
		break;
	default:
		return -EINVAL;
	}
	if (ioctl(l->fd, SECCOMP_IOCTL_NOTIF_SEND, &response) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int listener_give(const struct listener *l, uint64_t id, int fd, bool close_on_exec)
{
	struct seccomp_notif_addfd give = {
		.id = id, .flags = SECCOMP_ADDFD_FLAG_SEND, .srcfd = (uint32_t)fd, .newfd_flags = close_on_exec ? O_CLOEXEC : 0,
	};

	return ioctl(l->fd, SECCOMP_IOCTL_NOTIF_ADDFD, &give) < 0 && errno != ENOENT ? -errno : 0;
}

void listener_close(struct listener *l)
{
	if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
}
