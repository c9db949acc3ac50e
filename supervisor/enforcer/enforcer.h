/* SPDX-License-Identifier: Apache-2.0 */
/* The enforcer as a program: `cordond enforcer`, started by PID 1 alone, with its channel at INIT_CHANNEL_FD. */
#pragma once

/* Returns the exit code of the process. */
int enforcer_main(void);
