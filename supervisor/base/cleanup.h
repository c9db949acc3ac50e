/* SPDX-License-Identifier: Apache-2.0 */
/* Scope-bound ownership of descriptors and heap memory. */
#pragma once

#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

#define _cleanup_close_ __attribute__((cleanup(cleanup_close)))
#define _cleanup_free_ __attribute__((cleanup(cleanup_free)))

/* Give up ownership: the variable no longer closes or frees. */
#define TAKE_FD(fd) ({ int taken_fd_ = (fd); (fd) = -1; taken_fd_; })
#define TAKE_PTR(pointer) ({ __typeof__(pointer) taken_ = (pointer); (pointer) = NULL; taken_; })

/* For large buffers on hot paths, which are written before they are read: the release build would fill them with zeroes first. */
#define _uninitialized_ __attribute__((uninitialized))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
