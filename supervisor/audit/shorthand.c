/* SPDX-License-Identifier: Apache-2.0 */
/* Records for people. Tolerant: a member that is missing or of another type leaves a gap, never an error. */
#include "supervisor/audit/shorthand.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIELD_MAX 240u		/* bytes of one value */
#define LINE_MAX_BYTES 1500u	/* a pipe takes it whole */

/* ---- text ---- */

static void put_plain(struct buf *b, struct bytes rest, size_t max)
{
	size_t start = b->len;

	while (rest.len) {
		uint32_t point = 0;
		unsigned len = text_decode(rest, &point);

		if (b->len - start >= max) {
			buf_text(b, "...");
			return;
		}
		if (len && text_is_plain(point))
			buf_append(b, rest.data, len);
		else if (len)
			buf_format(b, "\\u{%" PRIx32 "}", point);
		else
			buf_format(b, "\\x%02x", (unsigned char)rest.data[0]);
		rest.data += len ? len : 1;
		rest.len -= len ? len : 1;
	}
}

static void put_text(struct buf *b, const char *text)
{
	if (text)
		put_plain(b, bytes_of(text), FIELD_MAX);
}

static void put_value(struct buf *b, const json_t *value)
{
	_cleanup_free_ char *dump = NULL;

	if (json_is_string(value)) {
		put_text(b, json_string_value(value));
		return;
	}
	dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	put_text(b, dump);
}

