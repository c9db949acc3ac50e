/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command texts: every simple command that the shell's reader (analyze/) finds is judged as a command line of its own, the worst
 * answer holds. What the reader does not model, and what only the shell will know, is a deny.
 */
#include "supervisor/judge/folders.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <limits.h>
#include <string.h>

#define OWN_CALL "issue one plain command with literal arguments"

struct reading {
	const struct judging *j;
	const struct shell_script *script;
	bool hides_code;	/* a variable holds text that arithmetic or an indirection would run */
	size_t nr_others;	/* commands that do more than set the scene */
};

static void take(const struct reading *r, const struct decision *answer)
{
	/* The only command's own answer says more than that all of them are allowed. */
	if (r->script->nr_commands == 1 && r->j->decision->verdict == VERDICT_ALLOW)
		*r->j->decision = *answer;
	else
		answer_worse(r->j->decision, answer);
}

static void refuse(const struct reading *r, const char *tag, struct ruling ruling, const char *reason)
{
	struct decision answer = { 0 };
	struct judging j = *r->j;

	j.decision = &answer;
	answer_deny(&j, tag, ruling, "%s.", reason);
	take(r, &answer);
}

static bool word_is(const struct shell_word *word, const char *text)
{
	return !word->why && bytes_equal(word->value, bytes_of(text));
}

/* ---- where a command's input comes from ---- */

static bool is_text_redirection(const struct shell_redirection *redirection)
{
	return redirection->op == SHELL_HERE_DOCUMENT || redirection->op == SHELL_HERE_STRING;
}

/* A file outside the project is nobody's evidence, whether it is named as a script or handed over as input. */
static bool is_foreign(const struct judging *j, const struct shell_redirection *redirection)
{
	char path[PATH_MAX];
	const char *text;
	uint8_t flags;

	if (is_text_redirection(redirection) || !redirection->target)
		return false;
	if (!word_of_shell(j, redirection->target, &text, &flags) || flags & WORD_DYNAMIC)
		return true;
	return strcmp(text, "/dev/null") != 0 && (j->lost || path_normalize(j->action->cwd, text, path, sizeof(path)) < 0 ||
						  !path_is_under(path, j->policy->paths.project));
}

/* The text that stands in its place, or NULL. */
static const struct shell_redirection *find_input(struct judging *j, const struct shell_command *command)
{
	const struct shell_source source = shell_stdin_source(command);
	bool redirected = source.from == SHELL_STDIN_REDIRECTED;

	j->fed = source.from != SHELL_STDIN_INHERITED;
	j->piped = source.from == SHELL_STDIN_PIPE || source.from == SHELL_STDIN_WRITTEN || source.from == SHELL_STDIN_COPROC;
	j->foreign = redirected && is_foreign(j, source.redirection);
	return redirected && is_text_redirection(source.redirection) ? source.redirection : NULL;
}

/* ---- shells inside the text ---- */

static void judge_script(const struct judging *j, const char *text, enum shell_dialect dialect);

/* Its words are judged by what they make it read; the answer is never softer than what the mode thinks of a shell. */
static void judge_shell(const struct judging *j, struct words words, const struct shell_invocation *invocation, const struct shell_redirection *input)
{
	const struct ruling ruling = { "exec.shell_text", CODE_RULE, OWN_CALL };
	const struct shell_word *body = !input ? NULL : input->op == SHELL_HERE_DOCUMENT ? input->body : input->target;
	struct decision inner = { 0 };
	struct judging inside = *j;
	const char *text = NULL;

	if (invocation->reads == SHELL_READS_TEXT && !(words.flags && words.flags[invocation->index] & WORD_DYNAMIC))
		text = words.text[invocation->index];
	else if (invocation->reads == SHELL_READS_STDIN && body && !body->why)
		text = body->value.data;
	judge_words(j, words);		/* the mode's thoughts about shells, and the script it is given */
	if (invocation->reads == SHELL_READS_NOTHING || (invocation->reads == SHELL_READS_FILE && !invocation->interactive))
		return;
	inside.decision = &inner;
	inside.depth++;
	inside.also = 0;
	inside.around = NULL;
	if (text && !invocation->interactive) {
		foresee(j, words, invocation->reads == SHELL_READS_TEXT);
		judge_script(&inside, text, invocation->dialect);
	} else if (invocation->reads == SHELL_READS_STDIN && j->fed && !j->piped && !j->foreign && !input) {
		return;		/* a file: judge_words() saw that it is one, the redirection's own answer holds */
	} else if (text) {
		answer_deny(&inside, "incomplete_evidence", ruling, "The shell reads start files before its text.");
	} else {
		answer_deny(&inside, "incomplete_evidence", ruling, "What the shell will read is not known before it runs.");
	}
	answer_worse(j->decision, &inner);
}

