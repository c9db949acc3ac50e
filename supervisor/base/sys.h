/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls and kernel constants that Debian 12's headers or libc lack. tests/unit/test_constants.c holds them against newer
 * headers' values; a wrong one here would be a hole.
 */
#pragma once

#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)	/* since 5.19 */
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)	/* since 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)		/* ABI 3 */
#endif
#ifndef LANDLOCK_ACCESS_NET_CONNECT_TCP
#define LANDLOCK_ACCESS_NET_BIND_TCP (1ULL << 0)		/* ABI 4 */
#define LANDLOCK_ACCESS_NET_CONNECT_TCP (1ULL << 1)		/* ABI 4 */
#endif
#ifndef LANDLOCK_ACCESS_FS_IOCTL_DEV
#define LANDLOCK_ACCESS_FS_IOCTL_DEV (1ULL << 15)		/* ABI 5 */
#endif
#ifndef LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
#define LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0)		/* ABI 6 */
#define LANDLOCK_SCOPE_SIGNAL (1ULL << 1)
#endif

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452	/* since 6.6 */
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463	/* since 6.13 */
#define SYS_removexattrat 466
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr 469	/* since 6.17 */
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467	/* since 6.15 */
#endif

/* The rights that a rule on something other than a folder may carry: the kernel refuses the rest (EINVAL). */
#define SYS_LANDLOCK_FILE_RIGHTS \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | \
	 LANDLOCK_ACCESS_FS_IOCTL_DEV)

/* struct landlock_ruleset_attr as of ABI 6; older kernels take a shorter size. */
struct sys_landlock_ruleset {
	uint64_t handled_access_fs;
	uint64_t handled_access_net;
	uint64_t scoped;
};

/* struct sched_attr, first version; newer C libraries have it under its own name. */
struct sys_sched_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};
#define SYS_SCHED_RESET_ON_FORK 1ULL

/* Of the calling thread. */
static inline int sys_sched_setattr(const struct sys_sched_attr *attr)
{
	return (int)syscall(SYS_sched_setattr, 0, attr, 0);
}

static inline int sys_pidfd_open(pid_t pid, unsigned flags)
{
	return (int)syscall(SYS_pidfd_open, pid, flags);
}

/* PIDFD_GET_INFO since 6.13, its first version; a thread's pidfd tells of the thread. */
struct sys_pidfd_info {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid, spare;
};
#define SYS_PIDFD_GET_INFO _IOWR(0xff, 11, struct sys_pidfd_info)
#define SYS_PIDFD_INFO_PID 1u
#define SYS_PIDFD_INFO_CREDS 2u

static inline int sys_pidfd_info(int pidfd, struct sys_pidfd_info *ret_info)
{
	*ret_info = (struct sys_pidfd_info){ .mask = SYS_PIDFD_INFO_PID | SYS_PIDFD_INFO_CREDS };
	return ioctl(pidfd, SYS_PIDFD_GET_INFO, ret_info);
}

static inline int sys_pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

static inline int sys_pidfd_send_signal(int pidfd, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, (void *)0, 0);
}

static inline int sys_close_range(unsigned first, unsigned last, unsigned flags)
{
	return (int)syscall(SYS_close_range, first, last, flags);
}

/* attr NULL asks for the ABI version. size: what of attr this ABI knows (8, 16 or 24). */
static inline int sys_landlock_create_ruleset(const struct sys_landlock_ruleset *attr, size_t size)
{
	return (int)syscall(SYS_landlock_create_ruleset, attr, attr ? size : 0, attr ? 0 : LANDLOCK_CREATE_RULESET_VERSION);
}

static inline size_t sys_landlock_ruleset_bytes(int abi)
{
	return abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
}

static inline int sys_landlock_add_path(int ruleset_fd, int parent_fd, uint64_t access)
{
	struct landlock_path_beneath_attr rule = { .allowed_access = access, .parent_fd = parent_fd };

	return (int)syscall(SYS_landlock_add_rule, ruleset_fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

static inline int sys_landlock_restrict_self(int ruleset_fd)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset_fd, 0);
}
