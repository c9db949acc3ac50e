/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* 127.0.0.0/8, ::1 and their mapped spelling. */
bool loopback_is(const struct sockaddr *address, socklen_t bytes);

/*
 * Whether what answers at this loopback address belongs to uid, asked of the kernel (sock_diag) in this network namespace. For SOCK_DGRAM whether
 * nobody else receives on its port at all. True also when nobody listens: the connect then fails by itself. False when it cannot be known.
 * One thread only.
 */
bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid);
