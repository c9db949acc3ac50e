/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `cordon`, one file each. argv[0] is the verb's name; what is returned is the exit code. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

int cli_audit(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_commands(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_env(int argc, char **argv);
int cli_health(int argc, char **argv);
int cli_metrics(int argc, char **argv);
int cli_policy(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_workspace(int argc, char **argv);

/* ---- answer.c: what the verbs that ask the supervisor share ---- */

/* The words of a verb that knows --json and --help alone. Returns -1 to go on, or the exit code, all said. argv[0] is the verb. */
int cli_only_json(int argc, char **argv, const char *help, bool *ret_json);
/* "VERB: unknown option WORD (see …)", said of what getopt_long(3) returned; 0: of the first word left. Returns the exit code. */
int cli_misused(int option, char **argv);
/* The supervisor's answer, or NULL with the reason printed and the exit code. */
json_t *cli_ask(const char *request, int *ret_exit);
/* Prints it on one line. Returns the exit code. */
int cli_print_json(const json_t *answer);
/* "" and 0 where there is none. */
const char *cli_text(const json_t *object, const char *key);
long long cli_number(const json_t *object, const char *key);

/* ---- zombies.c ---- */

/* {"count", "parents": [{"pid","program","zombies"}]}: dead processes of this namespace that their parents do not reap, most guilty first. NULL without memory. */
json_t *cli_zombies(void);
