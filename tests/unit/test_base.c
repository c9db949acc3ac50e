/* SPDX-License-Identifier: Apache-2.0 */
/* The base room: every byte string stays readable and reversible, digests are the standard's, messages arrive whole or not at all. */
#include "supervisor/base/buf.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/err.h"
#include "supervisor/base/io.h"
#include "supervisor/base/json_out.h"
#include "supervisor/base/path.h"
#include "supervisor/base/sha256.h"
#include "supervisor/base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

static void errors_are_one_line_with_their_place(void **state)
{
	struct err e = { .file = "policy.json", .key = "rules[2].verdict", .line = 7, .column = 3 };
	char line[256], tiny[8];

	(void)state;
	assert_int_equal(err_set(&e, -EINVAL, "cannot use %s", "a\nb\033[0m"), -EINVAL);
	assert_string_equal(e.text, "cannot use a?b?[0m");
	assert_int_equal(err_prefix(&e, -EIO, "load %d", 1), -EIO);
	err_format(&e, line, sizeof(line));
	assert_string_equal(line, "policy.json:7:3: rules[2].verdict: load 1: cannot use a?b?[0m");
	err_format(&e, tiny, sizeof(tiny));
	assert_string_equal(tiny, "policy.");
	e = (struct err){ .line = 7 };
	err_set(&e, 0, "bare");
	err_format(&e, line, sizeof(line));
	assert_string_equal(line, "bare");
	assert_int_equal(err_set(NULL, -EPERM, "x"), -EPERM);
	assert_int_equal(err_prefix(NULL, -EPERM, "x"), -EPERM);
}

static void long_errors_are_cut(void **state)
{
	struct err e = { 0 };
	char text[1000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&e, 0, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	err_prefix(&e, 0, "%s", text);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
}

static void buffers_grow_and_stay_terminated(void **state)
{
	_cleanup_buf_ struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < 1000; i++)
		buf_format(&b, "%d,", i);
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	assert_int_equal(b.data[b.len], '\0');
	buf_append(&b, "x", SIZE_MAX / 2);
	assert_true(b.failed);
	buf_text(&b, "y");
	assert_int_equal(b.len, 10 * 2 + 90 * 3 + 900 * 4);
	buf_reset(&b);
	assert_false(b.failed);
	buf_char(&b, 'z');
	assert_string_equal(b.data, "z");
}

static void expect_bytes(const char *input, size_t len, const char *json)
{
	_cleanup_buf_ struct buf b = { 0 };
	struct json_out j = { .buf = &b };

	json_bytes(&j, NULL, (struct bytes){ input, len });
	assert_string_equal(b.data, json);
}
#define EXPECT_BYTES(literal, json) expect_bytes(literal, sizeof(literal) - 1, json)

static void bytes_are_percent_escaped_where_they_could_lie(void **state)
{
	(void)state;
	EXPECT_BYTES("/etc/pass wd~", "\"/etc/pass wd~\"");
	EXPECT_BYTES("", "\"\"");
	expect_bytes(NULL, 0, "\"\"");
	EXPECT_BYTES("100%", "\"100%25\"");
	EXPECT_BYTES("a\"b\\c", "\"a\\\"b\\\\c\"");
	EXPECT_BYTES("a\0b\nc\x7f", "\"a%00b%0Ac%7F\"");
	EXPECT_BYTES("\xc3\xa9", "\"\\u00e9\"");
	EXPECT_BYTES("\xf0\x9f\x98\x80", "\"\\ud83d\\ude00\"");
	EXPECT_BYTES("\xff\xfe", "\"%FF%FE\"");
	EXPECT_BYTES("\xc3", "\"%C3\"");				/* cut short */
	EXPECT_BYTES("\xc0\xaf", "\"%C0%AF\"");			/* overlong "/" */
	EXPECT_BYTES("\xed\xa0\x80", "\"%ED%A0%80\"");		/* surrogate */
	EXPECT_BYTES("\xf4\x90\x80\x80", "\"%F4%90%80%80\"");	/* above U+10FFFF */
	EXPECT_BYTES("\xc2\x9b" "31m", "\"%C2%9B31m\"");		/* C1 CSI */
	EXPECT_BYTES("a\xe2\x80\xae" "b", "\"a%E2%80%AEb\"");		/* RLO */
	EXPECT_BYTES("\xe2\x81\xa6", "\"%E2%81%A6\"");		/* LRI */
	EXPECT_BYTES("\xd8\x9c", "\"%D8%9C\"");			/* ALM */
	EXPECT_BYTES("\xe2\x80\xa8\xe2\x80\xa9", "\"%E2%80%A8%E2%80%A9\"");
	EXPECT_BYTES("\xf3\xa0\x81\x81", "\"%F3%A0%81%81\"");	/* tag A */
}

