/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zygotes: one per (agent, uid, mode class), started on first use.
 *
 * A zygote's channel is kept by PID 1 too, so it serves the next enforcer. What it was sent before it was locked down waits in its socket.
 */
#include "supervisor/enforcer/internal.h"

#include "shim/zygote.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/sha256.h"
#include "supervisor/base/sys.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

uint64_t zygote_id(const char *agent, uid_t uid, bool off)
{
	struct sha256 hash;
	uint8_t digest[32];
	uint64_t id;

	sha256_init(&hash);
	sha256_update(&hash, agent, strlen(agent) + 1);
	sha256_update(&hash, &uid, sizeof(uid));
	sha256_update(&hash, &off, sizeof(off));
	sha256_final(&hash, digest);
	memcpy(&id, digest, sizeof(id));
	return id;
}

static void zygote_remove(struct enforcer *e, struct zygote *z)
{
	struct zygote **link = &e->zygotes;

	while (*link && *link != z)
		link = &(*link)->next;
	if (*link)
		*link = z->next;
	source_close(e, &z->source);
	pid1_tell(e, ENFORCER_DROP, KEPT_ZYGOTE, z->id, 0, NULL, -1);
	loop_free_later(e, z);
}

/* It says "\n" once it is locked down, a text when it could not be, and hangs up when it is dead. */
static void zygote_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct zygote *z = container_of(source, struct zygote, source);
	char text[sizeof(z->failure)];
	ssize_t len = io_receive(source->fd, text, sizeof(text) - 1, NULL, 0, NULL, MSG_DONTWAIT);

	if (events & EPOLLOUT) {
		source_change(e, source, EPOLLIN);
		requests_state_changed(e);
	}
	if (len == -EAGAIN)
		return;
	if (len == 1) {
		z->ready = true;
		return;
	}
	text[len > 0 ? len : 0] = 0;
	record_text(e, "layer", AUDIT_HIGH, "zygote", len > 0 ? text : "ended; launches of its class need a new one");
	zygote_remove(e, z);
}

void zygote_wants_room(struct enforcer *e, struct zygote *z)
{
	source_change(e, &z->source, EPOLLIN | EPOLLOUT);
}

static void exec_shim(bool off, int channel, int mounts)
{
	const char *shim = getenv("CORDON_SHIM");
	char *argv[] = { (char *)(uintptr_t)"cordon-zygote", (char *)(uintptr_t)"zygote", (char *)(uintptr_t)(off ? "off" : "safe"), NULL };
	char *env[] = { NULL }, line[256];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Out of the way first: either may sit on the other's number. */
	channel = fcntl(channel, F_DUPFD, 16);
	if (mounts >= 0)
		mounts = fcntl(mounts, F_DUPFD, 16);
	if (dup2(channel, ZYGOTE_CHANNEL_FD) < 0 || (mounts < 0 ? close(ZYGOTE_MOUNTS_FD) < 0 && errno != EBADF : dup2(mounts, ZYGOTE_MOUNTS_FD) < 0) ||
	    sys_close_range(ZYGOTE_MOUNTS_FD + 1, ~0U, 0) < 0)
		_exit(1);
	shim = shim && *shim ? shim : CORDON_SHIM;
	execve(shim, argv, env);
	snprintf(line, sizeof(line), "cannot execute %s: %s", shim, strerror(errno));
	(void)io_send(ZYGOTE_CHANNEL_FD, line, strlen(line), NULL, 0, 0);
	_exit(1);
}

/* Forks the shim. Returns our end of its channel, or -errno. */
static int fork_shim(bool off, int mounts, pid_t *ret_pid)
{
	int pair[2], r = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ret_pid = fork();
	if (*ret_pid == 0)
		exec_shim(off, pair[1], mounts);
	if (*ret_pid < 0)
		r = -errno;
	close(pair[1]);
	if (r < 0)
		close(pair[0]);
	return r < 0 ? r : pair[0];
}

static struct zygote *zygote_start(struct enforcer *e, uint64_t id, bool off, struct err *ret_error)
{
	const bool here = off && !e->listener_works_off;	/* nothing can be mounted: unmediated, as the layers say */
	int mounts = here ? -1 : plan_mounts(e, off, ret_error), r;
	struct zygote *z;

	/* A safe zygote in an off container makes the first masks: they are guarded from then on. */
	if ((mounts < 0 && !here) || protected_start(e, ret_error) < 0 || browser_file_start(e, ret_error) < 0)
		return NULL;
	z = calloc(1, sizeof(*z));
	r = z ? fork_shim(off, mounts, &z->pid) : -ENOMEM;
	if (r >= 0)
		r = source_add(e, &z->source, r, EPOLLIN, zygote_ready); /* on failure its end is closed, and it ends */
	if (r < 0) {
		err_set(ret_error, r, "cannot start a zygote: %s", strerror(-r));
		free(z);
		return NULL;
	}
	z->id = id;
	pid1_tell(e, ENFORCER_KEEP, KEPT_ZYGOTE, id, z->pid, NULL, z->source.fd);
	z->next = e->zygotes;
	e->zygotes = z;
	return z;
}

struct zygote *zygote_for(struct enforcer *e, const char *agent, uid_t uid, bool off, struct err *ret_error)
{
	uint64_t id = zygote_id(agent, uid, off);

	for (struct zygote *z = e->zygotes; z; z = z->next)
		if (z->id == id)
			return z;
	/* Its launches stand in the dead one's scope layer; a new one's could not signal them. */
	for (const struct launch *l = e->launches; l; l = l->next)
		if (l->zygote == id && l->spec) {
			err_set(ret_error, -EAGAIN, "the zygote of this agent died; nothing of it starts until its earlier launches have ended");
			return NULL;
		}
	return zygote_start(e, id, off, ret_error);
}

void zygote_adopt(struct enforcer *e, uint64_t id, pid_t pid, int fd)
{
	struct zygote *z = calloc(1, sizeof(*z));

	if (!z) {
		close(fd);
		return;
	}
	z->id = id;
	z->ready = true;
	z->pid = pid;
	if (source_add(e, &z->source, fd, EPOLLIN, zygote_ready) < 0) {
		free(z);
		return;
	}
	z->next = e->zygotes;
	e->zygotes = z;
}

bool zygote_ended(struct enforcer *e, pid_t pid)
{
	for (struct zygote *z = e->zygotes; z; z = z->next)
		if (z->pid == pid)
			return true; /* its channel hangs up: zygote_ready() does the rest */
	return false;
}