static const char *text_at(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* A command line: elements with blanks in quotes, so that one element does not read as two. */
static void put_argv(struct buf *b, const json_t *argv, size_t first)
{
	size_t start = b->len;

	for (size_t i = first; i < json_array_size(argv); i++) {
		const char *text = json_string_value(json_array_get(argv, i));
		bool quote = text && (!*text || strpbrk(text, " \t'\"\\$&|;<>()*?"));

		if (b->len - start > FIELD_MAX) {
			buf_text(b, " ...");
			return;
		}
		buf_text(b, i > first ? " " : "");
		buf_text(b, quote ? "'" : "");
		put_text(b, text ? text : "?");
		buf_text(b, quote ? "'" : "");
	}
}

/* ---- what a call is about ---- */

/* "path": "/x" or {"path","resolved","writes"} */
static bool put_path(struct buf *b, const json_t *sys)
{
	const json_t *path = json_object_get(sys, "path"), *writes;
	const char *name = text_at(path, "resolved");

	if (!path)
		return false;
	writes = json_object_get(json_is_object(path) ? path : sys, "writes");
	if (writes)
		buf_text(b, json_is_true(writes) ? "W " : "R ");
	if (!name)
		name = json_is_string(path) ? json_string_value(path) : text_at(path, "path");
	put_text(b, name ? name : "?");
	return true;
}

/* "exec": {"path","resolved","argv"} or "/path"; the file that runs, and its arguments without the zeroth. */
static bool put_exec(struct buf *b, const json_t *sys)
{
	const json_t *exec = json_object_get(sys, "exec"), *argv = json_object_get(exec, "argv");
	const char *name = json_is_string(exec) ? json_string_value(exec) : text_at(exec, "resolved");

	if (!exec)
		return false;
	if (!name)
		name = text_at(exec, "path");
	buf_text(b, "X ");
	put_text(b, name ? name : "?");
	if (json_array_size(argv) > 1) {
		buf_char(b, ' ');
		put_argv(b, argv, 1);
	}
	return true;
}

/* "sock": {"family","addr","port"} or {"family","path"} */
static bool put_sock(struct buf *b, const json_t *sys)
{
	const json_t *sock = json_object_get(sys, "sock"), *port = json_object_get(sock, "port");
	const char *address = text_at(sock, "addr");

	if (!sock)
		return false;
	if (!address)
		address = text_at(sock, "path");
	if (!address) {
		put_value(b, json_object_get(sock, "family") ? json_object_get(sock, "family") : sock);
		return true;
	}
	buf_text(b, port && strchr(address, ':') ? "[" : "");
	put_text(b, address);
	buf_text(b, port && strchr(address, ':') ? "]" : "");
	if (port) {
		buf_char(b, ':');
		put_value(b, port);
	}
	return true;
}

/* The first member of sys that is none of the known ones: signals, mounts, whatever comes later. */
static void put_other(struct buf *b, json_t *sys)
{
	static const char *const known[] = { "nr", "name", "args", "arch", "op" };
	const char *key;
	json_t *value;
	bool first = true;

	json_object_foreach(sys, key, value) {
		bool skip = false;

		for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
			skip = skip || strcmp(key, known[i]) == 0;
		if (skip)
			continue;
		buf_text(b, first ? "" : " ");
		put_text(b, key);
		buf_char(b, '=');
		put_value(b, value);
		first = false;
	}
}

static void put_process(struct buf *b, const json_t *proc)
{
	const json_t *exe = json_object_get(proc, "exe");
	const char *name = json_is_string(exe) ? json_string_value(exe) : text_at(exe, "path");

	if (!name)
		name = text_at(proc, "comm");
	put_text(b, name ? path_base(name) : "?");
	if (json_object_get(proc, "pid"))
		buf_format(b, "(%" JSON_INTEGER_FORMAT ")", json_integer_value(json_object_get(proc, "pid")));
}

/* ---- the line ---- */

static void put_context(struct buf *b, const char *label, const json_t *value)
{
	if (!value || json_is_null(value) || (json_is_string(value) && !*json_string_value(value)))
		return;
	if (b->data[b->len - 1] != '[')
		buf_char(b, ' ');
	buf_text(b, label);
	put_value(b, value);
}

static void put_brackets(struct buf *b, const json_t *root)
{
	const json_t *error = json_object_get(root, "errno"), *rule = json_object_get(json_object_get(root, "rule"), "id");
	size_t start = b->len;

	buf_text(b, "  [");
	put_context(b, "", rule ? rule : json_object_get(root, "tag"));
	if (json_is_integer(error) && json_integer_value(error) > 0 && json_integer_value(error) < 4096) {
		const char *name = strerrorname_np((int)json_integer_value(error));

		buf_format(b, "%s%s", b->data[b->len - 1] == '[' ? "" : " ", name ? name : "E?");
	} else if (json_is_string(error)) {
		put_context(b, "", error);
	}
	put_context(b, "launch:", json_object_get(root, "launch"));
	put_context(b, "agent:", json_object_get(root, "agent"));
	if (json_object_get(root, "shadow"))
		put_context(b, "shadow:", text_at(json_object_get(root, "shadow"), "decision") ?
			    json_object_get(json_object_get(root, "shadow"), "decision") : json_object_get(root, "shadow"));
	put_context(b, "repeated:", json_object_get(json_object_get(root, "agg"), "count"));
	if (json_is_true(json_object_get(root, "unreviewed")))
		buf_text(b, b->data[b->len - 1] == '[' ? "unreviewed" : " unreviewed");
	if (b->data[b->len - 1] == '[')
		b->len = start;		/* nothing to say */
	else
		buf_char(b, ']');
}

static void put_pair(struct buf *b, const json_t *root, const char *key)
{
	const json_t *value = json_object_get(root, key);

	if (!value || json_is_null(value))
		return;
	buf_text(b, key);
	buf_char(b, '=');
	put_value(b, value);
	buf_char(b, ' ');
}

static void put_begin(struct buf *b, const json_t *root)
{
	const json_t *argv = json_object_get(root, "argv");

	put_pair(b, root, "agent");
	put_pair(b, root, "mode");
	put_pair(b, root, "uid");
	put_text(b, text_at(root, "cwd"));
	buf_text(b, "$ ");
	put_argv(b, argv, 0);
}

/* Whatever the envelope does not have, in the record's order. */
static void put_members(struct buf *b, json_t *root, const char *const *skip)
{
	static const char *const envelope[] = { "v", "seq", "ts", "mono_us", "run", "boot", "type", "sev", "prev", NULL };
	const char *key;
	json_t *value;
	bool first = true;

	json_object_foreach(root, key, value) {
		bool known = false;

		for (const char *const *k = envelope; *k; k++)
			known = known || strcmp(key, *k) == 0;
		for (const char *const *k = skip; *k; k++)
			known = known || strcmp(key, *k) == 0;
		if (known)
			continue;
		buf_text(b, first ? "" : " ");
		put_text(b, key);
		buf_char(b, '=');
		put_value(b, value);
		first = false;
	}
}

/* proc -> object  [context] */
static void put_call(struct buf *b, const json_t *root)
{
	json_t *sys = json_object_get(root, "sys");
	size_t before;

	put_process(b, json_object_get(root, "proc"));
	before = b->len;
	buf_text(b, " -> ");
	if (!put_exec(b, sys) && !put_path(b, sys) && !put_sock(b, sys)) {
		size_t empty = b->len;

		put_other(b, sys);
		if (b->len == empty)
			b->len = before;
	}
}

/* A decision: about a call, about a launch, or about something else. */
static void put_decision(struct buf *b, json_t *root)
{
	static const char *const elsewhere[] = { "decision", "mode",  "errno", "rule",	 "tag",	       "launch",
						 "agent",    "hint",  "shadow", "unreviewed", NULL };

	if (json_object_get(root, "sys")) {
		put_call(b, root);
	} else if (json_object_get(root, "argv")) {
		put_text(b, text_at(root, "cwd"));
		buf_text(b, "$ ");
		put_argv(b, json_object_get(root, "argv"), 0);
	} else {
		put_members(b, root, elsewhere);
	}
	put_brackets(b, root);
}

/* The word of the third column, and its colour. */
static const char *word_of(const struct record *r, const char **ret_colour)
{
	static const struct {
		const char *name, *word, *colour;
	} words[] = {
		{ "deny", "DENY", "\033[31m" },	     { "kill", "KILL", "\033[31;1m" },	{ "fail", "FAIL", "\033[33m" },
		{ "review", "REVIEW", "\033[33m" },
		{ "allow", "ALLOW", "\033[32m" },    { "emulate", "EMUL", "\033[32m" }, { "observe", "WATCH", "" },
		{ "cmd_begin", "RUN", "\033[36m" },  { "cmd_end", "END", "\033[36m" },	{ "anchor", "ANCHOR", "\033[2m" },
		{ "seal", "SEAL", "\033[2m" },	     { "audit_drop", "LOST", "\033[31;1m" },
	};
	const char *name = text_at(r->root, "decision");

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].name, name ? name : r->type) != 0)
			continue;
		*ret_colour = words[i].colour;
		return words[i].word;
	}
	*ret_colour = "";
	return name ? "OTHER" : "NOTE";
}

