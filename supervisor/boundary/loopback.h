/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <sys/socket.h>

/* 127.0.0.0/8, ::1 and their mapped spelling. */
bool loopback_is(const struct sockaddr *address, socklen_t bytes);

/*
 * Whether nobody but uid listens on address's port (TCP, or UDP for SOCK_DGRAM), asked of the kernel (sock_diag) in this network namespace.
 * True also when nobody listens: the connect then fails by itself. False when it cannot be known.
 */
bool loopback_only_uid_listens(const struct sockaddr *address, int socket_type, uid_t uid);
