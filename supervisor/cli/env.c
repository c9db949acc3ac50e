/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon env list`: what a launch from here would begin with, said by the supervisor in the place of the launch. */
#include "shim/ask.h"
#include "shim/proto.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/cli/cli.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: cordon env list [OPTION]... [-- COMMAND [ARGUMENT]...]\n"
	"Show each variable that a launch from here would meet: where it comes from, whether it passes, and which list of the policy says so. Nothing is\n"
	"started, and no command of the policy's sources is asked. Values are shown by their length alone.\n"
	"\n"
	"  --agent ID, --mode MODE, --user USER, --env K=V   as of cordon run\n"
	"  --values          show the values (root)\n"
	"  --json            one JSON object\n"
	"\n"
	"exit: 0 shown, 1 no supervisor answers or the launch could not be asked for, 2 usage\n";

struct question {
	struct ask ask;
	bool json;
};

enum { AGENT = 256, MODE, USER, ENV, VALUES, JSON };

static const struct option options[] = {
	{ "agent", required_argument, NULL, AGENT }, { "mode", required_argument, NULL, MODE }, { "user", required_argument, NULL, USER },
	{ "env", required_argument, NULL, ENV }, { "values", no_argument, NULL, VALUES }, { "json", no_argument, NULL, JSON },
	{ "help", no_argument, NULL, 'h' }, { 0 },
};

/* Returns -1 to go on, or the exit code. */
static int take_option(struct question *q, int option, char **argv)
{
	switch (option) {
	case AGENT: q->ask.agent = optarg; break;
	case MODE: q->ask.mode = optarg; q->ask.flags |= REQUEST_MODE; break;
	case USER: q->ask.user = optarg; break;
	case ENV:
		q->ask.extra_env[q->ask.nr_extra_env++] = optarg;
		if (strchr(optarg, '=') > optarg)
			break;
		fprintf(stderr, "cordon: env: --env wants NAME=VALUE, got '%s'\n", optarg);
		return 2;
	case VALUES: q->ask.flags |= REQUEST_VALUES; break;
	case JSON: q->json = true; break;
	case 'h': return fputs(help, stdout), 0;
	default: return cli_misused(option, argv);
	}
	return -1;
}

static void print_variable(const json_t *v)
{
	const char *value = json_string_value(json_object_get(v, "value"));

	printf("%-28s %-8s %-9s %-26s", cli_text(v, "name"), cli_text(v, "source"), json_is_true(json_object_get(v, "passes")) ? "passes" : "withheld",
	       cli_text(v, "why"));
	if (value)
		printf(" %s", value);
	else if (json_object_get(v, "bytes"))
		printf(" (%lld bytes)", cli_number(v, "bytes"));
	putchar('\n');
}

static void print_all(const json_t *answer)
{
	const json_t *variables = json_object_get(answer, "variables"), *v;
	size_t i;

	printf("launch    as %s, mode %s%s%s\n", cli_text(answer, "user"), cli_text(answer, "mode"), *cli_text(answer, "preset") ? ", of the preset's command " : "",
	       cli_text(answer, "program"));
	if (strcmp(cli_text(answer, "decision"), "allow") != 0)
		printf("refused   %s\n", cli_text(answer, "reason"));
	json_array_foreach(variables, i, v)
		print_variable(v);
}

static int show(const struct question *q)
{
	_cleanup_buf_ struct buf text = { 0 };
	json_t *answer;
	int code = 0;

	if (ask_explain(&q->ask, &text) != 0)
		return 1;
	answer = json_loadb(text.data, text.len, 0, NULL);
	if (!answer) {
		fputs("cordon: the supervisor's answer is not JSON\n", stderr);
		return 1;
	}
	if (q->json)
		code = cli_print_json(answer);
	else
		print_all(answer);
	json_decref(answer);
	return code;
}

int cli_env(int argc, char **argv)
{
	char *nothing[] = { (char *)(uintptr_t)"", NULL };
	_cleanup_free_ char **extra_env = calloc((size_t)argc + 1, sizeof(*extra_env));
	struct question q = { .ask = { .agent = getenv("CORDON_AGENT"), .cwd = "/", .extra_env = extra_env, .flags = REQUEST_EXPLAIN } };
	int option, code;

	if (argc >= 2 && strcmp(argv[1], "--help") == 0)
		return fputs(help, stdout), 0;
	if (argc < 2 || strcmp(argv[1], "list") != 0 || !extra_env) {
		fprintf(stderr, "cordon: env: expected list (see cordon env --help)\n");
		return 2;
	}
	argv[1] = argv[0];
	argv++, argc--;
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:", options, NULL)) != -1) {
		code = take_option(&q, option, argv);
		if (code >= 0)
			return code;
	}
	if (optind < argc && strcmp(argv[optind - 1], "--") != 0)
		return cli_misused(0, argv);
	q.ask.argv = argv[optind] ? argv + optind : nothing;
	return show(&q);
}