/* False: no shell, or more than is read of one. */
static bool read_invocation(const struct judging *j, struct words words, struct shell_invocation *ret)
{
	_uninitialized_ struct shell_word *list[WORDS_MAX + 1];
	struct shell_word *store;
	enum shell_dialect dialect;
	size_t i;

	if (!words.nr || words.nr > WORDS_MAX || !j->subject->arena || !shell_is_program(bytes_of(words.text[0]), &dialect))
		return false;
	store = arena_take(j->subject->arena, words.nr * sizeof(*store));
	if (!store)
		return false;
	for (i = 0; i < words.nr; i++) {
		bool dynamic = words.flags && words.flags[i] & WORD_DYNAMIC;

		store[i] = (struct shell_word){ .source = bytes_of(words.text[i]), .value = dynamic ? (struct bytes){ "", 0 } : bytes_of(words.text[i]),
						.why = dynamic ? SHELL_PARAMETER : 0, .single = true };
		store[i].prefix = store[i].value;
		list[i] = &store[i];
	}
	list[words.nr] = NULL;
	shell_read_invocation(list, words.nr, ret);
	return true;
}

bool judge_shell_words(const struct judging *j, struct words words)
{
	struct shell_invocation invocation;

	if (!read_invocation(j, words, &invocation))
		return false;
	judge_shell(j, words, &invocation, NULL);
	return true;
}

/* "sh -lc TEXT" and no more: the way hosts start commands. A shell by another path than by name may be anybody's. */
bool judge_wrapped(const struct judging *j, struct words words)
{
	struct shell_invocation invocation;
	struct judging inside = *j;
	char path[PATH_MAX];

	if (j->depth >= JUDGE_DEPTH_MAX || !read_invocation(j, words, &invocation) || invocation.reads != SHELL_READS_TEXT || invocation.interactive || invocation.startup ||
	    (words.flags && words.flags[invocation.index]))
		return false;
	if (strchr(words.text[0], '/') && (path_normalize(j->action->cwd ? j->action->cwd : "/", words.text[0], path, sizeof(path)) < 0 || path_is_writable(j, path)))
		return false;
	foresee(j, words, true);
	inside.depth++;
	inside.wrapped = true;
	judge_script(&inside, words.text[invocation.index], invocation.dialect);
	return true;
}

/* ---- one command ---- */

/* Behind the name: "=value" where that is known, for the launch's own value is no change. */
static void add_value(const struct shell_assignment *a, char *at, size_t room)
{
	if (a->by != SHELL_ASSIGN_PREFIX || a->append || a->subscript.data || a->is_array || !a->value || a->value->why || a->value->value.len + 2 > room)
		return;
	*at++ = '=';
	memcpy(at, a->value->value.data, a->value->value.len);
	at[a->value->value.len] = '\0';
}

/* "IFS= read -r x": the builtin splits by it, and nothing else sees it. */
static bool is_for_read(const struct shell_command *command, const struct shell_assignment *a)
{
	return a->by == SHELL_ASSIGN_PREFIX && command->nr_words && word_is(command->words[0], "read") && !command->calls && bytes_equal(a->name, bytes_of("IFS"));
}

static void judge_assignments(struct reading *r, const struct shell_command *command)
{
	const struct shell_assignment *a;

	for (a = command->assignments; a && judge_step(r->j, 64); a = a->next) {
		char name[256];
		struct decision answer = { 0 };
		const struct action action = { .kind = ACTION_ENVIRONMENT, .text = name };
		struct judging j = *r->j;

		if (a->value && !a->value->why && (memmem(a->value->value.data, a->value->value.len, "$(", 2) || memchr(a->value->value.data, '`', a->value->value.len)))
			r->hides_code = true;
		if (is_for_read(command, a))
			continue;
		if (a->name.len >= sizeof(name) || !a->name.len) {
			refuse(r, "incomplete_evidence", (struct ruling){ "exec.assignment", CODE_RULE, "spell the variable's name out" }, "The name of a variable is not known before the text runs");
			continue;
		}
		memcpy(name, a->name.data, a->name.len);
		name[a->name.len] = '\0';
		add_value(a, name + a->name.len, sizeof(name) - a->name.len);
		j.action = &action;
		j.decision = &answer;
		judge_environment(&j);
		take(r, &answer);
	}
}

/* A function that starts itself, twice at a time or in the background, takes every process there is. */
static bool is_fork_bomb(const struct shell_command *command)
{
	return command->calls && command->function == command->calls &&
	       (command->context & SHELL_IN_BACKGROUND || command->pipe_from || command->pipe_to);
}

