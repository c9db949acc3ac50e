/* SPDX-License-Identifier: Apache-2.0 */
/* "$" and backquotes: what they expand, and the commands in them. ${…} is parameter.c. */
#include "supervisor/analyze/reading.h"

int sh_name(struct sh_reader *r, struct bytes *ret_name)
{
	size_t from, used = r->scratch_used;
	char *data;

	(void)sh_peek(r);
	from = r->at;
	while (sh_is_name(sh_peek(r))) {
		r->scratch[r->scratch_used++] = r->text[r->at];
		sh_skip(r);
	}
	*ret_name = (struct bytes){ r->text + from, r->scratch_used - used };
	if (r->at - from != ret_name->len) {	/* continuations inside it, or behind it */
		data = sh_take(r, ret_name->len + 1);
		if (!data)
			return -ENOMEM;
		ret_name->data = memcpy(data, r->scratch + used, ret_name->len);
	}
	r->scratch_used = used;
	return 0;
}

int sh_substitution(struct sh_reader *r, enum shell_relation relation)
{
	struct sh_scope scope = sh_scope(r);
	struct sh_here *pending = r->pending, **pending_tail = r->pending_tail;
	size_t at = r->at;
	bool here_seen = r->here_seen, joins_badly = r->joins_badly;

	r->here_seen = false;
	/* bash 5.2 prints what it has parsed here, and reads that when it runs it */
	r->joins_badly = true;
	r->pending = NULL;
	r->pending_tail = &r->pending;
	sh_scope_enter(r, r->command, relation, SHELL_IN_SUBSTITUTION | SHELL_IN_SUBSHELL);
	TRY(sh_list(r, NULL));
	if (!sh_take_byte(r, ')'))
		return sh_problem(r, at, "a substitution has no end");
	if (r->pending)
		return sh_problem(r, r->at, "a here-document inside a substitution has no body");
	r->pending = pending;
	r->pending_tail = pending ? pending_tail : &r->pending;
	r->here_seen = here_seen;
	r->joins_badly = joins_badly;
	sh_scope_return(r, &scope);
	return 0;
}

/* Where the closing backquote is; a backslash hides the byte behind it. */
static int find_backquote(struct sh_reader *r, size_t *ret_close)
{
	size_t i;

	for (i = r->at; i < r->len && r->text[i] != '`'; i++)
		if (r->text[i] == '\\')
			i++;
	if (i >= r->len)
		return sh_problem(r, r->at, "a backquote is not closed");
	*ret_close = i;
	return 0;
}

/* The text between backquotes after the first removal of backslashes. */
static int unescape(struct sh_reader *r, size_t close, enum sh_quote quote, struct bytes *ret_text)
{
	char *data = sh_take(r, close - r->at + 1);
	size_t len = 0, i;

	if (!data)
		return -ENOMEM;
	for (i = r->at; i < close; i++) {
		char next = r->text[i + 1];

		if (r->text[i] == '\\' && next == '\n') {
			i++;
			continue;
		}
		if (r->text[i] == '\\') {
			if (next == '"' && (quote == QUOTE_OPERAND || quote == QUOTE_HERE))
				return sh_problem(r, i, "an escaped quote between backquotes is not modelled here");
			if (!strchr("$`\\", next) && !(next == '"' && quote == QUOTE_DOUBLE))
				data[len++] = '\\';
			i++;
		}
		data[len++] = r->text[i];
	}
	*ret_text = (struct bytes){ data, len };
	return 0;
}

int sh_backquotes(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote)
{
	struct sh_scope scope = sh_scope(r);
	size_t from = r->at - 1, close = 0;
	struct bytes text;

	TRY(find_backquote(r, &close));
	TRY(unescape(r, close, quote, &text));
	sh_scope_enter(r, r->command, SHELL_CAPTURED, SHELL_IN_SUBSTITUTION | SHELL_IN_SUBSHELL);
	TRY(sh_nested(r, text, sh_offset(r, from), true, sh_whole_text));
	sh_scope_return(r, &scope);
	r->at = close + 1;
	return sh_part(r, b, SHELL_COMMAND, quote != QUOTE_NONE, sh_slice(r, from));
}