static int hex_value(char c)
{
	return c <= '9' ? c - '0' : c - 'A' + 10;
}

/* What a reader of the log does: JSON, then percent. Must be the identity for whatever bytes. */
static void any_bytes_come_back(void **state)
{
	uint32_t seed = 12345;

	(void)state;
	for (int round = 0; round < 3000; round++) {
		_cleanup_buf_ struct buf b = { 0 };
		struct json_out j = { .buf = &b };
		char in[24], out[24];
		size_t len, n = 0;
		json_t *value;
		const char *text;

		seed = seed * 1103515245 + 12345;
		len = seed >> 16 & 15;
		for (size_t i = 0; i < len; i++) {
			seed = seed * 1103515245 + 12345;
			in[i] = (char)(round & 1 ? "\xe2\x80\xae%\xf0\x9f\x98\x80\xc3\xa9\"\\A\0\n\xff"[seed >> 16 & 15] : (char)(seed >> 16));
		}
		json_bytes(&j, NULL, (struct bytes){ in, len });
		for (size_t i = 0; i < b.len; i++)
			assert_in_range((unsigned char)b.data[i], 0x20, 0x7e);
		value = json_loads(b.data, JSON_DECODE_ANY, NULL);
		assert_non_null(value);
		text = json_string_value(value);
		for (size_t i = 0; i < json_string_length(value); i++) {
			if (text[i] == '%') {
				out[n++] = (char)(hex_value(text[i + 1]) << 4 | hex_value(text[i + 2]));
				i += 2;
			} else {
				out[n++] = text[i];
			}
		}
		assert_int_equal(n, len);
		assert_memory_equal(out, in, len);
		json_decref(value);
	}
}

static void json_has_its_commas(void **state)
{
	_cleanup_buf_ struct buf b = { 0 };
	struct json_out j = { .buf = &b };

	(void)state;
	json_object_begin(&j, NULL);
	json_text(&j, "a", "x\ny%\xff\xe2\x80\xae\x7f");
	json_text(&j, "none", NULL);
	json_array_begin(&j, "list");
	json_int(&j, NULL, INT64_MIN);
	json_uint(&j, NULL, UINT64_MAX);
	json_object_begin(&j, NULL);
	json_object_end(&j);
	json_array_end(&j);
	json_bool(&j, "t", true);
	json_bool(&j, "f", false);
	json_raw(&j, "raw", "{\"k\":[1]}");
	json_object_end(&j);
	assert_string_equal(b.data, "{\"a\":\"x\\u000ay%\\ufffd\\u202e\\u007f\",\"list\":[-9223372036854775808,18446744073709551615,{}],"
				    "\"t\":true,\"f\":false,\"raw\":{\"k\":[1]}}");
}

