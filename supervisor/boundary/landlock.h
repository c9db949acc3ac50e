/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Landlock rules of a launch, as the list a keeper applies. Pure: opens nothing.
 *
 * Read roots for strict, everything readable otherwise; write roots get every right, but see landlock_withholds(); devices get read, write and ioctl.
 */
#pragma once

#include "supervisor/judge/judge.h"

#include <stdint.h>

struct landlock_rule {
	const char *path;	/* borrowed, absolute in the agents' mount namespace; may be missing there, or not be a folder */
	uint64_t access;	/* LANDLOCK_ACCESS_FS_* */
};

/*
 * Everything this kernel's ABI can handle (base/sys.h has the constants), REFER among it from ABI 2 on (5.19): before that the kernel
 * refuses every rename between folders. 0 for an ABI below 1. abi from landlock_create_ruleset(VERSION).
 */
uint64_t landlock_handled(int abi);

/*
 * Of these, what a launch's layer handles. mounts_fit: the launch stands in the agents' mount namespace, and whatever is mounted writable there is
 * one of the launch's own write roots: then what reads, executes and truncates is left to the mounts, unless the roots are strict or the mode readonly.
 */
uint64_t landlock_handled_by(const struct policy *policy, const struct judge_subject *subject, int abi, bool mounts_fit);

/*
 * Whether path is in a write root where the layer lets nothing be made, which is one that holds an isolated workspace: no layer and no mount knows names, so what
 * is made there is made for the launch, under the name that was judged (decision 0004).
 */
bool landlock_withholds(const struct judge_subject *subject, const char *path);

/*
 * TCP connects and binds, of which no rule allows any: a launch's own are made by the enforcer on duplicates, so that the only one this hits is the
 * one a raced descriptor or address put into a call that was continued. 0 for an ABI below 4 (6.7).
 */
uint64_t landlock_handled_net(int abi);

/*
 * handled: what the layer handles; rules grant nothing else. Fills at most rules_max. Returns the number of rules (0 in mode off, which has no layer), or -E2BIG. Mode readonly reads by the
 * strict roots whatever the policy's style, as its own meaning asks.
 */
int landlock_plan(const struct policy *policy, const struct judge_subject *subject, uint64_t handled, struct landlock_rule *ret_rules,
		  unsigned rules_max);
