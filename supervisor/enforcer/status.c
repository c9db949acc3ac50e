/* SPDX-License-Identifier: Apache-2.0 */
/* control.sock: a verb in, one JSON document out. Reads the enforcer's state; changes nothing. */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/control/control.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define SERVICES_MAX 64
#define TAGS_MAX 64		/* more than there are */
#define CONNECTIONS_MAX 64
#define ENDED_MAX 256

struct connection {
	struct source source;
	struct ucred peer;
	char request[CONTROL_REQUEST_MAX];
	size_t request_len;
	struct buf answer;
	size_t sent;
};

struct status {
	unsigned nr_connections[2];	/* of root, of others: who is not root cannot keep root from asking */
	struct service_said {
		char *name, *json;	/* the latest of each, as PID 1 said it */
		pid_t pid;
	} services[SERVICES_MAX];
	unsigned nr_services;
	char *counters;			/* PID 1's own */
	struct {
		char tag[32];
		uint64_t nr;
	} denied[TAGS_MAX];		/* the last one stands for all that found no room */
	unsigned nr_denied;
	struct {
		uint64_t id;
		char *json;
	} ended[ENDED_MAX];		/* the latest; a ring */
	unsigned next_ended;
};

/* ---- the documents ---- */

static const char *launch_state_name(enum launch_state state)
{
	switch (state) {
	case LAUNCH_STARTING:
		return "starting";
	case LAUNCH_RUNNING:
		return "running";
	case LAUNCH_ENDED:
		return "ended";
	case LAUNCH_FAILED:
	default:
		return "failed";
	}
}

static void put_launch(struct json_out *j, const struct enforcer *e, const struct launch *l)
{
	json_object_begin(j, NULL);
	json_uint(j, "id", l->id);
	json_text(j, "state", launch_state_name(l->state));
	if (l->spec) {
		json_text(j, "agent", l->agent);
		json_text(j, "mode", mode_name(l->subject.mode));
		if (l->narrowed.nr)
			json_text(j, "scope", l->blob + l->spec->scope_offset);
		json_text(j, "roots", roots_name(l->subject.strict_roots ? ROOTS_STRICT : e->policy->paths.roots));
		json_bytes(j, "user", bytes_of(l->user));
		json_int(j, "pid", l->command);
		json_int(j, "keeper", l->keeper_pid);
		json_bytes(j, "command", bytes_of(l->argv[0]));
		json_uint(j, "execs", l->execs);
		json_uint(j, "files", l->files);
		json_uint(j, "sockets", l->sockets);
		json_uint(j, "denials", l->denials);
	}
	if (l->table)
		json_bool(j, "started", l->table->exec_error == 0); /* false: no program of it ever ran */
	if (l->state == LAUNCH_ENDED && WIFSIGNALED(l->end_status))
		json_int(j, "signal", WTERMSIG(l->end_status));
	else if (l->state == LAUNCH_ENDED)
		json_int(j, "exit", WEXITSTATUS(l->end_status));
	json_object_end(j);
}

static void put_layers(struct json_out *j, const struct enforcer *e)
{
	json_array_begin(j, "layers");
	for (unsigned i = 0; i < e->nr_layers; i++) {
		json_object_begin(j, NULL);
		json_text(j, "name", e->layers[i].name);
		json_text(j, "state", layer_state_name(e->layers[i].state));
		json_text(j, "why", e->layers[i].why);
		json_text(j, "how", e->layers[i].how);
		json_object_end(j);
	}
	json_array_end(j);
}

/* What "trust" says of each step by which clients believe the CA: services of PID 1 that are no processes. */
static void put_services(struct json_out *j, const struct enforcer *e, const char *key, const char *prefix)
{
	json_array_begin(j, key);
	for (unsigned i = 0; i < e->status->nr_services; i++)
		if (e->status->services[i].json && strncmp(e->status->services[i].name, prefix, strlen(prefix)) == 0)
			json_raw(j, NULL, e->status->services[i].json);
	json_array_end(j);
}

static void put_denials(struct json_out *j, const struct enforcer *e)
{
	json_object_begin(j, "denials_by_tag");
	for (unsigned i = 0; i < e->status->nr_denied; i++)
		json_uint(j, e->status->denied[i].tag, e->status->denied[i].nr);
	json_object_end(j);
}

static void answer_doctor(const struct enforcer *e, const char *argument, struct buf *ret)
{
	struct json_out j = { .buf = ret };

	(void)argument;
	json_object_begin(&j, NULL);
	put_layers(&j, e);
	put_services(&j, e, "trust", "trust");
	json_object_end(&j);
}

static bool is_healthy(const struct enforcer *e)
{
	return e->state == STATE_READY && audit_health(e->audit) == 0;
}

