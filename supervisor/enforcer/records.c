/* SPDX-License-Identifier: Apache-2.0 */
/* What the enforcer writes into the audit log, and the JSON object an agent sees when it is refused. */
#include "supervisor/enforcer/digests.h"
#include "supervisor/enforcer/internal.h"
#include "supervisor/enforcer/known.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/process.h"
#include "supervisor/boundary/resolve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_SHOWN 32
#define ARGUMENT_SHOWN 512
#define ANCESTORS_SHOWN 8

/* A value behind one of these words in an argument is nobody's business (per element, before it becomes JSON). */
static const char *const secret_words[] = { "password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "authorization" };

/* The value behind the first such word: NAME=…, NAME: …, "NAME":…. NULL: none. */
static const char *find_secret(const char *argument)
{
	const char *first = NULL;

	if (!strpbrk(argument, "=:"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(secret_words); i++)
		for (const char *at = argument; (at = strcasestr(at, secret_words[i]));) {
			at += strlen(secret_words[i]);
			at += strspn(at, "\"' ");
			if ((*at == '=' || *at == ':') && (!first || at < first))
				first = at + 1;
		}
	return first;
}

/* "--password VALUE": an option that ends in such a word is followed by the value. */
static bool names_secret(const char *argument)
{
	size_t len = strlen(argument);

	for (size_t i = 0; argument[0] == '-' && i < ARRAY_SIZE(secret_words); i++) {
		size_t word_len = strlen(secret_words[i]);

		if (len > word_len && strcasecmp(argument + len - word_len, secret_words[i]) == 0)
			return true;
	}
	return false;
}

static void put_argument(struct json_out *j, const char *argument, const char *before)
{
	const char *secret = before && names_secret(before) ? argument : find_secret(argument);
	char shown[ARGUMENT_SHOWN + 16];
	size_t len = secret ? (size_t)(secret - argument) : strlen(argument);

	if (len > ARGUMENT_SHOWN)
		len = ARGUMENT_SHOWN;
	memcpy(shown, argument, len);
	shown[len] = 0;
	if (secret && *secret)
		strcat(shown, "[redacted]");
	json_bytes(j, NULL, bytes_of(shown));
}

void record_put_argv(struct json_out *j, const char *const *argv)
{
	json_array_begin(j, "argv");
	for (size_t i = 0; argv[i] && i < ARGUMENTS_SHOWN; i++)
		put_argument(j, argv[i], i ? argv[i - 1] : NULL);
	json_array_end(j);
}

static void put_rule(struct json_out *j, const struct decision *d)
{
	json_object_begin(j, "rule");
	json_text(j, "id", d->rule);
	if (d->origin.file && d->origin.file[0]) {
		json_text(j, "file", d->origin.file);
		json_uint(j, "line", d->origin.line);
	}
	json_object_end(j);
}

static void put_decision(struct json_out *j, const struct decision *d)
{
	put_rule(j, d);
	json_text(j, "tag", d->tag);
	json_text(j, "reason", d->reason[0] ? d->reason : NULL);
	json_text(j, "hint", d->hint);
	if (d->unreviewed)
		json_bool(j, "unreviewed", true);
}

/* An exec passed for its own sake, because its launch passed as a whole, or because it is what a tool of the image makes of itself. */
static const char *by_name(enum decided_by by)
{
	return by == BY_PLAN ? "plan" : by == BY_HELPER ? "helper" : "alone";
}

/* What guarded would have said. */
static void put_shadow(struct json_out *j, const struct decision *shadow)
{
	json_object_begin(j, "shadow");
	json_text(j, "decision", shadow->verdict == VERDICT_ALLOW ? "allow" : shadow->verdict == VERDICT_DENY ? "deny" : "review");
	put_decision(j, shadow);
	json_object_end(j);
}

/* ---- the process ---- */

static void put_link(struct json_out *j, const char *key, pid_t pid, const char *name)
{
	char path[64], target[RESOLVE_PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return;
	json_bytes(j, key, (struct bytes){ target, (size_t)len });
}

static void put_executable(const struct enforcer *e, struct json_out *j, pid_t pid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	json_object_begin(j, "exe");
	put_link(j, "path", pid, "exe");
	if (stat(path, &st) == 0) {
		json_uint(j, "ino", st.st_ino);
		json_text(j, "sha256", digest_known_of(e, &st));
	}
	json_object_end(j);
}

static void put_command_line(struct json_out *j, pid_t pid)
{
	char path[32], text[8192];
	const char *before = NULL;
	_cleanup_close_ int fd = -1;
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return;
	text[len] = 0;
	json_array_begin(j, "argv");
	for (ssize_t at = 0, nr = 0; at < len && nr < ARGUMENTS_SHOWN; at += (ssize_t)strlen(before) + 1, nr++) {
		put_argument(j, text + at, before);
		before = text + at;
	}
	json_array_end(j);
}

static void put_ancestors(struct json_out *j, pid_t pid, pid_t keeper)
{
	struct process_facts facts;

	json_array_begin(j, "ancestors");
	for (int i = 0; i < ANCESTORS_SHOWN && process_read(pid, &facts) == 0; i++) {
		pid = facts.parent;
		if (pid <= 1 || pid == keeper || process_read(pid, &facts) < 0)
			break;
		json_object_begin(j, NULL);
		json_int(j, "pid", pid);
		json_uint(j, "start", facts.start);
		put_link(j, "exe", pid, "exe");
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_facts(const struct enforcer *e, struct json_out *j, const struct launch *l, const struct caller_facts *caller)
{
	json_object_begin(j, "proc");
	json_int(j, "pid", caller->pid);
	json_int(j, "ppid", caller->facts.parent);
	json_uint(j, "start", caller->facts.start);
	json_uint(j, "uid", l->spec->uid);
	json_object_begin(j, "exe");
	json_bytes(j, "path", caller->program);
	json_uint(j, "ino", caller->identity.ino);
	json_text(j, "sha256", digest_known(e, &caller->identity));
	json_object_end(j);
	json_object_end(j);
}

/* full: what a denial is worth; an allowed call gets the parts that cost one look each. */
static void put_process(const struct enforcer *e, struct json_out *j, const struct launch *l, pid_t pid, bool full)
{
	struct process_facts facts;

	json_object_begin(j, "proc");
	json_int(j, "pid", pid);
	if (process_read(pid, &facts) == 0) {
		json_int(j, "ppid", facts.parent);
		json_uint(j, "start", facts.start);
	} else {
		json_text(j, "err", "exited");
	}
	/* Only in off does a launch's process become somebody else. */
	if (l)
		json_uint(j, "uid", l->subject.mode == MODE_OFF ? process_uid(pid, l->spec->uid) : l->spec->uid);
	else
		json_int(j, "uid", (int)process_uid(pid, (uid_t)-1));
	put_executable(e, j, pid);
	if (full) {
		put_command_line(j, pid);
		put_link(j, "cwd", pid, "cwd");
		put_ancestors(j, pid, l ? l->keeper_pid : 0);
	}
	json_object_end(j);
}

/* An exec is most processes' only call: those are not worth keeping. */
static void put_caller(const struct enforcer *e, struct json_out *j, const struct call *call, const struct outcome *o, bool refused)
{
	bool keep = !refused && call->launch->subject.mode != MODE_OFF && call->rule->class != CALL_EXEC;
	const struct known *known = keep ? known_process((pid_t)call->request->pid, call->request->id) : NULL;

	if (o->caller)
		put_facts(e, j, call->launch, o->caller);
	else if (known)
		put_facts(e, j, call->launch, &known->caller);
	else
		put_process(e, j, call->launch, (pid_t)call->request->pid, refused);
}

/* "0x…", as %#llx would write it but for 0. ret_text gets the NUL as well. */
static const char *to_hex(uint64_t value, char ret_text[static 20])
{
	char *at = ret_text + 19;

	*at = 0;
	do {
		*--at = "0123456789abcdef"[value & 15];
		value >>= 4;
	} while (value);
	*--at = 'x';
	*--at = '0';
	return at;
}

static void put_call(struct json_out *j, const struct call *call, const struct buf *what)
{
	char hex[20];

	json_object_begin(j, "sys");
	json_int(j, "nr", call->request->data.nr);
	json_text(j, "name", call->rule->name);
	json_array_begin(j, "args");
	for (int i = 0; i < 6; i++)
		json_text(j, NULL, to_hex(call->request->data.args[i], hex));
	json_array_end(j);
	if (what && what->len) {
		buf_char(j->buf, ',');
		buf_append(j->buf, what->data, what->len);
	}
	json_object_end(j);
}

/* The id under which the asker was told, and a record is found. */
static void put_case(struct json_out *j, uint64_t launch, uint64_t number)
{
	char case_id[48];

	snprintf(case_id, sizeof(case_id), "case-%llu-%llu", (unsigned long long)launch, (unsigned long long)number);
	json_text(j, "case_id", case_id);
}

static void put_launch(struct json_out *j, const struct launch *l)
{
	json_uint(j, "launch", l->id);
	json_text(j, "agent", l->agent && l->agent[0] ? l->agent : NULL); /* NULL: its keeper ended before it said */
}

void record_call(struct enforcer *e, const struct call *call, const struct outcome *o)
{
	static struct buf members;	/* its memory is kept: most records are as long as the one before */
	struct json_out j = { .buf = &members };
	const bool failed = strcmp(o->verb, "fail") == 0, refused = !failed && strcmp(o->verb, "allow") != 0;

	call->launch->cases += refused;
	if ((refused || failed) && repeats_counted(e, call, o))
		return;
	buf_reset(&members);
	json_text(&j, "decision", o->verb);
	if (refused)
		put_case(&j, call->launch->id, call->launch->cases);
	json_text(&j, "errno", o->error_number ? strerrorname_np(o->error_number) : NULL);
	json_text(&j, "mode", mode_name(call->launch->subject.mode));
	put_decision(&j, o->decision);
	if (!refused && call->rule->class == CALL_EXEC)
		json_text(&j, "by", by_name(o->decision->by));
	put_call(&j, call, o->what);
	json_text(&j, "certainty", o->certainty);
	put_caller(e, &j, call, o, refused);
	put_launch(&j, call->launch);
	json_uint(&j, "lat_us", now_us() - call->received_us);
	if (o->shadow)
		put_shadow(&j, o->shadow);
	if (failed)
		audit_record(e->audit, "syscall", AUDIT_LOW, false, &members);
	else if (o->reserved)
		audit_record_reserved(e->audit, "syscall", AUDIT_INFO, &members);
	else
		audit_record(e->audit, "syscall", !refused ? AUDIT_INFO : strcmp(o->verb, "kill") == 0 ? AUDIT_HIGH : AUDIT_MED, refused, &members);
}

void record_repeat_members(const struct call *call, const struct outcome *o, struct buf *ret_members)
{
	struct json_out j = { .buf = ret_members };

	json_text(&j, "decision", o->verb);
	json_text(&j, "errno", o->error_number ? strerrorname_np(o->error_number) : NULL);
	json_text(&j, "mode", mode_name(call->launch->subject.mode));
	put_decision(&j, o->decision);
	put_call(&j, call, o->what);
	json_text(&j, "certainty", o->certainty);
	put_launch(&j, call->launch);
}

/* As the call that it is, for repeats.c: the guard has no registers. */
static bool protected_counted(struct enforcer *e, struct launch *launch, const char *path, const struct decision *decision)
{
	static const struct call_rule rule = { .nr = SYS_open, .name = "open" };
	static const struct seccomp_notif request = { .data.nr = SYS_open };
	const struct call call = { .launch = launch, .request = &request, .rule = &rule };
	_cleanup_buf_ struct buf what = { 0 };
	struct json_out j = { .buf = &what };

	json_object_begin(&j, "path");
	json_bytes(&j, "resolved", bytes_of(path));
	json_bool(&j, "writes", false);
	json_object_end(&j);
	return repeats_counted(e, &call, &(struct outcome){ .decision = decision, .verb = "deny", .error_number = EPERM, .certainty = "verified", .what = &what });
}

void record_protected(struct enforcer *e, struct launch *launch, pid_t pid, const char *path, const struct decision *decision)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	if (launch && protected_counted(e, launch, path, decision)) {
		launch->cases++;
		return;
	}
	json_text(&j, "decision", "deny");
	if (launch)
		put_case(&j, launch->id, ++launch->cases);
	json_text(&j, "errno", "EPERM");
	json_text(&j, "mode", launch ? mode_name(launch->subject.mode) : NULL);
	put_decision(&j, decision);
	json_object_begin(&j, "sys");
	json_text(&j, "name", "open");
	json_object_begin(&j, "path");
	json_bytes(&j, "resolved", bytes_of(path));
	json_bool(&j, "writes", false);
	json_object_end(&j);
	json_object_end(&j);
	json_text(&j, "certainty", "verified");
	put_process(e, &j, launch, pid, true);
	if (launch)
		put_launch(&j, launch);
	audit_record(e->audit, "syscall", AUDIT_MED, true, &members);
}

void record_unsupervised(struct enforcer *e, pid_t pid, bool from_outside, bool stopped, unsigned uncounted)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_text(&j, "origin", from_outside ? "outside" : "orphan");
	json_text(&j, "action", stopped ? "stop" : "leave");
	json_text(&j, "reason", from_outside ? "started from outside the container past every entry name: no filter guards it" :
					       "left behind by a process that no filter guarded");
	put_process(e, &j, NULL, pid, true);
	if (uncounted)
		json_uint(&j, "not_recorded_before", uncounted);
	audit_record(e->audit, "unsupervised_process", AUDIT_MED, true, &members);
}

/* How the launch was tightened. */
static void put_limits(struct json_out *j, const char *scope, bool strict_roots)
{
	if (scope && *scope)
		json_text(j, "scope", scope);
	if (strict_roots)
		json_text(j, "roots", roots_name(ROOTS_STRICT));
}

void record_begin(struct enforcer *e, const struct launch *l)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	put_launch(&j, l);
	json_text(&j, "mode", mode_name(l->subject.mode));
	put_limits(&j, l->blob + l->spec->scope_offset, l->subject.strict_roots);
	if (l->subject.preset_program)
		json_text(&j, "preset", l->subject.preset_program);
	json_bytes(&j, "user", bytes_of(l->user));
	json_uint(&j, "uid", l->spec->uid);
	json_int(&j, "pid", l->command);
	json_int(&j, "keeper", l->keeper_pid);
	record_put_argv(&j, l->argv);
	if (l->subject.transport) {
		json_object_begin(&j, "transport");
		json_text(&j, "id", l->subject.transport->id);
		json_text(&j, "kind", l->subject.transport->wrap ? "wrap" : "housekeeping");
		if (l->subject.transport->wrap)		/* from here on it is the agent's command */
			json_uint(&j, "command_at", l->subject.transport->argv.nr);
		json_object_end(&j);
	}
	if (l->begun) {
		json_text(&j, "decision", "allow");
		put_decision(&j, &l->begun->decision);
		if (l->subject.mode == MODE_OFF)
			put_shadow(&j, &l->begun->shadow);
	}
	json_bytes(&j, "cwd", bytes_of(l->blob + l->spec->cwd_offset));
	json_bool(&j, "tty", l->spec->flags & SPEC_TTY);
	json_uint(&j, "start_us", now_us() - l->spec->asked_us);
	audit_record_vital(e->audit, "cmd_begin", AUDIT_INFO, &members);
}

void record_end(struct enforcer *e, const struct launch *l, int status)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	put_launch(&j, l);
	if (WIFSIGNALED(status))
		json_int(&j, "signal", WTERMSIG(status));
	else
		json_int(&j, "exit", WEXITSTATUS(status));
	json_uint(&j, "execs", l->execs);
	json_uint(&j, "execs_missing", l->execs_missing);
	json_uint(&j, "files", l->files);
	json_uint(&j, "sockets", l->sockets);
	json_uint(&j, "denials", l->denials);
	if (l->spec)
		json_uint(&j, "duration_us", now_us() - l->spec->asked_us);
	audit_record_vital(e->audit, "cmd_end", AUDIT_INFO, &members);
}

void record_failed(struct enforcer *e, struct launch *l, enum audit_severity severity, const char *text, const struct decision *decision)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	put_launch(&j, l);
	if (decision) {
		json_text(&j, "decision", "deny");
		put_case(&j, l->id, ++l->cases);
		put_decision(&j, decision);
	}
	json_text(&j, "error", text);
	audit_record(e->audit, "cmd_end", severity, true, &members);
}

