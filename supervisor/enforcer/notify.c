/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notified calls: received into the launch's in-flight table, handed to the file of their class, answered once.
 *
 * A slot whose request id is not zero is a call in flight, whoever received it; its stage says how far it came.
 */
#include "supervisor/enforcer/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void set_stage(struct table_slot *slot, enum slot_stage stage)
{
	__atomic_store_n(&slot->stage, stage, __ATOMIC_RELEASE);
}

static struct seccomp_notif *slot_request(struct table_slot *slot)
{
	return (struct seccomp_notif *)(void *)slot->request;
}

static struct table_slot *free_slot(struct launch *l)
{
	for (unsigned i = 0; i < TABLE_SLOTS; i++)
		if (slot_request(&l->table->slots[i])->id == 0)
			return &l->table->slots[i];
	return NULL;
}

static void pause_launch(struct enforcer *e, struct launch *l, bool pause)
{
	if (l->paused == pause)
		return;
	l->paused = pause;
	source_change(e, &l->calls, pause ? 0 : EPOLLIN);
}

void notify_release(struct enforcer *e, const struct call *call)
{
	set_stage(call->slot, SLOT_FREE);
	slot_request(call->slot)->id = 0;
	pause_launch(e, call->launch, false);
}

void notify_answer(struct enforcer *e, const struct call *call, struct answer answer)
{
	struct table_slot *slot = call->slot;

	slot->error_number = answer.kind == ANSWER_DENY ? answer.error_number : 0;
	slot->value = answer.kind == ANSWER_VALUE ? answer.value : 0;
	if (answer.kind != ANSWER_CONTINUE)
		set_stage(slot, SLOT_ACTED);
	(void)listener_answer(&call->launch->listener, call->request->id, answer);
	notify_release(e, call);
}

void notify_give(struct enforcer *e, const struct call *call, int fd, bool close_on_exec)
{
	int r = listener_give(&call->launch->listener, call->request->id, fd, close_on_exec);

	if (r < 0)
		return notify_answer(e, call, (struct answer){ .kind = ANSWER_DENY, .error_number = -r });
	set_stage(call->slot, SLOT_ACTED);
	notify_release(e, call);
}

void notify_continue_judged(const struct call *call)
{
	set_stage(call->slot, SLOT_JUDGED);
	(void)listener_answer(&call->launch->listener, call->request->id, (struct answer){ .kind = ANSWER_CONTINUE });
}

int notify_write_error(const struct decision *decision)
{
	return strcmp(decision->rule, "path.frozen") == 0 ? EROFS : EACCES;
}

void notify_judge(struct enforcer *e, const struct launch *l, const struct action *action, struct decision *ret_decision,
		  struct decision *ret_shadow)
{
	struct judge_subject guarded = l->subject;

	judge(e->policy, &l->subject, action, ret_decision);
	judge_settle(&l->subject, ret_decision);
	if (l->subject.mode != MODE_OFF)
		return;
	guarded.mode = MODE_GUARDED;
	judge(e->policy, &guarded, action, ret_shadow);
}

void notify_denied(struct enforcer *e, const struct call *call, const struct decision *decision, int error_number, const struct buf *what)
{
	struct outcome outcome = {
		.decision = decision, .verb = "deny", .error_number = error_number, .certainty = "checked", .what = what,
	};

	status_denied(e, decision->tag);
	call->launch->denials++;
	record_call(e, call, &outcome);
	/* The keeper must have it before the answer lets the command go on, and perhaps end. */
	launch_notice(e, call->launch, decision);
}

void notify_deny(struct enforcer *e, const struct call *call, const struct decision *decision, int error_number, const struct buf *what)
{
	notify_denied(e, call, decision, error_number, what);
	notify_answer(e, call, (struct answer){ .kind = ANSWER_DENY, .error_number = error_number });
}

