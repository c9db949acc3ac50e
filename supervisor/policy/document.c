/* SPDX-License-Identifier: Apache-2.0 */
/* Places and structure of a policy file: the locator, errors, objects and arrays. What single values mean is in values.c. */
#include "supervisor/policy/document.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- locator: the text was accepted by the parser, so these walk without checks of grammar, but never past the end ---- */

static size_t skip_blanks(const struct buf *text, size_t at)
{
	while (at < text->len && strchr(" \t\r\n", text->data[at]))
		at++;
	return at;
}

static size_t skip_string(const struct buf *text, size_t at)
{
	for (at++; at < text->len && text->data[at] != '"'; at++)
		if (text->data[at] == '\\')
			at++;
	return at + 1;
}

static size_t skip_value(const struct buf *text, size_t at)
{
	unsigned depth = 0;

	while (at < text->len) {
		char c = text->data[at];

		if (c == '"') {
			at = skip_string(text, at);
		} else if (c == '{' || c == '[') {
			depth++;
			at++;
		} else if (depth == 0 && strchr(",]} \t\r\n", c)) {
			return at;
		} else {
			depth -= c == '}' || c == ']';
			at++;
		}
		if (depth == 0 && (c == '"' || c == '}' || c == ']'))
			return at;
	}
	return at;
}

/* Files are read from their beginning to their end, and so are the places asked for: each level goes on from the sibling it found last. */
#define PLACES_LEVELS 12
struct places {
	struct {
		const json_t *parent;
		size_t index, at;	/* where the member begins, its key included */
	} level[PLACES_LEVELS];
	size_t offset;			/* the last one whose line was counted */
	unsigned line;
};

/* Offset of the node's value, or of its key. Siblings are counted, not compared: the parser keeps the order of the text. */
static size_t find_offset(const struct node *node, bool of_key, unsigned *ret_level)
{
	const struct buf *text = &node->document->text;
	struct places *places = node->document->places;
	size_t at, value, i = 0;
	unsigned level;

	*ret_level = 0;
	if (!node->up)
		return skip_blanks(text, 0);
	at = skip_blanks(text, find_offset(node->up, false, &level) + 1);
	*ret_level = level + 1;
	if (level < PLACES_LEVELS && places->level[level].parent == node->up->value && places->level[level].index <= node->index) {
		i = places->level[level].index;
		at = places->level[level].at;
	}
	for (;; i++) {
		value = node->key ? skip_blanks(text, skip_blanks(text, skip_string(text, at)) + 1) : at;
		if (i == node->index || value >= text->len)
			break;
		at = skip_blanks(text, skip_blanks(text, skip_value(text, value)) + 1);
	}
	if (level < PLACES_LEVELS) {
		places->level[level].parent = node->up->value;
		places->level[level].index = i;
		places->level[level].at = at;
	}
	return of_key ? at : value;
}

static size_t node_offset(const struct node *node, bool of_key)
{
	unsigned level;

	return find_offset(node, of_key, &level);
}

/* Lines and columns count from 1; a column is a character, not a byte. */
static void offset_place(const struct buf *text, size_t offset, unsigned *ret_line, unsigned *ret_column)
{
	unsigned line = 1, column = 1;
	size_t i;

	for (i = 0; i < offset && i < text->len; i++) {
		if (text->data[i] == '\n') {
			line++;
			column = 1;
		} else if (((unsigned char)text->data[i] & 0xc0) != 0x80) {
			column++;
		}
	}
	*ret_line = line;
	*ret_column = column;
}

/* ---- errors ---- */

static void name_file(const struct document *document)
{
	struct err *e = document->error;

	if (e)
		snprintf(e->file, sizeof(e->file), "%s/%s", document->folder, document->file);	/* cut when too long: for display only */
}

static void write_key_path(const struct node *node, char *path, size_t bytes)
{
	size_t used;

	if (!node->up) {
		path[0] = '\0';
		return;
	}
	write_key_path(node->up, path, bytes);
	used = strlen(path);
	if (node->key)
		snprintf(path + used, bytes - used, "%s%s", used ? "." : "", node->key);
	else
		snprintf(path + used, bytes - used, "[%zu]", node->index);
}

/* A key may hold anything that JSON can write. */
static void keep_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

void node_key(const struct node *node, char *ret_path, size_t bytes)
{
	write_key_path(node, ret_path, bytes);
	keep_printable(ret_path);
}

static int __attribute__((format(printf, 3, 0))) error_at(const struct node *node, bool of_key, const char *format, va_list arguments)
{
	struct err *e = node->document->error;
	char text[sizeof(e->text)];

	if (!e)
		return -EINVAL;
	vsnprintf(text, sizeof(text), format, arguments);
	err_set(e, 0, "%s", text);
	name_file(node->document);
	node_key(node, e->key, sizeof(e->key));
	offset_place(&node->document->text, node_offset(node, of_key), &e->line, &e->column);
	return -EINVAL;
}

