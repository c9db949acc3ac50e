/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Services of the policy as states: waiting, starting, ready, restarted with back-off, given up. What is started, and how: service_start.c.
 *
 * One service has at most one process and one prober. Nothing is started before the CA exists, since a proxy needs it.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/json_out.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_DELAY_MS 30000
#define DEFAULT_READY_MS 60000
#define WATCH_AGAIN_MS 1000

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
		*s = (struct service_run){ .policy = &policy->services[i], .log_pipe = -1, .log_file = -1, .notify_pipe = -1 };
		s->deadline_ms = s->start_ms = s->watch_ms = NEVER;
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

static void give_up_or_restart(struct init *init, struct service_run *s, int code, const char *why, uint64_t ran_ms);

static void become_ready(struct init *init, struct service_run *s)
{
	char why[64];

	s->deadline_ms = NEVER;
	snprintf(why, sizeof(why), "after %llu ms", (unsigned long long)(now_ms() - s->started_ms));
	s->was_ready = true;
	s->watch_ms = s->policy->alive_ms ? now_ms() : NEVER;
	set_state(init, s, SERVICE_READY, why);
	init_settle(init);
}

/* One that hangs accepts and does not answer: only asking tells. */
static void start_watching(struct init *init, struct service_run *s)
{
	struct user_identity identity;

	s->watch_ms = NEVER;
	if (service_user(init, s, &identity, NULL) < 0 || service_start_prober(init, s, true, &identity) < 0)
		s->watch_ms = now_ms() + WATCH_AGAIN_MS;
}

void service_start(struct init *init, struct service_run *s)
{
	struct err e = { 0 };

	s->start_ms = NEVER;
	s->started_ms = now_ms();
	s->deadline_ms = s->started_ms + (s->policy->ready_ms ? s->policy->ready_ms : DEFAULT_READY_MS);
	if (service_start_processes(init, s, &e) < 0) {
		s->deadline_ms = NEVER;
		give_up_or_restart(init, s, INIT_EXIT_PROXY, e.text, 0);
		return;
	}
	set_state(init, s, SERVICE_STARTING, NULL);
	if (s->policy->probe == PROBE_NONE)
		become_ready(init, s);
}

/* Any line is a notification: PID 1 does not read what it says. */
void service_on_notified(struct init *init, struct service_run *s)
{
	char text[256];
	ssize_t len = s->notify_pipe < 0 ? -1 : read(s->notify_pipe, text, sizeof(text));
	bool line = len > 0 && memchr(text, '\n', (size_t)len);

	if (len == 0 || line)
		service_close_notification(s);
	if (line && s->state == SERVICE_STARTING && s->pid)
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
	service_close_notification(s);
	if (s->prober)
		kill(s->prober, SIGKILL);
	s->deadline_ms = s->watch_ms = NEVER;
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

static void on_hung(struct init *init, struct service_run *s)
{
	uint64_t ran_ms = now_ms() - s->started_ms;
	char why[300];

	snprintf(why, sizeof(why), "does not answer any more: %.199s", s->report->why);
	restart(init, s, why, ran_ms);
}

void service_on_probed(struct init *init, struct service_run *s, int status)
{
	s->prober = 0;
	if (!s->pid || init->drain.phase != DRAIN_NONE)
		return;
	if (s->state == SERVICE_READY && WIFEXITED(status) && WEXITSTATUS(status) == PROBE_EXIT_HUNG)
		on_hung(init, s);
	else if (s->state == SERVICE_READY)
		s->watch_ms = now_ms() + WATCH_AGAIN_MS; /* killed by somebody: it proves nothing of the service */
	else if (s->state == SERVICE_STARTING && WIFEXITED(status) && WEXITSTATUS(status) == 0)
		become_ready(init, s);
	else if (s->state == SERVICE_STARTING)
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

static bool may_begin(const struct init *init, const struct service_run *s)
{
	for (size_t a = 0; a < s->policy->after.nr; a++)
		for (size_t i = 0; i < init->nr_services; i++)
			if (!init->services[i].was_ready && strcmp(init->services[i].policy->name, s->policy->after.items[a]) == 0)
				return false;
	return true;
}

void services_tick(struct init *init, uint64_t now)
{
	if (init->drain.phase != DRAIN_NONE || init->trust_step != TRUST_DONE)
		return;
	for (size_t i = 0; i < init->nr_services; i++) {
		struct service_run *s = &init->services[i];

		/* A new one starts when the old one's remains are reaped. */
		if (((s->state == SERVICE_WAITING && may_begin(init, s)) || s->start_ms <= now) && !s->pid && !s->prober)
			service_start(init, s);
		if (s->deadline_ms <= now)
			on_late(init, s);
		if (s->watch_ms <= now && s->pid && !s->prober)
			start_watching(init, s);
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
		if (s->watch_ms < first && s->pid && !s->prober)
			first = s->watch_ms;
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
		service_close_notification(s);
		munmap(s->report, sizeof(*s->report));
	}
	free(init->services);
}
