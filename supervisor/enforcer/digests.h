/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 of programs, each hashed once: by one thread beside the loop, but for small ones. Kept by what a file is (device, inode, change time,
 * size), so that a file that changed is another one.
 */
#pragma once

#include "supervisor/enforcer/internal.h"

#define DIGEST_SMALL_BYTES (64u << 10)	/* hashed at once: less than a millisecond also without the processor's help */
#define DIGEST_MAX_BYTES (1ULL << 30)	/* what no program of an agent's is larger than; seconds of one processor */

int digests_start(struct enforcer *e);
/* 64 hex digits, or NULL when it is not known. Good until the next call of this file. */
const char *digest_known(const struct enforcer *e, const struct exec_identity *identity);
const char *digest_known_of(const struct enforcer *e, const struct stat *st);
/* Reads a small file here and now. Returns as digest_known(); NULL also when it cannot be read. fd may be O_PATH. */
const char *digest_now(struct enforcer *e, int fd, const struct exec_identity *identity);
/*
 * Has it hashed. path: the name in the record "program" that says so; NULL: none. flight: what exec_digested() is called with when it is done, 0 for
 * nobody; in the latter case nothing happens while many wait already. fd may be O_PATH, and is not kept. Returns 0 or -errno.
 */
int digest_ask(struct enforcer *e, int fd, const struct exec_identity *identity, const char *path, uint64_t launch, uint64_t flight);
