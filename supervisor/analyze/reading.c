/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of a reading: problems, limits, memory, the entries of the answer, nested texts. No grammar here.
 *
 * Time is linear in the text: every byte is read once per level of nesting at most, and levels are limited.
 */
#include "supervisor/analyze/reading.h"

#include <stddef.h>

#define ENTRY_OF(pointer) ((struct sh_entry *)(void *)((char *)(pointer) - offsetof(struct sh_entry, command)))

static int fail(struct sh_reader *r, size_t at, const char *sentence, int number)
{
	struct sh_answer *a = r->answer;

	if (!a->failed)
		a->problem = (struct shell_problem){ sh_offset(r, at), sentence };
	a->failed = true;
	return number;
}

int sh_problem(struct sh_reader *r, size_t at, const char *sentence)
{
	return fail(r, at, sentence, -EBADMSG);
}

int sh_too_much(struct sh_reader *r, size_t at, const char *sentence)
{
	return fail(r, at, sentence, -E2BIG);
}

void *sh_take(struct sh_reader *r, size_t bytes)
{
	void *taken = arena_take(r->answer->arena, bytes);

	if (!taken)
		fail(r, r->at, "the text needs more memory than the reader has", -ENOMEM);
	return taken;
}

int sh_enter(struct sh_reader *r)
{
	if (r->answer->depth >= r->answer->limits.depth)
		return sh_too_much(r, r->at, "constructs are nested too deeply");
	r->answer->depth++;
	return 0;
}

#define WORK_FACTOR 32

int sh_work(struct sh_reader *r, size_t bytes)
{
	struct sh_answer *a = r->answer;

	a->work_bytes += bytes + 1;
	if (a->work_bytes > a->limits.text_bytes * WORK_FACTOR)
		return sh_too_much(r, r->at, "it has to be read over too many times");
	return 0;
}

bool sh_bytes_name(struct bytes b)
{
	size_t i;

	if (b.len == 0 || !sh_is_name_start((unsigned char)b.data[0]))
		return false;
	for (i = 1; i < b.len; i++)
		if (!sh_is_name((unsigned char)b.data[i]))
			return false;
	return true;
}

bool sh_bytes_digits(struct bytes b)
{
	size_t i;

	for (i = 0; i < b.len; i++)
		if (!sh_is_digit((unsigned char)b.data[i]))
			return false;
	return b.len > 0;
}

static struct shell_assignment **assignments_end(struct shell_command *command)
{
	return command ? ENTRY_OF(command)->assignments_tail : NULL;
}

struct sh_mark sh_mark(struct sh_reader *r)
{
	const struct sh_answer *a = r->answer;

	return (struct sh_mark){ r->at, a->arena->used_bytes, r->scratch_used, a->nr_commands, a->tail, a->functions_tail,
				 a->evaluations_tail, r->pending_tail, assignments_end(r->command) };
}

void sh_return(struct sh_reader *r, const struct sh_mark *mark)
{
	struct sh_answer *a = r->answer;

	r->at = mark->at;
	r->scratch_used = mark->scratch_used;
	a->arena->used_bytes = mark->arena_used;
	a->nr_commands = mark->nr_commands;
	*(a->tail = mark->tail) = NULL;
	*(a->functions_tail = mark->functions_tail) = NULL;
	*(a->evaluations_tail = mark->evaluations_tail) = NULL;
	*(r->pending_tail = mark->pending_tail) = NULL;
	if (mark->assignments_tail)
		*(ENTRY_OF(r->command)->assignments_tail = mark->assignments_tail) = NULL;
}

