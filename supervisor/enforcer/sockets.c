/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect: judged on a private copy of the address, then done with exactly that copy on a duplicate of the caller's socket.
 *
 * A connect that may block is done by a worker thread, which touches its own job alone and hands it back through an eventfd; the loop never waits.
 * Only sockets whose family cannot leave the machine (AF_UNIX and netlink) are continued. Masks and the Landlock scope hold what must not be
 * reached there. By then the number can stand for another socket, though (dup2() in another thread: measured, won at the first try): the
 * launch's own layer refuses every TCP connect that the caller itself makes.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL	/* since 6.9 */
#endif
#define WORKERS_MAX 256
#define WORKER_STACK_BYTES (128 * 1024)
#define WATCH_MS 250		/* how soon a connect whose caller died is broken off */

struct asked {			/* a private copy of one connect */
	struct sockaddr_storage address;
	socklen_t bytes;
	int fd;			/* duplicate of the caller's socket, owned */
	int domain, type;
};

struct job {
	struct job *next_running;	/* the loop's */
	struct job *next_done;		/* the worker's, under the lock */
	struct connects *owner;
	struct call call;	/* call.launch NULL: the launch is gone */
	uint64_t id;
	struct asked asked;
	int error_number;
	struct decision decision;
	bool broken_off;
};

struct connects {
	pthread_mutex_t lock;	/* of done */
	struct job *done;
	int event;
	struct job *running;	/* the loop's alone */
	unsigned nr_running;
	struct source watch;
};

/* ---- reading ---- */

static int open_pidfd(pid_t tid)
{
	int fd = sys_pidfd_open(tid, PIDFD_THREAD);

	/* Before 6.9 only a leader can be opened; a thread shares its table in all but the oddest programs, which then fail here. */
	return fd >= 0 ? fd : sys_pidfd_open(tid, 0);
}

static int read_asked(struct target *t, const struct seccomp_notif *request, struct asked *ret)
{
	_cleanup_close_ int pidfd = open_pidfd((pid_t)request->pid);
	socklen_t bytes = sizeof(int);
	int length = (int)request->data.args[2];

	ret->fd = -1;
	if (length < 0 || length > (int)sizeof(ret->address))
		return -EINVAL;
	memset(&ret->address, 0, sizeof(ret->address));
	ret->bytes = (socklen_t)length;
	if (target_read(t, request->data.args[1], &ret->address, (size_t)length) < 0)
		return -EFAULT;
	if (pidfd < 0)
		return -errno;
	ret->fd = sys_pidfd_getfd(pidfd, (int)request->data.args[0]);
	if (ret->fd < 0)
		return -errno;
	if (getsockopt(ret->fd, SOL_SOCKET, SO_DOMAIN, &ret->domain, &bytes) < 0 ||
	    getsockopt(ret->fd, SOL_SOCKET, SO_TYPE, &ret->type, &bytes) < 0)
		return -errno;
	return 0;
}

/* The kernel's own limits, which come before anybody's judgement: 24 bytes are the oldest sockaddr_in6 it takes. */
static bool is_too_short(const struct asked *a)
{
	if (a->bytes < sizeof(sa_family_t))
		return true;
	return (a->address.ss_family == AF_INET && a->bytes < sizeof(struct sockaddr_in)) || (a->address.ss_family == AF_INET6 && a->bytes < 24);
}

/* ---- judging ---- */

static void describe(const struct asked *a, const char *unix_path, struct buf *ret_what)
{
	const struct sockaddr_in *v4 = (const void *)&a->address;
	const struct sockaddr_in6 *v6 = (const void *)&a->address;
	struct json_out j = { .buf = ret_what };
	char text[INET6_ADDRSTRLEN] = "";

	json_object_begin(&j, "sock");
	json_int(&j, "family", a->address.ss_family);
	json_text(&j, "type", a->type == SOCK_STREAM ? "stream" : a->type == SOCK_DGRAM ? "dgram" : "other");
	if (a->address.ss_family == AF_INET) {
		json_text(&j, "addr", inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text)));
		json_uint(&j, "port", ntohs(v4->sin_port));
	} else if (a->address.ss_family == AF_INET6) {
		json_text(&j, "addr", inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)));
		json_uint(&j, "port", ntohs(v6->sin6_port));
	} else if (a->address.ss_family == AF_UNIX) {
		json_bytes(&j, "path", bytes_of(unix_path));
	}
	json_object_end(&j);
}

/*
 * The socket file's name as it resolves for the caller, in place of what was written; "@NAME" for an abstract one. Returns false when there is
 * nothing to judge, because it names no socket: the kernel has an errno for that.
 */
