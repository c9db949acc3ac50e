/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit log: what was recorded is there, in order and chained; whatever is done to the files afterwards is found; a full disk
 * and a full queue lose nothing without saying so. Needs root for the small tmpfs.
 */
#include "supervisor/audit/audit.h"
#include "supervisor/audit/folder.h"
#include "supervisor/audit/reader.h"
#include "supervisor/audit/record.h"
#include "supervisor/audit/verify.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/json_out.h"
#include "supervisor/base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/cordon-audit-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static void path_of(const char *name, char ret_path[static 128])
{
	snprintf(ret_path, 128, "%s/%s", dir, name);
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void read_file(const char *name, struct buf *content)
{
	char path[128];

	path_of(name, path);
	assert_int_equal(io_read_file(AT_FDCWD, path, 64u << 20, content), 0);
}

static void write_file(const char *name, const void *data, size_t len)
{
	char path[128];
	int fd;

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, data, len), 0);
	close(fd);
}

static void remove_file(const char *name)
{
	char path[128];

	path_of(name, path);
	assert_int_equal(unlink(path), 0);
}

static bool file_exists(const char *name)
{
	char path[128];

	path_of(name, path);
	return access(path, F_OK) == 0;
}

static struct audit *open_with(struct audit_options options)
{
	struct audit *audit;
	struct err error = { 0 };

	options.dir = dir;
	options.run = "run-1";
	options.boot = "boot-1";
	if (audit_open(&options, &audit, &error) != 0)
		fail_msg("audit_open: %s", error.text);
	return audit;
}

static struct audit *open_plain(void)
{
	return open_with((struct audit_options){ .copy_fd = -1 });
}

static int record_number(struct audit *audit, int64_t number, bool urgent)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_int(&j, "n", number);
	json_text(&j, "decision", urgent ? "deny" : "allow");
	return audit_record(audit, "syscall", urgent ? AUDIT_MED : AUDIT_INFO, urgent, &members);
}

static void record_numbers(struct audit *audit, int from, int count)
{
	for (int i = from; i < from + count; i++)
		assert_int_equal(record_number(audit, i, false), 0);
}

static struct verify_report verify_with(struct verify_options options)
{
	struct verify_report report;
	struct err error = { 0 };

	options.dir = dir;
	if (verify_log(&options, &report, &error) != 0)
		fail_msg("verify_log: %s", error.text);
	return report;
}

static struct verify_report verify_plain(void)
{
	return verify_with((struct verify_options){ 0 });
}

static void expect_intact(uint64_t seq)
{
	struct verify_report report = verify_plain();

	if (report.result != VERIFY_INTACT)
		fail_msg("%s line %u: %s", report.why.file, report.why.line, report.why.text);
	assert_int_equal(report.seq, seq);
}

static void expect_result(enum verify_result result, const char *text)
{
	struct verify_report report = verify_plain();

	if (report.result != result || !strstr(report.why.text, text))
		fail_msg("result %d, not %d: %s:%u: %s", report.result, result, report.why.file, report.why.line, report.why.text);
}

/* All values of "n" in the log, in order, through the reader. */
static size_t read_numbers(int64_t *numbers, size_t max)
{
	struct reader *reader;
	struct reader_line line;
	size_t count = 0;

	assert_int_equal(reader_open(dir, &reader, NULL), 0);
	while (reader_next(reader, &line, NULL) == 1) {
		struct record record;

		if (!line.whole)
			continue;
		assert_int_equal(record_parse(line.text, &record, NULL), 0);
		if (json_object_get(record.root, "n")) {
			assert_true(count < max);
			numbers[count++] = json_integer_value(json_object_get(record.root, "n"));
		}
		record_free(&record);
	}
	reader_close(reader);
	return count;
}

/* The sum of a member over all records of a type. */
static uint64_t sum_of(const char *type, const char *class, const char *key)
{
	struct reader *reader;
	struct reader_line line;
	uint64_t sum = 0;

	assert_int_equal(reader_open(dir, &reader, NULL), 0);
	while (reader_next(reader, &line, NULL) == 1) {
		struct record record;
		const char *its_class;

		if (!line.whole)
			continue;
		assert_int_equal(record_parse(line.text, &record, NULL), 0);
		its_class = json_string_value(json_object_get(record.root, "class"));
		if (strcmp(record.type, type) == 0 && (!class || (its_class && strcmp(its_class, class) == 0)))
			sum += key ? (uint64_t)json_integer_value(json_object_get(record.root, key)) : 1;
		record_free(&record);
	}
	reader_close(reader);
	return sum;
}

/* ---- an honest log ---- */

