/* SPDX-License-Identifier: Apache-2.0 */
/* Probes of what we may do to a process of an agent's uid: take its descriptors, read its memory, see its execs. And who is PID 1. */
#include "supervisor/boundary/probe_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/target.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONTENT "a peer's own bytes"

struct peer {
	pid_t pid;
	int fd;			/* a file of the peer's: a number in its table */
	char secret[32];	/* in its private memory only */
	bool other_uid;
};

/* A peer that waits to be looked at; with program it executes that descriptor once we write to *ret_go. */
static bool start_peer(struct finding *f, struct peer *peer, bool as_agent, int program, int *ret_go)
{
	bool *changed = probe_share(sizeof(*changed));
	int ready[2], go[2];
	char byte;

	if (!changed || pipe2(ready, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		goto fail;
	peer->fd = memfd_create("peer", MFD_CLOEXEC);
	if (peer->fd < 0)
		goto fail;
	peer->pid = fork();
	if (peer->pid == 0) {
		static char *const argv[] = { "probe", NULL }, *const environment[] = { NULL };

		*changed = as_agent && probe_become_agent();
		strcpy(peer->secret, CONTENT);
		if (write(peer->fd, CONTENT, sizeof(CONTENT)) != sizeof(CONTENT) || write(ready[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
			_exit(1);
		syscall(SYS_execveat, program, "", argv, environment, AT_EMPTY_PATH);
		_exit(1);
	}
	close(peer->fd);	/* so that only the peer has it */
	if (peer->pid < 0 || read(ready[0], &byte, 1) != 1)
		goto fail;
	peer->other_uid = *changed;
	*ret_go = go[1];
	return true;
fail:
	found(f, LAYER_UNSUPPORTED, "The probe cannot start a process to look at: %s.", strerror(errno));
	return false;
}

/*
 * Tries act on a peer of another uid, and where that fails or there is no other uid for us, on one of our own: such a layer is degraded.
 * act returns 0 or -errno.
 */
static void try_on_peers(struct finding *f, const char *what, int (*act)(struct peer *, int go), int program)
{
	struct peer peer = { 0 };
	int go, across = -EPERM, own;

	if (!start_peer(f, &peer, true, program, &go))
		return;
	if (peer.other_uid) {
		across = act(&peer, go);
		kill(peer.pid, SIGKILL);	/* SIGTERM would not end one that is stopped */
		if (across == 0) {
			found(f, LAYER_ACTIVE, "%s of another uid works.", what);
			return;
		}
		peer = (struct peer){ 0 };
		if (!start_peer(f, &peer, false, program, &go))
			return;
	} else {
		across = -ENOTSUP;	/* we may not change uids, so it was not tried */
	}
	own = act(&peer, go);
	kill(peer.pid, SIGKILL);
	if (own < 0)
		found(f, LAYER_UNSUPPORTED, "%s fails, even of our own uid: %s.", what, strerror(-own));
	else if (across == -ENOTSUP)
		found(f, LAYER_DEGRADED, "%s of our own uid works; another uid could not be tried, because we are not root.", what);
	else
		found(f, LAYER_DEGRADED, "%s works only within one uid; of another it fails: %s.", what, strerror(-across));
}

static int take_descriptor(struct peer *peer, int go)
{
	_cleanup_close_ int pidfd = sys_pidfd_open(peer->pid, 0), fd = -1;
	char content[sizeof(CONTENT)] = "";

	(void)go;
	if (pidfd < 0)
		return -errno;
	fd = sys_pidfd_getfd(pidfd, peer->fd);
	if (fd < 0)
		return -errno;
	return pread(fd, content, sizeof(content), 0) == sizeof(content) && strcmp(content, CONTENT) == 0 ? 0 : -EIO;
}

void probe_pidfd_getfd(struct finding *f)
{
	try_on_peers(f, "Taking a descriptor from a process", take_descriptor, -1);
}

static int read_memory(struct peer *peer, int go)
{
	static struct target target;
	char content[sizeof(peer->secret)] = "";
	struct iovec local = { content, 1 }, remote = { peer->secret, 1 };
	int r;

	(void)go;
	target_init(&target, peer->pid);
	/* The child is our copy: what is at this address here holds nothing, there the secret. */
	r = target_read(&target, (uintptr_t)peer->secret, content, sizeof(content));
	if (r < 0)	/* it says EFAULT for whatever the kernel said */
		return process_vm_readv(peer->pid, &local, 1, &remote, 1, 0) < 0 ? -errno : r;
	return strcmp(content, CONTENT) == 0 ? 0 : -EIO;
}

void probe_memory(struct finding *f)
{
	try_on_peers(f, "Reading the memory of a process", read_memory, -1);
}

static int see_exec(struct peer *peer, int go)
{
	int status;

	if (ptrace(PTRACE_SEIZE, peer->pid, NULL, (void *)(PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)) < 0)
		return -errno;
	if (write(go, "", 1) != 1)
		return -errno;
	if (waitpid(peer->pid, &status, __WALL) != peer->pid)
		return -errno;
	/* It stands before its first instruction; killed here, it never runs any. */
	return WIFSTOPPED(status) && status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8) ? 0 : -ENOEXEC;
}

void probe_ptrace(struct finding *f)
{
	_cleanup_close_ int program = open("/proc/self/exe", O_PATH | O_CLOEXEC);

	if (program < 0)
		found(f, LAYER_UNSUPPORTED, "The probe cannot open its own program: %s.", strerror(errno));
	else
		try_on_peers(f, "Seeing the exec of a process", see_exec, program);
}

/* Its name is what everybody may read of PID 1; who could forge it is PID 1. */
void probe_pid1(struct finding *f)
{
	_cleanup_close_ int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
	char name[32] = "";
	ssize_t len = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);

	if (len < 0) {
		found(f, LAYER_UNSUPPORTED, "The name of PID 1 cannot be read: %s.", strerror(errno));
		return;
	}
	name[strcspn(name, "\n")] = '\0';
	if (strcmp(name, "cordond") == 0)
		found(f, LAYER_ACTIVE, "PID 1 of this pid namespace is cordond.");
	else
		found(f, LAYER_DEGRADED, "PID 1 of this pid namespace is not cordond: orphans and signals are somebody else's.");
}
