/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/lockdown.h"

#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#define CAP_BIT(cap) (1ULL << (cap))

static int set_capabilities(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .effective = (uint32_t)effective, .permitted = (uint32_t)permitted },
		{ .effective = (uint32_t)(effective >> 32), .permitted = (uint32_t)(permitted >> 32) },
	};

	return (int)syscall(SYS_capset, &head, data);
}

static int get_permitted(uint64_t *ret_permitted)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	*ret_permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

int lockdown_zygote_capabilities(void)
{
	const uint64_t kept = CAP_BIT(CAP_SETUID) | CAP_BIT(CAP_SETGID) | CAP_BIT(CAP_SETPCAP) | CAP_BIT(CAP_KILL);
	uint64_t permitted;

	/* The kernel's own end of the list is found by its EINVAL: newer kernels have capabilities our headers lack. */
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
			return -1;
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 || get_permitted(&permitted) < 0)
		return -1;
	return set_capabilities(permitted & kept, permitted & kept);
}

int lockdown_keeper_capabilities(void)
{
	uint64_t permitted;

	if (get_permitted(&permitted) < 0)
		return -1;
	return set_capabilities(permitted & CAP_BIT(CAP_KILL), permitted & CAP_BIT(CAP_KILL));
}

int lockdown_scope_layer(void)
{
	int abi = sys_landlock_create_ruleset(NULL, 0), ruleset, root, r;
	struct sys_landlock_ruleset attr = {
		.handled_access_fs = LANDLOCK_ACCESS_FS_REFER,
		.scoped = LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | LANDLOCK_SCOPE_SIGNAL,
	};

	if (abi < 6)
		return 0; /* no scopes before 6.12; the enforcer has reported that, and refuses where policy requires them */
	ruleset = sys_landlock_create_ruleset(&attr, sizeof(attr));
	root = open("/", O_PATH | O_CLOEXEC);
	r = ruleset < 0 || root < 0 ? -1 : sys_landlock_add_path(ruleset, root, LANDLOCK_ACCESS_FS_REFER);
	if (r == 0)
		r = sys_landlock_restrict_self(ruleset);
	if (root >= 0)
		close(root);
	if (ruleset >= 0)
		close(ruleset);
	return r;
}

static int add_rule(int ruleset, const char *path, uint64_t access)
{
	int fd = open(path, O_PATH | O_CLOEXEC), r;
	struct stat st;

	/* A root that is not there grants nothing; so does one that we, without DAC_OVERRIDE, cannot reach. */
	if (fd < 0)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR ? 0 : -1;
	r = fstat(fd, &st);
	/* The kernel refuses a folder's rights on a file. */
	if (r == 0 && !S_ISDIR(st.st_mode))
		access &= SYS_LANDLOCK_FILE_RIGHTS;
	if (r == 0)
		r = sys_landlock_add_path(ruleset, fd, access);
	close(fd);
	return r;
}

int lockdown_open_ruleset(const struct spec *spec, const char *blob)
{
	const struct spec_landlock *rules = (const void *)(blob + spec->landlock_offset);
	struct sys_landlock_ruleset attr = { .handled_access_fs = spec->landlock_handled, .handled_access_net = spec->landlock_handled_net };
	int ruleset = sys_landlock_create_ruleset(&attr, spec->landlock_bytes);

	for (uint32_t i = 0; ruleset >= 0 && i < spec->nr_landlock; i++) {
		if (add_rule(ruleset, blob + rules[i].path_offset, rules[i].access) == 0)
			continue;
		close(ruleset);
		return -1;
	}
	return ruleset;
}

int lockdown_ids(const struct spec *spec, const char *blob, bool keep_admin)
{
	const gid_t *groups = (const void *)(blob + spec->groups_offset);

	if (keep_admin && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -1;
	if (setgroups(spec->nr_groups, groups) < 0 || setresgid(spec->gid, spec->gid, spec->gid) < 0 ||
	    setresuid(spec->uid, spec->uid, spec->uid) < 0)
		return -1;
	if (keep_admin) {
		uint64_t permitted;

		if (get_permitted(&permitted) < 0)
			return -1;
		return set_capabilities(permitted, permitted);
	}
	return 0;
}

int lockdown_last_capabilities(const struct spec *spec)
{
	if (spec->flags & SPEC_DROP_CAPABILITIES || spec->uid != 0)
		return set_capabilities(0, 0);
	return 0;
}
