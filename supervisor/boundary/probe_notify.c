/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of the notification itself: a caller whose getpgid(2) is notified, and what reaches it.
 *
 * The listener comes over as in a real launch: the caller shares our descriptor table while it installs the filter, then leaves it.
 */
#include "supervisor/boundary/probe_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#define CALL_MS 1500
#define VALUE 4242	/* no process group of ours */
#define CONTENT "cordon"
#define SLOT_BYTES 256

struct shared {			/* written by the caller */
	int listener_fd, install_error;
	long result;
	int result_error;
	char content[sizeof(CONTENT)];
	int flags;
};

struct scene {
	struct finding *finding;
	struct shared *shared;
	struct listener listener;
	pid_t caller;
	char slot[SLOT_BYTES] __attribute__((aligned(8)));
};

static const struct seccomp_notif *request(const struct scene *s)
{
	return (const void *)s->slot;
}

static int install_filter(unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ARRAY_SIZE(code), .filter = code };
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER | flags, &program);
	return fd < 0 ? -errno : fd;
}

static void ignore(int signal_number)
{
	(void)signal_number;
}

static void call(struct shared *shared, unsigned flags, int ready)
{
	const struct sigaction interrupt = { .sa_handler = ignore };	/* without SA_RESTART */
	int fd = install_filter(flags);

	sigaction(SIGUSR1, &interrupt, NULL);
	shared->listener_fd = fd;
	shared->install_error = fd < 0 ? -fd : 0;
	if (write(ready, "", 1) != 1 || fd < 0 || sys_close_range(3, ~0U, CLOSE_RANGE_UNSHARE) < 0)
		_exit(1);
	shared->result = syscall(SYS_getpgid, 0);
	shared->result_error = shared->result < 0 ? errno : 0;
	if (shared->result > 2 && shared->result != VALUE) {
		(void)!pread((int)shared->result, shared->content, sizeof(shared->content), 0);
		shared->flags = fcntl((int)shared->result, F_GETFD);
	}
	_exit(0);
}

/* A caller stopped in its call, received. False with the finding filled. */
static bool begin(struct scene *s, unsigned flags)
{
	struct pollfd p = { .events = POLLIN };
	int ready[2], r;
	char byte;

	s->shared = probe_share(sizeof(*s->shared));
	if (!s->shared || pipe2(ready, O_CLOEXEC) < 0) {
		found(s->finding, LAYER_UNSUPPORTED, "The probe cannot be set up: %s.", strerror(errno));
		return false;
	}
	s->caller = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	if (s->caller == 0)
		call(s->shared, flags, ready[1]);
	if (s->caller < 0 || read(ready[0], &byte, 1) != 1 || s->shared->install_error) {
		found(s->finding, LAYER_UNSUPPORTED, "A filter with a listener cannot be installed: %s.",
		      strerror(s->shared->install_error ? s->shared->install_error : errno));
		return false;
	}
	r = listener_open(s->shared->listener_fd, &s->listener);
	p.fd = s->listener.fd;
	if (r == 0)
		r = poll(&p, 1, CALL_MS) == 1 && p.revents & POLLIN ? listener_receive(&s->listener, s->slot, SLOT_BYTES) : -ETIMEDOUT;
	if (r != 1)
		found(s->finding, LAYER_UNSUPPORTED, "A notified call was not received: %s.", strerror(r < 0 ? -r : ENOENT));
	return r == 1;
}

/* Answers with VALUE and tells whether the caller saw it. */
static bool end(struct scene *s)
{
	int r = listener_answer(&s->listener, request(s)->id, (struct answer){ .kind = ANSWER_VALUE, .value = VALUE });

	if (r < 0)
		found(s->finding, LAYER_UNSUPPORTED, "A notified call cannot be answered: %s.", strerror(-r));
	else if (probe_reap(s->caller) != 0 || s->shared->result != VALUE)
		found(s->finding, LAYER_UNSUPPORTED, "The caller got %s instead of the answer.",
		      s->shared->result < 0 ? strerror(s->shared->result_error) : "another value");
	else
		return true;
	return false;
}

void probe_notify(struct finding *f)
{
	struct scene s = { .finding = f };

	if (begin(&s, 0) && end(&s))
		found(f, LAYER_ACTIVE, "A call was received, answered, and its caller got the answer.");
}

/* A caller that can be interrupted leaves its call as soon as it runs again: then the call is no longer valid. */
static void wait_for_interruption(const struct scene *s)
{
	const struct timespec pause = { .tv_nsec = 200 * 1000 };

	for (int i = 0; i < 25 && listener_waits(&s->listener, request(s)->id); i++)
		nanosleep(&pause, NULL);
}

void probe_wait_killable(struct finding *f)
{
	struct scene s = { .finding = f };

	if (!begin(&s, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV))
		return;
	kill(s.caller, SIGUSR1);
	wait_for_interruption(&s);
	if (end(&s))
		found(f, LAYER_ACTIVE, "A signal after a call was received did not interrupt it.");
	else
		found(f, LAYER_UNSUPPORTED, "A signal after a call was received interrupted it, though the kernel took the flag.");
}

void probe_sync_wake_up(struct finding *f)
{
	struct scene s = { .finding = f };

	if (!begin(&s, 0) || !end(&s))
		return;
	if (s.listener.sync_wake_up)
		found(f, LAYER_ACTIVE, "The listener took the flag and a call was answered under it.");
	else
		found(f, LAYER_UNSUPPORTED, "The listener refused the flag: answers may cross CPUs, which is slower.");
}

void probe_addfd(struct finding *f)
{
	struct scene s = { .finding = f };
	struct seccomp_notif_addfd add = { .flags = SECCOMP_ADDFD_FLAG_SEND, .newfd_flags = O_CLOEXEC };
	int fd;

	if (!begin(&s, 0))
		return;
	fd = memfd_create("probe", MFD_CLOEXEC);
	if (fd < 0 || write(fd, CONTENT, sizeof(CONTENT)) != sizeof(CONTENT)) {
		found(f, LAYER_UNSUPPORTED, "The probe cannot make a file: %s.", strerror(errno));
		return;
	}
	add.id = request(&s)->id;
	add.srcfd = (uint32_t)fd;
	if (ioctl(s.listener.fd, SECCOMP_IOCTL_NOTIF_ADDFD, &add) < 0)
		found(f, LAYER_UNSUPPORTED, "A descriptor cannot be placed in the caller: %s.", strerror(errno));
	else if (probe_reap(s.caller) != 0 || memcmp(s.shared->content, CONTENT, sizeof(CONTENT)) != 0 || !(s.shared->flags & FD_CLOEXEC))
		found(f, LAYER_UNSUPPORTED, "The caller did not get the descriptor that was placed.");
	else
		found(f, LAYER_ACTIVE, "A descriptor was placed in a caller as the result of its call.");
}
