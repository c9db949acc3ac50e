/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>

/* 127.0.0.0/8, ::1 and their mapped spelling; and 0.0.0.0 and ::, which the kernel takes for loopback. */
bool loopback_is(const struct sockaddr *address, socklen_t bytes);

/*
 * Whether a TCP connection (SOCK_DGRAM: a UDP packet) to this loopback address would end at a socket of uid's, asked of the kernel (sock_diag) in
 * this network namespace. True also when it would end nowhere: it then fails by itself. False when it cannot be known. One thread.
 */
bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid);
