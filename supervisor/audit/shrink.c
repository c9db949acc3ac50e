/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Too long a record made shorter, so that an agent cannot push a denial out of the log with a long argument list: what was
 * refused and why stays, long texts and lists end early. Pure. Input is JSON of our own making; whatever else is left out whole.
 */
#include "supervisor/audit/record.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"
#include "supervisor/base/sha256.h"
#include "supervisor/base/text.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_MAX 32u

struct shrinker {
	const char *at, *end;
	struct buf *out;
	size_t text_max;
	unsigned elements_max;
};

static void put(struct shrinker *s, bool keep, const char *data, size_t len)
{
	if (keep)
		buf_append(s->out, data, len);
}

static bool next_is(struct shrinker *s, char c)
{
	while (s->at != s->end && *s->at == ' ')
		s->at++;
	return s->at != s->end && *s->at == c;
}

static bool take(struct shrinker *s, char c)
{
	if (!next_is(s, c))
		return false;
	s->at++;
	return true;
}

/* The value of \uXXXX at text (left bytes of it), or -1 when it is none. */
static int escape_value(const char *text, size_t left)
{
	int value = 0;

	if (left < 6 || text[0] != '\\' || text[1] != 'u')
		return -1;
	for (unsigned i = 2; i < 6; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!isxdigit(c))
			return -1;
		value = value << 4 | (isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	return value;
}

/* A backslash and what belongs to it; the halves of a surrogate pair are one. 0: it is broken. */
static size_t escape_len(const char *text, size_t left)
{
	int first = escape_value(text, left), second;

	if (first < 0)
		return left >= 2 && memchr("\"\\/bfnrt", text[1], 8) ? 2 : 0;
	if (first < 0xd800 || first > 0xdfff)
		return 6;
	second = escape_value(text + 6, left - 6);
	return first < 0xdc00 && second >= 0xdc00 && second <= 0xdfff ? 12 : 0;
}

/* One character of a string. 0: the string ends, or is broken here. */
static size_t unit_len(const struct shrinker *s)
{
	size_t left = (size_t)(s->end - s->at);
	uint32_t point;

	if (left == 0 || *s->at == '"' || (unsigned char)*s->at < 0x20 || *s->at == 0x7f)
		return 0;
	if (*s->at == '\\')
		return escape_len(s->at, left);
	return (unsigned char)*s->at < 0x80 ? 1 : text_decode((struct bytes){ s->at, left }, &point);
}

/* How many characters from here on mean nothing but themselves. */
static size_t plain_len(const struct shrinker *s)
{
	const char *at = s->at;

	while (at != s->end && *at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\')
		at++;
	return (size_t)(at - s->at);
}

static bool shrink_string(struct shrinker *s, bool keep)
{
	size_t kept = 0, n;
	bool cut = false;

	if (!take(s, '"'))
		return false;
	put(s, keep, "\"", 1);
	n = plain_len(s);
	if (!keep || n <= s->text_max) { /* nearly always all of it */
		put(s, keep, s->at, n);
		s->at += n;
		kept = n;
	}
	for (; (n = unit_len(s)); s->at += n) {
		cut = cut || kept + n > s->text_max;
		if (cut)
			continue;
		put(s, keep, s->at, n);
		kept += n;
	}
	put(s, keep, "...\"", cut ? 4 : 0);
	put(s, keep, "\"", cut ? 0 : 1);
	return take(s, '"');
}

/* Whether the key that starts here is one of the envelope's: two of a name would mean different things to different readers. */
static bool is_envelope_key(const struct shrinker *s)
{
	static const char *const names[] = { "v", "seq", "ts", "mono_us", "run", "boot", "type", "sev", "prev" };
	struct bytes rest = { s->at, (size_t)(s->end - s->at) };

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(names[i]);

		if (rest.len >= len + 2 && memcmp(rest.data + 1, names[i], len) == 0 && rest.data[len + 1] == '"')
			return true;
	}
	return false;
}

static bool shrink_value(struct shrinker *s, bool keep, unsigned depth);

/* What stands between the brackets: members of an object, or elements of a list. */
static bool shrink_inside(struct shrinker *s, bool keep, unsigned depth, bool object, char close)
{
	for (unsigned n = 0; !next_is(s, close) && s->at != s->end; n++) {
		bool keep_this = keep && (object || n < s->elements_max);

		if (n && !take(s, ','))
			return false;
		put(s, keep_this, ",", n ? 1 : 0);
		if (object) {
			if (!next_is(s, '"') || (depth == 0 && is_envelope_key(s)))
				return false;
			if (!shrink_string(s, keep_this) || !take(s, ':'))
				return false;
			put(s, keep_this, ":", 1);
		}
		if (!shrink_value(s, keep_this, depth + 1))
			return false;
		if (!object && n == s->elements_max)
			put(s, keep, ",\"...\"", 6);
	}
	return true;
}

static size_t digits_len(struct bytes rest)
{
	size_t len = 0;

	while (len < rest.len && isdigit((unsigned char)rest.data[len]))
		len++;
	return len;
}

/* true, false, null, or a number as json_out writes them (no exponent). 0: it is none. */
static size_t scalar_len(struct bytes rest)
{
	static const char *const words[] = { "true", "false", "null" };
	size_t len = rest.len && *rest.data == '-', digits, fraction;

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (bytes_start(rest, bytes_of(words[i])))
			return strlen(words[i]);
	digits = digits_len((struct bytes){ rest.data + len, rest.len - len });
	if (digits == 0 || digits > 20 || (digits > 1 && rest.data[len] == '0'))
		return 0;
	len += digits;
	if (len == rest.len || rest.data[len] != '.')
		return len;
	fraction = digits_len((struct bytes){ rest.data + len + 1, rest.len - len - 1 });
	return fraction ? len + 1 + fraction : 0;
}

static bool shrink_value(struct shrinker *s, bool keep, unsigned depth)
{
	bool object = next_is(s, '{');
	size_t len;

	if (depth > DEPTH_MAX)
		return false;
	if (next_is(s, '"'))
		return shrink_string(s, keep);
	if (object || next_is(s, '[')) {
		char close = object ? '}' : ']';

		put(s, keep, s->at++, 1);
		if (!shrink_inside(s, keep, depth, object, close) || !take(s, close))
			return false;
		put(s, keep, &close, 1);
		return true;
	}
	len = scalar_len((struct bytes){ s->at, (size_t)(s->end - s->at) });
	put(s, keep, s->at, len);
	s->at += len;
	return len > 0;
}

bool record_members_valid(struct bytes members)
{
	struct shrinker s = { .at = members.data, .end = members.data + members.len };

	/* Blanks alone are no members: behind the envelope's comma they would leave a line that nobody can read. */
	return members.len == 0 || (shrink_inside(&s, false, 0, true, '\0') && s.at == s.end && memchr(members.data, '"', members.len));
}

static bool try_shrink(struct buf *out, struct bytes members, size_t text_max, unsigned elements_max)
{
	struct shrinker s = { members.data, members.data + members.len, out, text_max, elements_max };

	buf_reset(out);
	return members.len && shrink_inside(&s, true, 0, true, '\0') && s.at == s.end && !out->failed && out->len &&
	       out->len + 256 <= RECORD_MEMBERS_MAX;
}

void record_shrink(struct buf *ret_members, struct bytes members)
{
	char hash[65];
	struct json_out j = { .buf = ret_members, .comma = true };

	if (!try_shrink(ret_members, members, 1024, 64) && !try_shrink(ret_members, members, 256, 16) &&
	    !try_shrink(ret_members, members, 64, 8)) {
		buf_reset(ret_members);
		j.comma = false;
	}
	sha256_of(members.data, members.len, hash);
	json_object_begin(&j, "cut");
	json_uint(&j, "bytes", members.len);
	json_text(&j, "sha256", hash);
	json_object_end(&j);
}
