/* SPDX-License-Identifier: Apache-2.0 */
/* The one-line form of records: exact lines for the kinds there are, and nothing unprintable whatever a record holds. */
#include "supervisor/audit/ring.h"
#include "supervisor/audit/shorthand.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void format(struct buf *line, const char *type, const char *severity, const char *members, bool colour)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct record record;
	struct err error = { 0 };

	buf_format(&text, "{\"v\":1,\"seq\":1042,\"ts\":\"2026-11-30T15:04:05.123456Z\",\"mono_us\":9,\"run\":\"r\",\"boot\":\"b\",\"type\":\"%s\","
		   "\"sev\":\"%s\",\"prev\":\"" RECORD_NO_PREV "\"%s%s}", type, severity, *members ? "," : "", members);
	if (record_parse((struct bytes){ text.data, text.len }, &record, &error) < 0)
		fail_msg("%s: %s", error.text, text.data);
	shorthand_format(line, &record, colour);
	record_free(&record);
}

static void expect_line(const char *type, const char *severity, const char *members, const char *expected)
{
	_cleanup_buf_ struct buf line = { 0 };

	format(&line, type, severity, members, false);
	assert_string_equal(line.data, expected);
}

static void calls_show_who_what_and_why(void **state)
{
	(void)state;
	expect_line("syscall", "med",
		    "\"decision\":\"deny\",\"errno\":\"EACCES\",\"mode\":\"guarded\",\"rule\":{\"id\":\"guarded.outside_root\",\"file\":\"x\"},\"tag\":\"outside_root\","
		    "\"sys\":{\"nr\":257,\"name\":\"openat\",\"args\":[\"0x1\"],\"path\":{\"path\":\"../etc/x\",\"resolved\":\"/etc/x\",\"writes\":true}},"
		    "\"proc\":{\"pid\":1234,\"exe\":{\"path\":\"/usr/bin/cp\"}},\"launch\":7",
		    "15:04:05.123 #1042   DENY   med  openat    cp(1234) -> W /etc/x  [guarded.outside_root EACCES launch:7]");
	expect_line("syscall", "info",
		    "\"decision\":\"allow\",\"rule\":{},\"sys\":{\"name\":\"execve\",\"exec\":{\"path\":\"git\",\"resolved\":\"/usr/bin/git\",\"argv\":[\"git\",\"log\",\"a b\",\"\"],"
		    "\"argc\":4}},\"proc\":{\"pid\":5,\"exe\":{\"path\":\"/bin/sh\"}},\"launch\":7,\"agent\":\"a1\",\"unreviewed\":true,"
		    "\"shadow\":{\"decision\":\"review\"}",
		    "15:04:05.123 #1042   ALLOW  info execve    sh(5) -> X /usr/bin/git log 'a b' ''  [launch:7 agent:a1 shadow:review unreviewed]");
	expect_line("syscall", "high",
		    "\"decision\":\"kill\",\"errno\":111,\"tag\":\"network_guard\",\"sys\":{\"name\":\"connect\",\"sock\":{\"family\":10,\"addr\":\"::1\",\"port\":443}},"
		    "\"proc\":{\"pid\":5,\"err\":\"exited\"}",
		    "15:04:05.123 #1042   KILL   high connect   ?(5) -> [::1]:443  [network_guard ECONNREFUSED]");
	expect_line("syscall", "med", "\"decision\":\"deny\",\"sys\":{\"name\":\"connect\",\"sock\":{\"family\":1,\"path\":\"/run/x.sock\"}},\"proc\":{\"exe\":\"/bin/a\"}",
		    "15:04:05.123 #1042   DENY   med  connect   a -> /run/x.sock");
	expect_line("syscall", "med", "\"decision\":\"deny\",\"sys\":{\"name\":\"kill\",\"sig\":{\"target\":1,\"signo\":9}},\"proc\":{\"pid\":5,\"comm\":\"k\"},\"tag\":\"hardline\"",
		    "15:04:05.123 #1042   DENY   med  kill      k(5) -> sig={\"target\":1,\"signo\":9}  [hardline]");
	expect_line("syscall", "med", "\"decision\":\"deny\",\"sys\":{\"name\":\"ptrace\"},\"proc\":{\"pid\":5,\"comm\":\"k\"}",
		    "15:04:05.123 #1042   DENY   med  ptrace    k(5)");
	expect_line("cmd_begin", "med", "\"decision\":\"deny\",\"tag\":\"hardline\",\"agent\":\"a1\",\"argv\":[\"rm\",\"-rf\",\"/\"],\"cwd\":\"/w\"",
		    "15:04:05.123 #1042   DENY   med  cmd_begin /w$ rm -rf /  [hardline agent:a1]");
}

