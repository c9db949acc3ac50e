/* SPDX-License-Identifier: Apache-2.0 */
/* Which mode, scope and roots a launch gets. Modes are a lattice: a launch may tighten the container's, never loosen it; so with the others. */
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

bool judge_roots_are_strict(const struct policy *policy, const struct judge_subject *subject)
{
	return policy->paths.roots == ROOTS_STRICT || subject->strict_roots;
}

static int narrow_scope(const char *text, struct scope *ret_scope, struct err *ret_error)
{
	int r = scope_parse(text, ret_scope, ret_error);

	if (r < 0 || ret_scope->nr)
		return r;
	scope_free(ret_scope);
	return err_set(ret_error, -EINVAL, "the scope of a launch names at least one target");
}

int judge_launch_limits(const struct policy *policy, enum mode mode, const struct launch_limits *asked, struct scope *ret_scope, bool *ret_strict,
			struct err *ret_error)
{
	enum root_style roots = policy->paths.roots;
	int r = asked->roots ? roots_parse(asked->roots, &roots, ret_error) : 0;

	*ret_scope = (struct scope){ 0 };
	*ret_strict = roots == ROOTS_STRICT;
	if (r < 0)
		return r;
	if (roots > policy->paths.roots)
		return err_set(ret_error, -EPERM, "a launch may tighten the roots, never loosen them: the policy's are %s, asked was %s",
			       roots_name(policy->paths.roots), roots_name(roots));
	if (mode == MODE_OFF && (asked->roots || asked->scope))
		return err_set(ret_error, -EPERM, "in mode off nothing is held: a scope or roots of a launch need a mode as well, for example guarded");
	return asked->scope ? narrow_scope(asked->scope, ret_scope, ret_error) : 0;
}