int sh_process(struct sh_reader *r, struct sh_builder *b)
{
	size_t from = r->at;
	enum shell_relation relation = sh_peek(r) == '<' ? SHELL_READ_FROM : SHELL_WRITTEN_TO;

	sh_skip(r);
	(void)sh_peek(r);
	sh_skip(r);
	TRY(sh_substitution(r, relation));
	return sh_part(r, b, SHELL_PROCESS, true, sh_slice(r, from));
}

static int arithmetic_part(struct sh_reader *r, struct sh_builder *b, size_t from, enum sh_quote quote, bool names)
{
	if (names)
		TRY(sh_evaluation(r, SHELL_EVALUATES_ARITHMETIC, from, sh_slice(r, from), NULL));
	return sh_part(r, b, SHELL_ARITHMETIC, quote != QUOTE_NONE, sh_slice(r, from));
}

static int parenthesis(struct sh_reader *r, struct sh_builder *b, size_t from, enum sh_quote quote)
{
	bool closed = false, names;

	if (sh_peek_next(r) == '(')
		TRY(sh_double_parentheses(r, &closed, &names));
	if (closed)
		return arithmetic_part(r, b, from, quote, names);
	sh_skip(r);
	TRY(sh_substitution(r, SHELL_CAPTURED));
	return sh_part(r, b, SHELL_COMMAND, quote != QUOTE_NONE, sh_slice(r, from));
}

static int old_arithmetic(struct sh_reader *r, struct sh_builder *b, size_t from, enum sh_quote quote)
{
	bool closed, names;

	TRY(sh_bash_only(r, "\"$[\" is not the same in every shell"));
	sh_skip(r);
	TRY(sh_enter(r));
	TRY(sh_expression(r, EXPRESSION_BRACKET, &closed, &names));
	sh_leave(r);
	return arithmetic_part(r, b, from, quote, names);
}

/* $'…' and $"…", outside quotes */
static int quoted_part(struct sh_reader *r, struct sh_builder *b, char quote)
{
	TRY(sh_bash_only(r, "\"$'\" and \"$\\\"\" are not the same in every shell"));
	sh_skip(r);
	if (quote == '\'')
		return sh_ansi_quotes(r, b);
	/* the translation, a file's, is expanded */
	TRY(sh_evaluation(r, SHELL_EVALUATES_TEXT, r->at, sh_slice(r, r->at), NULL));
	TRY(sh_part(r, b, SHELL_LOCALE, true, (struct bytes){ NULL, 0 }));
	return sh_double_quotes(r, b, false);
}

/* $name, $1, $@ */
static int variable(struct sh_reader *r, struct sh_builder *b, int c, enum sh_quote quote)
{
	struct bytes name;

	if (sh_is_name_start(c)) {
		TRY(sh_name(r, &name));
	} else {
		name = (struct bytes){ r->text + r->at, 1 };
		sh_skip(r);
	}
	b->many |= c == '@';
	return sh_part(r, b, SHELL_PARAMETER, quote != QUOTE_NONE, name);
}

int sh_dollar(struct sh_reader *r, struct sh_builder *b, enum sh_quote quote)
{
	size_t from = r->at;
	int c;

	sh_skip(r);
	c = sh_peek(r);
	if (c == '(')
		return parenthesis(r, b, from, quote);
	if (c == '{') {
		sh_skip(r);
		return sh_parameter(r, b, from, quote);
	}
	if (c == '[')
		return old_arithmetic(r, b, from, quote);
	if ((c == '\'' || c == '"') && quote == QUOTE_NONE)
		return quoted_part(r, b, (char)c);
	if (sh_is_name(c) || (c > 0 && strchr("@*#?-$!", c)))
		return variable(r, b, c, quote);
	sh_literal(r, b, '$');
	return 0;
}
