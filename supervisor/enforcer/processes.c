/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that act on another process: signals in every form, limits, priorities, CPU sets; in mode off also tracing and reading or writing its memory.
 *
 * Inside the agent's own launches they are ordinary; beyond, and towards what is Cordon's, they are refused and recorded. CONTINUE is safe here: the
 * verdict used register values alone, and a pid that is reused meanwhile, or a descriptor that is swapped, meets the Landlock signal scope of the
 * zygote and another uid.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ioprio.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

enum target_kind { TARGET_KILL, TARGET_PROCESS, TARGET_PIDFD, TARGET_PRIORITY, TARGET_IO_PRIORITY };

static const struct process_call {
	int nr;
	enum target_kind kind;
	int arg;			/* which one names the process */
	int signal;			/* which one is the signal; 0: none */
} process_calls[] = {
	{ SYS_kill, TARGET_KILL, 0, 1 },
	{ SYS_tkill, TARGET_PROCESS, 0, 1 },
	{ SYS_tgkill, TARGET_PROCESS, 0, 2 },
	{ SYS_rt_sigqueueinfo, TARGET_PROCESS, 0, 1 },
	{ SYS_rt_tgsigqueueinfo, TARGET_PROCESS, 0, 2 },
	{ SYS_pidfd_send_signal, TARGET_PIDFD, 0, 1 },
	{ SYS_fcntl, TARGET_KILL, 2, 0 },	/* F_SETOWN: whom a descriptor's signals go to */
	{ SYS_prlimit64, TARGET_PROCESS, 0, 0 },
	{ SYS_sched_setaffinity, TARGET_PROCESS, 0, 0 },
	{ SYS_sched_setscheduler, TARGET_PROCESS, 0, 0 },
	{ SYS_sched_setparam, TARGET_PROCESS, 0, 0 },
	{ SYS_sched_setattr, TARGET_PROCESS, 0, 0 },
	{ SYS_setpriority, TARGET_PRIORITY, 1, 0 },
	{ SYS_ioprio_set, TARGET_IO_PRIORITY, 1, 0 },
	/* Only from mode off: elsewhere their registers refuse them. */
	{ SYS_ptrace, TARGET_PROCESS, 1, 0 },
	{ SYS_process_vm_readv, TARGET_PROCESS, 0, 0 },
	{ SYS_process_vm_writev, TARGET_PROCESS, 0, 0 },
	{ SYS_pidfd_getfd, TARGET_PIDFD, 0, 0 },
	{ SYS_process_madvise, TARGET_PIDFD, 0, 0 },
};

enum reach { REACH_OWN, REACH_NOBODY, REACH_FOREIGN, REACH_CORDON, REACH_ALL };

/* Nearly every signal a program sends goes to a thread of its own. */
static bool is_own_thread(pid_t caller, pid_t target)
{
	return caller == target || process_has_thread(target, caller);
}

static enum reach reach_of_process(const struct enforcer *e, const struct launch *l, pid_t pid)
{
	pid_t at;

	pid = at = process_group(pid); /* any thread stands for its process: a signal to one ends them all */
	if (pid == getpid() || pid == 1)
		return REACH_CORDON;
	for (int hops = 0; at > 1 && hops < 4096; hops++) {
		for (const struct launch *other = e->launches; other; other = other->next)
			if (other->keeper_pid == at)
				return at == pid ? REACH_CORDON : other->zygote == l->zygote ? REACH_OWN : REACH_FOREIGN;
		for (const struct zygote *z = e->zygotes; z; z = z->next)
			if (z->pid == at)
				return REACH_CORDON;
		at = process_parent(at);
		/* Not 0: that is the parent of what came in by docker exec, which limits and priorities of its uid could reach. */
		if (at < 0 && hops == 0)
			return REACH_NOBODY;
	}
	return REACH_FOREIGN;
}

/*
 * A process group lives in one session, and a launch's sessions are its own: one member tells for all. The leader, whose number is the group's; where
 * it has ended, as a dead zygote whose keepers live, whoever is found first. That is a search through all processes, which an agent could ask for again
 * and again: where the Landlock scope holds a signal to its own tree, the kernel answers.
 */
static enum reach reach_of_group(const struct enforcer *e, const struct launch *l, pid_t group)
{
	enum reach reach = group < 0 ? REACH_NOBODY : reach_of_process(e, l, group);
	struct dirent *entry;
	DIR *proc;

	if (reach != REACH_NOBODY || group <= 0 || (l->subject.mode != MODE_OFF && e->signals_scoped) || (kill(-group, 0) < 0 && errno == ESRCH))
		return reach;
	proc = opendir("/proc");
	if (!proc)
		return REACH_FOREIGN;
	while (reach == REACH_NOBODY && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0 && process_group_id(pid) == group)
			reach = reach_of_process(e, l, pid);
	}
	closedir(proc);
	return reach;
}

/* Priorities know no scope: a group that is there and cannot be told to be one's own is not. */
static enum reach reach_of_group_beyond_scope(const struct enforcer *e, const struct launch *l, pid_t group)
{
	enum reach reach = reach_of_group(e, l, group);

	return reach == REACH_NOBODY && (kill(-group, 0) == 0 || errno != ESRCH) ? REACH_FOREIGN : reach;
}

