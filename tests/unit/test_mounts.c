/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces really built, over a scratch tree in a mount namespace of the test's own, entered by children that try what an agent would.
 * The children stay root with every capability: what holds for them holds for agents.
 */
#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/mounts.h"
#include "supervisor/boundary/mounts_host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static char base[] = "/tmp/cordon-mounts-XXXXXX";

/* A path below the scratch tree. Thirty-two are alive at a time. */
static const char *at(const char *name)
{
	static char paths[32][256];
	static unsigned next;
	char *path = paths[next++ % 32];

	snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
	return path;
}

static void folder(const char *name)
{
	assert_int_equal(mkdir(at(name), 0755), 0);
}

static void file(const char *name, const char *content)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
	close(fd);
}

static bool holds(const char *path, const char *content)
{
	char data[256] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, data, sizeof(data) - 1);

	if (fd >= 0)
		close(fd);
	return len >= 0 && strcmp(data, content) == 0;
}

static bool exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

static int names_in(const char *path)
{
	DIR *names = opendir(path);
	int nr = 0;

	if (!names)
		return -errno;
	for (struct dirent *entry; (entry = readdir(names)) != NULL;)
		nr += entry->d_name[0] != '.' || (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0);
	closedir(names);
	return nr;
}

static bool refused(int result, int error_number)
{
	return result < 0 && errno == error_number;
}

static void copy_of_id(const char *name)
{
	char command[512];

	snprintf(command, sizeof(command), "cp /usr/bin/id %s && chmod 04755 %s", at(name), at(name));
	assert_int_equal(system(command), 0);
}

static void listening_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", at(name));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);	/* stays open for the whole test */
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return connect(fd, (struct sockaddr *)&address, sizeof(address));
}

/* home: of uid 1234. work: a write root with an operator's read-only mount inside. etc: everything else. run: what is Cordon's own. */
static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(base) || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return -1;
	if (mount("scratch", base, "tmpfs", 0, "mode=0755"))
		return -1;
	folder("etc"), folder("work"), folder("work/a"), folder("work/b"), folder("work/sealed"), folder("run"), folder("run/own");
	folder("home"), folder("home/.ssh"), folder("home/.config"), folder("home/.config/cloud"), folder("home/docs");
	file("etc/file", "etc"), file("work/a/file", "work"), file("work/sealed/file", "sealed"), file("run/secret", "secret");
	file("run/own/log", "log"), file("home/.ssh/id_rsa", "key"), file("home/.ssh/config", "hosts"), file("home/.config/cloud/token", "token");
	copy_of_id("etc/id");
	copy_of_id("work/id");
	listening_socket("run/socket");
	if (symlink("work", at("alias")) || symlink("../etc", at("work/planted")) || symlink("../run", at("home/planted")))
		return -1;
	if (chown(at("home"), 1234, 1234) || mount(at("work/sealed"), at("work/sealed"), NULL, MS_BIND, NULL))
		return -1;
	return mount(NULL, at("work/sealed"), NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL);
}

static int teardown(void **state)
{
	(void)state;
	return umount2(base, MNT_DETACH) || rmdir(base);
}

static int build(struct mounts_plan *plan, struct err *ret_error)
{
	int fd = -1, r;

	*ret_error = (struct err){ 0 };
	r = mounts_build(plan, &fd, ret_error);
	return r < 0 ? r : fd;
}

/* The namespace most tests look at. */
static int build_usual(bool off)
{
	const char *roots[] = { at("home"), at("work"), at("missing"), at("work/b"), NULL };
	const char *masks[] = { at("run/secret"), at("run/own"), at("run/socket"), at("run/none"), "/proc/version", at("run/own/log"), NULL };
	const char *homes[] = { at("home/.ssh"), at("home/.aws"), at("home/.config/cloud"), at("home/.local/share/keys"), at("etc/.ssh"), NULL };
	struct mounts_plan plan = { .off = off, .write_roots = off ? NULL : roots, .masks = masks, .homes = off ? NULL : homes };
	struct err error;
	int fd = build(&plan, &error);

	if (fd < 0)
		fail_msg("%s", error.text);
	return fd;
}

