/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execve and execveat: judged on a private copy, continued under ptrace, verified before the new program's first instruction.
 *
 * CONTINUE is safe here because what the kernel loads is compared with what was judged at PTRACE_EVENT_EXEC; a difference is death, not a
 * warning. One exec per thread group is in flight: a second one of the group waits here until the first has ended (two seized threads of one
 * process would hang each other in the kernel).
 */
#include "supervisor/enforcer/browsers.h"
#include "supervisor/enforcer/digests.h"
#include "supervisor/enforcer/internal.h"
#include "supervisor/enforcer/known.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include "supervisor/base/path.h"
#include "supervisor/boundary/process.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* <sys/ptrace.h> and <linux/ptrace.h> cannot both be included. */
long ptrace(int request, ...);

#define FLYING_MAX 64	/* at once: each reserves a record's room in the log */

struct flight {
	struct flight *next;
	struct exec_call exec;
	struct call call;		/* its slot stays taken until the exec is verified or has failed */
	pid_t tid, group;
	bool held;			/* waiting, namely for the agent's browser session */
	bool tool;			/* of that session */
	bool snapshot_holds;
	bool waiting;			/* not judged yet: another exec of its thread group is in flight, too many are, or */
	bool later;			/* what its launch foretells is being found out */
	struct process_facts facts;	/* of the process, once it was verified */
	bool reserved;			/* there is room in the log for the record of its success */
	uint64_t id;			/* never used twice */
	unsigned hashing;		/* files of it whose digest is awaited while it stands at its first instruction */
	struct decision decision;
	char sha256[65];		/* of the file that was named; "": not known */
};

struct exec_flights {
	struct flight *flying, *spare;	/* flying: in the order they came, with those that wait */
	unsigned nr, nr_waiting, nr_hashing;
	uint64_t last_id;
};

static struct flight *flight_take(struct enforcer *e)
{
	struct flight *f;

	if (!e->flights && !(e->flights = calloc(1, sizeof(*e->flights))))
		return NULL;
	f = e->flights->spare;
	if (f)
		e->flights->spare = f->next;
	else if (!(f = calloc(1, sizeof(*f))))
		return NULL;
	return f;
}

static void flight_give(struct enforcer *e, struct flight *f)
{
	if (f->tool)
		browsers_leave(e, f->call.launch, f->id);
	exec_reset(&f->exec);
	f->next = e->flights->spare;
	e->flights->spare = f;
}

static void flight_add(struct enforcer *e, struct flight *f)
{
	struct flight **last = &e->flights->flying;

	while (*last)
		last = &(*last)->next;
	f->next = NULL;
	*last = f;
	e->flights->nr++;
	e->flights->nr_waiting += f->waiting;
}

static void flight_remove(struct enforcer *e, struct flight *f)
{
	struct flight **link = &e->flights->flying;

	while (*link && *link != f)
		link = &(*link)->next;
	if (*link) {
		*link = f->next;
		e->flights->nr--;
		e->flights->nr_waiting -= f->waiting;
		e->flights->nr_hashing -= f->hashing > 0;
		f->hashing = 0;
	}
}

static void give_back_room(struct enforcer *e, struct flight *f)
{
	if (f->reserved)
		audit_unreserve(e->audit);
	f->reserved = false;
}

/* Members for the record: what was asked and what it resolved to. */
static void describe(const struct flight *f, struct buf *ret_what)
{
	const struct exec_call *x = &f->exec;
	struct json_out j = { .buf = ret_what };

	json_object_begin(&j, "exec");
	/* Without its NUL, which it may lack: what could be read of it. */
	json_bytes(&j, "path", (struct bytes){ x->path.data, x->path.len ? strnlen(x->path.data, x->path.len) : 0 });
	if (x->file.fd >= 0)
		json_bytes(&j, "resolved", bytes_of(x->file.path));
	if (x->script)
		json_bytes(&j, "interpreter", bytes_of(x->interpreter));
	if (x->argv_pointers)
		record_put_argv(&j, x->argv_pointers);
	json_uint(&j, "argc", x->argv.nr);
	if (f->sha256[0])
		json_text(&j, "sha256", f->sha256);
	json_object_end(&j);
}