static void answer_health(const struct enforcer *e, const char *argument, struct buf *ret)
{
	struct json_out j = { .buf = ret };

	(void)argument;
	json_object_begin(&j, NULL);
	json_bool(&j, "healthy", is_healthy(e));
	json_text(&j, "state", init_state_name(e->state));
	json_text(&j, "why", audit_health(e->audit) < 0 ? "the audit log cannot be written" : e->state_why);
	json_object_end(&j);
}

static void put_audit(struct json_out *j, const struct enforcer *e)
{
	uint64_t written, lost, seq;

	audit_counts(e->audit, &written, &lost, &seq);
	json_object_begin(j, "audit");
	json_bool(j, "writable", audit_health(e->audit) == 0);
	json_uint(j, "seq", seq);
	json_uint(j, "written", written);
	json_uint(j, "lost", lost);
	json_object_end(j);
}

static void answer_status(const struct enforcer *e, const char *argument, struct buf *ret)
{
	struct json_out j = { .buf = ret };
	uint64_t only = *argument ? strtoull(argument, NULL, 10) : 0;

	json_object_begin(&j, NULL);
	json_text(&j, "version", CORDON_VERSION);
	json_text(&j, "run", e->run);
	json_text(&j, "boot", e->boot);
	json_text(&j, "state", init_state_name(e->state));
	json_text(&j, "why", e->state_why);
	json_text(&j, "mode", mode_name(e->mode));
	json_text(&j, "unreviewed", e->unreviewed_allow ? "allow" : "deny");
	json_text(&j, "scope", e->scope_text ? e->scope_text : "");
	json_text(&j, "roots", roots_name(e->policy->paths.roots));
	json_text(&j, "policy", e->policy_dir);
	json_text(&j, "policy_sha256", e->policy->sha256);
	json_uint(&j, "uptime_us", now_us() - e->started_us);
	json_uint(&j, "enforcer_restarts", e->restarts);
	json_uint(&j, "calls", e->calls);
	json_uint(&j, "denials", e->denials);
	put_denials(&j, e);
	json_uint(&j, "launches_started", e->next_launch - e->first_launch);
	json_uint(&j, "execs_in_flight", exec_in_flight(e));
	json_uint(&j, "unsupervised", e->unsupervised);
	json_uint(&j, "unsupervised_stopped", e->unsupervised_stopped);
	if (e->status->counters)
		json_raw(&j, "init", e->status->counters);
	put_audit(&j, e);
	put_layers(&j, e);
	if (e->workspaces.text)
		json_raw(&j, "workspaces", e->workspaces.text);
	put_services(&j, e, "services", "");
	json_array_begin(&j, "launches");
	for (const struct launch *l = e->launches; l; l = l->next)
		if (!only || l->id == only)
			put_launch(&j, e, l);
	for (unsigned i = 0; only && i < ENDED_MAX; i++)
		if (e->status->ended[i].id == only && e->status->ended[i].json)
			json_raw(&j, NULL, e->status->ended[i].json);
	json_array_end(&j);
	json_object_end(&j);
}

static const struct {
	const char *verb;
	bool open;		/* anybody may ask, not root alone */
	void (*answer)(const struct enforcer *e, const char *argument, struct buf *ret);
} verbs[] = {
	{ "health", true, answer_health },
	{ "status", false, answer_status },
	{ "doctor", false, answer_doctor },
	{ "commands", false, presets_answer },
};

/* ---- launches that ended ---- */

static void remember(struct status *s, uint64_t id, const struct buf *json)
{
	unsigned at = s->next_ended++ % ENDED_MAX;

	free(s->ended[at].json);
	s->ended[at].id = id;
	s->ended[at].json = json->failed ? NULL : strndup(json->data, json->len);
}

void status_ended(struct enforcer *e, const struct launch *l)
{
	_cleanup_buf_ struct buf json = { 0 };

	put_launch(&(struct json_out){ .buf = &json }, e, l);
	remember(e->status, l->id, &json);
}

void status_refused(struct enforcer *e, uint64_t id)
{
	_cleanup_buf_ struct buf json = { 0 };
	struct json_out j = { .buf = &json };

	json_object_begin(&j, NULL);
	json_uint(&j, "id", id);
	json_text(&j, "state", "refused");
	json_uint(&j, "denials", 1);
	json_bool(&j, "started", false);
	json_int(&j, "exit", 126);
	json_object_end(&j);
	remember(e->status, id, &json);
}

/* ---- services ---- */

static struct service_said *find_said(struct status *s, const char *name)
{
	for (unsigned i = 0; i < s->nr_services; i++)
		if (strcmp(s->services[i].name, name) == 0)
			return &s->services[i];
	if (s->nr_services == SERVICES_MAX)
		return NULL;
	s->services[s->nr_services].name = strdup(name);
	return s->services[s->nr_services].name ? &s->services[s->nr_services++] : NULL;
}

