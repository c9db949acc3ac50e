/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved words: what stands unquoted and whole where a command may begin. Whether a place is such a place the callers know. */
#include "supervisor/analyze/reading.h"

static const struct {
	const char *text;
	enum sh_keyword keyword;
} keywords[] = {
	{ "!", KEYWORD_NOT }, { "{", KEYWORD_BRACE }, { "}", KEYWORD_UNBRACE }, { "[[", KEYWORD_TEST },
	{ "case", KEYWORD_CASE }, { "coproc", KEYWORD_COPROC }, { "do", KEYWORD_DO }, { "done", KEYWORD_DONE },
	{ "elif", KEYWORD_ELIF }, { "else", KEYWORD_ELSE }, { "esac", KEYWORD_ESAC }, { "fi", KEYWORD_FI },
	{ "for", KEYWORD_FOR }, { "function", KEYWORD_FUNCTION }, { "if", KEYWORD_IF }, { "in", KEYWORD_IN },
	{ "select", KEYWORD_SELECT }, { "then", KEYWORD_THEN }, { "time", KEYWORD_TIME },
	{ "until", KEYWORD_UNTIL }, { "while", KEYWORD_WHILE },
};

#define KEYWORD_BYTES 8

int sh_bash_only(struct sh_reader *r, const char *sentence)
{
	return r->dialect == SHELL_BASH ? 0 : sh_problem(r, r->at, sentence);
}

bool sh_at_word_end(struct sh_reader *r)
{
	int c = sh_peek(r);

	switch (c) {
	case -1: case ' ': case '\t': case '\n': case ';': case '&': case '|': case '(': case ')':
		return true;
	case '<': case '>':
		/* "<(" goes on with the word */
		return r->dialect != SHELL_BASH || sh_peek_next(r) != '(';
	default:
		return false;
	}
}

static bool is_keyword_byte(int c)
{
	return (c >= 'a' && c <= 'z') || c == '{' || c == '}' || c == '!' || c == '[';
}

enum sh_keyword sh_keyword(struct sh_reader *r, size_t *ret_end)
{
	char word[KEYWORD_BYTES + 1];
	size_t at = r->at, nr = 0, i;
	int c;

	while (nr < KEYWORD_BYTES && is_keyword_byte(c = sh_peek(r))) {
		word[nr++] = (char)c;
		sh_skip(r);
	}
	word[nr] = '\0';
	if (nr > 0 && sh_at_word_end(r))
		for (i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
			if (strcmp(word, keywords[i].text) == 0) {
				*ret_end = r->at;
				r->at = at;
				return keywords[i].keyword;
			}
	r->at = at;
	return KEYWORD_NONE;
}

bool sh_take_keyword(struct sh_reader *r, enum sh_keyword keyword)
{
	size_t end;

	if (sh_keyword(r, &end) != keyword)
		return false;
	r->at = end;
	return true;
}