static void deny(struct enforcer *e, struct flight *f, int error_number)
{
	_cleanup_buf_ struct buf what = { 0 };

	describe(f, &what);
	notify_deny(e, &f->call, &f->decision, error_number, &what);
	flight_give(e, f);
}

static void record_allowed(struct enforcer *e, struct flight *f, const struct decision *shadow, const struct caller_facts *verified)
{
	static struct buf what;		/* its memory is kept */
	struct outcome outcome = {
		.decision = &f->decision, .shadow = shadow, .verb = "allow", .certainty = verified ? "verified" : "advisory", .what = &what,
		.caller = verified, .reserved = f->reserved,
	};

	if (e->policy->audit_allowed == AUDIT_ALLOWED_NONE)
		return;
	buf_reset(&what);
	describe(f, &what);
	f->reserved = false;
	record_call(e, &f->call, &outcome);
}

/* Mode off: recorded, never held up. Nothing is refused here, so nothing a race could change is decided. */
static void pass(struct enforcer *e, struct flight *f, const struct decision *shadow)
{
	const char *hex = digest_known(e, &f->exec.program);

	if (hex)
		memcpy(f->sha256, hex, sizeof(f->sha256));
	else
		(void)digest_ask(e, f->exec.file.fd, &f->exec.program, f->exec.file.path, f->call.launch->id, 0);
	record_allowed(e, f, shadow, NULL);
	notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_CONTINUE });
	flight_give(e, f);
}

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
static bool judge_exec(struct enforcer *e, struct flight *f, struct decision *ret_shadow)
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

static void fly(struct enforcer *e, struct flight *f)
{
	int r;

	/* Now, when the call can still be refused: the record of a program that runs must not be what finds no room. */
	if (audit_reserve(e->audit) < 0) {
		notify_deny_unrecorded(e, &f->call);
		return flight_give(e, f);
	}
	f->reserved = true;
	r = exec_seize(f->tid);
	if (r < 0) {
		give_back_room(e, f);
		f->decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "unverifiable_exec", .rule = "boundary.exec", .origin = CODE_ORIGIN,
						 .hint = "a traced process cannot exec here: gdb and strace do not work inside a launch" };
		snprintf(f->decision.reason, sizeof(f->decision.reason), "the exec cannot be verified: %s", strerror(-r));
		return deny(e, f, EPERM);
	}
	flight_add(e, f);
	notify_continue_judged(&f->call);
}

static bool agents_can_write(const struct flight *f, const char *path)
{
	const char *const *root = f->call.launch->subject.write_roots;

	while (*root && !path_is_under(path, *root))
		root++;
	return *root;
}

/*
 * An exec that cannot succeed as it was asked. A name that is not there is counted: a PATH search tries a dozen a command. All else is a file that is
 * no program, or somebody trying how arguments are read: recorded, and summed up where it repeats. In mode off the kernel goes on to say what it
 * thinks, so there the record says that we do not know what ran.
 */
static void note_failure(struct enforcer *e, struct flight *f, int error_number)
{
	const bool off = f->call.launch->subject.mode == MODE_OFF;
	_cleanup_buf_ struct buf what = { 0 };
	struct outcome outcome = { .decision = &f->decision, .verb = off ? "allow" : "fail", .error_number = error_number,
				   .certainty = off ? "advisory" : "checked", .what = &what };

	if (error_number == ENOENT || error_number == ENOTDIR) {
		f->call.launch->execs_missing++;
		return;
	}
	f->decision = (struct decision){ .verdict = VERDICT_ALLOW, .rule = "boundary.exec", .origin = CODE_ORIGIN };
	snprintf(f->decision.reason, sizeof(f->decision.reason), "the exec cannot be read as it was asked: %s", strerror(error_number));
	if (e->policy->audit_allowed == AUDIT_ALLOWED_NONE)
		return;
	describe(f, &what);
	record_call(e, &f->call, &outcome);
}

static void refuse_size(struct flight *f)
{
	f->decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "unverifiable_exec", .rule = "boundary.exec", .origin = CODE_ORIGIN,
					 .hint = "a program in the workspace is at most 1 GiB",
					 .reason = "the program is too large for its contents to be verified" };
}

/* It is asked again from the start: what was read and judged now may be otherwise then. */
static void hold(struct enforcer *e, struct flight *f)
{
	exec_reset(&f->exec);
	f->held = f->waiting = true;
	flight_add(e, f);
}

