/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exec's judgement: what was read of the call, who makes it, what its launch foretold, and every interpreter that runs in the end.
 *
 * The caller is held in its call; what is read of it in /proc does not change under us, or dies of the verification.
 */
#include "supervisor/enforcer/flight.h"

#include "supervisor/base/io.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct caller {
	char path[RESOLVE_PATH_MAX];
	struct buf environment;
	const char **entries;		/* views, NULL-terminated */
};

static const char **split_environment(struct buf *text)
{
	const char **entries, *at;
	size_t nr = 0;

	buf_char(text, 0);
	if (text->failed)
		return NULL;
	for (at = text->data; at < text->data + text->len; at += strlen(at) + 1)
		nr++;
	entries = calloc(nr + 1, sizeof(*entries));
	for (at = text->data, nr = 0; entries && at < text->data + text->len; at += strlen(at) + 1)
		entries[nr++] = at;
	return entries;
}

/*
 * Which program execs, and what it began with: the caller is held in its call, and an exec of another thread of its would end it, so this does
 * not change under us. A file that has no name any more is nobody's.
 */
static void find_caller(pid_t tid, struct caller *ret)
{
	static const char deleted[] = " (deleted)";
	const size_t tail = sizeof(deleted) - 1;
	char link[32];
	ssize_t len;

	*ret = (struct caller){ 0 };
	snprintf(link, sizeof(link), "/proc/%d/exe", tid);
	len = readlink(link, ret->path, sizeof(ret->path) - 1);
	ret->path[len > 0 ? len : 0] = 0;
	if (len > (ssize_t)tail && strcmp(ret->path + len - tail, deleted) == 0)
		ret->path[0] = 0;
	snprintf(link, sizeof(link), "/proc/%d/environ", tid);
	if (io_read_file(AT_FDCWD, link, 1u << 20, &ret->environment) == 0)
		ret->entries = split_environment(&ret->environment);
}

/* Until its first exec the command is still the program its keeper is. */
static bool is_first(const struct flight *f)
{
	const struct launch *l = f->call.launch;
	struct stat mine, keepers;
	char own[32], keeper[32];

	snprintf(own, sizeof(own), "/proc/%d/exe", f->tid);
	snprintf(keeper, sizeof(keeper), "/proc/%d/exe", l->keeper_pid);
	return f->tid == l->command && stat(own, &mine) == 0 && stat(keeper, &keepers) == 0 && mine.st_dev == keepers.st_dev &&
	       mine.st_ino == keepers.st_ino;
}

/* Who execs only ever helps, and most execs need no help: only those that do are worth the look. */
static bool needs_caller(const struct flight *f, const struct decision *shadow, enum foreseen_exec foreseen)
{
	const struct transport *transport = f->call.launch->subject.transport;

	return foreseen == FORESEEN || f->decision.verdict != VERDICT_ALLOW || shadow->verdict != VERDICT_ALLOW ||
	       (f->decision.unreviewed && transport && !transport->wrap);
}

/*
 * A script was judged with its first interpreter by the words it was called with. Where that is a script too, another one runs in the end; and
 * what is loaded gets words from the #! lines: it is judged as what it is, a program with these words.
 */
static void judge_interpreters(struct enforcer *e, struct flight *f, struct action action)
{
	const struct exec_call *x = &f->exec;
	const char *at = x->interpreters.data;
	struct decision decision, shadow;

	for (unsigned i = 1; i <= x->nr_interpreters && f->decision.verdict == VERDICT_ALLOW; i++, at += strlen(at) + 1) {
		action.program = at;
		action.interpreter = NULL;
		action.argv = (const char *const *)x->final_pointers;
		notify_judge(e, f->call.launch, &action, &decision, &shadow);
		if (decision.verdict != VERDICT_ALLOW || (decision.unreviewed && !f->decision.unreviewed))
			f->decision = decision;
	}
}

/* Only where it would say something else than the exec alone. */
static enum foreseen_exec foresee(struct enforcer *e, const struct flight *f, const struct action *action)
{
	struct launch *l = f->call.launch;
	const struct decision *d = &f->decision;
	bool was_review = d->unreviewed || (d->verdict == VERDICT_DENY && strcmp(d->tag, "review_unavailable") == 0);

	if (l->subject.mode == MODE_OFF || !(was_review || (l->subject.mode == MODE_READONLY && d->verdict == VERDICT_DENY)))
		return FORESEEN_NOT;
	return foresight_of(e, l, action->argv, action->cwd);
}

/* Returns false when it has to wait for what its launch foretells. */
bool flight_judge(struct enforcer *e, struct flight *f, struct decision *ret_shadow)
{
	const struct exec_call *x = &f->exec;
	struct launch *l = f->call.launch;
	enum foreseen_exec foreseen;
	char link[32], cwd[RESOLVE_PATH_MAX];
	struct caller caller;
	ssize_t len;
	struct action action = {
		.kind = ACTION_EXEC,
		.argv = (const char *const *)x->argv_pointers,
		.program = x->file.path,
		.interpreter = x->script ? x->interpreter : NULL,
		.environment = (const char *const *)x->env_pointers,
		.snapshot_holds = f->snapshot_holds,
	};

	if (l->subject.preset_program && is_first(f) && !judge_preset_exec(&l->subject, x->file.path, &f->decision))
		return true;
	snprintf(link, sizeof(link), "/proc/%d/cwd", f->tid);
	len = readlink(link, cwd, sizeof(cwd) - 1);
	cwd[len > 0 ? len : 0] = 0;
	action.cwd = len > 0 ? cwd : NULL;
	notify_judge(e, f->call.launch, &action, &f->decision, ret_shadow);
	if (f->decision.verdict == VERDICT_ALLOW)
		judge_interpreters(e, f, action);
	foreseen = foresee(e, f, &action);
	if (foreseen == FORESEEN_LATER)
		return false;
	if (!needs_caller(f, ret_shadow, foreseen))
		return true;
	find_caller(f->tid, &caller);
	action.caller = caller.path[0] ? caller.path : NULL;
	action.caller_environment = caller.entries;
	action.first = is_first(f);
	action.planned = foreseen == FORESEEN && (action.first || foresight_reads(l, f->tid)) && foresight_names(l, f->tid, action.argv[0], &x->file.stat);
	notify_judge(e, l, &action, &f->decision, ret_shadow);
	if (f->decision.by == BY_PLAN && action.planned)
		f->decision.unreviewed |= foresight_unreviewed(l);
	if (f->decision.verdict == VERDICT_ALLOW)
		judge_interpreters(e, f, action);
	free(caller.entries);
	buf_free(&caller.environment);
	return true;
}
