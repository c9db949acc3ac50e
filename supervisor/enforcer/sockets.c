/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket calls: the caller's socket as a duplicate, whether the call may be continued (sockets.h says when), the judgement, the records.
 *
 * What the kernel would say of a bad descriptor, length or pointer is said here, in the kernel's order, because nothing else reads them.
 */
#include "supervisor/enforcer/known.h"
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/base/text.h"
#include "supervisor/boundary/loopback.h"
#include "supervisor/boundary/ports.h"
#include "supervisor/boundary/process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL	/* since 6.9 */
#endif
#define LONE_THREAD_LINKS 3	/* of /proc/PID/task: itself, "..", and one thread */

/* ---- answers ---- */

enum talk_next talk_answer(struct enforcer *e, struct talk *t, int64_t value, int error_number)
{
	struct answer answer = { .kind = error_number ? ANSWER_DENY : ANSWER_VALUE, .error_number = error_number, .value = value };

	notify_answer(e, &t->call, answer);
	return TALK_ANSWERED;
}

enum talk_next talk_continue(struct enforcer *e, struct talk *t)
{
	notify_answer(e, &t->call, (struct answer){ .kind = ANSWER_CONTINUE });
	return TALK_ANSWERED;
}

void talk_acting(const struct talk *t, int64_t value)
{
	t->call.slot->value = value;
	__atomic_store_n(&t->call.slot->stage, SLOT_ACTING, __ATOMIC_RELEASE);
}

void talk_acted(const struct talk *t, int64_t value, int error_number)
{
	t->call.slot->error_number = error_number;
	t->call.slot->value = value;
	__atomic_store_n(&t->call.slot->stage, SLOT_ACTED, __ATOMIC_RELEASE);
}

void talk_idle(const struct talk *t)
{
	__atomic_store_n(&t->call.slot->stage, SLOT_RECEIVED, __ATOMIC_RELEASE);
}

bool talk_is_ip(const struct talk *t)
{
	return t->domain == AF_INET || t->domain == AF_INET6;
}

bool talk_blocks(struct talk *t)
{
	int flags = t->blocks < 0 ? fcntl(t->source.fd, F_GETFL) : 0;

	if (t->blocks < 0)
		t->blocks = flags >= 0 && !(flags & O_NONBLOCK);
	return t->blocks;
}

/* ---- judging ---- */

/* Judged as written: what does not resolve is not reached either, and the kernel says why. */
static void name_unresolved(pid_t pid, const char *asked, char *ret_path)
{
	char link[32];
	ssize_t len = 0;

	snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
	if (asked[0] != '/')
		len = readlink(link, ret_path, PATH_MAX);
	if (len < 0)
		len = 0;
	snprintf(ret_path + len, (size_t)(RESOLVE_PATH_MAX - len), "%s%s", len ? "/" : "", asked);
}

/* The socket file's name as it resolves for the caller, in place of what was written. Abstract names begin with "@". */
static void resolve_unix(const struct talk *t, bool creates, char *ret_path)
{
	static struct resolved object;
	const struct sockaddr_un *un = (const void *)&t->address;
	char asked[sizeof(un->sun_path) + 1] = "";
	size_t len = t->address_bytes > offsetof(struct sockaddr_un, sun_path) ? t->address_bytes - offsetof(struct sockaddr_un, sun_path) : 0;

	if (len > sizeof(un->sun_path))
		len = sizeof(un->sun_path);
	memcpy(asked, un->sun_path, len);
	if (!asked[0]) {
		snprintf(ret_path, RESOLVE_PATH_MAX, "@%.*s", (int)(len ? len - 1 : 0), asked + 1);
		return;
	}
	if (resolve_named(t->call.launch->root, (pid_t)t->call.request->pid, AT_FDCWD, asked, !creates, creates, &object) < 0 &&
	    resolve_under(t->call.launch->root, (pid_t)t->call.request->pid, AT_FDCWD, asked, !creates, &object) < 0)
		return name_unresolved((pid_t)t->call.request->pid, asked, ret_path);
	strcpy(ret_path, object.path);
	resolved_close(&object);
}

