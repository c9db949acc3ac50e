/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1's side of the trust helpers: started beside the enforcer, their result becomes the launches' environment.
 *
 * What a helper could not do is reported as the state of a service named "trust", and never stops the container; without a CA
 * at all there is no proxy, and that does.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/json_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RENEW_AGAIN_MS 600000	/* after a renewal that failed: hours are left */

void trust_tell(struct init *init, const char *name, const char *state, const char *why)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };

	json_object_begin(&j, NULL);
	json_text(&j, "name", name);
	json_text(&j, "state", state);
	json_int(&j, "pid", 0);
	json_text(&j, "why", why);
	json_uint(&j, "restarts", 0);
	if (strcmp(name, "trust") == 0 && init->trust_report->expires)
		json_int(&j, "expires", init->trust_report->expires);
	json_object_end(&j);
	if (!text.failed)
		enforcer_tell(init, INIT_SERVICE, 0, text.data);
}

const char *trust_dir(const struct init *init)
{
	return init->trust_report->spare_dir ? init->settings->trust_spare_dir : init->settings->trust_dir;
}

static bool names_p12(const struct strings *command)
{
	for (size_t i = 0; i < command->nr; i++)
		if (strstr(command->items[i], "{P12}"))
			return true;
	return false;
}

static int fill_job(struct init *init, struct trust_job *ret_job, struct err *ret_error)
{
	const struct service_run *proxy = services_proxy(init);

	*ret_job = (struct trust_job){ .settings = init->settings, .short_id = init->boot, .report = init->trust_report,
				       .port = proxy->policy->port, .p12 = names_p12(&proxy->policy->command) };
	if (geteuid() == 0)
		return user_find(init->settings->etc_dir, proxy->policy->user, &ret_job->owner, ret_error);
	ret_job->owner = (struct user_identity){ .uid = geteuid(), .gid = getegid() };
	return 0;
}

static pid_t start_helper(struct init *init, int (*run)(void *), bool renew, struct err *ret_error)
{
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = 2, .channel_fd = -1 };
	struct trust_job job;
	pid_t pid = fill_job(init, &job, ret_error);

	if (pid < 0)
		return pid;
	job.renew = renew;
	pid = spawn_function(&spawn, run, &job);
	return pid < 0 ? err_set(ret_error, pid, "cannot fork: %s", strerror(-pid)) : pid;
}

/* The CA is made while the enforcer probes the kernel: the two do not need each other. */
void trust_start(struct init *init)
{
	const struct service_run *proxy = services_proxy(init);
	struct err e = { 0 };
	pid_t pid;

	if (!proxy) {
		init->trust_step = TRUST_DONE;
		return;
	}
	init->trust_step = TRUST_RUNNING;
	pid = start_helper(init, trust_run, false, &e);
	if (pid < 0)
		init_fail(init, INIT_EXIT_PROXY, "proxy %s: %s", proxy->policy->name, e.text);
	else
		init->trust_pid = pid;
}

/* What takes seconds; nobody waits for it. */
static void start_clients(struct init *init)
{
	struct err e = { 0 };
	pid_t pid;

	init->clients_wanted = false;
	init->trust_report->nr_clients = 0;
	pid = start_helper(init, trust_run_clients, false, &e);
	if (pid > 0)
		init->clients_pid = pid;
	else
		trust_tell(init, "trust-clients", "degraded", e.text);
}

void trust_on_clients_exit(struct init *init, int status)
{
	const struct trust_report *report = init->trust_report;

	init->clients_pid = 0;
	for (unsigned i = 0; i < report->nr_clients && i < TRUST_CLIENTS_MAX; i++) {
		const struct trust_client *client = &report->clients[i];

		trust_tell(init, client->name, client->degraded ? "degraded" : "ready", client->why[0] ? client->why : NULL);
		if (client->degraded)
			init_say(init, "%s is degraded: %s", client->name, client->why);
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		trust_tell(init, "trust-clients", "degraded", "the helper did not come to its end: some clients may not believe the CA");
}

static void schedule_renewal(struct init *init)
{
	uint64_t after_s = init->settings->ca_renew_s ? init->settings->ca_renew_s : CA_DAYS * 86400 / 2;

	init->renew_ms = now_ms() + after_s * 1000;
}

/* Clients that run go on: the key is the same, so what the proxy signed and will sign is good under both certificates until the older one ends. */
static void on_renewed(struct init *init, bool done)
{
	const struct trust_report *report = init->trust_report;
	char why[600];

	if (done) {
		schedule_renewal(init);
		init_say(init, "the CA's certificate was renewed");
		trust_tell(init, "trust", report->degraded ? "degraded" : "ready", report->why[0] ? report->why : "the CA's certificate was renewed");
		init->clients_wanted = true;
		return;
	}
	init->renew_ms = now_ms() + RENEW_AGAIN_MS;
	snprintf(why, sizeof(why), "the CA's certificate could not be renewed, and ends within a day: %s", report->why[0] ? report->why : "the helper was killed");
	init_say(init, "%s", why);
	trust_tell(init, "trust", "degraded", why);
}

void trust_tick(struct init *init, uint64_t now)
{
	struct err e = { 0 };
	pid_t pid;

	if (init->trust_pid || init->clients_pid || init->drain.phase != DRAIN_NONE)
		return;
	if (init->clients_wanted && !init->host_user_pid)
		start_clients(init);
	if (init->renew_ms > now || init->clients_pid)
		return;
	init->trust_report->why[0] = '\0';
	init->trust_report->degraded = false;
	pid = start_helper(init, trust_run, true, &e);
	if (pid > 0) {
		init->trust_pid = pid;
		init->renew_ms = NEVER;
		return;
	}
	snprintf(init->trust_report->why, sizeof(init->trust_report->why), "%.399s", e.text);
	on_renewed(init, false);
}

void trust_on_exit(struct init *init, int status)
{
	const struct trust_report *report = init->trust_report;
	bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	init->trust_pid = 0;
	if (init->trust_step == TRUST_DONE) {
		on_renewed(init, done);
		return;
	}
	if (!done) {
		init_fail(init, INIT_EXIT_PROXY, "no CA for the proxy: %s", report->why[0] ? report->why : "the helper that makes it was killed");
		return;
	}
	init->trust_step = TRUST_DONE;
	init->environment = trust_environment(trust_dir(init), services_proxy(init)->policy->port);
	if (!init->environment) {
		init_fail(init, INIT_EXIT_INTERNAL, "out of memory");
		return;
	}
	enforcer_tell(init, INIT_ENVIRONMENT, 0, init->environment);
	trust_tell(init, "trust", report->degraded ? "degraded" : "ready", report->why[0] ? report->why : NULL);
	if (report->degraded)
		init_say(init, "trust is degraded: %s", report->why);
	schedule_renewal(init);
	init->clients_wanted = true;
	init_settle(init);
}
