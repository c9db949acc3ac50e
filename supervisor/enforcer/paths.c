/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that change what a path names: unlink, rename, link, mkdir, mknod, chmod, chown, truncate, xattr, times, in every form.
 *
 * Judged by every path they take, recorded when refused, then continued. CONTINUE is safe here: the agents' tree is read-only outside the write roots,
 * which also holds chmod, chown, xattr and times, that Landlock does not know; the launch's Landlock roots hold the rest; masks hold what is
 * protected inside a write root. A raced argument reaches nothing that a judged one could not. What these do not let a launch make itself, makes.c does.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#define NONE (-1)

/*
 * Whether a symlink in the last place is followed, as a flags argument may say. It is not in a name that goes away (FROM),
 * in a NEW one, which must not be there, and in the one renamed TO.
 */
enum follow { FOLLOW, NO_FOLLOW, FOLLOW_UNLESS_FLAG, FOLLOW_IF_FLAG, FROM, NEW, TO };

struct path_argument {
	int dirfd, path;		/* which arguments; dirfd NONE: AT_FDCWD; path NONE: there is no such path */
	enum follow follow;
};

static const struct path_call {
	int nr;
	int flags;			/* which argument, or NONE */
	struct path_argument paths[2];
} path_calls[] = {
	{ SYS_truncate, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_unlink, NONE, { { NONE, 0, FROM }, { NONE, NONE, FOLLOW } } },
	{ SYS_unlinkat, NONE, { { 0, 1, FROM }, { NONE, NONE, FOLLOW } } },
	{ SYS_rmdir, NONE, { { NONE, 0, FROM }, { NONE, NONE, FOLLOW } } },
	{ SYS_rename, NONE, { { NONE, 0, FROM }, { NONE, 1, TO } } },
	{ SYS_renameat, NONE, { { 0, 1, FROM }, { 2, 3, TO } } },
	{ SYS_renameat2, NONE, { { 0, 1, FROM }, { 2, 3, TO } } },
	{ SYS_link, NONE, { { NONE, 0, NO_FOLLOW }, { NONE, 1, NEW } } },
	{ SYS_linkat, 4, { { 0, 1, FOLLOW_IF_FLAG }, { 2, 3, NEW } } },
	{ SYS_symlink, NONE, { { NONE, 1, NEW }, { NONE, NONE, FOLLOW } } },
	{ SYS_symlinkat, NONE, { { 1, 2, NEW }, { NONE, NONE, FOLLOW } } },
	{ SYS_mkdir, NONE, { { NONE, 0, NEW }, { NONE, NONE, FOLLOW } } },
	{ SYS_mkdirat, NONE, { { 0, 1, NEW }, { NONE, NONE, FOLLOW } } },
	{ SYS_mknod, NONE, { { NONE, 0, NEW }, { NONE, NONE, FOLLOW } } },
	{ SYS_mknodat, NONE, { { 0, 1, NEW }, { NONE, NONE, FOLLOW } } },
	{ SYS_chmod, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_fchmodat, NONE, { { 0, 1, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_fchmodat2, 3, { { 0, 1, FOLLOW_UNLESS_FLAG }, { NONE, NONE, FOLLOW } } },
	{ SYS_chown, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_lchown, NONE, { { NONE, 0, NO_FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_fchownat, 4, { { 0, 1, FOLLOW_UNLESS_FLAG }, { NONE, NONE, FOLLOW } } },
	{ SYS_setxattr, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_lsetxattr, NONE, { { NONE, 0, NO_FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_setxattrat, 2, { { 0, 1, FOLLOW_UNLESS_FLAG }, { NONE, NONE, FOLLOW } } },
	{ SYS_removexattr, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_lremovexattr, NONE, { { NONE, 0, NO_FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_removexattrat, 2, { { 0, 1, FOLLOW_UNLESS_FLAG }, { NONE, NONE, FOLLOW } } },
	{ SYS_file_setattr, 4, { { 0, 1, FOLLOW_UNLESS_FLAG }, { NONE, NONE, FOLLOW } } },
	{ SYS_utime, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_utimes, NONE, { { NONE, 0, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_futimesat, NONE, { { 0, 1, FOLLOW }, { NONE, NONE, FOLLOW } } },
	{ SYS_utimensat, 3, { { 0, 1, FOLLOW_UNLESS_FLAG }, { NONE, NONE, FOLLOW } } },
};

static const struct path_call *find_call(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(path_calls); i++)
		if (path_calls[i].nr == nr)
			return &path_calls[i];
	return NULL;
}

static bool follows(enum follow follow, uint32_t flags)
{
	switch (follow) {
	case FOLLOW:
		return true;
	case FOLLOW_UNLESS_FLAG:
		return !(flags & AT_SYMLINK_NOFOLLOW);
	case FOLLOW_IF_FLAG:
		return flags & AT_SYMLINK_FOLLOW;
	case NO_FOLLOW:
	case FROM:
	case NEW:
	case TO:
	default:
		return false;
	}
}

struct named {				/* one path of the call, copied and resolved */
	struct buf asked;
	struct resolved object;
	bool deep;			/* see struct made_path */
};

/* A NULL path of utimensat and futimesat, and an empty one with AT_EMPTY_PATH, mean the descriptor itself. */
static int read_path(struct enforcer *e, const struct seccomp_data *data, const struct path_argument *a, uint32_t flags, struct named *n)
{
	uint64_t address = data->args[a->path];
	bool may_be_null = data->nr == SYS_utimensat || data->nr == SYS_futimesat;
	int r;

	buf_reset(&n->asked);
	if (!address && may_be_null) {
		buf_append(&n->asked, "", 1);
		return 0;
	}
	r = target_read_string(&e->target, address, PATH_MAX, &n->asked);
	if (r == 0 && n->asked.len <= 1 && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	return r;
}

static int dirfd_of(const struct call *call, const struct path_argument *a)
{
	return a->dirfd == NONE ? AT_FDCWD : (int)call->request->data.args[a->dirfd];
}

static int resolve_path(struct enforcer *e, const struct call *call, const struct path_call *c, int which, struct named *n)
{
	const struct path_argument *a = &c->paths[which];
	const struct seccomp_data *data = &call->request->data;
	uint32_t flags = c->flags == NONE ? 0 : (uint32_t)data->args[c->flags];
	int r;

	r = read_path(e, data, a, flags, n);
	if (r < 0)
		return r;
	/* The descriptor alone, with no path: AT_FDCWD would be the working folder, which these calls take too. */
	r = resolve_under(call->launch->root, (pid_t)call->request->pid, dirfd_of(call, a), n->asked.data, follows(a->follow, flags), &n->object);
	if (r == 0 && strlen(n->object.path) >= PATH_MAX) {	/* only now does its name not fit */
		resolved_close(&n->object);
		r = -ENAMETOOLONG;
	}
	n->deep = r == -ENAMETOOLONG && make_is_one(call) && n->asked.data[0] != '/';
	if (!n->deep)
		return r;
	strcpy(n->object.path, n->asked.data);
	n->object.missing = a->follow == NEW;
	n->object.nameless = false;
	return 0;
}

static void describe(const struct named *n, struct buf *ret_what)
{
	struct json_out j = { .buf = ret_what };

	json_object_begin(&j, "path");
	json_bytes(&j, "path", bytes_of(n->asked.data));
	json_bytes(&j, "resolved", bytes_of(n->object.path));
	json_bool(&j, "writes", true);
	json_object_end(&j);
}

/* Whether the call fails before any right is asked for: what it needs is not there, or what it makes is. Not where the caller may be unable to see that. */
static bool is_idle(const struct call *call, const struct path_call *c, const struct named names[static 2])
{
	for (int i = 0; i < 2; i++) {
		const struct path_argument *a = &c->paths[i];

		if (a->path != NONE && a->follow != TO && names[i].object.missing == (a->follow != NEW))
			return !resolve_passes_closed((pid_t)call->request->pid, dirfd_of(call, a), names[i].asked.data);
	}
	return false;
}

/* A read-only mount refuses to remove before it looks for the name; else the kernel has its own words. */
static struct answer idle_answer(const struct path_call *c)
{
	return (struct answer){ .kind = c->paths[0].follow == FROM ? ANSWER_DENY : ANSWER_CONTINUE, .error_number = ENOENT };
}

/* Returns true when it was refused, and answered. */
static bool refused(struct enforcer *e, const struct call *call, const struct path_call *c, const struct named names[static 2], int which)
{
	const struct named *n = &names[which];
	struct action action = { .kind = ACTION_WRITE, .path = n->object.path };
	struct decision decision, shadow = { 0 };
	_cleanup_buf_ struct buf what = { 0 };

	if (c->paths[which].path == NONE || n->object.nameless)
		return false;
	if (n->deep) {
		if (make_name_is_free(e, n->asked.data, &decision))
			return false;
	} else {
		notify_judge(e, call->launch, &action, &decision, &shadow);
		if (decision.verdict == VERDICT_ALLOW)
			return false;
	}
	if (file_is_left_to_kernel(&decision) && is_idle(call, c, names)) {
		notify_answer(e, call, idle_answer(c));
		return true;
	}
	describe(n, &what);
	notify_deny(e, call, &decision, notify_write_error(&decision), &what);
	return true;
}

static bool all_are_free(struct enforcer *e, const struct call *call, const struct path_call *c, struct named names[static 2])
{
	const struct seccomp_data *data = &call->request->data;
	uint32_t flags = c->flags == NONE ? 0 : (uint32_t)data->args[c->flags];

	for (int i = 0; i < 2; i++) {
		const struct path_argument *a = &c->paths[i];
		unsigned asked = FREE_NEW | (follows(a->follow, flags) ? FREE_FOLLOW : 0) | (make_is_one(call) ? FREE_MAKES : 0);

		if (a->path != NONE && (read_path(e, data, a, flags, &names[i]) < 0 ||
					!file_is_free(e, call, dirfd_of(call, a), names[i].asked.data, asked)))
			return false;
	}
	return true;
}

/* Returns true when the hand does it. A path of the call that is the last is the one that is made. */
static bool made(struct enforcer *e, const struct call *call, const struct path_call *c, const struct named names[static 2])
{
	const bool is_link = call->request->data.nr == SYS_symlink || call->request->data.nr == SYS_symlinkat, two = c->paths[1].path != NONE;
	const struct made_path first = { names[0].asked.data, dirfd_of(call, &c->paths[0]), &names[0].object, names[0].deep };
	const struct made_path last = { names[1].asked.data, two ? dirfd_of(call, &c->paths[1]) : AT_FDCWD, &names[1].object, names[1].deep };
	static struct buf text;		/* its memory is kept */

	if (!make_is_one(call))
		return false;
	buf_reset(&text);
	if (!is_link)
		buf_append(&text, "", 1);
	else if (target_read_string(&e->target, call->request->data.args[0], PATH_MAX, &text) < 0)
		return false;	/* the kernel says what is wrong with it, and makes nothing there */
	return make_path(e, call, two ? &first : NULL, two ? &last : &first, text.data);
}

void path_handle(struct enforcer *e, const struct call *call)
{
	static struct named names[2];	/* large, their memory is kept, and this is the one thread */
	const struct path_call *c = find_call(call->request->data.nr);
	bool done = false;
	int r = c ? 0 : -ENOSYS;

	target_init(&e->target, (pid_t)call->request->pid);
	if (c && all_are_free(e, call, c, names))
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	for (int i = 0; i < 2; i++)
		names[i].object.fd = -1;
	for (int i = 0; i < 2 && r == 0; i++)
		if (c->paths[i].path != NONE)
			r = resolve_path(e, call, c, i, &names[i]);
	if (!listener_waits(&call->launch->listener, call->request->id))
		r = -EINTR;
	for (int i = 0; i < 2 && r == 0 && !done; i++)
		done = refused(e, call, c, names, i);
	if (r == 0 && !done)
		done = made(e, call, c, names);
	for (int i = 0; i < 2; i++)
		resolved_close(&names[i].object);
	if (r == -EFAULT)
		return notify_unreadable(e, call);
	/* Also where there is no such path, for us: the kernel says what it is to the caller. We see more than it may, and our answer would tell it. */
	if (!done)
		notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
}