static void judge_unix(struct enforcer *e, struct talk *t, enum action_kind kind, const char *path, struct decision *ret_shadow)
{
	/* An address holds 107 bytes, a resolved path more: judged as a path, which it is. */
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct action action = {
		.kind = kind, .path = path, .socket_type = t->type, .address = (const struct sockaddr *)&un, .address_bytes = sizeof(un),
	};

	if (kind == ACTION_BIND && path[0] != '@')
		action.kind = ACTION_WRITE; /* it creates the file */
	else
		action.kind = ACTION_CONNECT;
	if (action.kind == ACTION_CONNECT)
		browsers_judge_target(e, &t->call, &action);
	notify_judge(e, t->call.launch, &action, &t->decision, ret_shadow);
}

static void judge_ip(struct enforcer *e, struct talk *t, enum action_kind kind, struct decision *ret_shadow)
{
	struct action action = {
		.kind = kind, .address = (const struct sockaddr *)&t->address, .address_bytes = t->address_bytes, .socket_type = t->type,
	};

	if (kind == ACTION_CONNECT)
		browsers_judge_target(e, &t->call, &action);
	notify_judge(e, t->call.launch, &action, &t->decision, ret_shadow);
	if ((t->decision.verdict == VERDICT_ALLOW && ret_shadow->verdict == VERDICT_ALLOW) || kind == ACTION_BIND ||
	    !loopback_is(action.address, t->address_bytes))
		return;
	/* Asked only now: most connects go to the proxy, which needs no look at the listeners. */
	action.agent_listens = loopback_only_uid_listens(action.address, t->type, t->call.launch->spec->uid, t->call.launch->id, now_us());
	if (action.agent_listens)
		notify_judge(e, t->call.launch, &action, &t->decision, ret_shadow);
}

static bool judge_talk(struct enforcer *e, struct talk *t, enum action_kind kind, char *ret_path, struct decision *ret_shadow)
{
	ret_path[0] = 0;
	if (t->domain == AF_UNIX) {
		resolve_unix(t, kind == ACTION_BIND, ret_path);
		judge_unix(e, t, kind, ret_path, ret_shadow);
	} else {
		judge_ip(e, t, kind, ret_shadow);
	}
	return t->decision.verdict == VERDICT_ALLOW;
}

bool talk_judge(struct enforcer *e, struct talk *t, enum action_kind kind, char *ret_path)
{
	struct decision shadow = { .verdict = VERDICT_ALLOW };

	return judge_talk(e, t, kind, ret_path, &shadow);
}

/* ---- records ---- */

static void describe(const struct talk *t, const char *path, struct buf *ret_what)
{
	const struct sockaddr_in *v4 = (const void *)&t->address;
	const struct sockaddr_in6 *v6 = (const void *)&t->address;
	struct json_out j = { .buf = ret_what };
	char text[INET6_ADDRSTRLEN] = "";

	json_object_begin(&j, "sock");
	json_int(&j, "family", t->address_bytes ? t->address.ss_family : t->domain);
	json_text(&j, "type", t->type == SOCK_STREAM ? "stream" : t->type == SOCK_DGRAM ? "dgram" : "other");
	if (t->domain == AF_UNIX) {
		json_bytes(&j, "path", bytes_of(path));
	} else if (t->address.ss_family == AF_INET6 && t->address_bytes >= 24) {
		json_text(&j, "addr", inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text)));
		json_uint(&j, "port", ntohs(v6->sin6_port));
	} else if (t->address.ss_family != AF_INET6 && t->address_bytes >= sizeof(*v4)) { /* AF_UNSPEC is read as IPv4 by UDP */
		text_ipv4((const uint8_t *)&v4->sin_addr, text);
		json_text(&j, "addr", text);
		json_uint(&j, "port", ntohs(v4->sin_port));
	}
	json_object_end(&j);
}

