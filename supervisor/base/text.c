/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8 as RFC 3629 has it, and the characters that can lie to a reader (Trojan Source, CVE-2021-42574, and its kin). Pure. */
#include "supervisor/base/text.h"
#include "supervisor/base/cleanup.h"

unsigned text_decode(struct bytes rest, uint32_t *ret_point)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)rest.data[0];
	unsigned len = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
	uint32_t point = len == 1 ? first : first & (0x7fu >> len);

	if (len == 0 || first >= 0xf8 || len > rest.len)
		return 0;
	for (unsigned i = 1; i < len; i++) {
		unsigned char c = (unsigned char)rest.data[i];

		if ((c & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (c & 0x3f);
	}
	if (point < smallest[len] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	*ret_point = point;
	return len;
}

bool text_is_plain(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{ 0x0000, 0x001f },	/* C0 */
		{ 0x007f, 0x009f },	/* DEL, C1: U+009B starts an escape sequence on some terminals */
		{ 0x00ad, 0x00ad },	/* soft hyphen */
		{ 0x061c, 0x061c },	/* Arabic letter mark */
		{ 0x180e, 0x180e },
		{ 0x200b, 0x200f },	/* zero width, LRM, RLM */
		{ 0x2028, 0x202e },	/* line and paragraph separator, embeddings and overrides */
		{ 0x2060, 0x206f },	/* isolates and deprecated controls */
		{ 0xfeff, 0xfeff },
		{ 0xfff9, 0xfffb },
		{ 0xe0000, 0xe007f },	/* tags */
	};

	for (unsigned i = 0; i < ARRAY_SIZE(hidden); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return false;
	return true;
}

size_t text_number(uint32_t number, char *ret_text)
{
	char digits[TEXT_NUMBER_BYTES];
	size_t at = sizeof(digits);

	digits[--at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	memcpy(ret_text, digits + at, sizeof(digits) - at);
	return sizeof(digits) - at - 1;
}

size_t text_ipv4(const uint8_t *address, char *ret_text)
{
	size_t len = 0;

	for (unsigned i = 0; i < 4; i++) {
		if (i)
			ret_text[len++] = '.';
		len += text_number(address[i], ret_text + len);
	}
	return len;
}
