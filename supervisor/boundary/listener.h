/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seccomp notification listener: receive calls, ask whether a caller is still there, answer each call once.
 *
 * Owns the listener descriptor, not the memory calls are received into: that is the launch's in-flight table, which outlives us.
 * Knows nothing of policy. Used by the one thread that opened it; answers for calls handed to workers come back through that thread.
 */
#pragma once

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listener {
	int fd;
	size_t request_bytes;		/* what this kernel writes on RECV; may exceed our struct seccomp_notif */
	bool sync_wake_up;		/* answers wake the caller on our CPU (since 6.6); without it ten times slower, but right */
};

/* How a call ends. Exactly one per received call, on every path. */
enum answer_kind {
	ANSWER_DENY,			/* fail with error_number */
	ANSWER_CONTINUE,		/* let the kernel run it: only where a backstop holds a raced argument */
	ANSWER_VALUE,			/* done on behalf: return value */
};

struct answer {
	enum answer_kind kind;
	int error_number;		/* positive errno, for ANSWER_DENY */
	int64_t value;			/* for ANSWER_VALUE */
};

/*
 * Takes fd. Asks the kernel for its sizes and switches on same-CPU wake-up where it exists.
 * Returns 0, or -errno with fd closed.
 */
int listener_open(int fd, struct listener *ret_listener);

/*
 * Receives one call into slot: 8-byte aligned, slot_bytes long, may be shared memory. The call is a struct seccomp_notif at its start.
 * Call only after poll() said POLLIN: RECV blocks whatever O_NONBLOCK says. Returns 1 with a call, 0 when its caller died or took a
 * signal first (not an error: kernel answers ENOENT), -EMSGSIZE when the kernel writes more than slot_bytes, or -errno.
 */
int listener_receive(const struct listener *l, void *slot, size_t slot_bytes);

/*
 * Whether the caller of id still waits. Ask after reading its memory: before that its pid may be another process's.
 */
bool listener_waits(const struct listener *l, uint64_t id);

/*
 * Answers the call id. Returns 0 also when the caller is gone by now. -EINVAL for an answer that would let
 * the kernel decide by accident (a deny without an errno).
 */
int listener_answer(const struct listener *l, uint64_t id, struct answer answer);

/*
 * Ends the call id by giving the caller a duplicate of fd under its next free number, which is what the call returns. Returns 0 also when the caller is gone by
 * now, or -errno (-EMFILE: its table is full), and the call still waits.
 */
int listener_give(const struct listener *l, uint64_t id, int fd, bool close_on_exec);

void listener_close(struct listener *l);
