/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as data, and plans really applied: a child restricts itself the way a keeper does and reports what it could still do. */
#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>

#include <cmocka.h>

#define RULES_MAX 64

static char base[] = "/tmp/cordon-landlock-XXXXXX";
static char work[64], work2[64], outside[64];	/* write roots, and a folder that is none */
static const char *write_roots[] = { work, work2, "/dev/shm", "/cordon-missing", NULL };

static struct policy policy_with(enum root_style roots)
{
	static const char *devices[] = { "/dev", NULL };
	struct policy p = { 0 };

	p.paths.project = work;
	p.paths.roots = roots;
	p.paths.devices = (struct strings){ .items = devices, .nr = 1 };
	return p;
}

static const char *in(const char *folder, const char *name)
{
	static char paths[4][256];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static int make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	if (write(fd, "content", 7) != 7) {
		close(fd);
		return -EIO;
	}
	close(fd);
	return 0;
}

static long bytes_in(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(base))
		return -1;
	snprintf(work, sizeof(work), "%s/work", base);
	snprintf(work2, sizeof(work2), "%s/work2", base);
	snprintf(outside, sizeof(outside), "%s/outside", base);
	if (mkdir(work, 0777) || mkdir(work2, 0777) || mkdir(outside, 0777) || mkdir(in(work, "a"), 0777) || mkdir(in(work, "b"), 0777))
		return -1;
	return make_file(in(outside, "file"));
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", base);
	return system(command);
}

/* ---- as a keeper applies it ---- */

static int apply_rule(int ruleset, const struct landlock_rule *rule)
{
	_cleanup_close_ int fd = open(rule->path, O_PATH | O_CLOEXEC);
	uint64_t access = rule->access;
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		access &= SYS_LANDLOCK_FILE_RIGHTS;
	return sys_landlock_add_path(ruleset, fd, access) < 0 ? -errno : 0;
}

static int apply(const struct landlock_rule *rules, int nr, uint64_t handled, int abi)
{
	struct sys_landlock_ruleset attr = { .handled_access_fs = handled };
	_cleanup_close_ int ruleset = sys_landlock_create_ruleset(&attr, sys_landlock_ruleset_bytes(abi));

	if (ruleset < 0)
		return -errno;
	for (int i = 0; i < nr; i++) {
		int r = apply_rule(ruleset, &rules[i]);

		if (r < 0)
			return r;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || sys_landlock_restrict_self(ruleset) < 0)
		return -errno;
	return 0;
}

