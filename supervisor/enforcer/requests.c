/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch.sock: who asks, for what, and whether it may. Identity comes from the kernel alone; the request's own words are text.
 *
 * A request that comes before the container is ready waits here; its client's end is watched meanwhile.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/control/control.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define REQUEST_FDS 4		/* blob, stdin, stdout, stderr */
#define REQUESTS_MAX 1024	/* waiting at once */

struct request {
	struct request *next;
	struct source source;	/* the client's connection */
	struct ucred peer;
	bool complete;		/* head and fds are here */
	struct launch_request head;
	int fds[REQUEST_FDS];
	/* Views into blob: */
	char *blob;
	const char *agent, *mode, *user, *cwd;
	struct launch_limits limits;
	char **argv, **environment;
	bool considering;	/* a worker judges it */
	struct consideration *considered;
};

/* ---- answers that need no keeper ---- */

static void answer_client(int client, enum event_type type, const char *text)
{
	struct {
		struct launch_event head;
		char text[PROTO_TEXT_MAX];
	} event = { .head = { .type = type } };

	size_t len = strlen(text);

	event.head.text_bytes = (uint32_t)(len < sizeof(event.text) ? len : sizeof(event.text));
	memcpy(event.text, text, event.head.text_bytes);
	(void)io_send(client, &event, sizeof(event.head) + event.head.text_bytes, NULL, 0, MSG_DONTWAIT);
}

static void request_end(struct enforcer *e, struct request *r)
{
	struct request **link = &e->requests;

	while (*link && *link != r)
		link = &(*link)->next;
	if (*link)
		*link = r->next;
	source_close(e, &r->source);
	for (int i = 0; i < REQUEST_FDS; i++)
		if (r->fds[i] >= 0)
			close(r->fds[i]);
	workers_forget(e, r);
	consideration_free(r->considered);
	free(r->blob);
	free(r->argv);
	free(r->environment);
	r->blob = NULL;
	loop_free_later(e, r);
}

static void request_fail(struct enforcer *e, struct request *r, const char *text)
{
	answer_client(r->source.fd, EVENT_FAILED, text);
	request_end(e, r);
}

/* ---- the request's words ---- */