static void digests_are_the_standards(void **state)
{
	char hex[65], million[1000];
	struct sha256 s;
	uint8_t digest[32];

	(void)state;
	sha256_of("", 0, hex);
	assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_of("abc", 3, hex);
	assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, hex);
	assert_string_equal(hex, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	sha256_of("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu", 112, hex);
	assert_string_equal(hex, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
	memset(million, 'a', sizeof(million));
	sha256_init(&s);
	for (int i = 0; i < 1000; i++)
		sha256_update(&s, million, sizeof(million));
	sha256_final(&s, digest);
	sha256_hex(digest, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The processor's rounds, where it has them, and ours. */
static void both_ways_to_digest_are_the_standards(void **state)
{
	char data[4096], plain[65], processors[65];

	sha256_use_processor(false);
	digests_are_the_standards(state);
	for (unsigned i = 0; i < 1000; i++) {
		for (size_t at = 0; at < sizeof(data); at++)
			data[at] = (char)((i * 2654435761U + at * 40503U) >> 7);
		sha256_use_processor(false);
		sha256_of(data, i * 4, plain);
		sha256_use_processor(true);
		sha256_of(data, i * 4, processors);
		assert_string_equal(plain, processors);
	}
}

/* Padding at every length around the block edges, and every way of cutting the input. */
static void digests_do_not_depend_on_how_input_is_cut(void **state)
{
	char data[200], whole[65], cut[65];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7);
	for (size_t len = 0; len < sizeof(data); len++) {
		sha256_of(data, len, whole);
		for (size_t step = 1; step < 70; step += 13) {
			struct sha256 s;
			uint8_t digest[32];

			sha256_init(&s);
			for (size_t at = 0; at < len; at += step)
				sha256_update(&s, data + at, len - at < step ? len - at : step);
			sha256_final(&s, digest);
			sha256_hex(digest, cut);
			assert_string_equal(cut, whole);
		}
	}
}

static int temporary_file(const void *data, size_t len)
{
	int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, data, len), 0);
	return fd;
}

static void descriptors_are_hashed_from_their_start(void **state)
{
	static char data[100000];
	_cleanup_close_ int fd = -1;
	char of_file[65], of_bytes[65];
	int pair[2];

	(void)state;
	memset(data, 'q', sizeof(data));
	fd = temporary_file(data, sizeof(data));
	sha256_of(data, sizeof(data), of_bytes);
	assert_int_equal(sha256_fd(fd, sizeof(data), of_file), 0);
	assert_string_equal(of_file, of_bytes);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), sizeof(data));
	assert_int_equal(sha256_fd(fd, sizeof(data) - 1, of_file), -EFBIG);
	assert_int_equal(sha256_fd(-1, 10, of_file), -EBADF);
	assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
	assert_int_equal(sha256_fd(pair[0], 10, of_file), -ESPIPE);
	close(pair[0]);
	close(pair[1]);
}

static void expect_normal(const char *base, const char *path, const char *normal)
{
	char out[PATH_MAX] = "untouched";

	assert_int_equal(path_normalize(base, path, out, sizeof(out)), 0);
	assert_string_equal(out, normal);
}

static void paths_become_normal(void **state)
{
	char out[8] = "old", deep[PATH_MAX + 1];

	(void)state;
	expect_normal("/w", "a", "/w/a");
	expect_normal("/w/", "./a//b/.", "/w/a/b");
	expect_normal("/w/x", "../../../../etc", "/etc");
	expect_normal("/w", "..", "/");
	expect_normal("/w", "/", "/");
	expect_normal("/", "a/..", "/");
	expect_normal(NULL, "//usr//bin/../lib", "/usr/lib");
	expect_normal("/w", "...", "/w/...");
	expect_normal("/w", "..a/b..", "/w/..a/b..");
	assert_int_equal(path_normalize("/w", "", out, sizeof(out)), -EINVAL);
	assert_int_equal(path_normalize("w", "a", out, sizeof(out)), -EINVAL);
	assert_int_equal(path_normalize(NULL, "a", out, sizeof(out)), -EINVAL);
	assert_int_equal(path_normalize("/w", "1234567", out, sizeof(out)), -ENAMETOOLONG);
	assert_int_equal(path_normalize("/", "1234567", out, sizeof(out)), -ENAMETOOLONG);
	assert_string_equal(out, "old");
	assert_int_equal(path_normalize("/", "123456", out, sizeof(out)), 0);
	assert_string_equal(out, "/123456");
	memset(deep, '/', PATH_MAX);
	deep[PATH_MAX] = '\0';
	assert_int_equal(path_normalize(NULL, deep, out, sizeof(out)), -ENAMETOOLONG);
}

