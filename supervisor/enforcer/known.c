/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that called before. A table of fixed size; whoever comes later takes the place. The enforcer's one thread. */
#include "supervisor/enforcer/known.h"

#include "supervisor/base/sys.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

#define KNOWN_MAX 64
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL	/* since 6.9 */
#endif

static struct known table[KNOWN_MAX];

static struct known *place_of(pid_t tid)
{
	return &table[(unsigned)tid % KNOWN_MAX];
}

static void empty(struct known *k)
{
	if (k->caller.pid)
		close(k->pidfd);
	k->caller.pid = 0;
	k->call = 0;
}

void known_forget(pid_t tid)
{
	struct known *k = place_of(tid);

	if (k->caller.pid == tid)
		empty(k);
}

/* Older kernels give no pidfd to a thread that is not the leader: such a one is looked up every time. */
static bool meet(struct known *k, pid_t tid)
{
	char link[48];
	struct stat st;
	ssize_t len;

	k->pidfd = sys_pidfd_open(tid, PIDFD_THREAD);
	if (k->pidfd < 0)
		k->pidfd = sys_pidfd_open(tid, 0);
	if (k->pidfd < 0)
		return false;
	k->caller.pid = tid;
	snprintf(link, sizeof(link), "/proc/%d/exe", tid);
	len = readlink(link, k->program, sizeof(k->program));
	if (len <= 0 || (size_t)len == sizeof(k->program) || stat(link, &st) < 0 || process_read(tid, &k->caller.facts) < 0)
		return false;
	k->caller.program = (struct bytes){ k->program, (size_t)len };
	exec_identity_of(&st, &k->caller.identity);
	/* Read by number: the number was this process's all the while if it still is. */
	return sys_pidfd_send_signal(k->pidfd, 0) == 0;
}

const struct known *known_perhaps(pid_t tid)
{
	const struct known *k = place_of(tid);

	return k->caller.pid == tid ? k : NULL;
}

void known_calls(pid_t tid, uint64_t call)
{
	struct known *k = place_of(tid);

	if (k->caller.pid == tid)
		k->call = call;
}

const struct known *known_process(pid_t tid, uint64_t call)
{
	struct known *k = place_of(tid);

	if (k->caller.pid == tid && ((call && k->call == call) || sys_pidfd_send_signal(k->pidfd, 0) == 0))
		return k;
	empty(k);
	if (meet(k, tid))
		return k;
	empty(k);
	return NULL;
}
