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

/* One character of a string: itself, \x, \uXXXX, or a surrogate pair, which must not be parted. 0: the string ends or is broken. */
static size_t unit_len(const struct shrinker *s)
{
	size_t left = (size_t)(s->end - s->at);
	uint32_t point;

	if (left == 0 || *s->at == '"' || iscntrl((unsigned char)*s->at))
		return 0;
	if (*s->at != '\\')
		return text_decode((struct bytes){ s->at, left }, &point);
	if (left < 2 || s->at[1] != 'u')
		return left < 2 ? 0 : 2;
	if (left < 6)
		return 0;
	if (tolower((unsigned char)s->at[2]) == 'd' && memchr("89abAB", s->at[3], 6))
		return left < 12 ? 0 : 12;
	return 6;
}

static bool shrink_string(struct shrinker *s, bool keep)
{
	size_t kept = 0, n;
	bool cut = false;

	if (!take(s, '"'))
		return false;
	put(s, keep, "\"", 1);
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

/* Of a number, true, false or null. */
static bool is_scalar(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '-' || c == '.';
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
	for (len = 0; s->at + len != s->end && is_scalar(s->at[len]); len++)
		;
	put(s, keep, s->at, len);
	s->at += len;
	return len > 0;
}

bool record_members_valid(struct bytes members)
{
	struct shrinker s = { .at = members.data, .end = members.data + members.len };

	return members.len == 0 || (shrink_inside(&s, false, 0, true, '\0') && s.at == s.end);
}

static bool try_shrink(struct buf *out, struct bytes members, size_t text_max, unsigned elements_max)
{
	struct shrinker s = { members.data, members.data + members.len, out, text_max, elements_max };

	buf_reset(out);
	return members.len && shrink_inside(&s, true, 0, true, '\0') && s.at == s.end && !out->failed &&
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
