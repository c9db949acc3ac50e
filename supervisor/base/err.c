/* SPDX-License-Identifier: Apache-2.0 */
/* Error values for people. Pure; any thread. Whatever was formatted in, the text stays one line without control characters. */
#include "supervisor/base/err.h"

#include <stdio.h>
#include <string.h>

/* A file name from an agent may hold a newline or an escape sequence: neither may reach a log or a terminal. */
static void keep_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

int err_set(struct err *e, int number, const char *format, ...)
{
	va_list arguments;

	if (!e)
		return number;
	va_start(arguments, format);
	vsnprintf(e->text, sizeof(e->text), format, arguments);
	va_end(arguments);
	keep_one_line(e->text);
	return number;
}

int err_prefix(struct err *e, int number, const char *format, ...)
{
	char old[sizeof(e->text)];
	size_t used;
	va_list arguments;

	if (!e)
		return number;
	memcpy(old, e->text, sizeof(old));
	va_start(arguments, format);
	vsnprintf(e->text, sizeof(e->text), format, arguments);
	va_end(arguments);
	used = strlen(e->text);
	snprintf(e->text + used, sizeof(e->text) - used, ": %s", old);
	keep_one_line(e->text);
	return number;
}

void err_format(const struct err *e, char *ret_line, unsigned line_bytes)
{
	char place[64] = "";

	if (line_bytes == 0)
		return;
	if (e->line && e->column)
		snprintf(place, sizeof(place), ":%u:%u", e->line, e->column);
	else if (e->line)
		snprintf(place, sizeof(place), ":%u", e->line);
	snprintf(ret_line, line_bytes, "%s%s%s%s%s%s", e->file, e->file[0] ? place : "", e->file[0] ? ": " : "",
		 e->key, e->key[0] ? ": " : "", e->text);
}
