/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/git.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define POINTER_BYTES_MAX 8192

/* git takes the rest of the line, and cuts line ends off. */
static char *first_line(char *text)
{
	text[strcspn(text, "\r\n")] = 0;
	return text;
}

char *git_pointer(char *text)
{
	static const char key[] = "gitdir:";

	if (strncmp(text, key, sizeof(key) - 1) != 0)
		return NULL;
	text += sizeof(key) - 1;
	return first_line(text + strspn(text, " \t"));
}

static int read_small(struct view_place *place, const char *name, struct buf *ret)
{
	_cleanup_close_ int fd = view_open_file(place, name);
	int r = fd < 0 ? fd : io_read_all(fd, POINTER_BYTES_MAX, ret);

	buf_char(ret, 0);
	return r < 0 ? r : ret->failed ? -ENOMEM : 0;
}

static void put_path(const struct view_place *place, struct buf *ret)
{
	if (!place->up)
		return;
	put_path(place->up, ret);
	if (ret->len)
		buf_char(ret, '/');
	buf_text(ret, place->name);
}

static int add(const struct view_place *place, struct notes *protected)
{
	_cleanup_buf_ struct buf path = { 0 };

	put_path(place, &path);
	if (path.failed)
		return -ENOMEM;
	if (!path.len || notes_has(protected, path.data))	/* the tree itself cannot be */
		return 0;
	return notes_add(protected, path.data, "the repository that a .git file points to");
}

/* An absolute path is one of the workspace's, or leads out of it. */
static int find(struct view *view, struct view_place *place, const char *text, const char *mounted_at, struct view_place **ret)
{
	size_t len = strlen(mounted_at);

	if (*text != '/')
		return view_resolve_folder(view, place, text, ret);
	if (strncmp(text, mounted_at, len) != 0 || text[len] != '/')
		return -EXDEV;
	text += len + strspn(text + len, "/");
	return view_resolve_folder(view, view->root, *text ? text : ".", ret);
}

static int protect_common(struct view *view, struct view_place *repository, const char *mounted_at, struct notes *protected)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct view_place *common;
	int r = read_small(repository, "commondir", &text);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (find(view, repository, first_line(text.data), mounted_at, &common) < 0)
		return 0;
	r = add(common, protected);
	view_put_place(common);
	return r;
}

int git_protect(struct view *view, struct view_place *place, const char *mounted_at, struct notes *protected, const char **ret_why)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct view_place *repository;
	const char *pointer;
	int r = read_small(place, ".git", &text);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	pointer = git_pointer(text.data);
	if (!pointer || find(view, place, pointer, mounted_at, &repository) < 0) {
		*ret_why = "a .git file whose repository is not in the tree";
		return 0;
	}
	r = add(repository, protected);
	if (r == 0)
		r = protect_common(view, repository, mounted_at, protected);
	view_put_place(repository);
	return r;
}
