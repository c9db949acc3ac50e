/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller's path names, held against what the kernel opens for the same path in the caller's place: this process. */
#include "supervisor/boundary/resolve.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[PATH_MAX];
static struct resolved r;

static int setup(void **state)
{
	char template[] = "/tmp/cordon-resolve-XXXXXX";

	(void)state;
	if (!mkdtemp(template) || !realpath(template, folder) || chdir(folder) < 0)
		return -1;
	if (mkdir("a", 0755) || mkdir("a/b", 0755) || close(open("a/b/file", O_CREAT | O_WRONLY, 0644)) || symlink("b", "a/link") ||
	    symlink("/etc/passwd", "absolute") || symlink("nowhere/at/all", "dangling") || symlink("a/b/new", "fresh") ||
	    symlink("loop", "loop") || symlink("../../../../../../etc", "up"))
		return -1;
	return 0;
}

static int teardown(void **state)
{
	char command[PATH_MAX + 16];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return chdir("/") || system(command);
}

/* The same object as the kernel's own open finds. */
static void is_what_the_kernel_opens(const char *path, int flags)
{
	int fd = open(path, O_PATH | flags);
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(resolve(getpid(), AT_FDCWD, path, !(flags & O_NOFOLLOW), &r), 0);
	assert_false(r.missing);
	assert_int_equal(r.stat.st_ino, st.st_ino);
	assert_int_equal(r.stat.st_dev, st.st_dev);
	resolved_close(&r);
	close(fd);
}

