/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes a name in a write root that holds an isolated workspace: done by the agent's hand, under the name that was judged.
 *
 * A call that goes on in the caller's own hands is read again by the kernel, and what is protected in a workspace is protected by its name, which no mount and no layer
 * knows. So the launch's Landlock layer lets nothing be made there (landlock_withholds()): a raced argument meets that. The hand is given the path as
 * resolved, follows no link, and does one call. Where a link or something else than a file has come into its way, the call is looked at anew.
 */
#include "supervisor/enforcer/sockets.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/boundary/landlock.h"
#include "supervisor/boundary/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANEW_US 1000000	/* for who puts a link there each time */

bool make_is_withheld(const struct launch *l, const char *path)
{
	return l->subject.mode != MODE_OFF && landlock_withholds(&l->subject, path);
}

static enum talk_next begin_anew(struct enforcer *e, struct talk *t)
{
	talk_idle(t);
	notify_resume(e, &t->call);
	return TALK_ANSWERED;
}

static enum talk_next act(struct enforcer *e, struct talk *t)
{
	const bool raced = t->handed && (t->hand_error == ELOOP || t->hand_error == EAGAIN);

	if (!t->handed || (raced && !t->deep && now_us() - t->call.received_us < ANEW_US))
		return begin_anew(e, t);
	t->job = 0;
	if (raced) { /* nothing was made, and by the caller itself nothing will be */
		talk_idle(t);
		return talk_continue(e, t);
	}
	if (t->hand_fd >= 0) {
		notify_give(e, &t->call, t->hand_fd, t->close_on_exec);
		return TALK_ANSWERED;
	}
	talk_acted(t, 0, t->hand_error);
	return talk_answer(e, t, 0, t->hand_error);
}

static void end(struct enforcer *e, struct talk *t, int error_number)
{
	talk_answer(e, t, 0, error_number);
}

struct place {				/* as the hand is told it */
	char path[RESOLVE_PATH_MAX + 2];
	int start;			/* where a relative one starts, owned; -1 */
};

struct order {
	struct hand_request request;
	struct place first, second;
	bool deep;			/* a path is relative, and not known in full */
};

static void order_free(struct order *o)
{
	if (o->first.start >= 0)
		close(o->first.start);
	if (o->second.start >= 0)
		close(o->second.start);
}

static void ask(struct enforcer *e, const struct call *call, struct order *o)
{
	static char data[2 * RESOLVE_PATH_MAX + 4];
	struct hand_request *request = &o->request;
	struct talk t = { .source.fd = -1, .hand_fd = -1, .call = *call, .id = call->request->id, .act = act, .end = end, .deep = o->deep };
	unsigned nr_fds = 0;
	int fds[2], r;

	if (o->first.start >= 0)
		fds[nr_fds++] = o->first.start;
	if (o->second.start >= 0)
		fds[nr_fds++] = o->second.start;
	t.close_on_exec = request->action == HAND_OPEN && request->call_flags & O_CLOEXEC;
	request->data_bytes = (uint32_t)(stpcpy(stpcpy(data, o->first.path) + 1, o->second.path) + 1 - data);
	request->umask = process_umask((pid_t)call->request->pid);
	talk_acting(&t, 0);
	r = hand_ask(e, &t, request, data, fds, nr_fds);
	if (r < 0 && r != -EAGAIN) {
		talk_acted(&t, 0, -r);
		talk_answer(e, &t, 0, -r);
		return;
	}
	if (r < 0)
		talk_idle(&t);
	t.waits_for = r < 0 ? TALK_WAIT_TICK : TALK_WAIT_HAND;
	talk_wait(e, &t);
}

/* The last part of a path, without slashes behind it. */
static struct bytes last_part(const char *path)
{
	size_t len = strlen(path), from;

	while (len && path[len - 1] == '/')
		len--;
	for (from = len; from && path[from - 1] != '/'; from--)
		;
	return (struct bytes){ path + from, len - from };
}

/* "." and "..": nothing is made, and the kernel has its own word for each call. */
static bool names_nothing(struct bytes last)
{
	return last.len == 0 || (last.data[0] == '.' && (last.len == 1 || (last.len == 2 && last.data[1] == '.')));
}

/* A path that is too long to be known in full is done from where it starts: what may not be written is held by mounts, and its name was judged. */
static bool place_deep(const struct call *call, const struct made_path *p, struct place *ret)
{
	if (*p->asked == '/' || strstr(p->asked, ".."))
		return false;
	ret->start = resolve_start((pid_t)call->request->pid, p->dirfd, p->asked);
	strcpy(ret->path, p->asked);
	return ret->start >= 0;
}

/* As resolved, with the slash behind it that was asked with, which says "a folder". False: not to be done by a hand. */
static bool find_place(const struct call *call, const struct made_path *p, struct place *ret)
{
	const struct bytes asked = last_part(p->asked);
	const bool slash = asked.data[asked.len] == '/';
	const char *path;
	size_t len;

	ret->start = -1;
	if (*p->asked && names_nothing(asked))
		return false;
	if (p->deep)
		return place_deep(call, p, ret);
	path = p->object->path;
	len = strlen(path);
	/* A slash makes resolve() follow a link, which the calls that make a name do not. */
	if (p->object->nameless || path[0] != '/' || len < 2 || (slash && (strlen(path_base(path)) != asked.len || memcmp(path_base(path), asked.data, asked.len) != 0)))
		return false;
	memcpy(ret->path, path, len + 1);
	if (slash)
		memcpy(ret->path + len, "/", 2);
	return true;
}

