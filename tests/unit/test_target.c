/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of what a caller points at, taken from a real other process whose memory ends where it hurts. */
#include "supervisor/boundary/target.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Two pages, the second without access. The child inherits both at the same addresses. */
static char *pages;
static pid_t child;
static struct target target;

static int setup(void **state)
{
	(void)state;
	pages = mmap(NULL, 3 * TARGET_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return pages == MAP_FAILED || munmap(pages + 2 * TARGET_PAGE, TARGET_PAGE) < 0;
}

static void start_child(void)
{
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	target_init(&target, child);
}

static void end_child(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	memset(pages, 0, 2 * TARGET_PAGE);
}

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)(pages + offset);
}

static void a_string_may_end_with_the_last_byte_before_nothing(void **state)
{
	_cleanup_buf_ struct buf b = { 0 };

	(void)state;
	memcpy(pages + 2 * TARGET_PAGE - 6, "hello", 6);
	start_child();
	assert_int_equal(target_read_string(&target, at(2 * TARGET_PAGE - 6), 100, &b), 0);
	assert_string_equal(b.data, "hello");
	end_child();
}

/* One-byte strings, each on a page of its own: what is read of them is bounded, and pages that come again are not fetched again. */
static void scattered_strings_have_a_limit(void **state)
{
	const size_t nr_pages = TARGET_FETCHES_MAX + 100, nr = 100000;
	char *scattered = mmap(NULL, nr_pages * TARGET_PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char **vector = calloc(nr + 1, sizeof(*vector));
	struct target_vector v = { 0 };

	(void)state;
	assert_ptr_not_equal(scattered, MAP_FAILED);
	for (size_t i = 0; i < nr; i++)
		vector[i] = scattered + i % 900 * TARGET_PAGE;
	start_child();
	assert_int_equal(target_read_vector(&target, (uint64_t)(uintptr_t)vector, &v), 0);
	assert_int_equal(v.nr, nr);
	assert_int_equal(v.strings.len, nr);
	assert_true(target.fetches < 4000);
	end_child();
	for (size_t i = 0; i < nr; i++)
		vector[i] = scattered + i % nr_pages * TARGET_PAGE;
	start_child();
	assert_int_equal(target_read_vector(&target, (uint64_t)(uintptr_t)vector, &v), -E2BIG);
	assert_int_equal(target_read_vector(&target, (uint64_t)(uintptr_t)vector, &v), -E2BIG);
	end_child();
	target_init(&target, child);
	buf_free(&v.strings);
	free(vector);
	munmap(scattered, nr_pages * TARGET_PAGE);
}

static void a_string_that_runs_into_nothing_is_a_fault(void **state)
{
	_cleanup_buf_ struct buf b = { 0 };

	(void)state;
	memset(pages + TARGET_PAGE, 'x', TARGET_PAGE);
	start_child();
	assert_int_equal(target_read_string(&target, at(2 * TARGET_PAGE - 6), 100, &b), -EFAULT);
	assert_int_equal(target_read_string(&target, 0, 100, &b), -EFAULT);
	assert_int_equal(target_read_string(&target, UINT64_MAX - 2, 100, &b), -EFAULT);
	end_child();
}

static void a_string_across_two_pages_is_whole_and_bounded(void **state)
{
	_cleanup_buf_ struct buf b = { 0 };

	(void)state;
	memset(pages + TARGET_PAGE - 50, 'y', 100);
	start_child();
	assert_int_equal(target_read_string(&target, at(TARGET_PAGE - 50), 101, &b), 0);
	assert_int_equal(b.len, 101);
	buf_reset(&b);
	assert_int_equal(target_read_string(&target, at(TARGET_PAGE - 50), 100, &b), -ENAMETOOLONG);
	end_child();
}

static void a_vector_is_copied_in_order(void **state)
{
	struct target_vector v = { 0 };
	uint64_t pointers[] = { at(100), at(200), at(300), 0 };

	(void)state;
	strcpy(pages + 100, "one");
	strcpy(pages + 200, "");
	strcpy(pages + 300, "three");
	/* Misaligned, and the terminating NULL ends with the last byte that is mapped. */
	memcpy(pages + 2 * TARGET_PAGE - sizeof(pointers), pointers, sizeof(pointers));
	memcpy(pages + 1001, pointers, sizeof(pointers));
	start_child();
	for (int i = 0; i < 2; i++) {
		assert_int_equal(target_read_vector(&target, i ? at(1001) : at(2 * TARGET_PAGE - sizeof(pointers)), &v), 0);
		assert_int_equal(v.nr, 3);
		assert_memory_equal(v.strings.data, "one\0\0three", 11);
		assert_int_equal(v.strings.len, 11);
	}
	end_child();
	buf_free(&v.strings);
}

static void a_vector_without_an_end_or_with_a_bad_pointer_is_a_fault(void **state)
{
	struct target_vector v = { 0 };
	uint64_t bad[] = { at(100), 8, 0 };

	(void)state;
	for (size_t i = TARGET_PAGE; i < 2 * TARGET_PAGE; i += 8)
		memcpy(pages + i, &(uint64_t){ at(100) }, 8);
	memcpy(pages + 512, bad, sizeof(bad));
	start_child();
	assert_int_equal(target_read_vector(&target, at(TARGET_PAGE), &v), -EFAULT);
	assert_int_equal(target_read_vector(&target, at(512), &v), -EFAULT);
	end_child();
	buf_free(&v.strings);
}

static void null_is_an_empty_vector(void **state)
{
	struct target_vector v = { 0 };

	(void)state;
	start_child();
	assert_int_equal(target_read_vector(&target, 0, &v), 0);
	assert_int_equal(v.nr, 0);
	end_child();
}

static void more_than_the_kernel_takes_is_too_big(void **state)
{
	const size_t len = TARGET_STRING_MAX + TARGET_PAGE;
	struct target_vector v = { 0 };
	char *large = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(large != MAP_FAILED);
	memset(large, 'a', len - 1);
	memcpy(pages, &(uint64_t[]){ (uint64_t)(uintptr_t)large, 0 }, 16);
	start_child();
	assert_int_equal(target_read_vector(&target, at(0), &v), -E2BIG);
	end_child();
	/* Many strings that are each small enough: 60 of 127 KiB. */
	large[TARGET_STRING_MAX - TARGET_PAGE] = 0;
	for (int i = 0; i < 60; i++)
		memcpy(pages + i * 8, &(uint64_t){ (uint64_t)(uintptr_t)large }, 8);
	start_child();
	assert_int_equal(target_read_vector(&target, at(0), &v), -E2BIG);
	end_child();
	munmap(large, len);
	buf_free(&v.strings);
}

static void a_process_that_is_gone_gives_nothing(void **state)
{
	_cleanup_buf_ struct buf b = { 0 };

	(void)state;
	start_child();
	end_child();
	assert_true(target_read_string(&target, at(0), 10, &b) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scattered_strings_have_a_limit),
		cmocka_unit_test(a_string_may_end_with_the_last_byte_before_nothing),
		cmocka_unit_test(a_string_that_runs_into_nothing_is_a_fault),
		cmocka_unit_test(a_string_across_two_pages_is_whole_and_bounded),
		cmocka_unit_test(a_vector_is_copied_in_order),
		cmocka_unit_test(a_vector_without_an_end_or_with_a_bad_pointer_is_a_fault),
		cmocka_unit_test(null_is_an_empty_vector),
		cmocka_unit_test(more_than_the_kernel_takes_is_too_big),
		cmocka_unit_test(a_process_that_is_gone_gives_nothing),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
