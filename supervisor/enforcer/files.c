/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens for writing: judged by what the path names, recorded, then continued.
 *
 * CONTINUE is safe here: whatever path a raced argument puts in its place, the kernel holds it to the launch's Landlock write roots and to the
 * read-only tree. Those refuse exactly what is refused here; here it gets its reason and its record. What they do not let a launch make itself, makes.c does.
 *
 * One exception: what an agent's process may write of itself in /proc, which is read-only for agents, is opened here and given to it.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define WRITE_FLAGS (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

/* The registers, or for openat2 a copy of its structure. Returns 0 or -errno. */
static int decode(struct target *t, const struct seccomp_data *data, struct open_call *ret)
{
	struct open_how how;

	*ret = (struct open_call){ .dirfd = AT_FDCWD };
	switch (data->nr) {
	case SYS_creat:
		ret->path_address = data->args[0];
		ret->flags = O_WRONLY | O_CREAT | O_TRUNC;
		ret->mode = (uint32_t)data->args[1];
		return 0;
	case SYS_open:
		ret->path_address = data->args[0];
		ret->flags = (uint32_t)data->args[1];
		ret->mode = (uint32_t)data->args[2];
		return 0;
	case SYS_openat:
		ret->dirfd = (int)data->args[0];
		ret->path_address = data->args[1];
		ret->flags = (uint32_t)data->args[2];
		ret->mode = (uint32_t)data->args[3];
		return 0;
	case SYS_openat2:
		ret->dirfd = (int)data->args[0];
		ret->path_address = data->args[1];
		if (data->args[3] < sizeof(how))
			return -EINVAL;
		if (target_read(t, data->args[2], &how, sizeof(how)) < 0)
			return -EFAULT;
		ret->flags = how.flags;
		ret->resolve = how.resolve;
		ret->mode = (uint32_t)how.mode;
		return 0;
	default:
		return -ENOSYS;
	}
}