int node_error(const struct node *node, const char *format, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = error_at(node, false, format, arguments);
	va_end(arguments);
	return r;
}

static int __attribute__((format(printf, 2, 3))) key_error(const struct node *node, const char *format, ...)
{
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = error_at(node, true, format, arguments);
	va_end(arguments);
	return r;
}

struct origin node_origin(const struct node *node)
{
	const struct buf *text = &node->document->text;
	struct places *places = node->document->places;
	size_t offset = node_offset(node, false), i;

	if (!places->line || offset < places->offset) {
		places->line = 1;
		places->offset = 0;
	}
	for (i = places->offset; i < offset && i < text->len; i++)
		places->line += text->data[i] == '\n';
	places->offset = offset;
	return (struct origin){ .file = node->document->file, .line = places->line };
}

/* ---- the document ---- */

/* jansson points behind the token it stumbled on; people look for its beginning, which its message quotes. */
static void syntax_error(const struct document *document, const json_error_t *found)
{
	struct err *e = document->error;
	const char *near = strstr(found->text, " near '");
	const char *end = strrchr(found->text, '\'');
	size_t offset = found->position > 0 ? (size_t)found->position : 0, token;

	if (!e)
		return;
	if (near && end > near + 7) {
		token = (size_t)(end - (near + 7));
		if (token <= offset && offset <= document->text.len &&
		    memcmp(document->text.data + offset - token, near + 7, token) == 0)
			offset -= token;
	}
	name_file(document);
	offset_place(&document->text, offset, &e->line, &e->column);
	err_set(e, 0, "not valid JSON: %s", found->text);
}

int document_open(struct document *document, const char *folder, const char *file, struct buf *text, struct pool *pool,
		  struct err *error)
{
	json_error_t found;

	*document = (struct document){ .folder = folder, .file = file, .text = *text, .pool = pool, .error = error };
	*text = (struct buf){ 0 };
	document->places = pool_take(pool, sizeof(*document->places));
	if (!document->places)
		return err_set(error, -ENOMEM, "out of memory");
	document->root = json_loadb(document->text.data, document->text.len, JSON_REJECT_DUPLICATES, &found);
	if (document->root)
		return 0;
	if (json_error_code(&found) == json_error_out_of_memory)
		return err_set(error, -ENOMEM, "out of memory");
	syntax_error(document, &found);
	return -EINVAL;
}

void document_close(struct document *document)
{
	json_decref(document->root);
	document->root = NULL;
	buf_free(&document->text);
}

struct node document_root(const struct document *document)
{
	return (struct node){ .document = document, .value = document->root };
}

/* ---- objects and arrays ---- */

static const struct field *find_field(const struct field *fields, size_t nr_fields, const char *key)
{
	size_t i;

	for (i = 0; i < nr_fields; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

static int unknown_key(const struct node *node, const struct field *fields, size_t nr_fields)
{
	char known[320] = "";
	size_t i, used = 0;

	for (i = 0; i < nr_fields && used < sizeof(known); i++)
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", fields[i].key);
	return key_error(node, "unknown key; expected one of: %s", known);
}

int node_object(const struct node *node, const struct field *fields, size_t nr_fields, void *ret)
{
	struct node child = { .document = node->document, .up = node };
	uint64_t seen = 0;
	size_t i;
	int r;

	if (!json_is_object(node->value))
		return node_error(node, "expected an object");
	json_object_foreach(node->value, child.key, child.value) {
		const struct field *field = find_field(fields, nr_fields, child.key);

		if (!field)
			return unknown_key(&child, fields, nr_fields);
		r = field->read(&child, (char *)ret + field->offset);
		if (r < 0)
			return r;
		seen |= 1ull << (field - fields);
		child.index++;
	}
	for (i = 0; i < nr_fields; i++)
		if (fields[i].required && !(seen & 1ull << i))
			return node_error(node, "the key \"%s\" is missing", fields[i].key);
	return 0;
}

int node_array(const struct node *node, node_reader *read, void *array_pointer, size_t *nr, size_t item_bytes)
{
	struct node child = { .document = node->document, .up = node };
	int r;

	if (!json_is_array(node->value))
		return node_error(node, "expected an array");
	json_array_foreach(node->value, child.index, child.value) {
		void *item = pool_push(node->document->pool, array_pointer, nr, item_bytes);

		if (!item)
			return err_set(node->document->error, -ENOMEM, "out of memory");
		r = read(&child, item);
		if (r < 0)
			return r;
	}
	return 0;
}
