/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect and bind: with exactly the address that was judged, on a duplicate of the caller's socket.
 *
 * A connect is begun without waiting and, on a blocking socket, asked again when the kernel has news: the second connect(2) is how the kernel
 * tells its outcome, and it can go to no other address than the first. So a connect that waits may be begun anew by the next enforcer.
 */
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/loopback.h"
#include "supervisor/boundary/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

/* In the slot of a call that acts: its description is blocking, and has our O_NONBLOCK for the moment. Never a result. */
#define NONBLOCK_IS_OURS INT64_MIN

bool talk_address_is_short(const struct talk *t)
{
	if (t->address_bytes < sizeof(sa_family_t))
		return true;
	return t->address_bytes < (t->address.ss_family == AF_INET6 ? 24 : sizeof(struct sockaddr_in)) && t->address.ss_family != AF_UNSPEC;
}

/* ---- one step ---- */

/*
 * O_NONBLOCK belongs to the description, which the caller's threads and children share: it is set for the length of one call that does not wait.
 * The slot says so, and a new enforcer takes it back.
 */
static int set_nonblocking(const struct talk *t, int on)
{
	return ioctl(t->source.fd, FIONBIO, &on) < 0 ? -errno : 0;
}

int connect_step(struct talk *t)
{
	const bool touch = t->type != SOCK_DGRAM && t->address.ss_family != AF_UNSPEC && talk_blocks(t);
	int r;

	talk_acting(t, touch ? NONBLOCK_IS_OURS : 0);
	r = touch ? set_nonblocking(t, 1) : 0;
	if (r < 0)
		return r;
	r = connect(t->source.fd, (const struct sockaddr *)&t->address, t->address_bytes) < 0 ? -errno : 0;
	/* On loopback the answer came while connect(2) held the socket, and is taken in as it lets go: the second one tells at once. */
	if (r == -EINPROGRESS && touch && loopback_is((const struct sockaddr *)&t->address, t->address_bytes))
		r = connect(t->source.fd, (const struct sockaddr *)&t->address, t->address_bytes) < 0 ? -errno : 0;
	if (touch)
		(void)set_nonblocking(t, 0);
	/* A blocking socket that is connecting already waits for that connection, as it would in the kernel. */
	if (r == -EALREADY && talk_blocks(t))
		r = -EINPROGRESS;
	if (r == -EINPROGRESS && talk_blocks(t))
		talk_idle(t);
	else
		talk_acted(t, 0, -r);
	return r;
}

void connect_recover(const struct call *call)
{
	_cleanup_close_ int pidfd = call_pidfd(call);
	_cleanup_close_ int fd = -1;
	int off = 0;

	if (call->slot->value != NONBLOCK_IS_OURS || pidfd < 0)
		return;
	fd = sys_pidfd_getfd(pidfd, (int)call->request->data.args[0]);
	if (fd >= 0)
		(void)ioctl(fd, FIONBIO, &off);
}

/* ---- connect ---- */

static enum talk_next deny(struct enforcer *e, struct talk *t, const char *path, int error_number)
{
	talk_record_denied(e, t, path, error_number);
	return talk_answer(e, t, 0, error_number);
}

static enum talk_next connect_ip(struct enforcer *e, struct talk *t)
{
	_uninitialized_ char path[RESOLVE_PATH_MAX];
	int r;

	if (talk_address_is_short(t))
		return talk_answer(e, t, 0, EINVAL);
	if (!t->begun && t->address.ss_family == AF_UNSPEC) /* takes an association back; the kernel reads nothing but the family */
		memset((char *)&t->address + sizeof(sa_family_t), 0, sizeof(t->address) - sizeof(sa_family_t));
	if (!t->begun && !talk_judge(e, t, ACTION_CONNECT, path))
		return deny(e, t, path, ECONNREFUSED);
	t->begun = true;
	r = connect_step(t);
	if (!t->recorded) /* as it stands when it has begun: one that waits may find no room in the log when it ends */
		talk_record_allowed(e, t, "", "emulated", -r);
	t->recorded = true;
	if (r == -EINPROGRESS && talk_blocks(t))
		return TALK_WAIT_ROOM;
	return talk_answer(e, t, 0, -r);
}

/* ---- by hand ---- */