/* Runs act in a child inside the namespace; its return value, the number of the first wrong step, is the exit status. */
static int inside(int namespace_fd, int (*act)(void))
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(setns(namespace_fd, CLONE_NEWNS) < 0 ? 200 : act());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int usual(int (*act)(void))
{
	_cleanup_close_ int fd = build_usual(false);

	return inside(fd, act);
}

/* ---- outside the write roots ---- */

static int change_outside(void)
{
	if (!refused(open(at("etc/file"), O_WRONLY), EROFS) || !refused(open(at("etc/new"), O_WRONLY | O_CREAT, 0600), EROFS))
		return 1;
	if (!refused(truncate(at("etc/file"), 0), EROFS) || !refused(unlink(at("etc/file")), EROFS))
		return 2;
	if (!refused(chmod(at("etc/file"), 0777), EROFS) || !refused(chown(at("etc/file"), 1, 1), EROFS))
		return 3;
	if (!refused(rename(at("etc/file"), at("etc/other")), EROFS) || !refused(mkdir(at("etc/folder"), 0700), EROFS))
		return 4;
	if (!refused(utimensat(AT_FDCWD, at("etc/file"), NULL, 0), EROFS))
		return 5;
	if (!refused(setxattr(at("etc/file"), "trusted.cordon", "x", 1, 0), EROFS))
		return 6;
	if (!refused(link(at("etc/file"), at("work/linked")), EXDEV) || !refused(rename(at("etc/file"), at("work/moved")), EXDEV))
		return 7;
	if (!refused(open("/cordon-test", O_WRONLY | O_CREAT, 0600), EROFS) || !refused(open("/proc/self/comm", O_WRONLY), EROFS))
		return 8;
	if (!refused(open("/proc/sys/kernel/core_pattern", O_WRONLY), EROFS))
		return 9;
	return holds(at("etc/file"), "etc") ? 0 : 10;
}

static void nothing_changes_outside_the_write_roots(void **state)
{
	(void)state;
	assert_int_equal(usual(change_outside), 0);
	assert_true(holds(at("etc/file"), "etc"));
	assert_false(exists(at("etc/new")) || exists(at("work/linked")) || exists(at("work/moved")) || exists("/cordon-test"));
}

/* ---- inside ---- */

static int change_inside(void)
{
	int fd = open(at("work/a/new"), O_RDWR | O_CREAT, 0600);
	char path[64];

	if (fd < 0 || write(fd, "new", 3) != 3)
		return 1;
	/* The descriptor's file is on a writable mount, /proc is not: what counts is the file's. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (open(path, O_RDWR) < 0)
		return 2;
	if (rename(at("work/a/new"), at("work/renamed")) < 0 || chmod(at("work/renamed"), 0640) < 0 || chown(at("work/renamed"), 5, 5) < 0)
		return 3;
	if (mkdir(at("home/docs/x"), 0700) < 0 || rmdir(at("home/docs/x")) < 0)
		return 4;
	if (!refused(open(at("work/sealed/file"), O_WRONLY), EROFS))
		return 5;
	/* A write root in a write root is a mount of its own. */
	if (!refused(rename(at("work/b"), at("work/c")), EBUSY) || !refused(rename(at("work"), at("elsewhere")), EROFS))
		return 6;
	return open(at("work/b/file"), O_WRONLY | O_CREAT, 0600) < 0 ? 7 : 0;
}

static void write_roots_are_writable_but_for_what_the_operator_sealed(void **state)
{
	(void)state;
	assert_int_equal(usual(change_inside), 0);
	assert_true(holds(at("work/renamed"), "new"));
	assert_true(holds(at("work/sealed/file"), "sealed"));
	assert_true(exists(at("work/b/file")));
}

/* ---- masks ---- */