int sh_command(struct sh_reader *r, enum shell_kind kind, size_t at, struct shell_command **ret_command)
{
	struct sh_answer *a = r->answer;
	struct sh_entry *entry;

	if (a->nr_commands >= a->limits.commands)
		return sh_too_much(r, at, "it holds too many commands");
	entry = sh_take(r, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->assignments_tail = &entry->command.assignments;
	entry->command = (struct shell_command){
		.kind = kind, .index = (unsigned)a->nr_commands, .offset = sh_offset(r, at), .parent = r->parent,
		.relation = r->relation, .context = r->context, .joint = r->joint, .function = r->function,
	};
	r->joint = SHELL_AFTER_ALL;
	a->nr_commands++;
	*a->tail = entry;
	a->tail = &entry->next;
	*ret_command = &entry->command;
	return 0;
}

int sh_evaluation(struct sh_reader *r, enum shell_evaluates what, size_t at, struct bytes source, struct shell_word *word)
{
	struct shell_evaluation *e = sh_take(r, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct shell_evaluation){ NULL, what, sh_offset(r, at), source, word, r->command };
	*r->answer->evaluations_tail = e;
	r->answer->evaluations_tail = &e->next;
	return 0;
}

int sh_assignment(struct sh_reader *r, enum shell_assigner by, size_t at, struct bytes name, struct shell_assignment **ret_assignment)
{
	struct shell_assignment *assignment = sh_take(r, sizeof(*assignment));
	struct sh_entry *entry = ENTRY_OF(r->command);

	if (!assignment)
		return -ENOMEM;
	assignment->by = by;
	assignment->command = r->command;
	assignment->offset = sh_offset(r, at);
	assignment->name = name;
	*entry->assignments_tail = assignment;
	entry->assignments_tail = &assignment->next;
	*ret_assignment = assignment;
	return sh_special_name(r, at, name, by == SHELL_ASSIGN_PREFIX || by == SHELL_ASSIGN_DECLARED);
}

struct sh_scope sh_scope(const struct sh_reader *r)
{
	return (struct sh_scope){ r->parent, r->command, r->relation, r->context, r->function };
}

void sh_scope_return(struct sh_reader *r, const struct sh_scope *scope)
{
	r->parent = scope->parent;
	r->command = scope->command;
	r->relation = scope->relation;
	r->context = scope->context;
	r->function = scope->function;
}

void sh_scope_enter(struct sh_reader *r, struct shell_command *parent, enum shell_relation relation, unsigned context)
{
	r->parent = parent;
	r->relation = relation;
	r->context |= context;
}

/* Working memory for a text: as long as the text, so that no word can overflow it, and a bit per byte. */
static int prepare(struct sh_reader *r)
{
	r->pending_tail = &r->pending;
	r->scratch = sh_take(r, r->len + 1);
	r->not_arithmetic = sh_take(r, r->len / 8 + 1);
	return r->scratch && r->not_arithmetic ? 0 : -ENOMEM;
}

/* Bytes bash uses inside itself: it may drop or double them, so that what it reads is not what stands here. */
static int refuse_bytes(struct sh_reader *r)
{
	size_t i;

	for (i = 0; i < r->len; i++)
		if (r->text[i] == '\0' || r->text[i] == '\1' || r->text[i] == '\177')
			return sh_problem(r, i, "it holds a NUL, 0x01 or 0x7f byte");
	return 0;
}

int sh_nested(struct sh_reader *r, struct bytes text, size_t origin, bool copied, int (*read)(struct sh_reader *nested))
{
	struct sh_reader nested = {
		.answer = r->answer, .dialect = r->dialect, .text = text.data, .len = text.len, .origin = origin,
		.copied = copied || r->copied, .parent = r->parent, .relation = r->relation, .context = r->context,
		.function = r->function, .command = r->command,
	};

	TRY(sh_enter(r));
	TRY(sh_work(r, text.len));
	TRY(prepare(&nested));
	TRY(refuse_bytes(&nested));
	TRY(read(&nested));
	r->result = nested.result;
	sh_leave(r);
	return 0;
}

int sh_whole_text(struct sh_reader *r)
{
	TRY(sh_list(r, NULL));
	if (r->at < r->len)
		return sh_problem(r, r->at, "a word or operator ends something that was not begun");
	if (r->pending)
		return sh_problem(r, r->at, "a here-document has no body");
	return 0;
}

/* Which function a simple command's name means: the last of that name defined before it, else any of that name. */
static void resolve_call(const struct sh_answer *a, struct shell_command *command)
{
	struct shell_function *f;
	const struct shell_command *d;

	for (f = a->functions; f; f = f->next)
		if (bytes_equal(f->name, command->words[0]->value) && (!command->calls || f->definition->index < command->index))
			command->calls = f;
	if (!command->calls)
		return;
	d = command->calls->definition;
	/* Certain only where nothing could keep the definition from having happened, in this very shell. */
	command->calls_certain = d->index < command->index && d->context == 0 && d->relation == SHELL_TOP && !a->unsets_functions &&
				 !(command->context & SHELL_IN_EVALUATION) && !d->pipe_from && !d->pipe_to;
}

#define FUNCTIONS_MAX 256

static int finish(struct sh_reader *r, struct shell_script *ret_script)
{
	struct sh_answer *a = r->answer;
	struct sh_entry *entry;
	struct shell_command **commands = sh_take(r, (a->nr_commands + 1) * sizeof(struct shell_command *));
	struct shell_function *f;
	size_t i = 0, functions = 0;

	if (!commands)
		return -ENOMEM;
	for (f = a->functions; f; f = f->next)
		if (++functions > FUNCTIONS_MAX)
			return sh_too_much(r, 0, "it defines more than 256 functions");
	for (entry = a->first; entry; entry = entry->next) {
		commands[i++] = &entry->command;
		if (functions && entry->command.nr_words && !(entry->command.words[0]->why & ~SHELL_PATTERNS))
			resolve_call(a, &entry->command);
	}
	TRY(sh_array_declarations(r));
	*ret_script = (struct shell_script){ commands, a->nr_commands, a->functions, a->evaluations };
	return 0;
}

static int read_all(struct sh_reader *r, struct shell_script *ret_script)
{
	if (r->dialect != SHELL_BASH && r->dialect != SHELL_POSIX)
		return sh_problem(r, 0, "this shell's grammar is not modelled");
	if (r->len > r->answer->limits.text_bytes)
		return sh_too_much(r, r->answer->limits.text_bytes, "it is longer than the reader takes");
	TRY(prepare(r));
	TRY(refuse_bytes(r));
	TRY(sh_whole_text(r));
	return finish(r, ret_script);
}

int shell_read(struct bytes text, enum shell_dialect dialect, struct shell_limits limits, struct arena *arena,
	       struct shell_script *ret_script, struct shell_problem *ret_problem)
{
	struct sh_answer answer = { .arena = arena, .limits = limits };
	struct sh_reader reader = { .answer = &answer, .dialect = dialect, .text = text.data, .len = text.len };
	int result;

	answer.tail = &answer.first;
	answer.functions_tail = &answer.functions;
	answer.evaluations_tail = &answer.evaluations;
	result = read_all(&reader, ret_script);
	if (result < 0)
		*ret_problem = answer.problem;
	return result;
}

struct shell_source shell_stdin_source(const struct shell_command *command)
{
	bool expansion = false;		/* a substitution runs before its command's redirections */

	for (;; command = command->parent) {
		enum shell_stdin from = command->stdin_from;

		if (expansion && from == SHELL_STDIN_REDIRECTED)
			from = command->pipe_from ? SHELL_STDIN_PIPE : SHELL_STDIN_INHERITED;
		if (from != SHELL_STDIN_INHERITED || !command->parent)
			return (struct shell_source){ from, from == SHELL_STDIN_REDIRECTED ? command->stdin_redirection : NULL,
						      from == SHELL_STDIN_PIPE ? command->pipe_from : NULL, command };
		expansion = command->relation == SHELL_CAPTURED || command->relation == SHELL_READ_FROM ||
			    command->relation == SHELL_WRITTEN_TO;
	}
}
