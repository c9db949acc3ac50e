/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this kernel and container really give: each layer's effect is tried in a throw-away child, never read off a version.
 */
#pragma once

#include <stdbool.h>

enum layer_state { LAYER_ACTIVE, LAYER_DEGRADED, LAYER_UNSUPPORTED };

struct layer {
	const char *name;		/* "notify", … see probe_layers */
	enum layer_state state;
	char why[160];			/* one sentence: what was tried and what came back */
	const char *how;		/* how to get it: a container option or kernel version; NULL when active */
};

#define LAYERS_MAX 24

/*
 * Probes, in this order: notify (listener, RECV, SEND), wait_killable (a signal after RECV does not interrupt), sync_wake_up,
 * addfd (ADDFD_SEND places a file), pidfd_getfd, ptrace (seize across uids, EVENT_EXEC), memory (read another uid's memory), landlock
 * (a write outside is EACCES), landlock_scope (a signal out of the domain is EPERM), landlock_net (a TCP connect and a bind are EACCES), mounts (a read-only bind holds in a new
 * namespace), capabilities (bounding set can be emptied), no_new_privs, pid1 (we are PID 1 of this pid namespace), foreign_abi.
 * Takes well under 100 ms. Returns the number filled.
 */
unsigned probe_layers(struct layer ret_layers[static LAYERS_MAX]);
/*
 * The layer "host_exec" of a container whose write roots these are (NULL-terminated, absolute; missing and read-only ones do not count): in our
 * own mount namespace, which is the one `docker exec` enters, a file there is not executed and a link there is not followed; degraded where
 * an entry path is not covered.
 */
void probe_host_exec(const char *const *roots, const char *const *entry_paths, struct layer *ret_layer);
const char *layer_state_name(enum layer_state state);
const struct layer *layer_find(const struct layer *layers, unsigned nr_layers, const char *name);
