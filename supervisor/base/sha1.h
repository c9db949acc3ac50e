/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1, because git names objects by it. Nothing is trusted because of it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct sha1 {
	uint32_t state[5];
	uint64_t bytes;
	uint8_t block[64];
};

void sha1_init(struct sha1 *hash);
void sha1_update(struct sha1 *hash, const void *data, size_t len);
void sha1_hex(struct sha1 *hash, char ret_hex[static 41]);
