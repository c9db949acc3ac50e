/* SPDX-License-Identifier: Apache-2.0 */
/* The newest log file and the end of the chain. Owned by the writer thread once it runs. */
#include "supervisor/audit/log.h"
#include "supervisor/audit/folder.h"
#include "supervisor/audit/record.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/json_out.h"
#include "supervisor/base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Two lines, the newline before them, a fragment behind them. */
#define TAIL_BYTES (2 * (RECORD_LINE_MAX + 1) + 1 + RECORD_LINE_MAX)

/* What the end of one file holds. */
struct tail {
	char bytes[TAIL_BYTES];
	struct bytes last, before;	/* whole lines, NULL data where there is none */
	size_t fragment_len;
	off_t whole_len;		/* file size without the fragment */
};

/* A record lock goes with the process. With flock() a worker forked from it would hold the folder after its death. */
static int lock_folder(int dir_fd, struct err *ret_error)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_cleanup_close_ int fd = openat(dir_fd, "writer.lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_set(ret_error, -errno, "audit file writer.lock: %s", strerror(errno));
	if (fcntl(fd, F_SETLK, &lock) == 0)
		return TAKE_FD(fd);
	if (errno != EAGAIN && errno != EACCES)
		return err_set(ret_error, -errno, "audit file writer.lock: %s", strerror(errno));
	fcntl(fd, F_GETLK, &lock);
	return err_set(ret_error, -EBUSY, "process %d already writes the audit log in this folder", (int)lock.l_pid);
}

/* The line that ends before end (which stands behind its newline). */
static struct bytes line_before(const char *start, const char *end)
{
	const char *newline = end - start > 1 ? memrchr(start, '\n', (size_t)(end - 1 - start)) : NULL;
	const char *first = newline ? newline + 1 : start;

	if (end == start)
		return (struct bytes){ 0 };
	return (struct bytes){ first, (size_t)(end - 1 - first) };
}

static int read_tail(int fd, struct tail *ret_tail)
{
	struct tail *t = ret_tail;
	struct stat st;
	const char *newline, *end;
	ssize_t len;
	off_t from;

	if (fstat(fd, &st) < 0)
		return -errno;
	from = st.st_size > (off_t)sizeof(t->bytes) ? st.st_size - (off_t)sizeof(t->bytes) : 0;
	len = pread(fd, t->bytes, sizeof(t->bytes), from);
	if (len < 0)
		return -errno;
	if (from + len != st.st_size)
		return -EIO;
	newline = len ? memrchr(t->bytes, '\n', (size_t)len) : NULL;
	if (!newline && from > 0)
		return -EBADMSG;
	end = newline ? newline + 1 : t->bytes;
	t->fragment_len = (size_t)(t->bytes + len - end);
	t->whole_len = st.st_size - (off_t)t->fragment_len;
	t->last = line_before(t->bytes, end);
	t->before = t->last.data ? line_before(t->bytes, t->last.data) : (struct bytes){ 0 };
	return 0;
}

/* Notes a fragment in front of those found in newer files. */
static void note_fragment(struct log *log, unsigned number, const struct tail *t)
{
	_cleanup_buf_ struct buf newer = log->torn;
	char name[FOLDER_NAME_BYTES], hash[65];
	struct json_out j = { .buf = &log->torn };

	log->torn = (struct buf){ 0 };
	folder_file_name(number, name);
	json_object_begin(&j, NULL);
	json_text(&j, "file", name);
	json_uint(&j, "bytes", t->fragment_len);
	sha256_of(t->last.data ? t->last.data + t->last.len + 1 : t->bytes, t->fragment_len, hash);
	json_text(&j, "sha256", hash);
	json_object_end(&j);
	if (newer.len)
		json_raw(&j, NULL, newer.data);
}

/* Takes the chain up from the last whole line, when it is ours and follows the one before it. */
static int continue_chain(struct log *log, unsigned number, const struct tail *t, struct err *ret_error)
{
	char name[FOLDER_NAME_BYTES], hash[65];
	struct record record;
	int r = record_parse(t->last, &record, ret_error);

	folder_file_name(number, name);
	if (r < 0)
		return err_prefix(ret_error, r, "audit file %s: its last line is damaged", name);
	if (t->before.data)
		sha256_of(t->before.data, t->before.len, hash);
	if (t->before.data && strcmp(hash, record.prev) != 0) {
		record_free(&record);
		return err_set(ret_error, -EBADMSG, "audit file %s: its last record does not follow the one before it", name);
	}
	log->seq = record.seq;
	log->ended = strcmp(record.type, "rotate") == 0;
	sha256_of(t->last.data, t->last.len, log->prev);
	record_free(&record);
	return 0;
}