void notify_unreadable(struct enforcer *e, const struct call *call)
{
	const bool off = call->launch->subject.mode == MODE_OFF;
	struct decision decision = { .verdict = VERDICT_ALLOW, .rule = "boundary.memory", .origin = CODE_ORIGIN,
				     .reason = "what the call points to cannot be read" };
	struct outcome outcome = { .decision = &decision, .verb = off ? "allow" : "fail", .error_number = EFAULT, .certainty = "checked" };

	record_call(e, call, &outcome);
	notify_answer(e, call, off ? (struct answer){ .kind = ANSWER_CONTINUE } : (struct answer){ .kind = ANSWER_DENY, .error_number = EFAULT });
}

/* The registers alone decided: the table names the errno. */
static void refuse(struct enforcer *e, const struct call *call)
{
	struct action action = { .kind = ACTION_CALL, .call = call->rule->name };
	struct decision decision, shadow;

	notify_judge(e, call->launch, &action, &decision, &shadow);
	if (decision.verdict == VERDICT_ALLOW) { /* the filter has no such call in it unless it must be refused: hold to that */
		decision.verdict = VERDICT_DENY;
		decision.tag = "hardline";
		decision.rule = "boundary.call";
		decision.origin = CODE_ORIGIN;
		decision.hint = "work without this system call";
	}
	if (call->rule->why)
		strncpy(decision.reason, call->rule->why, sizeof(decision.reason) - 1);
	notify_deny(e, call, &decision, call->rule->error_number, NULL);
}

static void note(struct enforcer *e, const struct call *call)
{
	struct decision decision = { .verdict = VERDICT_ALLOW, .rule = "boundary.noted", .origin = CODE_ORIGIN };

	snprintf(decision.reason, sizeof(decision.reason), "%s", call->rule->why);
	record_call(e, call, &(struct outcome){ .decision = &decision, .verb = "allow", .certainty = "checked" });
	notify_answer(e, call, (struct answer){ .kind = ANSWER_CONTINUE });
}

void notify_deny_unrecorded(struct enforcer *e, const struct call *call)
{
	struct decision decision = {
		.verdict = VERDICT_DENY, .tag = "audit_unavailable", .rule = "boundary.audit", .origin = CODE_ORIGIN,
		.reason = "the audit log cannot be written, and nothing is allowed that cannot be recorded",
		.hint = "stop, and tell the operator that the audit log cannot be written",
	};

	notify_deny(e, call, &decision, EPERM, NULL);
}

/* Whether a call of this class, when it is allowed, leaves a record. */
static bool is_recorded(const struct enforcer *e, enum call_class class)
{
	switch (class) {
	case CALL_TRACE:
	case CALL_REFUSED:	/* a refusal has room of its own in the log */
		return false;
	case CALL_NOTED:
		return true;
	case CALL_OPEN:
	case CALL_PATH:
	case CALL_PROCESS:
		return e->policy->audit_allowed == AUDIT_ALLOWED_ALL;
	default:
		return e->policy->audit_allowed != AUDIT_ALLOWED_NONE;
	}
}

static void dispatch(struct enforcer *e, const struct call *call)
{
	e->calls++;
	switch (call->rule->class) {
	case CALL_EXEC:
		call->launch->execs++;
		return exec_handle(e, call);
	case CALL_OPEN:
		call->launch->files++;
		return file_handle(e, call);
	case CALL_PATH:
		call->launch->files++;
		return path_handle(e, call);
	case CALL_PROCESS:
		return process_handle(e, call);
	case CALL_TRACE:
		return call->launch->subject.mode == MODE_OFF ? process_handle(e, call) : refuse(e, call);
	case CALL_CONNECT:
	case CALL_BIND:
	case CALL_SEND:
		call->launch->sockets++;
		return socket_handle(e, call);
	case CALL_NOTED:
		return note(e, call);
	case CALL_REFUSED:
	case CALL_ALLOWED:
	default:
		return refuse(e, call);
	}
}

static void handle(struct enforcer *e, const struct call *call)
{
	/* Mode off refuses nothing because of the log: what is lost there is counted. */
	if (call->launch->subject.mode == MODE_OFF || call->rule->class == CALL_REFUSED || call->rule->class == CALL_TRACE)
		return dispatch(e, call);
	if (audit_health(e->audit) < 0)
		return notify_deny_unrecorded(e, call);
	if (!is_recorded(e, call->rule->class) || audit_has_room(e->audit))
		return dispatch(e, call);
	if (!held_add(e, call))
		notify_deny_unrecorded(e, call);
}

