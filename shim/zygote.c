/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The zygote: one per (agent, user, mode class). Stands in the agents' mount namespace with nothing left but what forking keepers and
 * stepping down to an agent's ids takes, and forks a keeper per launch and, on demand, the agent's hand.
 *
 * It holds no listener and no policy. Single-threaded; its parent is whoever is enforcer, and PID 1 after that one died.
 */
#include "shim/zygote.h"

#include "shim/hand.h"
#include "shim/keeper.h"
#include "shim/lockdown.h"
#include "shim/proto.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int fail(const char *what)
{
	int number = errno;
	char line[128];
	int len = snprintf(line, sizeof(line), "%s: %s", what, strerror(number));

	/* The enforcer reads a text instead of the single byte that means ready. */
	(void)io_send(ZYGOTE_CHANNEL_FD, line, (size_t)len, NULL, 0, 0);
	return 1;
}

/*
 * The order matters: the namespace first (needs SYS_ADMIN), capabilities next, then no_new_privs, which the Landlock layer needs once
 * SYS_ADMIN is gone. dumpable last: setns and capset would set it back.
 */
static int lock_down(bool off)
{
	/* In off without SYS_ADMIN there is none: it stays where it is. */
	if (!(off && fcntl(ZYGOTE_MOUNTS_FD, F_GETFD) < 0) && setns(ZYGOTE_MOUNTS_FD, CLONE_NEWNS) < 0)
		return fail("cannot enter the agents' mount namespace");
	close(ZYGOTE_MOUNTS_FD);
	if (chdir("/") < 0)
		return fail("cannot enter / of the agents' mount namespace");
	if (!off) {
		if (lockdown_zygote_capabilities() < 0)
			return fail("cannot drop capabilities");
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			return fail("cannot set no_new_privs");
		if (lockdown_scope_layer() < 0)
			return fail("cannot add the Landlock scope layer");
	}
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return fail("cannot become undumpable");
	return 0;
}

static void start_keeper(const struct zygote_launch *launch, const int fds[static KEEPER_FDS])
{
	struct keeper_message failed = { .type = KEEPER_FAILED, .stage = STAGE_FORK, .launch_id = launch->launch_id };
	pid_t pid = fork();

	if (pid == 0) {
		close(ZYGOTE_CHANNEL_FD);
		_exit(keeper_main(launch, fds));
	}
	if (pid < 0) {
		failed.number = errno;
		(void)io_send(fds[KEEPER_FD_CHANNEL], &failed, sizeof(failed), NULL, 0, MSG_DONTWAIT);
	}
	for (unsigned i = 0; i < KEEPER_FDS; i++)
		close(fds[i]);
}

static void start_hand(const struct zygote_hand *order, int channel)
{
	if (fork() == 0) {
		close(ZYGOTE_CHANNEL_FD);
		_exit(hand_main(order, channel));
	}
	close(channel); /* without a child the enforcer sees it hang up */
}

int zygote_main(bool off)
{
	union {
		uint32_t magic;
		struct zygote_launch launch;
		struct zygote_hand hand;
	} order;
	int fds[KEEPER_FDS];
	unsigned nr_fds;
	ssize_t len;

	setsid();
	signal(SIGCHLD, SIG_IGN); /* keepers report themselves; nobody waits for them */
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_NAME, "cordon-zygote", 0, 0, 0);
	if (lock_down(off))
		return 1;
	if (io_send(ZYGOTE_CHANNEL_FD, "\n", 1, NULL, 0, 0) < 0)
		return 1;
	for (;;) {
		len = io_receive(ZYGOTE_CHANNEL_FD, &order, sizeof(order), fds, KEEPER_FDS, &nr_fds, 0);
		if (len <= 0)
			return 0; /* enforcer and PID 1 are both gone */
		if (len == sizeof(order.launch) && order.magic == PROTO_MAGIC && nr_fds == KEEPER_FDS) {
			start_keeper(&order.launch, fds);
			continue;
		}
		if (len == sizeof(order.hand) && order.magic == PROTO_HAND_MAGIC && nr_fds == 1) {
			start_hand(&order.hand, fds[0]);
			continue;
		}
		while (nr_fds)
			close(fds[--nr_fds]);
	}
}
