/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The enforcer's beginning, its talk with PID 1, and its end.
 *
 * It takes over what an earlier enforcer left before it says ready; from then on a launch or a notified call is served by one thread in the order
 * it comes. A failure before ready is PID 1's to report.
 */
#include "supervisor/enforcer/enforcer.h"
#include "supervisor/enforcer/digests.h"
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define LAUNCHES_A_RUN 10000000	/* more than one enforcer starts in its life */

enum { EXIT_POLICY = 110, EXIT_LAYER = 111, EXIT_AUDIT = 113, EXIT_INTERNAL = 115 };

void pid1_tell(struct enforcer *e, uint32_t type, uint32_t kind, uint64_t id, int64_t number, const char *text, int fd)
{
	struct init_message message = { .type = type, .kind = kind, .id = id, .number = number };

	if (init_channel_send(e->init, &message, text, fd) == -EPIPE)
		e->exit_code = EXIT_INTERNAL; /* PID 1 is gone, and with it the namespace */
}

static int fail(struct enforcer *e, int exit_code, const struct err *error)
{
	char line[1024];

	err_format(error, line, sizeof(line));
	pid1_tell(e, ENFORCER_FAILED, 0, 0, exit_code, line, -1);
	return exit_code;
}

/* ---- BEGIN and what is kept ---- */

static void copy_text(const json_t *object, const char *key, char *ret_text, size_t bytes)
{
	const char *text = json_string_value(json_object_get(object, key));

	if (text)
		snprintf(ret_text, bytes, "%s", text);
}

static int take_begin(struct enforcer *e, const char *text, char *ret_mode, char *ret_unreviewed, size_t bytes)
{
	json_t *begin = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	if (!begin)
		return -EBADMSG;
	copy_text(begin, "run", e->run, sizeof(e->run));
	copy_text(begin, "boot", e->boot, sizeof(e->boot));
	copy_text(begin, "policy", e->policy_dir, sizeof(e->policy_dir));
	copy_text(begin, "run_dir", e->run_dir, sizeof(e->run_dir));
	copy_text(begin, "audit_dir", e->audit_dir, sizeof(e->audit_dir));
	copy_text(begin, "mode", ret_mode, bytes);
	copy_text(begin, "unreviewed", ret_unreviewed, bytes);
	e->scope_text = json_is_string(json_object_get(begin, "scope")) ? strdup(json_string_value(json_object_get(begin, "scope"))) : NULL;
	e->explicit_mode = json_is_true(json_object_get(begin, "mode_explicit"));
	e->restarts = (unsigned)json_integer_value(json_object_get(begin, "restarts"));
	json_decref(begin);
	return e->policy_dir[0] && e->run_dir[0] && e->audit_dir[0] ? 0 : -EBADMSG;
}

struct kept_item {
	uint32_t kind;
	uint64_t id;
	int64_t number;
	int fd;
};

struct inheritance {
	char mode[32], unreviewed[32];
	struct kept_item *items;
	size_t nr;
};

static int keep_item(struct inheritance *in, const struct init_message *m, int fd)
{
	struct kept_item *grown = realloc(in->items, (in->nr + 1) * sizeof(*grown));

	if (!grown) {
		close(fd);
		return -ENOMEM;
	}
	in->items = grown;
	in->items[in->nr++] = (struct kept_item){ .kind = m->kind, .id = m->id, .number = m->number, .fd = fd };
	return 0;
}

/* PID 1 sends BEGIN first, then what it kept, then the end of that. */
static int take_inheritance(struct enforcer *e, struct inheritance *in)
{
	_cleanup_free_ char *text = malloc(INIT_TEXT_MAX + 1);
	struct init_message m;
	int fd, r;

	while (text && (r = init_channel_receive(e->init, &m, text, INIT_TEXT_MAX + 1, &fd, 0)) == 1) {
		r = 0;
		if (m.type == INIT_BEGIN)
			r = take_begin(e, text, in->mode, in->unreviewed, sizeof(in->mode));
		else if (m.type == INIT_KEPT && fd >= 0)
			r = keep_item(in, &m, TAKE_FD(fd));
		if (fd >= 0)
			close(fd);
		if (r < 0 || m.type == INIT_KEPT_END)
			return r;
	}
	return -EPIPE;
}

