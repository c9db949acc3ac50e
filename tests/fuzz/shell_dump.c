/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shell reader finds, for the scripts that compare it with real shells.
 *
 * stdin: any number of "DIALECT BYTES\n" and so many bytes of text (DIALECT: bash or posix). stdout: one JSON object a line:
 * {"problem":SENTENCE,"offset":N} or {"unknown":N,"commands":[[WORD,…],…]}; unknown counts what only runs will tell (dynamic command
 * words, evaluations). WORD is a string (its bytes as code points), null for one argument known at run time, 0 for any number.
 * Shells called with a static text are followed as a caller of the reader would. With "TEXT" as the only argument: that, in bash.
 */
#include "supervisor/analyze/shell.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define FOLLOW_DEPTH 8

static struct arena arena;
static unsigned unknown;
static bool comma;

static void put_string(struct bytes b)
{
	size_t i;

	putchar('"');
	for (i = 0; i < b.len; i++) {
		unsigned char c = (unsigned char)b.data[i];

		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_word(const struct shell_word *word)
{
	if (!word->why)
		put_string(word->value);
	else
		fputs(word->single ? "null" : "0", stdout);
}

static bool dump(struct bytes text, enum shell_dialect dialect, int depth);

static bool follow_stdin(const struct shell_command *c, enum shell_dialect dialect, int depth)
{
	struct shell_source source = shell_stdin_source(c);
	const struct shell_redirection *redirection = source.redirection;

	if (source.from == SHELL_STDIN_REDIRECTED && redirection->op == SHELL_HERE_DOCUMENT && !redirection->body->why)
		return dump(redirection->body->value, dialect, depth + 1);
	if (source.from == SHELL_STDIN_REDIRECTED && redirection->op == SHELL_HERE_STRING && !redirection->target->why)
		return dump(redirection->target->value, dialect, depth + 1);
	unknown++;
	return true;
}

static bool follow(const struct shell_command *c, size_t program, int depth)
{
	struct shell_invocation invocation;
	enum shell_dialect dialect;

	if (!shell_is_program(c->words[program]->value, &dialect))
		return true;
	shell_read_invocation(c->words + program, c->nr_words - program, &invocation);
	switch (invocation.reads) {
	case SHELL_READS_NOTHING:
		return true;
	case SHELL_READS_TEXT:
		if (!c->words[program + invocation.index]->why && depth < FOLLOW_DEPTH)
			return dump(c->words[program + invocation.index]->value, invocation.dialect, depth + 1);
		break;
	case SHELL_READS_STDIN:
		if (depth < FOLLOW_DEPTH)
			return follow_stdin(c, invocation.dialect, depth);
		break;
	default:
		break;
	}
	unknown++;
	return true;
}

static void put_command(const struct shell_command *c, size_t program)
{
	size_t i;

	fputs(comma ? ",[" : "[", stdout);
	comma = true;
	for (i = program; i < c->nr_words; i++) {
		if (i > program)
			putchar(',');
		if (i == program && program > 1 && bytes_equal(c->words[0]->value, bytes_of("exec")))
			fputs("null", stdout);	/* exec -a, -l: another name */
		else
			put_word(c->words[i]);
	}
	putchar(']');
}

/* False with the problem printed. */
static bool dump(struct bytes text, enum shell_dialect dialect, int depth)
{
	struct shell_problem problem;
	struct shell_script script;
	const struct shell_evaluation *e;
	size_t i;

	if (shell_read(text, dialect, SHELL_LIMITS, &arena, &script, &problem) < 0) {
		fputs("],\"problem\":", stdout);
		put_string(bytes_of(problem.sentence));
		printf(",\"offset\":%zu", problem.offset);
		return false;
	}
	for (e = script.evaluations; e; e = e->next)
		unknown++;
	for (i = 0; i < script.nr_commands; i++) {
		const struct shell_command *c = script.commands[i];
		bool opaque;
		size_t program = c->kind == SHELL_SIMPLE ? shell_program_index(c, &opaque) : 0;

		if (c->kind != SHELL_SIMPLE || program >= c->nr_words)
			continue;
		put_command(c, program);
		if (opaque || c->words[program]->why)
			unknown++;
		else if (!follow(c, program, depth))
			return false;
	}
	return true;
}

static void dump_text(struct bytes text, enum shell_dialect dialect)
{
	struct timespec from, to;

	unknown = 0;
	comma = false;
	arena.used_bytes = 0;
	clock_gettime(CLOCK_MONOTONIC, &from);
	fputs("{\"commands\":[", stdout);
	if (dump(text, dialect, 0))
		putchar(']');
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf(",\"unknown\":%u,\"us\":%.1f}\n", unknown,
	       (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3);
}

int main(int argc, char **argv)
{
	char dialect[8];
	size_t len;

	arena.len_bytes = SHELL_ARENA_BYTES;
	arena.data = mmap(NULL, arena.len_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (arena.data == MAP_FAILED)
		return 1;
	if (argc > 1) {
		dump_text(bytes_of(argv[1]), SHELL_BASH);
		return 0;
	}
	while (scanf("%7s %zu", dialect, &len) == 2 && getchar() == '\n') {
		char *text = malloc(len + 1);

		if (!text || fread(text, 1, len, stdin) != len)
			return 1;
		dump_text((struct bytes){ text, len }, strcmp(dialect, "bash") == 0 ? SHELL_BASH : SHELL_POSIX);
		fflush(stdout);
		free(text);
	}
	return 0;
}
