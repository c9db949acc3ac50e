/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel constants that Debian 12's headers lack, against the values of newer kernel headers and against the running kernel. */
#include "supervisor/base/sys.h"
#include "supervisor/boundary/landlock.h"

#include <errno.h>
#include <linux/filter.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

static void values_are_those_of_the_kernel_headers(void **state)
{
	(void)state;
	assert_int_equal(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, 0x20);
	assert_int_equal(SECCOMP_FILTER_FLAG_NEW_LISTENER, 0x08);
	assert_int_equal(SECCOMP_IOCTL_NOTIF_RECV, 0xc0502100);
	assert_int_equal(SECCOMP_IOCTL_NOTIF_SEND, 0xc0182101);
	assert_int_equal(SECCOMP_IOCTL_NOTIF_ID_VALID, 0x40082102);
	assert_int_equal(SECCOMP_IOCTL_NOTIF_ADDFD, 0x40182103);
	assert_int_equal(SECCOMP_IOCTL_NOTIF_SET_FLAGS, 0x40082104);
	assert_int_equal(SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP, 1);
	assert_int_equal(LANDLOCK_ACCESS_FS_MAKE_SYM, 0x1000);
	assert_int_equal(LANDLOCK_ACCESS_FS_REFER, 0x2000);
	assert_int_equal(LANDLOCK_ACCESS_FS_TRUNCATE, 0x4000);
	assert_int_equal(LANDLOCK_ACCESS_FS_IOCTL_DEV, 0x8000);
	assert_int_equal(LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, 1);
	assert_int_equal(LANDLOCK_SCOPE_SIGNAL, 2);
	assert_int_equal(sizeof(struct sys_landlock_ruleset), 24);
	assert_int_equal(sizeof(struct landlock_path_beneath_attr), 12);
}

static void call_numbers_are_the_unified_ones(void **state)
{
	(void)state;
	assert_int_equal(SYS_pidfd_send_signal, 424);
	assert_int_equal(SYS_pidfd_open, 434);
	assert_int_equal(SYS_close_range, 436);
	assert_int_equal(SYS_openat2, 437);
	assert_int_equal(SYS_pidfd_getfd, 438);
	assert_int_equal(SYS_mount_setattr, 442);
	assert_int_equal(SYS_landlock_create_ruleset, 444);
	assert_int_equal(SYS_landlock_add_rule, 445);
	assert_int_equal(SYS_landlock_restrict_self, 446);
}

static int install_with(unsigned flags)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { .len = 1, .filter = code };
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 100;
	fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	if (fd < 0)
		return errno;
	if (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER && ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) < 0)
		return errno;
	return 0;
}

static int in_child(unsigned flags)
{
	int status;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0)
		_exit(install_with(flags));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* WAIT_KILLABLE_RECV is the one flag that needs NEW_LISTENER (EINVAL without): an ordinary flag under its number would pass both. */
static void the_kernel_takes_the_seccomp_flags(void **state)
{
	(void)state;
	assert_int_equal(in_child(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV), 0);
	assert_int_equal(in_child(SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV), EINVAL);
	assert_int_equal(in_child(0), 0);
}

static int create_ruleset(uint64_t handled, uint64_t scoped, int abi)
{
	struct sys_landlock_ruleset attr = { .handled_access_fs = handled, .scoped = scoped };
	int fd = sys_landlock_create_ruleset(&attr, sys_landlock_ruleset_bytes(abi));

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void the_kernel_takes_every_right_we_handle_for_its_abi(void **state)
{
	int abi = sys_landlock_create_ruleset(NULL, 0);

	(void)state;
	if (abi < 1)
		skip();
	assert_int_equal(create_ruleset(landlock_handled(abi), 0, abi), 0);
	/* Below the next steps our list must be complete: one more bit is unknown to that kernel. */
	if (abi <= 7)
		assert_int_equal(create_ruleset(landlock_handled(abi) << 1 | 1, 0, abi), -EINVAL);
	if (abi >= 6)
		assert_int_equal(create_ruleset(landlock_handled(abi), LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL, abi), 0);
}

static void a_pidfd_tells_who_it_is(void **state)
{
	struct sys_pidfd_info info;
	int fd = sys_pidfd_open(getpid(), 0);

	(void)state;
	assert_true(fd >= 0);
	if (sys_pidfd_info(fd, &info) < 0) {
		close(fd);
		skip(); /* before 6.13 */
	}
	close(fd);
	assert_int_equal(info.tgid, getpid());
	assert_int_equal(info.ppid, getppid());
	assert_int_equal(info.ruid, getuid());
	assert_int_equal(info.rgid, getgid());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_those_of_the_kernel_headers),
		cmocka_unit_test(call_numbers_are_the_unified_ones),
		cmocka_unit_test(the_kernel_takes_the_seccomp_flags),
		cmocka_unit_test(the_kernel_takes_every_right_we_handle_for_its_abi),
		cmocka_unit_test(a_pidfd_tells_who_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
