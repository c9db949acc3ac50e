/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Takes ports out of what the kernel hands to sockets that ask for none (ip_local_reserved_ports of this network namespace): who may not bind a port
 * does not get it by chance either, in a listen(2) without a bind. Keeps what is reserved already. Needs SYS_ADMIN where /proc/sys is read-only.
 * Returns 0 or -errno.
 */
int ports_reserve(const uint16_t *ports, size_t nr);