static void a_log_is_chained_and_sealed(void **state)
{
	struct audit *audit = open_plain();
	_cleanup_buf_ struct buf content = { 0 };
	struct verify_report report;
	uint64_t written, lost, seq;
	char head[200], hash[65], *second, *third;
	struct stat st;

	(void)state;
	record_numbers(audit, 0, 300);
	assert_int_equal(audit_flush(audit, 60000), 0);
	audit_counts(audit, &written, &lost, &seq);
	assert_int_equal(written, 301);		/* one anchor after 256 */
	assert_int_equal(lost, 0);
	assert_int_equal(seq, 301);
	assert_int_equal(audit_health(audit), 0);
	assert_int_equal(audit_close(audit, true), 0);
	report = verify_with((struct verify_options){ .sealed = true });
	assert_int_equal(report.result, VERIFY_INTACT);
	assert_int_equal(report.records, 302);
	assert_int_equal(sum_of("anchor", NULL, NULL), 1);
	assert_int_equal(sum_of("seal", NULL, "records"), 302);

	read_file("audit-000001.jsonl", &content);
	assert_int_equal(strncmp(content.data, "{\"v\":1,\"seq\":1,\"ts\":\"20", 23), 0);
	second = strchr(content.data, '\n') + 1;
	third = strchr(second, '\n');
	sha256_of(content.data, (size_t)(second - 1 - content.data), hash);
	snprintf(head, sizeof(head), "\"run\":\"run-1\",\"boot\":\"boot-1\",\"type\":\"syscall\",\"sev\":\"info\",\"prev\":\"%s\",\"n\":1,", hash);
	assert_non_null(memmem(second, (size_t)(third - second), head, strlen(head)));
	assert_non_null(strstr(content.data, "\"prev\":\"" RECORD_NO_PREV "\",\"n\":0,"));

	snprintf(head, sizeof(head), "%s/audit-000001.jsonl", dir);
	assert_int_equal(stat(head, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void anchors_come_by_time_too(void **state)
{
	struct audit *audit = open_with((struct audit_options){ .copy_fd = -1, .anchor_ms = 20 });

	(void)state;
	record_numbers(audit, 0, 1);
	for (uint64_t seq = 0; seq < 2;)
		audit_counts(audit, NULL, NULL, &seq);
	assert_int_equal(audit_close(audit, false), 0);
	assert_int_equal(sum_of("anchor", NULL, NULL), 1);	/* and no anchor of an anchor */
	expect_intact(2);
}

static void a_restart_continues_the_chain(void **state)
{
	int64_t numbers[40];

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct audit *audit = open_plain();

		record_numbers(audit, i * 10, 10);
		assert_int_equal(audit_close(audit, i == 1), 0);
	}
	expect_intact(31);
	assert_int_equal(read_numbers(numbers, 40), 30);
	for (int i = 0; i < 30; i++)
		assert_int_equal(numbers[i], i);
	assert_false(file_exists("audit-000002.jsonl"));
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_TRUNCATED);
}

struct pusher {
	struct audit *audit;
	int number, count;
	uint64_t accepted;
};

static void *push(void *argument)
{
	struct pusher *p = argument;

	for (int i = 0; i < p->count; i++)
		p->accepted += record_number(p->audit, (int64_t)p->number << 32 | i, i % 4 == 0) == 0;
	return NULL;
}

/* Every record is in the log once, each thread's in its order; seq has no gap. What was refused is counted exactly. */
static void many_threads_record_at_once(void **state)
{
	enum { THREADS = 8, EACH = 4000 };
	struct audit *audit = open_plain();
	_cleanup_free_ int64_t *numbers = calloc(THREADS * EACH, sizeof(*numbers));
	struct pusher pushers[THREADS];
	pthread_t threads[THREADS];
	uint64_t accepted = 0, lost;
	int64_t latest[THREADS];
	size_t count;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		pushers[i] = (struct pusher){ audit, i, EACH, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, push, &pushers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		accepted += pushers[i].accepted;
		latest[i] = -1;
	}
	audit_counts(audit, NULL, &lost, NULL);
	assert_int_equal(accepted + lost, THREADS * EACH);
	assert_int_equal(audit_flush(audit, 60000), 0);
	assert_int_equal(audit_close(audit, true), 0);
	count = read_numbers(numbers, THREADS * EACH);
	assert_int_equal(count, accepted);
	for (size_t i = 0; i < count; i++) {
		int thread = (int)(numbers[i] >> 32);

		assert_true((numbers[i] & 0xffffffff) > latest[thread]);
		latest[thread] = numbers[i] & 0xffffffff;
	}
	assert_int_equal(sum_of("audit_drop", "ring_full", "count"), lost);
	assert_int_equal(verify_plain().lost, lost);
	assert_int_equal(verify_plain().result, VERIFY_INTACT);
}

/* ---- what a record may hold ---- */

static void find_record(const char *type, struct record *ret_record)
{
	struct reader *reader;
	struct reader_line line;

	assert_int_equal(reader_open(dir, &reader, NULL), 0);
	while (reader_next(reader, &line, NULL) == 1) {
		assert_int_equal(record_parse(line.text, ret_record, NULL), 0);
		assert_true(line.text.len <= RECORD_LINE_MAX);
		if (strcmp(ret_record->type, type) == 0) {
			reader_close(reader);
			return;
		}
		record_free(ret_record);
	}
	fail_msg("no record of type %s", type);
}

static void a_long_record_is_cut_and_says_so(void **state)
{
	struct audit *audit = open_plain();
	_cleanup_buf_ struct buf members = { 0 }, argument = { 0 };
	struct json_out j = { .buf = &members };
	struct record r;
	const json_t *argv;
	char hash[65];

	(void)state;
	for (int i = 0; i < 3000; i++)
		buf_text(&argument, "\xf0\x9f\x98\x80\"");
	json_text(&j, "decision", "deny");
	json_array_begin(&j, "argv");
	for (int i = 0; i < 200; i++)
		json_bytes(&j, NULL, (struct bytes){ argument.data, argument.len });
	json_array_end(&j);
	json_object_begin(&j, "rule");
	json_text(&j, "id", "guarded.outside_root");
	json_object_end(&j);
	sha256_of(members.data, members.len, hash);
	assert_int_equal(audit_record(audit, "syscall", AUDIT_MED, true, &members), 0);
	assert_int_equal(audit_close(audit, true), 0);
	find_record("syscall", &r);
	assert_string_equal(json_string_value(json_object_get(r.root, "decision")), "deny");
	assert_string_equal(json_string_value(json_object_get(json_object_get(r.root, "rule"), "id")), "guarded.outside_root");
	argv = json_object_get(r.root, "argv");
	assert_in_range(json_array_size(argv), 9, 65);
	assert_string_equal(json_string_value(json_array_get(argv, json_array_size(argv) - 1)), "...");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(r.root, "cut"), "bytes")), members.len);
	assert_string_equal(json_string_value(json_object_get(json_object_get(r.root, "cut"), "sha256")), hash);
	record_free(&r);
	expect_intact(2);
}

