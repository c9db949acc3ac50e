/* SPDX-License-Identifier: Apache-2.0 */
/* Case files, line by line: tab-separated columns, comments that declare a scope or a working folder, escapes in actions. */
#include "supervisor/cli/cases.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/cli/question.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS_MIN 4

struct reader {
	const char *file;
	unsigned line;
	struct scope scope;
	char *cwd;		/* owned */
	struct err *error;
};

static int __attribute__((format(printf, 2, 3))) fault(const struct reader *r, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (r->error) {
		snprintf(r->error->file, sizeof(r->error->file), "%s", r->file);
		r->error->line = r->line;
		r->error->column = 0;
		r->error->key[0] = '\0';
	}
	return err_set(r->error, -EINVAL, "%s", text);
}

/* Whether one of the words between "|" is this. */
static bool holds_word(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; list; list = strchr(list, '|') ? strchr(list, '|') + 1 : NULL)
		if (strncmp(list, word, len) == 0 && (list[len] == '\0' || list[len] == '|'))
			return true;
	return false;
}

bool case_wants(const struct decision_case *c, enum verdict verdict)
{
	return holds_word(c->wanted, verdict_name(verdict));
}

static bool is_wanted(const char *list)
{
	for (;;) {
		size_t len = strcspn(list, "|");

		if (!(len == 5 && strncmp(list, "allow", len) == 0) && !(len == 6 && strncmp(list, "review", len) == 0) &&
		    !(len == 4 && strncmp(list, "deny", len) == 0))
			return false;
		if (!list[len])
			return true;
		list += len + 1;
	}
}

/* "# anything; scope = a.test, 10.0.0.0/8; cwd = /workspace/app;" holds for the lines after it. */
static char *declared(const char *comment, const char *name)
{
	const char *from = strstr(comment, name), *end;

	if (!from)
		return NULL;
	from += strlen(name);
	end = strchr(from, ';');
	return end ? strndup(from, (size_t)(end - from)) : NULL;
}

static int read_comment(struct reader *r, const char *line)
{
	_cleanup_free_ char *scope = declared(line, "scope = "), *cwd = declared(line, "cwd = ");
	struct scope parsed;
	struct err e = { 0 };

	if (cwd) {
		if (*cwd != '/')
			return fault(r, "the working folder has to be an absolute path");
		free(r->cwd);
		r->cwd = TAKE_PTR(cwd);
	}
	if (!scope)
		return 0;
	if (scope_parse(scope, &parsed, &e) < 0)
		return fault(r, "scope: %s", e.text);
	scope_free(&r->scope);
	r->scope = parsed;
	return 0;
}

/* \\ \n \t \r \xHH, in place; everything else is literal. False: a NUL, which no command line holds. */
static bool unescape(char *text)
{
	static const char letters[] = "\\ntr", bytes[] = "\\\n\t\r";
	char *to = text;

	while (*text) {
		const char *letter = text[0] == '\\' && text[1] ? strchr(letters, text[1]) : NULL;

		if (letter) {
			*to++ = bytes[letter - letters];
			text += 2;
		} else if (text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) && isxdigit((unsigned char)text[3])) {
			const char hex[] = { text[2], text[3], '\0' };

			*to = (char)strtoul(hex, NULL, 16);
			if (!*to++)
				return false;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
	return true;
}

static int read_case(struct reader *r, char *line, case_taker *take, void *context)
{
	struct decision_case c = { .file = r->file, .line = r->line, .scope = &r->scope, .cwd = r->cwd, .why = "" };
	char *columns[COLUMNS_MIN + 1] = { NULL }, *argument;
	_cleanup_free_ char *action = NULL;
	struct err e = { 0 };
	unsigned nr = 0;

	while (nr <= COLUMNS_MIN && (columns[nr] = strsep(&line, "\t")))
		nr++;
	if (nr < COLUMNS_MIN)
		return fault(r, "expected mode, kind, action and verdict, with tabs between them");
	if (mode_parse(columns[0], &c.mode, &e) < 0)
		return fault(r, "mode: %s", e.text);
	c.kind = columns[1];
	c.action = columns[2];
	c.wanted = columns[3];
	if (columns[4])
		c.why = columns[4];
	if (question_kind(c.kind) == QUESTION_COUNT)
		return fault(r, "unknown kind \"%s\"", c.kind);
	if (!is_wanted(c.wanted))
		return fault(r, "the verdict is not allow, review or deny, nor some of them with \"|\" between");
	action = strdup(c.action);
	if (!action)
		return err_set(r->error, -ENOMEM, "out of memory");
	if (!unescape(action))
		return fault(r, "the action holds a NUL");
	c.words[0] = c.kind;
	argument = action;
	if (question_kind(c.kind) == QUESTION_HTTP && strchr(action, ' ')) {
		argument = strchr(action, ' ');
		*argument++ = '\0';
		c.words[1] = action;
	}
	c.words[c.words[1] ? 2 : 1] = argument;
	return take(context, &c);
}

int cases_read(const char *file, case_taker *take, void *context, struct err *ret_error)
{
	struct reader r = { .file = file, .error = ret_error };
	FILE *from = fopen(file, "re");
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0;
	ssize_t len;
	int result = 0;

	if (!from)
		return err_set(ret_error, -errno, "%s: %s", file, strerror(errno));
	while (result == 0 && (len = getline(&line, &bytes, from)) >= 0) {
		r.line++;
		if (len && line[len - 1] == '\n')
			line[--len] = '\0';
		if (strlen(line) != (size_t)len)
			result = fault(&r, "the line holds a NUL");
		else if (line[0] == '#')
			result = read_comment(&r, line);
		else if (line[strspn(line, " \t")])
			result = read_case(&r, line, take, context);
	}
	if (result == 0 && ferror(from))
		result = err_set(ret_error, -EIO, "%s: %s", file, strerror(errno));
	fclose(from);
	scope_free(&r.scope);
	free(r.cwd);
	return result;
}
