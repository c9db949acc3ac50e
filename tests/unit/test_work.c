/* SPDX-License-Identifier: Apache-2.0 */
/*
 * However a text is made, judging it takes a bounded amount of work that grows as the text does. Work is counted, not timed: this program's own copy
 * of the judge and of what it stands on calls a counter in each basic block (tests/CMakeLists.txt), and what the C library's functions walk along is
 * added to it. So the same text gives the same number, on any machine at any load.
 */
#include "supervisor/analyze/shell.h"
#include "supervisor/judge/judge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/long_texts.h"
#include "tests/unit/shipped_policy.h"

/* ---- the counter ---- */

#define BYTES_A_BLOCK 16	/* which the library's functions walk along in the time of a block */

static uint64_t work;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
	work++;
}

static void walked(size_t bytes)
{
	work += bytes / BYTES_A_BLOCK;
}

#define COUNTED(type, name, parameters, arguments, bytes)                                                                                                  \
	type __real_##name parameters;                                                                                                                     \
	type __wrap_##name parameters;                                                                                                                     \
	type __wrap_##name parameters                                                                                                                      \
	{                                                                                                                                                  \
		type result = __real_##name arguments;                                                                                                     \
		walked(bytes);                                                                                                                             \
		return result;                                                                                                                             \
	}

COUNTED(size_t, strlen, (const char *s), (s), result)
COUNTED(size_t, strspn, (const char *s, const char *set), (s, set), 16 * result)
COUNTED(size_t, strcspn, (const char *s, const char *set), (s, set), 16 * result)
COUNTED(char *, strpbrk, (const char *s, const char *set), (s, set), 16 * (result ? (size_t)(result - s) : __real_strlen(s)))
COUNTED(char *, strchr, (const char *s, int c), (s, c), result ? (size_t)(result - s) : __real_strlen(s))
COUNTED(char *, strrchr, (const char *s, int c), (s, c), __real_strlen(s))
COUNTED(char *, strchrnul, (const char *s, int c), (s, c), (size_t)(result - s))
COUNTED(char *, strstr, (const char *s, const char *t), (s, t), 4 * (result ? (size_t)(result - s) : __real_strlen(s)))
COUNTED(char *, strcasestr, (const char *s, const char *t), (s, t), 16 * (result ? (size_t)(result - s) : __real_strlen(s)))
COUNTED(void *, memchr, (const void *s, int c, size_t n), (s, c, n), result ? (size_t)((const char *)result - (const char *)s) : n)
COUNTED(void *, memmem, (const void *s, size_t n, const void *t, size_t m), (s, n, t, m), 4 * (result ? (size_t)((const char *)result - (const char *)s) : n))
COUNTED(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n), n)
COUNTED(void *, memset, (void *to, int c, size_t n), (to, c, n), n)

/* ---- the texts ---- */

static struct arena arena;
static struct scope scope;

static uint64_t work_of(const char *text, enum mode mode, struct decision *ret)
{
	static const char *const roots[] = { "/workspace", "/tmp", NULL };
	static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/home/agent", "LANG=C.UTF-8", NULL };
	const char *const argv[] = { "bash", "-c", text, NULL };
	const struct judge_subject subject = { .mode = mode, .home = "/home/agent", .write_roots = roots, .launch_environment = environment, .scope = &scope,
					       .arena = &arena };

	arena.used_bytes = 0;
	work = 0;
	judge_launch(policy, &subject, argv, "/workspace", ret);
	return work;
}

/* A third more than the slowest takes: patterns that are held against the names of find's options, 35 ms in a release build. All others take a quarter of that. */
#define WORK_MAX 300000000u

/* Four times the text: where work grew with its square it would be sixteen times as much. */
static void test_work_is_bounded_and_grows_as_the_text_does(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < LONG_TEXTS; i++) {
		char *quarter = long_text_make(&long_texts[i], LONG_TEXT_BYTES / 4), *whole = long_text_make(&long_texts[i], LONG_TEXT_BYTES);
		struct decision d;
		uint64_t first = work_of(quarter, MODE_GUARDED, &d), second = work_of(whole, MODE_GUARDED, &d);

		if (getenv("SHOW_WORK"))
			print_message("%-32s %6zu %10llu %5.1f %s\n", long_texts[i].name, strlen(whole), (unsigned long long)second, (double)second / (double)first, d.rule);
		if (second > 6 * first || first < strlen(quarter) / 4 || second > WORK_MAX)
			fail_msg("%s: %llu, then %llu", long_texts[i].name, (unsigned long long)first, (unsigned long long)second);
		free(quarter);
		free(whole);
	}
}