/* Nothing a caller passes can break the log for its readers. */
static void members_that_are_none_leave_only_a_note(void **state)
{
	static const char *const bad[] = { "\"a\":1}", "\"a\":1,", "\"a\":\"\n\"", "\"a\":[1", "\"a\"", "x", "\"a\":tru e", "\"a\":\"\xff\"",
					   "\"seq\":7", "\"n\":1,\"prev\":\"x\"", "\"a\":{}}", "\"a\":\"\\ud800\"", "\"a\":{\"b\":1,}", "\"a\":1e999",
					   "\"a\":01", "\"a\":nul", "\"a\":-", "\"a\":1.",
					   "\"a\":\"\\ud800abcdef\"", "\"a\":\"\\udc00\"", "\"a\":\"\\q\"", "\"a\":\"\\u12g4\"" };
	struct audit *audit = open_plain();
	_cleanup_buf_ struct buf members = { 0 };
	struct record r;

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		buf_reset(&members);
		buf_text(&members, bad[i]);
		assert_int_equal(audit_record(audit, "bad", AUDIT_INFO, false, &members), 0);
	}
	buf_reset(&members);
	buf_text(&members, "\"a\": {\"seq\": [1, -2.5, 0, \"\\u0000\", true, null, 18446744073709551615]}, \"b\": \"\xc3\xa9\\ud83d\\ude00\"");
	assert_int_equal(audit_record(audit, "good", AUDIT_INFO, false, &members), 0);
	assert_int_equal(audit_record(audit, "empty", AUDIT_INFO, false, NULL), 0);
	assert_int_equal(audit_record(audit, "Bad\n", AUDIT_INFO, false, NULL), -EINVAL);
	assert_int_equal(audit_record(audit, "", AUDIT_INFO, false, NULL), -EINVAL);
	assert_int_equal(audit_close(audit, false), 0);
	expect_intact(ARRAY_SIZE(bad) + 2);
	find_record("bad", &r);
	assert_null(json_object_get(r.root, "a"));
	assert_non_null(json_object_get(r.root, "cut"));
	record_free(&r);
	find_record("good", &r);
	assert_non_null(json_object_get(r.root, "a"));
	assert_null(json_object_get(r.root, "cut"));
	record_free(&r);
}

/* ---- what is done to a log afterwards ---- */

/* Eleven records in one file, sealed. */
static void make_small_log(void)
{
	struct audit *audit = open_plain();

	record_numbers(audit, 0, 10);
	assert_int_equal(audit_close(audit, true), 0);
}

static void any_flipped_byte_is_found(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };
	const char *last;

	(void)state;
	make_small_log();
	expect_intact(11);
	read_file("audit-000001.jsonl", &content);
	last = memrchr(content.data, '\n', content.len - 1);
	for (size_t at = 0; at < (size_t)(last - content.data); at += 3) {
		content.data[at] ^= 1;
		write_file("audit-000001.jsonl", content.data, content.len);
		assert_int_equal(verify_plain().result, VERIFY_BROKEN);
		content.data[at] ^= 1;
	}
	write_file("audit-000001.jsonl", content.data, content.len);
	expect_intact(11);
}

