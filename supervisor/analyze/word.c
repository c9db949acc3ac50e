/* SPDX-License-Identifier: Apache-2.0 */
/* Words: literal bytes, quotes, expansions and patterns up to the next blank or operator. */
#include "supervisor/analyze/reading.h"

void sh_builder_begin(struct sh_reader *r, struct sh_builder *b)
{
	*b = (struct sh_builder){ .mark = r->scratch_used, .flushed = r->scratch_used };
	b->tail = &b->parts;
}

void sh_literal(struct sh_reader *r, struct sh_builder *b, char c)
{
	b->odd |= c < 0x20 || c >= 0x7f;
	r->scratch[r->scratch_used++] = c;
}

static int add_part(struct sh_reader *r, struct sh_builder *b, unsigned why, bool quoted, struct bytes text)
{
	struct shell_part *part = sh_take(r, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*part = (struct shell_part){ NULL, why, quoted, text };
	*b->tail = part;
	b->tail = &part->next;
	return 0;
}

/* Literal bytes so far become a part. */
static int flush(struct sh_reader *r, struct sh_builder *b)
{
	size_t len = r->scratch_used - b->flushed;
	char *data;

	if (len == 0)
		return 0;
	data = sh_take(r, len);
	if (!data)
		return -ENOMEM;
	memcpy(data, r->scratch + b->flushed, len);
	b->flushed = r->scratch_used;
	return add_part(r, b, 0, false, (struct bytes){ data, len });
}

int sh_part(struct sh_reader *r, struct sh_builder *b, unsigned why, bool quoted, struct bytes text)
{
	TRY(flush(r, b));
	b->why |= why;
	b->many |= !quoted;
	return add_part(r, b, why, quoted, text);
}

/* A pattern byte: literal, too, for those who ask for the word as typed. */
static int pattern_byte(struct sh_reader *r, struct sh_builder *b, char c)
{
	TRY(sh_part(r, b, SHELL_GLOB, false, (struct bytes){ r->text + r->at, 1 }));
	sh_literal(r, b, c);
	b->flushed = r->scratch_used;
	sh_skip(r);
	return 0;
}

int sh_builder_end(struct sh_reader *r, struct sh_builder *b, size_t from, struct shell_word **ret_word)
{
	struct shell_word *word = sh_take(r, sizeof(*word));
	size_t len = r->scratch_used - b->mark;
	char *data = sh_take(r, len + 1);

	if (!word || !data)
		return -ENOMEM;
	memcpy(data, r->scratch + b->mark, len);
	*word = (struct shell_word){ .source = sh_slice(r, from), .offset = sh_offset(r, from), .why = b->why, .quoted = b->quoted,
				     .single = !b->many, .odd = b->odd };
	if (b->why) {
		TRY(flush(r, b));
		word->parts = b->parts;
		if (b->parts && b->parts->why == 0)
			word->prefix = b->parts->text;
	} else {
		word->prefix = (struct bytes){ data, len };
	}
	if (!(b->why & ~(unsigned)SHELL_PATTERNS))
		word->value = (struct bytes){ data, len };
	r->scratch_used = b->mark;
	*ret_word = word;
	return 0;
}

/* What has been seen of a word that decides what later bytes mean. */
struct state {
	enum sh_place place;
	size_t from;
	bool begun;
	bool tilde;			/* a tilde here would be expanded */
	bool name;			/* the bytes so far could be a name before "=" */
	bool assigned;			/* they were, and "=" followed */
	struct shell_part **bracket;	/* where an unquoted "[" stands among the parts */
	struct shell_part **brace;	/* an unquoted "{" */
	bool comma;			/* a comma or ".." behind that */
	bool dollar;			/* a "$" that expands nothing */
};

static bool patterns_apply(const struct state *s)
{
	return s->place != PLACE_ASSIGNED && s->place != PLACE_DELIMITER;
}

/* Behind ?(, *(, +(, @( or !( up to the closing parenthesis; also a parenthesis of a regular expression. */
static int parentheses(struct sh_reader *r, struct sh_builder *b)
{
	size_t at = r->at, nested = 0;
	int c;

	TRY(sh_enter(r));
	while ((c = sh_peek(r)) != -1) {
		sh_skip(r);
		switch (c) {
		case '(':
			nested++;
			break;
		case ')':
			if (nested-- == 0) {
				sh_leave(r);
				return 0;
			}
			break;
		case '\\':
			if (r->at >= r->len)
				return sh_problem(r, at, "the text ends in a backslash");
			r->at++;
			break;
		case '\'':
			TRY(sh_single_quotes(r, b));
			break;
		case '"':
			TRY(sh_double_quotes(r, b, false));
			break;
		case '`':
			TRY(sh_backquotes(r, b, QUOTE_NONE));
			break;
		case '$':
			r->at--;
			TRY(sh_dollar(r, b, QUOTE_NONE));
			break;
		case '<': case '>':
			if (sh_peek(r) == '(')
				return sh_problem(r, r->at, "a process substitution inside a pattern is not modelled");
			break;
		default:
			break;
		}
	}
	return sh_problem(r, at, "a pattern's parenthesis is not closed");
}

static int extended_pattern(struct sh_reader *r, struct sh_builder *b, struct state *s, size_t from)
{
	TRY(sh_bash_only(r, "a pattern with parentheses is not the same in every shell"));
	if (s->place == PLACE_COMMAND || !patterns_apply(s))
		return sh_problem(r, from, "a pattern with parentheses is not modelled here");
	TRY(sh_part(r, b, SHELL_GLOB | SHELL_PARAMETER, false, (struct bytes){ r->text + from, 1 }));
	return parentheses(r, b);
}

static int backslash(struct sh_reader *r, struct sh_builder *b)
{
	b->quoted = true;
	r->at++;
	if (r->at >= r->len)
		return sh_problem(r, r->at, "the text ends in a backslash");
	sh_literal(r, b, r->text[r->at++]);
	return 0;
}

/* A byte that may begin something: its place among the parts is kept, to say so once it has turned out that it does. */
static int begin_maybe(struct sh_reader *r, struct sh_builder *b, struct shell_part ***slot)
{
	if (*slot)
		return 0;
	TRY(flush(r, b));
	*slot = b->tail;
	return 0;
}

static int it_began(struct sh_reader *r, struct sh_builder *b, struct shell_part **slot, unsigned why)
{
	struct shell_part *part = sh_take(r, sizeof(*part));

	if (!part)
		return -ENOMEM;
	*part = (struct shell_part){ *slot, why, false, { NULL, 0 } };
	if (b->tail == slot)
		b->tail = &part->next;
	*slot = part;
	b->why |= why;
	b->many = true;
	return 0;
}

/* Unquoted bytes of brackets and braces; they are literal bytes as well. */
static int maybe_pattern(struct sh_reader *r, struct sh_builder *b, struct state *s, char c)
{
	switch (c) {
	case '[':
		return begin_maybe(r, b, &s->bracket);
	case ']':
		return s->bracket && !(b->why & SHELL_GLOB) ? it_began(r, b, s->bracket, SHELL_GLOB) : 0;
	case '{':
		return begin_maybe(r, b, &s->brace);
	case '}':
		return s->brace && s->comma && !(b->why & SHELL_BRACE) ? it_began(r, b, s->brace, SHELL_BRACE) : 0;
	case ',':
		s->comma |= s->brace != NULL;
		return 0;
	case '.':
		s->comma |= s->brace && r->text[r->at - 1] == '.';
		return 0;
	default:
		return 0;
	}
}

static int tilde(struct sh_reader *r, struct sh_builder *b)
{
	TRY(sh_part(r, b, SHELL_TILDE, true, (struct bytes){ r->text + r->at, 1 }));
	sh_literal(r, b, '~');
	b->flushed = r->scratch_used;
	sh_skip(r);
	return 0;
}

static bool may_be_extended(int c)
{
	return c == '?' || c == '*' || c == '+' || c == '@' || c == '!';
}

/* Where the next byte would be a tilde that expands: at the start, behind NAME=, and behind colons of an assigned value. */
static void next_tilde(const struct sh_reader *r, struct state *s, char c)
{
	bool assigns = c == '=' && s->name && r->at > s->from;

	s->assigned |= assigns;
	s->tilde = assigns || (c == ':' && (s->place == PLACE_ASSIGNED || s->assigned));
	s->name = s->name && sh_is_name((unsigned char)c);
}

/* Bytes that mean something in patterns, braces and tildes only. */
static int plain_byte(struct sh_reader *r, struct sh_builder *b, struct state *s, char c)
{
	size_t from = r->at;
	bool tilde_here = s->tilde;

	next_tilde(r, s, c);
	if (may_be_extended(c) && sh_peek_next(r) == '(' && s->place != PLACE_REGEX) {
		sh_skip(r);
		(void)sh_peek(r);
		sh_skip(r);
		return extended_pattern(r, b, s, from);
	}
	if (c == '~' && tilde_here)
		return tilde(r, b);
	if (patterns_apply(s)) {
		TRY(maybe_pattern(r, b, s, c));
		if (c == '*' || c == '?')
			return pattern_byte(r, b, c);
	}
	sh_literal(r, b, c);
	sh_skip(r);
	return 0;
}

/* One byte or construct of a word; ret_ended where the word is over. */
static int piece(struct sh_reader *r, struct sh_builder *b, struct state *s, bool *ret_ended)
{
	int c = sh_peek(r);
	size_t literal = r->scratch_used;
	unsigned why = b->why;

	switch (c) {
	case '\\':
		TRY(backslash(r, b));
		break;
	case '\'':
		sh_skip(r);
		TRY(sh_single_quotes(r, b));
		break;
	case '"':
		sh_skip(r);
		TRY(sh_double_quotes(r, b, false));
		break;
	case '`':
		sh_skip(r);
		TRY(sh_backquotes(r, b, QUOTE_NONE));
		break;
	case '$':
		TRY(sh_dollar(r, b, QUOTE_NONE));
		s->dollar |= b->why == why && r->scratch_used == literal + 1 && r->scratch[literal] == '$';
		break;
	case '<': case '>':
		if (r->dialect != SHELL_BASH || sh_peek_next(r) != '(') {
			*ret_ended = true;
			return 0;
		}
		TRY(sh_process(r, b));
		break;
	case '(':
	case '|':
		if (s->place != PLACE_REGEX) {
			*ret_ended = true;
			return 0;
		}
		TRY(sh_part(r, b, SHELL_GLOB | SHELL_PARAMETER, true, (struct bytes){ r->text + r->at, 1 }));
		sh_skip(r);
		if (c == '(')
			TRY(parentheses(r, b));
		break;
	case -1: case ' ': case '\t': case '\n': case ';': case '&': case ')':
		*ret_ended = true;
		return 0;
	default:
		s->begun = true;
		return plain_byte(r, b, s, (char)c);
	}
	s->begun = true;
	s->tilde = s->name = false;
	return 0;
}

int sh_word(struct sh_reader *r, enum sh_place place, struct shell_word **ret_word)
{
	struct sh_builder b;
	struct state s = { .place = place, .from = r->at, .tilde = true, .name = true };
	bool ended = false;

	*ret_word = NULL;
	(void)sh_peek(r);
	s.from = r->at;
	sh_builder_begin(r, &b);
	while (!ended)
		TRY(piece(r, &b, &s, &ended));
	if (!s.begun)
		return 0;
	if ((b.why & SHELL_BRACE) && s.dollar)
		return sh_problem(r, s.from, "brace expansion may complete a lone \"$\"");
	return sh_builder_end(r, &b, s.from, ret_word);
}

int sh_body_text(struct sh_reader *r)
{
	struct sh_builder b;
	int c;

	sh_builder_begin(r, &b);
	while ((c = sh_peek(r)) != -1) {
		switch (c) {
		case '\\':
			r->at++;
			if (r->at >= r->len || !strchr("$`\\", r->text[r->at]))
				sh_literal(r, &b, '\\');
			if (r->at < r->len)
				sh_literal(r, &b, r->text[r->at++]);
			break;
		case '$':
			TRY(sh_dollar(r, &b, QUOTE_HERE));
			break;
		case '`':
			sh_skip(r);
			TRY(sh_backquotes(r, &b, QUOTE_HERE));
			break;
		default:
			sh_skip(r);
			sh_literal(r, &b, (char)c);
		}
	}
	return sh_builder_end(r, &b, 0, &r->result);
}
