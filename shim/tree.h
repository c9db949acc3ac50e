/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kills every descendant of this process and reaps until none is left. Freezes first (SIGSTOP sweeps until a sweep finds nobody new),
 * so that a fork bomb cannot outrun the killing. The caller must be a subreaper. Gives up after about two seconds of a tree that will not die
 * (uninterruptible sleep); call again.
 */
void tree_kill(void);
