/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#define ZYGOTE_CHANNEL_FD 3	/* SOCK_SEQPACKET to the enforcer */
#define ZYGOTE_MOUNTS_FD 4	/* the agents' mount namespace */

/* Locks itself down, answers one byte on the channel, then forks a keeper per struct zygote_launch. Returns the exit code. */
int zygote_main(bool off);
