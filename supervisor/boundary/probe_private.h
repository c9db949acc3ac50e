/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the probes (probe.c, probe_notify.c, probe_process.c, probe_confine.c), and by nobody else.
 *
 * A probe runs in a child of its own, in a process group of its own, and is killed with the group when its time is over: it may leave
 * descriptors, memory and processes that SIGTERM ends behind. What it found is in shared memory; the default is unsupported.
 */
#pragma once

#include "supervisor/boundary/probe.h"

#include <sys/types.h>

struct finding {
	enum layer_state state;
	char why[sizeof(((struct layer *)0)->why)];
};

void found(struct finding *f, enum layer_state state, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Zeroed memory shared with children, or NULL. */
void *probe_share(size_t bytes);
/* The pid's exit code, or 128 + the signal that ended it, or -errno. */
int probe_reap(pid_t pid);
/*
 * In a child: becomes the uid agents are like, not Cordon's, and can be looked at as a program started by that uid could. Returns false,
 * changing nothing, when we may not (not root).
 */
bool probe_become_agent(void);

void probe_notify(struct finding *f);
void probe_wait_killable(struct finding *f);
void probe_sync_wake_up(struct finding *f);
void probe_addfd(struct finding *f);

void probe_pidfd_getfd(struct finding *f);
void probe_ptrace(struct finding *f);
void probe_memory(struct finding *f);
void probe_pid1(struct finding *f);

void probe_landlock(struct finding *f);
void probe_landlock_scope(struct finding *f);
void probe_landlock_net(struct finding *f);
void probe_mounts(struct finding *f);
void probe_capabilities(struct finding *f);
void probe_no_new_privs(struct finding *f);
void probe_foreign_abi(struct finding *f);

void probe_host_exec_places(struct finding *f, const char *const *roots, const char *const *entry_paths);