static const char *next_string(const char **at, const char *end)
{
	const char *text = *at, *nul = *at < end ? memchr(*at, 0, (size_t)(end - *at)) : NULL;

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static int parse_vector(const char **at, const char *end, uint32_t nr, char ***ret_vector)
{
	char **vector;

	/* Every string takes a byte: a count above that is a lie, and no reason to allocate. */
	if (nr > (size_t)(end - *at))
		return -EBADMSG;
	vector = calloc((size_t)nr + 1, sizeof(*vector));
	if (!vector)
		return -ENOMEM;
	*ret_vector = vector;
	for (uint32_t i = 0; i < nr; i++)
		if (!(vector[i] = (char *)(uintptr_t)next_string(at, end)))
			return -EBADMSG;
	return 0;
}

/* Only a memfd is read: anything else could block, or change what stat said. */
static int read_blob(struct request *r)
{
	struct stat st;

	if (r->head.blob_bytes < sizeof(struct request_blob) || r->head.blob_bytes > PROTO_BLOB_MAX)
		return -EMSGSIZE;
	if (fcntl(r->fds[0], F_GET_SEALS) < 0 || fstat(r->fds[0], &st) < 0 || st.st_size < (off_t)r->head.blob_bytes)
		return -EBADMSG;
	r->blob = malloc(r->head.blob_bytes);
	if (!r->blob)
		return -ENOMEM;
	return pread(r->fds[0], r->blob, r->head.blob_bytes, 0) == (ssize_t)r->head.blob_bytes ? 0 : -EBADMSG;
}

static int parse_request(struct request *r)
{
	struct request_blob counts;
	const char *at, *end;
	int error = read_blob(r);

	if (error < 0)
		return error;
	memcpy(&counts, r->blob, sizeof(counts));
	at = r->blob + sizeof(counts);
	end = r->blob + r->head.blob_bytes;
	if (!(r->agent = next_string(&at, end)) || !(r->mode = next_string(&at, end)) || !(r->user = next_string(&at, end)) ||
	    !(r->cwd = next_string(&at, end)) || counts.argc == 0)
		return -EBADMSG;
	error = parse_vector(&at, end, counts.argc, &r->argv);
	if (error == 0)
		error = parse_vector(&at, end, counts.envc, &r->environment);
	if (error < 0)
		return error;
	if (r->head.flags & REQUEST_SCOPE && !(r->limits.scope = next_string(&at, end)))
		return -EBADMSG;
	if (r->head.flags & REQUEST_ROOTS && !(r->limits.roots = next_string(&at, end)))
		return -EBADMSG;
	return 0;
}

/* An agent's name becomes a label in records, a folder name later: plain characters only. */
static bool agent_is_plain(const char *agent)
{
	size_t len = strlen(agent);

	if (len > 63)
		return false;
	return strspn(agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == len;
}

/* ---- who it will be ---- */

static void take_peer_groups(const struct request *r, struct user_identity *user)
{
	socklen_t bytes = sizeof(user->groups);

	user->gid = r->peer.gid;
	if (getsockopt(r->source.fd, SOL_SOCKET, SO_PEERGROUPS, user->groups, &bytes) == 0)
		user->nr_groups = bytes / sizeof(gid_t);
	else
		user->nr_groups = 0;
}

static int find_user(const struct enforcer *e, const struct request *r, struct user_identity *ret_user, struct err *ret_error)
{
	char number[16];
	int error;

	if (r->peer.uid == 0) {
		if (!*r->user) {
			*ret_user = e->launch_user;
			return 0;
		}
		return user_find("/etc", r->user, ret_user, ret_error);
	}
	snprintf(number, sizeof(number), "%u", r->peer.uid);
	error = user_find("/etc", *r->user ? r->user : number, ret_user, ret_error);
	if (error < 0)
		return error;
	if (ret_user->uid != r->peer.uid)
		return err_set(ret_error, -EPERM, "--user %s needs root, or to be that user", ret_user->name);
	take_peer_groups(r, ret_user);
	return 0;
}

static int find_mode(const struct enforcer *e, const struct request *r, enum mode *ret_mode, struct err *ret_error)
{
	enum mode asked;
	int error;

	if (r->head.flags & REQUEST_MODE) {
		error = mode_parse(r->mode, &asked, ret_error);
		if (error < 0)
			return error;
	}
	return judge_launch_mode(e->policy, e->mode, r->head.flags & REQUEST_MODE ? &asked : NULL, r->head.flags & REQUEST_UNATTENDED,
				 e->explicit_mode && e->mode == MODE_OFF, ret_mode, ret_error);
}

/* ---- the decision to start ---- */

static void refuse(struct enforcer *e, struct request *r, const struct launch_order *order, const struct decision *decision)
{
	_cleanup_buf_ struct buf json = { 0 };
	uint64_t id = e->next_launch++;

	status_denied(e, decision->tag);
	status_refused(e, id);
	record_refused_launch(e, id, order, r->peer.uid, decision);
	record_refusal_json(id, 1, decision, &json);
	answer_client(r->source.fd, EVENT_REFUSED, json.data ? json.data : "");
	request_end(e, r);
}

static int check_container(const struct enforcer *e, enum mode mode, struct err *ret_error)
{
	const struct layer *missing;
	int r;

	if (mode == MODE_OFF)
		return 0;
	missing = plan_missing_layer(e);
	if (missing)
		return err_set(ret_error, -EOPNOTSUPP, "layer %s is missing, which mode %s requires: %s; get it with %s", missing->name,
			       mode_name(mode), missing->why, missing->how ? missing->how : "another kernel or engine");
	r = audit_health(e->audit);
	if (r < 0)
		return err_set(ret_error, r, "the audit log cannot be written (%s): mode %s launches nothing", strerror(-r), mode_name(mode));
	return 0;
}

/*
 * The engine makes the pipes of `docker exec` as the user it execs, mode 0600; to this launch that user may be another, and "> /dev/stderr" would
 * fail. So they are given on, as runc gives them. Only unnamed pipes of the asker: what has a name in a file system stays whose it is.
 */
static void give_pipe(int fd, uid_t asker, const struct user_identity *user)
{
	struct statfs system;
	struct stat st;

	if (fstatfs(fd, &system) == 0 && system.f_type == PIPEFS_MAGIC && fstat(fd, &st) == 0 && st.st_uid == asker)
		(void)!fchown(fd, user->uid, user->gid); /* without CAP_CHOWN it stays as it was: usable, but not to be opened anew */
}

static void start_or_wait(struct enforcer *e, struct request *r);

static void record_missing_values(struct enforcer *e, struct buf *lines)
{
	char *line, *rest;

	buf_char(lines, 0);
	for (line = lines->failed ? NULL : strtok_r(lines->data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		record_text(e, "environment", AUDIT_MED, "missing", line);
}

static void considered(struct enforcer *e, struct worker_job *job)
{
	struct consideration *c = container_of(job, struct consideration, job);
	struct request *r = job->owner;

	if (!r) {	/* the client hung up meanwhile */
		consideration_free(c);
		return;
	}
	r->considering = false;
	r->considered = c;
	record_missing_values(e, &c->missing);
	start_or_wait(e, r);
}

static void consider(struct enforcer *e, struct request *r, const struct launch_order *order)
{
	struct consideration *c = consideration_new(e, order, (const char *const *)r->environment);

	if (!c)
		return request_fail(e, r, "out of memory");
	c->job.owner = r;
	c->job.done = considered;
	r->considering = true;
	if (workers_give(e, &c->job) < 0) {
		consideration_free(c);
		request_fail(e, r, "no thread to judge the launch");
	}
}

static void take_stdio(const struct request *r, struct launch_order *order)
{
	for (int i = 0; i < 3; i++) {
		order->terminal |= isatty(r->fds[i + 1]) != 0;
		give_pipe(r->fds[i + 1], r->peer.uid, order->user);
		order->stdio[i] = r->fds[i + 1];
	}
}

/* A host wraps what it runs, notes a pid in a file first: in readonly nothing is noted, the command itself is what runs. */
static void peel(const struct enforcer *e, struct launch_order *order)
{
	size_t rest = 0;
	const struct transport *transport = judge_transport(e->policy, (const char *const *)order->argv, &rest);

	if (order->mode == MODE_READONLY && transport && transport->wrap)
		order->argv += rest;
}

/* What the launch would begin with, in place of the launch. */
static void explain(struct enforcer *e, struct request *r, const struct launch_order *order)
{
	const struct consideration *c = r->considered;
	const struct launch_event event = { .type = EVENT_EXPLAINED };
	_cleanup_buf_ struct buf json = { 0 };
	struct json_out j = { .buf = &json };
	int fd;

	json_object_begin(&j, NULL);
	json_text(&j, "mode", mode_name(order->mode));
	json_bytes(&j, "user", bytes_of(order->user->name));
	json_text(&j, "agent", order->agent);
	json_text(&j, "preset", c->preset);
	json_text(&j, "program", c->preset_program);
	json_text(&j, "decision", c->decision.verdict == VERDICT_ALLOW ? "allow" : "deny");
	json_text(&j, "reason", c->decision.reason);
	json_array_begin(&j, "variables");
	buf_append(&json, c->told.data, c->told.len);
	json_array_end(&j);
	json_object_end(&j);
	fd = json.failed ? -ENOMEM : spec_to_memfd(&json);
	if (fd < 0)
		return request_fail(e, r, "out of memory");
	(void)io_send(r->source.fd, &event, sizeof(event), &fd, 1, MSG_DONTWAIT);
	close(fd);
	request_end(e, r);
}

static void start(struct enforcer *e, struct request *r)
{
	char named[AGENT_NAME_BYTES] = "";
	struct user_identity user;
	struct launch_order order = {
		.agent = r->agent[0] ? r->agent : named, .cwd = r->cwd, .argv = r->argv, .flags = r->head.flags, .timeout_ms = r->head.timeout_ms,
		.rows = r->head.rows, .columns = r->head.columns, .user = &user, .client = r->source.fd,
	};
	const struct consideration *c = r->considered;
	_cleanup_scope_ struct scope narrowed = { 0 };
	struct err error = { 0 };
	int result = find_user(e, r, &user, &error);

	if (result == 0)
		result = find_mode(e, r, &order.mode, &error);
	if (result == 0)
		result = judge_launch_limits(e->policy, order.mode, &r->limits, &narrowed, &order.strict_roots, &error);
	order.scope = r->limits.scope;
	if (result == 0 && r->head.flags & REQUEST_VALUES && r->peer.uid != 0)
		result = err_set(&error, -EPERM, "values are shown to root alone");
	if (result == 0)
		result = check_container(e, order.mode, &error);
	if (result < 0)
		return request_fail(e, r, error.text);
	peel(e, &order);
	if (!r->agent[0])
		browsers_name_agent(e, (const char *const *)r->argv, named);
	if (!c)
		return consider(e, r, &order);
	if (c->result < 0)
		return request_fail(e, r, "out of memory");
	if (r->head.flags & REQUEST_EXPLAIN)
		return explain(e, r, &order);
	if (c->decision.verdict != VERDICT_ALLOW)
		return refuse(e, r, &order, &c->decision);
	order.environment = c->environment;
	order.preset_program = c->preset_program;
	order.decision = &c->decision;
	order.shadow = order.mode == MODE_OFF ? &c->shadow : NULL;
	take_stdio(r, &order);
	result = launch_start(e, &order, &error);
	if (result == -EAGAIN)
		return; /* waits on */
	if (result < 0)
		return request_fail(e, r, error.text);
	/* The connection is the launch's now; what is left of the request ends here. */
	epoll_ctl(e->epoll, EPOLL_CTL_DEL, r->source.fd, NULL);
	r->source.fd = -1;
	request_end(e, r);
}

/* Degraded means that the proxy or something else every launch relies on is being restarted: a launch waits then, until PID 1 gives up. */
static void start_or_wait(struct enforcer *e, struct request *r)
{
	char line[320];

	if (r->considering)
		return;
	if (e->state == STATE_READY)
		return start(e, r);
	if (e->state == STATE_DRAINING || e->state == STATE_STOPPED)
		return request_fail(e, r, "the container is stopping: nothing is launched any more");
	if (e->state != STATE_DEGRADED || !e->state_final)
		return;
	snprintf(line, sizeof(line), "the container is degraded and launches nothing: %s", e->state_why);
	request_fail(e, r, line);
}

void requests_state_changed(struct enforcer *e)
{
	struct request *r = e->requests, *next;

	for (; r; r = next) {
		next = r->next;
		if (r->complete)
			start_or_wait(e, r);
	}
}

/* ---- the socket ---- */

static void request_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct request *r = container_of(source, struct request, source);
	unsigned nr_fds = 0;
	ssize_t len;

	if (r->complete) { /* waiting for the container: only its end matters */
		if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
			request_end(e, r);
		return;
	}
	len = io_receive(source->fd, &r->head, sizeof(r->head), r->fds, REQUEST_FDS, &nr_fds, MSG_DONTWAIT);
	if (len == -EAGAIN)
		return;
	for (unsigned i = nr_fds; i < REQUEST_FDS; i++)
		r->fds[i] = -1;
	if (len != sizeof(r->head) || nr_fds != REQUEST_FDS || r->head.magic != PROTO_MAGIC || r->head.version != PROTO_VERSION)
		return request_fail(e, r, "not a launch request of this version of Cordon");
	if (parse_request(r) < 0)
		return request_fail(e, r, "malformed launch request");
	if (!agent_is_plain(r->agent))
		return request_fail(e, r, "an agent's name is at most 63 letters, digits, '.', '_' and '-'");
	r->complete = true;
	source_change(e, source, EPOLLRDHUP);
	start_or_wait(e, r);
}

static void accept_client(struct enforcer *e, int fd)
{
	struct request *r = calloc(1, sizeof(*r));
	socklen_t bytes = sizeof(r->peer);

	if (!r || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &r->peer, &bytes) < 0) {
		free(r);
		close(fd);
		return;
	}
	for (int i = 0; i < REQUEST_FDS; i++)
		r->fds[i] = -1;
	if (launch_descends(e, r->peer.pid)) {
		record_text(e, "signal_refused", AUDIT_HIGH, "launch_from_launch", "a process of a launch asked for a launch");
		answer_client(fd, EVENT_FAILED, "a launch cannot start launches");
		close(fd);
		free(r);
		return;
	}
	if (source_add(e, &r->source, fd, EPOLLIN | EPOLLRDHUP, request_ready) < 0) {
		free(r);
		return;
	}
	r->next = e->requests;
	e->requests = r;
}

static void socket_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	size_t waiting = 0;
	int fd;

	(void)events;
	for (struct request *r = e->requests; r; r = r->next)
		waiting++;
	while ((fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		if (waiting++ < REQUESTS_MAX) {
			accept_client(e, fd);
			continue;
		}
		answer_client(fd, EVENT_FAILED, "too many launches are waiting");
		close(fd);
	}
}

int requests_listen(struct enforcer *e, const char *run_dir, struct err *ret_error)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", run_dir, CORDON_LAUNCH_SOCKET);
	/* Anybody may ask: who they are decides what they get. */
	fd = control_listen(path, SOCK_SEQPACKET, 0666, ret_error);
	return fd < 0 ? fd : source_add(e, &e->launch_socket, fd, EPOLLIN, socket_ready);
}
