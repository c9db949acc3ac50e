/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/tar.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512

struct head {			/* tar(5), GNU */
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[8], user[32], group[32], major[8], minor[8];
	char rest[167];
};

_Static_assert(sizeof(struct head) == BLOCK, "a tar header is one block");

/* Octal where it fits, else base 256 with the first bit set. */
static void put_number(char *field, size_t bytes, uint64_t value)
{
	if (value < 1ull << (3 * (bytes - 1))) {
		for (size_t i = bytes - 1; i-- > 0; value >>= 3)
			field[i] = (char)('0' + (value & 7));
		return;
	}
	for (size_t i = bytes; i-- > 1; value >>= 8)
		field[i] = (char)(value & 0xff);
	field[0] = (char)0x80;
}

static int put_head(int fd, const char *name, char type, const struct stat *st, uint64_t size, const char *link)
{
	struct head h = { .type = type, .magic = "ustar  " };
	unsigned sum = 0;

	memcpy(h.name, name, strnlen(name, sizeof(h.name)));
	memcpy(h.link, link, strnlen(link, sizeof(h.link)));
	put_number(h.mode, sizeof(h.mode), st->st_mode & 07777);
	put_number(h.uid, sizeof(h.uid), st->st_uid);
	put_number(h.gid, sizeof(h.gid), st->st_gid);
	put_number(h.size, sizeof(h.size), size);
	put_number(h.mtime, sizeof(h.mtime), st->st_mtim.tv_sec < 0 ? 0 : (uint64_t)st->st_mtim.tv_sec);
	memset(h.checksum, ' ', sizeof(h.checksum));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum);
	return io_write_all(fd, &h, sizeof(h));
}

static int pad(int fd, uint64_t size)
{
	static const char zeros[BLOCK];

	return size % BLOCK ? io_write_all(fd, zeros, BLOCK - size % BLOCK) : 0;
}

/* 'L' and 'K': the next header's name or link, whatever its length. */
static int put_long(int fd, char type, const char *text)
{
	static const struct stat none;
	size_t len = strlen(text) + 1;
	int r = put_head(fd, "././@LongLink", type, &none, len, "");

	if (r == 0)
		r = io_write_all(fd, text, len);
	return r < 0 ? r : pad(fd, len);
}

static int put_entry(int fd, const char *name, char type, const struct stat *st, uint64_t size, const char *link)
{
	int r = strlen(link) > sizeof(((struct head *)0)->link) ? put_long(fd, 'K', link) : 0;

	if (r == 0 && strlen(name) > sizeof(((struct head *)0)->name))
		r = put_long(fd, 'L', name);
	return r < 0 ? r : put_head(fd, name, type, st, size, link);
}

/* As many bytes as the header says, also of a file that grows or shrinks meanwhile. */
static int put_content(int fd, int from, uint64_t size)
{
	char buffer[65536];
	uint64_t left = size;
	int r = 0;

	while (left && r == 0) {
		size_t want = left < sizeof(buffer) ? (size_t)left : sizeof(buffer);
		ssize_t len = read(from, buffer, want);

		if (len < 0)
			return -errno;
		if (len == 0) {
			memset(buffer, 0, want);
			len = (ssize_t)want;
		}
		r = io_write_all(fd, buffer, (size_t)len);
		left -= (uint64_t)len;
	}
	return r < 0 ? r : pad(fd, size);
}

static int put_file(const struct change *change, const struct stat *st, int fd)
{
	_cleanup_close_ int from = change_open_is(change);
	struct stat now;
	int r;

	if (from < 0 || fstat(from, &now) < 0)
		return from == -ENOENT || from == -EINVAL ? 1 : from < 0 ? from : -errno;
	r = put_entry(fd, change->path, '0', st, (uint64_t)now.st_size, "");
	return r < 0 ? r : put_content(fd, from, (uint64_t)now.st_size);
}

static int put_deleted(const struct change *change, int fd)
{
	_cleanup_buf_ struct buf name = { 0 };
	const char *base = path_base(change->path);
	static const struct stat none = { .st_mode = S_IFREG | 0600 };

	buf_append(&name, change->path, (size_t)(base - change->path));
	buf_text(&name, ".wh.");
	buf_text(&name, base);
	return name.failed ? -ENOMEM : put_entry(fd, name.data, '0', &none, 0, "");
}

static int put_link(const struct change *change, const struct stat *st, int fd)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(change->in, change->name, target, sizeof(target) - 1);

	if (len < 0)
		return errno == ENOENT || errno == EINVAL ? 1 : -errno;
	target[len] = 0;
	return put_entry(fd, change->path, '2', st, 0, target);
}

static int put_folder(const struct change *change, const struct stat *st, int fd)
{
	_cleanup_buf_ struct buf name = { 0 };

	buf_text(&name, change->path);
	buf_char(&name, '/');
	return name.failed ? -ENOMEM : put_entry(fd, name.data, '5', st, 0, "");
}

int tar_put(const struct change *change, const struct copy_ids *ids, int fd)
{
	struct stat st;

	if (change->kind == CHANGE_DELETED)
		return put_deleted(change, fd);
	st = *change->is;
	st.st_uid = copy_map_uid(ids, st.st_uid);
	st.st_gid = copy_map_gid(ids, st.st_gid);
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return put_file(change, &st, fd);
	case S_IFDIR:
		return put_folder(change, &st, fd);
	case S_IFLNK:
		return put_link(change, &st, fd);
	default:
		return 1;
	}
}

int tar_end(int fd)
{
	static const char zeros[2 * BLOCK];

	return io_write_all(fd, zeros, sizeof(zeros));
}