static bool resolve_unix(const struct call *call, const struct asked *a, char *ret_path, size_t path_bytes)
{
	static struct resolved object;
	const size_t offset = offsetof(struct sockaddr_un, sun_path);
	const struct sockaddr_un *un = (const void *)&a->address;
	char asked[sizeof(un->sun_path) + 1] = "";
	size_t len = a->bytes - offset;

	if (a->bytes <= offset || a->address.ss_family != AF_UNIX)
		return false;
	if (len > sizeof(un->sun_path))
		len = sizeof(un->sun_path);
	memcpy(asked, un->sun_path, len);
	if (!asked[0]) {
		snprintf(ret_path, path_bytes, "@%.*s", (int)len - 1, asked + 1);
		return true;
	}
	if (resolve((pid_t)call->request->pid, AT_FDCWD, asked, true, &object) < 0)
		return false;
	snprintf(ret_path, path_bytes, "%s", object.path);
	resolved_close(&object);
	return true;
}

static void judge_unix(struct enforcer *e, const struct call *call, const char *path, struct decision *ret, struct decision *ret_shadow)
{
	/* An address holds 107 bytes, a resolved path more: judged as a path, which it is. */
	struct action action = { .kind = ACTION_CONNECT, .path = path, .socket_type = SOCK_STREAM };
	struct sockaddr_un un = { .sun_family = AF_UNIX };

	action.address = (const struct sockaddr *)&un;
	action.address_bytes = sizeof(un);
	notify_judge(e, call->launch, &action, ret, ret_shadow);
}

static void judge_internet(struct enforcer *e, const struct call *call, const struct asked *a, struct decision *ret,
			   struct decision *ret_shadow)
{
	struct action action = {
		.kind = ACTION_CONNECT, .address = (const struct sockaddr *)&a->address, .address_bytes = a->bytes, .socket_type = a->type,
	};

	notify_judge(e, call->launch, &action, ret, ret_shadow);
	if (ret->verdict == VERDICT_ALLOW || !loopback_is(action.address, a->bytes))
		return;
	/* Asked only now: most connects go to the proxy, which needs no look at the listeners. */
	action.agent_listens = loopback_only_uid_listens(action.address, a->type, call->launch->spec->uid);
	if (action.agent_listens)
		notify_judge(e, call->launch, &action, ret, ret_shadow);
}

/* ---- acting ---- */

static void record_done(struct enforcer *e, const struct call *call, const struct asked *a, const struct decision *decision,
			const struct decision *shadow, const char *unix_path, const char *certainty, int error_number)
{
	_cleanup_buf_ struct buf what = { 0 };
	struct outcome outcome = {
		.decision = decision, .shadow = shadow, .verb = "allow", .certainty = certainty, .error_number = error_number, .what = &what,
	};

	if (e->policy->audit_allowed == AUDIT_ALLOWED_NONE)
		return;
	describe(a, unix_path, &what);
	record_call(e, call, &outcome);
}

static void answer_result(struct enforcer *e, const struct call *call, int error_number)
{
	struct answer answer = { .kind = error_number ? ANSWER_DENY : ANSWER_VALUE, .error_number = error_number };

	notify_answer(e, call, answer);
}

static void *work(void *argument)
{
	struct job *job = argument;
	struct connects *c = job->owner;
	uint64_t one = 1;

	job->error_number = 0;
	if (connect(job->asked.fd, (struct sockaddr *)&job->asked.address, job->asked.bytes) < 0)
		job->error_number = errno;
	pthread_mutex_lock(&c->lock);
	job->next_done = c->done;
	c->done = job;
	pthread_mutex_unlock(&c->lock);
	if (write(c->event, &one, sizeof(one)) < 0)
		return NULL; /* the counter is full: the loop has been woken already */
	return NULL;
}

static int start_worker(struct job *job)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int r;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, WORKER_STACK_BYTES);
	r = pthread_create(&thread, &attributes, work, job);
	pthread_attr_destroy(&attributes);
	return -r;
}

/* A connect that may block. Takes a->fd. Returns 0, or -errno when nobody is there to do it. */
static int delegate(struct enforcer *e, const struct call *call, const struct asked *a, const struct decision *decision)
{
	struct connects *c = e->connects;
	struct job *job;
	int r;

	if (c->nr_running >= WORKERS_MAX)
		return -EAGAIN;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){ .owner = c, .call = *call, .id = call->request->id, .asked = *a, .decision = *decision };
	__atomic_store_n(&call->slot->stage, SLOT_ACTING, __ATOMIC_RELEASE);
	r = start_worker(job);
	if (r < 0) {
		free(job);
		return r;
	}
	job->next_running = c->running;
	c->running = job;
	c->nr_running++;
	return 0;
}