/* Namespaces first: what is not kept is made while the boundary is prepared. */
static void adopt_mounts(struct enforcer *e, struct inheritance *in)
{
	for (size_t i = 0; i < in->nr; i++) {
		struct kept_item *item = &in->items[i];

		if (item->kind == KEPT_AGENT_MOUNTS)
			e->mounts[item->id == 1] = TAKE_FD(item->fd);
		else if (item->kind == KEPT_CONTAINER_MOUNTS)
			e->container_mounts = TAKE_FD(item->fd);
	}
}

static void adopt(struct enforcer *e, struct inheritance *in)
{
	for (size_t i = 0; i < in->nr; i++) {
		struct kept_item *item = &in->items[i];

		switch (item->kind) {
		case KEPT_ZYGOTE:
			zygote_adopt(e, item->id, (pid_t)item->number, item->fd);
			break;
		case KEPT_KEEPER:
			launch_adopt(e, item->id, item->fd);
			break;
		case KEPT_GUARD:
			(void)(item->id ? browser_file_adopt(e, item->fd) : protected_adopt(e, item->fd));
			break;
		default:
			if (item->fd >= 0)
				close(item->fd);
		}
	}
	free(in->items);
	in->items = NULL;
}

/* ---- what PID 1 says later ---- */

/* Separators become NULs in text; the views point into it. */
static const char **split(char *text, size_t len, char separator)
{
	size_t nr = 0;
	const char **items;

	for (size_t i = 0; i < len; i++)
		nr += text[i] == separator;
	items = calloc(nr + 2, sizeof(*items));
	nr = 0;
	for (char *at = text; items && at < text + len;) {
		char *end = memchr(at, separator, (size_t)(text + len - at));

		if (end)
			*end = 0;
		if (*at)
			items[nr++] = at;
		at = end ? end + 1 : text + len;
	}
	return items;
}

static void take_environment(struct enforcer *e, const char *text)
{
	_cleanup_buf_ struct buf all = { 0 };
	const char **items;
	char *copy;

	buf_text(&all, workspaces_environment(e));
	buf_text(&all, text);
	copy = all.failed ? NULL : TAKE_PTR(all.data);
	items = copy ? split(copy, all.len, '\n') : NULL;

	if (!items) {
		free(copy);
		return; /* the earlier variables stay */
	}
	free(e->added_text);
	free(e->added);
	e->added_text = copy;
	e->added = items;
}

static void take_state(struct enforcer *e, enum init_state state, bool final, const char *why)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	e->state = state;
	e->state_final = final;
	snprintf(e->state_why, sizeof(e->state_why), "%s", why);
	json_text(&j, "state", init_state_name(state));
	json_text(&j, "why", *why ? why : NULL);
	audit_record(e->audit, state == STATE_READY ? "ready" : "state", state == STATE_DEGRADED ? AUDIT_HIGH : AUDIT_INFO,
		     state == STATE_DEGRADED, &members);
	requests_state_changed(e);
}

static void take_service(struct enforcer *e, const char *json)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_raw(&j, "service", json);
	audit_record(e->audit, "service", AUDIT_INFO, false, &members);
	status_service(e, json);
}

/* "TYPE\nMEMBERS" */
static void take_record(struct enforcer *e, int64_t severity, char *text)
{
	_cleanup_buf_ struct buf members = { 0 };
	char *end = strchr(text, '\n');

	if (!end || severity < AUDIT_INFO || severity > AUDIT_CRIT)
		return;
	*end = 0;
	buf_text(&members, end + 1);
	audit_record(e->audit, text, (enum audit_severity)severity, severity >= AUDIT_MED, &members);
}

static void seal(struct enforcer *e)
{
	repeats_flush(e);
	sources_end(e);
	record_text(e, "stop", AUDIT_INFO, "why", e->state_why);
	e->exit_code = audit_close(e->audit, true) < 0 ? EXIT_AUDIT : 0;
	e->audit = NULL;
}