/* Emptying a file by a command that prints nothing is no way of writing to it. */
static bool only_truncates(const struct shell_command *command)
{
	const struct shell_redirection *redirection;

	if (command->kind != SHELL_SIMPLE || command->nr_words > 1 || (command->nr_words && !word_is(command->words[0], ":") && !word_is(command->words[0], "true")))
		return false;
	for (redirection = command->redirections; redirection; redirection = redirection->next)
		if (redirection->op == SHELL_WRITE || redirection->op == SHELL_WRITE_BOTH)
			return true;
	return false;
}

static void judge_plain(struct judging *j, const struct shell_command *command, const struct shell_redirection *text)
{
	struct shell_invocation invocation;
	enum shell_dialect dialect;
	struct judged_words words;

	if (!words_of_shell(j, command->words, command->nr_words, &words)) {
		answer_deny(j, "incomplete_evidence", (struct ruling){ "exec.size", CODE_RULE, "split the command into several with fewer words" }, "The command has more words than can be judged.");
		return;
	}
	if (shell_is_program(bytes_of(words.text[0]), &dialect)) {
		shell_read_invocation(command->words, command->nr_words, &invocation);
		judge_shell(j, (struct words){ words.text, words.flags, words.nr }, &invocation, text);
	} else {
		judge_words(j, (struct words){ words.text, words.flags, words.nr });
	}
}

/* As if it stood in cwd, or, lost, somewhere. */
static void judge_command(const struct reading *r, const struct shell_command *command, const char *cwd, bool lost)
{
	struct decision answer = { 0 };
	struct action action = *r->j->action;
	struct consequences around = { 0 };
	const struct shell_redirection *text;
	static const char *const nothing[] = { ":" };
	struct judging j = *r->j;
	bool writes;

	action.cwd = cwd;
	j.action = &action;
	j.decision = &answer;
	j.lost = lost;
	j.wrapped = false;
	weigh_redirections(&j, command->redirections, &around, &writes);
	j.also = around.effects | (only_truncates(command) && around.effects & EFFECT_WRITE ? EFFECT_DELETE : 0);
	if (command->context & SHELL_TIMED && !j.policy->wrappers_follow)	/* the keyword is refused as the program of that name is */
		j.also |= EFFECT_WRAP;
	j.around = around.answered ? &around.decision : NULL;
	j.crowded = writes || r->nr_others > 1 || command->context & SHELL_IN_BACKGROUND;
	text = find_input(&j, command);
	if (is_fork_bomb(command))
		answer_deny(&j, "hardline", (struct ruling){ "exec.fork_bomb", CODE_RULE, "start a bounded number of commands, each of them once" }, "A function starts itself without end.");
	else if (command->kind != SHELL_SIMPLE || !command->nr_words || (command->calls && command->calls_certain))
		judge_words(&j, (struct words){ nothing, NULL, 1 });
	else
		judge_plain(&j, command, text);
	take(r, &answer);
}

/* Wherever it may stand: the worst answer holds. */
static void judge_everywhere(struct reading *r, const struct shell_command *command, const struct folders *folders)
{
	const size_t steps = 256 + 16 * command->nr_words;

	judge_assignments(r, command);
	for (unsigned i = 0; i < folders->nr && judge_step(r->j, steps); i++)
		judge_command(r, command, folders->path[i], false);
	if (folders->lost && judge_step(r->j, steps))
		judge_command(r, command, "/", true);
}

/* ---- what the shell itself evaluates ---- */

static void judge_evaluation(const struct reading *r, const struct shell_evaluation *evaluation)
{
	const struct shell_command *command = evaluation->command;
	struct decision answer = { .verdict = VERDICT_REVIEW, .rule = "exec.evaluates", .origin = CODE_ORIGIN, .hint = "use literal numbers and names in arithmetic and tests" };
	bool is_enable = command && command->nr_words && word_is(command->words[0], "enable");

	switch (evaluation->what) {
	case SHELL_EVALUATES_ARITHMETIC:
	case SHELL_EVALUATES_NAME:
		if (r->hides_code) {
			refuse(r, "incomplete_evidence", (struct ruling){ "exec.evaluates", CODE_RULE, OWN_CALL }, "The value of a variable is evaluated, and one holds a command");
			return;
		}
		break;
	case SHELL_EVALUATES_FILE:	/* the rule about source judges it */
		return;
	case SHELL_EVALUATES_REMAP:
		if (is_enable)
			break;
		refuse(r, "incomplete_evidence", (struct ruling){ "exec.remaps", CODE_RULE, "call each program by its own name, without aliases, functions of that name or hash -p" }, "A name comes to mean another program");
		return;
	case SHELL_EVALUATES_PLUGIN:
		refuse(r, "policy_block", (struct ruling){ "exec.plugin", CODE_RULE, "use the builtins that the shell has" }, "The shell would load native code");
		return;
	default:
		refuse(r, "incomplete_evidence", (struct ruling){ "exec.evaluates", CODE_RULE, OWN_CALL }, "Text that is not known before it runs would be run");
		return;
	}
	memcpy(answer.reason, "The value of a variable is evaluated.", sizeof("The value of a variable is evaluated."));
	if (r->j->subject->mode == MODE_READONLY)
		refuse(r, "policy_block", (struct ruling){ "exec.evaluates", CODE_RULE, OWN_CALL }, "The value of a variable is evaluated");
	else
		take(r, &answer);
}