void record_refused_launch(struct enforcer *e, uint64_t id, const struct launch_order *order, uid_t uid, const struct decision *decision)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_text(&j, "decision", "deny");
	put_case(&j, id, 1);
	json_uint(&j, "launch", id);
	json_text(&j, "mode", mode_name(order->mode));
	put_limits(&j, order->scope, order->strict_roots);
	put_decision(&j, decision);
	json_text(&j, "agent", order->agent[0] ? order->agent : NULL);
	json_uint(&j, "peer_uid", uid);
	record_put_argv(&j, (const char *const *)order->argv);
	json_bytes(&j, "cwd", bytes_of(order->cwd));
	audit_record(e->audit, "cmd_begin", AUDIT_MED, true, &members);
}

void record_text(struct enforcer *e, const char *type, enum audit_severity severity, const char *key, const char *text)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_text(&j, key, text);
	audit_record(e->audit, type, severity, severity >= AUDIT_MED, &members);
}

void record_layers(struct enforcer *e)
{
	for (unsigned i = 0; i < e->nr_layers; i++) {
		_cleanup_buf_ struct buf members = { 0 };
		struct json_out j = { .buf = &members };

		json_text(&j, "layer", e->layers[i].name);
		json_text(&j, "state", layer_state_name(e->layers[i].state));
		json_text(&j, "why", e->layers[i].why);
		json_text(&j, "how", e->layers[i].how);
		audit_record(e->audit, "layer", e->layers[i].state == LAYER_ACTIVE ? AUDIT_INFO : AUDIT_MED, false, &members);
	}
}

void record_refusal_json(uint64_t launch, uint64_t number, const struct decision *d, struct buf *ret_json)
{
	struct json_out j = { .buf = ret_json };

	json_object_begin(&j, NULL);
	json_bool(&j, "success", false);
	json_text(&j, "status", "blocked");
	json_text(&j, "error", "Action blocked by safety policy");
	json_object_begin(&j, "safety");
	put_case(&j, launch, number);
	json_text(&j, "source", "deterministic");
	json_text(&j, "rule", d->rule);
	json_text(&j, "tag", d->tag ? d->tag : "policy_block");
	json_text(&j, "reason", d->reason);
	json_text(&j, "hint", d->hint ? d->hint : "");
	json_array_begin(&j, "categories");
	json_text(&j, NULL, d->tag ? d->tag : "policy_block");
	json_array_end(&j);
	json_text(&j, "risk", "high");
	json_object_end(&j);
	json_object_end(&j);
}
