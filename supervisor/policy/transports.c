/* SPDX-License-Identifier: Apache-2.0 */
/* transports/: the programs a host calls by name or by path, and the command lines it issues as templates of words and holes. */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <string.h>

/* Adds a list to what other transports have: what two of them call stands once. check() looks at each item. */
static int add_strings(const struct node *node, struct strings *all, int (*check)(const struct node *, const char *, const struct policy *),
		       const struct policy *policy)
{
	struct strings list, joined = { 0 };
	size_t i, j;
	int r = read_strings(node, &list);

	if (r < 0)
		return r;
	joined.items = pool_take(node->document->pool, (all->nr + list.nr + 1) * sizeof(*joined.items));
	if (!joined.items)
		return err_set(node->document->error, -ENOMEM, "out of memory");
	if (all->nr)
		memcpy(joined.items, all->items, all->nr * sizeof(*joined.items));
	joined.nr = all->nr;
	for (i = 0; i < list.nr; i++) {
		struct node child = {
			.document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i
		};

		r = check(&child, list.items[i], policy);
		if (r < 0)
			return r;
		for (j = 0; j < all->nr && strcmp(all->items[j], list.items[i]) != 0; j++)
			;
		if (j == all->nr)
			joined.items[joined.nr++] = list.items[i];
	}
	*all = joined;
	return 0;
}

static int check_name(const struct node *node, const char *name, const struct policy *policy)
{
	(void)policy;
	return strchr(name, '/') ? node_error(node, "expected a program's name without \"/\"") : 0;
}

static int read_entry_names(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return add_strings(node, &policy->entry_names, check_name, policy);
}

/* Whether path lies in a folder below one of the roots, not in the root itself: hosts see another folder in its place. */
static bool is_in_folder_below(const char *path, const struct strings *roots)
{
	size_t i, len;

	for (i = 0; i < roots->nr; i++) {
		len = strlen(roots->items[i]);
		if (path_is_under(path, roots->items[i]) && path[len] && strchr(path + len + 1, '/'))
			return true;
	}
	return false;
}

/* paths.json is read before transports/. */
static int check_entry_path(const struct node *node, const char *path, const struct policy *policy)
{
	const char *read;
	int r = read_path(node, &read);

	if (r < 0)
		return r;
	if (path[0] != '/' || !path[1])
		return node_error(node, "expected an absolute path");
	if (!is_in_folder_below(path, &policy->paths.write) && !is_in_folder_below(path, &policy->paths.allowed_roots))
		return node_error(node, "expected a program in a folder below one of \"write\" or \"allowed_roots\" of paths.json (and not below \"~\")");
	return 0;
}

static int read_entry_paths(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return add_strings(node, &policy->entry_paths, check_entry_path, policy);
}

/* ---- words ---- */

/* Part of a command line: unlike names, it may be empty and hold tabs and ends of lines. */
static int read_literal(const struct node *node, void *ret)
{
	const char *text = json_string_value(node->value), *c;
	char *copy;

	if (!text || strlen(text) != json_string_length(node->value))
		return node_error(node, "expected a text");
	for (c = text; *c; c++)
		if ((*(const unsigned char *)c < 0x20 && *c != '\t' && *c != '\n') || *c == 0x7f)
			return node_error(node, "the text holds a control character");
	copy = pool_text(node->document->pool, text, strlen(text));
	if (!copy)
		return err_set(node->document->error, -ENOMEM, "out of memory");
	*(const char **)ret = copy;
	return 0;
}

/* "rest" is no hole of its own: it stands for the words that follow. */
#define HOLE_REST ((enum hole)(HOLE_SHA256 + 1))

static int read_hole_kind(const struct node *node, void *ret)
{
	static const char *const words[] = {
		"text", "quoted", "number", "name", "uuid_name", "path", "sha256", "rest",
	};
	static const enum hole holes[] = {
		HOLE_TEXT, HOLE_QUOTED, HOLE_NUMBER, HOLE_NAME, HOLE_UUID_NAME, HOLE_PATH, HOLE_SHA256, HOLE_REST,
	};
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(enum hole *)ret = holes[i];
	return r;
}

static int read_digests(const struct node *node, void *ret)
{
	struct strings *list = ret;
	size_t i;
	int r = read_strings(node, ret);

	for (i = 0; r == 0 && i < list->nr; i++) {
		struct node child = {
			.document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i
		};

		if (strlen(list->items[i]) != 64 || strspn(list->items[i], "0123456789abcdef") != 64)
			r = node_error(&child, "expected a SHA-256 as 64 lower-case hex digits");
	}
	return r;
}

struct word_reading {
	struct word_pattern word;
	struct strings under, digests;
};