/* Runs act in a child under the plan; its return value is the exit status. */
static int under_plan_of(enum root_style roots, enum mode mode, bool mounts_fit, int (*act)(void))
{
	struct policy policy = policy_with(roots);
	struct judge_subject subject = { .mode = mode, .write_roots = mode == MODE_READONLY ? NULL : write_roots };
	struct landlock_rule rules[RULES_MAX];
	int abi = sys_landlock_create_ruleset(NULL, 0), nr, status;
	uint64_t handled = landlock_handled_by(&policy, &subject, abi, mounts_fit);
	pid_t child;

	assert_true(abi >= 3);
	nr = landlock_plan(&policy, &subject, handled, rules, RULES_MAX);
	assert_true(nr > 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(apply(rules, nr, handled, abi) < 0 ? 200 : act());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int under_plan(enum root_style roots, enum mode mode, int (*act)(void))
{
	return under_plan_of(roots, mode, false, act);
}

static bool refused(int result, int error_number)
{
	return result < 0 && errno == error_number;
}

/* Each returns 0, or the number of the first step that was not as expected. Their traces are checked by the test, outside. */
static int truncate_outside(void)
{
	if (!refused(truncate(in(outside, "file"), 0), EACCES))
		return 3;
	return refused(open(in(outside, "file"), O_RDONLY | O_TRUNC), EACCES) ? 0 : 4;
}

static int change_outside(void)
{
	if (!refused(open(in(outside, "file"), O_WRONLY), EACCES))
		return 1;
	if (!refused(open(in(outside, "new"), O_WRONLY | O_CREAT, 0600), EACCES))
		return 2;
	if (!refused(unlink(in(outside, "file")), EACCES))
		return 5;
	if (!refused(mkdir(in(outside, "folder"), 0700), EACCES))
		return 6;
	if (!refused(symlink("/", in(outside, "link")), EACCES))
		return 7;
	if (!refused(rename(in(outside, "file"), in(outside, "other")), EACCES))
		return 8;
	if (!refused(rename(in(outside, "file"), in(work, "stolen")), EXDEV) && errno != EACCES)
		return 9;
	if (!refused(link(in(outside, "file"), in(work, "stolen")), EXDEV) && errno != EACCES)
		return 10;
	return open(in(outside, "file"), O_RDONLY) < 0 ? 11 : 0;
}

static int write_outside(void)
{
	int step = change_outside();

	return step ? step : truncate_outside();
}

static int write_inside(void)
{
	if (make_file(in(work, "a/file")) < 0)
		return 1;
	if (rename(in(work, "a/file"), in(work, "b/renamed")) < 0)
		return 2;
	if (link(in(work, "b/renamed"), in(work, "a/linked")) < 0)
		return 3;
	if (truncate(in(work, "a/linked"), 3) < 0)
		return 4;
	if (rename(in(work, "a/linked"), in(work2, "moved")) < 0)
		return 5;
	if (mkdir(in(work2, "folder"), 0700) < 0 || rmdir(in(work2, "folder")) < 0)
		return 6;
	if (mkfifo(in(work2, "fifo"), 0600) < 0 || symlink("/etc/passwd", in(work2, "link")) < 0)
		return 7;
	return make_file("/dev/shm/cordon-landlock-test") < 0 || unlink("/dev/shm/cordon-landlock-test") < 0 ? 8 : 0;
}

static int use_devices(void)
{
	struct winsize size;
	int fd = open("/dev/null", O_RDWR | O_TRUNC | O_CREAT, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		return 1;
	fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0)
		return 2;
	if (open(ptsname(fd), O_RDWR | O_NOCTTY) < 0 || ioctl(fd, TIOCGWINSZ, &size) < 0)
		return 3;
	if (open("/dev/urandom", O_RDONLY) < 0)
		return 4;
	/* Without a terminal the kernel says ENXIO; what counts is that it is not Landlock that answers. */
	if (open("/dev/tty", O_RDWR) < 0 && errno == EACCES)
		return 5;
	if (!refused(mknod("/dev/cordon-test", S_IFCHR | 0600, 0x0103), EACCES))
		return 6;
	return refused(open("/dev/cordon-test", O_WRONLY | O_CREAT, 0600), EACCES) ? 0 : 7;
}

static int run_a_program(void)
{
	execl("/bin/sh", "sh", "-c", "test \"$(ls / | wc -l)\" -gt 3 && echo x >/dev/null && exec /bin/true", (char *)NULL);
	return 1;
}

static int devices_and_programs(void)
{
	int step = use_devices();

	return step ? step : run_a_program();
}

static int read_by_strict_roots(void)
{
	if (open("/etc/passwd", O_RDONLY) < 0 || open(in(work, "a"), O_RDONLY | O_DIRECTORY) < 0 || open("/proc/self/status", O_RDONLY) < 0)
		return 1;
	if (!refused(open(in(outside, "file"), O_RDONLY), EACCES))
		return 2;
	if (!refused(open("/", O_RDONLY | O_DIRECTORY), EACCES))
		return 3;
	execl("/bin/sh", "sh", "-c", "exec /bin/true", (char *)NULL);
	return 4;
}

static int write_anything(void)
{
	if (!refused(open(in(work, "a/new"), O_WRONLY | O_CREAT, 0600), EACCES))
		return 1;
	return refused(open("/dev/shm/cordon-new", O_WRONLY | O_CREAT, 0600), EACCES) ? 0 : 2;
}

static void writes_outside_the_roots_are_refused_and_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(under_plan(ROOTS_STANDARD, MODE_GUARDED, write_outside), 0);
	assert_int_equal(bytes_in(in(outside, "file")), 7);
	assert_int_equal(bytes_in(in(outside, "new")), -1);
	assert_int_equal(bytes_in(in(outside, "folder")), -1);
	assert_int_equal(bytes_in(in(work, "stolen")), -1);
}

/* Where mounts hold the rest, truncating alone is theirs (tests/boundary/files.sh tries it against them). */
static void with_fitting_mounts_writes_are_refused_all_the_same(void **state)
{
	(void)state;
	assert_int_equal(under_plan_of(ROOTS_STANDARD, MODE_GUARDED, true, change_outside), 0);
	assert_int_equal(under_plan_of(ROOTS_OPEN, MODE_GUARDED, true, change_outside), 0);
	assert_int_equal(under_plan_of(ROOTS_STRICT, MODE_GUARDED, true, truncate_outside), 0);
	assert_int_equal(under_plan_of(ROOTS_OPEN, MODE_READONLY, true, truncate_outside), 0);
	assert_int_equal(under_plan_of(ROOTS_STANDARD, MODE_GUARDED, true, devices_and_programs), 0);
	assert_int_equal(bytes_in(in(outside, "file")), 7);
	assert_int_equal(bytes_in(in(outside, "new")), -1);
}

static void everything_inside_the_roots_works(void **state)
{
	(void)state;
	for (int mounts_fit = 0; mounts_fit < 2; mounts_fit++) {
		assert_int_equal(under_plan_of(ROOTS_STANDARD, MODE_GUARDED, mounts_fit, write_inside), 0);
		assert_int_equal(bytes_in(in(work2, "moved")), 3);
		assert_int_equal(bytes_in(in(work, "a/linked")), -1);
		assert_int_equal(unlink(in(work2, "fifo")) | unlink(in(work2, "link")), 0);
	}
}

static void devices_work_and_none_is_made(void **state)
{
	(void)state;
	assert_int_equal(under_plan(ROOTS_STANDARD, MODE_GUARDED, use_devices), 0);
	assert_int_equal(bytes_in("/dev/cordon-test"), -1);
	assert_int_equal(under_plan(ROOTS_STRICT, MODE_OBSERVE, use_devices), 0);
}

static void programs_run(void **state)
{
	(void)state;
	assert_int_equal(under_plan(ROOTS_STANDARD, MODE_GUARDED, run_a_program), 0);
}

static void strict_roots_bound_reading(void **state)
{
	(void)state;
	assert_int_equal(under_plan(ROOTS_STRICT, MODE_GUARDED, read_by_strict_roots), 0);
	assert_int_equal(under_plan(ROOTS_OPEN, MODE_READONLY, read_by_strict_roots), 0);
}

static void readonly_writes_nowhere(void **state)
{
	(void)state;
	assert_int_equal(under_plan(ROOTS_STANDARD, MODE_READONLY, write_anything), 0);
	assert_int_equal(bytes_in(in(work, "a/new")), -1);
}

/* ---- plans as data ---- */

static void rights_follow_the_abi(void **state)
{
	(void)state;
	assert_int_equal(landlock_handled(0), 0);
	assert_int_equal(landlock_handled(-EOPNOTSUPP), 0);
	assert_int_equal(landlock_handled(1), 0x1fff);
	assert_int_equal(landlock_handled(2), 0x3fff);
	assert_int_equal(landlock_handled(3), 0x7fff);
	assert_int_equal(landlock_handled(4), 0x7fff);
	assert_int_equal(landlock_handled(5), 0xffff);
	assert_int_equal(landlock_handled(99), 0xffff);
}

static void a_plan_grants_only_handled_rights_and_refer_on_write_roots(void **state)
{
	struct policy policy = policy_with(ROOTS_STANDARD);
	struct judge_subject subject = { .mode = MODE_GUARDED, .write_roots = write_roots };
	struct landlock_rule rules[RULES_MAX];

	(void)state;
	for (int abi = 1; abi <= 9; abi++) {
		int nr = landlock_plan(&policy, &subject, landlock_handled(abi), rules, RULES_MAX);

		assert_int_equal(nr, 1 + 1 + 4);
		for (int i = 0; i < nr; i++)
			assert_int_equal(rules[i].access & ~landlock_handled(abi), 0);
		assert_string_equal(rules[0].path, "/");
		assert_int_equal(rules[0].access, 0xd);
		for (int i = 2; i < nr; i++)
			assert_int_equal(rules[i].access, landlock_handled(abi));
	}
}

static uint64_t handled_by(enum root_style roots, enum mode mode, bool mounts_fit)
{
	struct policy policy = policy_with(roots);
	struct judge_subject subject = { .mode = mode, .write_roots = write_roots };

	return landlock_handled_by(&policy, &subject, 6, mounts_fit);
}

/* A read-only open then asks for nothing that is handled, and walks nowhere. */
static void what_only_mounts_need_to_hold_is_not_handled(void **state)
{
	const uint64_t reading = LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_TRUNCATE;
	const uint64_t all = landlock_handled(6);
	struct policy policy = policy_with(ROOTS_STANDARD);
	struct judge_subject subject = { .mode = MODE_GUARDED, .write_roots = write_roots };
	struct landlock_rule rules[RULES_MAX];
	int nr = landlock_plan(&policy, &subject, all & ~reading, rules, RULES_MAX);

	(void)state;
	assert_int_equal(handled_by(ROOTS_STANDARD, MODE_GUARDED, true), all & ~reading);
	assert_int_equal(handled_by(ROOTS_OPEN, MODE_OBSERVE, true), all & ~reading);
	assert_int_equal(handled_by(ROOTS_STANDARD, MODE_GUARDED, false), all);
	assert_int_equal(handled_by(ROOTS_STRICT, MODE_GUARDED, true), all);
	assert_int_equal(handled_by(ROOTS_OPEN, MODE_READONLY, true), all);
	/* No rule on "/": it would grant nothing, which the kernel refuses. */
	assert_int_equal(nr, 1 + 4);
	for (int i = 0; i < nr; i++) {
		assert_string_not_equal(rules[i].path, "/");
		assert_int_not_equal(rules[i].access, 0);
		assert_int_equal(rules[i].access & reading, 0);
	}
}

static void a_plan_that_does_not_fit_is_an_error(void **state)
{
	struct policy policy = policy_with(ROOTS_STRICT);
	struct judge_subject subject = { .mode = MODE_GUARDED, .write_roots = write_roots };
	struct landlock_rule rules[RULES_MAX];
	int nr = landlock_plan(&policy, &subject, landlock_handled(6), rules, RULES_MAX);

	(void)state;
	assert_true(nr > 0);
	for (int max = 0; max < nr; max++)
		assert_int_equal(landlock_plan(&policy, &subject, landlock_handled(6), rules, (unsigned)max), -E2BIG);
	assert_int_equal(landlock_plan(&policy, &subject, landlock_handled(6), rules, (unsigned)nr), nr);
}

static bool has_rule(const struct landlock_rule *rules, int nr, const char *path, uint64_t access)
{
	for (int i = 0; i < nr; i++)
		if (strcmp(rules[i].path, path) == 0)
			return rules[i].access == access;
	return false;
}

static void skill_folders_are_read_and_nothing_runs_there(void **state)
{
	static const char *const skills[] = { "/opt/skills", "/home/agent/.agents/skills", NULL };
	const uint64_t reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
	struct policy policy = policy_with(ROOTS_STANDARD);
	struct judge_subject subject = { .mode = MODE_READONLY, .read_roots = skills };
	struct landlock_rule rules[RULES_MAX];
	int nr = landlock_plan(&policy, &subject, landlock_handled(6), rules, RULES_MAX);

	(void)state;
	assert_true(has_rule(rules, nr, skills[0], reading));
	assert_true(has_rule(rules, nr, skills[1], reading));
}

/* A root that holds an isolated workspace, or is in one: what is written there is written by the launch, what is made there is not. */
static void a_root_with_a_workspace_makes_nothing(void **state)
{
	const struct policy policy = { .paths = { .project = base } };
	const char *const roots[] = { "/w", "/w/app/in", "/w/free", "/tmp", NULL }, *const frozen[] = { "/w/app", NULL };
	struct judge_subject subject = { .mode = MODE_GUARDED, .write_roots = roots, .frozen_roots = frozen };
	struct landlock_rule rules[RULES_MAX];
	int nr = landlock_plan(&policy, &subject, landlock_handled(6), rules, RULES_MAX), found = 0;

	(void)state;
	for (int i = 0; i < nr; i++) {
		bool makes = rules[i].access & LANDLOCK_ACCESS_FS_MAKE_DIR;

		if (strcmp(rules[i].path, "/w") && strcmp(rules[i].path, "/w/app/in") && strcmp(rules[i].path, "/w/free") && strcmp(rules[i].path, "/tmp"))
			continue;
		found++;
		assert_int_equal(makes, strcmp(rules[i].path, "/w/free") == 0 || strcmp(rules[i].path, "/tmp") == 0);
		assert_true(rules[i].access & LANDLOCK_ACCESS_FS_WRITE_FILE);
		assert_true(rules[i].access & LANDLOCK_ACCESS_FS_REMOVE_DIR);
		if (!makes)
			assert_false(rules[i].access & (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |
							LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM));
	}
	assert_int_equal(found, 4);
	assert_true(landlock_withholds(&subject, "/w/x"));
	assert_true(landlock_withholds(&subject, "/w/app/src/.git"));
	assert_false(landlock_withholds(&subject, "/w/free/x"));
	assert_false(landlock_withholds(&subject, "/tmp/x"));
	assert_false(landlock_withholds(&subject, "/etc/x"));
	subject.frozen_roots = NULL;
	assert_false(landlock_withholds(&subject, "/w/x"));
}

static void off_has_no_layer(void **state)
{
	struct policy policy = policy_with(ROOTS_STANDARD);
	struct judge_subject subject = { .mode = MODE_OFF, .write_roots = write_roots };
	struct landlock_rule rules[1];

	(void)state;
	assert_int_equal(landlock_plan(&policy, &subject, landlock_handled(6), rules, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_follow_the_abi),
		cmocka_unit_test(a_plan_grants_only_handled_rights_and_refer_on_write_roots),
		cmocka_unit_test(a_root_with_a_workspace_makes_nothing),
		cmocka_unit_test(what_only_mounts_need_to_hold_is_not_handled),
		cmocka_unit_test(a_plan_that_does_not_fit_is_an_error),
		cmocka_unit_test(skill_folders_are_read_and_nothing_runs_there),
		cmocka_unit_test(off_has_no_layer),
		cmocka_unit_test(writes_outside_the_roots_are_refused_and_change_nothing),
		cmocka_unit_test(with_fitting_mounts_writes_are_refused_all_the_same),
		cmocka_unit_test(everything_inside_the_roots_works),
		cmocka_unit_test(devices_work_and_none_is_made),
		cmocka_unit_test(programs_run),
		cmocka_unit_test(strict_roots_bound_reading),
		cmocka_unit_test(readonly_writes_nowhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
