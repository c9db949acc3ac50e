/* SPDX-License-Identifier: Apache-2.0 */
/* One question to the running supervisor, and its answer as JSON. */
#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"
#include "supervisor/cli/cli.h"
#include "supervisor/control/control.h"

#include <stdio.h>
#include <stdlib.h>

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
