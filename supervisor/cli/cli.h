/* SPDX-License-Identifier: Apache-2.0 */
/* The verbs of `cordon`, one file each. argv[0] is the verb's name; what is returned is the exit code. */
#pragma once

int cli_audit(int argc, char **argv);
