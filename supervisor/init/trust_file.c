/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes to files that others own too: whole by rename, and only between our two marker lines.
 *
 * Runs in the trust helper. A second start finds its predecessor's block and replaces it.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_LIMIT_BYTES (16u << 20)

/* Not "BEGIN" and "END": scripts cut certificate bundles at those words. */
static const char begin_line[] = "# >>> cordon\n", end_line[] = "# <<< cordon\n";

static int read_whole(const char *path, struct buf *ret_content)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	return io_read_all(fd, FILE_LIMIT_BYTES, ret_content);
}

/* A begin without an end is a file somebody cut: everything after it was ours to the end of what is known, so it goes too. */
static void append_without_block(struct buf *out, const char *text)
{
	const char *begin, *end;

	while ((begin = strstr(text, begin_line))) {
		buf_append(out, text, (size_t)(begin - text));
		end = strstr(begin, end_line);
		if (!end)
			return;
		text = end + strlen(end_line);
	}
	buf_text(out, text);
}

int trust_file_without_block(const char *path, struct buf *ret_content)
{
	_cleanup_buf_ struct buf content = { 0 };
	int r = read_whole(path, &content);

	if (r < 0)
		return r;
	if (content.data)
		append_without_block(ret_content, content.data);
	return ret_content->failed ? -ENOMEM : 0;
}

static int write_new(const char *path, const void *data, size_t len, mode_t mode, const struct user_identity *owner)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, data, len);
	if (r == 0 && owner && geteuid() == 0 && fchown(fd, owner->uid, owner->gid) < 0)
		r = -errno;
	if (r == 0 && fchmod(fd, mode) < 0)
		r = -errno;
	return r;
}

int trust_file_write(const char *path, const void *data, size_t len, mode_t mode, const struct user_identity *owner, struct err *ret_error)
{
	char temporary[PATH_MAX];
	int r;

	if (snprintf(temporary, sizeof(temporary), "%s.cordon-new", path) >= (int)sizeof(temporary))
		return err_set(ret_error, -ENAMETOOLONG, "%s: name too long", path);
	(void)unlink(temporary);
	r = write_new(temporary, data, len, mode, owner);
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0) {
		(void)unlink(temporary);
		return err_set(ret_error, r, "cannot write %s: %s", path, strerror(-r));
	}
	return 0;
}

int trust_file_block(const char *path, const char *content, struct err *ret_error)
{
	_cleanup_free_ char *real = realpath(path, NULL);
	_cleanup_buf_ struct buf out = { 0 };
	struct stat st;
	mode_t mode = 0644;
	int r;

	/* Not there: a new file. A link is followed, so that the store other links point to changes and stays a link. */
	if (!real && errno != ENOENT)
		return err_set(ret_error, -errno, "cannot resolve %s: %s", path, strerror(errno));
	if (real && stat(real, &st) == 0)
		mode = st.st_mode & 07777;
	r = trust_file_without_block(real ? real : path, &out);
	if (r < 0)
		return err_set(ret_error, r, "cannot read %s: %s", path, strerror(-r));
	if (content) {
		if (out.len && out.data[out.len - 1] != '\n')
			buf_char(&out, '\n');
		buf_text(&out, begin_line);
		buf_text(&out, content);
		buf_text(&out, end_line);
	}
	if (out.failed)
		return err_set(ret_error, -ENOMEM, "out of memory");
	return trust_file_write(real ? real : path, out.data ? out.data : "", out.len, mode, NULL, ret_error);
}

size_t trust_find_certificate(const char *text, const char **ret_begin)
{
	static const char first[] = "-----BEGIN CERTIFICATE-----", last[] = "-----END CERTIFICATE-----";
	const char *begin = strstr(text, first), *end = begin ? strstr(begin, last) : NULL;

	*ret_begin = begin;
	return end ? (size_t)(end - begin) + strlen(last) : 0;
}