/* Judges and answers, flies, or waits. */
static void begin(struct enforcer *e, struct flight *f)
{
	const struct listener *listener = &f->call.launch->listener;
	uint64_t id = f->call.request->id;
	struct decision shadow = { 0 };
	enum browser_next next;
	int r;

	target_init(&e->target, f->tid);
	f->exec.root_fd = f->call.launch->root;
	r = exec_read(f->call.request, &e->target, &f->exec);
	if (!listener_waits(listener, id)) {
		/* Its pid may have been another's while we read. The answer goes nowhere. */
		notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_DENY, .error_number = EINTR });
		return flight_give(e, f);
	}
	if (r < 0)
		note_failure(e, f, -r);
	if (r < 0 && f->call.launch->subject.mode == MODE_OFF) {
		notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_CONTINUE });
		return flight_give(e, f);
	}
	/*
	 * Behind a folder the caller may not search, our errno would tell it what is there: the kernel says what it is to the caller. Should the
	 * exec succeed after all, it loads what nobody judged, and dies of the check.
	 */
	if (r < 0 && f->exec.closed)
		return fly(e, f);
	if (r < 0) { /* what the kernel would say; a PATH search's misses end here */
		notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_DENY, .error_number = -r });
		return flight_give(e, f);
	}
	next = browsers_enter(e, &f->call, f->id, &f->exec.file.stat, &f->tool, &f->snapshot_holds, &f->decision);
	if (next == BROWSER_GO) {
		if (!judge_exec(e, f, &shadow)) {
			exec_reset(&f->exec);
			f->waiting = f->later = true;
			return flight_add(e, f);
		}
		if (f->decision.verdict == VERDICT_ALLOW && f->exec.program.size > (off_t)DIGEST_MAX_BYTES && agents_can_write(f, f->exec.file.path))
			refuse_size(f);
		if (f->tool && f->decision.verdict == VERDICT_ALLOW)
			next = browsers_prepare(e, &f->call, f->id, &f->decision);
	}
	if (next == BROWSER_WAITS)
		return hold(e, f);
	assert(next == BROWSER_GO || f->decision.verdict == VERDICT_DENY);
	if (f->decision.verdict != VERDICT_ALLOW)
		return deny(e, f, EACCES);
	if (f->call.launch->subject.mode == MODE_OFF)
		return pass(e, f, &shadow);
	fly(e, f);
}

/* Whether an exec of this thread group is in flight already. Groups are looked up only when anything flies at all. */
static bool group_is_busy(const struct enforcer *e, struct flight *f)
{
	if (e->flights->nr == e->flights->nr_waiting)
		return false;
	if (!f->group)
		f->group = process_group(f->tid);
	for (struct flight *other = e->flights->flying; other; other = other->next) {
		if (other->waiting)
			continue;
		if (!other->group)
			other->group = process_group(other->tid);
		if (other->group == f->group)
			return true;
	}
	return false;
}

static bool must_wait(const struct enforcer *e, struct flight *f)
{
	return e->flights->nr - e->flights->nr_waiting - e->flights->nr_hashing >= FLYING_MAX || group_is_busy(e, f);
}

void exec_handle(struct enforcer *e, const struct call *call)
{
	struct flight *f = flight_take(e);

	if (!f) {
		notify_answer(e, call, (struct answer){ .kind = ANSWER_DENY, .error_number = ENOMEM });
		return;
	}
	f->call = *call;
	f->tid = (pid_t)call->request->pid;
	f->group = 0;
	f->id = ++e->flights->last_id;
	f->hashing = 0;
	f->sha256[0] = 0;
	f->held = f->tool = f->snapshot_holds = f->later = false;
	f->waiting = must_wait(e, f);
	if (f->waiting)
		flight_add(e, f);
	else
		begin(e, f);
}

static struct flight *first_that_may_go(const struct enforcer *e)
{
	struct flight *f = e->flights->nr_waiting ? e->flights->flying : NULL;

	while (f && (!f->waiting || f->held || f->later || must_wait(e, f)))
		f = f->next;
	return f;
}

unsigned exec_held(const struct enforcer *e)
{
	unsigned nr = 0;

	for (const struct flight *f = e->flights ? e->flights->flying : NULL; f; f = f->next)
		nr += f->held;
	return nr;
}

