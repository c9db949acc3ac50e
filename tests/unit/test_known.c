/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a process is that process's, and ends with it. */
#include "supervisor/enforcer/known.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void it_is_what_proc_says(void **state)
{
	pid_t pid = sleeper();
	const struct known *k = known_process(pid, 0);
	struct process_facts facts;
	char exe[4096];
	struct stat st;
	ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe));

	(void)state;
	assert_non_null(k);
	assert_ptr_equal(known_process(pid, 0), k);
	assert_int_equal(k->caller.pid, pid);
	assert_int_equal(process_read(pid, &facts), 0);
	assert_int_equal(k->caller.facts.parent, getpid());
	assert_int_equal(k->caller.facts.start, facts.start);
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	assert_int_equal(k->caller.identity.ino, st.st_ino);
	assert_int_equal(k->caller.program.len, len);
	assert_memory_equal(k->program, exe, len);
	known_calls(pid, 17);
	assert_ptr_equal(known_process(pid, 17), k);
	end(pid);
	/* It was there when it made that call; of any other its number means nobody now, and then of that one too. */
	assert_ptr_equal(known_process(pid, 17), k);
	assert_null(known_process(pid, 18));
	assert_null(known_process(pid, 17));
}

static void an_exec_makes_it_unknown(void **state)
{
	int ready[2];
	const struct known *k;
	struct stat st;
	char path[32], byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		(void)!read(ready[0], &byte, 1);
		execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(127);
	}
	k = known_process(pid, 0);
	assert_non_null(k);
	assert_int_equal(stat("/bin/sleep", &st), 0);
	assert_int_not_equal(k->caller.identity.ino, st.st_ino);
	assert_int_equal(write(ready[1], "x", 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	for (struct stat now = { 0 }; now.st_ino != st.st_ino; usleep(1000))
		assert_int_equal(stat(path, &now), 0);
	known_forget(pid);
	k = known_process(pid, 0);
	assert_non_null(k);
	assert_int_equal(k->caller.identity.ino, st.st_ino);
	end(pid);
}

/* More processes than places: each is still told as itself. */
static void a_place_is_taken_over(void **state)
{
	pid_t pids[150];

	(void)state;
	for (size_t i = 0; i < 150; i++)
		pids[i] = sleeper();
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < 150; i++) {
			const struct known *k = known_process(pids[i], 0);

			assert_non_null(k);
			assert_int_equal(k->caller.pid, pids[i]);
		}
	for (size_t i = 0; i < 150; i++)
		end(pids[i]);
	for (size_t i = 0; i < 150; i++)
		assert_null(known_process(pids[i], 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_what_proc_says),
		cmocka_unit_test(an_exec_makes_it_unknown),
		cmocka_unit_test(a_place_is_taken_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
