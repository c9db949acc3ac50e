/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell reader on any bytes: it answers in bounded time within its arena, and what it answers is whole.
 *
 * cmake --preset fuzz && cmake --build --preset fuzz
 * build/fuzz/tests/fuzz/fuzz_shell -dict=tests/fuzz/shell.dict -max_len=4096 -max_total_time=60 -timeout=2
 */
#include "supervisor/analyze/shell.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Every word is inside its memory: reads all of it. */
static size_t sum(struct bytes b)
{
	size_t i, total = 0;

	for (i = 0; i < b.len; i++)
		total += (unsigned char)b.data[i];
	return total;
}

static size_t sum_word(const struct shell_word *word)
{
	const struct shell_part *part;
	size_t total = sum(word->source) + sum(word->value) + sum(word->prefix);

	if (word->why == 0 && word->parts)
		abort();
	for (part = word->parts; part; part = part->next)
		total += sum(part->text);
	return total;
}

static size_t sum_command(const struct shell_command *c)
{
	const struct shell_redirection *redirection;
	const struct shell_assignment *assignment;
	size_t total = 0, i;
	bool opaque;

	if (c->parent && c->parent->index >= c->index)
		abort();
	for (i = 0; i < c->nr_words; i++)
		total += sum_word(c->words[i]);
	for (assignment = c->assignments; assignment; assignment = assignment->next) {
		total += sum(assignment->name) + (assignment->value ? sum_word(assignment->value) : 0);
		for (i = 0; i < assignment->nr_elements; i++)
			total += sum_word(assignment->elements[i]);
	}
	for (redirection = c->redirections; redirection; redirection = redirection->next) {
		if ((redirection->op == SHELL_HERE_DOCUMENT) != (redirection->body != NULL))
			abort();
		total += sum_word(redirection->target ? redirection->target : redirection->body);
	}
	if (c->kind == SHELL_SIMPLE && shell_program_index(c, &opaque) < c->nr_words) {
		struct shell_invocation invocation;

		i = shell_program_index(c, &opaque);
		shell_read_invocation(c->words + i, c->nr_words - i, &invocation);
		if (invocation.reads == SHELL_READS_TEXT)
			total += sum_word(c->words[i + invocation.index]);
	}
	return total + (size_t)shell_stdin_source(c).from;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct arena arena;
	static size_t total;
	struct shell_problem problem = { 0, NULL };
	struct shell_script script;
	const struct shell_evaluation *e;
	size_t i;

	if (len == 0)
		return 0;
	if (!arena.data)
		arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
	/* the first byte chooses the dialect and whether memory is short */
	arena.used_bytes = data[0] & 2 ? SHELL_ARENA_BYTES - 8192 : 0;
	if (shell_read((struct bytes){ (const char *)data + 1, len - 1 }, data[0] & 1 ? SHELL_POSIX : SHELL_BASH, SHELL_LIMITS, &arena, &script,
		       &problem) < 0) {
		if (!problem.sentence || problem.offset > len - 1)
			abort();
		return 0;
	}
	for (i = 0; i < script.nr_commands; i++)
		total += sum_command(script.commands[i]);
	for (e = script.evaluations; e; e = e->next)
		total += sum(e->source) + (e->word ? sum_word(e->word) : 0) + e->command->index;
	__asm__ volatile("" : : "r"(total));	/* nothing of the reading may be left out */
	return 0;
}