static void paths_name_what_the_kernel_opens(void **state)
{
	static const char *const paths[] = { "a/b/file", "a/link/file", "./a/../a//b/./file", "a/link/", "absolute", "up", "up/hosts", "/", "..", ".",
					     "a/link/../b/file", "/proc/self/exe", "/proc/self/cwd/a/b", "/proc/thread-self/cwd/a",
					     "/proc/self/root/etc/passwd", "/dev/fd/0", "/proc/mounts", "/etc/../proc/self/cwd" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		is_what_the_kernel_opens(paths[i], 0);
	is_what_the_kernel_opens("a/link", O_NOFOLLOW);
	is_what_the_kernel_opens("dangling", O_NOFOLLOW);
}

static void a_canonical_name_comes_with_it(void **state)
{
	char expected[PATH_MAX + 16];

	(void)state;
	assert_int_equal(resolve(getpid(), AT_FDCWD, "a/link/file", true, &r), 0);
	snprintf(expected, sizeof(expected), "%s/a/b/file", folder);
	assert_string_equal(r.path, expected);
	resolved_close(&r);
	assert_int_equal(resolve(getpid(), AT_FDCWD, "absolute", true, &r), 0);
	assert_string_equal(r.path, "/etc/passwd");
	resolved_close(&r);
}

static void a_missing_last_name_stands_in_its_folder(void **state)
{
	char expected[PATH_MAX + 32];

	(void)state;
	assert_int_equal(resolve(getpid(), AT_FDCWD, "a/link/none", true, &r), 0);
	assert_true(r.missing);
	snprintf(expected, sizeof(expected), "%s/a/b/none", folder);
	assert_string_equal(r.path, expected);
	assert_int_equal(r.fd, -1);
	/* A link to a name that is not there: creating it creates the target. */
	assert_int_equal(resolve(getpid(), AT_FDCWD, "fresh", true, &r), 0);
	assert_true(r.missing);
	snprintf(expected, sizeof(expected), "%s/a/b/new", folder);
	assert_string_equal(r.path, expected);
	assert_int_equal(resolve(getpid(), AT_FDCWD, "/none", true, &r), 0);
	assert_string_equal(r.path, "/none");
}

static void errors_are_the_kernels(void **state)
{
	char long_name[NAME_MAX + 10];

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = 0;
	assert_int_equal(resolve(getpid(), AT_FDCWD, "none/none", true, &r), -ENOENT);
	assert_int_equal(resolve(getpid(), AT_FDCWD, "dangling", true, &r), -ENOENT);
	assert_int_equal(resolve(getpid(), AT_FDCWD, "a/b/file/x", true, &r), -ENOTDIR);
	assert_int_equal(resolve(getpid(), AT_FDCWD, "loop", true, &r), -ELOOP);
	assert_int_equal(resolve(getpid(), 12345, "a", true, &r), -EBADF);
	assert_int_equal(resolve(getpid(), AT_FDCWD, long_name, true, &r), -ENAMETOOLONG);
}

static void more_than_64_links_are_too_many(void **state)
{
	char name[32], target[32];

	(void)state;
	for (int i = 0; i < 70; i++) {
		snprintf(name, sizeof(name), "chain%d", i);
		snprintf(target, sizeof(target), i ? "chain%d" : "a", i - 1);
		assert_int_equal(symlink(target, name), 0);
	}
	assert_int_equal(resolve(getpid(), AT_FDCWD, "chain63", true, &r), 0);
	resolved_close(&r);
	assert_int_equal(resolve(getpid(), AT_FDCWD, "chain64", true, &r), -ELOOP);
}

static void descriptors_are_the_callers(void **state)
{
	int dir = open("a", O_RDONLY | O_DIRECTORY), memory = memfd_create("x", 0), gone = open("gone", O_CREAT | O_WRONLY, 0600), pipes[2];
	char path[64];

	(void)state;
	assert_int_equal(resolve(getpid(), dir, "b/file", true, &r), 0);
	assert_string_equal(r.path + strlen(r.path) - 9, "/a/b/file");
	resolved_close(&r);
	assert_int_equal(resolve(getpid(), dir, "", true, &r), 0);
	assert_string_equal(r.path + strlen(r.path) - 2, "/a");
	resolved_close(&r);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(unlink("gone"), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", (int[]){ memory, pipes[0], gone }[i]);
		assert_int_equal(resolve(getpid(), AT_FDCWD, path, true, &r), 0);
		assert_true(r.nameless);
		resolved_close(&r);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d/b", dir);
	assert_int_equal(resolve(getpid(), AT_FDCWD, path, true, &r), 0);
	assert_false(r.nameless);
	resolved_close(&r);
	close(dir);
	close(memory);
	close(gone);
	close(pipes[0]);
	close(pipes[1]);
}

/* A caller whose root is known is resolved as one whose root is looked up. */
static void a_known_root_changes_nothing(void **state)
{
	static const char *const paths[] = { "/", "/etc/passwd", "//etc/./passwd", "/etc/../etc/passwd", "/bin/sh", "/usr/bin/", "/proc/self/exe",
					     "/proc/self/cwd/a/link/file", "/etc/none", "/none", "/none/none", "/etc/passwd/x", "a/link/file", "fresh",
					     "absolute", "up", "a/b/none", ".", "/proc/self/status", "/proc/self", "/proc/thread-self/status",
					     "/proc/mounts", "/dev/fd", "/dev/stdin", "to-proc/status", "to-proc-and-out" };
	int root = open("/", O_PATH | O_DIRECTORY);
	static struct resolved known;

	(void)state;
	assert_int_equal(symlink("/proc/self", "to-proc") | symlink("/proc/self/../../etc/passwd", "to-proc-and-out"), 0);
	for (size_t i = 0; i < 4 * ARRAY_SIZE(paths); i++) {
		char absolute[2 * PATH_MAX];
		const char *path = paths[i / 4];
		int expected;

		if (i / 2 % 2 && *path != '/') { /* what was relative from the top as well */
			snprintf(absolute, sizeof(absolute), "%s/%s", folder, path);
			path = absolute;
		}
		expected = resolve(getpid(), AT_FDCWD, path, i % 2, &r);

		assert_int_equal(resolve_under(root, getpid(), AT_FDCWD, path, i % 2, &known), expected);
		if (expected < 0)
			continue;
		assert_int_equal(known.missing, r.missing);
		assert_int_equal(known.nameless, r.nameless);
		assert_string_equal(known.path, r.path);
		assert_int_equal(known.stat.st_ino, r.stat.st_ino);
		assert_int_equal(known.fd < 0, r.fd < 0);
		resolved_close(&known);
		resolved_close(&r);
	}
	assert_int_equal(fcntl(root, F_GETFD), 0);
	close(root);
}

static int root_fd;
static unsigned nr_named;

static void is_named_as_it_resolves(pid_t tid, int dirfd, const char *path, bool follow)
{
	static struct resolved named;
	int expected = resolve_under(root_fd, tid, dirfd, path, follow, &r);

	for (int creates = 0; creates < 2; creates++) {
		int given = resolve_named(root_fd, tid, dirfd, path, follow, creates, &named);

		assert_int_equal(named.fd, -1);
		if (given == -EAGAIN)
			continue;
		nr_named++;
		assert_int_equal(given, 0);
		if (expected == -ENOTDIR && !follow) /* a name in what is no folder, which the kernel refuses whoever goes on with it */
			continue;
		assert_int_equal(expected, 0);
		assert_string_equal(named.path, r.path);
		assert_int_equal(named.nameless, r.nameless);
	}
	resolved_close(&r);
}

/* Where the short way finds a name, it is the one the long way finds. */
static void the_name_alone_is_the_same(void **state)
{
	static const char *const paths[] = { "a", "a/", "a/.", "a/b/file", "a/link", "a/link/", "a/link/file", "a/b/none", "none", "none/none", "none/", "fresh",
					     "dangling", "absolute", "loop", "up", "./a", "a//b/./file", "../x", "..", ".", "", "a/b/file/x", "a/b/file/",
					     "/", "//", "/etc", "/etc/passwd", "/none", "/none/none", "/etc/passwd/x", "/bin/sh", "/proc/self/exe", "/proc/self",
					     "/proc/self/fd/0", "/dev/stdin", "/etc/../etc/passwd", "a/b/fi.le.", ".a", "..a", "a/..b/c" };
	int dir = open("a", O_PATH | O_DIRECTORY), file = open("a/b/file", O_RDONLY), memory = memfd_create("x", 0);

	(void)state;
	root_fd = open("/", O_PATH | O_DIRECTORY);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (int follow = 0; follow < 2; follow++) {
			is_named_as_it_resolves(getpid(), AT_FDCWD, paths[i], follow);
			is_named_as_it_resolves(getpid(), dir, paths[i], follow);
			is_named_as_it_resolves(getpid(), file, paths[i], follow);
			is_named_as_it_resolves(getpid(), memory, paths[i], follow);
			is_named_as_it_resolves(getpid(), 12345, paths[i], follow);
		}
	assert_in_range(nr_named, 100, 1000);
	close(dir);
	close(file);
	close(memory);
}

/* A process that stands where it is told to, until it is told nothing more. With pid, under that number. */
static pid_t walker(pid_t pid, int ret_orders[2])
{
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = pid > 0 ? (uintptr_t)&pid : 0, .set_tid_size = pid > 0 };
	int orders[2], done[2];
	pid_t child;
	char order;

	assert_int_equal(pipe(orders) | pipe(done), 0);
	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0) {
		close(orders[1]);
		while (read(orders[0], &order, 1) == 1)
			if (chdir(order == 'b' ? "a/b" : order == 'u' ? ".." : ".") < 0 || write(done[1], "d", 1) != 1)
				break;
		_exit(0);
	}
	close(orders[0]);
	close(done[1]);
	ret_orders[0] = orders[1];
	ret_orders[1] = done[0];
	return child;
}

