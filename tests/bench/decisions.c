/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long one decision takes: the judge in-process, and beside it the least that anything which looks at a command line does: taking it apart into
 * words as POSIX quoting has it (a shlex in C), deciding nothing. And how long texts of 64 KiB take that are made to be slow (tests/long_texts.h).
 *
 * usage: decisions POLICY ROUNDS FILE   (FILE: a command line after another, each ended by a NUL)
 * Prints one JSON object. Of each line the median over the rounds counts; median and p99 are those of the lines.
 */
#include "supervisor/analyze/shell.h"
#include "supervisor/base/io.h"
#include "supervisor/judge/judge.h"
#include "tests/long_texts.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct bench {
	const struct policy *policy;
	struct judge_subject subject;
	struct arena arena;
	char words[70000];
	unsigned long verdicts[3];
};

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Blanks separate, quotes and backslashes keep together; the words are copied out. Returns how many. */
static size_t split(struct bench *b, const char *line)
{
	size_t nr = 0, used = 0;
	char quote = '\0';
	bool inside = false;

	for (; *line && used + 2 < sizeof(b->words); line++) {
		if (quote) {
			if (*line == quote)
				quote = '\0';
			else
				b->words[used++] = *line == '\\' && quote == '"' && line[1] ? *++line : *line;
		} else if (strchr(" \t\n", *line)) {
			if (inside)
				b->words[used++] = '\0';
			inside = false;
		} else {
			nr += !inside;
			inside = true;
			if (*line == '\'' || *line == '"')
				quote = *line;
			else
				b->words[used++] = *line == '\\' && line[1] ? *++line : *line;
		}
	}
	b->words[used] = '\0';
	return nr;
}

static size_t decide(struct bench *b, const char *line)
{
	const char *argv[] = { line, NULL };
	const struct action action = { .kind = ACTION_EXEC, .argv = argv, .shell_text = true, .cwd = "/workspace", .unresolved = true };
	struct decision d;

	b->arena.used_bytes = 0;
	judge(b->policy, &b->subject, &action, &d);
	b->verdicts[d.verdict]++;
	return d.verdict;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(struct bench *b, const char *name, size_t (*step)(struct bench *b, const char *line), const char **lines, size_t nr, unsigned rounds,
		    clockid_t clock)
{
	uint32_t *samples = calloc(nr * rounds, sizeof(*samples)), *medians = calloc(nr, sizeof(*medians)),
		 *sorted = calloc(nr, sizeof(*sorted));
	volatile size_t sink = 0;
	uint64_t all = 0;
	unsigned round;
	size_t i, worst = 0;

	for (i = 0; i < nr; i++)	/* warm */
		sink += step(b, lines[i]);
	memset(b->verdicts, 0, sizeof(b->verdicts));
	for (round = 0; round < rounds; round++)
		for (i = 0; i < nr; i++) {
			uint64_t begun = now_ns(clock);

			sink += step(b, lines[i]);
			samples[i * rounds + round] = (uint32_t)(now_ns(clock) - begun);
		}
	for (i = 0; i < nr; i++) {
		qsort(samples + i * rounds, rounds, sizeof(*samples), compare);
		medians[i] = samples[i * rounds + rounds / 2];
		all += medians[i];
	}
	for (i = 0; i < nr; i++)
		worst = medians[i] > medians[worst] ? i : worst;
	memcpy(sorted, medians, nr * sizeof(*medians));
	qsort(sorted, nr, sizeof(*sorted), compare);
	printf("\"%s\":{\"median_us\":%.3f,\"p99_us\":%.3f,\"max_us\":%.3f,\"worst\":%zu,\"per_second\":%.0f}", name, sorted[nr / 2] / 1e3,
	       sorted[nr * 99 / 100] / 1e3, sorted[nr - 1] / 1e3, worst, (double)nr * 1e9 / (double)all);
	free(sorted);
	free(samples);
	free(medians);
}

static void measure_long(struct bench *b, unsigned rounds)
{
	char *texts[LONG_TEXTS];
	const char *lines[LONG_TEXTS];
	size_t i;

	for (i = 0; i < LONG_TEXTS; i++)
		lines[i] = texts[i] = long_text_make(&long_texts[i], LONG_TEXT_BYTES);
	/* of milliseconds each: other programs' turns fall into it, which the thread's own clock does not see */
	measure(b, "long", decide, lines, LONG_TEXTS, rounds, CLOCK_THREAD_CPUTIME_ID);
	fputs(",\"long_names\":[", stdout);
	for (i = 0; i < LONG_TEXTS; i++) {
		printf("%s\"%s\"", i ? "," : "", long_texts[i].name);
		free(texts[i]);
	}
	putchar(']');
}

int main(int argc, char **argv)
{
	static struct bench b;
	struct scope scope;
	struct policy *policy;
	struct buf text = { 0 };
	const char **lines;
	struct err e;
	size_t nr = 0, i;
	unsigned rounds = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	int fd = argc == 4 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;

	if (!rounds || fd < 0 || io_read_all(fd, 64u << 20, &text) < 0 || policy_load(argv[1], &policy, &e) < 0 ||
	    scope_parse("target.test, 127.0.0.1, localhost", &scope, &e) < 0) {
		fprintf(stderr, "usage: decisions POLICY ROUNDS FILE\n");
		return 2;
	}
	close(fd);
	lines = calloc(text.len + 1, sizeof(*lines));
	for (i = 0; i < text.len; i += strlen(text.data + i) + 1)
		lines[nr++] = text.data + i;
	b.policy = policy;
	b.arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
	b.subject = (struct judge_subject){ .mode = MODE_GUARDED, .home = "/home/agent", .scope = &scope, .arena = &b.arena };
	printf("{\"lines\":%zu,\"rounds\":%u,", nr, rounds);
	measure(&b, "floor", split, lines, nr, rounds, CLOCK_MONOTONIC);
	putchar(',');
	measure(&b, "judge", decide, lines, nr, rounds, CLOCK_MONOTONIC);
	printf(",\"verdicts\":{\"allow\":%lu,\"review\":%lu,\"deny\":%lu},", b.verdicts[VERDICT_ALLOW] / rounds, b.verdicts[VERDICT_REVIEW] / rounds,
	       b.verdicts[VERDICT_DENY] / rounds);
	measure_long(&b, rounds < 5 ? rounds : 5);
	puts("}");
	free(lines);
	free(b.arena.data);
	scope_free(&scope);
	policy_free(policy);
	buf_free(&text);
	return fflush(stdout) != 0;
}
