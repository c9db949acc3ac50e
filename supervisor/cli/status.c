/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon status` and `cordon health`: what the running supervisor says of itself. */
#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"
#include "supervisor/cli/cli.h"
#include "supervisor/control/control.h"

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char status_help[] =
	"usage: cordon status [--json] [--launch ID]\n"
	"Show the container's state, its protections, services and launches. Needs root and a running supervisor.\n"
	"  --launch ID   one launch, also one of the last 256 that ended: its exit code, and whether it ran at all\n"
	"exit: 0 shown, 1 no supervisor answers or no such launch is known, 2 usage\n";

static const char health_help[] =
	"usage: cordon health [--json]\n"
	"One line; exit 0 when the container is ready and records can be written, else 1.\n";

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static long long number_of(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static void print_launches(const json_t *status)
{
	const json_t *launches = json_object_get(status, "launches"), *l;
	size_t i;

	json_array_foreach(launches, i, l) {
		printf("  %-6lld %-8s %-9s %-10s pid %-7lld execs %-5lld denials %-4lld %s\n", number_of(l, "id"), text_of(l, "state"),
		       text_of(l, "mode"), text_of(l, "user"), number_of(l, "pid"), number_of(l, "execs"), number_of(l, "denials"),
		       text_of(l, "command"));
		if (json_object_get(l, "exit"))
			printf("         exit %lld\n", number_of(l, "exit"));
		else if (json_object_get(l, "signal"))
			printf("         killed by signal %lld\n", number_of(l, "signal"));
		if (json_is_false(json_object_get(l, "started")))
			printf("         never started\n");
	}
}

static void print_status(const json_t *s)
{
	const json_t *item, *audit = json_object_get(s, "audit");
	size_t i;

	printf("state     %s%s%s\n", text_of(s, "state"), *text_of(s, "why") ? ": " : "", text_of(s, "why"));
	printf("mode      %s, unreviewed: %s\n", text_of(s, "mode"), text_of(s, "unreviewed"));
	printf("policy    %s (sha256 %.12s)\n", text_of(s, "policy"), text_of(s, "policy_sha256"));
	printf("audit     %s, seq %lld, lost %lld\n", json_is_true(json_object_get(audit, "writable")) ? "writable" : "NOT WRITABLE",
	       number_of(audit, "seq"), number_of(audit, "lost"));
	printf("calls     %lld, denials %lld\n", number_of(s, "calls"), number_of(s, "denials"));
	printf("up        %lld s, enforcer restarts %lld\n", number_of(s, "uptime_us") / 1000000, number_of(s, "enforcer_restarts"));
	json_array_foreach(json_object_get(s, "layers"), i, item)
		printf("layer     %-16s %s\n", text_of(item, "name"), text_of(item, "state"));
	json_array_foreach(json_object_get(s, "services"), i, item)
		printf("service   %-16s %s %s\n", text_of(item, "name"), text_of(item, "state"), text_of(item, "why"));
	json_array_foreach(json_object_get(s, "workspaces"), i, item)
		printf("workspace %-16s %s at %s%s%s\n", text_of(item, "name"), text_of(item, "kind"), text_of(item, "path"),
		       *text_of(item, "changed") ? "; the source changed since: " : "", text_of(item, "changed"));
	printf("launches  %zu\n", json_array_size(json_object_get(s, "launches")));
	print_launches(s);
}

/* Returns the exit code. */
static int show(const json_t *status, const char *launch, bool raw)
{
	if (launch && json_array_size(json_object_get(status, "launches")) == 0) {
		fprintf(stderr, "cordon: status: no launch %s is known: there was none, or it ended before the last 256\n", launch);
		return 1;
	}
	if (!raw)
		(launch ? print_launches : print_status)(status);
	return 0;
}

static int report(const struct err *e)
{
	char line[1024];

	err_format(e, line, sizeof(line));
	fprintf(stderr, "cordon: %s\n", line);
	return 1;
}

/* Asks, and prints raw or hands the parsed answer on. Returns NULL with the exit code when there is nothing to hand on. */
static json_t *ask(const char *request, bool raw, int *ret_exit)
{
	_cleanup_buf_ struct buf answer = { 0 };
	struct err error = { 0 };
	json_t *parsed;

	*ret_exit = 0;
	if (control_ask(request, &answer, &error) < 0) {
		*ret_exit = report(&error);
		return NULL;
	}
	parsed = json_loads(answer.data, 0, NULL);
	if (!parsed) {
		fputs("cordon: the supervisor's answer is not JSON\n", stderr);
		*ret_exit = 1;
	} else if (raw) {
		fputs(answer.data, stdout);
	}
	return parsed;
}

static const struct option status_options[] = {
	{ "json", no_argument, NULL, 'j' }, { "launch", required_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' }, { 0 },
};
static const struct option health_options[] = { { "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { 0 } };

static int misused(const char *verb, int option, char **argv)
{
	fprintf(stderr, "cordon: %s: %s %s (see cordon %s --help)\n", verb,
		option == ':' ? "a value is missing after" : option ? "unknown option" : "unexpected word", argv[option ? optind - 1 : optind], verb);
	return 2;
}

int cli_status(int argc, char **argv)
{
	const char *launch = NULL;
	bool raw = false;
	char request[64] = "status";
	json_t *status;
	int option, code;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", status_options, NULL)) != -1) {
		if (option == 'j')
			raw = true;
		else if (option == 'l')
			launch = optarg;
		else
			return option == 'h' ? fputs(status_help, stdout), 0 : misused("status", option, argv);
	}
	if (optind < argc)
		return misused("status", 0, argv);
	if (launch && (!*launch || strspn(launch, "0123456789") != strlen(launch) || strlen(launch) >= 20)) {
		fprintf(stderr, "cordon: status: --launch wants a number, as `cordon status` lists them\n");
		return 2;
	}
	if (launch)
		snprintf(request, sizeof(request), "status %s", launch);
	status = ask(request, raw, &code);
	if (status)
		code = show(status, launch, raw);
	json_decref(status);
	return code;
}

int cli_health(int argc, char **argv)
{
	bool raw = false, healthy;
	json_t *health;
	int option, code;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", health_options, NULL)) != -1) {
		if (option != 'j')
			return option == 'h' ? fputs(health_help, stdout), 0 : misused("health", option, argv);
		raw = true;
	}
	if (optind < argc)
		return misused("health", 0, argv);
	health = ask("health", raw, &code);
	if (!health)
		return code;
	healthy = json_is_true(json_object_get(health, "healthy"));
	if (!raw)
		printf("%s: %s%s%s\n", healthy ? "healthy" : "not healthy", text_of(health, "state"), *text_of(health, "why") ? ", " : "",
		       text_of(health, "why"));
	json_decref(health);
	return healthy ? 0 : 1;
}