static int look_under_masks(void)
{
	struct stat st;

	if (!holds(at("run/secret"), "") || stat(at("run/secret"), &st) < 0 || (st.st_mode & 07777) != 0444)
		return 1;
	if (!refused(open(at("run/secret"), O_WRONLY), EROFS) || !refused(chmod(at("run/secret"), 0777), EROFS))
		return 2;
	if (names_in(at("run/own")) != 0 || stat(at("run/own"), &st) < 0 || (st.st_mode & 07777) != 0755)
		return 3;
	if (!refused(open(at("run/own/new"), O_WRONLY | O_CREAT, 0600), EROFS))
		return 4;
	if (!refused(connect_to(at("run/socket")), ECONNREFUSED))
		return 5;
	if (!holds("/proc/version", "") || holds("/proc/uptime", ""))
		return 6;
	if (!refused(unlink(at("run/secret")), EBUSY) && errno != EROFS)
		return 7;
	return exists(at("run/none")) ? 8 : 0;
}

static void masks_hold_nothing(void **state)
{
	(void)state;
	assert_int_equal(connect_to(at("run/socket")), 0);
	assert_int_equal(usual(look_under_masks), 0);
	assert_true(holds(at("run/secret"), "secret"));
}

static int look_at_homes(void)
{
	struct stat st;

	if (names_in(at("home/.ssh")) != 2 || !holds(at("home/.ssh/id_rsa"), "") || !holds(at("home/.ssh/config"), ""))
		return 1;
	if (stat(at("home/.ssh/id_rsa"), &st) < 0 || (st.st_mode & 07777) != 0444)
		return 2;
	if (!refused(open(at("home/.ssh/authorized_keys"), O_WRONLY | O_CREAT, 0600), EROFS) || !refused(unlink(at("home/.ssh/config")), EROFS))
		return 3;
	/* Absent ones are there, empty, and stay so. */
	if (names_in(at("home/.aws")) != 0 || !refused(mkdir(at("home/.aws"), 0700), EEXIST))
		return 4;
	if (!refused(open(at("home/.aws/credentials"), O_WRONLY | O_CREAT, 0600), EROFS))
		return 5;
	if (names_in(at("home/.local/share/keys")) != 0 || !refused(mkdir(at("home/.local/share/keys/x"), 0700), EROFS))
		return 6;
	/* Not an agent's to create, so not made. */
	return exists(at("etc/.ssh")) ? 7 : 0;
}

static void homes_list_names_and_nothing_else(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(usual(look_at_homes), 0);
	assert_true(holds(at("home/.ssh/id_rsa"), "key"));
	assert_int_equal(stat(at("home/.aws"), &st), 0);
	assert_int_equal(st.st_uid, 1234);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_false(exists(at("etc/.ssh")));
}

static int go_round_masks(void)
{
	if (!refused(rename(at("home/.ssh"), at("home/old")), EBUSY) || !refused(rmdir(at("home/.aws")), EBUSY))
		return 1;
	if (!refused(rename(at("home"), at("home2")), EROFS))
		return 2;
	if (!refused(rename(at("home/.config"), at("home/.config2")), EBUSY) || !refused(rename(at("home/.local"), at("home/x")), EBUSY))
		return 3;
	if (!refused(rename(at("home/.local/share"), at("home/.local/x")), EBUSY))
		return 4;
	if (!refused(renameat2(AT_FDCWD, at("home/docs"), AT_FDCWD, at("home/.config"), RENAME_EXCHANGE), EBUSY))
		return 5;
	/* Another way to the same files. */
	if (symlink(".ssh", at("home/link")) < 0 || !holds(at("home/link/id_rsa"), ""))
		return 6;
	if (!refused(link(at("home/.ssh/id_rsa"), at("home/stolen")), EXDEV))
		return 7;
	/* The folders between still work. */
	if (open(at("home/.config/file"), O_WRONLY | O_CREAT, 0600) < 0 || rename(at("home/.config/file"), at("home/.config/renamed")) < 0)
		return 8;
	return mkdir(at("home/.local/share/app"), 0700) < 0 ? 9 : 0;
}

static void masks_cannot_be_gone_round(void **state)
{
	(void)state;
	assert_int_equal(usual(go_round_masks), 0);
	assert_true(holds(at("home/.config/cloud/token"), "token"));
	assert_true(exists(at("home/.config/renamed")));
}

