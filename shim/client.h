/* SPDX-License-Identifier: Apache-2.0 */
/* The two ways a launch is asked for. Both return the exit code for main(). */
#pragma once

/* `cordon run …`: argv[0] is "run". */
int client_run(int argc, char **argv);

/* Called by an entry name: argv as the host gave it. */
int client_entry(char **argv);
