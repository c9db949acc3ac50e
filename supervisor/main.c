/* SPDX-License-Identifier: Apache-2.0 */
/* cordond: the command line decides between PID 1, the enforcer it starts and what that starts; nothing else. See cordond(8). */
#include "supervisor/enforcer/enforcer.h"
#include "supervisor/enforcer/value.h"
#include "supervisor/init/init.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

static const char usage[] =
	"Usage: cordond [OPTION]... init [-- COMMAND [ARGUMENT]...]\n"
	"PID 1 of a guarded container: starts the proxy and its CA, guards every launch, runs COMMAND as a launch (default: waits).\n"
	"\n"
	"  --mode MODE, --safety-mode MODE   off, guarded, observe or readonly (default: CORDON_MODE, STRIX_SAFETY_MODE, the policy's)\n"
	"  --unreviewed allow|deny           what becomes of actions that only a review could decide (default: the policy's)\n"
	"  --scope LIST                      the only targets: names, addresses, ranges, with or without a port (default: CORDON_SCOPE)\n"
	"  --policy DIR                      policy folder (default: CORDON_POLICY, /etc/cordon/policies)\n"
	"  --run-dir DIR                     sockets (default: /run/cordon)\n"
	"  --state-dir DIR                   audit log and service logs (default: /var/lib/cordon)\n"
	"  --version, --help\n"
	"\n"
	"Exit codes are those of COMMAND; Cordon's own failures are 110 to 115, see cordond(8).\n";

enum { OPTION_MODE = 256, OPTION_UNREVIEWED, OPTION_SCOPE, OPTION_POLICY, OPTION_RUN_DIR, OPTION_STATE_DIR, OPTION_VERSION, OPTION_HELP };

static const struct option long_options[] = {
	{ "mode", required_argument, NULL, OPTION_MODE },
	{ "safety-mode", required_argument, NULL, OPTION_MODE },
	{ "unreviewed", required_argument, NULL, OPTION_UNREVIEWED },
	{ "scope", required_argument, NULL, OPTION_SCOPE },
	{ "policy", required_argument, NULL, OPTION_POLICY },
	{ "run-dir", required_argument, NULL, OPTION_RUN_DIR },
	{ "state-dir", required_argument, NULL, OPTION_STATE_DIR },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

static int refuse(const char *what, const char *word)
{
	fprintf(stderr, "cordon: %s%s; see cordond --help\n", what, word);
	return INIT_EXIT_POLICY;
}

/* Options stand before or after "init" (getopt permutes); after "--" everything is the command's. */
static int parse(int argc, char **argv, struct init_options *o, int *ret_exit)
{
	int option;

	opterr = 0;
	*ret_exit = 0;
	while ((option = getopt_long(argc, argv, ":", long_options, NULL)) != -1) {
		switch (option) {
		case OPTION_MODE:
			o->mode = optarg;
			break;
		case OPTION_UNREVIEWED:
			o->unreviewed = optarg;
			break;
		case OPTION_SCOPE:
			o->scope = optarg;
			break;
		case OPTION_POLICY:
			o->policy_dir = optarg;
			break;
		case OPTION_RUN_DIR:
			o->run_dir = optarg;
			break;
		case OPTION_STATE_DIR:
			o->state_dir = optarg;
			break;
		case OPTION_VERSION:
			puts("cordond " CORDON_VERSION);
			return -1;
		case OPTION_HELP:
			fputs(usage, stdout);
			return -1;
		case ':':
			*ret_exit = refuse("this option needs a value: ", argv[optind - 1]);
			return -1;
		default:
			/* There are no short options; several in one word leave optind at it. */
			*ret_exit = refuse("unknown option ", optopt ? (char[]){ '-', (char)optopt, '\0' } : argv[optind - 1]);
			return -1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct init_options options = { 0 };
	int code, separator = argc;

	/* Until an agent of the same uid could look into our memory. Programs of ours that we exec say it again. */
	prctl(PR_SET_DUMPABLE, 0);
	if (argc == 2 && strcmp(argv[1], "enforcer") == 0)
		return enforcer_main();
	if (argc > 3 && strcmp(argv[1], "value") == 0)
		return value_main(argv + 2);
	for (int i = 1; i < argc && separator == argc; i++)
		if (strcmp(argv[i], "--") == 0)
			separator = i;
	if (separator + 1 < argc)
		options.command = argv + separator + 1;
	if (separator < argc)
		argv[separator] = NULL;
	if (parse(separator, argv, &options, &code) < 0)
		return code;
	if (optind == separator)
		return refuse("say what to be: cordond init", "");
	if (strcmp(argv[optind], "init") != 0)
		return refuse("unknown command ", argv[optind]);
	if (optind + 1 < separator)
		return refuse("the command stands after \"--\", unexpected word ", argv[optind + 1]);
	return init_main(&options);
}
