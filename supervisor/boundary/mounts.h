/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agents' mount namespace: a copy of the container's in which everything is read-only and nosuid, write roots are bound back,
 * and secrets and Cordon's own folders are masked.
 *
 * Made by a forked child that ends at once; the namespace lives through the returned descriptor. Needs SYS_ADMIN.
 */
#pragma once

#include "supervisor/base/err.h"
#include "supervisor/policy/policy.h"

struct mounts_plan {
	bool off;			/* only mask what is Cordon's own; leave the rest as it is */
	const char *const *write_roots;	/* NULL-terminated, absolute; missing ones are skipped */
	const char *const *masks;	/* NULL-terminated, absolute: folders become empty read-only tmpfs (mode 0755, or listing the names as
					   empty 0444 files for protected homes), files an empty 0444 file; missing ones are skipped */
};

/* Returns 0 with a descriptor of the namespace (CLOEXEC), or -errno with ret_error saying which mount failed; nothing of the caller's own namespace changes. */
int mounts_build(const struct mounts_plan *plan, int *ret_namespace_fd, struct err *ret_error);
