/* SPDX-License-Identifier: Apache-2.0 */
/* Globs over whole texts: "*" any bytes, "?" one byte, "[a-z]" and "[!a-z]" one of a set. Linear in memory, at most quadratic in time. */
#include "supervisor/judge/arguments.h"

#include <ctype.h>

static int folded(char c, bool fold)
{
	return fold ? tolower((unsigned char)c) : (unsigned char)c;
}

/* *pattern stands behind "["; returns whether c is in the set and moves behind "]". */
static bool in_set(const char **pattern, char c, bool fold)
{
	const char *p = *pattern;
	bool not = *p == '!', found = false;
	int wanted = folded(c, fold);

	for (p += not; *p && *p != ']'; p++) {
		if (p[1] == '-' && p[2] && p[2] != ']') {
			found |= folded(p[0], fold) <= wanted && wanted <= folded(p[2], fold);
			p += 2;
		} else {
			found |= folded(*p, fold) == wanted;
		}
	}
	*pattern = *p ? p + 1 : p;
	return found != not;
}

bool glob_match(const char *pattern, const char *text, bool fold)
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
		if (!*text && !*pattern)
			return true;
		if (*text && (*pattern == '?' || (*pattern == '[' && in_set(&next, *text, fold)) ||
			      (*pattern && *pattern != '[' && folded(*pattern, fold) == folded(*text, fold)))) {
			pattern = next;
			text++;
			continue;
		}
		if (!star || !*again)
			return false;
		text = ++again;
		pattern = star;
	}
}