static int ask(struct enforcer *e, struct talk *t, enum hand_action action)
{
	struct hand_request request = {
		.action = action, .flags = action == HAND_CONNECT && talk_blocks(t) ? HAND_UNBLOCK : 0, .address_bytes = t->address_bytes,
	};
	_cleanup_close_ int folder = hand_folder(t);
	int fds[] = { t->source.fd, folder };

	memcpy(request.address, &t->address, sizeof(request.address));
	if (action == HAND_BIND)
		request.umask = process_umask((pid_t)t->call.request->pid);
	if (folder >= 0)
		request.flags |= HAND_CWD;
	else if (folder != -ENOENT)
		return folder;
	talk_acting(t, 0);
	return hand_ask(e, t, &request, NULL, fds, folder >= 0 ? 2 : 1);
}

static enum talk_next by_hand(struct enforcer *e, struct talk *t, enum hand_action action)
{
	bool answered = t->handed;
	int r;

	if (!answered) {
		r = ask(e, t, action);
		if (r == 0)
			return TALK_WAIT_HAND;
	} else {
		t->handed = false;
		t->job = 0;
		r = -t->hand_error;
	}
	/* No room in the server's queue, which a blocking connect waits for, or in the hand's. Nothing tells when there is some. */
	if (r == -EAGAIN && (!answered || talk_blocks(t))) {
		talk_idle(t);
		return TALK_WAIT_TICK;
	}
	talk_acted(t, 0, -r);
	return talk_answer(e, t, 0, -r);
}

static enum talk_next act_elsewhere(struct enforcer *e, struct talk *t, enum action_kind kind)
{
	_uninitialized_ char path[RESOLVE_PATH_MAX];

	if (!t->begun) {
		/* Only a family: the kernel says what it thinks of that. Multicast groups of netlink: capabilities. */
		bool nameless = t->domain == AF_UNIX ? t->address_bytes <= sizeof(sa_family_t) : t->domain == AF_NETLINK && kind == ACTION_BIND;

		if (!nameless && (!talk_judge(e, t, kind, path) || (kind == ACTION_BIND && !make_may_bind(e, t->call.launch, path, &t->decision))))
			return deny(e, t, path, EACCES);
		if (!nameless)
			talk_record_allowed(e, t, path, "checked", 0);
		t->begun = true;
		/*
		 * The descriptors are the caller's own, so it stays this socket; sockets.h says why that is enough. Not for a name that the launch
		 * may not make itself.
		 */
		if (!t->shared && (nameless || kind != ACTION_BIND || !make_is_withheld(t->call.launch, path)) &&
		    ((t->domain == AF_UNIX && !(browsers_exist(e) && kind == ACTION_CONNECT)) || t->domain == AF_NETLINK))
			return talk_continue(e, t);
	}
	return by_hand(e, t, kind == ACTION_BIND ? HAND_BIND : HAND_CONNECT);
}

enum talk_next connect_act(struct enforcer *e, struct talk *t)
{
	t->timeout_error = talk_is_ip(t) ? EINPROGRESS : EAGAIN;
	return talk_is_ip(t) ? connect_ip(e, t) : act_elsewhere(e, t, ACTION_CONNECT);
}

void connect_end(struct enforcer *e, struct talk *t, int error_number)
{
	talk_answer(e, t, 0, error_number);
}

/* ---- bind ---- */

enum talk_next bind_act(struct enforcer *e, struct talk *t)
{
	_uninitialized_ char path[RESOLVE_PATH_MAX];
	int r;

	if (!talk_is_ip(t))
		return act_elsewhere(e, t, ACTION_BIND);
	if (t->address_bytes < (t->domain == AF_INET6 ? 24 : sizeof(struct sockaddr_in)))
		return talk_answer(e, t, 0, EINVAL);
	if (!talk_judge(e, t, ACTION_BIND, path))
		return deny(e, t, path, t->call.launch->subject.mode == MODE_READONLY ? EACCES : EADDRINUSE);
	talk_acting(t, 0);
	/* Without CAP_NET_BIND_SERVICE (lower_capabilities()): a port below ip_unprivileged_port_start is EACCES, as for the caller. */
	r = bind(t->source.fd, (const struct sockaddr *)&t->address, t->address_bytes) < 0 ? errno : 0;
	if (r == 0)
		browsers_bound(e, &t->call, t->source.fd);
	talk_acted(t, 0, r);
	talk_record_allowed(e, t, "", "emulated", r);
	return talk_answer(e, t, 0, r);
}