static void paths_are_under_roots_by_component(void **state)
{
	(void)state;
	assert_true(path_is_under("/w", "/w"));
	assert_true(path_is_under("/w/a", "/w"));
	assert_false(path_is_under("/workspace", "/w"));
	assert_false(path_is_under("/", "/w"));
	assert_true(path_is_under("/anything", "/"));
	assert_string_equal(path_base("/usr/bin/sh"), "sh");
	assert_string_equal(path_base("sh"), "sh");
	assert_string_equal(path_base("/usr/"), "");
}

static void files_are_read_whole_or_refused(void **state)
{
	char folder[] = "/tmp/cordon-base-XXXXXX";
	_cleanup_buf_ struct buf b = { 0 };
	_cleanup_close_ int dir = -1;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fd = openat(dir, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(io_write_all(fd, "content", 7), 0);
	close(fd);
	assert_int_equal(symlinkat("file", dir, "link"), 0);
	assert_int_equal(mkfifoat(dir, "fifo", 0600), 0);
	assert_int_equal(io_read_file(dir, "file", 7, &b), 0);
	assert_string_equal(b.data, "content");
	buf_reset(&b);
	assert_int_equal(io_read_file(dir, "file", 6, &b), -EFBIG);
	assert_int_equal(io_read_file(dir, "link", 7, &b), -ELOOP);
	assert_int_equal(io_read_file(dir, "fifo", 7, &b), -EINVAL);
	assert_int_equal(io_read_file(dir, ".", 7, &b), -EINVAL);
	assert_int_equal(io_read_file(dir, "missing", 7, &b), -ENOENT);
	unlinkat(dir, "file", 0);
	unlinkat(dir, "link", 0);
	unlinkat(dir, "fifo", 0);
	assert_int_equal(rmdir(folder), 0);
}

static unsigned open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned count = 0;

	while (readdir(d))
		count++;
	closedir(d);
	return count;
}

static void messages_bring_their_descriptors(void **state)
{
	int pair[2], fds[IO_FDS_MAX], file = temporary_file("hello", 5), send_fds[2] = { file, file };
	unsigned nr = 99;
	char data[8], byte[6] = { 0 };

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(io_send(pair[0], "ping", 4, send_fds, 2, 0), 0);
	assert_int_equal(io_receive(pair[1], data, sizeof(data), fds, 2, &nr, 0), 4);
	assert_int_equal(nr, 2);
	assert_memory_equal(data, "ping", 4);
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(pread(fds[1], byte, 5, 0), 5);
	assert_string_equal(byte, "hello");
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(io_send(pair[0], "pong", 4, NULL, 0, 0), 0);
	assert_int_equal(io_receive(pair[1], data, 4, NULL, 0, NULL, 0), 4);
	assert_int_equal(io_receive(pair[1], data, 4, NULL, 0, NULL, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(io_send(pair[0], "", 0, NULL, 0, 0), -EINVAL);
	close(pair[0]);
	assert_int_equal(io_receive(pair[1], data, 4, NULL, 0, NULL, 0), 0);
	assert_int_equal(io_send(pair[1], "x", 1, NULL, 0, 0), -EPIPE);
	close(pair[1]);
	close(file);
}

/* However many come and however little room we asked for: nothing stays open behind our back. */
static void unexpected_descriptors_are_closed(void **state)
{
	int pair[2], fds[IO_FDS_MAX], many[IO_FDS_MAX];
	unsigned nr = 99, before;
	char data[8];

	(void)state;
	for (unsigned i = 0; i < IO_FDS_MAX; i++)
		many[i] = STDERR_FILENO;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = open_descriptors();
	for (unsigned sent = 1; sent <= IO_FDS_MAX; sent++) {
		for (unsigned max = 0; max < sent; max++) {
			assert_int_equal(io_send(pair[0], "ping", 4, many, sent, 0), 0);
			assert_int_equal(io_receive(pair[1], data, sizeof(data), fds, max, max ? &nr : NULL, 0), -EMSGSIZE);
		}
	}
	assert_int_equal(nr, 99);
	assert_int_equal(io_send(pair[0], "longer than 8", 13, many, 3, 0), 0);
	assert_int_equal(io_receive(pair[1], data, sizeof(data), fds, IO_FDS_MAX, &nr, 0), -EMSGSIZE);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(io_send(pair[0], "x", 1, many, IO_FDS_MAX + 1, 0), -EINVAL);
	assert_int_equal(io_receive(pair[1], data, sizeof(data), fds, IO_FDS_MAX + 1, &nr, MSG_DONTWAIT), -EINVAL);
	close(pair[0]);
	close(pair[1]);
}

/* A sender that does not use io_send: more than any control buffer of ours, and an empty message with a descriptor. */
static void foreign_senders_leak_nothing(void **state)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(100 * sizeof(int))] = { 0 };
	int pair[2], fds[IO_FDS_MAX];
	struct iovec iov = { (char[]){ 'x' }, 1 };
	struct msghdr message = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	unsigned nr, before;
	char data[8];

	(void)state;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(100 * sizeof(int));		/* a hundred times descriptor 0 */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	before = open_descriptors();
	assert_int_equal(sendmsg(pair[0], &message, 0), 1);
	assert_int_equal(io_receive(pair[1], data, sizeof(data), fds, IO_FDS_MAX, &nr, 0), -EMSGSIZE);
	header->cmsg_len = CMSG_LEN(sizeof(int));
	message.msg_controllen = CMSG_SPACE(sizeof(int));
	iov.iov_len = 0;
	assert_int_equal(sendmsg(pair[0], &message, 0), 0);
	assert_int_equal(io_receive(pair[1], data, sizeof(data), fds, IO_FDS_MAX, &nr, 0), 0);
	assert_int_equal(nr, 0);
	assert_int_equal(open_descriptors(), before);
	close(pair[0]);
	close(pair[1]);
}

