/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon policy test` and `diff`: decision cases, asked of one policy and held against what is wanted, or of two and held against each other. */
#include "supervisor/cli/policy.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"
#include "supervisor/cli/cases.h"
#include "supervisor/cli/question.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct run {
	struct questions sides[2];	/* of test: the first alone */
	bool json, rules;
	unsigned long nr, nr_differ;
};

static void ask(struct questions *q, const struct decision_case *c, struct decision *ret)
{
	const char *words[4];

	memcpy(words, c->words, sizeof(words));
	q->subject.mode = c->mode;
	q->subject.scope = c->scope;
	q->cwd = c->cwd ? c->cwd : q->policy->paths.project;
	questions_ask(q, words, ret);
}

/* ---- what is printed ---- */

static void put_decision(struct json_out *j, const char *key, const struct decision *d)
{
	char place[300];

	snprintf(place, sizeof(place), "%s:%u", d->origin.file, d->origin.line);
	json_object_begin(j, key);
	json_text(j, "verdict", verdict_name(d->verdict));
	json_text(j, "rule", d->rule);
	json_text(j, "origin", place);
	json_text(j, "tag", d->tag);
	json_text(j, "reason", d->reason);
	json_text(j, "hint", d->hint);
	json_object_end(j);
}

static int print_json(const struct decision_case *c, const char *wanted, const struct decision *answers, unsigned nr)
{
	static const char *const of_test[] = { "got" }, *const of_diff[] = { "old", "new" };
	_cleanup_buf_ struct buf line = { 0 };
	struct json_out j = { .buf = &line };
	unsigned i;

	json_object_begin(&j, NULL);
	json_text(&j, "file", c->file);
	json_uint(&j, "line", c->line);
	json_text(&j, "mode", mode_name(c->mode));
	json_text(&j, "kind", c->kind);
	json_text(&j, "action", c->action);
	json_text(&j, "why", c->why);
	json_text(&j, "wanted", wanted);
	for (i = 0; i < nr; i++)
		put_decision(&j, nr == 1 ? of_test[i] : of_diff[i], &answers[i]);
	json_object_end(&j);
	buf_char(&line, '\n');
	return line.failed || fwrite(line.data, 1, line.len, stdout) != line.len ? -EIO : 0;
}

static void print_answer(const char *front, const struct decision *d)
{
	printf("  %s %s: %s (%s, %s:%u%s%s)\n", front, verdict_name(d->verdict), d->reason, d->rule, d->origin.file, d->origin.line, d->tag ? ", " : "",
	       d->tag ? d->tag : "");
}

/* The action stands as in the file, where everything that a terminal would obey is escaped or the author's own. */
static void print_case(const struct decision_case *c)
{
	const char *at;

	printf("%s:%u: %s %s ", c->file, c->line, mode_name(c->mode), c->kind);
	for (at = c->action; *at; at++)
		putchar((unsigned char)*at < 0x20 || *at == 0x7f ? '?' : *at);
	putchar('\n');
}

/* ---- test ---- */

static int test_case(void *context, const struct decision_case *c)
{
	struct run *run = context;
	struct decision got;
	bool good;

	ask(&run->sides[0], c, &got);
	good = case_wants(c, got.verdict);
	run->nr++;
	run->nr_differ += !good;
	if (good)
		return 0;
	if (run->json)
		return print_json(c, c->wanted, &got, 1);
	print_case(c);
	printf("  wanted %s%s%s\n", c->wanted, *c->why ? ": " : "", c->why);
	print_answer("got", &got);
	return 0;
}

/* ---- diff ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static int diff_case(void *context, const struct decision_case *c)
{
	struct run *run = context;
	struct decision answers[2];
	bool same;

	ask(&run->sides[0], c, &answers[0]);
	ask(&run->sides[1], c, &answers[1]);
	same = answers[0].verdict == answers[1].verdict &&
	       (!run->rules || (same_text(answers[0].rule, answers[1].rule) && same_text(answers[0].tag, answers[1].tag)));
	run->nr++;
	run->nr_differ += !same;
	if (same)
		return 0;
	if (run->json)
		return print_json(c, NULL, answers, 2);
	print_case(c);
	print_answer("old", &answers[0]);
	print_answer("new", &answers[1]);
	return 0;
}

/* ---- both ---- */

static int run_files(struct run *run, const char **files, case_taker *take)
{
	struct err e = { 0 };
	int r = 0;

	for (; r == 0 && *files; files++)
		r = cases_read(*files, take, run, &e);
	if (r < 0)
		return *e.text ? policy_fault(&e) : policy_complain("the answer cannot be written");
	if (run->nr == 0)
		return policy_complain("the files hold no case");
	return 0;
}

int policy_test(const struct policy_options *o)
{
	struct run run = { .json = o->json };
	struct err e = { 0 };
	int r = questions_open(&run.sides[0], o->policy_dir, &e) < 0 ? POLICY_USAGE : run_files(&run, o->words, test_case);

	if (r == 0 && !o->json)
		printf("%lu as wanted, %lu not\n", run.nr - run.nr_differ, run.nr_differ);
	questions_close(&run.sides[0]);
	return r ? r : policy_end(run.nr_differ ? POLICY_DIFFERS : 0);
}

int policy_diff(const struct policy_options *o)
{
	struct run run = { .json = o->json, .rules = o->rules };
	struct err e = { 0 };
	int r = 0;
	unsigned i;

	for (i = 0; r == 0 && i < 2; i++)
		r = questions_open(&run.sides[i], o->words[i], &e) < 0 ? POLICY_USAGE : 0;
	if (r == 0)
		r = run_files(&run, o->words + 2, diff_case);
	if (r == 0 && !o->json)
		printf("%lu decided alike, %lu not\n", run.nr - run.nr_differ, run.nr_differ);
	questions_close(&run.sides[0]);
	questions_close(&run.sides[1]);
	return r ? r : policy_end(run.nr_differ ? POLICY_DIFFERS : 0);
}
