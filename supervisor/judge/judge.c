/* SPDX-License-Identifier: Apache-2.0 */
/* judge(): which kind of question it is, what mode off still refuses, and the small kinds. Pure; any thread; no allocation. */
#include "supervisor/judge/judging.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- words of an answer ---- */

const char *quote(struct quoted *q, const char *name, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	const size_t most = sizeof(q->text) - sizeof("\\x00...'");
	size_t used = 0, i;

	q->text[used++] = '\'';
	for (i = 0; i < len && used <= most; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c >= 0x20 && c < 0x7f && c != '\\' && c != '\'') {
			q->text[used++] = (char)c;
		} else {
			q->text[used++] = '\\';
			q->text[used++] = 'x';
			q->text[used++] = digits[c >> 4];
			q->text[used++] = digits[c & 15];
		}
	}
	if (i < len) {
		memcpy(q->text + used, "...", 3);
		used += 3;
	}
	q->text[used++] = '\'';
	q->text[used] = '\0';
	return q->text;
}

const char *quote_text(struct quoted *q, const char *name)
{
	return quote(q, name, strlen(name));
}

/* Nearly every sentence has nothing in it but %s, for which stdio takes longer than the judgement did. False: this one has more. */
static bool put_sentence(char *ret_text, size_t bytes, const char *format, va_list arguments)
{
	size_t used = 0;

	while (*format) {
		const char *text = format;
		size_t len = (size_t)(strchrnul(format, '%') - format);

		if (len == 0) {
			if (format[1] != 's')
				return false;
			text = va_arg(arguments, const char *);
			len = strlen(text);
			format += 2;
		} else {
			format += len;
		}
		if (len > bytes - 1 - used)
			len = bytes - 1 - used;
		memcpy(ret_text + used, text, len);
		used += len;
	}
	ret_text[used] = '\0';
	return true;
}

static void __attribute__((format(printf, 5, 0))) answer(const struct judging *j, enum verdict verdict, const char *tag, struct ruling ruling,
							  const char *format, va_list arguments)
{
	struct decision *d = j->decision;
	va_list again;

	d->verdict = verdict;
	d->unreviewed = false;
	d->tag = tag;
	d->rule = ruling.id;
	d->origin = ruling.origin;
	d->hint = ruling.hint;
	va_copy(again, arguments);
	if (!put_sentence(d->reason, sizeof(d->reason), format, arguments))
		vsnprintf(d->reason, sizeof(d->reason), format, again);
	va_end(again);
}

void answer_allow(const struct judging *j, struct ruling ruling, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	answer(j, VERDICT_ALLOW, NULL, ruling, format, arguments);
	va_end(arguments);
}

void answer_deny(const struct judging *j, const char *tag, struct ruling ruling, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	answer(j, VERDICT_DENY, tag, ruling, format, arguments);
	va_end(arguments);
}

/* ---- how much ---- */

bool judge_step(const struct judging *j, size_t steps)
{
	*j->steps += steps;
	return *j->steps <= JUDGE_STEPS_MAX;
}

void answer_too_much(const struct judging *j)
{
	answer_deny(j, "incomplete_evidence", (struct ruling){ "exec.work", CODE_RULE, "split the text into several commands, or name fewer files, patterns and URLs in it" },
		    "The command holds more than can be judged in time.");
}

static void refuse_too_much(const struct judging *j)
{
	struct decision answer = { 0 };
	struct judging inner = *j;

	inner.decision = &answer;
	answer_too_much(&inner);
	answer_worse(j->decision, &answer);
}

/* ---- small kinds ---- */

/* What is typed into a running program is not a command that could be judged: only the interrupt key passes. */
static void judge_stdin(const struct judging *j)
{
	const struct ruling ruling = { "stdin.interrupt_only", CODE_RULE, "only Ctrl-C (0x03) passes; start a new command with its input in a file or argument" };
	size_t i;

	for (i = 0; i < j->action->typed_bytes && j->action->typed[i] == 0x03; i++)
		;
	if (i > 0 && i == j->action->typed_bytes)
		answer_allow(j, ruling, "Only the interrupt key was typed.");
	else
		answer_deny(j, "unreviewable_stdin", ruling, "Text typed into a running program cannot be judged.");
}