static void other_records_show_their_members(void **state)
{
	(void)state;
	expect_line("cmd_begin", "info", "\"launch\":7,\"agent\":\"a1\",\"mode\":\"guarded\",\"uid\":1000,\"argv\":[\"sh\",\"-c\",\"ls | wc\"],\"cwd\":\"/w\"",
		    "15:04:05.123 #1042   RUN    info launch:7  agent=a1 mode=guarded uid=1000 /w$ sh -c 'ls | wc'");
	expect_line("cmd_end", "info", "\"launch\":7,\"exit\":0,\"denials\":2", "15:04:05.123 #1042   END    info launch:7  exit=0 denials=2");
	expect_line("state", "info", "\"state\":\"ready\",\"why\":\"all up\"", "15:04:05.123 #1042   NOTE   info state     state=ready why=all up");
	expect_line("anchor", "info", "\"head\":{\"seq\":7,\"hash\":\"ab\"}", "15:04:05.123 #1042   ANCHOR info anchor    seq=7 hash=ab");
	expect_line("audit_drop", "high", "\"count\":3,\"class\":\"ring_full\"", "15:04:05.123 #1042   LOST   high audit_drop count=3 class=ring_full");
	expect_line("x", "info", "", "15:04:05.123 #1042   NOTE   info x");
}

/* Members of any shape, and text that would move the cursor or hide itself. */
static void nothing_unprintable_comes_out(void **state)
{
	static const char *const nasty[] = {
		"\"decision\":\"deny\",\"sys\":{\"name\":\"a\\u001b[2Jb\",\"path\":\"\\u202ex\\u009b\"},\"proc\":{\"pid\":-1,\"comm\":\"\\n\\r\\t\"},\"errno\":\"\\u0000\"",
		"\"decision\":7,\"sys\":[1],\"proc\":\"x\",\"errno\":{},\"rule\":[],\"launch\":{\"\\u001b\":1}",
		"\"decision\":\"deny\",\"sys\":{\"exec\":{\"argv\":[1,null,{},\"\\u0007\"]},\"path\":7,\"sock\":[]},\"proc\":{\"exe\":[]}",
		"\"decision\":\"deny\",\"sys\":{\"path\":{}},\"proc\":{}",
		"\"decision\":\"deny\",\"sys\":{\"sock\":{}},\"errno\":99999",
		"\"launch\":null,\"argv\":7,\"\\u001b[31m\":\"\\u2028\"",
		"\"head\":7", "\"head\":{\"seq\":[],\"hash\":{}}", "\"decision\":\"deny\",\"argv\":{}",
	};
	static const char *const types[] = { "syscall", "cmd_begin", "cmd_end", "anchor", "state" };

	(void)state;
	for (unsigned i = 0; i < ARRAY_SIZE(nasty) * ARRAY_SIZE(types); i++) {
		_cleanup_buf_ struct buf line = { 0 };
		uint32_t point;

		format(&line, types[i % ARRAY_SIZE(types)], "med", nasty[i / ARRAY_SIZE(types)], false);
		for (size_t at = 0; at < line.len;) {
			unsigned len = text_decode((struct bytes){ line.data + at, line.len - at }, &point);

			assert_true(len > 0 && text_is_plain(point));
			at += len;
		}
	}
}

