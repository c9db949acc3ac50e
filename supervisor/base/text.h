/* SPDX-License-Identifier: Apache-2.0 */
/* Unicode text as bytes: what is one character, and what may be shown as it is. Pure. */
#pragma once

#include "supervisor/base/bytes.h"

/*
 * The character at the start of rest (len > 0). Returns its length in bytes and its code point; 0 when the bytes are not UTF-8
 * (overlong forms, surrogates and what lies above U+10FFFF are not).
 */
unsigned text_decode(struct bytes rest, uint32_t *ret_point);

/*
 * Whether a character is visible and harmless in a terminal and in a log: no C0, DEL or C1 control, no bidirectional or other
 * invisible format character, no line or paragraph separator.
 */
bool text_is_plain(uint32_t point);

#define TEXT_NUMBER_BYTES 11
#define TEXT_IPV4_BYTES 16

/* Decimal, with a NUL. Returns the length. ret_text: TEXT_NUMBER_BYTES. (stdio takes longer for these two than all the rest of a connect's judgement.) */
size_t text_number(uint32_t number, char *ret_text);
/* "a.b.c.d", from four bytes in network order. ret_text: TEXT_IPV4_BYTES. */
size_t text_ipv4(const uint8_t *address, char *ret_text);
