/* SPDX-License-Identifier: Apache-2.0 */
/* What stands between quotes. */
#include "supervisor/analyze/reading.h"

int sh_single_quotes(struct sh_reader *r, struct sh_builder *b)
{
	size_t at = r->at - 1;

	b->quoted = true;
	for (; r->at < r->len; r->at++) {
		if (r->text[r->at] == '\'') {
			r->at++;
			return 0;
		}
		sh_literal(r, b, r->text[r->at]);
	}
	return sh_problem(r, at, "a single quote is not closed");
}

/* A backslash between double quotes: it quotes a few bytes and is itself before all others. */
static int escaped(struct sh_reader *r, struct sh_builder *b, bool arithmetic)
{
	char c;

	if (arithmetic)		/* what it protects from this expansion, the evaluation expands */
		return sh_problem(r, r->at, "a backslash in arithmetic is not modelled");
	r->at++;
	if (r->at >= r->len)
		return sh_problem(r, r->at, "the text ends in a backslash");
	c = r->text[r->at++];
	if (!strchr("$`\"\\", c) || !c)
		sh_literal(r, b, '\\');
	sh_literal(r, b, c);
	return 0;
}

int sh_double_quotes(struct sh_reader *r, struct sh_builder *b, bool arithmetic)
{
	size_t at = r->at - 1;
	int c;

	b->quoted = true;
	while ((c = sh_peek(r)) != -1) {
		switch (c) {
		case '"':
			sh_skip(r);
			return 0;
		case '\\':
			TRY(escaped(r, b, arithmetic));
			break;
		case '$':
			TRY(sh_dollar(r, b, QUOTE_DOUBLE));
			break;
		case '`':
			sh_skip(r);
			TRY(sh_backquotes(r, b, QUOTE_DOUBLE));
			break;
		default:
			sh_skip(r);
			sh_literal(r, b, (char)c);
		}
	}
	return sh_problem(r, at, "a double quote is not closed");
}

static int digit_value(int c)
{
	if (sh_is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

/* Up to max digits of a base; ret_any false when there is none. */
static unsigned number(struct sh_reader *r, unsigned base, unsigned max, bool *ret_any)
{
	unsigned value = 0, nr;

	for (nr = 0; nr < max && r->at < r->len && (unsigned)digit_value(r->text[r->at]) < base; nr++)
		value = value * base + (unsigned)digit_value(r->text[r->at++]);
	*ret_any = nr > 0;
	return value;
}

static int add_number(struct sh_reader *r, struct sh_builder *b, unsigned value)
{
	if ((value & 0xff) == 0)
		return sh_problem(r, r->at, "an escape makes a NUL byte");
	sh_literal(r, b, (char)value);
	return 0;
}

/* \uHHHH: what becomes of a character beyond ASCII depends on the locale. */
static int add_character(struct sh_reader *r, struct sh_builder *b, unsigned digits)
{
	size_t from = r->at - 2;
	bool any;
	unsigned value = number(r, 16, digits, &any);

	if (!any)
		return sh_problem(r, from, "an escape has no digits");
	if (value < 0x80)
		return add_number(r, b, value);
	return sh_part(r, b, SHELL_LOCALE, true, sh_slice(r, from));
}

static int ansi_escape(struct sh_reader *r, struct sh_builder *b)
{
	static const char from[] = "abeEfnrtv\\'\"?", to[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
	const char *known;
	bool any;
	unsigned value;
	char c;

	if (r->at >= r->len)
		return sh_problem(r, r->at, "the text ends in a backslash");
	c = r->text[r->at++];
	known = c ? strchr(from, c) : NULL;
	if (known) {
		sh_literal(r, b, to[known - from]);
		return 0;
	}
	switch (c) {
	case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7':
		r->at--;
		return add_number(r, b, number(r, 8, 3, &any));
	case 'x':
		value = number(r, 16, 2, &any);
		return any ? add_number(r, b, value) : sh_problem(r, r->at, "an escape has no digits");
	case 'u':
		return add_character(r, b, 4);
	case 'U':
		return add_character(r, b, 8);
	case 'c':
		if (r->at >= r->len || !sh_is_name_start(r->text[r->at]))
			return sh_problem(r, r->at, "a control escape is not modelled");
		return add_number(r, b, (unsigned)r->text[r->at++] & 0x1f);
	default:
		sh_literal(r, b, '\\');
		sh_literal(r, b, c);
		return 0;
	}
}

int sh_ansi_quotes(struct sh_reader *r, struct sh_builder *b)
{
	size_t at = r->at - 1;
	char c;

	b->quoted = true;
	while (r->at < r->len) {
		c = r->text[r->at++];
		if (c == '\'')
			return 0;
		if (c == '\\')
			TRY(ansi_escape(r, b));
		else
			sh_literal(r, b, c);
	}
	return sh_problem(r, at, "a quote is not closed");
}

int sh_plain_quotes(struct sh_reader *r, char quote)
{
	size_t at = r->at - 1;

	for (; r->at < r->len; r->at++) {
		if (r->text[r->at] == quote) {
			r->at++;
			return 0;
		}
		if (strchr("$`\\'\"{}", r->text[r->at]))
			break;
	}
	return sh_problem(r, at, "a quote inside an expansion may or may not quote what is in it");
}
