/* SPDX-License-Identifier: Apache-2.0 */
/* FIPS 180-4, sections 5 and 6.1. */
#include "supervisor/base/sha1.h"

#include <stdio.h>
#include <string.h>

static uint32_t rotate(uint32_t word, unsigned bits)
{
	return word << bits | word >> (32 - bits);
}

static uint32_t mix(unsigned round, uint32_t b, uint32_t c, uint32_t d)
{
	if (round < 20)
		return ((b & c) | (~b & d)) + 0x5a827999;
	if (round < 40)
		return (b ^ c ^ d) + 0x6ed9eba1;
	if (round < 60)
		return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
	return (b ^ c ^ d) + 0xca62c1d6;
}

static void add_block(struct sha1 *hash, const uint8_t *block)
{
	uint32_t w[80], s[5];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 80; i++)
		w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
	memcpy(s, hash->state, sizeof(s));
	for (unsigned i = 0; i < 80; i++) {
		uint32_t next = rotate(s[0], 5) + mix(i, s[1], s[2], s[3]) + s[4] + w[i];

		s[4] = s[3];
		s[3] = s[2];
		s[2] = rotate(s[1], 30);
		s[1] = s[0];
		s[0] = next;
	}
	for (unsigned i = 0; i < 5; i++)
		hash->state[i] += s[i];
}

void sha1_init(struct sha1 *hash)
{
	*hash = (struct sha1){ .state = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0 } };
}

void sha1_update(struct sha1 *hash, const void *data, size_t len)
{
	const uint8_t *at = data;

	while (len) {
		size_t used = hash->bytes % 64, room = 64 - used, take = len < room ? len : room;

		memcpy(hash->block + used, at, take);
		hash->bytes += take;
		at += take;
		len -= take;
		if (used + take == 64)
			add_block(hash, hash->block);
	}
}

void sha1_hex(struct sha1 *hash, char ret_hex[static 41])
{
	const uint64_t bits = hash->bytes * 8;
	uint8_t length[8];

	sha1_update(hash, "\x80", 1);
	while (hash->bytes % 64 != 56)
		sha1_update(hash, "", 1);
	for (unsigned i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha1_update(hash, length, sizeof(length));
	for (unsigned i = 0; i < 5; i++)
		snprintf(ret_hex + 8 * i, 9, "%08x", hash->state[i]);
}