void talk_record_denied(struct enforcer *e, const struct talk *t, const char *path, int error_number)
{
	_cleanup_buf_ struct buf what = { 0 };

	describe(t, path, &what);
	notify_denied(e, &t->call, &t->decision, error_number, &what);
}

static void record_allowed(struct enforcer *e, const struct talk *t, const struct decision *shadow, const char *path, const char *certainty,
			   int error_number)
{
	static struct buf what;		/* its memory is kept */
	struct outcome outcome = {
		.decision = &t->decision, .shadow = shadow, .verb = "allow", .certainty = certainty, .error_number = error_number, .what = &what,
	};

	if (e->policy->audit_allowed == AUDIT_ALLOWED_NONE)
		return;
	buf_reset(&what);
	describe(t, path, &what);
	record_call(e, &t->call, &outcome);
}

void talk_record_allowed(struct enforcer *e, const struct talk *t, const char *path, const char *certainty, int error_number)
{
	record_allowed(e, t, NULL, path, certainty, error_number);
}

/* ---- reading ---- */

int call_pidfd(const struct call *call)
{
	pid_t tid = (pid_t)call->request->pid;
	int fd = sys_pidfd_open(tid, PIDFD_THREAD);

	/* Before 6.9 only a leader can be opened; a thread shares its table in all but the oddest programs, which then fail here. */
	return fd >= 0 ? fd : sys_pidfd_open(tid, 0);
}

static bool is_shared(pid_t tid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", tid);
	return stat(path, &st) < 0 || st.st_nlink != LONE_THREAD_LINKS;
}

static void take_sender(struct talk *t, int pidfd)
{
	const struct spec *spec = t->call.launch->spec;
	struct sys_pidfd_info info;

	if (sys_pidfd_info(pidfd, &info) == 0 && info.mask & SYS_PIDFD_INFO_CREDS)
		t->sender = (struct ucred){ .pid = (pid_t)info.tgid, .uid = info.ruid, .gid = info.rgid };
	else
		t->sender = (struct ucred){ .pid = process_group((pid_t)t->call.request->pid), .uid = spec->uid, .gid = spec->gid };
}

/* ret_pidfd: -1, or of the caller where one was opened. */
static int duplicate(const struct talk *t, int *ret_pidfd)
{
	const int number = (int)t->call.request->data.args[0];
	const struct known *known = known_perhaps((pid_t)t->call.request->pid);
	int fd = known ? sys_pidfd_getfd(known->pidfd, number) : -1;

	if (fd >= 0) {
		known_calls(known->caller.pid, t->id);
		return fd;
	}
	*ret_pidfd = call_pidfd(&t->call);
	return *ret_pidfd < 0 ? -1 : sys_pidfd_getfd(*ret_pidfd, number);
}

static int open_socket(struct talk *t)
{
	const struct seccomp_notif *request = t->call.request;
	_cleanup_close_ int pidfd = -1;
	socklen_t bytes = sizeof(int);

	t->source.fd = duplicate(t, &pidfd);
	if (t->source.fd < 0)
		return -errno;
	if (getsockopt(t->source.fd, SOL_SOCKET, SO_DOMAIN, &t->domain, &bytes) < 0 ||
	    getsockopt(t->source.fd, SOL_SOCKET, SO_TYPE, &t->type, &bytes) < 0)
		return -errno;
	/* What is performed on the duplicate whoever shares it need not be asked for. */
	if (talk_is_ip(t) && t->call.rule->class != CALL_SEND)
		return 0;
	t->shared = is_shared((pid_t)request->pid);
	if (t->shared && t->domain == AF_UNIX) {
		if (pidfd < 0)
			pidfd = call_pidfd(&t->call);
		take_sender(t, pidfd);
	}
	return 0;
}

