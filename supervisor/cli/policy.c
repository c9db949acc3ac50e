/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon policy VERB`: reads policy folders as the supervisor does. Changes nothing. */
#include "supervisor/cli/policy.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/question.h"
#include "supervisor/control/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: cordon policy validate [DIR]\n"
	"       cordon policy show [--json] [DIR]\n"
	"       cordon policy test [--policy DIR] [--json] FILE...\n"
	"       cordon policy diff [--rules] [--json] OLD NEW FILE...\n"
	"\n"
	"  validate   prints every file that was accepted, or the first error as FILE:LINE:COLUMN: KEY: TEXT\n"
	"  show       prints every value of the policy with the place it comes from\n"
	"  test       asks the cases of the files and prints those whose answer is not the wanted one\n"
	"  diff       asks the cases of two policies and prints those that they decide differently\n"
	"             (--rules: also those that another rule or tag decides)\n"
	"\n"
	"DIR is a policy folder (default: $CORDON_POLICY, else " CORDON_POLICY_DIR "). FILE has a case a line, with tabs\n"
	"between mode, kind, action, wanted verdicts and why; see cordon-policy(1).\n"
	"\n"
	"exit status: 0 good, as wanted, the same; 1 test: not as wanted, diff: not the same; 2 bad usage, policy or file\n";

int policy_complain(const char *format, ...)
{
	va_list arguments;

	fputs("cordon: policy: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs(" (see cordon policy --help)\n", stderr);
	return POLICY_USAGE;
}

int policy_fault(const struct err *error)
{
	char line[1024];

	err_format(error, line, sizeof(line));
	fprintf(stderr, "cordon: %s\n", line);
	return POLICY_USAGE;
}

int policy_end(int code)
{
	return fflush(stdout) == 0 && !ferror(stdout) ? code : policy_complain("the answer cannot be written");
}

/* ---- validate ---- */

static int validate(const struct policy_options *o)
{
	struct policy *policy;
	struct err e;
	size_t i;

	if (policy_load(questions_folder(o->words[0]), &policy, &e) < 0)
		return policy_fault(&e);
	for (i = 0; i < policy->files.nr; i++)
		printf("%s/%s: ok\n", policy->dir, policy->files.items[i]);
	printf("policy: %zu files, %zu command entries, mode %s, sha256 %s\n", policy->files.nr, policy->nr_commands,
	       mode_name(policy->mode), policy->sha256);
	policy_free(policy);
	return policy_end(0);
}

/* ---- show ---- */

static int print_value(void *context, const struct origin *origin, const char *key, const char *value)
{
	(void)context;
	return printf("%s:%u: %s = %s\n", origin->file, origin->line, key, value) < 0;
}

static int print_value_json(void *context, const struct origin *origin, const char *key, const char *value)
{
	_cleanup_buf_ struct buf line = { 0 };
	struct json_out j = { .buf = &line };

	(void)context;
	json_object_begin(&j, NULL);
	json_text(&j, "file", origin->file);
	json_uint(&j, "line", origin->line);
	json_text(&j, "key", key);
	json_raw(&j, "value", value);
	json_object_end(&j);
	buf_char(&line, '\n');
	return line.failed || fwrite(line.data, 1, line.len, stdout) != line.len;
}

static int show(const struct policy_options *o)
{
	struct policy *policy;
	struct err e;
	int r;

	if (policy_load(questions_folder(o->words[0]), &policy, &e) < 0)
		return policy_fault(&e);
	if (!o->json)
		printf("# %s, mode %s, sha256 %s\n", policy->dir, mode_name(policy->mode), policy->sha256);
	r = policy_list(policy, o->json ? print_value_json : print_value, NULL, &e);
	policy_free(policy);
	return r < 0 ? policy_fault(&e) : policy_end(0);
}

/* ---- the verb ---- */

enum { TAKES_JSON = 1, TAKES_POLICY = 2, TAKES_RULES = 4 };

static const struct {
	const char *name;
	int (*run)(const struct policy_options *o);
	unsigned least, most;	/* words */
	unsigned takes;		/* options */
	const char *expects;
} verbs[] = {
	{ "validate", validate, 0, 1, 0, "at most one folder" },
	{ "show", show, 0, 1, TAKES_JSON, "at most one folder" },
	{ "test", policy_test, 1, ~0u, TAKES_JSON | TAKES_POLICY, "at least one file of cases" },
	{ "diff", policy_diff, 3, ~0u, TAKES_JSON | TAKES_RULES, "two folders and at least one file of cases" },
};

static int parse(int argc, char **argv, unsigned verb, struct policy_options *o)
{
	bool operands_only = false;
	int i;

	for (i = 2; i < argc; i++) {
		if (operands_only || argv[i][0] != '-' || !argv[i][1]) {
			o->words[o->nr++] = argv[i];
		} else if (strcmp(argv[i], "--") == 0) {
			operands_only = true;
		} else if (strcmp(argv[i], "--json") == 0 && verbs[verb].takes & TAKES_JSON) {
			o->json = true;
		} else if (strcmp(argv[i], "--rules") == 0 && verbs[verb].takes & TAKES_RULES) {
			o->rules = true;
		} else if (strcmp(argv[i], "--policy") == 0 && verbs[verb].takes & TAKES_POLICY) {
			if (!argv[i + 1])
				return policy_complain("%s: option %s needs a value", verbs[verb].name, argv[i]);
			o->policy_dir = argv[++i];
		} else {
			return policy_complain("%s: unknown option %s", verbs[verb].name, argv[i]);
		}
	}
	o->words[o->nr] = NULL;
	if (o->nr < verbs[verb].least || o->nr > verbs[verb].most)
		return policy_complain("%s takes %s", verbs[verb].name, verbs[verb].expects);
	return 0;
}

int cli_policy(int argc, char **argv)
{
	_cleanup_free_ const char **words = calloc((size_t)argc + 1, sizeof(*words));
	struct policy_options options = { .words = words };
	unsigned i;
	int r;

	if (!words)
		return policy_complain("out of memory");
	if (argc >= 2 && (strcmp(argv[argc - 1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 2)
		return policy_complain("expected one of the verbs validate, show, test, diff");
	for (i = 0; i < ARRAY_SIZE(verbs) && strcmp(argv[1], verbs[i].name) != 0; i++)
		;
	if (i == ARRAY_SIZE(verbs))
		return policy_complain("unknown verb %s", argv[1]);
	r = parse(argc, argv, i, &options);
	return r ? r : verbs[i].run(&options);
}
