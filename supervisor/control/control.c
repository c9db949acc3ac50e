/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/control/control.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

int control_path(const char *name, char *ret_path, size_t path_bytes)
{
	const char *dir = getenv("CORDON_RUN_DIR");
	int len = snprintf(ret_path, path_bytes, "%s/%s", dir && *dir ? dir : CORDON_RUN_DIR, name);

	return len < 0 || (size_t)len >= path_bytes ? -ENAMETOOLONG : 0;
}

static int address_of(const char *path, struct sockaddr_un *ret_address)
{
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret_address->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret_address->sun_path, path, strlen(path) + 1);
	return 0;
}

static int say_unreachable(struct err *e, int number, const char *path)
{
	if (number == ENOENT || number == ECONNREFUSED)
		return err_set(e, -number, "supervisor not running: %s does not answer", path);
	if (number == EACCES || number == EPERM)
		return err_set(e, -EACCES, "no permission to ask the supervisor at %s: root is needed", path);
	return err_set(e, -number, "cannot ask the supervisor at %s: %s", path, strerror(number));
}

int control_ask(const char *request, struct buf *ret_json, struct err *ret_error)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = 5 };
	struct sockaddr_un address;
	char path[sizeof(address.sun_path)];
	int r;

	if (fd < 0)
		return err_set(ret_error, -errno, "no socket: %s", strerror(errno));
	if (control_path(CORDON_CONTROL_SOCKET, path, sizeof(path)) < 0 || address_of(path, &address) < 0)
		return err_set(ret_error, -ENAMETOOLONG, "CORDON_RUN_DIR is too long for a socket's path");
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return say_unreachable(ret_error, errno, path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	r = io_send(fd, request, strlen(request), NULL, 0, 0);
	if (r == 0)
		r = io_send(fd, "\n", 1, NULL, 0, 0);
	if (r == 0)
		r = io_read_all(fd, CONTROL_ANSWER_MAX, ret_json);
	if (r == -EAGAIN)
		return err_set(ret_error, -ETIMEDOUT, "the supervisor did not answer within %ld s", (long)patience.tv_sec);
	if (r < 0)
		return say_unreachable(ret_error, -r, path);
	if (ret_json->len == 0)
		return err_set(ret_error, -EACCES, "the supervisor refused to answer: root is needed, from outside a launch");
	return 0;
}

/* Only a socket nobody listens on is ours to remove. */
static int clear_way(const char *path, const struct sockaddr_un *address, int type, struct err *e)
{
	struct stat st;
	int fd, r;

	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_set(e, -errno, "cannot look at %s: %s", path, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return err_set(e, -EEXIST, "%s is in the way: a socket belongs there, remove it", path);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_set(e, -errno, "no socket: %s", strerror(errno));
	r = connect(fd, (const struct sockaddr *)address, sizeof(*address));
	close(fd);
	if (r == 0)
		return err_set(e, -EADDRINUSE, "another supervisor listens at %s", path);
	return unlink(path) < 0 ? err_set(e, -errno, "cannot remove the stale socket %s: %s", path, strerror(errno)) : 0;
}

int control_listen(const char *path, int type, unsigned mode, struct err *ret_error)
{
	struct sockaddr_un address;
	int fd, r;

	if (address_of(path, &address) < 0)
		return err_set(ret_error, -ENAMETOOLONG, "%s is too long for a socket's path", path);
	r = clear_way(path, &address, type, ret_error);
	if (r < 0)
		return r;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(ret_error, -errno, "no socket: %s", strerror(errno));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || chmod(path, mode) < 0 || listen(fd, 128) < 0) {
		r = err_set(ret_error, -errno, "cannot listen at %s: %s", path, strerror(errno));
		close(fd);
		return r;
	}
	return fd;
}
