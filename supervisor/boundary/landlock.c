/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a policy's roots and a launch's grants into Landlock rules. Rules only add rights: a path's rights are the union up its tree. */
#include "supervisor/boundary/landlock.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/base/sys.h"

#include <errno.h>

#define READING (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define MAKING (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | \
		LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)
/* A device tree makes and removes nothing: /dev/shm is a write root of its own, /dev/pts nodes come from the kernel. */
#define DEVICES (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_IOCTL_DEV)

/* What programs themselves need under strict roots: code, libraries, configuration, the kernel's own files. No home, no /var, no /srv. */
static const char *const system_folders[] = {
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/proc", "/sys", "/run/resolvconf", "/run/systemd/resolve",
};

struct plan {
	uint64_t handled;
	struct landlock_rule *rules;
	unsigned nr, max;
};

uint64_t landlock_handled(int abi)
{
	uint64_t handled;

	if (abi < 1)
		return 0;
	handled = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;	/* ABI 1: bits 0 to 12 */
	if (abi >= 2)
		handled |= LANDLOCK_ACCESS_FS_REFER;
	if (abi >= 3)
		handled |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (abi >= 5)
		handled |= LANDLOCK_ACCESS_FS_IOCTL_DEV;
	return handled;
}

static bool is_strict(const struct policy *policy, const struct judge_subject *subject)
{
	return judge_roots_are_strict(policy, subject) || subject->mode == MODE_READONLY;
}

/*
 * Every open asks for TRUNCATE beside what it needs, so that one of these handled is a walk from each opened file up to the root: a third of what
 * an open costs. Reading is open everywhere under roots that are not strict. Truncating without a descriptor that may write (truncate(2),
 * O_RDONLY|O_TRUNC) is then the mounts' to refuse, as chmod and chown are.
 */
uint64_t landlock_handled_by(const struct policy *policy, const struct judge_subject *subject, int abi, bool mounts_fit)
{
	uint64_t handled = landlock_handled(abi);

	if (mounts_fit && !is_strict(policy, subject))
		handled &= ~(READING | LANDLOCK_ACCESS_FS_TRUNCATE);
	return handled;
}

uint64_t landlock_handled_net(int abi)
{
	return abi >= 4 ? LANDLOCK_ACCESS_NET_BIND_TCP | LANDLOCK_ACCESS_NET_CONNECT_TCP : 0;
}

static int add(struct plan *plan, const char *path, uint64_t access)
{
	if (!(access & plan->handled)) /* the kernel refuses a rule that grants nothing */
		return 0;
	if (plan->nr == plan->max)
		return -E2BIG;
	plan->rules[plan->nr++] = (struct landlock_rule){ path, access & plan->handled };
	return 0;
}

static int add_all(struct plan *plan, const char *const *paths, size_t nr, uint64_t access)
{
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++)
		r = add(plan, paths[i], access);
	return r;
}

static int add_reading(struct plan *plan, const struct policy *policy, const struct judge_subject *subject)
{
	int r;

	if (!is_strict(policy, subject))
		return add(plan, "/", READING);
	r = add_all(plan, system_folders, ARRAY_SIZE(system_folders), READING);
	if (r == 0)
		r = add(plan, policy->paths.project, READING);
	if (r == 0)
		r = add_all(plan, policy->paths.allowed_roots.items, policy->paths.allowed_roots.nr, READING);
	for (const char *const *root = subject->read_roots; r == 0 && root && *root; root++)
		r = add(plan, *root, READING & ~LANDLOCK_ACCESS_FS_EXECUTE);
	return r;
}

static bool holds_workspace(const struct judge_subject *subject, const char *root)
{
	for (const char *const *frozen = subject->frozen_roots; frozen && *frozen; frozen++)
		if (path_is_under(*frozen, root) || path_is_under(root, *frozen))
			return true;
	return false;
}

bool landlock_withholds(const struct judge_subject *subject, const char *path)
{
	bool withheld = false;

	for (const char *const *root = subject->write_roots; root && *root; root++) {
		if (!path_is_under(path, *root))
			continue;
		if (!holds_workspace(subject, *root))
			return false;
		withheld = true;
	}
	return withheld;
}

int landlock_plan(const struct policy *policy, const struct judge_subject *subject, uint64_t handled, struct landlock_rule *ret_rules,
		  unsigned rules_max)
{
	struct plan plan = { .handled = handled, .rules = ret_rules, .max = rules_max };
	int r;

	if (subject->mode == MODE_OFF)
		return 0;
	r = add_reading(&plan, policy, subject);
	if (r == 0)
		r = add_all(&plan, policy->paths.devices.items, policy->paths.devices.nr, DEVICES);
	for (const char *const *root = subject->write_roots; r == 0 && root && *root; root++)
		r = add(&plan, *root, holds_workspace(subject, *root) ? ~(uint64_t)MAKING : plan.handled);
	return r < 0 ? r : (int)plan.nr;
}
