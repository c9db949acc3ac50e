/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents' mount namespace: a copy of the container's in which everything is read-only and nosuid, write roots are bound back,
 * and secrets and Cordon's own folders are masked.
 *
 * Made by a forked child that ends at once; the namespace lives through the returned descriptor. Needs SYS_ADMIN.
 *
 * What an agent cannot do in it, whatever its uid, without SYS_ADMIN: write, chmod, chown, rename or remove anything outside the write
 * roots (EROFS); use a setuid bit; read under a mask; rename or remove a write root, a mask, or a folder between the two (EBUSY: each is
 * a mount, so a rename across one of those folders is EXDEV, and programs copy). It holds only against processes inside the namespace: a
 * rename from another one detaches binds without a word, so nobody may act for an agent through the container's own namespace.
 */
#pragma once

#include "supervisor/base/err.h"
#include "supervisor/policy/policy.h"

struct mounts_plan {
	bool off;			/* only mask; the rest stays as it is */
	int container_fd;		/* the mount namespace to copy: see mounts_host_leave(); 0 or less: our own */
	/* Lists are NULL-terminated, or NULL; paths are absolute. */
	const char *const *write_roots;	/* missing ones are skipped; not "/" */
	const char *const *masks;	/* become an empty read-only folder (mode 0755) or an empty 0444 file; missing ones are skipped */
	const char *const *homes;	/* protected folders of users' homes: masked by a folder that lists the same names as empty 0444 files.
					   A missing one inside a write root is created, empty and its parent's owner's, to have a place for
					   the mask: otherwise an agent could create it */
	const char *const *read_only;	/* folders that stay as they are, with what is below, also in a write root; a missing one there is created as well.
					   Or files; each is a mount of its own */
};

/*
 * Symlinks on the way to a path are followed, but not one that stands inside a write root: an agent of an earlier run could have planted
 * it (-ELOOP). /dev/pts, /dev/shm and /dev/mqueue stay writable as they are. Returns 0 with a descriptor of the namespace (CLOEXEC), or
 * -errno with ret_error saying which mount failed; nothing of the caller's own namespace changes, apart from the created empty folders.
 */
int mounts_build(const struct mounts_plan *plan, int *ret_namespace_fd, struct err *ret_error);
