/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mount namespace of PID 1, which is the one `docker exec` enters: what a host runs there by absolute path has root's rights and no
 * guard, so nothing that an agent wrote may be run there, and no link that it planted be followed.
 *
 * Write roots are NOEXEC, NOSYMFOLLOW, NOSUID and NODEV there. Over each folder of entry paths lies a read-only one of links to the
 * client: such a call is a launch, which runs what lies beneath, in the agents' namespace. Needs SYS_ADMIN.
 *
 * NOSYMFOLLOW belongs to it: /workspace/x could be a link to /proc/PID/root/workspace/x, which is a file of the agents' mount.
 */
#pragma once

#include "supervisor/base/err.h"

struct mounts_host_plan {
	/* Lists are NULL-terminated, or NULL; paths are absolute. */
	const char *const *write_roots;	/* missing ones are skipped; /dev/shm is always one */
	const char *const *entry_paths;	/* in folders below a write root. Missing folders are made, all below the root become root's, mode 1777:
					   whoever may write in /tmp may write in them, and none is renamed or removed by an agent */
	const char *client;		/* what the links lead to */
};

/*
 * Moves the calling process, which has one thread and whose children follow, into a copy of its mount namespace. Returns 0 with a
 * descriptor of the one it left (CLOEXEC), which stays as the engine made it: agents' namespaces are copied from there. Or -errno.
 */
int mounts_host_leave(int *ret_container_fd, struct err *ret_error);

/*
 * Guards the namespace of the calling process, which ends soon after: descriptors are not given back. Returns 0, or -errno with ret_error
 * saying what could not be done; what could be done before then stays.
 */
int mounts_host_guard(const struct mounts_host_plan *plan, struct err *ret_error);

/* What a write root gets there, for a tree that is put into one later (a workspace). Returns 0 or -errno. */
int mounts_host_restrict(int tree);
