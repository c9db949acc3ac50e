/* SPDX-License-Identifier: Apache-2.0 */
/*
 * awk by its tokens: strings, regular expressions and operators are told apart as awk does it, by the token before a "/".
 *
 * Reaching outside takes one of: system, getline from a command, a pipe, a redirection of print, gawk's @ (indirect calls, @load,
 * @include) and its sockets. Where a "/" was taken for what it is not, a call of system() would stand in a regular expression: that one is looked for anywhere.
 */
#include "supervisor/analyze/programs.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct awk {
	const char *at;
	struct program_facts *facts;
	bool operand;		/* the token before this one ends an operand: "/" divides */
	bool printing;		/* inside print or printf, outside its parentheses: ">" redirects */
	unsigned depth;		/* of parentheses since then */
	bool control;		/* the token before this one is if, while, for or switch */
	uint64_t controls;	/* a bit for each parenthesis that is open: whether it is theirs. Behind theirs a "/" begins an expression */
	unsigned open;
};

static bool is_word(const char *word, size_t len, const char *const *words)
{
	for (; *words; words++)
		if (strlen(*words) == len && memcmp(*words, word, len) == 0)
			return true;
	return false;
}

static void take_word(struct awk *a)
{
	static const char *const outside[] = { "system", "getline", "extension", NULL };
	static const char *const not_operands[] = { "print", "printf", "return", "in", "if", "else", "while", "for", "do", "case", "delete",
						    "getline", "exit", "BEGIN", "END", NULL };
	static const char *const prints[] = { "print", "printf", NULL };
	static const char *const controls[] = { "if", "while", "for", "switch", NULL };
	size_t len = strspn(a->at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	if (is_word(a->at, len, outside))
		a->facts->runs = true;
	if (is_word(a->at, len, prints)) {
		a->printing = true;
		a->depth = 0;
	}
	a->operand = !is_word(a->at, len, not_operands);
	a->control = is_word(a->at, len, controls);
	a->at += len;
}

/* Behind the closing quote; false when there is none on the line. */
static bool skip_quoted(struct awk *a, char quote)
{
	bool in_set = false;

	for (a->at++; *a->at && *a->at != '\n'; a->at++) {
		if (*a->at == '\\' && a->at[1]) {
			a->at++;
		} else if (quote == '/' && *a->at == '[' && !in_set) {
			in_set = true;
			if (a->at[1] == '^')
				a->at++;
			if (a->at[1] == ']')
				a->at++;
		} else if (quote == '/' && *a->at == ']') {
			in_set = false;
		} else if (*a->at == quote && !in_set) {
			a->at++;
			return true;
		}
	}
	return false;
}

static void take_redirection(struct awk *a)
{
	static const char *const sinks[] = { "\"/dev/stderr\"", "\"/dev/stdout\"", "\"/dev/null\"" };
	const char *name;
	size_t i, len;

	a->at += a->at[1] == '>' ? 2 : 1;
	a->at += strspn(a->at, " \t");
	for (i = 0; i < sizeof(sinks) / sizeof(sinks[0]); i++)
		if (strncmp(a->at, sinks[i], strlen(sinks[i])) == 0) {
			const char *behind = a->at + strlen(sinks[i]);

			behind += strspn(behind, " \t");
			if (strchr("\n;}", *behind))	/* else it goes on: "/dev/null" "x" */
				return;
		}
	a->facts->writes = true;
	name = a->at + 1;
	len = *a->at == '"' ? strcspn(name, "\"\\") : sizeof(a->facts->file);
	if (len < sizeof(a->facts->file) && name[len] == '"' && !a->facts->file[0]) {
		memcpy(a->facts->file, name, len);
		a->facts->file[len] = '\0';
	}
}

/* Returns false where the reader is lost. */
static bool take_token(struct awk *a)
{
	char c = *a->at;

	if (isalpha((unsigned char)c) || c == '_') {
		take_word(a);
		return true;
	}
	if (isdigit((unsigned char)c) || (c == '.' && isdigit((unsigned char)a->at[1]))) {
		a->at += strspn(a->at, "0123456789abcdefABCDEFxX.");
		a->operand = true;
		return true;
	}
	switch (c) {
	case '"':
		a->operand = true;
		return skip_quoted(a, '"');
	case '/':
		if (a->operand) {
			a->at++;
			a->operand = false;
			return true;
		}
		a->operand = true;
		return skip_quoted(a, '/');
	case '#':
		a->at += strcspn(a->at, "\n");
		return true;
	case '>':
		if (a->printing && a->depth == 0) {
			take_redirection(a);
			a->operand = false;
			return true;
		}
		if (a->at[1] == '>')
			return false;
		break;
	case '|':
		if (a->at[1] != '|')
			return false;
		a->at++;
		break;
	case '(':
		a->depth++;
		if (a->open++ >= 64)
			return false;
		a->controls = a->controls << 1 | a->control;
		break;
	case ')':
		if (a->depth)
			a->depth--;
		if (!a->open--)
			return false;
		a->at++;
		a->operand = !(a->controls & 1);
		a->controls >>= 1;
		return true;
	case ']':
		a->at++;
		a->operand = true;
		return true;
	case '+': case '-':
		/* "x++ / y" and "++/re/": which it is depends on what stood before. */
		if (a->at[1] == c) {
			a->at += 2;
			return true;
		}
		break;
	case ';': case '{': case '}': case '\n':
		a->printing = false;
		a->depth = 0;
		break;
	case '\\':
		return a->at[1] == '\n' ? (a->at += 2, true) : false;
	default:
		if (!strchr(" \t\r$!~?:,=<*%^&[", c))
			return false;	/* "@", and every byte awk has no use for */
		break;
	}
	a->at++;
	if (!strchr(" \t\r", c)) {
		a->operand = false;
		a->control = false;
	}
	return true;
}

/* The literal that system() or a pipe takes: what stands in the quotes after the word, or after the bar. */
static void find_command(const char *text, struct program_facts *facts)
{
	const char *from = strstr(text, "system");
	size_t len;

	if (from) {
		from += strlen("system");
		from += strspn(from, " \t");
		if (*from++ != '(')
			return;
		from += strspn(from, " \t");
	} else {
		from = strchr(text, '|');
		from = from ? strchr(from, '"') : NULL;
		if (!from)
			from = strchr(text, '"');	/* "cmd" | getline */
	}
	if (!from || *from != '"')
		return;
	len = strcspn(++from, "\"\\");
	if (from[len] == '"' && len < sizeof(facts->command))
		memcpy(facts->command, from, len);
}

/* "system(": awk has no other way to write it, but for a continued line, which is read as a token. */
static bool calls_system(const char *text)
{
	while ((text = strstr(text, "system"))) {
		text += strlen("system");
		if (text[strspn(text, " \t")] == '(')
			return true;
	}
	return false;
}

void awk_read(const char *text, struct program_facts *ret)
{
	struct awk a = { .at = text, .facts = ret };

	*ret = (struct program_facts){ 0 };
	/* An indirect call takes its name from a string, a socket its address. */
	if (strchr(text, '@') || strcasestr(text, "/inet") || calls_system(text))
		ret->runs = true;
	while (*a.at && !ret->runs)
		if (!take_token(&a))
			ret->runs = true;
	if (ret->runs)
		find_command(text, ret);
}