/* What asks for more than that is refused as a whole, and says so. */
static void test_too_much_work_is_refused(void **state)
{
	enum mode mode;
	size_t i, refused = 0;

	(void)state;
	for (i = 0; i < LONG_TEXTS; i++) {
		char *text = long_text_make(&long_texts[i], LONG_TEXT_BYTES);
		struct decision d;

		if (strstr(long_texts[i].name, "files in a deep folder"))
			for (mode = MODE_GUARDED; mode < MODE_COUNT; mode++, refused++) {
				work_of(text, mode, &d);
				assert_int_equal(d.verdict, VERDICT_DENY);
				assert_true(mode == MODE_READONLY || strcmp(d.rule, "exec.work") == 0);
				assert_string_equal(d.tag, mode == MODE_READONLY ? "policy_block" : "incomplete_evidence");
				assert_non_null(d.hint);
			}
		free(text);
	}
	assert_int_equal(refused, 3);
}

/* The last command counts, however long the text before it: nothing that was left out for its work passes. */
static void test_what_is_left_out_does_not_pass(void **state)
{
	static const char last[] = "rm -rf /\n";
	struct decision d;
	size_t i;

	(void)state;
	for (i = 0; i < LONG_TEXTS; i++) {
		char *text, *with;

		if (!strstr(long_texts[i].name, "deep folder"))
			continue;
		text = long_text_make(&long_texts[i], LONG_TEXT_BYTES - sizeof(last));
		with = malloc(strlen(text) + sizeof(last) + 1);
		strcpy(with, text);
		strcat(with, "\n");
		strcat(with, last);
		work_of(with, MODE_GUARDED, &d);
		assert_int_equal(d.verdict, VERDICT_DENY);
		free(with);
		free(text);
	}
}

/* A list of files and a file that is written, as long as texts may be: both are work, and neither too much. */
static void test_long_work_is_judged(void **state)
{
	static const struct long_text files = { .line = "ls", .word = " src/module/file", .words = 50, .end = ".c\n" };
	static const struct long_text document = { .head = "cat > notes.txt <<'END'\n", .line = "one line of the file, as it comes\n", .tail = "END\n" };
	char *text = long_text_make(&files, LONG_TEXT_BYTES);
	struct decision d;

	(void)state;
	work_of(text, MODE_GUARDED, &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	free(text);
	text = long_text_make(&document, LONG_TEXT_BYTES);
	work_of(text, MODE_GUARDED, &d);
	assert_int_not_equal(d.verdict, VERDICT_DENY);
	free(text);
}

static void test_longer_texts_are_refused(void **state)
{
	static const struct long_text document = { .head = "cat > notes.txt <<'END'\n", .line = "x", .tail = "\nEND\n" };
	char *text = long_text_make(&document, LONG_TEXT_BYTES + 1);
	struct decision d;

	(void)state;
	assert_int_equal(strlen(text), LONG_TEXT_BYTES + 1);
	work_of(text, MODE_GUARDED, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_string_equal(d.tag, "incomplete_evidence");
	free(text);
}

static int set_up_all(void **state)
{
	struct err e;

	arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
	return set_up(state) || !arena.data || scope_parse("target.test, a.b", &scope, &e) < 0 ? -1 : 0;
}

static int tear_down_all(void **state)
{
	free(arena.data);
	scope_free(&scope);
	return tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_work_is_bounded_and_grows_as_the_text_does),
		cmocka_unit_test(test_too_much_work_is_refused),
		cmocka_unit_test(test_what_is_left_out_does_not_pass),
		cmocka_unit_test(test_long_work_is_judged),
		cmocka_unit_test(test_longer_texts_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