static bool follows(uint64_t flags)
{
	return !(flags & O_NOFOLLOW) && (flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
}

static unsigned free_flags(uint64_t flags)
{
	return (follows(flags) ? FREE_FOLLOW : 0) | (flags & O_CREAT ? FREE_NEW | FREE_MAKES : 0);
}

static void describe(const char *asked, const struct resolved *object, uint64_t flags, struct buf *ret_what)
{
	struct json_out j = { .buf = ret_what };

	json_object_begin(&j, "path");
	json_bytes(&j, "path", bytes_of(asked));
	json_bytes(&j, "resolved", bytes_of(object->path));
	json_uint(&j, "flags", flags);
	json_bool(&j, "writes", flags & WRITE_FLAGS);
	json_object_end(&j);
}

static void deny_hops(struct enforcer *e, const struct call *call, const char *asked)
{
	_cleanup_buf_ struct buf what = { 0 };
	struct json_out j = { .buf = &what };
	struct decision decision = {
		.verdict = VERDICT_DENY, .tag = "too_many_symlinks", .rule = "boundary.symlinks", .origin = CODE_ORIGIN,
		.reason = "the path goes through more than 64 symbolic links", .hint = "name the file itself",
	};

	json_object_begin(&j, "path");
	json_bytes(&j, "path", bytes_of(asked));
	json_object_end(&j);
	notify_deny(e, call, &decision, ELOOP, &what);
}

/*
 * A call that changes nothing, because what it needs is not there or what it makes is, gets the kernel's own answer, and programs live by it: they unlink what
 * may be there, and mkdir what may be. Not where even that would tell something.
 */
bool file_is_left_to_kernel(const struct decision *decision)
{
	return strcmp(decision->tag, "outside_root") == 0;
}

static bool is_idle(const struct resolved *object, uint64_t flags)
{
	if (object->missing)
		return !(flags & O_CREAT);
	if ((flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL))
		return true;
	return S_ISDIR(object->stat.st_mode) && (flags & O_TMPFILE) != O_TMPFILE; /* EISDIR */
}

static void give_process_file(struct enforcer *e, const struct call *call, const struct resolved *object, uint64_t flags)
{
	_cleanup_close_ int fd = process_file_open(e, call, object, flags);

	if (fd < 0)
		notify_answer(e, call, (struct answer){ .kind = ANSWER_DENY, .error_number = -fd });
	else
		notify_give(e, call, fd, flags & O_CLOEXEC);
}

static void judge_object(struct enforcer *e, const struct call *call, const char *asked, const struct resolved *object, const struct open_call *o)
{
	const uint64_t flags = o->flags;
	struct action action = { .kind = ACTION_WRITE, .path = object->path, .own_process = process_file_is_own(e, call->launch, object) };
	struct decision decision, shadow = { 0 };
	_cleanup_buf_ struct buf what = { 0 };
	struct outcome outcome = { .decision = &decision, .verb = "allow", .certainty = "checked", .what = &what };
	const bool off = call->launch->subject.mode == MODE_OFF;

	notify_judge(e, call->launch, &action, &decision, &shadow);
	/* Its mem is its memory. In safe modes other uids and a read-only /proc hold this; in off root is asked nothing more. */
	if (off && decision.verdict == VERDICT_ALLOW && process_file_is_cordons(e, call->launch, object)) {
		decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "hardline", .rule = "boundary.process", .origin = CODE_ORIGIN,
					      .reason = "the process is part of Cordon" };
	}
	if (decision.verdict != VERDICT_ALLOW && is_idle(object, flags) && file_is_left_to_kernel(&decision))
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	if (decision.verdict != VERDICT_ALLOW) {
		describe(asked, object, flags, &what);
		return notify_deny(e, call, &decision, notify_write_error(&decision), &what);
	}
	if (e->policy->audit_allowed == AUDIT_ALLOWED_ALL) {
		describe(asked, object, flags, &what);
		outcome.shadow = off ? &shadow : NULL;
		record_call(e, call, &outcome);
	}
	if (strcmp(decision.rule, PROCESS_FILE_RULE) == 0 && !(flags & O_PATH))
		give_process_file(e, call, object, flags);
	else if (!make_open(e, call, &(struct made_path){ asked, o->dirfd, object, false }, o))
		notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
}

/* The name that an open was asked for by, in full; or NULL where it cannot be had. */
static const char *full_name(const struct call *call, int dirfd, const char *asked, char ret_name[static PATH_MAX])
{
	static struct resolved folder;	/* large, and this is the one thread */
	const bool is_absolute = *asked == '/';
	int r = 0;

	if (!is_absolute)
		r = resolve_under(call->launch->root, (pid_t)call->request->pid, dirfd, "", true, &folder);
	if (r < 0)
		return NULL;
	r = path_normalize(is_absolute ? "/" : folder.path, asked, ret_name, PATH_MAX);
	if (!is_absolute)
		resolved_close(&folder);
	return r < 0 ? NULL : ret_name;
}

/*
 * In readonly: what is called like a secret is not read, whatever name leads there. CONTINUE is safe, as nothing of an agent's runs in such a launch that could
 * swap the path; where it is, is Landlock's to say.
 */
static void judge_reading(struct enforcer *e, const struct call *call, const char *asked, const char *named, const struct resolved *object, uint64_t flags)
{
	const struct action action = { .kind = ACTION_READ, .path = object->path, .named = named };
	struct decision decision, shadow;
	_cleanup_buf_ struct buf what = { 0 };

	notify_judge(e, call->launch, &action, &decision, &shadow);
	if (!named && !object->missing) /* a name too long to be had may lead out of the project */
		decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "incomplete_evidence", .rule = "path.link", .origin = CODE_ORIGIN,
					      .reason = "the full name that was asked for cannot be had", .hint = "name the file by a shorter path" };
	if (object->missing || decision.verdict == VERDICT_ALLOW || strcmp(decision.tag, "outside_root") == 0)
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	describe(asked, object, flags, &what);
	notify_deny(e, call, &decision, EACCES, &what);
}

