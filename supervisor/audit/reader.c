/* SPDX-License-Identifier: Apache-2.0 */
/* Reading over rotation. */
#include "supervisor/audit/reader.h"
#include "supervisor/audit/folder.h"
#include "supervisor/audit/record.h"
#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (4 * RECORD_LINE_MAX)

struct reader {
	int dir_fd, fd;
	unsigned number;
	uint64_t lines;			/* returned of this file */
	bool last_look;			/* a newer file exists: what this one gives now is all it will ever give */
	size_t start, end;		/* unread bytes in buffer */
	char buffer[BUFFER_BYTES];
};

static bool file_exists(int dir_fd, unsigned number)
{
	char name[FOLDER_NAME_BYTES];

	folder_file_name(number, name);
	return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/*
 * The smallest file number above after; 0 when there is none. A listing of a folder that grows meanwhile may hold a newer file
 * and miss an older one: the next number is asked for by name, before it counts as missing.
 */
static int find_file(int dir_fd, unsigned after, unsigned *ret_number)
{
	_cleanup_free_ unsigned *numbers = NULL;
	size_t count, i = 0;
	int r = folder_list(dir_fd, &numbers, &count);

	if (r < 0)
		return r;
	while (i < count && numbers[i] <= after)
		i++;
	*ret_number = i == count ? 0 : file_exists(dir_fd, after + 1) ? after + 1 : numbers[i];
	return 0;
}

static int open_file(struct reader *r, unsigned number, struct err *ret_error)
{
	int fd = folder_open_file(r->dir_fd, number, O_RDONLY, ret_error);

	if (fd < 0)
		return fd;
	if (r->fd >= 0)
		close(r->fd);
	r->fd = fd;
	r->number = number;
	r->lines = 0;
	r->last_look = false;
	r->start = r->end = 0;
	return 0;
}

/* The oldest file. Rotation may delete it between the listing and the opening. */
static int open_oldest(struct reader *r, const char *dir, struct err *ret_error)
{
	int result = -ENOENT;

	for (unsigned tries = 0; tries < 5 && result == -ENOENT; tries++) {
		unsigned number;

		result = find_file(r->dir_fd, 0, &number);
		if (result < 0)
			return err_set(ret_error, result, "audit folder %s: %s", dir, strerror(-result));
		if (number == 0)
			return err_set(ret_error, -ENOENT, "audit folder %s holds no audit-NNNNNN.jsonl", dir);
		result = open_file(r, number, ret_error);
	}
	return result;
}

int reader_open(const char *dir, struct reader **ret_reader, struct err *ret_error)
{
	struct reader *r = calloc(1, sizeof(*r));
	int result;

	if (!r)
		return err_set(ret_error, -ENOMEM, "no memory");
	r->fd = -1;
	result = r->dir_fd = folder_open(dir, false, ret_error);
	if (result >= 0)
		result = open_oldest(r, dir, ret_error);
	if (result < 0) {
		reader_close(r);
		return result;
	}
	*ret_reader = r;
	return 0;
}

/* Takes a line out of the buffer. Returns false when it holds no newline. */
static bool take_line(struct reader *r, struct reader_line *ret_line)
{
	const char *start = r->buffer + r->start, *newline = memchr(start, '\n', r->end - r->start);

	if (!newline)
		return false;
	*ret_line = (struct reader_line){ r->number, ++r->lines, { start, (size_t)(newline - start) }, true };
	r->start += (size_t)(newline + 1 - start);
	return true;
}

/* Returns the number of bytes read into the buffer, or -errno. */
static ssize_t fill(struct reader *r)
{
	ssize_t n;

	if (r->start) {
		memmove(r->buffer, r->buffer + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	if (r->end == sizeof(r->buffer))
		return -EBADMSG;
	do
		n = read(r->fd, r->buffer + r->end, sizeof(r->buffer) - r->end);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r->end += (size_t)n;
	return n;
}

/*
 * At the end of a file: the next one, if there is one. Lines may have come between our last read and the moment the next file
 * appeared, so the first time this only asks for another look. Returns 1 to go on, 2 with a last line without newline, 0 at the
 * end for now, or -errno.
 */
static int next_file(struct reader *r, struct reader_line *ret_line, struct err *ret_error)
{
	unsigned next;
	int result = find_file(r->dir_fd, r->number, &next);

	if (result < 0)
		return err_set(ret_error, result, "audit folder: %s", strerror(-result));
	if (next == 0)
		return 0;
	if (!r->last_look) {
		r->last_look = true;
		return 1;
	}
	if (r->end > r->start) {
		*ret_line = (struct reader_line){ r->number, ++r->lines, { r->buffer + r->start, r->end - r->start }, false };
		r->start = r->end;
		return 2;
	}
	result = open_file(r, next, ret_error);
	/* Rotation deleted it while we looked: the next look finds a later one. */
	return result == -ENOENT || result == 0 ? 1 : result;
}

int reader_next(struct reader *r, struct reader_line *ret_line, struct err *ret_error)
{
	for (;;) {
		ssize_t n;
		int result;

		if (take_line(r, ret_line))
			return 1;
		n = fill(r);
		if (n < 0)
			return err_set(ret_error, (int)n, "audit file %u: line %llu: %s", r->number, (unsigned long long)r->lines + 1,
				       n == -EBADMSG ? "longer than any record" : strerror((int)-n));
		if (n > 0)
			continue;
		result = next_file(r, ret_line, ret_error);
		if (result != 1)
			return result == 2 ? 1 : result;
	}
}

struct bytes reader_rest(const struct reader *r)
{
	return (struct bytes){ r->buffer + r->start, r->end - r->start };
}

unsigned reader_file(const struct reader *r)
{
	return r->number;
}

void reader_close(struct reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->dir_fd >= 0)
		close(r->dir_fd);
	free(r);
}
