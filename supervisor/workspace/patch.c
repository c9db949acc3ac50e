/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/patch.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/sha1.h"
#include "supervisor/workspace/lines.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TEXT_LOOK_BYTES 8000	/* git's own measure of what is binary */
#define LINE_BYTES 52

/* ---- names ---- */

/* git's quoting: what would not be one plain word stands in quotes, with C's escapes. */
static void put_name(struct buf *out, const char *prefix, const char *path)
{
	bool plain = true;

	for (const char *at = path; *at && plain; at++)
		plain = (unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f && *at != '"' && *at != '\\';
	if (plain) {
		buf_text(out, prefix);
		buf_text(out, path);
		return;
	}
	buf_char(out, '"');
	buf_text(out, prefix);
	for (; *path; path++) {
		unsigned char c = (unsigned char)*path;

		if (c == '"' || c == '\\')
			buf_format(out, "\\%c", c);
		else if (c < 0x20 || c >= 0x7f)
			buf_format(out, "\\%03o", c);
		else
			buf_char(out, (char)c);
	}
	buf_char(out, '"');
}

static void put_named(struct buf *out, const char *lead, const char *prefix, const char *path)
{
	buf_text(out, lead);
	if (path)
		put_name(out, prefix, path);
	else
		buf_text(out, "/dev/null");
	/* A tab ends a name that has a space in it. */
	buf_text(out, path && strchr(path, ' ') ? "\t\n" : "\n");
}

/* ---- binary content ---- */

static void put_base85(struct buf *out, const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";

	for (size_t at = 0; at < len; at += 4) {
		uint32_t word = 0;
		char five[5];

		for (unsigned i = 0; i < 4; i++)
			word = word << 8 | (at + i < len ? data[at + i] : 0);
		for (int i = 4; i >= 0; i--, word /= 85)
			five[i] = digits[word % 85];
		buf_append(out, five, sizeof(five));
	}
}

/* RFC 1950 around stored blocks of RFC 1951: nothing is compressed, and no library is needed. */
static void put_zlib(struct buf *out, struct bytes content)
{
	uint32_t a = 1, b = 0;
	size_t at = 0;

	buf_append(out, "\x78\x01", 2);
	do {
		size_t len = content.len - at < 65535 ? content.len - at : 65535;
		const unsigned char head[5] = { at + len == content.len, (uint8_t)len, (uint8_t)(len >> 8), (uint8_t)~len, (uint8_t)(~len >> 8) };

		buf_append(out, head, sizeof(head));
		buf_append(out, content.data + at, len);
		at += len;
	} while (at < content.len);
	for (size_t i = 0; i < content.len; i++) {
		a = (a + (unsigned char)content.data[i]) % 65521;
		b = (b + a) % 65521;
	}
	buf_append(out, (const unsigned char[]){ (uint8_t)(b >> 8), (uint8_t)b, (uint8_t)(a >> 8), (uint8_t)a }, 4);
}

void patch_put_binary(struct bytes content, struct buf *out)
{
	_cleanup_buf_ struct buf packed = { 0 };

	put_zlib(&packed, content);
	out->failed |= packed.failed;
	buf_format(out, "GIT binary patch\nliteral %zu\n", content.len);
	for (size_t at = 0; !packed.failed && at < packed.len; at += LINE_BYTES) {
		size_t len = packed.len - at < LINE_BYTES ? packed.len - at : LINE_BYTES;

		buf_char(out, (char)(len <= 26 ? 'A' + len - 1 : 'a' + len - 27));
		put_base85(out, (const uint8_t *)packed.data + at, len);
		buf_char(out, '\n');
	}
	buf_char(out, '\n');
}

/* ---- one change ---- */

struct content {
	const struct stat *st;		/* NULL: not there, or no file */
	struct buf data;
	bool binary;
};

static int read_content(const struct change *change, bool is, struct content *c)
{
	_cleanup_close_ int fd = -1;
	char target[PATH_MAX];
	ssize_t len;
	int r;

	if (S_ISLNK(c->st->st_mode)) {
		len = readlinkat(change->in, change->name, target, sizeof(target));
		if (len > 0)
			buf_append(&c->data, target, (size_t)len);
		return len < 0 ? -errno : 0;
	}
	fd = is ? change_open_is(change) : change_open_was(change);
	r = fd < 0 ? fd : io_read_all(fd, PATCH_FILE_MAX, &c->data);
	c->binary = memchr(c->data.data ? c->data.data : "", 0, c->data.len < TEXT_LOOK_BYTES ? c->data.len : TEXT_LOOK_BYTES) != NULL;
	return r;
}

static const char *git_mode(const struct stat *st)
{
	return S_ISLNK(st->st_mode) ? "120000" : st->st_mode & S_IXUSR ? "100755" : "100644";
}

static void put_object_id(struct buf *out, const struct content *c)
{
	char head[32], id[41] = "0000000000000000000000000000000000000000";
	struct sha1 hash;
	int len = snprintf(head, sizeof(head), "blob %zu", c->data.len);

	if (c->st) {
		sha1_init(&hash);
		sha1_update(&hash, head, (size_t)len + 1);
		sha1_update(&hash, c->data.data, c->data.len);
		sha1_hex(&hash, id);
	}
	buf_text(out, id);
}

static void put_head(const struct change *change, const struct content *was, const struct content *is, struct buf *out)
{
	buf_text(out, "diff --git ");
	put_name(out, "a/", change->path);
	buf_char(out, ' ');
	put_name(out, "b/", change->path);
	buf_char(out, '\n');
	if (!was->st)
		buf_format(out, "new file mode %s\n", git_mode(is->st));
	else if (!is->st)
		buf_format(out, "deleted file mode %s\n", git_mode(was->st));
	else if (strcmp(git_mode(was->st), git_mode(is->st)) != 0)
		buf_format(out, "old mode %s\nnew mode %s\n", git_mode(was->st), git_mode(is->st));
}

static int put_content(const struct change *change, bool binary, const struct content *was, const struct content *is, struct buf *out)
{
	buf_text(out, "index ");
	put_object_id(out, was);
	buf_text(out, "..");
	put_object_id(out, is);
	buf_char(out, '\n');
	if (!was->data.len && !is->data.len)
		return 0;
	if ((was->binary || is->binary) && binary) {
		patch_put_binary((struct bytes){ is->data.data, is->data.len }, out);
		return 0;
	}
	if (was->binary || is->binary) {
		buf_text(out, "Binary files differ\n");
		return 0;
	}
	put_named(out, "--- ", "a/", was->st ? change->path : NULL);
	put_named(out, "+++ ", "b/", is->st ? change->path : NULL);
	return lines_diff((struct bytes){ was->data.data, was->data.len }, (struct bytes){ is->data.data, is->data.len }, out);
}

static bool has_words(const struct stat *st)
{
	return !st || S_ISREG(st->st_mode) || S_ISLNK(st->st_mode);
}

static void put_note(const struct change *change, struct buf *out)
{
	const struct stat *st = change->is ? change->is : change->was;

	buf_format(out, "cordon: %s ", change->kind == CHANGE_DELETED ? "deleted" : change->kind == CHANGE_ADDED ? "added" : "changed");
	put_name(out, "", change->path);
	buf_format(out, "%s, mode %04o, owner %u:%u\n", S_ISDIR(st->st_mode) ? "/" : "", st->st_mode & 07777, st->st_uid, st->st_gid);
}

int patch_put(const struct change *change, bool binary, struct buf *out)
{
	struct content was = { .st = change->was }, is = { .st = change->is };
	int r = 0;

	if (!has_words(change->was) || !has_words(change->is)) {
		put_note(change, out);
		return 0;
	}
	if (change->kind == CHANGE_MODE && strcmp(git_mode(change->was), git_mode(change->is)) == 0) {
		put_note(change, out);
		return 0;
	}
	if (change->kind != CHANGE_MODE && was.st)
		r = read_content(change, false, &was);
	if (r == 0 && change->kind != CHANGE_MODE && is.st)
		r = read_content(change, true, &is);
	if (r == 0) {
		put_head(change, &was, &is, out);
		if (change->kind != CHANGE_MODE)
			r = put_content(change, binary, &was, &is, out);
	}
	buf_free(&was.data);
	buf_free(&is.data);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}