static void act(struct enforcer *e, const struct call *call, struct asked *a, const struct decision *decision, const struct decision *shadow)
{
	bool blocks = a->type != SOCK_DGRAM && a->type != SOCK_RAW && !(fcntl(a->fd, F_GETFL) & O_NONBLOCK) &&
		      a->address.ss_family != AF_UNSPEC;
	int r;

	if (blocks) {
		r = delegate(e, call, a, decision);
		if (r == 0)
			a->fd = -1;
		else
			answer_result(e, call, -r);
		return;
	}
	__atomic_store_n(&call->slot->stage, SLOT_ACTING, __ATOMIC_RELEASE);
	r = connect(a->fd, (struct sockaddr *)&a->address, a->bytes) < 0 ? errno : 0;
	record_done(e, call, a, decision, shadow, "", "emulated", r);
	answer_result(e, call, r);
}

static void deny(struct enforcer *e, const struct call *call, const struct asked *a, const struct decision *decision, const char *unix_path)
{
	_cleanup_buf_ struct buf what = { 0 };

	describe(a, unix_path, &what);
	notify_deny(e, call, decision, a->domain == AF_UNIX ? EACCES : ECONNREFUSED, &what);
}

static void handle_asked(struct enforcer *e, const struct call *call, struct asked *a)
{
	const bool off = call->launch->subject.mode == MODE_OFF;
	struct decision decision, shadow = { 0 };
	char unix_path[RESOLVE_PATH_MAX] = "";

	if (a->domain == AF_UNIX) {
		if (!resolve_unix(call, a, unix_path, sizeof(unix_path)))
			return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
		judge_unix(e, call, unix_path, &decision, &shadow);
	} else if (is_too_short(a)) {
		return answer_result(e, call, EINVAL);
	} else {
		judge_internet(e, call, a, &decision, &shadow);
	}
	if (decision.verdict != VERDICT_ALLOW)
		return deny(e, call, a, &decision, unix_path);
	if (off || (a->domain != AF_INET && a->domain != AF_INET6)) {
		record_done(e, call, a, &decision, off ? &shadow : NULL, unix_path, off ? "advisory" : "checked", 0);
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	}
	act(e, call, a, &decision, &shadow);
}

void socket_handle(struct enforcer *e, const struct call *call)
{
	struct asked asked;
	int r;

	target_init(&e->target, (pid_t)call->request->pid);
	r = read_asked(&e->target, call->request, &asked);
	if (!listener_waits(&call->launch->listener, call->request->id))
		r = -EINTR;
	if (r < 0)
		answer_result(e, call, -r);
	else
		handle_asked(e, call, &asked);
	if (asked.fd >= 0)
		close(asked.fd);
}

/* ---- what workers hand back ---- */

static void finish(struct enforcer *e, struct job *job)
{
	struct job **link = &e->connects->running;

	while (*link && *link != job)
		link = &(*link)->next_running;
	if (*link)
		*link = job->next_running;
	e->connects->nr_running--;
	if (job->call.launch) {
		record_done(e, &job->call, &job->asked, &job->decision, NULL, "", "emulated", job->error_number);
		answer_result(e, &job->call, job->error_number);
	}
	close(job->asked.fd);
	free(job);
}

static void done_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct connects *c = e->connects;
	struct job *job, *next;
	uint64_t count;

	(void)events;
	if (read(source->fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&c->lock);
	job = c->done;
	c->done = NULL;
	pthread_mutex_unlock(&c->lock);
	for (; job; job = next) {
		next = job->next_done;
		finish(e, job);
	}
}

/* A caller that was killed leaves its worker waiting for minutes: the connect is broken off. */
static void watch_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	uint64_t ticks;

	(void)events;
	if (read(source->fd, &ticks, sizeof(ticks)) < 0)
		return;
	for (struct job *job = e->connects->running; job; job = job->next_running) {
		if (job->broken_off || (job->call.launch && listener_waits(&job->call.launch->listener, job->id)))
			continue;
		job->broken_off = true;
		shutdown(job->asked.fd, SHUT_RDWR);
	}
}

int sockets_start(struct enforcer *e)
{
	struct itimerspec every = { .it_interval.tv_nsec = WATCH_MS * 1000000L, .it_value.tv_nsec = WATCH_MS * 1000000L };
	struct connects *c = calloc(1, sizeof(*c));
	int timer, event, r;

	if (!c)
		return -ENOMEM;
	e->connects = c;
	pthread_mutex_init(&c->lock, NULL);
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	event = c->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (timer < 0 || event < 0 || timerfd_settime(timer, 0, &every, NULL) < 0)
		return -errno;
	r = source_add(e, &c->watch, timer, EPOLLIN, watch_ready);
	return r < 0 ? r : source_add(e, &e->connect_done, event, EPOLLIN, done_ready);
}

void socket_forget(struct enforcer *e, const struct launch *l)
{
	for (struct job *job = e->connects->running; job; job = job->next_running)
		if (job->call.launch == l)
			job->call.launch = NULL;
}
