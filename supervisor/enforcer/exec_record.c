/* SPDX-License-Identifier: Apache-2.0 */
/* What an exec's end is called in the log, and what its launch is told of it. */
#include "supervisor/enforcer/flight.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

void flight_deny(struct enforcer *e, struct flight *f, int error_number)
{
	_cleanup_buf_ struct buf what = { 0 };

	describe(f, &what);
	notify_deny(e, &f->call, &f->decision, error_number, &what);
	flight_give(e, f);
}

void flight_record_allowed(struct enforcer *e, struct flight *f, const struct decision *shadow, const struct caller_facts *verified)
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

/*
 * An exec that cannot succeed as it was asked. A name that is not there is counted: a PATH search tries a dozen a command. All else is a file that is
 * no program, or somebody trying how arguments are read: recorded, and summed up where it repeats. In mode off the kernel goes on to say what it
 * thinks, so there the record says that we do not know what ran.
 */
void flight_note_failure(struct enforcer *e, struct flight *f, int error_number)
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

void flight_kill(struct enforcer *e, struct flight *f, pid_t pid, const char *why)
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
