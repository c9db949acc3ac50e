/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a helper process for a variable's value. Any worker thread; nothing of the enforcer's is touched. */
#include "supervisor/enforcer/value.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The enforcer's threads block signals and it ignores SIGPIPE: the helper starts as any program would. */
static int start(char *const *argv, int output)
{
	static const char *const environment[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	pid_t pid;
	int r;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, output, 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	r = posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, (char *const *)(uintptr_t)environment);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return -r;
}

static int run(const struct env_source *source, struct buf *ret_answer)
{
	_cleanup_free_ char **argv = calloc(source->command.nr + 4, sizeof(*argv));
	char timeout[16];
	int ends[2], r;

	if (!argv)
		return -ENOMEM;
	snprintf(timeout, sizeof(timeout), "%u", source->timeout_ms);
	argv[0] = (char *)(uintptr_t)"cordond";
	argv[1] = (char *)(uintptr_t)"value";
	argv[2] = timeout;
	for (size_t i = 0; i < source->command.nr; i++)
		argv[3 + i] = (char *)(uintptr_t)source->command.items[i];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	r = start(argv, ends[1]);
	close(ends[1]);
	if (r == 0)
		r = io_read_all(ends[0], VALUE_MAX_BYTES + 256, ret_answer);
	close(ends[0]);
	return r;
}

int value_ask(const struct env_source *source, struct buf *ret_value, char *why, size_t why_bytes)
{
	_cleanup_buf_ struct buf answer = { 0 };
	int r = run(source, &answer);

	if (r == 0 && answer.len > 1 && answer.data[0] == '+') {
		buf_append(ret_value, answer.data + 1, answer.len - 1);
		return ret_value->failed ? -ENOMEM : 0;
	}
	if (r == 0 && answer.len > 1)
		snprintf(why, why_bytes, "%.*s", (int)(answer.len - 1), answer.data + 1);
	else
		snprintf(why, why_bytes, "its command could not be run: %s", r < 0 ? strerror(-r) : "the helper ended");
	return r < 0 ? r : -EIO;
}