static void small_numbers_and_addresses_read_as_ever(void **state)
{
	char text[TEXT_NUMBER_BYTES], expected[TEXT_IPV4_BYTES];

	(void)state;
	for (uint32_t number = 0, step = 1; number < UINT32_MAX - step; number += step, step += step / 3 + 1) {
		snprintf(expected, sizeof(expected), "%u", number);
		assert_int_equal(text_number(number, text), strlen(expected));
		assert_string_equal(text, expected);
	}
	assert_int_equal(text_number(UINT32_MAX, text), 10);
	assert_string_equal(text, "4294967295");
	for (unsigned i = 0; i < 256; i++) {
		const uint8_t address[4] = { (uint8_t)i, (uint8_t)(255 - i), 0, 127 };
		char shown[TEXT_IPV4_BYTES];

		snprintf(expected, sizeof(expected), "%u.%u.0.127", i, 255 - i);
		assert_int_equal(text_ipv4(address, shown), strlen(expected));
		assert_string_equal(shown, expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_numbers_and_addresses_read_as_ever),
		cmocka_unit_test(errors_are_one_line_with_their_place),
		cmocka_unit_test(long_errors_are_cut),
		cmocka_unit_test(buffers_grow_and_stay_terminated),
		cmocka_unit_test(bytes_are_percent_escaped_where_they_could_lie),
		cmocka_unit_test(any_bytes_come_back),
		cmocka_unit_test(json_has_its_commas),
		cmocka_unit_test(digests_are_the_standards),
		cmocka_unit_test(both_ways_to_digest_are_the_standards),
		cmocka_unit_test(digests_do_not_depend_on_how_input_is_cut),
		cmocka_unit_test(descriptors_are_hashed_from_their_start),
		cmocka_unit_test(paths_become_normal),
		cmocka_unit_test(paths_are_under_roots_by_component),
		cmocka_unit_test(files_are_read_whole_or_refused),
		cmocka_unit_test(messages_bring_their_descriptors),
		cmocka_unit_test(unexpected_descriptors_are_closed),
		cmocka_unit_test(foreign_senders_leak_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
