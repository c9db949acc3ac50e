/* SPDX-License-Identifier: Apache-2.0 */
/* Globs over whole texts: "*" any bytes, "?" one byte, "[a-z]" and "[!a-z]" one of a set. Linear in memory, at most quadratic in time. */
#include "supervisor/judge/arguments.h"

#include <ctype.h>

static int folded(char c, bool fold)
{
	return fold ? tolower((unsigned char)c) : (unsigned char)c;
}

/* A text ends at its NUL, a part of a path at the next slash as well. */
static bool ends(char c, char stop)
{
	return !c || c == stop;
}

/* *pattern stands behind "["; returns whether c is in the set and moves behind "]". */
static bool in_set(const char **pattern, char c, bool fold, char stop)
{
	const char *p = *pattern;
	bool not = *p == '!', found = false;
	int wanted = folded(c, fold);

	for (p += not; !ends(*p, stop) && *p != ']'; p++) {
		if (p[1] == '-' && !ends(p[2], stop) && p[2] != ']') {
			found |= folded(p[0], fold) <= wanted && wanted <= folded(p[2], fold);
			p += 2;
		} else {
			found |= folded(*p, fold) == wanted;
		}
	}
	*pattern = ends(*p, stop) ? p : p + 1;
	return found != not;
}

static bool match(const char *pattern, const char *text, bool fold, char stop)
{
	const char *star = NULL, *again = NULL;

	for (;;) {
		const char *next = pattern + 1;

		if (*pattern == '*') {
			star = next;
			again = text;
			pattern = next;
			continue;
		}
		if (ends(*text, stop) && ends(*pattern, stop))
			return true;
		if (!ends(*text, stop) && (*pattern == '?' || (*pattern == '[' && in_set(&next, *text, fold, stop)) ||
			      (!ends(*pattern, stop) && *pattern != '[' && folded(*pattern, fold) == folded(*text, fold)))) {
			pattern = next;
			text++;
			continue;
		}
		if (!star || ends(*again, stop))
			return false;
		text = ++again;
		pattern = star;
	}
}

bool glob_match(const char *pattern, const char *text, bool fold)
{
	return match(pattern, text, fold, '\0');
}

bool glob_match_part(const char *pattern, const char *text)
{
	return match(pattern, text, false, '/');
}
