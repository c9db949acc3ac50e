/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries bytes between a client's terminal (or pipes, when --tty was asked without one) and a launch's pty.
 *
 * Owns the pty master and duplicates of the client's descriptors. In safety modes of what is typed only ETX (0x03, Ctrl-C) passes;
 * the rest is counted. Never blocks on more than one small write, which the descriptor said it takes.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define RELAY_POLLS 3
#define RELAY_CHUNK 256		/* what a terminal that polls writable takes without blocking */

struct relay_queue {
	char data[4096];
	unsigned start, len;
};

struct relay {
	int master;			/* -1: no pty */
	int in, out;			/* the client's side; -1 when closed */
	bool etx_only;
	uint64_t refused_bytes;
	struct relay_queue to_command, to_client;
};

void relay_init(struct relay *r);
/* Keeps the client's descriptors (now 0 and 1, or the first that is a terminal) aside before the pty takes their place. Returns 0 or -errno. */
int relay_prepare(struct relay *r, bool etx_only);
/* The pty's master stands. -1: none. */
void relay_start(struct relay *r, int master);
void relay_poll(const struct relay *r, struct pollfd polls[static RELAY_POLLS]);
void relay_move(struct relay *r, const struct pollfd polls[static RELAY_POLLS]);
void relay_resize(struct relay *r, uint16_t rows, uint16_t columns);
/* The command ended: carries what it still left on the pty, then closes it, which hangs up whoever stays behind. */
void relay_finish(struct relay *r);
/* How many typed bytes did not pass since the last call. */
uint64_t relay_take_refused(struct relay *r);
