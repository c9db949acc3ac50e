/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 of the container: starts the enforcer, the proxy and what makes its CA believed, reaps everything, stops in order.
 *
 * One thread, one loop. It never parses what an agent wrote: probing a service and making the CA happen in forked helpers.
 */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdbool.h>

/* Cordon's own failures; everything else is the command's. Documented in cordond(8). */
enum init_exit {
	INIT_EXIT_POLICY = 110,		/* bad command line, configuration or policy */
	INIT_EXIT_LAYER = 111,		/* a layer the policy requires is missing (said by the enforcer) */
	INIT_EXIT_PROXY = 112,		/* the proxy did not become ready */
	INIT_EXIT_AUDIT = 113,		/* the audit log cannot be written (said by the enforcer) */
	INIT_EXIT_PROXY_LOST = 114,	/* the proxy ended while it was being waited for */
	INIT_EXIT_INTERNAL = 115,
};

/* From the command line; NULL: not given. */
struct init_options {
	const char *mode, *unreviewed, *scope;
	const char *policy_dir, *run_dir, *state_dir;
	char *const *command;		/* NULL-terminated; NULL: idle */
};

/* Settles options, environment and policy, then runs until the container is to end. Returns the exit code. */
int init_main(const struct init_options *options);

/* What init runs with once all that is settled. Tests fill one with their own programs and folders. */
struct init_settings {
	const struct policy *policy;
	const char *policy_dir, *run_dir, *state_dir;
	const char *mode;		/* NULL: the policy's */
	bool mode_explicit;		/* the host wrote it: an unattended `off` then stays */
	const char *mode_problem;	/* an unusable value was found and taken for guarded: recorded loudly; NULL: none */
	const char *unreviewed;		/* "allow", "deny"; NULL: the policy's */
	const char *scope;		/* the declared targets, as text; NULL: none */
	const char *live_sources;	/* CORDON_LIVE_SOURCES: names, separated by commas, that are not isolated; NULL: none */
	unsigned host_uid, host_gid;	/* the launch user takes them; 0: keeps the image's */
	unsigned ca_renew_s;		/* after how long the CA's certificate is renewed; 0: half of its life */
	unsigned stop_grace_s;		/* from the runtime's stop to its kill; 0: Docker's ten */
	const char *run;		/* the host's run id; NULL: the boot id */
	char *const *command;
	const char *enforcer_program;
	char *const *enforcer_argv;
	const char *client;		/* program that turns `-- CMD` into a launch */
	const char *ca_dir, *trust_dir, *trust_spare_dir;
	const char *local_ca_dir;	/* more roots, *.crt: what update-ca-certificates would add */
	const char *etc_dir;		/* where passwd, ssl/certs and the proxy files are */
};

int init_run(const struct init_settings *settings);
