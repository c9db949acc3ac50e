/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens of single objects of the agents' mounts, each a mount of its own: fanotify permission events. Costs nothing to any other open.
 *
 * Masks hold nothing to read, so a missed event gives nothing away; the event says who tried. Closing the descriptor allows what is pending:
 * PID 1 keeps it across enforcers; an event that a dead one took and did not answer holds its opener until that is killed. O_PATH opens and absent
 * names give no event.
 */
#pragma once

#include "supervisor/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct guard_event {
	int fd;			/* of the object; owned by whoever took the event */
	pid_t pid;
};

/*
 * Marks the mount on which each of paths (NULL-terminated; those that are no mount of their own in that namespace are skipped) stands in the
 * namespace. Needs SYS_ADMIN. Returns a non-blocking descriptor, or -errno with ret_error.
 */
int guard_open(int mount_namespace, const char *const *paths, struct err *ret_error);

/* Takes at most max waiting events. Returns how many, 0 when none waits, or -errno. */
int guard_receive(int guard, struct guard_event *ret_events, size_t max);

/* Refuses the open (EPERM), or lets it go on, and closes the event's descriptor. Any thread. */
void guard_refuse(int guard, const struct guard_event *event);
void guard_allow(int guard, const struct guard_event *event);
