/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 after FIPS 180-4, in plain C, and by the processor's own rounds where it has them, which is ten times as fast. Pure but sha256_fd(); any
 * thread. Both are held against the standard's examples by test_base.
 */
#include "supervisor/base/sha256.h"

#include <cpuid.h>
#include <errno.h>
#include <immintrin.h>
#include <string.h>
#include <unistd.h>

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate_right(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void expand(const uint8_t *block, uint32_t w[static 64])
{
	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
		       block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

static void compress(uint32_t state[static 8], const uint8_t *block)
{
	uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3];
	uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

	expand(block, w);
	for (unsigned i = 0; i < 64; i++) {
		uint32_t big1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
		uint32_t big0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
		uint32_t t1 = h + big1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
		uint32_t t2 = big0 + ((a & b) ^ (a & c) ^ (b & c));

		h = g;
		g = f;
		f = e;
		e = d + t1;
		d = c;
		c = b;
		b = a;
		a = t1 + t2;
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
	state[4] += e;
	state[5] += f;
	state[6] += g;
	state[7] += h;
}

/*
 * The same by SHA-NI: the state as {ABEF, CDGH}, four rounds a step, and four words of the message schedule at once
 * (W[t] = s1(W[t-2]) + W[t-7] + s0(W[t-15]) + W[t-16]).
 */
__attribute__((target("sha,sse4.1"))) static void compress_ni(uint32_t state[static 8], const uint8_t *block)
{
	const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
	__m128i dcba = _mm_loadu_si128((const __m128i *)(const void *)state), hgfe = _mm_loadu_si128((const __m128i *)(const void *)(state + 4));
	__m128i cdab = _mm_shuffle_epi32(dcba, 0xb1), efgh = _mm_shuffle_epi32(hgfe, 0x1b);
	__m128i abef = _mm_alignr_epi8(cdab, efgh, 8), cdgh = _mm_blend_epi16(efgh, cdab, 0xf0), w[4];
	const __m128i abef_before = abef, cdgh_before = cdgh;

	for (unsigned i = 0; i < 4; i++)
		w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i)), big_endian);
	for (unsigned i = 0; i < 16; i++) {
		__m128i k = _mm_loadu_si128((const __m128i *)(const void *)(round_constants + 4 * i));
		__m128i next = _mm_add_epi32(w[i % 4], k);

		cdgh = _mm_sha256rnds2_epu32(cdgh, abef, next);
		abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(next, 0x0e));
		if (i >= 12)
			continue;
		next = _mm_add_epi32(_mm_sha256msg1_epu32(w[i % 4], w[(i + 1) % 4]), _mm_alignr_epi8(w[(i + 3) % 4], w[(i + 2) % 4], 4));
		w[i % 4] = _mm_sha256msg2_epu32(next, w[(i + 3) % 4]);
	}
	abef = _mm_add_epi32(abef, abef_before);
	cdgh = _mm_add_epi32(cdgh, cdgh_before);
	cdab = _mm_shuffle_epi32(abef, 0x1b); /* FEBA */
	efgh = _mm_shuffle_epi32(cdgh, 0xb1); /* DCHG */
	_mm_storeu_si128((__m128i *)(void *)state, _mm_blend_epi16(cdab, efgh, 0xf0));
	_mm_storeu_si128((__m128i *)(void *)(state + 4), _mm_alignr_epi8(efgh, cdab, 8));
}

static void compress_first(uint32_t state[static 8], const uint8_t *block);

/* Chosen by the first who hashes, not at start: in a virtual machine each question to the processor takes microseconds, and most processes hash nothing. */
static void (*_Atomic compress_best)(uint32_t state[static 8], const uint8_t *block) = compress_first;

static void compress_first(uint32_t state[static 8], const uint8_t *block)
{
	sha256_use_processor(true);
	compress_best(state, block);
}

bool sha256_use_processor(bool use)
{
	unsigned a, b = 0, c = 0, d, sse41 = 0;

	if (__get_cpuid(1, &a, &b, &c, &d))
		sse41 = c & bit_SSE4_1;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		b = 0;
	compress_best = use && sse41 && b & (1U << 29) ? compress_ni : compress;
	return compress_best == compress_ni;
}

void sha256_init(struct sha256 *s)
{
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };

	memcpy(s->state, start, sizeof(start));
	s->len_bytes = 0;
}

void sha256_update(struct sha256 *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t used = s->len_bytes % 64;

	if (len == 0)
		return;
	s->len_bytes += len;
	if (used) {
		size_t take = len < 64 - used ? len : 64 - used;

		memcpy(s->block + used, p, take);
		p += take;
		len -= take;
		if (used + take < 64)
			return;
		compress_best(s->state, s->block);
	}
	for (; len >= 64; p += 64, len -= 64)
		compress_best(s->state, p);
	memcpy(s->block, p, len);
}

void sha256_final(struct sha256 *s, uint8_t ret_digest[static 32])
{
	static const uint8_t padding[64] = { 0x80 };
	uint64_t len_bits = s->len_bytes * 8;
	uint8_t tail[8];

	for (unsigned i = 0; i < 8; i++)
		tail[i] = (uint8_t)(len_bits >> (56 - 8 * i));
	sha256_update(s, padding, 1 + (119 - s->len_bytes % 64) % 64);
	sha256_update(s, tail, sizeof(tail));
	for (unsigned i = 0; i < 32; i++)
		ret_digest[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_hex(const uint8_t digest[static 32], char ret_hex[static 65])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < 32; i++) {
		ret_hex[2 * i] = digits[digest[i] >> 4];
		ret_hex[2 * i + 1] = digits[digest[i] & 15];
	}
	ret_hex[64] = '\0';
}

void sha256_of(const void *data, size_t len, char ret_hex[static 65])
{
	struct sha256 s;
	uint8_t digest[32];

	sha256_init(&s);
	sha256_update(&s, data, len);
	sha256_final(&s, digest);
	sha256_hex(digest, ret_hex);
}

/* pread: the descriptor's offset may be an agent's, shared with it. */
int sha256_fd(int fd, uint64_t limit_bytes, char ret_hex[static 65])
{
	struct sha256 s;
	uint8_t chunk[32 * 1024], digest[32];

	sha256_init(&s);
	for (;;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), (off_t)s.len_bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		if ((uint64_t)n > limit_bytes - s.len_bytes)
			return -EFBIG;
		sha256_update(&s, chunk, (size_t)n);
	}
	sha256_final(&s, digest);
	sha256_hex(digest, ret_hex);
	return 0;
}