static char *line_start(const struct buf *content, unsigned line)
{
	char *at = content->data;

	while (--line)
		at = strchr(at, '\n') + 1;
	return at;
}

static void removed_repeated_and_moved_lines_are_found(void **state)
{
	_cleanup_buf_ struct buf content = { 0 }, changed = { 0 };
	struct verify_report report;
	char *third, *fourth, *fifth;

	(void)state;
	make_small_log();
	read_file("audit-000001.jsonl", &content);
	third = line_start(&content, 3);
	fourth = line_start(&content, 4);
	fifth = line_start(&content, 5);
	buf_append(&changed, content.data, (size_t)(third - content.data));
	buf_text(&changed, fourth);
	write_file("audit-000001.jsonl", changed.data, changed.len);
	expect_result(VERIFY_BROKEN, "seq 4 follows seq 2");
	report = verify_plain();
	assert_string_equal(report.why.file, "audit-000001.jsonl");
	assert_int_equal(report.why.line, 3);
	assert_int_equal(report.seq, 2);

	buf_reset(&changed);
	buf_append(&changed, content.data, (size_t)(fourth - content.data));
	buf_text(&changed, third);
	write_file("audit-000001.jsonl", changed.data, changed.len);
	expect_result(VERIFY_BROKEN, "seq 3 appears twice");

	buf_reset(&changed);
	buf_append(&changed, content.data, (size_t)(third - content.data));
	buf_append(&changed, fourth, (size_t)(fifth - fourth));
	buf_append(&changed, third, (size_t)(fourth - third));
	buf_text(&changed, fifth);
	write_file("audit-000001.jsonl", changed.data, changed.len);
	expect_result(VERIFY_BROKEN, "seq 4 follows seq 2");

	write_file("audit-000001.jsonl", line_start(&content, 2), strlen(line_start(&content, 2)));
	expect_result(VERIFY_BROKEN, "must begin with seq 1");
}

static void a_cut_tail_is_found(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };

	(void)state;
	make_small_log();
	read_file("audit-000001.jsonl", &content);
	write_file("audit-000001.jsonl", content.data, content.len - 1);
	expect_result(VERIFY_TRUNCATED, "the last line is cut off");
	write_file("audit-000001.jsonl", content.data, content.len - 100);
	expect_result(VERIFY_TRUNCATED, "the last line is cut off");
	/* Whole records away: only who asks for the seal, or has anchors, can know. */
	write_file("audit-000001.jsonl", content.data, (size_t)(line_start(&content, 8) - content.data));
	expect_intact(7);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_TRUNCATED);
}

/* Reads what the copy descriptor got, as anchors. */
static size_t read_anchors(int fd, struct anchor **ret_anchors)
{
	size_t count;

	assert_int_equal(verify_read_anchors(fd, ret_anchors, &count), 0);
	close(fd);
	return count;
}

/* Changes record 5 and chains everything behind it anew, as somebody with the file could. */
static void rewrite_from_record_5(void)
{
	_cleanup_buf_ struct buf content = { 0 }, changed = { 0 };
	char prev[65] = RECORD_NO_PREV;
	unsigned number = 0;

	read_file("audit-000001.jsonl", &content);
	for (char *line = content.data, *end; *line; line = end + 1) {
		size_t start = changed.len;
		char *at;

		end = strchr(line, '\n');
		buf_append(&changed, line, (size_t)(end - line));
		at = strstr(changed.data + start, "\"prev\":\"") + 8;
		memcpy(at, prev, 64);
		/* Anchors and seals in the log are made to fit as well. */
		at = strstr(at, "\"hash\":\"");
		if (at)
			memcpy(at + 8, prev, 64);
		if (++number == 5)
			changed.data[changed.len - 3] = 'X';
		sha256_of(changed.data + start, changed.len - start, prev);
		buf_char(&changed, '\n');
	}
	write_file("audit-000001.jsonl", changed.data, changed.len);
}

static void a_rewritten_log_does_not_fit_anchors_kept_outside(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };
	_cleanup_free_ struct anchor *anchors = NULL;
	struct verify_options options = { 0 };
	struct verify_report report;
	struct audit *audit;
	int out[2];

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	audit = open_with((struct audit_options){ .copy_fd = out[1], .anchor_records = 6 });
	record_numbers(audit, 0, 20);
	assert_int_equal(audit_close(audit, true), 0);
	close(out[1]);
	options.nr_anchors = read_anchors(out[0], &anchors);
	options.anchors = anchors;
	assert_int_equal(options.nr_anchors, 3 + 1 + 1);	/* anchors, the seal's head, the seal itself */

	report = verify_with(options);
	assert_int_equal(report.result, VERIFY_INTACT);
	assert_int_equal(report.anchors_met, 5);
	assert_true(report.sealed);

	read_file("audit-000001.jsonl", &content);
	content.data[content.len - 3] = '7';	/* in the seal, behind which nothing chains */
	write_file("audit-000001.jsonl", content.data, content.len);
	expect_intact(report.seq);
	assert_int_equal(verify_with(options).result, VERIFY_BROKEN);

	rewrite_from_record_5();
	assert_int_equal(verify_plain().result, VERIFY_INTACT);
	report = verify_with(options);
	assert_int_equal(report.result, VERIFY_BROKEN);
	assert_non_null(strstr(report.why.text, "anchored outside"));

	write_file("audit-000001.jsonl", content.data, (size_t)(line_start(&content, 10) - content.data));
	assert_int_equal(verify_plain().result, VERIFY_INTACT);
	report = verify_with(options);
	assert_int_equal(report.result, VERIFY_TRUNCATED);
	assert_non_null(strstr(report.why.text, "seq 24 was anchored outside"));
}

