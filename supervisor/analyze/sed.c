/* SPDX-License-Identifier: Apache-2.0 */
/* GNU sed's grammar (sed 4.9): addresses, commands, and the three that reach outside: e, r/R, w/W, and the flags e and w of s. */
#include "supervisor/analyze/programs.h"

#include <ctype.h>
#include <string.h>

struct sed {
	const char *at;
	struct program_facts *facts;
};

static void skip_blanks(struct sed *s)
{
	while (*s->at == ' ' || *s->at == '\t')
		s->at++;
}

static void skip_digits(struct sed *s)
{
	while (isdigit((unsigned char)*s->at))
		s->at++;
}

/* Behind the closing delimiter; false when there is none. A bracket expression does not hide it from GNU sed. */
static bool skip_delimited(struct sed *s, char delimiter)
{
	for (; *s->at; s->at++) {
		if (*s->at == '\\' && s->at[1]) {
			s->at++;
		} else if (*s->at == delimiter) {
			s->at++;
			return true;
		}
	}
	return false;
}

static void skip_line(struct sed *s)
{
	s->at += strcspn(s->at, "\n");
}

/* The name goes on to the end of the line. */
static void take_name(struct sed *s, char ret_name[static 256])
{
	size_t len;

	skip_blanks(s);
	len = strcspn(s->at, "\n");
	if (!*ret_name && len < 256) {
		memcpy(ret_name, s->at, len);
		ret_name[len] = '\0';
	} else {
		s->facts->runs = true;	/* a second one, or no name of a file: not told apart here */
	}
	skip_line(s);
}

static void take_file(struct sed *s)
{
	s->facts->writes = true;
	take_name(s, s->facts->file);
}

/* One address: N, $, /re/, \cREc, first~step, +N, ~N. False: not an address, or not one we know. */
static bool skip_address(struct sed *s, bool *ret_some)
{
	*ret_some = true;
	if (isdigit((unsigned char)*s->at) || ((*s->at == '+' || *s->at == '~') && isdigit((unsigned char)s->at[1]))) {
		s->at++;
		skip_digits(s);
		if (*s->at == '~') {
			s->at++;
			skip_digits(s);
		}
		return true;
	}
	if (*s->at == '$') {
		s->at++;
		return true;
	}
	if (*s->at == '/' || (*s->at == '\\' && s->at[1] && s->at[1] != '\n')) {
		char delimiter = *s->at == '/' ? '/' : s->at[1];

		s->at += *s->at == '/' ? 1 : 2;
		if (!skip_delimited(s, delimiter))
			return false;
		while (*s->at == 'I' || *s->at == 'M')
			s->at++;
		return true;
	}
	*ret_some = false;
	return true;
}

static bool skip_addresses(struct sed *s)
{
	bool some;

	if (!skip_address(s, &some))
		return false;
	skip_blanks(s);
	if (some && *s->at == ',') {
		s->at++;
		skip_blanks(s);
		if (!skip_address(s, &some) || !some)
			return false;
		skip_blanks(s);
	}
	while (*s->at == '!' || *s->at == ' ' || *s->at == '\t')
		s->at++;
	return true;
}

static bool take_substitution(struct sed *s)
{
	char delimiter = *s->at;

	if (!delimiter || delimiter == '\n' || delimiter == '\\')
		return false;
	s->at++;
	if (!skip_delimited(s, delimiter) || !skip_delimited(s, delimiter))
		return false;
	for (;; s->at++) {
		if (*s->at == 'e') {
			s->facts->runs = true;
		} else if (*s->at == 'w') {
			s->at++;
			take_file(s);
			return true;
		} else if (!strchr("gpiImM0123456789", *s->at) || !*s->at) {
			return true;
		}
	}
}

static bool take_transliteration(struct sed *s)
{
	char delimiter = *s->at;

	if (!delimiter || delimiter == '\n' || delimiter == '\\')
		return false;
	s->at++;
	return skip_delimited(s, delimiter) && skip_delimited(s, delimiter);
}

/* Text of a, i, c: to the end of the line; a backslash continues it. */
static void skip_text(struct sed *s)
{
	for (; *s->at && *s->at != '\n'; s->at++)
		if (*s->at == '\\' && s->at[1])
			s->at++;
}

static bool take_end(struct sed *s)
{
	skip_blanks(s);
	return !*s->at || strchr(";\n}#", *s->at);
}

static bool take_command(struct sed *s)
{
	char command = *s->at++;

	switch (command) {
	case '{':
		return true;
	case '}':
	case '=': case 'd': case 'D': case 'g': case 'G': case 'h': case 'H': case 'n': case 'N': case 'p': case 'P': case 'x':
	case 'z': case 'F':
		return take_end(s);
	case 'q': case 'Q': case 'l': case 'L':
		skip_blanks(s);
		skip_digits(s);
		return take_end(s);
	case 'a': case 'i': case 'c':
		skip_text(s);
		return true;
	case ':':
	case 'b': case 't': case 'T':
		skip_blanks(s);
		s->at += strcspn(s->at, ";} \t\n\v\f\r");	/* ":a w out": a command goes on behind the blank */
		return true;
	case 's':
		return take_substitution(s) && take_end(s);
	case 'y':
		return take_transliteration(s) && take_end(s);
	case 'r': case 'R':
		s->facts->reads = true;
		take_name(s, s->facts->source);
		return true;
	case 'w': case 'W':
		take_file(s);
		return true;
	case '#':
		skip_line(s);
		return true;
	case 'e': {
		size_t len;

		skip_blanks(s);
		len = strcspn(s->at, "\n");
		if (len < sizeof(s->facts->command))
			memcpy(s->facts->command, s->at, len);
		return false;
	}
	default:	/* nothing that this reader knows */
		return false;
	}
}

void sed_read(const char *text, struct program_facts *ret)
{
	struct sed s = { .at = text, .facts = ret };

	*ret = (struct program_facts){ 0 };
	for (;;) {
		s.at += strspn(s.at, " \t\n;");
		if (!*s.at)
			return;
		if (*s.at == '}') {
			s.at++;
			continue;
		}
		if (!skip_addresses(&s) || !*s.at || !take_command(&s)) {
			ret->runs = true;
			return;
		}
	}
}