static int check_hole(const struct node *node, const struct word_reading *reading)
{
	const struct word_pattern *word = &reading->word;

	if ((word->hole == HOLE_PATH) != (reading->under.nr > 0))
		return node_error(node, "\"under\" belongs to a \"path\", and every path has one");
	if ((word->hole == HOLE_SHA256) != (reading->digests.nr > 0))
		return node_error(node, "\"digests\" belong to a \"sha256\", and every sha256 has one");
	if (word->hole == HOLE_REST && (*word->before || *word->after))
		return node_error(node, "\"rest\" stands for whole words");
	return 0;
}

/* "text": the word itself; an object: a hole with what stands before and after it. */
static int read_word(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct word_reading, name)
	static const struct field fields[] = {
		{ "is", read_hole_kind, MEMBER(word.hole), true },    { "before", read_literal, MEMBER(word.before), false },
		{ "after", read_literal, MEMBER(word.after), false }, { "under", read_paths, MEMBER(under), false },
		{ "digests", read_digests, MEMBER(digests), false },
	};
#undef MEMBER
	struct word_reading reading = { .word = { .before = "", .after = "" } };
	int r;

	if (json_is_string(node->value)) {
		r = read_literal(node, &reading.word.before);
	} else {
		r = node_object(node, fields, ARRAY_SIZE(fields), &reading);
		if (r == 0)
			r = check_hole(node, &reading);
		reading.word.list = reading.under.nr ? reading.under : reading.digests;
	}
	*(struct word_pattern *)ret = reading.word;
	return r;
}

static int read_argv(const struct node *node, void *ret)
{
	struct argv_pattern *pattern = ret;
	size_t i;
	int r = node_array(node, read_word, &pattern->words, &pattern->nr, sizeof(*pattern->words));

	if (r < 0)
		return r;
	if (pattern->nr && pattern->words[pattern->nr - 1].hole == HOLE_REST) {
		pattern->rest = true;
		pattern->nr--;
	}
	for (i = 0; i < pattern->nr; i++) {
		struct node child = {
			.document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i
		};

		if (pattern->words[i].hole == HOLE_REST)
			return node_error(&child, "\"rest\" stands only at the end");
	}
	/* A program that may be any is no template. */
	if (!pattern->nr || pattern->words[0].hole != HOLE_NONE || !*pattern->words[0].before)
		return node_error(node, "expected an array that begins with the name of a program");
	return 0;
}

/* ---- templates ---- */

static int read_kind(const struct node *node, void *ret)
{
	static const char *const words[] = { "housekeeping", "wrap" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(bool *)ret = i == 1;
	return r;
}

static int read_runs(const struct node *node, void *ret)
{
	struct transport *transport = ret;

	return node_array(node, read_argv, &transport->runs, &transport->nr_runs, sizeof(*transport->runs));
}

static int check_template(const struct node *node, const struct policy *policy, const struct transport *transport)
{
	size_t i;

	if (transport->wrap && !transport->argv.rest)
		return node_error(node, "a \"wrap\" ends with { \"is\": \"rest\" }: the command it wraps");
	for (i = 0; &policy->transports[i] < transport; i++)
		if (strcmp(policy->transports[i].id, transport->id) == 0)
			return node_error(node, "the id \"%s\" is taken by %s:%u", transport->id,
					  policy->transports[i].origin.file, policy->transports[i].origin.line);
	return 0;
}

static int read_template(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct transport, name)
	static const struct field fields[] = {
		{ "id", read_text, MEMBER(id), true },	   { "kind", read_kind, MEMBER(wrap), true },
		{ "argv", read_argv, MEMBER(argv), true }, { "runs", read_runs, 0, false },
		{ "why", read_text, MEMBER(why), true },
	};
#undef MEMBER

	((struct transport *)ret)->origin = node_origin(node);
	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_templates(const struct node *node, void *ret)
{
	struct policy *policy = ret;
	size_t first = policy->nr_transports, i;
	int r = node_array(node, read_template, &policy->transports, &policy->nr_transports, sizeof(*policy->transports));

	for (i = first; r == 0 && i < policy->nr_transports; i++) {
		struct node child = { .document = node->document,
				      .value = json_array_get(node->value, i - first),
				      .up = node,
				      .index = i - first };

		r = check_template(&child, policy, &policy->transports[i]);
	}
	return r;
}

int section_transport(const struct node *root, struct policy *policy)
{
	static const struct field fields[] = {
		{ "entry_names", read_entry_names, 0, true },
		{ "entry_paths", read_entry_paths, 0, false },
		{ "templates", read_templates, 0, false },
	};

	return node_object(root, fields, ARRAY_SIZE(fields), policy);
}
