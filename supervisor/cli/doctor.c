/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon doctor`: which layers hold in this container. The running supervisor is asked, because its answer is what launches rest on;
 * where none runs, the same probes are made here, with the rights of whoever asks.
 */
#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"
#include "supervisor/boundary/probe.h"
#include "supervisor/cli/cli.h"
#include "supervisor/control/control.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_MISSING 1	/* a layer or a step of trust is degraded, or unsupported */
#define EXIT_UNASKED 2	/* wrong usage, or a supervisor that does not answer */

static const char help[] =
	"usage: cordon doctor [--json]\n"
	"Show each protective layer: active, degraded or unsupported, why, and how to get it. Layers are probed by their effect, by the\n"
	"running supervisor when there is one, else here. With a proxy, also who was made to believe its CA, as verified afterwards.\n"
	"exit: 0 every layer is active and no step of trust degraded, 1 one is not, 2 usage, or the supervisor does not answer\n";

static json_t *probe_here(void)
{
	struct layer layers[LAYERS_MAX];
	unsigned nr = probe_layers(layers);
	json_t *list = json_array();

	for (unsigned i = 0; i < nr; i++) {
		json_t *layer = json_pack("{s:s, s:s, s:s}", "name", layers[i].name, "state", layer_state_name(layers[i].state), "why", layers[i].why);

		if (layers[i].how)
			json_object_set_new(layer, "how", json_string(layers[i].how));
		json_array_append_new(list, layer);
	}
	return json_pack("{s:b, s:o}", "supervisor", 0, "layers", list);
}

static int refuse(const char *why)
{
	fprintf(stderr, "cordon: doctor: %s\n", why);
	return EXIT_UNASKED;
}

/* The report, or NULL with the reason printed. */
static json_t *get_report(void)
{
	_cleanup_buf_ struct buf answer = { 0 };
	struct err error = { 0 };
	json_t *report = NULL;
	int r = control_ask("doctor", &answer, &error);

	if (r == -ENOENT || r == -ECONNREFUSED) {
		report = probe_here();
		if (!report)
			refuse("out of memory");
	} else if (r < 0) {
		refuse(error.text);
	} else {
		report = json_loads(answer.data, 0, NULL);
		if (json_array_size(json_object_get(report, "layers")) == 0) {
			json_decref(report);
			report = NULL;
			refuse("the supervisor's answer lists no layers");
		}
	}
	return report;
}

static void print_table(const json_t *report)
{
	const json_t *layer;
	size_t i;

	printf("%-15s %-12s %s\n", "LAYER", "STATE", "WHY");
	json_array_foreach(json_object_get(report, "trust"), i, layer)
		printf("%-15s %-12s %s\n", cli_text(layer, "name"), cli_text(layer, "state"), cli_text(layer, "why"));
	json_array_foreach(json_object_get(report, "layers"), i, layer) {
		printf("%-15s %-12s %s\n", cli_text(layer, "name"), cli_text(layer, "state"), cli_text(layer, "why"));
		if (*cli_text(layer, "how"))
			printf("%-15s %-12s get it: %s\n", "", "", cli_text(layer, "how"));
	}
}

static int print_report(const json_t *report, bool raw)
{
	if (raw)
		return cli_print_json(report);
	print_table(report);
	if (json_is_false(json_object_get(report, "supervisor")))
		fputs("no supervisor running: probed here\n", stderr);
	return 0;
}

static int verdict(const json_t *report)
{
	const json_t *layer;
	size_t i;

	json_array_foreach(json_object_get(report, "layers"), i, layer)
		if (strcmp(cli_text(layer, "state"), layer_state_name(LAYER_ACTIVE)) != 0)
			return EXIT_MISSING;
	json_array_foreach(json_object_get(report, "trust"), i, layer)
		if (strcmp(cli_text(layer, "state"), "degraded") == 0)
			return EXIT_MISSING;
	return 0;
}

int cli_doctor(int argc, char **argv)
{
	bool raw;
	json_t *report;
	int code = cli_only_json(argc, argv, help, &raw);

	if (code >= 0)
		return code;
	report = get_report();
	if (!report)
		return EXIT_UNASKED;
	code = print_report(report, raw);
	if (code == 0)
		code = verdict(report);
	json_decref(report);
	return code;
}
