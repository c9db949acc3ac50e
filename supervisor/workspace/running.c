/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/running.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNNING "workspaces.json"
#define RUNNING_NEW "workspaces.new"
#define RUNNING_BYTES_MAX (64u << 20)

static int take(json_t *document, struct running *ret)
{
	ret->path = json_string_value(json_object_get(document, "path"));
	ret->source = json_string_value(json_object_get(document, "source"));
	ret->changed = json_string_value(json_object_get(document, "changed"));
	ret->fresh = json_is_true(json_object_get(document, "fresh"));
	return ret->path && ret->source ? state_take(&ret->workspace, document) : -EBADMSG;
}

static int take_all(struct running_list *list)
{
	size_t nr = json_array_size(list->document);
	int r = 0;

	if (!json_is_array((json_t *)list->document))
		return -EBADMSG;
	list->items = calloc(nr + 1, sizeof(*list->items));
	if (!list->items)
		return -ENOMEM;
	while (r == 0 && list->nr < nr) {
		r = take(json_array_get(list->document, list->nr), &list->items[list->nr]);
		list->nr++;	/* also a half one is freed */
	}
	return r;
}

int running_read(const char *run_dir, struct running_list *ret, struct err *ret_error)
{
	_cleanup_close_ int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_buf_ struct buf text = { 0 };
	int r = dir < 0 ? -errno : io_read_file(dir, RUNNING, RUNNING_BYTES_MAX, &text);

	*ret = (struct running_list){ 0 };
	if (r == -ENOENT)
		return 0;
	if (r == 0) {
		ret->document = json_loadb(text.data, text.len, 0, NULL);
		ret->text = TAKE_PTR(text.data);
		r = take_all(ret);
	}
	if (r < 0)
		running_free(ret);
	return r < 0 ? err_set(ret_error, r, "%s/%s: %s", run_dir, RUNNING, strerror(-r)) : 0;
}

void running_free(struct running_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		workspace_free(&list->items[i].workspace);
	free(list->items);
	free(list->text);
	json_decref(list->document);
	*list = (struct running_list){ 0 };
}

static void put(struct json_out *j, const struct running *running)
{
	json_object_begin(j, NULL);
	json_text(j, "path", running->path);
	json_text(j, "source", running->source);
	if (running->changed)
		json_bytes(j, "changed", bytes_of(running->changed));
	json_bool(j, "fresh", running->fresh);
	state_put(j, &running->workspace);
	json_object_end(j);
}

int running_write(int run_dir, const struct running *items, size_t nr)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };
	_cleanup_close_ int fd = openat(run_dir, RUNNING_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : 0;

	json_array_begin(&j, NULL);
	for (size_t i = 0; i < nr; i++)
		put(&j, &items[i]);
	json_array_end(&j);
	if (r == 0 && text.failed)
		r = -ENOMEM;
	if (r == 0)
		r = io_write_all(fd, text.data, text.len);
	return r < 0 ? r : renameat(run_dir, RUNNING_NEW, run_dir, RUNNING) < 0 ? -errno : 0;
}

void running_remove(const char *run_dir)
{
	int dir = open(run_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return;
	(void)unlinkat(dir, RUNNING, 0);
	close(dir);
}
