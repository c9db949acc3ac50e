/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to open protected names: refused by the mask's guard, recorded with who tried. */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EVENTS_A_ROUND 4	/* then others get their turn: each is worth several calls of theirs */

static void guard_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct guard_event waiting[EVENTS_A_ROUND];
	int nr = guard_receive(source->fd, waiting, EVENTS_A_ROUND);

	(void)events;
	for (int i = 0; i < nr; i++) {
		struct decision decision = { .verdict = VERDICT_DENY, .tag = "protected_path", .rule = "path.protected", .origin = { "paths.json", 0 },
					     .hint = "work with files of the project; secrets are not readable here" };
		struct launch *l = launch_above(e, waiting[i].pid);
		char path[RESOLVE_PATH_MAX] = "?";

		resolve_name(waiting[i].fd, path, sizeof(path));
		snprintf(decision.reason, sizeof(decision.reason), "the path is protected in every mode");
		status_denied(e, decision.tag);
		record_protected(e, l, waiting[i].pid, path, &decision);
		if (l) {
			l->denials++;
			launch_notice(e, l, &decision);
		}
		guard_refuse(source->fd, &waiting[i]);
	}
}

int protected_adopt(struct enforcer *e, int fd)
{
	return source_add(e, &e->guard, fd, EPOLLIN, guard_ready);
}

int protected_start(struct enforcer *e, struct err *ret_error)
{
	_cleanup_free_ const char **homes = NULL;
	int fd;

	if (e->guard.fd >= 0 || e->mounts[0] < 0)
		return 0;
	homes = plan_protected(e->policy);
	if (!homes)
		return err_set(ret_error, -EIO, "/etc/passwd cannot be read: %s", strerror(errno));
	fd = guard_open(e->mounts[0], homes, ret_error);
	if (fd < 0)
		return fd;
	pid1_tell(e, ENFORCER_KEEP, KEPT_GUARD, 0, 0, NULL, fd);
	return protected_adopt(e, fd);
}
