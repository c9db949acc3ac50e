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
#include "supervisor/enforcer/flight.h"
#include "supervisor/enforcer/known.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* <sys/ptrace.h> and <linux/ptrace.h> cannot both be included. */
long ptrace(int request, ...);

/* Mode off: recorded, never held up. Nothing is refused here, so nothing a race could change is decided. */
static void pass(struct enforcer *e, struct flight *f, const struct decision *shadow)
{
	const char *hex = digest_known(e, &f->exec.program);

	if (hex)
		memcpy(f->sha256, hex, sizeof(f->sha256));
	else
		(void)digest_ask(e, f->exec.file.fd, &f->exec.program, f->exec.file.path, f->call.launch->id, 0);
	flight_record_allowed(e, f, shadow, NULL);
	notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_CONTINUE });
	flight_give(e, f);
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
		flight_give_back_room(e, f);
		f->decision = (struct decision){ .verdict = VERDICT_DENY, .tag = "unverifiable_exec", .rule = "boundary.exec", .origin = CODE_ORIGIN,
						 .hint = "a traced process cannot exec here: gdb and strace do not work inside a launch" };
		snprintf(f->decision.reason, sizeof(f->decision.reason), "the exec cannot be verified: %s", strerror(-r));
		return flight_deny(e, f, EPERM);
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

/* What is asked cannot be read: an exec that fails, in all likelihood. */
static void begin_unread(struct enforcer *e, struct flight *f, int error_number)
{
	flight_note_failure(e, f, error_number);
	if (f->call.launch->subject.mode == MODE_OFF) {
		notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_CONTINUE });
		return flight_give(e, f);
	}
	/*
	 * Behind a folder the caller may not search, our errno would tell it what is there: the kernel says what it is to the caller. Should the
	 * exec succeed after all, it loads what nobody judged, and dies of the check.
	 */
	if (f->exec.closed)
		return fly(e, f);
	/* What the kernel would say; a PATH search's misses end here. */
	notify_answer(e, &f->call, (struct answer){ .kind = ANSWER_DENY, .error_number = error_number });
	flight_give(e, f);
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
		return begin_unread(e, f, -r);
	next = browsers_enter(e, &f->call, f->id, &f->exec.file.stat, &f->tool, &f->snapshot_holds, &f->decision);
	if (next == BROWSER_GO) {
		if (!flight_judge(e, f, &shadow)) {
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
		return flight_deny(e, f, EACCES);
	if (f->call.launch->subject.mode == MODE_OFF)
		return pass(e, f, &shadow);
	fly(e, f);
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
	f->waiting = flight_must_wait(e, f);
	if (f->waiting)
		flight_add(e, f);
	else
		begin(e, f);
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
		f->waiting = flight_must_wait(e, f);
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

	while ((next = flight_next(e))) {
		flight_remove(e, next);
		next->waiting = false;
		begin(e, next);
	}
}

/* An exec ended. A successful one has ended its group's other calls. */
static void land(struct enforcer *e, struct flight *f)
{
	flight_remove(e, f);
	flight_give_back_room(e, f);
	notify_release(e, &f->call);
	flight_give(e, f);
	go_on(e);
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
	flight_kill(e, f, pid, why);
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
	if (f->tool && !browsers_run(e, f->call.launch, pid, &f->decision))
		return kill_at_start(e, f, pid, "the state of the agent's browser session cannot be kept");
	flight_record_allowed(e, f, NULL, &verified);
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
	flight_give_back_room(e, f);
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
	f = flight_find(e, (pid_t)former);
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
		flight_give_back_room(e, f);
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
