/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the command line, the environment and the policy folder to the settings init runs with.
 *
 * An unknown mode on the command line is an error; one found in the environment never relaxes: it becomes guarded, loudly.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"
#include "supervisor/control/layout.h"
#include "supervisor/judge/judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *first_of(const char *option, const char *variable, const char *otherwise)
{
	const char *value = option ? option : getenv(variable);

	return value && *value ? value : otherwise;
}

static int complain(const struct err *e)
{
	char line[1024];

	err_format(e, line, sizeof(line));
	dprintf(2, "cordon: %s\n", line);
	return INIT_EXIT_POLICY;
}

static void take_guarded(struct init_settings *s, const char *variable, const char *value, struct buf *text)
{
	struct json_out j = { .buf = text };

	s->mode = mode_name(MODE_GUARDED);
	s->mode_explicit = false;
	buf_text(text, "policy_load\n");
	json_text(&j, "problem", "unknown mode in the environment: guarded is used");
	json_text(&j, "variable", variable);
	json_bytes(&j, "value", bytes_of(value));
	s->mode_problem = text->failed ? "policy_load\n\"problem\":\"unknown mode in the environment: guarded is used\"" : text->data;
	dprintf(2, "cordon: %s has an unknown mode; guarded is used\n", variable);
}

static int settle_mode(const struct init_options *o, struct init_settings *s, struct buf *problem, struct err *ret_error)
{
	const char *variable = "CORDON_MODE", *value = getenv(variable);
	enum mode mode;

	if (o->mode) {
		if (mode_parse(o->mode, &mode, ret_error) < 0)
			return err_prefix(ret_error, -EINVAL, "--mode %s", o->mode);
	} else {
		if (!value) {
			variable = "STRIX_SAFETY_MODE";
			value = getenv(variable);
		}
		if (!value)
			return 0;
		if (mode_parse(value, &mode, NULL) < 0) {
			take_guarded(s, variable, value, problem);
			return 0;
		}
	}
	s->mode = mode_name(mode);
	s->mode_explicit = true;
	return 0;
}

/* A number from the environment; it stays as it is when the variable is not set. */
static int settle_number(const char *variable, unsigned least, unsigned most, unsigned *ret_number, struct err *ret_error)
{
	const char *value = getenv(variable);
	unsigned long number;
	char *end;

	if (!value || !*value)
		return 0;
	number = strtoul(value, &end, 10);
	if (*end || *value < '0' || *value > '9' || number < least || number > most)
		return err_set(ret_error, -EINVAL, "%s: expected a number from %u to %u", variable, least, most);
	*ret_number = (unsigned)number;
	return 0;
}

/* Strix's names are what hosts set; ours win. */
static int settle_host_user(struct init_settings *s, struct err *ret_error)
{
	const struct {
		const char *variable;
		unsigned *number;
	} numbers[] = { { "STRIX_HOST_UID", &s->host_uid }, { "CORDON_HOST_UID", &s->host_uid }, { "STRIX_HOST_GID", &s->host_gid }, { "CORDON_HOST_GID", &s->host_gid } };

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (settle_number(numbers[i].variable, 0, UINT32_MAX - 1, numbers[i].number, ret_error) < 0)
			return -EINVAL;
	return 0;
}

/*
 * The runtime's grace, where it is not Docker's (docker stop -t, terminationGracePeriodSeconds): the end is spread over what there is. And how long a
 * certificate is used before it is renewed.
 */
static int settle_times(struct init_settings *s, struct err *ret_error)
{
	int r = settle_number("CORDON_STOP_GRACE_S", 4, 3600, &s->stop_grace_s, ret_error);

	return r < 0 ? r : settle_number("CORDON_CA_RENEW_S", 1, CA_DAYS * 86400 / 2, &s->ca_renew_s, ret_error);
}

/* A scope that cannot be read would leave out what the host means: nothing starts with it. */
static int settle_scope(const struct init_options *o, struct init_settings *s, struct err *ret_error)
{
	_cleanup_scope_ struct scope scope = { 0 };
	int r;

	s->scope = first_of(o->scope, "CORDON_SCOPE", NULL);
	r = s->scope ? scope_parse(s->scope, &scope, ret_error) : 0;
	return r < 0 ? err_prefix(ret_error, r, "%s", o->scope ? "--scope" : "CORDON_SCOPE") : 0;
}

static int settle(const struct init_options *o, struct init_settings *s, struct buf *problem, struct err *ret_error)
{
	if (o->unreviewed && strcmp(o->unreviewed, "allow") != 0 && strcmp(o->unreviewed, "deny") != 0)
		return err_set(ret_error, -EINVAL, "--unreviewed %s: expected allow or deny", o->unreviewed);
	s->unreviewed = o->unreviewed;
	s->policy_dir = first_of(o->policy_dir, "CORDON_POLICY", CORDON_POLICY_DIR);
	s->run_dir = first_of(o->run_dir, "CORDON_RUN_DIR", CORDON_RUN_DIR);
	s->state_dir = first_of(o->state_dir, "CORDON_STATE_DIR", CORDON_STATE_DIR);
	if (s->policy_dir[0] != '/' || s->run_dir[0] != '/' || s->state_dir[0] != '/')
		return err_set(ret_error, -EINVAL, "folders of policy, run and state must be absolute");
	s->run = first_of(NULL, "CORDON_RUN_ID", first_of(NULL, "STRIX_RUN_ID", NULL));
	s->live_sources = getenv("CORDON_LIVE_SOURCES");
	s->command = o->command;
	if (settle_times(s, ret_error) < 0 || settle_host_user(s, ret_error) < 0 || settle_scope(o, s, ret_error) < 0)
		return -EINVAL;
	return settle_mode(o, s, problem, ret_error);
}

/* Launches have one proxy in their environment, so there can be one. */
static int check_services(const struct policy *policy, struct err *ret_error)
{
	const struct service *first = NULL;

	for (size_t i = 0; i < policy->nr_services; i++) {
		const struct service *s = &policy->services[i];

		if (!s->enabled || !s->proxy)
			continue;
		if (first)
			return err_set(ret_error, -EINVAL, "services %s and %s are both the proxy: enable one of them", first->name, s->name);
		first = s;
	}
	return 0;
}

int init_main(const struct init_options *options)
{
	static char *const enforcer_argv[] = { "cordond", "enforcer", NULL };
	struct init_settings s = {
		.enforcer_program = "/proc/self/exe",
		.enforcer_argv = enforcer_argv,
		.client = CORDON_CLIENT,
		.ca_dir = CORDON_CA_DIR,
		.trust_dir = CORDON_TRUST_DIR,
		.trust_spare_dir = "/run/cordon-trust",
		.local_ca_dir = "/usr/local/share/ca-certificates",
		.etc_dir = "/etc",
	};
	_cleanup_buf_ struct buf problem = { 0 };
	struct policy *policy = NULL;
	struct err e = { 0 };
	int code;

	prepare_signals();
	if (settle(options, &s, &problem, &e) < 0 || policy_load(s.policy_dir, &policy, &e) < 0 || check_services(policy, &e) < 0)
		return complain(&e);
	s.policy = policy;
	code = init_run(&s);
	policy_free(policy);
	return code;
}