/* ---- nosuid, devices ---- */

static int id_is(const char *program, const char *expected)
{
	char command[512];

	snprintf(command, sizeof(command), "test \"$(%s -u)\" = %s", program, expected);
	if (setresgid(1000, 1000, 1000) < 0 || setresuid(1000, 1000, 1000) < 0)
		return 100;
	return system(command) == 0 ? 0 : 1;
}

static int run_setuid_outside_roots(void)
{
	return id_is(at("etc/id"), "1000");
}

static int run_setuid_in_root(void)
{
	return id_is(at("work/id"), "1000");
}

static int run_setuid_unconfined(void)
{
	return id_is(at("etc/id"), "0");
}

static void setuid_bits_raise_nothing(void **state)
{
	int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(inside(own, run_setuid_unconfined), 0);	/* they do outside, or this test shows nothing */
	close(own);
	assert_int_equal(usual(run_setuid_outside_roots), 0);
	assert_int_equal(usual(run_setuid_in_root), 0);
}

/* ---- the namespace that hosts enter ---- */

static int not_executed(const char *path)
{
	char *const argv[] = { (char *)(uintptr_t)path, NULL };

	return execv(path, argv) < 0 && errno == EACCES;
}

static int look_at_the_hosts(void)
{
	if (!not_executed(at("work/id")))
		return 1;
	if (!refused(open(at("work/planted/file"), O_RDONLY), ELOOP) || !refused(open(at("home/planted/secret"), O_RDONLY), ELOOP))
		return 2;
	if (open(at("work/a/file"), O_WRONLY) < 0 || open(at("alias/a/file"), O_RDONLY) < 0)
		return 3;	/* writing, and the image's own links, are as they were */
	return refused(open(at("work/sealed/file"), O_WRONLY), EROFS) ? 0 : 4;
}

static int look_at_the_agents(void)
{
	if (open(at("work/planted/file"), O_RDONLY) < 0)
		return 6;
	return id_is(at("work/id"), "1000") ? 7 : 0;
}

static int run_in_root_unconfined(void)
{
	return id_is(at("work/id"), "0");
}

/* In a child: it moves away. */
static int guard_then_build(void)
{
	const char *roots[] = { at("home"), at("work"), at("missing"), at("work/b"), NULL };
	const char *entry_paths[] = { at("work/new/bin/tool"), at("work/new/bin/other"), at("missing/x/y"), NULL };
	const struct mounts_host_plan host = { .write_roots = roots, .entry_paths = entry_paths, .client = "/usr/bin/cordon" };
	struct mounts_plan plan = { .write_roots = roots };
	struct err error = { 0 };
	char target[64] = "";
	struct stat st;
	int fd, r;

	if (mounts_host_leave(&plan.container_fd, &error) < 0 || mounts_host_guard(&host, &error) < 0) {
		fprintf(stderr, "%s\n", error.text);
		return 10;
	}
	r = look_at_the_hosts();
	if (r)
		return r;
	if (readlink(at("work/new/bin/tool"), target, sizeof(target) - 1) < 0 || strcmp(target, host.client) != 0 ||
	    !refused(symlink("x", at("work/new/bin/x")), EROFS) || lstat(at("work/new"), &st) < 0 || st.st_uid || st.st_mode != (S_IFDIR | 01777))
		return 11;
	fd = build(&plan, &error);
	if (fd < 0)
		fprintf(stderr, "%s\n", error.text);
	if (fd < 0 || setns(fd, CLONE_NEWNS) < 0)
		return 12;
	if (lstat(at("work/new/bin"), &st) < 0 || lstat(at("work/new/bin/tool"), &st) == 0)
		return 13;
	return look_at_the_agents();
}

static void hosts_execute_nothing_that_agents_write(void **state)
{
	int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(inside(own, guard_then_build), 0);
	assert_int_equal(inside(own, run_in_root_unconfined), 0);	/* the namespace it left is as it was */
	close(own);
}