static enum reach reach_of_pidfd(const struct enforcer *e, const struct call *call, int fd)
{
	_cleanup_buf_ struct buf text = { 0 };
	char path[64];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", call->request->pid, fd);
	if (io_read_file(AT_FDCWD, path, 4096, &text) < 0)
		return REACH_NOBODY; /* no such descriptor: the kernel says so */
	line = strstr(text.data, "\nPid:\t");
	return line ? reach_of_process(e, call->launch, atoi(line + 6)) : REACH_NOBODY;
}

static enum reach reach_of_number(const struct enforcer *e, const struct call *call, pid_t pid)
{
	if (pid < 0) /* only kill(2) and F_SETOWN have a meaning for it, and they do not come here with one */
		return REACH_NOBODY;
	if (pid == 0 || is_own_thread((pid_t)call->request->pid, pid))
		return REACH_OWN;
	return reach_of_process(e, call->launch, pid);
}

static enum reach find_reach(const struct enforcer *e, const struct call *call, const struct process_call *c)
{
	int value = (int)call->request->data.args[c->arg], which = (int)call->request->data.args[0];

	switch (c->kind) {
	case TARGET_KILL:
		if (value == -1)
			return REACH_ALL;
		if (value < 0) /* the least number has no opposite, and names nobody */
			return value == INT_MIN ? REACH_NOBODY : reach_of_group(e, call->launch, -value);
		return reach_of_number(e, call, value);
	case TARGET_PROCESS:
		return reach_of_number(e, call, value);
	case TARGET_PIDFD:
		return reach_of_pidfd(e, call, value);
	case TARGET_PRIORITY:
		if (which == PRIO_PGRP && value > 0)
			return reach_of_group_beyond_scope(e, call->launch, value);
		return which == PRIO_PROCESS || which == PRIO_PGRP ? reach_of_number(e, call, value) : REACH_ALL;
	case TARGET_IO_PRIORITY:
		if (which == IOPRIO_WHO_PGRP && value > 0)
			return reach_of_group_beyond_scope(e, call->launch, value);
		return which == IOPRIO_WHO_PROCESS || which == IOPRIO_WHO_PGRP ? reach_of_number(e, call, value) : REACH_ALL;
	default:
		return REACH_FOREIGN;
	}
}

bool process_is_own(const struct enforcer *e, const struct launch *l, pid_t pid)
{
	return reach_of_process(e, l, pid) == REACH_OWN;
}

bool process_file_is_cordons(const struct enforcer *e, const struct launch *l, const struct resolved *object)
{
	struct statfs fs;
	const char *at = object->path;

	if (object->fd < 0 || fstatfs(object->fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
		return false;
	/* Wherever this proc is mounted: PID, or the TID of PID/task/TID, is the first name that is all digits. */
	while ((at = strchr(at, '/')) && (strspn(at + 1, "0123456789") == 0 || at[1 + strspn(at + 1, "0123456789")] != '/'))
		at++;
	return at && reach_of_process(e, l, atoi(at + 1)) == REACH_CORDON;
}

static void describe(const struct call *call, const struct process_call *c, struct buf *ret_what)
{
	struct json_out j = { .buf = ret_what };

	json_object_begin(&j, "sig");
	json_int(&j, c->kind == TARGET_PIDFD ? "pidfd" : "target", (int)call->request->data.args[c->arg]);
	if (c->signal)
		json_int(&j, "signo", (int)call->request->data.args[c->signal]);
	json_object_end(&j);
}

/* In mode off only what is Cordon's own is out of reach, also as one of everybody: what a caller who is not root cannot signal, it does not reach. */
static bool is_off_limits(const struct call *call, enum reach reach)
{
	if (call->launch->subject.mode != MODE_OFF)
		return reach != REACH_OWN && reach != REACH_NOBODY;
	return reach == REACH_CORDON || (reach == REACH_ALL && process_uid((pid_t)call->request->pid, 0) == 0);
}

void process_handle(struct enforcer *e, const struct call *call)
{
	static const struct process_call unknown = { -1, TARGET_KILL, 0, 0 };
	const struct process_call *c = &unknown;
	struct decision decision = { .verdict = VERDICT_DENY, .tag = "hardline", .rule = "boundary.process", .origin = CODE_ORIGIN,
				     .hint = "act on processes of your own launches only" };
	_cleanup_buf_ struct buf what = { 0 };
	const char *reason;
	enum reach reach;

	for (size_t i = 0; i < ARRAY_SIZE(process_calls); i++)
		if (process_calls[i].nr == call->request->data.nr)
			c = &process_calls[i];
	reach = find_reach(e, call, c);
	if (!is_off_limits(call, reach)) /* or nobody's: the kernel's ESRCH or EBADF */
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	switch (reach) {
	case REACH_ALL:
		reason = "every process at once is more than this launch's own";
		break;
	case REACH_CORDON:
		reason = "the process is part of Cordon";
		break;
	case REACH_OWN:
	case REACH_NOBODY:
	case REACH_FOREIGN:
	default:
		decision.tag = "policy_block";
		reason = "the process does not belong to this agent's launches";
	}
	snprintf(decision.reason, sizeof(decision.reason), "%s", reason);
	describe(call, c, &what);
	notify_deny(e, call, &decision, EPERM, &what);
}
