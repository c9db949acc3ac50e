/* SPDX-License-Identifier: Apache-2.0 */
/* Readers of single values and of lists of texts. Each says what it expected. */
#include "supervisor/policy/document.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(const struct node *node)
{
	return err_set(node->document->error, -ENOMEM, "out of memory");
}

int read_text(const struct node *node, void *ret)
{
	const char *text = json_string_value(node->value);
	const unsigned char *c;
	char *copy;

	if (!text || !*text)
		return node_error(node, "expected a text that is not empty");
	for (c = (const unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			return node_error(node, "the text holds a control character");
	copy = pool_text(node->document->pool, text, strlen(text));
	if (!copy)
		return no_memory(node);
	*(const char **)ret = copy;
	return 0;
}

int read_bool(const struct node *node, void *ret)
{
	if (!json_is_boolean(node->value))
		return node_error(node, "expected true or false");
	*(bool *)ret = json_is_true(node->value);
	return 0;
}

static int read_number(const struct node *node, json_int_t least, json_int_t most, json_int_t *ret)
{
	if (!json_is_integer(node->value))
		return node_error(node, "expected a whole number");
	*ret = json_integer_value(node->value);
	if (*ret < least || *ret > most)
		return node_error(node, "expected a number from %lld to %lld", (long long)least, (long long)most);
	return 0;
}

int read_port(const struct node *node, void *ret)
{
	json_int_t number = 0;
	int r = read_number(node, 1, 65535, &number);

	if (r == 0)
		*(uint16_t *)ret = (uint16_t)number;
	return r;
}

int read_milliseconds(const struct node *node, void *ret)
{
	json_int_t number = 0;
	int r = read_number(node, 1, 3600000, &number);

	if (r == 0)
		*(unsigned *)ret = (unsigned)number;
	return r;
}

static int check_duplicate(const struct node *node, size_t index, const struct strings *before)
{
	struct node child = { .document = node->document, .up = node, .index = index };
	size_t i;

	child.value = json_array_get(node->value, index);
	for (i = 0; i < before->nr; i++)
		if (strcmp(before->items[i], json_string_value(child.value)) == 0)
			return node_error(&child, "\"%s\" stands here twice", before->items[i]);
	return 0;
}

int read_strings(const struct node *node, void *ret)
{
	struct strings *list = ret, read = { .line = node_origin(node).line };
	size_t i, nr = json_array_size(node->value);
	int r;

	if (!json_is_array(node->value))
		return node_error(node, "expected an array of texts");
	read.items = pool_take(node->document->pool, (nr + 1) * sizeof(*read.items));
	if (!read.items)
		return no_memory(node);
	for (i = 0; i < nr; i++) {
		struct node child = { .document = node->document, .up = node, .index = i };

		child.value = json_array_get(node->value, i);
		r = read_text(&child, &read.items[i]);
		if (r == 0)
			r = check_duplicate(node, i, &read);
		if (r < 0)
			return r;
		read.nr++;
	}
	*list = read;
	return 0;
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int read_names(const struct node *node, void *ret)
{
	struct names *names = ret, read = { .line = node_origin(node).line };
	struct pool *pool = node->document->pool;
	struct strings all;
	size_t i;
	int r = read_strings(node, &all);

	if (r < 0)
		return r;
	read.exact.items = pool_take(pool, (all.nr + 1) * sizeof(*read.exact.items));
	read.prefixes.items = pool_take(pool, (all.nr + 1) * sizeof(*read.prefixes.items));
	if (!read.exact.items || !read.prefixes.items)
		return no_memory(node);
	for (i = 0; i < all.nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };
		const char *star = strchr(all.items[i], '*');
		const char *prefix;

		if (!star) {
			read.exact.items[read.exact.nr++] = all.items[i];
			continue;
		}
		if (star == all.items[i] || star[1])
			return node_error(&child, "a \"*\" stands only at the end, after at least one character");
		prefix = pool_text(pool, all.items[i], (size_t)(star - all.items[i]));
		if (!prefix)
			return no_memory(node);
		read.prefixes.items[read.prefixes.nr++] = prefix;
	}
	qsort(read.exact.items, read.exact.nr, sizeof(*read.exact.items), compare_texts);
	*names = read;
	return 0;
}

int node_word(const struct node *node, const char *const *words, size_t nr_words, unsigned *ret_index)
{
	const char *text = json_string_value(node->value);
	char expected[320] = "";
	size_t i, used = 0;

	for (i = 0; text && i < nr_words; i++)
		if (strcmp(words[i], text) == 0) {
			*ret_index = (unsigned)i;
			return 0;
		}
	for (i = 0; i < nr_words && used < sizeof(expected); i++)
		used += (size_t)snprintf(expected + used, sizeof(expected) - used, "%s%s", i ? ", " : "", words[i]);
	return node_error(node, "expected one of: %s", expected);
}
