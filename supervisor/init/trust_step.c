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

static void tell(struct init *init, const char *name, const char *state, const char *why)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };

	json_object_begin(&j, NULL);
	json_text(&j, "name", name);
	json_text(&j, "state", state);
	json_int(&j, "pid", 0);
	json_text(&j, "why", why);
	json_uint(&j, "restarts", 0);
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

/* The CA is made while the enforcer probes the kernel: the two do not need each other. */
void trust_start(struct init *init)
{
	const struct service_run *proxy = services_proxy(init);
	struct trust_job job = { .settings = init->settings, .short_id = init->boot, .report = init->trust_report };
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = 2, .channel_fd = -1 };
	struct err e = { 0 };
	pid_t pid;

	if (!proxy) {
		init->trust_step = TRUST_DONE;
		return;
	}
	job.port = proxy->policy->port;
	job.p12 = names_p12(&proxy->policy->command);
	if (geteuid() != 0) {
		job.owner = (struct user_identity){ .uid = geteuid(), .gid = getegid() };
	} else if (user_find(init->settings->etc_dir, proxy->policy->user, &job.owner, &e) < 0) {
		init_fail(init, INIT_EXIT_PROXY, "proxy %s: %s", proxy->policy->name, e.text);
		return;
	}
	init->trust_step = TRUST_RUNNING;
	pid = spawn_function(&spawn, trust_run, &job);
	if (pid < 0)
		init_fail(init, INIT_EXIT_INTERNAL, "cannot fork: %s", strerror(-pid));
	else
		init->trust_pid = pid;
}

/* Browsers look into the NSS database of their user's home. Nobody waits for this. */
static void start_browser_helper(struct init *init)
{
	struct spawn spawn = { .in_fd = -1, .out_fd = -1, .error_fd = -1, .channel_fd = -1, .no_new_privs = true };
	struct trust_browser_job job = { .trust_dir = trust_dir(init) };
	struct user_identity user;
	pid_t pid;

	if (access("/usr/bin/certutil", X_OK) < 0 || !init->settings->policy->launch_user ||
	    user_find(init->settings->etc_dir, init->settings->policy->launch_user, &user, NULL) < 0)
		return;
	if (geteuid() == 0)
		spawn.identity = &user;
	snprintf(job.home, sizeof(job.home), "%s", user.home);
	pid = spawn_function(&spawn, trust_run_browser, &job);
	if (pid > 0)
		init->browser_pid = pid;
}

void trust_on_browser_exit(struct init *init, int status)
{
	bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	init->browser_pid = 0;
	tell(init, "trust-browser", ok ? "ready" : "degraded", ok ? NULL : "certutil could not change the NSS database");
}

void trust_on_exit(struct init *init, int status)
{
	const struct trust_report *report = init->trust_report;

	init->trust_pid = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
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
	tell(init, "trust", report->degraded ? "degraded" : "ready", report->why[0] ? report->why : NULL);
	if (report->degraded)
		init_say(init, "trust is degraded: %s", report->why);
	start_browser_helper(init);
	init_settle(init);
}