static int guard_with(const char *root, const char *entry_path)
{
	const char *roots[] = { root, NULL }, *entry_paths[] = { entry_path, NULL };
	const struct mounts_host_plan host = { .write_roots = roots, .entry_paths = entry_paths, .client = at("etc/id") };
	struct err error = { 0 };

	return mounts_host_guard(&host, &error);
}

static int guard_badly(void)
{
	int fd;

	if (mounts_host_leave(&fd, NULL) < 0)
		return 1;
	if (guard_with(at("etc"), NULL) != -EINVAL || guard_with("/", NULL) != -EINVAL)
		return 2;	/* Cordon's own programs are there */
	if (guard_with(at("work"), at("work/planted/bin/tool")) != -ELOOP)
		return 3;
	if (guard_with(at("work"), at("work/tool")) != -EINVAL || guard_with(at("work"), at("work/a/file/tool")) >= 0)
		return 4;
	return 0;
}

static void impossible_guards_are_refused(void **state)
{
	int own = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(inside(own, guard_badly), 0);
	close(own);
}

static int use_devices(void)
{
	int fd = open("/dev/null", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, "x", 1) != 1)
		return 1;
	fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	if (fd < 0 || grantpt(fd) < 0 || unlockpt(fd) < 0 || open(ptsname(fd), O_RDWR | O_NOCTTY) < 0)
		return 2;
	if (chmod(ptsname(fd), 0620) < 0)
		return 3;
	fd = open("/dev/shm/cordon-mounts-test", O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || unlink("/dev/shm/cordon-mounts-test") < 0)
		return 4;
	if (open("/dev/tty", O_RDWR) < 0 && errno != ENXIO)
		return 5;
	if (!refused(mknod("/dev/cordon-test", S_IFCHR | 0600, 0x0103), EROFS))
		return 6;
	/* A device node made in a write root, by whoever could, is dead. */
	if (mknod(at("work/null"), S_IFCHR | 0666, 0x0103) == 0 && !refused(open(at("work/null"), O_RDWR), EACCES))
		return 7;
	return 0;
}

static void devices_stay_usable(void **state)
{
	(void)state;
	assert_int_equal(usual(use_devices), 0);
	unlink(at("work/null"));
}

/* ---- the caller, off, and plans that are refused ---- */

static void read_mountinfo(char *ret_text, size_t bytes)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t len;

	assert_true(fd >= 0);
	while ((len = read(fd, ret_text + used, bytes - 1 - used)) > 0)
		used += (size_t)len;
	ret_text[used] = '\0';
	close(fd);
}

static void the_callers_namespace_does_not_change(void **state)
{
	static char before[65536], after[65536];
	int fd;

	(void)state;
	read_mountinfo(before, sizeof(before));
	fd = build_usual(false);
	read_mountinfo(after, sizeof(after));
	assert_string_equal(before, after);
	file("etc/file", "etc");
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
}

static int act_in_off(void)
{
	if (open(at("etc/off"), O_WRONLY | O_CREAT, 0600) < 0 || open(at("work/off"), O_WRONLY | O_CREAT, 0600) < 0)
		return 1;
	if (!holds(at("home/.ssh/id_rsa"), "key"))
		return 2;
	if (names_in(at("run/own")) != 0 || !holds(at("run/secret"), ""))
		return 3;
	return id_is(at("etc/id"), "0");
}

static void off_only_masks(void **state)
{
	_cleanup_close_ int fd = build_usual(true);

	(void)state;
	assert_int_equal(inside(fd, act_in_off), 0);
	assert_true(exists(at("etc/off")));
}

static void refuse(const char *root, const char *mask, const char *home, int error_number, const char *text)
{
	const char *roots[] = { at("work"), at("home"), root, NULL }, *masks[] = { mask, NULL }, *homes[] = { home, NULL };
	struct mounts_plan plan = { .write_roots = roots, .masks = masks, .homes = homes };
	struct err error;

	assert_int_equal(build(&plan, &error), -error_number);
	if (!strstr(error.text, text))
		fail_msg("\"%s\" does not say \"%s\"", error.text, text);
}

