/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs that ask the running supervisor share: their words, the question, its answer as JSON. */
#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"
#include "supervisor/cli/cli.h"
#include "supervisor/control/control.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

int cli_misused(int option, char **argv)
{
	fprintf(stderr, "cordon: %s: %s %s (see cordon %s --help)\n", argv[0],
		option == ':' ? "a value is missing after" : option ? "unknown option" : "unexpected word", argv[option ? optind - 1 : optind], argv[0]);
	return 2;
}

int cli_only_json(int argc, char **argv, const char *help, bool *ret_json)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' }, { 0 } };
	int option;

	*ret_json = false;
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (option != 'j')
			return option == 'h' ? fputs(help, stdout), 0 : cli_misused(option, argv);
		*ret_json = true;
	}
	return optind < argc ? cli_misused(0, argv) : -1;
}

const char *cli_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

long long cli_number(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

json_t *cli_ask(const char *request, int *ret_exit)
{
	_cleanup_buf_ struct buf answer = { 0 };
	struct err error = { 0 };
	char line[1024];
	json_t *parsed;

	*ret_exit = 0;
	if (control_ask(request, &answer, &error) < 0) {
		err_format(&error, line, sizeof(line));
		fprintf(stderr, "cordon: %s\n", line);
		*ret_exit = 1;
		return NULL;
	}
	parsed = json_loads(answer.data, 0, NULL);
	if (!parsed) {
		fputs("cordon: the supervisor's answer is not JSON\n", stderr);
		*ret_exit = 1;
	}
	return parsed;
}

int cli_print_json(const json_t *answer)
{
	char *text = json_dumps(answer, JSON_COMPACT | JSON_ENSURE_ASCII);

	if (!text) {
		fputs("cordon: out of memory\n", stderr);
		return 1;
	}
	puts(text);
	free(text);
	return 0;
}