/* ---- rotation ---- */

static void make_rotated_log(unsigned files_max, int count)
{
	struct audit *audit = open_with((struct audit_options){ .copy_fd = -1, .file_limit_bytes = 4096, .files_max = files_max });

	record_numbers(audit, 0, count);
	assert_int_equal(audit_close(audit, true), 0);
}

static void rotation_keeps_the_chain_and_missing_files_are_found(void **state)
{
	static const char *const names[] = { "audit-000001.jsonl", "audit-000002.jsonl", "audit-000003.jsonl" };
	struct verify_report report;
	int64_t numbers[64];

	(void)state;
	make_rotated_log(8, 60);
	report = verify_with((struct verify_options){ .sealed = true });
	assert_int_equal(report.result, VERIFY_INTACT);
	assert_in_range(report.last_file, 4, 8);
	assert_int_equal(read_numbers(numbers, 64), 60);
	for (int i = 0; i < 60; i++)
		assert_int_equal(numbers[i], i);
	for (unsigned i = 0; i < 3; i++) {
		_cleanup_buf_ struct buf content = { 0 };

		read_file(names[i], &content);
		remove_file(names[i]);
		expect_result(VERIFY_BROKEN, "missing");
		write_file(names[i], content.data, content.len);
		/* Its end alone: */
		write_file(names[i], content.data, (size_t)(line_start(&content, 4) - content.data));
		assert_int_equal(verify_plain().result, VERIFY_BROKEN);
		write_file(names[i], content.data, content.len);
		assert_int_equal(verify_plain().result, VERIFY_INTACT);
	}
}

static void a_missing_newest_file_is_found(void **state)
{
	char name[FOLDER_NAME_BYTES];

	(void)state;
	make_rotated_log(8, 40);
	folder_file_name(verify_plain().last_file, name);
	remove_file(name);
	expect_result(VERIFY_TRUNCATED, name);
}

static void files_deleted_by_rotation_are_no_gap_but_one_more_is(void **state)
{
	struct verify_report report;
	char name[FOLDER_NAME_BYTES];

	(void)state;
	make_rotated_log(3, 100);
	report = verify_plain();
	assert_int_equal(report.result, VERIFY_INTACT);
	assert_int_equal(report.last_file - report.first_file, 2);
	assert_true(report.first_file > 1);
	assert_true(report.first_seq > 1);
	folder_file_name(report.first_file, name);
	remove_file(name);
	expect_result(VERIFY_BROKEN, "no record says that rotation deleted them");
}

static void a_restart_after_rotation_goes_on_in_the_next_file(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct audit *audit;
	char *end;

	(void)state;
	make_rotated_log(8, 40);
	/* As if it had stopped between the rotate record and the next file. */
	for (unsigned i = 2; i <= verify_plain().last_file; i++) {
		char name[FOLDER_NAME_BYTES];

		folder_file_name(i, name);
		if (file_exists(name))
			remove_file(name);
	}
	read_file("audit-000001.jsonl", &content);
	end = memrchr(content.data, '\n', content.len - 1);
	assert_non_null(strstr(end, "\"type\":\"rotate\""));
	audit = open_plain();
	record_numbers(audit, 0, 3);
	assert_int_equal(audit_close(audit, true), 0);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_INTACT);
	assert_int_equal(verify_plain().last_file, 2);
	/* And as if between the next file and its first record. */
	write_file("audit-000002.jsonl", "", 0);
	assert_int_equal(verify_plain().result, VERIFY_INTACT);
	audit = open_plain();
	record_numbers(audit, 0, 3);
	assert_int_equal(audit_close(audit, true), 0);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_INTACT);
}

/* ---- crashes ---- */