static void judge_call(const struct judging *j)
{
	struct quoted q;

	answer_deny(j, "policy_block", (struct ruling){ "call.refused", CODE_RULE, "work without it: agents get no mounts, namespaces, tracing or kernel programs in safety modes" },
		    "The system call %s is refused in %s mode.", quote_text(&q, j->action->call ? j->action->call : "?"),
		    mode_name(j->subject->mode));
}

/* Nothing is blocked in off, except what would reach PID 1, the enforcer or the log. */
static void judge_off(const struct judging *j)
{
	const struct action *a = j->action;
	const char *object = a->kind == ACTION_EXEC ? a->program : a->kind == ACTION_ENVIRONMENT || a->unresolved ? NULL : a->path;
	const struct mode_rule *rule = &j->policy->rules[MODE_OFF][0];
	struct quoted q;

	if (object && a->kind != ACTION_STDIN && a->kind != ACTION_CALL) {
		if (path_is_own(j->policy, object)) {
			answer_deny(j, "protected_path", (struct ruling){ "path.own", { "paths.json", j->policy->paths.own.line }, "leave Cordon's own files alone; work with files of the project" },
				    "%s belongs to Cordon.", quote_text(&q, object));
			return;
		}
		if (a->kind == ACTION_WRITE && path_in_list(&j->policy->paths.own_files, NULL, object)) {
			answer_deny(j, "protected_path", (struct ruling){ "path.own_files", { "paths.json", j->policy->paths.own_files.line }, "leave Cordon's own files alone; work with files of the project" },
				    "%s belongs to Cordon and is never written.", quote_text(&q, object));
			return;
		}
	}
	answer_allow(j, (struct ruling){ rule->id, rule->origin, NULL }, "The action %s.", rule->reason);
}

void judge(const struct policy *policy, const struct judge_subject *subject, const struct action *action, struct decision *ret_decision)
{
	static const struct decision unanswered = {
		.verdict = VERDICT_DENY, .tag = "invalid_request", .rule = "request.invalid", .origin = CODE_ORIGIN,
		.hint = "ask for one of: exec, read, write, connect, env, stdin, http", .reason = "The request is not one that can be judged.",
	};
	size_t steps = 0;
	const struct judging j = { .policy = policy, .subject = subject, .action = action, .decision = ret_decision, .steps = &steps };

	*ret_decision = unanswered;	/* stands unless somebody answers */
	if ((unsigned)subject->mode >= MODE_COUNT)
		return;
	if (subject->mode == MODE_OFF && action->kind != ACTION_EXEC) {
		judge_off(&j);
		return;
	}
	switch (action->kind) {
	case ACTION_EXEC:
		judge_exec(&j);
		if (!judge_step(&j, 0))
			refuse_too_much(&j);
		if (subject->mode == MODE_OFF)	/* the effects are recorded all the same */
			judge_off(&j);
		break;
	case ACTION_READ:
	case ACTION_WRITE:
		judge_path(&j);
		break;
	case ACTION_BIND:
		judge_bind(&j);
		break;
	case ACTION_CONNECT:
		judge_connect(&j);
		break;
	case ACTION_ENVIRONMENT:
		judge_environment(&j);
		break;
	case ACTION_STDIN:
		judge_stdin(&j);
		break;
	case ACTION_CALL:
		judge_call(&j);
		break;
	case ACTION_HTTP:
		judge_http(&j);
		break;
	default:
		break;
	}
	if (ret_decision->verdict != VERDICT_ALLOW && !ret_decision->hint)	/* a policy's own rule may leave it out */
		ret_decision->hint = "use a plain read command, or ask the operator about the rule that is named";
}

void judge_settle(const struct judge_subject *subject, struct decision *decision)
{
	if (decision->verdict != VERDICT_REVIEW)
		return;
	if (subject->unreviewed_allow) {
		decision->verdict = VERDICT_ALLOW;
		decision->unreviewed = true;
		return;
	}
	decision->verdict = VERDICT_DENY;
	decision->tag = "review_unavailable";
}
