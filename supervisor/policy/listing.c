/* SPDX-License-Identifier: Apache-2.0 */
/* policy_list(): the values of a policy folder with their places, as the files have them. One thread. */
#include "supervisor/policy/policy.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/policy/document.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_MAX_BYTES 512
#define FILE_LIMIT_BYTES (4u << 20)

struct listing {
	policy_lister *list;
	void *context;
	struct err *error;
};

static bool is_simple(const json_t *value)
{
	size_t i;

	for (i = 0; json_is_array(value) && i < json_array_size(value); i++)
		if (json_is_object(json_array_get(value, i)) || json_is_array(json_array_get(value, i)))
			return false;
	return !json_is_object(value) || json_object_size(value) == 0;
}

static int tell(const struct listing *l, const struct node *node)
{
	const struct origin origin = node_origin(node);
	_cleanup_free_ char *value = json_dumps(node->value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	char key[KEY_MAX_BYTES];

	if (!value)
		return err_set(l->error, -ENOMEM, "out of memory");
	node_key(node, key, sizeof(key));
	return l->list(l->context, &origin, key, value);
}

static int walk(const struct listing *l, const struct node *node)
{
	struct node child = { .document = node->document, .up = node };
	int r = 0;

	if (is_simple(node->value))
		return tell(l, node);
	if (json_is_array(node->value)) {
		for (; r == 0 && child.index < json_array_size(node->value); child.index++) {
			child.value = json_array_get(node->value, child.index);
			r = walk(l, &child);
		}
		return r;
	}
	json_object_foreach(node->value, child.key, child.value) {
		r = walk(l, &child);
		if (r)
			return r;
		child.index++;
	}
	return 0;
}

static int read_file(const char *dir, const char *file, struct buf *ret_text, struct err *error)
{
	char path[PATH_MAX];
	_cleanup_close_ int fd = -1;
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", dir, file) >= sizeof(path))
		return err_set(error, -ENAMETOOLONG, "%s: the path is too long", file);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	r = fd < 0 ? -errno : io_read_all(fd, FILE_LIMIT_BYTES, ret_text);
	return r < 0 ? err_set(error, r, "%s: %s", path, strerror(-r)) : 0;
}

int policy_list(const struct policy *policy, policy_lister *list, void *context, struct err *ret_error)
{
	const struct listing listing = { list, context, ret_error };
	struct pool pool = { 0 };
	size_t i;
	int r = 0;

	for (i = 0; r == 0 && i < policy->files.nr; i++) {
		struct document document = { 0 };
		struct buf text = { 0 };

		r = read_file(policy->dir, policy->files.items[i], &text, ret_error);
		if (r == 0)
			r = document_open(&document, policy->dir, policy->files.items[i], &text, &pool, ret_error);
		if (r == 0) {
			const struct node root = document_root(&document);

			r = walk(&listing, &root);
		}
		document_close(&document);
		buf_free(&text);
	}
	pool_free(&pool);
	return r;
}
