/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon commands list`: the presets' commands, and which of them this container has. */
#include "supervisor/cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
	"usage: cordon commands list [--json]\n"
	"Show the commands of the policy's presets: registered where the preset is on and the image has the program out of agents' reach,\n"
	"the file it is, and the variables that pass to a launch of it. Needs root and a running supervisor.\n"
	"exit: 0 shown, 1 no supervisor answers, 2 usage\n";

static void print_environment(const json_t *command)
{
	const json_t *names = json_object_get(command, "environment"), *name;
	size_t i;

	json_array_foreach(names, i, name)
		printf("%s%s", i ? " " : "  gets ", json_string_value(name));
}

static void print_command(const json_t *command)
{
	const char *program = cli_text(command, "program"), *named = cli_text(command, "named");

	printf("%-12s %-12s %-14s", cli_text(command, "name"), cli_text(command, "preset"),
	       json_is_true(json_object_get(command, "registered")) ? "registered" : json_is_true(json_object_get(command, "found")) ? "off" : "not found");
	printf("%s", *program ? program : cli_text(command, "why"));
	if (strcmp(program, named) != 0)
		printf(" (by %s)", named);
	print_environment(command);
	putchar('\n');
}

static void print_all(const json_t *answer)
{
	const json_t *commands = json_object_get(answer, "commands"), *command;
	size_t i;

	printf("profile   %s\n", cli_text(answer, "profile"));
	printf("launches  as %s, mode %s, roots %s, scope %s\n", cli_text(answer, "user"), cli_text(answer, "mode"), cli_text(answer, "roots"),
	       *cli_text(answer, "scope") ? cli_text(answer, "scope") : "none declared");
	json_array_foreach(commands, i, command)
		print_command(command);
}

int cli_commands(int argc, char **argv)
{
	bool raw;
	json_t *answer;
	int code;

	if (argc >= 2 && strcmp(argv[1], "--help") == 0)
		return fputs(help, stdout), 0;
	if (argc < 2 || strcmp(argv[1], "list") != 0) {
		fprintf(stderr, "cordon: commands: expected list (see cordon commands --help)\n");
		return 2;
	}
	argv[1] = argv[0];
	code = cli_only_json(argc - 1, argv + 1, help, &raw);
	if (code >= 0)
		return code;
	answer = cli_ask("commands", &code);
	if (!answer)
		return code;
	if (raw)
		code = cli_print_json(answer);
	else
		print_all(answer);
	json_decref(answer);
	return code;
}
