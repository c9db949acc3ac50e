/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon metrics`: the supervisor's numbers in Prometheus' text format. Labels are names of the policy, of layers, states and tags, never of agents,
 * programs or paths: there are as many series on the last day as on the first.
 */
#include "supervisor/cli/cli.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: cordon metrics [--json]\n"
	"The supervisor's numbers in Prometheus' text format (or as one JSON object, a member for each series). Needs root and a running supervisor.\n"
	"exit: 0 shown, 1 no supervisor answers, 2 usage\n";

struct output {
	json_t *json;		/* NULL: text */
};

/* HELP and TYPE come once, before the first sample of a name. */
static void put_head(const struct output *out, const char *name, const char *type, const char *text)
{
	if (!out->json)
		printf("# HELP %s %s\n# TYPE %s %s\n", name, text, name, type);
}

/* Backslash, quote and line feed are the only characters with a meaning in a label's value. */
static void escape(const char *value, char *ret_text, size_t bytes)
{
	size_t len = 0;

	for (; *value && len + 3 < bytes; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			ret_text[len++] = '\\';
		ret_text[len++] = (char)(*value == '\n' ? 'n' : *value);
	}
	ret_text[len] = 0;
}

static void put(const struct output *out, const char *name, const char *label, const char *value, double number)
{
	char escaped[256], series[400];

	if (label) {
		escape(value, escaped, sizeof(escaped));
		snprintf(series, sizeof(series), "%s{%s=\"%s\"}", name, label, escaped);
	} else {
		snprintf(series, sizeof(series), "%s", name);
	}
	if (out->json)
		json_object_set_new(out->json, series, json_real(number));
	else
		printf("%s %.17g\n", series, number);
}

static void put_one(const struct output *out, const char *name, const char *type, const char *text, double number)
{
	put_head(out, name, type, text);
	put(out, name, NULL, NULL, number);
}

/* ---- what there is ---- */

static void put_state(const struct output *out, const json_t *s)
{
	static const char *const states[] = { "boot", "starting", "ready", "degraded", "draining", "stopped" };

	put_head(out, "cordon_state", "gauge", "1 for the state the container is in.");
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		put(out, "cordon_state", "state", states[i], strcmp(states[i], cli_text(s, "state")) == 0);
	put_head(out, "cordon_mode", "gauge", "1 for the container's mode.");
	put(out, "cordon_mode", "mode", cli_text(s, "mode"), 1);
	put_head(out, "cordon_layer_active", "gauge", "Whether a protective layer is active.");
	const json_t *layer;
	size_t i;
	json_array_foreach(json_object_get(s, "layers"), i, layer)
		put(out, "cordon_layer_active", "layer", cli_text(layer, "name"), strcmp(cli_text(layer, "state"), "active") == 0);
}

static void put_services(const struct output *out, const json_t *s)
{
	const json_t *services = json_object_get(s, "services"), *service;
	long long expires = 0;
	size_t i;

	put_head(out, "cordon_service_ready", "gauge", "Whether a service, or a step of trust, is ready.");
	json_array_foreach(services, i, service) {
		put(out, "cordon_service_ready", "service", cli_text(service, "name"), strcmp(cli_text(service, "state"), "ready") == 0);
		if (cli_number(service, "expires"))
			expires = cli_number(service, "expires");
	}
	put_head(out, "cordon_service_restarts_total", "counter", "How often a service was started again.");
	json_array_foreach(services, i, service)
		put(out, "cordon_service_restarts_total", "service", cli_text(service, "name"), (double)cli_number(service, "restarts"));
	if (expires)
		put_one(out, "cordon_ca_expiry_timestamp_seconds", "gauge", "When the interception CA's certificate ends.", (double)expires);
}

static void put_denials(const struct output *out, const json_t *s)
{
	const char *tag;
	json_t *number;

	put_head(out, "cordon_denials_total", "counter", "Refusals by tag, since the enforcer started.");
	json_object_foreach(json_object_get(s, "denials_by_tag"), tag, number)
		put(out, "cordon_denials_total", "tag", tag, (double)json_integer_value(number));
}

static void put_numbers(const struct output *out, const json_t *s)
{
	const json_t *audit = json_object_get(s, "audit"), *init = json_object_get(s, "init"), *zombies = json_object_get(s, "zombies");
	const struct {
		const char *name, *type, *text;
		const json_t *object;
		const char *key;
	} numbers[] = {
		{ "cordon_notified_calls_total", "counter", "Calls decided, since the enforcer started.", s, "calls" },
		{ "cordon_launches_started_total", "counter", "Launches asked for, since the enforcer started.", s, "launches_started" },
		{ "cordon_execs_in_flight", "gauge", "Program starts between judgement and check.", s, "execs_in_flight" },
		{ "cordon_enforcer_restarts_total", "counter", "How often the enforcer was started again.", s, "enforcer_restarts" },
		{ "cordon_audit_records_total", "counter", "Records written, since the enforcer started.", audit, "written" },
		{ "cordon_audit_lost_total", "counter", "Records lost, since the enforcer started.", audit, "lost" },
		{ "cordon_orphans_reaped_total", "counter", "Orphans that PID 1 reaped.", init, "orphans_reaped" },
		{ "cordon_signals_refused_total", "counter", "Signals to PID 1 from inside that were refused.", init, "signals_refused" },
		{ "cordon_unsupervised_total", "counter", "Processes found that no filter guards.", s, "unsupervised" },
		{ "cordon_unsupervised_stopped_total", "counter", "Those of them that were stopped.", s, "unsupervised_stopped" },
		{ "cordon_zombies", "gauge", "Dead processes that their parents do not reap.", zombies, "count" },
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put_one(out, numbers[i].name, numbers[i].type, numbers[i].text, (double)cli_number(numbers[i].object, numbers[i].key));
	put_one(out, "cordon_launches", "gauge", "Launches alive.", (double)json_array_size(json_object_get(s, "launches")));
	put_one(out, "cordon_audit_writable", "gauge", "Whether records can be written.", json_is_true(json_object_get(audit, "writable")));
	put_one(out, "cordon_uptime_seconds", "gauge", "How long the enforcer runs.", (double)cli_number(s, "uptime_us") / 1e6);
}

static int show(const json_t *status, bool json)
{
	struct output out = { .json = json ? json_object() : NULL };
	int code = 0;

	put_head(&out, "cordon_info", "gauge", "The version that runs.");
	put(&out, "cordon_info", "version", cli_text(status, "version"), 1);
	put_state(&out, status);
	put_services(&out, status);
	put_denials(&out, status);
	put_numbers(&out, status);
	if (out.json)
		code = cli_print_json(out.json);
	json_decref(out.json);
	return code;
}

int cli_metrics(int argc, char **argv)
{
	bool json;
	json_t *status;
	int code = cli_only_json(argc, argv, help, &json);

	if (code >= 0)
		return code;
	status = cli_ask("status", &code);
	if (!status)
		return code;
	json_object_set_new(status, "zombies", cli_zombies());
	code = show(status, json);
	json_decref(status);
	return code;
}
