/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines printed beside the log, on the container's stdout. Whoever reads that may be slow or gone: a line that does not fit is
 * dropped and counted, the writer never waits for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copy {
	int fd;			/* -1: nowhere */
	bool owned;		/* fd is our own, non-blocking description */
	bool socket, may_block;
	uint64_t lost;		/* lines nobody took */
};

void copy_open(struct copy *ret_copy, int fd);
/* One line, newline added; at most 4095 bytes, which a pipe takes whole or not at all. */
void copy_line(struct copy *copy, const char *line, size_t len);
void copy_close(struct copy *copy);
