/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon status` and `cordon health`: what the running supervisor says of itself. */
#include "supervisor/cli/cli.h"

#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char status_help[] =
	"usage: cordon status [--json] [--launch ID]\n"
	"Show the container's state, its protections, services, agents, launches and zombies. Needs root and a running supervisor.\n"
	"  --launch ID   one launch, also one of the last 256 that ended: its exit code, and whether it ran at all\n"
	"exit: 0 shown, 1 no supervisor answers or no such launch is known, 2 usage\n";

static const char health_help[] =
	"usage: cordon health [--json]\n"
	"One line; exit 0 when the container is ready and records can be written, else 1.\n";

static void print_launches(const json_t *status)
{
	const json_t *launches = json_object_get(status, "launches"), *l;
	size_t i;

	json_array_foreach(launches, i, l) {
		printf("  %-6lld %-8s %-9s %-10s pid %-7lld execs %-5lld denials %-4lld %s\n", cli_number(l, "id"), cli_text(l, "state"),
		       cli_text(l, "mode"), cli_text(l, "user"), cli_number(l, "pid"), cli_number(l, "execs"), cli_number(l, "denials"),
		       cli_text(l, "command"));
		if (json_object_get(l, "exit"))
			printf("         exit %lld\n", cli_number(l, "exit"));
		else if (json_object_get(l, "signal"))
			printf("         killed by signal %lld\n", cli_number(l, "signal"));
		if (json_is_false(json_object_get(l, "started")))
			printf("         never started\n");
	}
}

/* One line for each agent: its launches and what was refused in them. The name is "" where the host named none. */
static json_t *count_agents(const json_t *status)
{
	json_t *agents = json_object(), *launch, *agent;
	size_t i;

	json_array_foreach(json_object_get(status, "launches"), i, launch) {
		const char *name = cli_text(launch, "agent");

		if (!json_object_get(launch, "agent"))
			continue; /* it is still starting */
		if (!json_object_get(agents, name))
			json_object_set_new(agents, name, json_pack("{s:i, s:i}", "launches", 0, "denials", 0));
		agent = json_object_get(agents, name);
		json_object_set_new(agent, "launches", json_integer(cli_number(agent, "launches") + 1));
		json_object_set_new(agent, "denials", json_integer(cli_number(agent, "denials") + cli_number(launch, "denials")));
	}
	return agents;
}

static void print_zombies(const json_t *zombies)
{
	const json_t *parent;
	size_t i;

	printf("zombies   %lld\n", cli_number(zombies, "count"));
	json_array_foreach(json_object_get(zombies, "parents"), i, parent)
		printf("  %-6lld not reaped by pid %lld %s\n", cli_number(parent, "zombies"), cli_number(parent, "pid"), cli_text(parent, "program"));
}

static void print_agents(const json_t *agents)
{
	const char *name;
	json_t *agent;

	printf("agents    %zu\n", json_object_size(agents));
	json_object_foreach((json_t *)(uintptr_t)agents, name, agent)
		printf("  %-20s launches %-4lld denials %lld\n", *name ? name : "(no name)", cli_number(agent, "launches"), cli_number(agent, "denials"));
}

static void print_counters(const json_t *s)
{
	const json_t *init = json_object_get(s, "init"), *number;
	const char *tag;

	printf("calls     %lld, denials %lld\n", cli_number(s, "calls"), cli_number(s, "denials"));
	json_object_foreach(json_object_get(s, "denials_by_tag"), tag, number)
		printf("  %-20s %lld\n", tag, (long long)json_integer_value(number));
	printf("init      orphans reaped %lld, signals refused %lld\n", cli_number(init, "orphans_reaped"), cli_number(init, "signals_refused"));
	printf("strangers %lld processes no filter guards, %lld of them stopped\n", cli_number(s, "unsupervised"), cli_number(s, "unsupervised_stopped"));
}

static void print_status(const json_t *s)
{
	const json_t *item, *audit = json_object_get(s, "audit");
	size_t i;

	printf("state     %s%s%s\n", cli_text(s, "state"), *cli_text(s, "why") ? ": " : "", cli_text(s, "why"));
	printf("mode      %s, unreviewed: %s\n", cli_text(s, "mode"), cli_text(s, "unreviewed"));
	if (*cli_text(s, "scope"))
		printf("scope     %s\n", cli_text(s, "scope"));
	printf("roots     %s\n", cli_text(s, "roots"));
	printf("policy    %s (sha256 %.12s)\n", cli_text(s, "policy"), cli_text(s, "policy_sha256"));
	printf("audit     %s, seq %lld, lost %lld\n", json_is_true(json_object_get(audit, "writable")) ? "writable" : "NOT WRITABLE",
	       cli_number(audit, "seq"), cli_number(audit, "lost"));
	print_counters(s);
	printf("up        %lld s, enforcer restarts %lld\n", cli_number(s, "uptime_us") / 1000000, cli_number(s, "enforcer_restarts"));
	json_array_foreach(json_object_get(s, "layers"), i, item)
		printf("layer     %-16s %s\n", cli_text(item, "name"), cli_text(item, "state"));
	json_array_foreach(json_object_get(s, "services"), i, item)
		printf("service   %-16s %s %s\n", cli_text(item, "name"), cli_text(item, "state"), cli_text(item, "why"));
	json_array_foreach(json_object_get(s, "workspaces"), i, item)
		printf("workspace %-16s %s at %s%s%s\n", cli_text(item, "name"), cli_text(item, "kind"), cli_text(item, "path"),
		       *cli_text(item, "changed") ? "; the source changed since: " : "", cli_text(item, "changed"));
	print_zombies(json_object_get(s, "zombies"));
	print_agents(json_object_get(s, "agents"));
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
	if (raw)
		return cli_print_json(status);
	(launch ? print_launches : print_status)(status);
	return 0;
}

static const struct option status_options[] = {
	{ "json", no_argument, NULL, 'j' }, { "launch", required_argument, NULL, 'l' }, { "help", no_argument, NULL, 'h' }, { 0 },
};

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
			return option == 'h' ? fputs(status_help, stdout), 0 : cli_misused(option, argv);
	}
	if (optind < argc)
		return cli_misused(0, argv);
	if (launch && (!*launch || strspn(launch, "0123456789") != strlen(launch) || strlen(launch) >= 20)) {
		fprintf(stderr, "cordon: status: --launch wants a number, as `cordon status` lists them\n");
		return 2;
	}
	if (launch)
		snprintf(request, sizeof(request), "status %s", launch);
	status = cli_ask(request, &code);
	if (status) {
		json_object_set_new(status, "agents", count_agents(status));
		json_object_set_new(status, "zombies", cli_zombies());
		code = show(status, launch, raw);
	}
	json_decref(status);
	return code;
}

int cli_health(int argc, char **argv)
{
	bool raw, healthy;
	json_t *health;
	int code = cli_only_json(argc, argv, health_help, &raw);

	if (code >= 0)
		return code;
	health = cli_ask("health", &code);
	if (!health)
		return code;
	if (raw && cli_print_json(health) != 0)
		return 1;
	healthy = json_is_true(json_object_get(health, "healthy"));
	if (!raw)
		printf("%s: %s%s%s\n", healthy ? "healthy" : "not healthy", cli_text(health, "state"), *cli_text(health, "why") ? ", " : "",
		       cli_text(health, "why"));
	json_decref(health);
	return healthy ? 0 : 1;
}