/* Each once, in their order; whoever waits again stands behind. An agent may let any number wait: those whose turn is not are not read again. */
void exec_resume_held(struct enforcer *e)
{
	struct flight *f = e->flights ? e->flights->flying : NULL, *next;

	for (unsigned nr = exec_held(e); f && nr; f = next) {
		next = f->next;
		if (!f->held)
			continue;
		nr--;
		if (browsers_still_busy(e, &f->call, f->id))
			continue;
		flight_remove(e, f);
		f->held = f->waiting = false;
		f->waiting = must_wait(e, f);
		if (f->waiting)
			flight_add(e, f);
		else
			begin(e, f);
	}
}

/* Whoever waited and need not any more, and who comes after one that is refused. */
static void go_on(struct enforcer *e)
{
	struct flight *next;

	while ((next = first_that_may_go(e))) {
		flight_remove(e, next);
		next->waiting = false;
		begin(e, next);
	}
}

/* An exec ended. A successful one has ended its group's other calls. */
static void land(struct enforcer *e, struct flight *f)
{
	flight_remove(e, f);
	give_back_room(e, f);
	notify_release(e, &f->call);
	flight_give(e, f);
	go_on(e);
}

static void kill_unverified(struct enforcer *e, struct flight *f, pid_t pid, const char *why)
{
	_cleanup_buf_ struct buf what = { 0 };
	struct outcome outcome = { .decision = &f->decision, .verb = "kill", .certainty = "verified", .what = &what };

	kill(pid, SIGKILL);
	f->decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "unverifiable_exec", .rule = "boundary.exec", .origin = CODE_ORIGIN,
					 .hint = "start the program again, and let nothing change it or its arguments meanwhile" };
	snprintf(f->decision.reason, sizeof(f->decision.reason), "%s", why);
	describe(f, &what);
	status_denied(e, f->decision.tag);
	f->call.launch->denials++;
	record_call(e, &f->call, &outcome);
	launch_notice(e, f->call.launch, &f->decision);
}

/*
 * What an image's program is, its path says; what an agent wrote, only its bytes say. A program stands loaded and the kernel refuses writes to it
 * (ETXTBSY; not in 6.11), so that what is hashed is what runs; of a script it is what it holds now, and no later than its interpreter reads it.
 * Returns false when it cannot be known.
 */
static bool prove(struct enforcer *e, struct flight *f, int fd, const struct exec_identity *identity, const char *path, char *ret_hex)
{
	const bool must = agents_can_write(f, path);
	const char *hex = digest_known(e, identity);

	if (!hex && must && identity->size <= DIGEST_SMALL_BYTES) {
		hex = digest_now(e, fd, identity);
		if (!hex)
			return false;
	}
	if (hex && ret_hex)
		memcpy(ret_hex, hex, sizeof(f->sha256));
	if (hex)
		return true;
	if (!must) { /* nobody waits: this record has its inode, the record "program" both, later ones its digest */
		(void)digest_ask(e, fd, identity, path, f->call.launch->id, 0);
		return true;
	}
	if (digest_ask(e, fd, identity, NULL, f->call.launch->id, f->id) < 0)
		return false;
	f->hashing++;
	return true;
}

/* The file that was named, and what is loaded for it where that is another. */
static bool prove_contents(struct enforcer *e, struct flight *f, pid_t pid)
{
	_cleanup_close_ int fd = -1;
	char link[32];

	if (!prove(e, f, f->exec.file.fd, &f->exec.program, f->exec.file.path, f->sha256))
		return false;
	if (!f->exec.script)
		return true;
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	fd = open(link, O_PATH | O_CLOEXEC);
	return fd >= 0 && prove(e, f, fd, &f->exec.image, exec_image_path(&f->exec), NULL);
}

static void kill_at_start(struct enforcer *e, struct flight *f, pid_t pid, const char *why)
{
	kill_unverified(e, f, pid, why);
	(void)ptrace(PTRACE_CONT, pid, 0, 0);
	land(e, f);
}