/* ---- the text ---- */

/* cd, modes and options of the shell make a place for the one command that counts. */
static bool sets_the_scene(const struct shell_command *command)
{
	static const char *const words[] = { "cd", "set", "shopt", "true", ":", "umask", "export", "chmod" };
	size_t i;

	if (command->kind != SHELL_SIMPLE || !command->nr_words)
		return true;
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (word_is(command->words[0], words[i]))
			return true;
	return false;
}

/* A text that is no more than one shell with a text, each word spelled out, is one more wrapping. */
static bool is_wrapping(const struct judging *j, const struct shell_script *script)
{
	const struct shell_command *command = script->nr_commands == 1 ? script->commands[0] : NULL;
	struct judged_words words;

	return j->wrapped && command && !script->evaluations && !script->functions && command->kind == SHELL_SIMPLE && command->nr_words && !command->assignments &&
	       !command->redirections && !(command->context & SHELL_IN_BACKGROUND) && words_of_shell(j, command->words, command->nr_words, &words) &&
	       judge_wrapped(j, (struct words){ words.text, words.flags, words.nr });
}

static void judge_script(const struct judging *j, const char *text, enum shell_dialect dialect)
{
	struct reading r = { .j = j };
	struct shell_problem problem;
	struct shell_script script;
	const struct shell_evaluation *evaluation;
	const struct folders **folders;
	size_t i;

	if (!j->subject->arena || j->depth >= JUDGE_DEPTH_MAX) {
		answer_deny(j, "incomplete_evidence", (struct ruling){ "exec.depth", CODE_RULE, "issue the innermost command as its own exec_command call" }, "The command text is nested too deeply to be read.");
		return;
	}
	if (!judge_step(j, strlen(text))) {
		answer_too_much(j);
		return;
	}
	if (shell_read(bytes_of(text), dialect, SHELL_LIMITS, j->subject->arena, &script, &problem) < 0) {
		answer_deny(j, "incomplete_evidence", (struct ruling){ "exec.shell_syntax", CODE_RULE, "write it in plain shell: simple commands, literal words, closed quotes, less than 64 KiB" },
			    "The command text cannot be read at byte %zu: %s.", problem.offset, problem.sentence);
		return;
	}
	if (is_wrapping(j, &script))
		return;
	r.script = &script;
	folders = folders_of_script(j, &script, j->action->cwd ? j->action->cwd : "/", j->lost);
	if (!folders) {
		answer_deny(j, "incomplete_evidence", (struct ruling){ "exec.size", CODE_RULE, "split the command into several" }, "The command text needs more room than there is.");
		return;
	}
	for (i = 0; i < script.nr_commands; i++)
		r.nr_others += !sets_the_scene(script.commands[i]);
	answer_allow(j, (struct ruling){ "exec.text", CODE_RULE, NULL }, "Every command of the text is allowed.");
	if (!script.nr_commands) {
		answer_deny(j, "invalid_request", (struct ruling){ "exec.no_name", CODE_RULE, "give a command that names a program" }, "The command has no program name.");
		return;
	}
	if (j->subject->mode == MODE_READONLY && script.nr_commands > 1)
		refuse(&r, "policy_block", (struct ruling){ "exec.readonly_one", CODE_RULE, "issue one plain command at a time, without pipes, lists or substitutions" }, "The text holds more than one command, and the mode is readonly");
	for (i = 0; i < script.nr_commands; i++)
		judge_everywhere(&r, script.commands[i], folders[i]);
	for (evaluation = script.evaluations; evaluation; evaluation = evaluation->next)
		judge_evaluation(&r, evaluation);
}

void judge_text(const struct judging *j, const char *text)
{
	judge_script(j, text, SHELL_BASH);
}