/* HH:MM:SS.mmm of the time stamp. */
static void put_clock(struct buf *b, const char *ts)
{
	char clock[13] = "??:??:??.???";

	if (strlen(ts) >= 23 && ts[10] == 'T')
		memcpy(clock, ts + 11, 12);
	put_text(b, clock);
}

static void put_cell(struct buf *b, const char *text, size_t width, const char *colour)
{
	size_t start;

	buf_text(b, colour);
	start = b->len;
	put_text(b, text);
	while (b->len - start < width && !b->failed)
		buf_char(b, ' ');
	buf_text(b, *colour ? "\033[0m " : " ");
}

static void put_columns(struct buf *b, const struct record *r, const char *what, bool colour)
{
	bool loud = strcmp(r->severity, "high") == 0 || strcmp(r->severity, "crit") == 0;
	const char *on, *word = word_of(r, &on);
	char number[32];

	snprintf(number, sizeof(number), "#%" PRIu64, r->seq);
	put_clock(b, r->ts);
	buf_char(b, ' ');
	put_cell(b, number, 7, "");
	put_cell(b, word, 6, colour ? on : "");
	put_cell(b, r->severity, 4, colour && loud ? "\033[1m" : "");
	put_cell(b, what, 9, "");
}

/* Cut to what a pipe takes whole, never inside a character; no blanks at the end. */
static void finish(struct buf *b, size_t start)
{
	if (b->len - start > LINE_MAX_BYTES) {
		b->len = start + LINE_MAX_BYTES;
		while (((unsigned char)b->data[b->len] & 0xc0) == 0x80)
			b->len--;
		buf_text(b, "...");
	}
	while (b->len > start && b->data[b->len - 1] == ' ')
		b->len--;
	b->data[b->len] = '\0';
}

void shorthand_format(struct buf *line, const struct record *r, bool colour)
{
	static const char *const none[] = { NULL }, *const launch[] = { "launch", NULL }, *const head[] = { "head", NULL };
	const json_t *id = json_object_get(r->root, "launch"), *of = json_object_get(r->root, "head");
	_cleanup_buf_ struct buf what = { 0 };
	size_t start = line->len;

	buf_append(line, "", 0);
	if (line->failed)
		return;
	if (json_object_get(r->root, "decision")) {
		const char *name = text_at(json_object_get(r->root, "sys"), "name");

		put_columns(line, r, name ? name : r->type, colour);
		put_decision(line, r->root);
	} else if (strncmp(r->type, "cmd_", 4) == 0 && id) {
		buf_text(&what, "launch:");
		put_value(&what, id);
		put_columns(line, r, what.failed ? r->type : what.data, colour);
		if (strcmp(r->type, "cmd_begin") == 0)
			put_begin(line, r->root);
		else
			put_members(line, r->root, launch);
	} else if (of) {
		put_columns(line, r, r->type, colour);
		put_pair(line, of, "seq");
		put_pair(line, of, "hash");
		put_members(line, r->root, head);
	} else {
		put_columns(line, r, r->type, colour);
		put_members(line, r->root, none);
	}
	finish(line, start);
}

void shorthand_raw(struct buf *line, struct bytes text)
{
	put_plain(line, text, SIZE_MAX);
}