static void go(const int orders[2], char order)
{
	char done;

	assert_int_equal(write(orders[0], &order, 1), 1);
	assert_int_equal(read(orders[1], &done, 1), 1);
}

static void is_named(pid_t tid, const char *tail)
{
	char expected[PATH_MAX + 32];

	snprintf(expected, sizeof(expected), "%s%s/new", folder, tail);
	for (int i = 0; i < 3; i++) { /* the first time, and when it is known */
		assert_int_equal(resolve_named(root_fd, tid, AT_FDCWD, "new", true, true, &r), 0);
		assert_string_equal(r.path, expected);
	}
}

static void ends(pid_t pid, const int orders[2])
{
	close(orders[0]);
	close(orders[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(resolve_named(root_fd, pid, AT_FDCWD, "new", true, true, &r) < 0);
}

/* What is remembered of a caller is where to look, never what was seen there; and nothing of it is a later caller's of that number. */
static void a_callers_folder_is_the_one_it_is_in(void **state)
{
	int orders[2], others[2];
	pid_t first = walker(0, orders), again;

	(void)state;
	assert_true(first > 0);
	is_named(first, "");
	go(orders, 'b');
	is_named(first, "/a/b");
	go(orders, 'u');
	is_named(first, "/a");
	ends(first, orders);
	again = walker(first, others);
	if (again < 0) {
		print_message("no process can be given a number here (%s)\n", strerror(errno));
		skip();
	}
	assert_int_equal(again, first);
	is_named(again, "");
	go(others, 'b');
	is_named(again, "/a/b");
	ends(again, others);
}

/* "/" and "self" are another process's: its root folder, its number. */
static void root_and_self_are_the_callers(void **state)
{
	char expected[PATH_MAX + 16], byte;
	int up[2], down[2], status;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(up), 0);
	assert_int_equal(pipe(down), 0);
	child = fork();
	if (child == 0)
		_exit(chroot("a") || chdir("/b") || write(up[1], "r", 1) != 1 || read(down[0], &byte, 1) != 1);
	assert_int_equal(read(up[0], &byte, 1), 1);
	snprintf(expected, sizeof(expected), "%s/a/b/file", folder);
	assert_int_equal(resolve(child, AT_FDCWD, "/b/file", true, &r), 0);
	assert_string_equal(r.path, expected);
	resolved_close(&r);
	assert_int_equal(resolve(child, AT_FDCWD, "../../../../b/file", true, &r), 0);
	assert_string_equal(r.path, expected);
	resolved_close(&r);
	assert_int_equal(write(down[1], "d", 1), 1);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_name_what_the_kernel_opens),
		cmocka_unit_test(a_canonical_name_comes_with_it),
		cmocka_unit_test(a_missing_last_name_stands_in_its_folder),
		cmocka_unit_test(errors_are_the_kernels),
		cmocka_unit_test(more_than_64_links_are_too_many),
		cmocka_unit_test(descriptors_are_the_callers),
		cmocka_unit_test(a_known_root_changes_nothing),
		cmocka_unit_test(the_name_alone_is_the_same),
		cmocka_unit_test(a_callers_folder_is_the_one_it_is_in),
		cmocka_unit_test(root_and_self_are_the_callers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
