/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What services print: through a pipe into a bounded file, the last of it kept for the one sentence that says why a service failed.
 *
 * PID 1 copies bytes and never looks into them; only service_tail() makes text of them, by replacing what is not printable.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOG_LIMIT_BYTES (1u << 20)	/* then NAME.log becomes NAME.log.1 */

static void log_path(const struct init *init, const struct service_run *s, const char *suffix, char ret_path[static PATH_MAX])
{
	snprintf(ret_path, PATH_MAX, "%s/logs/%s.log%s", init->settings->state_dir, s->policy->name, suffix);
}

static int log_open(const struct init *init, struct service_run *s)
{
	char path[PATH_MAX];
	off_t len;

	log_path(init, s, "", path);
	s->log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (s->log_file < 0)
		return -errno;
	len = lseek(s->log_file, 0, SEEK_END);
	s->log_bytes = len > 0 ? (uint64_t)len : 0;
	return 0;
}

static void log_rotate(const struct init *init, struct service_run *s)
{
	char path[PATH_MAX], older[PATH_MAX];

	log_path(init, s, "", path);
	log_path(init, s, ".1", older);
	close(s->log_file);
	s->log_file = -1;
	if (rename(path, older) < 0)
		(void)unlink(path);
	(void)log_open(init, s);
}

static void tail_add(struct service_run *s, const char *data, size_t len)
{
	size_t keep;

	if (len > LOG_TAIL_BYTES) {
		data += len - LOG_TAIL_BYTES;
		len = LOG_TAIL_BYTES;
	}
	keep = s->tail_len + len > LOG_TAIL_BYTES ? LOG_TAIL_BYTES - len : s->tail_len;
	memmove(s->tail, s->tail + s->tail_len - keep, keep);
	memcpy(s->tail + keep, data, len);
	s->tail_len = keep + len;
}

/* Returns true while there may be more. */
static bool log_copy(struct init *init, struct service_run *s)
{
	char data[4096];
	ssize_t len = read(s->log_pipe, data, sizeof(data));

	if (len < 0 && errno == EINTR)
		return true;
	if (len == 0) {
		close(s->log_pipe);
		s->log_pipe = -1;
	}
	if (len <= 0)
		return false;
	tail_add(s, data, (size_t)len);
	if (s->log_file >= 0 && s->log_bytes + (uint64_t)len > LOG_LIMIT_BYTES)
		log_rotate(init, s);
	/* A full disk loses a service's log, nothing else. */
	if (s->log_file >= 0 && io_write_all(s->log_file, data, (size_t)len) == 0)
		s->log_bytes += (uint64_t)len;
	return true;
}

void service_on_log(struct init *init, struct service_run *s)
{
	for (int i = 0; i < 16 && s->log_pipe >= 0; i++)
		if (!log_copy(init, s))
			break;
}

/* The last lines as one printable line. */
void service_tail(const struct service_run *s, char *ret_text, size_t text_bytes)
{
	size_t begin = s->tail_len > text_bytes / 2 ? s->tail_len - text_bytes / 2 : 0, len = 0;

	for (size_t i = begin; i < s->tail_len && len + 4 < text_bytes; i++) {
		char c = s->tail[i];

		if (c == '\n' && i + 1 < s->tail_len) {
			memcpy(ret_text + len, " | ", 3);
			len += 3;
		} else if (c != '\n') {
			ret_text[len++] = c >= 0x20 && c < 0x7f ? c : '?';
		}
	}
	ret_text[len] = '\0';
}

int service_open_output(struct init *init, struct service_run *s, int *ret_write_end)
{
	int ends[2], r;

	if (s->log_pipe >= 0)
		close(s->log_pipe);
	s->log_pipe = -1;
	s->tail_len = 0;
	if (s->log_file < 0)
		(void)log_open(init, s); /* without a file there is still the tail */
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0 ? -errno : init_watch(init, ends[0], EPOLLIN, TAG_LOG, (size_t)(s - init->services));
	if (r < 0) {
		close(ends[0]);
		close(ends[1]);
		return r;
	}
	s->log_pipe = ends[0];
	*ret_write_end = ends[1];
	return 0;
}
