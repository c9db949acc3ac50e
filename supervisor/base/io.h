/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: whole reads and writes, passing descriptors over sockets. EINTR is handled inside. */
#pragma once

#include "supervisor/base/buf.h"

#include <stddef.h>
#include <sys/types.h>

#define IO_FDS_MAX 16

/* Returns 0 or -errno (-EPIPE when the far end closed early). */
int io_write_all(int fd, const void *data, size_t len);
/* Appends to ret_content everything from fd up to limit_bytes. Returns 0, -EFBIG, or -errno. */
int io_read_all(int fd, size_t limit_bytes, struct buf *ret_content);
/* openat(dir, path, O_RDONLY|O_CLOEXEC|O_NOFOLLOW) and io_read_all; regular files only (-EINVAL otherwise). */
int io_read_file(int dir_fd, const char *path, size_t limit_bytes, struct buf *ret_content);

/*
 * One message with descriptors on a SOCK_SEQPACKET or SOCK_STREAM socket, MSG_NOSIGNAL | flags (MSG_DONTWAIT).
 * fds stay the caller's. Returns 0 or -errno.
 */
int io_send(int socket, const void *data, size_t len, const int *fds, unsigned nr_fds, int flags);
/*
 * Receives one message; descriptors come CLOEXEC. Returns its length (0: the far end closed), or -errno; -EMSGSIZE when it was
 * longer than data_bytes or carried more than fds_max descriptors (all of which are closed then). ret_nr_fds may be NULL only with fds_max 0.
 */
ssize_t io_receive(int socket, void *ret_data, size_t data_bytes, int *ret_fds, unsigned fds_max, unsigned *ret_nr_fds, int flags);
