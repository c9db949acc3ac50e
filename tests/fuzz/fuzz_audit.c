/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log's readers on any bytes: a line becomes a record or is refused with a sentence, what a terminal gets of it is printable whatever it holds, members
 * that do not fit become ones that do, and a log of any bytes is verified without a crash.
 */
#include "tests/fuzz/fuzz.h"

#include "supervisor/audit/reader.h"
#include "supervisor/audit/record.h"
#include "supervisor/audit/shorthand.h"
#include "supervisor/audit/verify.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* In memory: a file system of its own would be most of the time. */
static char folder[] = "/dev/shm/fuzz-audit-XXXXXX", file[64];

static void remove_folder(void)
{
	unlink(file);
	rmdir(folder);
}

static void put(const uint8_t *data, size_t len)
{
	int fd;

	if (!*file) {
		if (!mkdtemp(folder))
			abort();
		snprintf(file, sizeof(file), "%s/audit-000001.jsonl", folder);
		atexit(remove_folder);
	}
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) < 0)
		abort();
}

/* Printable ASCII and whole characters; colours are the only control bytes, and only where they were asked for. */
static void expect_printable(const struct buf *line, bool colour)
{
	size_t i;

	for (i = 0; i < line->len; i++) {
		unsigned char c = (unsigned char)line->data[i];

		if (c == 0x7f || (c < 0x20 && !(colour && c == 0x1b)))
			abort();
	}
}

static void show(struct bytes text)
{
	struct record record;
	struct buf line = { 0 };
	struct err e = { 0 };
	int colour, r;

	shorthand_raw(&line, text);
	expect_printable(&line, false);
	r = record_parse(text, &record, &e);
	if (r < 0 && !e.text[0])
		abort();
	for (colour = 0; r == 0 && colour < 2; colour++) {
		line.len = 0;
		shorthand_format(&line, &record, colour);
		expect_printable(&line, colour);
	}
	if (r == 0)
		record_free(&record);
	buf_free(&line);
}

static void shrink(struct bytes members)
{
	struct buf shrunk = { 0 };

	(void)record_members_valid(members);
	record_shrink(&shrunk, members);
	if (shrunk.len > RECORD_MEMBERS_MAX || !record_members_valid((struct bytes){ shrunk.data, shrunk.len }))
		abort();
	buf_free(&shrunk);
}

static void verify(void)
{
	const struct verify_options options = { .dir = folder };
	struct anchor *anchors = NULL;
	struct verify_report report;
	struct err e = { 0 };
	size_t nr = 0;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || verify_read_anchors(fd, &anchors, &nr) < 0)
		abort();
	close(fd);
	if (verify_log(&options, &report, &e) == 0 && report.result != VERIFY_INTACT && !report.why.text[0])
		abort();
	free(anchors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *text = (const char *)data, *end = text + len;
	const char *line, *newline;

	if (len % 8 == 0) {	/* files are most of the time */
		put(data, len);
		verify();
	}
	shrink((struct bytes){ text, len });
	for (line = text; line < end; line = newline + 1) {
		newline = memchr(line, '\n', (size_t)(end - line));
		newline = newline ? newline : end;
		show((struct bytes){ line, (size_t)(newline - line) });
	}
	return 0;
}
