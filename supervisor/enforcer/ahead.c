/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer's place among everybody who wants a CPU. */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NICE (-10)
#define NICE_TEXT "-10"
#define SLICE_NS 100000		/* the shortest there is: a call takes a tenth of it */

/*
 * Everybody waits for this thread, and under load it would wait behind them: it asks for short turns, soon (a slice of its own counts since 6.12), and
 * where it has SYS_NICE for weight, its own and its session's (autogroup, where a kernel without a CPU cgroup uses that). Children get none of it.
 */
bool go_ahead(void)
{
	struct sys_sched_attr attr = { .size = sizeof(attr), .flags = SYS_SCHED_RESET_ON_FORK, .nice = NICE, .runtime_ns = SLICE_NS };
	_cleanup_close_ int session = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	bool ahead = sys_sched_setattr(&attr) == 0;

	if (!ahead) {
		attr.nice = 0;
		(void)sys_sched_setattr(&attr);
	}
	if (session >= 0)
		(void)!write(session, NICE_TEXT, strlen(NICE_TEXT));
	return ahead;
}