/* The address of connect and bind, as move_addr_to_kernel() takes it. */
static int read_address(struct enforcer *e, struct talk *t)
{
	const struct seccomp_notif *request = t->call.request;
	int length = (int)request->data.args[2];

	if (length < 0 || length > (int)sizeof(t->address))
		return -EINVAL;
	memset(&t->address, 0, sizeof(t->address));
	t->address_bytes = (socklen_t)length;
	if (target_read(&e->target, request->data.args[1], &t->address, (size_t)length) < 0)
		return -EFAULT;
	return 0;
}

/* ---- the call ---- */

/* Nothing is refused in mode off but what would reach Cordon; everything is said. */
static enum talk_next off_act(struct enforcer *e, struct talk *t)
{
	_uninitialized_ char path[RESOLVE_PATH_MAX];
	struct decision shadow = { .verdict = VERDICT_ALLOW };

	if (!judge_talk(e, t, ACTION_CONNECT, path, &shadow)) {
		talk_record_denied(e, t, path, EACCES);
		return talk_answer(e, t, 0, EACCES);
	}
	record_allowed(e, t, &shadow, path, "advisory", 0);
	return talk_continue(e, t);
}

static int prepare(struct enforcer *e, struct talk *t)
{
	enum call_class class = t->call.rule->class;
	int r = open_socket(t);

	t->act = class == CALL_SEND ? send_act : class == CALL_BIND ? bind_act : connect_act;
	t->end = class == CALL_SEND ? send_end : connect_end;
	if (r == 0 && class != CALL_SEND)
		r = read_address(e, t);
	if (t->call.launch->subject.mode == MODE_OFF)
		t->act = off_act;
	return r;
}

void socket_handle(struct enforcer *e, const struct call *call)
{
	struct talk t = { .source.fd = -1, .hand_fd = -1, .call = *call, .id = call->request->id, .blocks = -1 };
	int r;

	target_init(&e->target, (pid_t)call->request->pid);
	r = prepare(e, &t);
	/* Its pid may be another process's by now: then all of this was read from a stranger, and nothing is done with it. */
	if (r == 0 && !listener_waits(&call->launch->listener, t.id))
		r = -EINTR;
	if (r == 0)
		return talk_run(e, &t);
	talk_answer(e, &t, 0, -r);
	if (t.source.fd >= 0)
		close(t.source.fd);
}

void socket_recover(const struct call *call)
{
	if (call->rule->class == CALL_CONNECT || call->rule->class == CALL_BIND || call->rule->class == CALL_SEND)
		connect_recover(call);
}

/* ---- the start ---- */

/*
 * What is done on a caller's socket must not be more than the caller could do: marks, other devices, source addresses, ports below 1024. The
 * capabilities for these stay permitted, for whoever needs them and says so.
 */
static int lower_capabilities(void)
{
	const uint32_t lowered = 1U << CAP_NET_ADMIN | 1U << CAP_NET_RAW | 1U << CAP_NET_BIND_SERVICE | 1U << CAP_NET_BROADCAST;
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	data[0].effective &= ~lowered;
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

/* A listen(2) without a bind takes a port by chance, and asks nobody: often enough tried, it is the proxy's. */
static void reserve_ports(struct enforcer *e)
{
	uint16_t ports[64];
	size_t nr = 0;
	int r;

	for (size_t i = 0; i < e->policy->nr_ports && nr < ARRAY_SIZE(ports); i++)
		ports[nr++] = e->policy->ports[i].port;
	r = nr ? ports_reserve(ports, nr) : 0;
	if (r < 0)
		record_text(e, "layer", AUDIT_MED, "reserved_ports", strerror(-r));
}

int sockets_start(struct enforcer *e)
{
	int r = lower_capabilities();

	reserve_ports(e);
	return r < 0 ? r : waits_start(e);
}
