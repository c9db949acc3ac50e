/* SPDX-License-Identifier: Apache-2.0 */
/* Which mode a launch gets. Modes are a lattice: a launch may tighten the container's, never loosen it. */
#include "supervisor/judge/judge.h"

#include <errno.h>

int judge_launch_mode(const struct policy *policy, enum mode container, const enum mode *asked, bool unattended, bool explicit_off,
		      enum mode *ret_mode, struct err *ret_error)
{
	enum mode mode = asked ? *asked : container;

	if ((unsigned)mode >= MODE_COUNT || mode < container)
		return err_set(ret_error, -EPERM, "a launch may tighten the mode, never loosen it: the container's is %s, asked was %s",
			       mode_name(container), mode_name(mode));
	if (unattended) {
		/* Nobody watches: guarded and observe count on somebody who does. off stays only where the host wrote it. */
		if (mode != MODE_OFF || !explicit_off)
			mode = MODE_READONLY;
		if (mode < policy->max_unattended)
			mode = policy->max_unattended;
	}
	*ret_mode = mode;
	return 0;
}