/* From the newest file backwards to the last whole line; fragments met on the way are noted. Returns 1 when it was found. */
static int find_end(struct log *log, const unsigned *numbers, size_t count, bool *ret_newest_torn, struct err *ret_error)
{
	_cleanup_free_ struct tail *t = malloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	for (size_t i = count; i-- > 0;) {
		_cleanup_close_ int fd = folder_open_file(log->dir_fd, numbers[i], O_RDONLY, ret_error);
		int r = fd < 0 ? fd : read_tail(fd, t);

		if (fd >= 0 && r < 0)
			err_set(ret_error, r, "audit file number %u: no records at its end: %s", numbers[i], strerror(-r));
		if (r < 0)
			return r;
		if (i == count - 1) {
			log->len_bytes = (uint64_t)t->whole_len;
			*ret_newest_torn = t->fragment_len > 0;
		}
		if (t->fragment_len)
			note_fragment(log, numbers[i], t);
		if (!t->last.data)
			continue;
		r = continue_chain(log, numbers[i], t, ret_error);
		/* A `rotate` ends its own file only: with the next one there already, that is where to go on. */
		log->ended = log->ended && i == count - 1;
		return r < 0 ? r : 1;
	}
	return 0;
}

static int open_newest(struct log *log, struct err *ret_error)
{
	_cleanup_free_ unsigned *numbers = NULL;
	bool newest_torn = false;
	size_t count;
	int r = folder_list(log->dir_fd, &numbers, &count);

	if (r == 0 && count)
		r = find_end(log, numbers, count, &newest_torn, ret_error);
	if (r < 0)
		return r;
	if (r == 0 && count && numbers[0] != 1)
		return err_set(ret_error, -EBADMSG, "audit files hold no whole record, but are not the first of a log");
	log->number = count ? numbers[count - 1] : 0;
	if (count == 0 || newest_torn) {
		r = log_next_file(log);
		return r < 0 ? err_set(ret_error, r, "audit file %u: cannot make it: %s", log->number + 1, strerror(-r)) : 0;
	}
	log->fd = folder_open_file(log->dir_fd, log->number, O_RDWR | O_APPEND, ret_error);
	return log->fd < 0 ? log->fd : 0;
}

int log_open(const char *dir, struct log *ret_log, struct err *ret_error)
{
	struct log log = { .dir_fd = -1, .lock_fd = -1, .fd = -1, .prev = RECORD_NO_PREV };
	int r = log.dir_fd = folder_open(dir, true, ret_error);

	if (r >= 0)
		r = log.lock_fd = lock_folder(log.dir_fd, ret_error);
	if (r >= 0)
		r = open_newest(&log, ret_error);
	if (r >= 0 && log.torn.failed)
		r = err_set(ret_error, -ENOMEM, "audit: no memory");
	if (r < 0) {
		log_close(&log);
		return r;
	}
	*ret_log = log;
	return 0;
}

int log_append(struct log *log, struct buf *line)
{
	char hash[65];
	int r;

	if (log->ragged) {
		if (ftruncate(log->fd, (off_t)log->len_bytes) < 0)
			return -errno;
		log->ragged = false;
	}
	sha256_of(line->data, line->len, hash);
	buf_char(line, '\n');
	if (line->failed)
		return -ENOMEM;
	r = io_write_all(log->fd, line->data, line->len);
	if (r < 0) {
		log->ragged = true;
		return r;
	}
	log->len_bytes += line->len;
	log->seq++;
	memcpy(log->prev, hash, sizeof(hash));
	return 0;
}

int log_next_file(struct log *log)
{
	int fd;

	if (log->number >= FOLDER_NUMBER_MAX)
		return -EOVERFLOW;
	fd = folder_open_file(log->dir_fd, log->number + 1, O_RDWR | O_APPEND | O_CREAT | O_EXCL, NULL);
	if (fd < 0)
		return fd;
	if (fsync(log->dir_fd) < 0) {
		int r = -errno;
		char name[FOLDER_NAME_BYTES];

		folder_file_name(log->number + 1, name);
		unlinkat(log->dir_fd, name, 0);
		close(fd);
		return r;
	}
	if (log->fd >= 0)
		close(log->fd);
	log->fd = fd;
	log->number++;
	log->len_bytes = 0;
	log->ragged = log->ended = false;
	return 0;
}

int log_sync(struct log *log)
{
	return fdatasync(log->fd) < 0 ? -errno : 0;
}

int log_delete_before(struct log *log, unsigned oldest)
{
	_cleanup_free_ unsigned *numbers = NULL;
	int r, deleted = 0;
	size_t count;

	r = folder_list(log->dir_fd, &numbers, &count);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count && numbers[i] < oldest; i++) {
		char name[FOLDER_NAME_BYTES];

		folder_file_name(numbers[i], name);
		if (unlinkat(log->dir_fd, name, 0) < 0)
			return -errno;
		deleted++;
	}
	return deleted;
}

void log_close(struct log *log)
{
	if (log->fd >= 0)
		close(log->fd);
	if (log->lock_fd >= 0)
		close(log->lock_fd);
	if (log->dir_fd >= 0)
		close(log->dir_fd);
	buf_free(&log->torn);
	*log = (struct log){ .dir_fd = -1, .lock_fd = -1, .fd = -1 };
}
