/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/guard.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EVENTS (FAN_OPEN_PERM | FAN_ONDIR)

/* A mark on a mount covers all of it: only a mask's own mount may get one, never the tree a missing mask would leave in its place. */
static bool is_own_mount(const char *path)
{
	struct statx st;

	return statx(AT_FDCWD, path, AT_NO_AUTOMOUNT, STATX_TYPE, &st) == 0 && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

/* In a child: entering a namespace is for good, and a path means what it means there. */
static int mark_all(int guard, int mount_namespace, const char *const *paths)
{
	if (setns(mount_namespace, CLONE_NEWNS) < 0)
		return errno;
	for (; *paths; paths++)
		if (is_own_mount(*paths) && fanotify_mark(guard, FAN_MARK_ADD | FAN_MARK_MOUNT, EVENTS, AT_FDCWD, *paths) < 0)
			return errno;
	return 0;
}

int guard_open(int mount_namespace, const char *const *paths, struct err *ret_error)
{
	int guard = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME), status;
	pid_t child;

	if (guard < 0)
		return err_set(ret_error, -errno, "no fanotify: %s", strerror(errno));
	child = fork();
	if (child == 0)
		_exit(mark_all(guard, mount_namespace, paths));
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return guard;
	close(guard);
	status = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
	return err_set(ret_error, -status, "what is guarded cannot be marked: %s", strerror(status));
}

int guard_receive(int guard, struct guard_event *ret_events, size_t max)
{
	_Alignas(struct fanotify_event_metadata) char buffer[4096];
	struct fanotify_event_metadata *m;
	size_t want = max * FAN_EVENT_METADATA_LEN, nr = 0;
	ssize_t len = read(guard, buffer, want < sizeof(buffer) ? want : sizeof(buffer));

	if (len < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (m = (void *)buffer; FAN_EVENT_OK(m, len); m = FAN_EVENT_NEXT(m, len))
		if (m->fd >= 0 && nr < max)
			ret_events[nr++] = (struct guard_event){ .fd = m->fd, .pid = m->pid };
	return (int)nr;
}

static void answer(int guard, const struct guard_event *event, uint32_t verdict)
{
	struct fanotify_response response = { .fd = event->fd, .response = verdict };

	ssize_t written = write(guard, &response, sizeof(response));

	(void)written; /* a caller that was killed meanwhile takes no answer (ENOENT) */
	close(event->fd);
}

void guard_refuse(int guard, const struct guard_event *event)
{
	answer(guard, event, FAN_DENY);
}

void guard_allow(int guard, const struct guard_event *event)
{
	answer(guard, event, FAN_ALLOW);
}