static void planted_symlinks_are_refused(void **state)
{
	(void)state;
	refuse(at("work/planted"), NULL, NULL, ELOOP, "work/planted");
	refuse(NULL, at("home/planted/secret"), NULL, ELOOP, "home/planted");
	refuse(NULL, NULL, at("work/planted/.ssh"), ELOOP, "work/planted");
	assert_true(holds(at("etc/file"), "etc"));
}

static int change_read_only(void)
{
	if (!refused(open(at("home/tools/skills/made/x"), O_WRONLY | O_CREAT, 0600), ENOENT) || !refused(open(at("home/tools/skills/x"), O_WRONLY | O_CREAT, 0600), EROFS))
		return 1;
	if (!refused(rename(at("home/tools/skills"), at("home/tools/old")), EBUSY) || !refused(rename(at("home/tools"), at("home/old")), EBUSY))
		return 2;
	return open(at("home/tools/beside"), O_WRONLY | O_CREAT, 0600) < 0 ? 3 : 0;
}

/* A folder that is not there yet is made: an agent's would be taken for it. */
static void read_only_folders_stay_in_a_write_root(void **state)
{
	const char *roots[] = { at("work"), at("home"), NULL }, *read_only[] = { at("home/tools/skills"), at("etc/none"), NULL }, *planted[] = { at("work/planted/skills"), NULL };
	struct mounts_plan plan = { .write_roots = roots, .read_only = read_only };
	struct err error;
	_cleanup_close_ int fd = build(&plan, &error);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(inside(fd, change_read_only), 0);
	assert_true(exists(at("home/tools/skills")));
	assert_false(exists(at("etc/none")));
	plan.read_only = planted;
	assert_int_equal(build(&plan, &error), -ELOOP);
}

static int write_through_alias(void)
{
	return open(at("alias/by-alias"), O_WRONLY | O_CREAT, 0600) < 0 || !refused(open(at("etc/x"), O_WRONLY | O_CREAT, 0600), EROFS);
}

static void the_images_own_symlinks_are_followed(void **state)
{
	const char *roots[] = { at("alias"), NULL };
	struct mounts_plan plan = { .write_roots = roots };
	struct err error;
	_cleanup_close_ int fd = build(&plan, &error);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(inside(fd, write_through_alias), 0);
	assert_true(exists(at("work/by-alias")));
}

static void impossible_plans_are_refused(void **state)
{
	(void)state;
	refuse("/", NULL, NULL, EINVAL, "write root");
	refuse("/proc/..", NULL, NULL, EINVAL, "write root");
	refuse("work", NULL, NULL, EINVAL, "absolute");
	refuse(NULL, "/", NULL, EINVAL, "masked");
	refuse(NULL, NULL, "~/.ssh", EINVAL, "absolute");
}

static void without_the_right_nothing_is_built_and_it_says_so(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		struct mounts_plan plan = { 0 };
		struct err error = { 0 };
		int fd = -1;

		if (setresuid(1000, 1000, 1000) < 0)
			_exit(100);
		_exit(mounts_build(&plan, &fd, &error) == -EPERM && fd == -1 && strstr(error.text, "mount namespace") ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_changes_outside_the_write_roots),
		cmocka_unit_test(write_roots_are_writable_but_for_what_the_operator_sealed),
		cmocka_unit_test(masks_hold_nothing),
		cmocka_unit_test(read_only_folders_stay_in_a_write_root),
		cmocka_unit_test(homes_list_names_and_nothing_else),
		cmocka_unit_test(masks_cannot_be_gone_round),
		cmocka_unit_test(setuid_bits_raise_nothing),
		cmocka_unit_test(hosts_execute_nothing_that_agents_write),
		cmocka_unit_test(impossible_guards_are_refused),
		cmocka_unit_test(devices_stay_usable),
		cmocka_unit_test(the_callers_namespace_does_not_change),
		cmocka_unit_test(off_only_masks),
		cmocka_unit_test(planted_symlinks_are_refused),
		cmocka_unit_test(the_images_own_symlinks_are_followed),
		cmocka_unit_test(impossible_plans_are_refused),
		cmocka_unit_test(without_the_right_nothing_is_built_and_it_says_so),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
