/* SPDX-License-Identifier: Apache-2.0 */
/* cordon-shim: becomes a zygote. Started by the enforcer alone, with its channel and the agents' mount namespace as descriptors. */
#include "shim/zygote.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "zygote") == 0 && strcmp(argv[2], "off") == 0)
		return zygote_main(true);
	if (argc == 3 && strcmp(argv[1], "zygote") == 0 && strcmp(argv[2], "safe") == 0)
		return zygote_main(false);
	fputs("cordon-shim: part of cordond, which starts it; not for use by hand\n", stderr);
	return 2;
}