static void lines_have_an_end(void **state)
{
	_cleanup_buf_ struct buf members = { 0 }, line = { 0 };

	(void)state;
	for (int i = 0; i < 200; i++)
		buf_format(&members, "%s\"m%d\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"", i ? "," : "", i);
	format(&line, "state", "info", members.data, false);
	assert_in_range(line.len, 1400, 1503);
	assert_string_equal(line.data + line.len - 3, "...");
	assert_int_equal(line.len, strlen(line.data));
}

static void colour_is_only_around_words(void **state)
{
	_cleanup_buf_ struct buf line = { 0 };

	(void)state;
	format(&line, "syscall", "high", "\"decision\":\"deny\",\"sys\":{\"name\":\"x\"}", true);
	assert_string_equal(line.data, "15:04:05.123 #1042   \033[31mDENY  \033[0m \033[1mhigh\033[0m x         ?");
}

/* The ring against a plain array that does the same. */
static void the_ring_gives_back_what_was_put_in(void **state)
{
	static unsigned char expected_len[1u << 18];
	struct ring r;
	unsigned pushed = 0, popped = 0, refused = 0, reserved = 0;
	uint32_t seed = 1;
	static char data[RING_RECORD_MAX - 1];

	(void)state;
	assert_int_equal(ring_init(&r), 0);
	for (unsigned round = 0; round < 200000; round++) {
		/* It fills and empties in long waves. */
		bool push = (seed >> 16) % 8 < ((round / 12000) % 2 ? 2u : 6u);

		seed = seed * 1103515245 + 12345;
		if (push) {
			size_t len = (seed >> 8) % 23 * ((seed >> 20) % 250);
			struct ring_slot slot = { .real_us = pushed, .urgent = (seed >> 16) % 3 == 0 };

			memset(data, (int)(pushed & 0xff), len);
			enum ring_claim claim = slot.urgent ? RING_URGENT : RING_PLAIN;

			/* A reservation is kept for a while; then its record finds room, however full the ring is. */
			if ((seed >> 12) % 5 == 0 && ring_reserve(&r) == 0)
				reserved++;
			if (reserved && (seed >> 10) % 7 == 0) {
				len = (seed >> 20) % 3 ? sizeof(data) : len;
				memset(data, (int)(pushed & 0xff), len);
				assert_int_equal(ring_push(&r, slot, RING_RESERVED, bytes_of("t"), (struct bytes){ data, len }), 0);
				expected_len[pushed++] = (unsigned char)len;
				reserved--;
			} else if (ring_push(&r, slot, claim, bytes_of("t"), (struct bytes){ data, len }) == 0)
				expected_len[pushed++] = (unsigned char)len;
			else
				refused++;
		} else if (popped < pushed) {
			struct bytes type, members;
			const struct ring_slot *slot = ring_peek(&r, &type, &members);

			assert_non_null(slot);
			assert_int_equal(slot->real_us, popped);
			assert_int_equal(type.len, 1);
			assert_int_equal(members.len & 0xff, expected_len[popped]);
			for (size_t i = 0; i < members.len; i++)
				assert_true((unsigned char)members.data[i] == (popped & 0xff));
			ring_pop(&r);
			popped++;
		}
		assert_int_equal(r.count, pushed - popped);
		assert_int_equal(r.reserved, reserved);
	}
	assert_true(refused > 0);	/* or it was never full */
	ring_free(&r);
}

static void a_quarter_of_the_ring_is_for_urgent_records(void **state)
{
	struct ring r;
	unsigned count = 0;

	(void)state;
	assert_int_equal(ring_init(&r), 0);
	assert_true(ring_has_room(&r));
	while (ring_push(&r, (struct ring_slot){ 0 }, RING_PLAIN, bytes_of("t"), bytes_of("x")) == 0)
		count++;
	assert_int_equal(count, RING_SLOTS / 4 * 3);
	assert_false(ring_has_room(&r));
	assert_int_equal(ring_reserve(&r), -ENOBUFS);
	while (ring_push(&r, (struct ring_slot){ .urgent = true }, RING_URGENT, bytes_of("t"), bytes_of("x")) == 0)
		count++;
	assert_int_equal(count, RING_SLOTS);
	ring_pop(&r);
	assert_int_equal(ring_push(&r, (struct ring_slot){ 0 }, RING_PLAIN, bytes_of("t"), bytes_of("x")), -ENOBUFS);
	ring_free(&r);
}

/* However others fill the ring, urgent ones too, the longest records find the room that was reserved for them. */
static void what_is_reserved_is_there(void **state)
{
	static char data[RING_RECORD_MAX - 1];
	struct ring r;
	unsigned reserved = 0;

	(void)state;
	assert_int_equal(ring_init(&r), 0);
	for (unsigned i = 0; i < 100; i++) { /* so that it does not begin at the bottom */
		assert_int_equal(ring_push(&r, (struct ring_slot){ 0 }, RING_PLAIN, bytes_of("t"), (struct bytes){ data, 9999 }), 0);
		if (i > 50)
			ring_pop(&r);
	}
	while (reserved < 100 && ring_reserve(&r) == 0)
		reserved++;
	assert_int_equal(reserved, 100);
	for (unsigned len = 9999; len; len /= 2)
		while (ring_push(&r, (struct ring_slot){ .urgent = true }, RING_URGENT, bytes_of("t"), (struct bytes){ data, len }) == 0)
			;
	assert_int_equal(ring_push(&r, (struct ring_slot){ .urgent = true }, RING_URGENT, bytes_of("t"), bytes_of("x")), -ENOBUFS);
	ring_unreserve(&r);
	while (--reserved)
		assert_int_equal(ring_push(&r, (struct ring_slot){ 0 }, RING_RESERVED, bytes_of("t"), (struct bytes){ data, sizeof(data) }), 0);
	assert_int_equal(r.reserved, 0);
	ring_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_show_who_what_and_why),
		cmocka_unit_test(other_records_show_their_members),
		cmocka_unit_test(nothing_unprintable_comes_out),
		cmocka_unit_test(lines_have_an_end),
		cmocka_unit_test(colour_is_only_around_words),
		cmocka_unit_test(the_ring_gives_back_what_was_put_in),
		cmocka_unit_test(a_quarter_of_the_ring_is_for_urgent_records),
		cmocka_unit_test(what_is_reserved_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
