/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The enforcer: started by PID 1 with its channel as INIT_CHANNEL_FD. Serves launches and notified calls until PID 1 says seal, or dies.
 * Returns the exit code (0 after a seal, 110…115 for its own failures).
 */
int enforcer_main(void);
