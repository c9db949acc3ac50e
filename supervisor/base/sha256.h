/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 (FIPS 180-4). Ours and small, because supervisors must not need OpenSSL or AF_ALG (Docker's profile blocks it). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sha256 {
	uint32_t state[8];
	uint64_t len_bytes;
	uint8_t block[64];
};

/* At the first use the better one is chosen; for tests, which try both. Not while another thread hashes. Returns whether the processor's is used now. */
bool sha256_use_processor(bool use);
void sha256_init(struct sha256 *s);
void sha256_update(struct sha256 *s, const void *data, size_t len);
void sha256_final(struct sha256 *s, uint8_t ret_digest[static 32]);
/* 64 hex digits and a NUL. */
void sha256_hex(const uint8_t digest[static 32], char ret_hex[static 65]);
void sha256_of(const void *data, size_t len, char ret_hex[static 65]);
/* Hashes what fd holds from offset 0 with pread(), at most limit_bytes. Returns 0, -EFBIG above the limit, or -errno. */
int sha256_fd(int fd, uint64_t limit_bytes, char ret_hex[static 65]);