static void init_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	_cleanup_free_ char *text = malloc(INIT_TEXT_MAX + 1);
	struct init_message m;
	int fd = -1, r = text ? init_channel_receive(source->fd, &m, text, INIT_TEXT_MAX + 1, &fd, MSG_DONTWAIT) : -ENOMEM;

	(void)events;
	if (r == -EAGAIN)
		return;
	if (r <= 0) {
		e->exit_code = EXIT_INTERNAL;
		return;
	}
	if (fd >= 0)
		close(fd);
	switch (m.type) {
	case INIT_ENVIRONMENT:
		take_environment(e, text);
		break;
	case INIT_STATE:
		if (m.number >= STATE_BOOT && m.number <= STATE_STOPPED)
			take_state(e, (enum init_state)m.number, m.kind == 1, text);
		break;
	case INIT_SERVICE:
		take_service(e, text);
		break;
	case INIT_COUNTERS:
		status_counters(e, text);
		break;
	case INIT_RECORD:
		take_record(e, m.number, text);
		break;
	case INIT_KILL_ALL:
		for (struct launch *l = e->launches; l; l = l->next)
			launch_kill(e, l, m.number == SIGKILL ? 0 : (int)m.number);
		break;
	case INIT_SEAL:
		seal(e);
		break;
	default:
		break;
	}
}

/* ---- preparing ---- */

static void children_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct signalfd_siginfo info;
	int status;
	pid_t pid;

	(void)events;
	if (read(source->fd, &info, sizeof(info)) < 0) /* one stands for all of them; they are asked for below */
		return;
	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (!exec_event(e, pid, status))
			(void)zygote_ended(e, pid);
}

static int watch_children(struct enforcer *e)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : source_add(e, &e->signals, fd, EPOLLIN, children_ready);
}

static int load_policy(struct enforcer *e, const struct inheritance *in, struct err *error)
{
	int r = policy_load(e->policy_dir, &e->policy, error);

	if (r < 0)
		return r;
	e->mode = e->policy->mode;
	if (in->mode[0] && (r = mode_parse(in->mode, &e->mode, error)) < 0)
		return r;
	if (e->scope_text && (r = scope_parse(e->scope_text, &e->scope, error)) < 0)
		return r;
	e->unreviewed_allow = in->unreviewed[0] ? strcmp(in->unreviewed, "allow") == 0 : e->policy->unreviewed_allow;
	return user_find("/etc", e->policy->launch_user, &e->launch_user, error);
}

static int open_audit(struct enforcer *e, struct err *error)
{
	struct audit_options options = { .dir = e->audit_dir, .run = e->run, .boot = e->boot, .copy_fd = STDOUT_FILENO };
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };
	int r = audit_open(&options, &e->audit, error);

	if (r < 0)
		return r;
	json_text(&j, "version", CORDON_VERSION);
	json_text(&j, "mode", mode_name(e->mode));
	json_text(&j, "unreviewed", e->unreviewed_allow ? "allow" : "deny");
	json_text(&j, "scope", e->scope_text);
	json_text(&j, "policy", e->policy_dir);
	json_text(&j, "policy_sha256", e->policy->sha256);
	json_uint(&j, "enforcer_restarts", e->restarts);
	json_bool(&j, "ahead", e->ahead);
	audit_record(e->audit, "start", AUDIT_INFO, false, &members);
	return 0;
}

static const struct layer *find_layer(const struct enforcer *e, const char *name)
{
	return layer_find(e->layers, e->nr_layers, name);
}

/* In the layer whose lack it is. */
static void say_unmediated(struct enforcer *e)
{
	for (unsigned i = 0; i < e->nr_layers; i++) {
		struct layer *layer = &e->layers[i];
		const size_t len = strlen(layer->why);

		if (strcmp(layer->name, "mounts") == 0)
			snprintf(layer->why + len, sizeof(layer->why) - len, " Launches in off run unmediated (no filter).");
	}
}

static int prepare_boundary(struct enforcer *e, struct err *error)
{
	const struct layer *notify, *killable, *scope, *missing;
	_cleanup_free_ const char **roots = NULL;
	int r;

	roots = plan_roots(e->policy, e->launch_user.home, NULL);
	if (!roots)
		return err_set(error, -ENOMEM, "out of memory");
	e->nr_layers = probe_layers(e->layers);
	probe_host_exec(roots, e->policy->entry_paths.items, &e->layers[e->nr_layers++]);
	r = workspaces_load(e, error);
	if (r < 0)
		return r;
	notify = find_layer(e, "notify");
	e->listener_works_off = notify && notify->state == LAYER_ACTIVE && plan_mounts(e, true, NULL) >= 0;
	if (e->mode == MODE_OFF && !e->listener_works_off)
		say_unmediated(e);
	record_layers(e);
	killable = find_layer(e, "wait_killable");
	e->seccomp_flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	if (killable && killable->state == LAYER_ACTIVE)
		e->seccomp_flags |= SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	missing = e->mode == MODE_OFF ? NULL : plan_missing_layer(e);
	if (missing)
		return err_set(error, -EOPNOTSUPP, "mode %s requires layer %s: %s; get it with %s", mode_name(e->mode), missing->name,
			       missing->why, missing->how ? missing->how : "another kernel or engine");
	e->signals_scoped = (scope = find_layer(e, "landlock_scope")) && scope->state == LAYER_ACTIVE;
	e->landlock_abi = sys_landlock_create_ruleset(NULL, 0);
	if (e->landlock_abi < 0)
		e->landlock_abi = 0;
	r = filter_build(FILTER_SAFE, &e->filters[FILTER_SAFE], error);
	if (r == 0)
		r = filter_build(FILTER_OFF, &e->filters[FILTER_OFF], error);
	if (r == 0)
		r = filter_build(FILTER_READS, &e->filters[FILTER_READS], error);
	if (r == 0 && e->mode != MODE_OFF)
		r = plan_mounts(e, false, error);
	return r < 0 ? r : 0;
}

