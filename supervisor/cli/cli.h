/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `cordon`, one file each. argv[0] is the verb's name; what is returned is the exit code. */
#pragma once

int cli_audit(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_doctor(int argc, char **argv);
int cli_health(int argc, char **argv);
int cli_policy(int argc, char **argv);
int cli_status(int argc, char **argv);
int cli_workspace(int argc, char **argv);
