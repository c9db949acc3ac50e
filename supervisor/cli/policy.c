/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon policy validate [DIR]`: reads a policy folder as the supervisor does and says what it found. Changes nothing. */
#include "supervisor/cli/cli.h"

#include "supervisor/control/layout.h"
#include "supervisor/policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2

static const char validate_help[] =
	"usage: cordon policy validate [DIR]\n"
	"\n"
	"Reads the policy folder DIR (default: $CORDON_POLICY, else " CORDON_POLICY_DIR ") and prints every file\n"
	"that was accepted, or the first error as FILE:LINE:COLUMN: KEY: TEXT.\n"
	"\n"
	"exit status: 0 the policy is good, 2 it is not, or bad usage\n";

static int complain(const char *problem, const char *word)
{
	fprintf(stderr, "cordon: policy: %s%s%s (see cordon policy --help)\n", problem, *word ? ": " : "", word);
	return EXIT_USAGE;
}

static int validate(const char *dir)
{
	struct policy *policy;
	char line[1024];
	struct err e;
	size_t i;

	if (policy_load(dir, &policy, &e) < 0) {
		err_format(&e, line, sizeof(line));
		fprintf(stderr, "cordon: %s\n", line);
		return EXIT_USAGE;
	}
	for (i = 0; i < policy->files.nr; i++)
		printf("%s/%s: ok\n", dir, policy->files.items[i]);
	printf("policy: %zu files, %zu command entries, mode %s, sha256 %s\n", policy->files.nr, policy->nr_commands,
	       mode_name(policy->mode), policy->sha256);
	policy_free(policy);
	return fflush(stdout) == 0 ? 0 : EXIT_USAGE;
}

int cli_policy(int argc, char **argv)
{
	const char *dir = getenv("CORDON_POLICY");

	if (argc >= 2 && (strcmp(argv[argc - 1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
		fputs(validate_help, stdout);
		return 0;
	}
	if (argc < 2)
		return complain("expected the verb validate", "");
	if (strcmp(argv[1], "validate") != 0)
		return complain("unknown verb", argv[1]);
	if (argc > 3)
		return complain("too many arguments", argv[3]);
	if (argc == 3 && argv[2][0] == '-')
		return complain("unknown option", argv[2]);
	if (argc == 3)
		dir = argv[2];
	return validate(dir && *dir ? dir : CORDON_POLICY_DIR);
}
