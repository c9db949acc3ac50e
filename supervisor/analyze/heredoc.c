/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Here-documents: bodies begin behind the next newline that is an operator, one after the other in the order of their operators.
 *
 * The end is the delimiter alone on a line, exactly: behind leading tabs with <<-, after joined lines where the body expands.
 */
#include "supervisor/analyze/reading.h"

/* Whether a backslash and a newline at i join two lines. */
static bool joins(const struct sh_reader *r, const struct sh_here *here, size_t i)
{
	return !here->redirection->verbatim && r->text[i] == '\\' && i + 1 < r->len && r->text[i + 1] == '\n';
}

static size_t skip_tabs(const struct sh_reader *r, const struct sh_here *here, size_t i)
{
	while (here->strip_tabs && i < r->len && r->text[i] == '\t')
		i++;
	return i;
}

/* Whether the line at i is the delimiter; ret_next is the following line in any case. */
static bool is_delimiter(const struct sh_reader *r, const struct sh_here *here, size_t i, size_t *ret_next)
{
	size_t matched = 0;
	bool same = true;

	for (i = skip_tabs(r, here, i); i < r->len && r->text[i] != '\n'; i++) {
		if (joins(r, here, i)) {
			i++;
			continue;
		}
		same = same && matched < here->delimiter.len && r->text[i] == here->delimiter.data[matched++];
		/* a quoted byte, a backslash for example, cannot join */
		if (!here->redirection->verbatim && r->text[i] == '\\' && i + 1 < r->len && r->text[i + 1] != '\n') {
			i++;
			same = same && matched < here->delimiter.len && r->text[i] == here->delimiter.data[matched++];
		}
	}
	*ret_next = i < r->len ? i + 1 : i;
	return same && matched == here->delimiter.len;
}

/* The body from r->at to end without the tabs that lead its lines. */
static int strip(struct sh_reader *r, const struct sh_here *here, size_t end, struct bytes *ret_body)
{
	char *data = sh_take(r, end - r->at + 1);
	size_t len = 0, i = r->at, next;

	if (!data)
		return -ENOMEM;
	while (i < end) {
		(void)is_delimiter(r, here, i, &next);
		i = skip_tabs(r, here, i);
		memcpy(data + len, r->text + i, next - i);
		len += next - i;
		i = next;
	}
	*ret_body = (struct bytes){ data, len };
	return 0;
}

static int verbatim(struct sh_reader *r, struct bytes body, size_t at, struct shell_word **ret_word)
{
	struct shell_word *word = sh_take(r, sizeof(*word));
	char *data = sh_take(r, body.len + 1);

	if (!word || !data)
		return -ENOMEM;
	memcpy(data, body.data, body.len);
	*word = (struct shell_word){ .source = body, .offset = sh_offset(r, at), .quoted = true, .single = true,
				     .value = { data, body.len }, .prefix = { data, body.len } };
	*ret_word = word;
	return 0;
}

static int read_body(struct sh_reader *r, const struct sh_here *here)
{
	struct bytes body;
	size_t at = r->at, line = at, next = at;

	for (;;) {
		if (line >= r->len)
			return sh_problem(r, at, "a here-document is not ended");
		if (is_delimiter(r, here, line, &next))
			break;
		line = next;
	}
	body = (struct bytes){ r->text + at, line - at };
	if (here->strip_tabs)
		TRY(strip(r, here, line, &body));
	r->at = next;
	if (here->redirection->verbatim)
		return verbatim(r, body, at, &here->redirection->body);
	TRY(sh_nested(r, body, sh_offset(r, at), here->strip_tabs, sh_body_text));
	here->redirection->body = r->result;
	return 0;
}

int sh_here_documents(struct sh_reader *r)
{
	struct sh_scope scope = sh_scope(r);
	const struct sh_here *here = r->pending;

	r->pending = NULL;
	r->pending_tail = &r->pending;
	for (; here; here = here->next) {
		r->command = here->command;
		r->parent = here->command->parent;
		r->context = here->command->context;
		r->function = here->command->function;
		TRY(read_body(r, here));
	}
	sh_scope_return(r, &scope);
	return 0;
}