static bool is_for_hand(const struct call *call, const struct made_path *p)
{
	const char *const *frozen = call->launch->subject.frozen_roots;

	return p->deep ? frozen && *frozen : make_is_withheld(call->launch, p->object->path);
}

bool make_open(struct enforcer *e, const struct call *call, const struct made_path *p, const struct open_call *o)
{
	static struct order order;	/* large, and this is the one thread */

	if (!(o->flags & O_CREAT) || o->flags & (O_PATH | O_DIRECTORY) || !is_for_hand(call, p))
		return false;
	/* What is there and no file is not made. That it be gone when the kernel looks is its owner's doing, and fails. */
	if (!p->deep && !p->object->missing && !S_ISREG(p->object->stat.st_mode))
		return false;
	order = (struct order){ .request = { .action = HAND_OPEN, .call_flags = (uint32_t)o->flags, .mode = o->mode }, .second.start = -1, .deep = p->deep };
	if (!find_place(call, p, &order.first))
		return false;
	if (o->resolve) /* what the caller may not follow is not known here: programs then take openat(2) */
		notify_answer(e, call, (struct answer){ .kind = ANSWER_DENY, .error_number = ENOSYS });
	else
		ask(e, call, &order);
	order_free(&order);
	return true;
}

/*
 * A socket's address is what others will see, so the hand is given it as it was asked: its folder may be another one by then. Where everything below the root is
 * equally writable, only the name counts.
 */
bool make_may_bind(const struct enforcer *e, const struct launch *l, const char *path, struct decision *ret_decision)
{
	return !make_is_withheld(l, path) || make_name_is_free(e, path, ret_decision);
}

bool make_name_is_free(const struct enforcer *e, const char *path, struct decision *ret_decision)
{
	if (!workspaces_protect_name(e, last_part(path)))
		return true;
	*ret_decision = (struct decision){
		.verdict = VERDICT_DENY, .tag = "protected_path", .rule = "path.frozen", .origin = { "paths.json", e->policy->paths.frozen.line },
		.reason = "the name is that of a repository or of agent settings, and the place cannot be told for certain", .hint = "use another name",
	};
	return false;
}

/* Which action a call is to the hand, and where its numbers are; -1: it has none. */
static const struct making {
	int nr;
	enum hand_action action;
	int mode, device, flags;
} makings[] = {
	{ SYS_mkdir, HAND_MKDIR, 1, -1, -1 },	  { SYS_mkdirat, HAND_MKDIR, 2, -1, -1 },
	{ SYS_mknod, HAND_MKNOD, 1, 2, -1 },	  { SYS_mknodat, HAND_MKNOD, 2, 3, -1 },
	{ SYS_symlink, HAND_SYMLINK, -1, -1, -1 }, { SYS_symlinkat, HAND_SYMLINK, -1, -1, -1 },
	{ SYS_link, HAND_LINK, -1, -1, -1 },	  { SYS_linkat, HAND_LINK, -1, -1, -1 },
	{ SYS_rename, HAND_RENAME, -1, -1, -1 },  { SYS_renameat, HAND_RENAME, -1, -1, -1 },
	{ SYS_renameat2, HAND_RENAME, -1, -1, 4 },
};

static const struct making *find_making(int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(makings); i++)
		if (makings[i].nr == nr)
			return &makings[i];
	return NULL;
}

bool make_is_one(const struct call *call)
{
	return find_making(call->request->data.nr);
}

/* What the call has beside the path that is made. Returns false when it is not to be done by a hand. */
static bool find_second(const struct call *call, const struct made_path *from, const char *text, struct order *o)
{
	o->second.start = -1;
	o->second.path[0] = 0;
	if (text)
		strcpy(o->second.path, text);
	if (!from)
		return true;
	if (o->request.action != HAND_LINK || from->deep || !from->object->nameless)
		return find_place(call, from, &o->second);
	o->second.start = fcntl(from->object->fd, F_DUPFD_CLOEXEC, 3);
	return o->second.start >= 0;
}

bool make_path(struct enforcer *e, const struct call *call, const struct made_path *from, const struct made_path *to, const char *text)
{
	static struct order o;		/* large, and this is the one thread */
	const struct making *m = find_making(call->request->data.nr);
	const __u64 *args = call->request->data.args;
	bool found;

	if (!m || !(is_for_hand(call, to) || (from && is_for_hand(call, from))) || !find_place(call, to, &o.first))
		return false;
	o.request = (struct hand_request){
		.action = m->action, .mode = m->mode < 0 ? 0 : (uint32_t)args[m->mode], .device = m->device < 0 ? 0 : (uint32_t)args[m->device],
		.call_flags = m->flags < 0 ? 0 : (uint32_t)args[m->flags],
	};
	o.deep = to->deep || (from && from->deep);
	found = find_second(call, from, text, &o);
	if (found)
		ask(e, call, &o);
	order_free(&o);
	return found;
}
