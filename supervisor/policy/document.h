/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One JSON file of the policy folder, read strictly: where each value stands, objects read by tables, errors with their place.
 *
 * jansson parses (no duplicate keys, UTF-8 only); it keeps no positions of values, so a locator walks the accepted text again to the
 * one that is at fault. One thread.
 */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/base/err.h"
#include "supervisor/policy/policy.h"
#include "supervisor/policy/pool.h"

#include <jansson.h>

struct places;		/* where the locator was last: see document.c */

struct document {
	const char *folder;	/* as the person wrote it: goes before file in errors */
	const char *file;	/* relative to the folder, owned by the pool */
	struct buf text;
	json_t *root;
	struct pool *pool;
	struct err *error;
	struct places *places;	/* of the pool */
};

struct node {			/* a value and the way to it; lives on the stack of whoever walks */
	const struct document *document;
	json_t *value;
	const struct node *up;	/* NULL for the root */
	const char *key;	/* NULL inside an array */
	size_t index;		/* among its siblings, in the order of the text */
};

/*
 * Parses text as the content of folder/file. Takes the buffer's content whatever happens. Returns 0, or -errno with error filled (which must live
 * as long as the document). document_close() also after a failure.
 */
int document_open(struct document *document, const char *folder, const char *file, struct buf *text, struct pool *pool,
		  struct err *error);
void document_close(struct document *document);
struct node document_root(const struct document *document);

struct origin node_origin(const struct node *node);
/* "rules[2].verdict"; "" for the root. Control characters of a key become "?". */
void node_key(const struct node *node, char *ret_path, size_t bytes);
/* Fills the error with the node's file, line, column and key path. Returns -EINVAL. */
int node_error(const struct node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads one value into ret; the type of ret is the reader's (see below). Returns 0 or -errno with the error filled. */
typedef int node_reader(const struct node *node, void *ret);

struct field {
	const char *key;
	node_reader *read;
	size_t offset;		/* of the member in the struct that ret points to */
	bool required;
};

/* An object with these keys and no others. */
int node_object(const struct node *node, const struct field *fields, size_t nr_fields, void *ret);
/* An array whose elements read() reads into new items of item_bytes at the end of *array. */
int node_array(const struct node *node, node_reader *read, void *array_pointer, size_t *nr, size_t item_bytes);

/* ret: const char **, text that is not empty and holds no control character */
node_reader read_text;
node_reader read_bool;		/* bool * */
node_reader read_port;		/* uint16_t *, 1…65535 */
node_reader read_milliseconds;	/* unsigned *, 1…3600000 */
node_reader read_strings;	/* struct strings *, no duplicates */
node_reader read_names;		/* struct names *, "NAME" or "PREFIX*" */

/* One word of a list of words, as its index. expected goes into the error: "a, b or c". */
int node_word(const struct node *node, const char *const *words, size_t nr_words, unsigned *ret_index);
