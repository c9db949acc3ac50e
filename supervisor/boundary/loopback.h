/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

/* 127.0.0.0/8, ::1 and their mapped spelling; and 0.0.0.0 and ::, which the kernel takes for loopback. */
bool loopback_is(const struct sockaddr *address, socklen_t bytes);

/*
 * Whether a TCP connection (SOCK_DGRAM: a UDP packet) to this loopback address would end at a socket of uid's, asked of the kernel (sock_diag) in
 * this network namespace. True also when it would end nowhere: it then fails by itself. False when it cannot be known. One thread.
 *
 * Of UDP all is asked that is bound to the port, once in 10 ms of monotonic time (now_us) for one asker, which is a launch's id, and one address; and every
 * time who receives.
 */
bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid, uint64_t asker, uint64_t now_us);