static int prepare_process(struct enforcer *e)
{
	struct rlimit files = { 65536, 65536 };

	*e = (struct enforcer){ .epoll = -1, .init = INIT_CHANNEL_FD, .mounts = { -1, -1 }, .container_mounts = -1, .guard.fd = -1, .exit_code = -1, .started_us = now_us() };
	/* Agents may be of our uid in some tiers, and root may be: nobody reads or traces us. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || fcntl(e->init, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	prctl(PR_SET_NAME, "cordon-enforcer", 0, 0, 0);
	e->ahead = go_ahead();
	(void)setrlimit(RLIMIT_NOFILE, &files); /* a listener, a channel and a table a launch */
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	return e->epoll < 0 ? -errno : 0;
}

static int prepare_loop(struct enforcer *e, struct err *error)
{
	int r = watch_children(e);

	if (r == 0)
		r = sockets_start(e);
	if (r == 0)
		r = repeats_start(e);
	if (r == 0)
		r = workers_start(e);
	if (r == 0)
		r = held_start(e);
	if (r == 0)
		r = digests_start(e);
	if (r == 0)
		r = watch_start(e);
	if (r == 0)
		r = sources_start(e);
	if (r < 0)
		return err_set(error, r, "cannot start the loop: %s", strerror(-r));
	r = requests_listen(e, e->run_dir, error);
	return r < 0 ? r : status_listen(e, e->run_dir, error);
}

int enforcer_main(void)
{
	static struct enforcer enforcer;
	struct enforcer *e = &enforcer;
	struct inheritance in = { 0 };
	struct err error = { 0 };
	int r = prepare_process(e);

	if (r < 0)
		return EXIT_INTERNAL;
	r = take_inheritance(e, &in);
	if (r < 0)
		return EXIT_INTERNAL;
	/* PID 1 hands its own on: the image's, trusted, and what a launch's variables are compared with. */
	e->image = (const char *const *)environ;
	if (plan_gateway(e->image, "/etc/hosts", &e->gateway) < 0)
		return EXIT_INTERNAL;
	/* Ids go on where an earlier enforcer cannot have been. */
	e->first_launch = e->next_launch = (uint64_t)e->restarts * LAUNCHES_A_RUN + 1;
	if (load_policy(e, &in, &error) < 0)
		return fail(e, EXIT_POLICY, &error);
	if (open_audit(e, &error) < 0)
		return fail(e, EXIT_AUDIT, &error);
	if (browsers_start(e, &error) < 0)
		return fail(e, EXIT_INTERNAL, &error);
	adopt_mounts(e, &in);
	if (prepare_boundary(e, &error) < 0)
		return fail(e, EXIT_LAYER, &error);
	take_environment(e, "");	/* the proxy's come later, if there is one */
	if (prepare_loop(e, &error) < 0)
		return fail(e, EXIT_INTERNAL, &error);
	adopt(e, &in);
	if (protected_start(e, &error) < 0 || browser_file_start(e, &error) < 0)
		return fail(e, EXIT_LAYER, &error);
	r = source_add(e, &e->init_source, e->init, EPOLLIN, init_ready);
	if (r < 0)
		return EXIT_INTERNAL;
	pid1_tell(e, ENFORCER_READY, 0, 0, 0, NULL, -1);
	r = loop_run(e);
	if (e->audit)
		audit_close(e->audit, false);
	return r;
}