void status_service(struct enforcer *e, const char *json)
{
	json_t *said = json_loads(json, 0, NULL);
	const char *name = json_string_value(json_object_get(said, "name"));
	struct service_said *s = name ? find_said(e->status, name) : NULL;
	char *copy = s ? strdup(json) : NULL;

	if (copy) {
		free(s->json);
		s->json = copy;
		s->pid = (pid_t)json_integer_value(json_object_get(said, "pid"));
	}
	json_decref(said);
}

void status_denied(struct enforcer *e, const char *tag)
{
	struct status *s = e->status;
	unsigned i = 0;

	e->denials++;
	while (i < s->nr_denied && strcmp(s->denied[i].tag, tag) != 0)
		i++;
	if (i == TAGS_MAX)
		s->denied[i = TAGS_MAX - 1].nr++;
	else
		s->denied[i].nr++;
	if (i == s->nr_denied) {
		snprintf(s->denied[i].tag, sizeof(s->denied[i].tag), "%s", tag);
		s->nr_denied++;
	}
}

void status_counters(struct enforcer *e, const char *json)
{
	char *copy = strdup(json);

	if (!copy)
		return;
	free(e->status->counters);
	e->status->counters = copy;
}

bool status_is_service(const struct enforcer *e, pid_t pid)
{
	for (unsigned i = 0; i < e->status->nr_services; i++)
		if (e->status->services[i].pid == pid)
			return true;
	return false;
}

/* ---- the socket ---- */

static void connection_end(struct enforcer *e, struct connection *c)
{
	source_close(e, &c->source);
	buf_free(&c->answer);
	e->status->nr_connections[c->peer.uid != 0]--;
	loop_free_later(e, c);
}

static void send_answer(struct enforcer *e, struct connection *c)
{
	ssize_t len = send(c->source.fd, c->answer.data + c->sent, c->answer.len - c->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

	if (len > 0)
		c->sent += (size_t)len;
	if ((len < 0 && errno != EAGAIN && errno != EINTR) || c->sent == c->answer.len)
		connection_end(e, c);
	else
		source_change(e, &c->source, EPOLLOUT);
}

static void serve(struct enforcer *e, struct connection *c)
{
	char *argument = strchr(c->request, ' ');

	if (argument)
		*argument++ = 0;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].verb, c->request) != 0)
			continue;
		if (!verbs[i].open && c->peer.uid != 0)
			break;
		verbs[i].answer(e, argument ? argument : "", &c->answer);
		buf_char(&c->answer, '\n');
		if (c->answer.failed)
			break;	/* in part it would be a wrong one */
		return send_answer(e, c);
	}
	connection_end(e, c); /* refused, or no memory: an empty answer, which the other end words */
}

static void connection_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct connection *c = container_of(source, struct connection, source);
	ssize_t len;
	char *end;

	if (events & EPOLLOUT)
		return send_answer(e, c);
	len = recv(source->fd, c->request + c->request_len, sizeof(c->request) - 1 - c->request_len, MSG_DONTWAIT);
	if (len < 0 && errno == EAGAIN)
		return;
	if (len <= 0)
		return connection_end(e, c);
	c->request_len += (size_t)len;
	c->request[c->request_len] = 0;
	end = strchr(c->request, '\n');
	if (end) {
		*end = 0;
		return serve(e, c);
	}
	if (c->request_len == sizeof(c->request) - 1)
		connection_end(e, c);
}

static void socket_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c = fd < 0 ? NULL : calloc(1, sizeof(*c));
	socklen_t bytes = sizeof(c->peer);

	(void)events;
	if (!c || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &bytes) < 0 ||
	    e->status->nr_connections[c->peer.uid != 0] >= CONNECTIONS_MAX || launch_descends(e, c->peer.pid)) {
		if (fd >= 0)
			close(fd);
		free(c);
		return;
	}
	if (source_add(e, &c->source, fd, EPOLLIN, connection_ready) < 0) {
		free(c);
		return;
	}
	e->status->nr_connections[c->peer.uid != 0]++;
}

int status_listen(struct enforcer *e, const char *run_dir, struct err *ret_error)
{
	char path[256];
	int fd;

	e->status = calloc(1, sizeof(*e->status));
	if (!e->status)
		return err_set(ret_error, -ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s/%s", run_dir, CORDON_CONTROL_SOCKET);
	fd = control_listen(path, SOCK_STREAM, 0666, ret_error);
	return fd < 0 ? fd : source_add(e, &e->control_socket, fd, EPOLLIN, socket_ready);
}
