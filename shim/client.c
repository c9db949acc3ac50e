/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of `cordon run` and of the entry names: started by `docker exec` or a person, each asks for one launch. */
#include "shim/client.h"

#include "shim/ask.h"
#include "shim/proto.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char run_help[] =
	"usage: cordon run [OPTION]... [-c TEXT | -- COMMAND ARG...]\n"
	"Start COMMAND guarded, as the supervisor's policy says, and exit as it does.\n"
	"\n"
	"  --agent ID        the agent this launch belongs to (default: $CORDON_AGENT)\n"
	"  --mode MODE       off, guarded, observe or readonly; may only tighten the container's\n"
	"  --scope LIST      reach these targets alone, of those that the container may: names, addresses, ranges, with or without a port\n"
	"  --roots ROOTS     strict, standard or open: where its programs read; may only tighten the policy's\n"
	"  --cwd DIR         working folder, as the agents see it (default: this one)\n"
	"  --user USER       run as USER (needs root, or to be USER)\n"
	"  --env K=V         set a variable; may be repeated\n"
	"  --tty             give the command a terminal\n"
	"  --unattended      nobody watches: the mode is corrected to readonly\n"
	"  --timeout SECONDS kill the whole tree after that time\n"
	"  -c TEXT           run TEXT with sh\n"
	"\n"
	"exit: the command's own; 125 could not be started, 126 refused (the last line of stderr is a JSON\n"
	"object), 127 not found, 128+N killed by signal N\n";

static int parse_timeout(const char *text, unsigned *ret_ms)
{
	char *end;
	double seconds;

	errno = 0;
	seconds = strtod(text, &end);
	if (end == text || *end || errno || !(seconds > 0) || seconds > 4000000)
		return -EINVAL;
	*ret_ms = (unsigned)(seconds * 1000);
	return *ret_ms ? 0 : -EINVAL;
}

static const char *current_folder(char *buffer, size_t buffer_bytes)
{
	return getcwd(buffer, buffer_bytes) && buffer[0] == '/' ? buffer : "/";
}

enum { OPTION_AGENT = 256, OPTION_MODE, OPTION_CWD, OPTION_USER, OPTION_ENV, OPTION_TTY, OPTION_UNATTENDED, OPTION_TIMEOUT, OPTION_SCOPE, OPTION_ROOTS, OPTION_HELP };

static const struct option run_options[] = {
	{ "agent", required_argument, NULL, OPTION_AGENT },
	{ "mode", required_argument, NULL, OPTION_MODE },
	{ "safety-mode", required_argument, NULL, OPTION_MODE },
	{ "scope", required_argument, NULL, OPTION_SCOPE },
	{ "roots", required_argument, NULL, OPTION_ROOTS },
	{ "cwd", required_argument, NULL, OPTION_CWD },
	{ "user", required_argument, NULL, OPTION_USER },
	{ "env", required_argument, NULL, OPTION_ENV },
	{ "tty", no_argument, NULL, OPTION_TTY },
	{ "unattended", no_argument, NULL, OPTION_UNATTENDED },
	{ "timeout", required_argument, NULL, OPTION_TIMEOUT },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ 0 },
};

/* One option into ask. Returns -1 to go on, else the exit code. */
static int take_option(struct ask *ask, int option, char **ret_text)
{
	switch (option) {
	case OPTION_AGENT:
		ask->agent = optarg;
		return -1;
	case OPTION_MODE:
		ask->mode = optarg;
		ask->flags |= REQUEST_MODE;
		return -1;
	case OPTION_SCOPE:
		ask->scope = optarg;
		ask->flags |= REQUEST_SCOPE;
		return -1;
	case OPTION_ROOTS:
		ask->roots = optarg;
		ask->flags |= REQUEST_ROOTS;
		return -1;
	case OPTION_CWD:
		ask->cwd = optarg;
		return *optarg == '/' ? -1 : ask_fail(EXIT_UNSTARTED, "--cwd wants an absolute folder, got '%s'", optarg);
	case OPTION_USER:
		ask->user = optarg;
		return -1;
	case OPTION_ENV:
		ask->extra_env[ask->nr_extra_env++] = optarg;
		return strchr(optarg, '=') > optarg ? -1 : ask_fail(EXIT_UNSTARTED, "--env wants NAME=VALUE, got '%s'", optarg);
	case OPTION_TTY:
		ask->flags |= REQUEST_TTY;
		return -1;
	case OPTION_UNATTENDED:
		ask->flags |= REQUEST_UNATTENDED;
		return -1;
	case OPTION_TIMEOUT:
		return parse_timeout(optarg, &ask->timeout_ms) == 0
			       ? -1 : ask_fail(EXIT_UNSTARTED, "--timeout wants seconds above 0, got '%s'", optarg);
	case 'c':
		*ret_text = optarg;
		ask->flags |= REQUEST_SHELL_TEXT;
		return -1;
	case OPTION_HELP:
		fputs(run_help, stdout);
		return 0;
	default:
		return -1;
	}
}

int client_run(int argc, char **argv)
{
	char folder[4096], *text = NULL;
	char *shell_argv[] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c", NULL, NULL };
	_cleanup_free_ char **extra_env = calloc((size_t)argc + 1, sizeof(*extra_env));
	struct ask ask = { .agent = getenv("CORDON_AGENT"), .cwd = current_folder(folder, sizeof(folder)), .extra_env = extra_env };
	int option, code;

	if (!extra_env)
		return ask_fail(EXIT_UNSTARTED, "out of memory");
	opterr = 0;
	while ((option = getopt_long(argc, argv, "+:c:", run_options, NULL)) != -1) {
		if (option == '?' || option == ':')
			return ask_fail(EXIT_UNSTARTED, "%s '%s'; see `cordon run --help`",
				    option == ':' ? "a value is missing after" : "unknown option", argv[optind - 1]);
		code = take_option(&ask, option, &text);
		if (code >= 0)
			return code;
	}
	ask.argv = argv + optind;
	if (text && *ask.argv)
		return ask_fail(EXIT_UNSTARTED, "give either -c TEXT or a command, not both ('%s' is left over)", *ask.argv);
	if (text) {
		shell_argv[2] = text;
		ask.argv = shell_argv;
	}
	if (!*ask.argv)
		return ask_fail(EXIT_UNSTARTED, "no command; see `cordon run --help`");
	return ask_launch(&ask);
}

int client_entry(char **argv)
{
	static const char entry_folder[] = CORDON_ENTRY_DIR "/";
	char folder[4096];
	struct ask ask = {
		.agent = getenv("CORDON_AGENT"),
		.cwd = current_folder(folder, sizeof(folder)),
		.argv = argv,
		.flags = REQUEST_ENTRY,
	};

	/*
	 * The name alone: the next program of that name in PATH is meant, in the agents' namespaces. Any other path is that of a program there:
	 * this host calls one by its path, and met our link in its place (entry_paths).
	 */
	if (!strchr(argv[0], '/') || strncmp(argv[0], entry_folder, sizeof(entry_folder) - 1) == 0)
		argv[0] = (char *)(uintptr_t)path_base(argv[0]);
	return ask_launch(&ask);
}
