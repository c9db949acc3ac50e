/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose listener a port is: something else on a service's port may accept, and even answer as the service would.
 *
 * Runs in the prober. Reads the kernel's own table, which tells the user a socket was made by.
 */
#include "supervisor/init/internal.h"

#include <errno.h>
#include <stdio.h>

#define STATE_LISTEN 0x0a

/* The first listener on the port of somebody else; 0 when there is none. */
static int find_stranger(FILE *table, uint16_t port, uid_t owner, uid_t *ret_uid)
{
	char line[512];

	while (fgets(line, sizeof(line), table)) {
		unsigned local, state, uid;

		if (sscanf(line, "%*u: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*x:%*x %*x:%*x %*x %u", &local, &state, &uid) != 3)
			continue; /* the heading */
		if (state != STATE_LISTEN || local != port || uid == owner)
			continue;
		*ret_uid = uid;
		return 1;
	}
	return 0;
}

int probe_owner(const char *const *tables, uint16_t port, uid_t owner, char *ret_why, size_t why_bytes)
{
	uid_t uid = 0;
	int found = 0;

	for (; *tables && !found; tables++) {
		FILE *table = fopen(*tables, "re");

		if (!table)
			continue; /* no IPv6 here, or no /proc: then the answer alone must do */
		found = find_stranger(table, port, owner, &uid);
		fclose(table);
	}
	if (!found)
		return 0;
	snprintf(ret_why, why_bytes, "port %u is taken: what listens there belongs to uid %u, not to this service (uid %u)", port, uid, owner);
	return -EPERM;
}
