/* SPDX-License-Identifier: Apache-2.0 */
/* cordon: called by its own name it is a table of verbs; by any other name an entry, which is a launch. */
#include "shim/client.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/cli/cli.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
} verbs[] = {
	{ "run", client_run, "start a command guarded and exit as it does" },
	{ "check", cli_check, "what would be decided, without doing it" },
	{ "policy", cli_policy, "validate, show, test or compare policy folders" },
	{ "env", cli_env, "what a launch's environment would be, and why" },
	{ "commands", cli_commands, "the commands of presets, and which are here" },
	{ "status", cli_status, "state, layers, services, agents, launches, zombies" },
	{ "health", cli_health, "exit 0 when the container is ready and records can be written" },
	{ "doctor", cli_doctor, "which protections really hold here" },
	{ "metrics", cli_metrics, "the supervisor's numbers, for Prometheus" },
	{ "audit", cli_audit, "read and verify the audit log" },
	{ "workspace", cli_workspace, "what agents changed in their workspaces" },
};

static int usage(FILE *to)
{
	fputs("usage: cordon VERB [ARG]...\n\n", to);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(to, "  %-9s %s\n", verbs[i].name, verbs[i].summary);
	fputs("\n`cordon VERB --help` explains a verb.\n", to);
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	if (argc < 1)
		return 2;
	if (strcmp(path_base(argv[0]), "cordon") != 0)
		return client_entry(argv);
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
		return usage(stdout);
	if (strcmp(argv[1], "--version") == 0)
		return printf("cordon %s\n", CORDON_VERSION) < 0;
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].name, argv[1]) == 0)
			return verbs[i].run(argc - 1, argv + 1);
	fprintf(stderr, "cordon: no verb '%s'; see `cordon --help`\n", argv[1]);
	return 2;
}