static void a_torn_line_stays_as_evidence(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct verify_report report;
	struct audit *audit;
	int64_t numbers[40];
	size_t torn_len;

	(void)state;
	make_small_log();
	read_file("audit-000001.jsonl", &content);
	torn_len = content.len - 40;
	write_file("audit-000001.jsonl", content.data, torn_len);

	audit = open_plain();
	record_numbers(audit, 10, 10);
	assert_int_equal(audit_close(audit, true), 0);
	report = verify_with((struct verify_options){ .sealed = true });
	assert_int_equal(report.result, VERIFY_INTACT);
	assert_int_equal(report.torn, 1);
	assert_int_equal(report.seq, 10 + 1 + 10 + 1);
	assert_int_equal(read_numbers(numbers, 40), 20);
	assert_int_equal(sum_of("recovered", NULL, NULL), 1);
	buf_reset(&content);
	read_file("audit-000001.jsonl", &content);
	assert_int_equal(content.len, torn_len);

	content.data[torn_len - 1] ^= 1;
	write_file("audit-000001.jsonl", content.data, torn_len);
	expect_result(VERIFY_BROKEN, "is not the one this record tells of");
	write_file("audit-000001.jsonl", content.data, torn_len - 1);
	expect_result(VERIFY_BROKEN, "is not the one this record tells of");
	write_file("audit-000001.jsonl", content.data, (size_t)(line_start(&content, 11) - content.data));
	assert_int_equal(verify_plain().result, VERIFY_BROKEN);
}

/* The recovery itself may be torn, and torn again, and the next file may be empty. */
static void repeated_crashes_are_recovered(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct audit *audit;

	(void)state;
	make_small_log();
	read_file("audit-000001.jsonl", &content);
	write_file("audit-000001.jsonl", content.data, content.len - 40);
	write_file("audit-000002.jsonl", "{\"v\":1,", 7);
	audit = open_plain();
	record_numbers(audit, 10, 2);
	assert_int_equal(audit_close(audit, false), 0);
	expect_intact(10 + 1 + 2);
	assert_int_equal(verify_plain().torn, 2);
	assert_int_equal(verify_plain().last_file, 3);

	remove_file("audit-000003.jsonl");
	write_file("audit-000003.jsonl", "", 0);
	audit = open_plain();
	record_numbers(audit, 10, 2);
	assert_int_equal(audit_close(audit, false), 0);
	expect_intact(10 + 1 + 2);
	assert_int_equal(verify_plain().last_file, 3);
}

static void a_log_torn_in_its_first_record_begins_anew(void **state)
{
	struct audit *audit;

	(void)state;
	write_file("audit-000001.jsonl", "{\"v\":1,\"se", 10);
	audit = open_plain();
	record_numbers(audit, 0, 2);
	assert_int_equal(audit_close(audit, false), 0);
	expect_intact(3);
}

static void record_for_ever(int copy_fd)
{
	struct audit *audit;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	audit = open_with((struct audit_options){ .copy_fd = copy_fd, .file_limit_bytes = 20000, .files_max = 999 });
	for (int i = 0;; i++)
		(void)record_number(audit, i, i % 7 == 0);
}

static void expect_unbroken(void)
{
	struct verify_report report = verify_plain();

	if (report.result == VERIFY_BROKEN)
		fail_msg("%s:%u: %s", report.why.file, report.why.line, report.why.text);
}

/* Killed at any moment, rotating as it goes: what is there chains, also while it grows, and the next one goes on from it. */
static void a_killed_writer_leaves_a_log_that_goes_on(void **state)
{
	(void)state;
	for (int round = 0; round < 25; round++) {
		int out[2], status;
		char shown[500];
		pid_t child;

		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			record_for_ever(out[1]);
		/* Some lines later, another number each time. */
		for (int i = 0; i <= round; i++)
			assert_true(read(out[0], shown, sizeof(shown)) > 0);
		if (round % 8 == 7)
			expect_unbroken();
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		close(out[0]);
		close(out[1]);
	}
	assert_int_equal(audit_close(open_plain(), true), 0);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_INTACT);
}

static int try_open(struct err *error)
{
	struct audit_options options = { .dir = dir, .run = "r", .boot = "b", .copy_fd = -1 };
	struct audit *audit;
	int r = audit_open(&options, &audit, error);

	if (r == 0)
		audit_close(audit, false);
	return r;
}

static void a_damaged_tail_is_not_continued(void **state)
{
	_cleanup_buf_ struct buf content = { 0 };
	struct err error = { 0 };

	(void)state;
	make_small_log();
	read_file("audit-000001.jsonl", &content);
	line_start(&content, 10)[30] ^= 1;
	write_file("audit-000001.jsonl", content.data, content.len);
	assert_int_equal(try_open(&error), -EBADMSG);
	assert_non_null(strstr(error.text, "audit-000001.jsonl"));
	line_start(&content, 10)[30] ^= 1;
	content.data[content.len - 2] = 'x';
	write_file("audit-000001.jsonl", content.data, content.len);
	assert_int_equal(try_open(&error), -EBADMSG);
	remove_file("audit-000001.jsonl");
	write_file("audit-000007.jsonl", "", 0);
	assert_int_equal(try_open(&error), -EBADMSG);
}

/* ---- whose files ---- */