/* All is known of it: its first instruction comes next. */
static void release(struct enforcer *e, struct flight *f, pid_t pid)
{
	const struct caller_facts verified = {
		.pid = pid, .facts = f->facts, .program = bytes_of(exec_image_path(&f->exec)), .identity = f->exec.image,
	};

	if (!f->reserved && e->policy->audit_allowed != AUDIT_ALLOWED_NONE && !audit_has_room(e->audit))
		return kill_at_start(e, f, pid, "the audit log is full, and nothing runs that cannot be recorded");
	if (f->tool && !browsers_run(e, f->call.launch, pid, f->decision.page))
		return kill_at_start(e, f, pid, "the state of the agent's browser session cannot be kept");
	record_allowed(e, f, NULL, &verified);
	(void)ptrace(f->tool ? PTRACE_CONT : PTRACE_DETACH, pid, 0, 0); /* the tool's end is to be seen */
	land(e, f);
}

static void verify(struct enforcer *e, struct flight *f, pid_t pid)
{
	char why[160];

	known_forget(f->tid);
	known_forget(pid);
	f->tid = pid;
	if (exec_verify(pid, &f->exec, &f->facts, why, sizeof(why)) < 0)
		return kill_at_start(e, f, pid, why);
	if (!prove_contents(e, f, pid))
		return kill_at_start(e, f, pid, "what the program holds cannot be known");
	if (!f->hashing)
		return release(e, f, pid);
	/* For longer than others may be kept waiting: its place among those in flight, and its room in the log, are theirs. */
	e->flights->nr_hashing++;
	give_back_room(e, f);
}

void exec_digested(struct enforcer *e, uint64_t id, const struct exec_identity *identity, const char *hex)
{
	struct flight *f = e->flights->flying;

	while (f && (f->id != id || !f->hashing))
		f = f->next;
	if (!f) /* it was killed meanwhile */
		return;
	if (hex && exec_identity_same(identity, &f->exec.program))
		memcpy(f->sha256, hex, sizeof(f->sha256));
	if (hex && f->hashing > 1) {
		f->hashing--;
		return;
	}
	if (hex)
		release(e, f, f->tid);
	else
		kill_at_start(e, f, f->tid, "what the program holds cannot be known");
}

static struct flight *find_flight(const struct enforcer *e, pid_t tid)
{
	for (struct flight *f = e->flights ? e->flights->flying : NULL; f; f = f->next)
		if (f->tid == tid && !f->waiting)
			return f;
	return NULL;
}

bool exec_event(struct enforcer *e, pid_t pid, int status)
{
	unsigned event = (unsigned)status >> 16;
	unsigned long former = (unsigned long)pid;
	struct flight *f;

	if (browsers_event(e, pid, status))
		return true;
	/* A thread that is not the leader execs under its tid and comes out under its group's id; the event says who it was. */
	if (WIFSTOPPED(status) && event == PTRACE_EVENT_EXEC)
		(void)ptrace(PTRACE_GETEVENTMSG, pid, 0, &former);
	f = find_flight(e, (pid_t)former);
	if (!f) {
		if (WIFSTOPPED(status))
			(void)ptrace(PTRACE_DETACH, pid, 0, 0);
		return WIFSTOPPED(status);
	}
	if (!WIFSTOPPED(status)) {
		land(e, f);
	} else if (event == PTRACE_EVENT_EXEC) {
		verify(e, f, pid);
	} else if (event == PTRACE_EVENT_STOP) { /* the exec failed, and the kernel has told the caller why */
		(void)ptrace(PTRACE_DETACH, pid, 0, 0);
		land(e, f);
	} else { /* a signal on its way to the caller: it goes on, and our stop with it */
		(void)ptrace(PTRACE_CONT, pid, 0, (unsigned long)WSTOPSIG(status));
		(void)ptrace(PTRACE_INTERRUPT, pid, 0, 0);
	}
	return true;
}

void exec_forget(struct enforcer *e, const struct launch *l)
{
	struct flight *f = e->flights ? e->flights->flying : NULL, *next;

	for (; f; f = next) {
		next = f->next;
		if (f->call.launch != l)
			continue;
		flight_remove(e, f);
		give_back_room(e, f);
		flight_give(e, f);
	}
}

void exec_resume(struct enforcer *e, const struct launch *l)
{
	for (struct flight *f = e->flights ? e->flights->flying : NULL; f; f = f->next)
		if (f->call.launch == l)
			f->later = false;
	if (e->flights)
		go_on(e);
}

unsigned exec_in_flight(const struct enforcer *e)
{
	return e->flights ? e->flights->nr : 0;
}