void notify_resume(struct enforcer *e, const struct call *call)
{
	handle(e, call);
}

/* FILTER_READS notifies opens that no row is about. */
static const struct call_rule *rule_of(const struct launch *l, const struct seccomp_data *data)
{
	const struct call_rule *rule = filter_rule(data->nr);

	return l->subject.mode == MODE_READONLY && rule->class == CALL_OPEN ? rule : filter_rule_for(data);
}

static void handle_slot(struct enforcer *e, struct launch *l, struct table_slot *slot)
{
	struct call call = { .launch = l, .slot = slot, .request = slot_request(slot), .received_us = now_us() };

	set_stage(slot, SLOT_RECEIVED);
	call.rule = rule_of(l, &call.request->data);
	handle(e, &call);
}

void notify_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct launch *l = container_of(source, struct launch, calls);
	struct table_slot *slot;
	int r;

	if (!(events & EPOLLIN)) {
		/* The last process of the filter is gone; the keeper will say so. */
		if (events & (EPOLLHUP | EPOLLERR))
			source_close(e, source);
		return;
	}
	slot = free_slot(l);
	if (!slot) {
		pause_launch(e, l, true);
		return;
	}
	source_in_person(e, source);
	r = listener_receive(&l->listener, slot->request, sizeof(slot->request));
	if (r == 1)
		handle_slot(e, l, slot);
	else
		slot_request(slot)->id = 0;
	if (r < 0) {
		record_text(e, "audit_drop", AUDIT_CRIT, "error", "a launch's calls cannot be received any more; it is killed");
		source_close(e, source);
		launch_kill(e, l, 0);
	}
}

/* A call found acting was perhaps done: it is never done twice. */
static void recover_slot(struct enforcer *e, struct launch *l, struct table_slot *slot)
{
	struct decision decision = {
		.verdict = VERDICT_DENY, .tag = "incomplete_evidence", .rule = "boundary.restart", .origin = CODE_ORIGIN,
		.reason = "the enforcer died while it acted for this call; whether it was done is not known",
		.hint = "look whether it was done before it is tried again",
	};
	static const struct decision killed = {
		.verdict = VERDICT_DENY, .tag = "unverifiable_exec", .rule = "boundary.restart", .origin = CODE_ORIGIN,
		.reason = "the enforcer died between judging this exec and verifying it, and the process with it",
		.hint = "start the command again",
	};
	struct call call = { .launch = l, .slot = slot, .request = slot_request(slot), .received_us = now_us() };
	enum slot_stage stage = __atomic_load_n(&slot->stage, __ATOMIC_ACQUIRE);

	call.rule = rule_of(l, &call.request->data);
	if (!listener_waits(&l->listener, call.request->id)) {
		/* An exec that was judged and not yet verified: its process died with the tracer (EXITKILL), as it must. */
		if (stage == SLOT_JUDGED)
			record_call(e, &call, &(struct outcome){ .decision = &killed, .verb = "kill", .certainty = "verified" });
		return notify_release(e, &call);
	}
	if (stage == SLOT_ACTING)
		socket_recover(&call);
	if (stage == SLOT_ACTING)
		return notify_deny(e, &call, &decision, EIO, NULL);
	if (stage == SLOT_ACTED && slot->error_number)
		return notify_answer(e, &call, (struct answer){ .kind = ANSWER_DENY, .error_number = slot->error_number });
	if (stage == SLOT_ACTED)
		return notify_answer(e, &call, (struct answer){ .kind = ANSWER_VALUE, .value = slot->value });
	handle_slot(e, l, slot);
}

void notify_recover(struct enforcer *e, struct launch *l)
{
	for (unsigned i = 0; l->table && i < TABLE_SLOTS; i++)
		if (slot_request(&l->table->slots[i])->id)
			recover_slot(e, l, &l->table->slots[i]);
}