static void a_second_writer_is_refused(void **state)
{
	struct audit *audit = open_plain();
	struct err error = { 0 };
	int status;
	pid_t child;

	(void)state;
	child = fork();
	if (child == 0)
		_exit(try_open(&error) == -EBUSY ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(audit_close(audit, false), 0);
	child = fork();
	if (child == 0)
		_exit(try_open(&error) == 0 ? 0 : 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void planted_folders_and_files_are_refused(void **state)
{
	char real[64], path[128];
	struct err error = { 0 };

	(void)state;
	strcpy(real, dir);
	path_of("link", path);
	assert_int_equal(symlink(real, path), 0);
	strcpy(dir, path);
	assert_true(try_open(&error) < 0);
	assert_non_null(strstr(error.text, "symlink"));
	strcpy(dir, real);
	remove_file("link");

	assert_int_equal(chown(dir, 12345, 0), 0);
	assert_int_equal(try_open(&error), -EPERM);
	assert_int_equal(chown(dir, 0, 0), 0);

	path_of("audit-000001.jsonl", path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(try_open(&error), -ELOOP);
	remove_file("audit-000001.jsonl");
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(try_open(&error), -EPERM);
	remove_file("audit-000001.jsonl");

	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(try_open(&error), 0);
	expect_result(VERIFY_INTACT, "");
}

/* ---- the copy ---- */

static void a_full_stdout_never_holds_the_log(void **state)
{
	_cleanup_buf_ struct buf shown = { 0 };
	struct audit *audit;
	int out[2];

	(void)state;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	audit = open_with((struct audit_options){ .copy_fd = out[1] });
	for (int i = 0; i < 3000; i++)
		assert_int_equal(record_number(audit, i, true), 0);
	assert_int_equal(audit_flush(audit, 60000), 0);
	assert_int_equal(fcntl(out[1], F_GETFL) & O_NONBLOCK, 0);	/* not ours to change */
	assert_int_equal(audit_close(audit, true), 0);
	close(out[1]);
	assert_int_equal(io_read_all(out[0], 1u << 20, &shown), 0);
	close(out[0]);
	assert_true(sum_of("seal", NULL, "copies_lost") > 0);
	assert_int_equal(shown.data[shown.len - 1], '\n');
	assert_non_null(strstr(shown.data, "DENY"));

	/* And nobody there to read at all. */
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	close(out[0]);
	audit = open_with((struct audit_options){ .copy_fd = out[1] });
	assert_int_equal(record_number(audit, 1, true), 0);
	assert_int_equal(audit_close(audit, true), 0);
	close(out[1]);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_INTACT);
}

static void wait_for_health(struct audit *audit, int health)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; i < 60000 && audit_health(audit) != health; i++)
		nanosleep(&pause, NULL);
	assert_int_equal(audit_health(audit), health);
}

/* ---- a disk that cannot keep what it took ---- */

static atomic_bool syncs_fail;

/* Stands before libc's for this whole program. */
int fdatasync(int fd)
{
	if (atomic_load(&syncs_fail)) {
		errno = EIO;
		return -1;
	}
	return fsync(fd);
}

/* After a failed sync the kernel calls the pages clean: the next sync works and proves nothing about them. */
static void records_a_failed_sync_left_in_doubt_are_named(void **state)
{
	struct audit *audit = open_with((struct audit_options){ .copy_fd = -1, .sync_ms = 10 });

	(void)state;
	atomic_store(&syncs_fail, true);
	for (int i = 0; i < 10; i++)
		(void)record_number(audit, i, false);
	wait_for_health(audit, -EIO);
	assert_int_equal(audit_flush(audit, 60000), -EIO);
	assert_int_equal(record_number(audit, 10, false), -EIO);
	atomic_store(&syncs_fail, false);
	wait_for_health(audit, 0);
	assert_int_equal(record_number(audit, 11, false), 0);
	assert_int_equal(audit_flush(audit, 60000), 0);
	assert_int_equal(audit_close(audit, true), 0);
	expect_intact(verify_plain().seq);
	assert_true(sum_of("audit_drop", "unsynced", "count") >= 1);
	assert_int_equal(sum_of("audit_drop", "unsynced", NULL), 1);
	assert_int_equal(sum_of("seal", NULL, "lost"), 0);
	assert_int_equal(sum_of("syscall", NULL, NULL), 12);
}

/* ---- a full disk ---- */

static void fill_disk(const char *name)
{
	char path[128], zeros[4096] = { 0 };
	int fd;

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, zeros, sizeof(zeros)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void a_full_disk_is_said_and_what_it_cost_is_recorded(void **state)
{
	enum { MANY = 6000 };
	_cleanup_free_ int64_t *numbers = calloc(2 * MANY, sizeof(*numbers));
	uint64_t lost, accepted = 0, refused = 0;
	struct timespec before, after;
	struct audit *audit;
	size_t count;

	(void)state;
	if (mount("tmpfs", dir, "tmpfs", 0, "size=3m,mode=0700") < 0)
		skip();
	audit = open_with((struct audit_options){ .copy_fd = -1, .sync_ms = 10 });
	record_numbers(audit, 0, 100);
	assert_int_equal(audit_flush(audit, 60000), 0);
	fill_disk("ballast");
	/* The page the log ends in still takes some records. */
	for (int i = 0; i < 200 && audit_health(audit) == 0; i++) {
		(void)record_number(audit, 100 + i, false);
		(void)audit_flush(audit, 1000);
		accepted++;
	}
	assert_int_equal(audit_health(audit), -ENOSPC);
	assert_int_equal(audit_flush(audit, 60000), -ENOSPC);

	/* Nobody waits for the disk, and denials have places of their own. */
	clock_gettime(CLOCK_MONOTONIC, &before);
	for (int i = 0; i < MANY; i++)
		assert_int_equal(record_number(audit, 1000 + i, i >= MANY / 2), -EIO);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_in_range(after.tv_sec - before.tv_sec, 0, 20);
	audit_counts(audit, NULL, &lost, NULL);
	refused = lost;
	assert_true(refused > 0 && refused < MANY);

	remove_file("ballast");
	wait_for_health(audit, 0);
	assert_int_equal(record_number(audit, 99999, false), 0);
	assert_int_equal(audit_flush(audit, 60000), 0);
	assert_int_equal(audit_close(audit, true), 0);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_INTACT);
	count = read_numbers(numbers, 2 * MANY);
	assert_int_equal(count, 100 + accepted + MANY - refused + 1);
	assert_int_equal(numbers[count - 1], 99999);
	assert_int_equal(sum_of("audit_drop", "log_failed", "count"), refused);
	assert_int_equal(sum_of("audit_drop", "log_failed", "denials"), refused);	/* others came first and found room */
	assert_int_equal(sum_of("seal", NULL, "lost"), refused);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

static void an_outage_without_loss_is_recorded_too(void **state)
{
	struct audit *audit;

	(void)state;
	if (mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=0700") < 0)
		skip();
	audit = open_with((struct audit_options){ .copy_fd = -1, .sync_ms = 10 });
	fill_disk("ballast");
	for (int i = 0; i < 200 && audit_health(audit) == 0; i++) {
		(void)record_number(audit, i, false);
		(void)audit_flush(audit, 1000);
	}
	assert_int_equal(audit_health(audit), -ENOSPC);
	remove_file("ballast");
	wait_for_health(audit, 0);
	assert_int_equal(audit_close(audit, true), 0);
	assert_int_equal(verify_with((struct verify_options){ .sealed = true }).result, VERIFY_INTACT);
	assert_int_equal(sum_of("audit_drop", "log_failed", NULL), 1);
	assert_int_equal(sum_of("audit_drop", "log_failed", "count"), 0);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

static void closing_on_a_full_disk_ends_with_its_error(void **state)
{
	struct audit *audit;
	struct err error = { 0 };
	int r;

	(void)state;
	if (mount("tmpfs", dir, "tmpfs", 0, "size=64k,mode=0700") < 0)
		skip();
	audit = open_plain();
	fill_disk("ballast");
	for (int i = 0; i < 100; i++)
		(void)record_number(audit, i, false);
	assert_int_equal(audit_close(audit, true), -ENOSPC);
	r = try_open(&error);
	assert_true(r == 0 || r == -ENOSPC);	/* a torn line would need a new file, for which there is no room */
	remove_file("ballast");
	assert_int_equal(try_open(&error), 0);
	assert_int_equal(verify_plain().result, VERIFY_INTACT);
	assert_int_equal(umount2(dir, MNT_DETACH), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_log_is_chained_and_sealed),
		TEST(anchors_come_by_time_too),
		TEST(a_restart_continues_the_chain),
		TEST(many_threads_record_at_once),
		TEST(a_long_record_is_cut_and_says_so),
		TEST(members_that_are_none_leave_only_a_note),
		TEST(any_flipped_byte_is_found),
		TEST(removed_repeated_and_moved_lines_are_found),
		TEST(a_cut_tail_is_found),
		TEST(a_rewritten_log_does_not_fit_anchors_kept_outside),
		TEST(rotation_keeps_the_chain_and_missing_files_are_found),
		TEST(a_missing_newest_file_is_found),
		TEST(files_deleted_by_rotation_are_no_gap_but_one_more_is),
		TEST(a_restart_after_rotation_goes_on_in_the_next_file),
		TEST(a_torn_line_stays_as_evidence),
		TEST(repeated_crashes_are_recovered),
		TEST(a_log_torn_in_its_first_record_begins_anew),
		TEST(a_killed_writer_leaves_a_log_that_goes_on),
		TEST(a_damaged_tail_is_not_continued),
		TEST(a_second_writer_is_refused),
		TEST(planted_folders_and_files_are_refused),
		TEST(a_full_stdout_never_holds_the_log),
		TEST(records_a_failed_sync_left_in_doubt_are_named),
		TEST(a_full_disk_is_said_and_what_it_cost_is_recorded),
		TEST(an_outage_without_loss_is_recorded_too),
		TEST(closing_on_a_full_disk_ends_with_its_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
