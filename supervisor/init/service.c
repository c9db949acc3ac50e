/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of the policy: started as their own user, probed by a forked helper, restarted with back-off.
 *
 * One service has at most one process and one prober. Nothing is started before the CA exists, since a proxy needs it.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DELAY_MS 30000
#define DEFAULT_READY_MS 60000

static const char *state_name(enum service_state state)
{
	static const char *const names[] = { "waiting", "starting", "ready", "restarting", "failed", "stopped" };

	return names[state];
}

static void set_state(struct init *init, struct service_run *s, enum service_state state, const char *why)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };

	s->state = state;
	json_object_begin(&j, NULL);
	json_text(&j, "name", s->policy->name);
	json_text(&j, "state", state_name(state));
	json_int(&j, "pid", s->pid);
	json_text(&j, "why", why);
	json_uint(&j, "restarts", s->restarts.total);
	json_object_end(&j);
	if (!text.failed)
		enforcer_tell(init, INIT_SERVICE, 0, text.data);
}

int services_open(struct init *init)
{
	const struct policy *policy = init->settings->policy;

	init->services = calloc(policy->nr_services ? policy->nr_services : 1, sizeof(*init->services));
	if (!init->services)
		return -ENOMEM;
	for (size_t i = 0; i < policy->nr_services; i++) {
		struct service_run *s = &init->services[init->nr_services];

		if (!policy->services[i].enabled)
			continue;
		*s = (struct service_run){ .policy = &policy->services[i], .log_pipe = -1, .log_file = -1 };
		s->deadline_ms = s->start_ms = NEVER;
		s->report = mmap(NULL, sizeof(*s->report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (s->report == MAP_FAILED)
			return -errno;
		init->nr_services++;
	}
	return 0;
}

const struct service_run *services_proxy(const struct init *init)
{
	for (size_t i = 0; i < init->nr_services; i++)
		if (init->services[i].policy->proxy)
			return &init->services[i];
	return NULL;
}

/* ---- start ---- */

static const char *value_of(const struct init *init, const char *name, size_t len, const struct service_run *s,
			    const struct user_identity *identity, char ret_port[static 8])
{
	static char bundle[PATH_MAX];

	if (len == 2 && strncmp(name, "CA", len) == 0)
		return init->settings->ca_dir;
	if (len == 4 && strncmp(name, "HOME", len) == 0)
		return identity->home;
	if (len == 4 && strncmp(name, "PORT", len) == 0) {
		snprintf(ret_port, 8, "%u", s->policy->port);
		return ret_port;
	}
	if (len == 6 && strncmp(name, "BUNDLE", len) == 0) {
		snprintf(bundle, sizeof(bundle), "%s/bundle.pem", trust_dir(init));
		return bundle;
	}
	return NULL;
}

/* {CA} {PORT} {HOME} {BUNDLE} become values; other braces stay as they are. Owned by the caller. */
static char *expand(const struct init *init, const char *word, const struct service_run *s, const struct user_identity *identity)
{
	struct buf out = { 0 };

	while (*word) {
		const char *end = *word == '{' ? strchr(word, '}') : NULL, *value = NULL;
		char port[8];

		if (end)
			value = value_of(init, word + 1, (size_t)(end - word - 1), s, identity, port);
		if (value) {
			buf_text(&out, value);
			word = end + 1;
		} else {
			buf_char(&out, *word++);
		}
	}
	if (out.failed) {
		buf_free(&out);
		return NULL;
	}
	return out.data ? out.data : strdup("");
}

static void words_free(char **words)
{
	if (!words)
		return;
	for (char **w = words; *w; w++)
		free(*w);
	free(words);
}

static char **expand_all(const struct init *init, const struct strings *words, size_t room, const struct service_run *s,
			 const struct user_identity *identity)
{
	char **out = calloc(words->nr + room + 1, sizeof(*out));

	for (size_t i = 0; out && i < words->nr; i++) {
		out[i] = expand(init, words->items[i], s, identity);
		if (!out[i]) {
			words_free(out);
			return NULL;
		}
	}
	return out;
}

/* A clean environment: nothing of the host's reaches a service unless its file says so. */
static char **environment_of(const struct init *init, const struct service_run *s, const struct user_identity *identity)
{
	const char *const own[][2] = {
		{ "HOME", identity->home },
		{ "USER", identity->name },
		{ "LOGNAME", identity->name },
		{ "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
		{ "LANG", "C.UTF-8" },
	};
	char **env = expand_all(init, &s->policy->environment, ARRAY_SIZE(own), s, identity);

	for (size_t i = 0; env && i < ARRAY_SIZE(own); i++) {
		struct buf pair = { 0 };

		buf_format(&pair, "%s=%s", own[i][0], own[i][1]);
		if (pair.failed) {
			words_free(env);
			return NULL;
		}
		env[s->policy->environment.nr + i] = pair.data;
	}
	return env;
}

/* Without root there is only one user to be. */
static int find_user(const struct init *init, const struct service_run *s, struct user_identity *ret_identity, struct err *ret_error)
{
	char number[16];
	int r = user_find(init->settings->etc_dir, s->policy->user, ret_identity, ret_error);

	if (geteuid() == 0 || (r == 0 && ret_identity->uid == geteuid()))
		return r;
	snprintf(number, sizeof(number), "%u", geteuid());
	return user_find(init->settings->etc_dir, number, ret_identity, ret_error);
}

static int start_prober(struct init *init, struct service_run *s, const struct user_identity *identity)
{
	static char ca_file[PATH_MAX];
	struct probe probe = {
		.kind = s->policy->probe,
		.port = s->policy->port,
		.url = s->policy->probe_url,
		.ca_file = ca_file,
		.report = s->report,
	};
	struct spawn spawn = { .identity = identity, .in_fd = -1, .out_fd = -1, .error_fd = -1, .channel_fd = -1, .no_new_privs = true };
	pid_t pid;

	snprintf(ca_file, sizeof(ca_file), "%s/mitmproxy-ca-cert.pem", init->settings->ca_dir);
	s->report->why[0] = '\0';
	pid = spawn_function(&spawn, probe_run, &probe);
	if (pid < 0)
		return pid;
	s->prober = pid;
	return 0;
}

static int start_process(struct init *init, struct service_run *s, const struct user_identity *identity, struct err *ret_error)
{
	_cleanup_close_ int write_end = -1;
	struct spawn spawn = { .identity = identity, .in_fd = -1, .channel_fd = -1, .no_new_privs = true };
	char **argv = expand_all(init, &s->policy->command, 0, s, identity);
	char **env = environment_of(init, s, identity);
	int r = argv && env ? service_open_output(init, s, &write_end) : -ENOMEM;

	if (r == 0) {
		spawn.argv = argv;
		spawn.envp = env;
		spawn.out_fd = spawn.error_fd = write_end;
		r = spawn_program(&spawn);
	}
	words_free(argv);
	words_free(env);
	if (r < 0)
		return err_set(ret_error, r, "cannot start %s: %s", s->policy->command.items[0], strerror(-r));
	s->pid = r;
	return 0;
}

static void give_up_or_restart(struct init *init, struct service_run *s, int code, const char *why, uint64_t ran_ms);

static void become_ready(struct init *init, struct service_run *s)
{
	char why[64];

	s->deadline_ms = NEVER;
	snprintf(why, sizeof(why), "after %llu ms", (unsigned long long)(now_ms() - s->started_ms));
	s->was_ready = true;
	set_state(init, s, SERVICE_READY, why);
	init_settle(init);
}

void service_start(struct init *init, struct service_run *s)
{
	struct user_identity identity;
	struct err e = { 0 };
	int r;

	s->start_ms = NEVER;
	s->started_ms = now_ms();
	s->deadline_ms = s->started_ms + (s->policy->ready_ms ? s->policy->ready_ms : DEFAULT_READY_MS);
	r = find_user(init, s, &identity, &e);
	if (r == 0)
		r = start_process(init, s, &identity, &e);
	if (r == 0 && s->policy->probe != PROBE_NONE && (r = start_prober(init, s, &identity)) < 0)
		err_set(&e, r, "cannot start its probe: %s", strerror(-r));
	if (r < 0) {
		s->deadline_ms = NEVER;
		give_up_or_restart(init, s, INIT_EXIT_PROXY, e.text, 0);
		return;
	}
	set_state(init, s, SERVICE_STARTING, NULL);
	if (s->policy->probe == PROBE_NONE)
		become_ready(init, s);
}

/* ---- end ---- */

static void stop_processes(struct service_run *s)
{
	if (s->prober)
		kill(s->prober, SIGKILL);
	if (s->pid)
		kill(-s->pid, SIGKILL);
}

static void restart(struct init *init, struct service_run *s, const char *why, uint64_t ran_ms)
{
	stop_processes(s);
	if (restarts_again(&s->restarts, now_ms(), ran_ms, MAX_DELAY_MS, &s->start_ms)) {
		init_say(init, "service %s: %s; starting it again", s->policy->name, why);
		set_state(init, s, SERVICE_RESTARTING, why);
	} else {
		init_say(init, "service %s: %s; it failed %d times within %d s and is not started again", s->policy->name, why,
			 RESTARTS_MAX + 1, RESTARTS_WINDOW_MS / 1000);
		set_state(init, s, SERVICE_FAILED, why);
	}
	init_settle(init);
}

/* During start-up a proxy that fails ends the container with code: a person waits for the reason. */
static void give_up_or_restart(struct init *init, struct service_run *s, int code, const char *why, uint64_t ran_ms)
{
	if (s->policy->proxy && !s->was_ready && !init->was_ready)
		init_fail(init, code, "proxy %s %s", s->policy->name, why);
	else
		restart(init, s, why, ran_ms);
}

void service_on_exit(struct init *init, struct service_run *s, int status)
{
	uint64_t ran_ms = now_ms() - s->started_ms;
	char why[700], tail[560];

	s->pid = 0;
	service_on_log(init, s);
	if (s->prober)
		kill(s->prober, SIGKILL);
	s->deadline_ms = NEVER;
	if (init->drain.phase != DRAIN_NONE) {
		set_state(init, s, SERVICE_STOPPED, NULL);
		return;
	}
	if (s->state == SERVICE_FAILED || s->state == SERVICE_RESTARTING)
		return; /* killed by us, counted already */
	service_tail(s, tail, sizeof(tail));
	snprintf(why, sizeof(why), "ended (%s %d)%s%s", WIFEXITED(status) ? "exit" : "signal",
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), tail[0] ? ": " : "", tail);
	give_up_or_restart(init, s, INIT_EXIT_PROXY_LOST, why, ran_ms);
}

void service_on_probed(struct init *init, struct service_run *s, int status)
{
	s->prober = 0;
	if (s->state != SERVICE_STARTING || !s->pid)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		become_ready(init, s);
	else
		s->deadline_ms = 0; /* it cannot tell us any more: the same as not ready in time */
}

static void on_late(struct init *init, struct service_run *s)
{
	char why[700], tail[360];

	s->deadline_ms = NEVER;
	service_tail(s, tail, sizeof(tail));
	snprintf(why, sizeof(why), "not ready within %llu ms: %.199s%s%s", (unsigned long long)(now_ms() - s->started_ms),
		 s->report->why[0] ? s->report->why : "no answer", tail[0] ? "; it said: " : "", tail);
	give_up_or_restart(init, s, INIT_EXIT_PROXY, why, 0);
}

void services_tick(struct init *init, uint64_t now)
{
	if (init->drain.phase != DRAIN_NONE || init->trust_step != TRUST_DONE)
		return;
	for (size_t i = 0; i < init->nr_services; i++) {
		struct service_run *s = &init->services[i];

		/* A new one starts when the old one's remains are reaped. */
		if ((s->state == SERVICE_WAITING || s->start_ms <= now) && !s->pid && !s->prober)
			service_start(init, s);
		if (s->deadline_ms <= now)
			on_late(init, s);
	}
}

uint64_t services_deadline(const struct init *init)
{
	uint64_t first = NEVER;

	if (init->drain.phase != DRAIN_NONE)
		return NEVER;
	for (size_t i = 0; i < init->nr_services; i++) {
		const struct service_run *s = &init->services[i];

		if (s->deadline_ms < first)
			first = s->deadline_ms;
		if (s->start_ms < first && !s->pid && !s->prober)
			first = s->start_ms;
	}
	return first;
}

void services_signal(struct init *init, int signal)
{
	for (size_t i = 0; i < init->nr_services; i++) {
		if (init->services[i].prober)
			kill(init->services[i].prober, SIGKILL);
		if (init->services[i].pid)
			kill(-init->services[i].pid, signal);
	}
}

size_t services_alive(const struct init *init)
{
	size_t nr = 0;

	for (size_t i = 0; i < init->nr_services; i++)
		nr += init->services[i].pid != 0;
	return nr;
}

void services_free(struct init *init)
{
	for (size_t i = 0; i < init->nr_services; i++) {
		struct service_run *s = &init->services[i];

		if (s->log_pipe >= 0)
			close(s->log_pipe);
		if (s->log_file >= 0)
			close(s->log_file);
		munmap(s->report, sizeof(*s->report));
	}
	free(init->services);
}