bool file_is_free(struct enforcer *e, const struct call *call, int dirfd, const char *path, unsigned flags)
{
	static struct resolved object;	/* large, and this is the one thread */
	struct action action = { .kind = ACTION_WRITE, .path = object.path };
	struct decision decision, shadow;

	if (call->launch->subject.mode == MODE_OFF ||
	    resolve_named(call->launch->root, (pid_t)call->request->pid, dirfd, path, flags & FREE_FOLLOW, flags & FREE_NEW, &object) < 0 ||
	    (flags & FREE_MAKES && make_is_withheld(call->launch, object.path)))
		return false;
	notify_judge(e, call->launch, &action, &decision, &shadow);
	return decision.verdict == VERDICT_ALLOW;
}

/* In a folder whose path is too long to be told, the name alone is judged. Returns whether that was the answer. */
static bool handle_deep(struct enforcer *e, const struct call *call, const char *asked, const struct open_call *o)
{
	const struct made_path p = { .asked = asked, .dirfd = o->dirfd, .deep = true };
	struct decision decision;

	if (!(o->flags & O_CREAT) || call->launch->subject.mode == MODE_OFF)
		return false;
	if (make_name_is_free(e, asked, &decision))
		return make_open(e, call, &p, o);
	notify_deny(e, call, &decision, notify_write_error(&decision), NULL);
	return true;
}

void file_handle(struct enforcer *e, const struct call *call)
{
	static struct resolved object;	/* large, and this is the one thread */
	static struct buf path;		/* its memory is kept */
	static char named[PATH_MAX];
	struct open_call open_call;
	const char *from;
	int r;

	buf_reset(&path);
	target_init(&e->target, (pid_t)call->request->pid);
	r = decode(&e->target, &call->request->data, &open_call);
	/* For reading: Landlock and the mounts hold it, as any unnotified open. In readonly the names of what is read count as well. */
	if (r == 0 && !(open_call.flags & WRITE_FLAGS) && (open_call.flags & O_PATH || call->launch->subject.mode != MODE_READONLY))
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	if (r == 0)
		r = target_read_string(&e->target, open_call.path_address, PATH_MAX, &path);
	if (r == 0 && path.len <= 1)
		r = -ENOENT;
	from = r == 0 && open_call.resolve & RESOLVE_IN_ROOT ? path.data + strspn(path.data, "/") : path.data;
	/* Whether the caller is still there, the answer tells: asked before only where something is recorded. */
	if (r == 0 && e->policy->audit_allowed != AUDIT_ALLOWED_ALL &&
	    file_is_free(e, call, open_call.dirfd, from, free_flags(open_call.flags)))
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	if (r == 0)
		r = resolve_under(call->launch->root, (pid_t)call->request->pid, open_call.dirfd, from, follows(open_call.flags), &object);
	if (r == 0 && open_call.flags & O_CREAT && strlen(object.path) >= PATH_MAX)	/* only now does its name not fit */
		r = (resolved_close(&object), -ENAMETOOLONG);
	if (!listener_waits(&call->launch->listener, call->request->id))
		r = r == 0 ? (resolved_close(&object), -EINTR) : -EINTR;
	if (r == -ELOOP)
		return deny_hops(e, call, path.data);
	if (r == -EFAULT)
		return notify_unreadable(e, call);
	if (r == -ENAMETOOLONG && path.len && path.len <= PATH_MAX && handle_deep(e, call, path.data, &open_call))
		return;
	/* No such path, for us: the kernel says what it is to the caller. We see more than it may, and our answer would tell it. */
	if (r < 0)
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	if (object.nameless) /* its own pipe, socket or memfd through /proc/self/fd: it has it open already */
		notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
	else if (open_call.flags & WRITE_FLAGS)
		judge_object(e, call, path.data, &object, &open_call);
	else
		judge_reading(e, call, path.data, full_name(call, open_call.dirfd, from, named), &object, open_call.flags);
	resolved_close(&object);
}
