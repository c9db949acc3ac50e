/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which folders the commands of a text may stand: a table, and real bash as the oracle. There each "p N" of a text made by chance prints where it stands,
 * which must be one of the places found for it.
 */
#include "supervisor/judge/folders.h"

#include "supervisor/analyze/arena.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct arena arena;
static char base[PATH_MAX];

static int set_up(void **state)
{
	(void)state;
	arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
	snprintf(base, sizeof(base), "%s/cordon-folders-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return arena.data && mkdtemp(base) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(arena.data);
	return rmdir(base);
}

static const struct folders **find(const char *text, const char *cwd, struct shell_script *ret_script)
{
	const struct judge_subject subject = { .home = "/home/agent", .arena = &arena };
	size_t steps = 0;
	const struct judging j = { .subject = &subject, .steps = &steps };
	struct shell_problem problem;
	const struct folders **folders;

	arena.used_bytes = 0;
	if (shell_read((struct bytes){ text, strlen(text) }, SHELL_BASH, SHELL_LIMITS, &arena, ret_script, &problem) < 0)
		fail_msg("%s: %s at %zu", text, problem.sentence, problem.offset);
	folders = folders_of_script(&j, ret_script, cwd, false);
	assert_non_null(folders);
	return folders;
}

/* The command "p N", or NULL. */
static const struct shell_command *find_print(const struct shell_script *script, const char *number)
{
	for (size_t i = 0; i < script->nr_commands; i++) {
		const struct shell_command *c = script->commands[i];

		if (c->nr_words == 2 && bytes_equal(c->words[0]->value, bytes_of("p")) && bytes_equal(c->words[1]->value, bytes_of(number)))
			return c;
	}
	return NULL;
}

/* "/a /b ?" */
static void describe(const struct folders *set, char *text, size_t bytes)
{
	*text = '\0';
	for (unsigned i = 0; i < set->nr; i++)
		snprintf(text + strlen(text), bytes - strlen(text), "%s%s", i ? " " : "", set->path[i]);
	if (set->lost)
		snprintf(text + strlen(text), bytes - strlen(text), "%s?", set->nr ? " " : "");
}

static void the_places_of_p_0(void **state)
{
	static const struct {
		const char *text, *places;	/* from /w */
	} table[] = {
		{ "p 0", "/w" },
		{ "cd a && p 0", "/w/a" },
		{ "cd a; p 0", "/w/a /w" },
		{ "cd a\np 0", "/w/a /w" },
		{ "cd a || p 0", "/w" },
		{ "cd a || exit; p 0", "/w/a" },
		{ "cd a || exit 1; p 0", "/w/a" },
		{ "cd a || { p 1; exit 1; }; p 0", "/w/a" },
		{ "cd a || exit 1 2; p 0", "/w/a /w" },
		{ "cd a || exit >/nowhere/x; p 0", "/w/a /w" },
		{ "cd a || (exit); p 0", "/w/a /w" },
		{ "cd a && cd b && p 0", "/w/a/b" },
		{ "cd a && p 1; p 0", "/w /w/a" },
		{ "p 1 && cd a && p 0", "/w/a" },
		{ "p 1 || cd a && p 0", "/w /w/a" },
		{ "(cd a && p 0)", "/w/a" },
		{ "(cd a && p 1) && p 0", "/w" },
		{ "(cd a && p 1) && (cd b && p 0)", "/w/b" },
		{ "{ cd a && p 1; } && p 0", "/w/a" },
		{ "cd a & p 0", "/w /w/a" },
		{ "cd a | p 0", "/w" },
		{ "cd a | p 1; p 0", "/w" },
		{ "! cd a && p 0", "/w /w/a" },
		{ "p $(cd a && p 0)", "/w/a" },
		{ "p $(cd a) && p 0", "/w" },
		{ "if cd a; then p 0; fi", "/w/a /w" },
		{ "if p 1; then cd a; fi; p 0", "/w/a /w" },
		{ "f() { p 0; }; cd a && f", "/w /w/a ?" },
		{ "f() { cd a; }; f; p 0", "/w ?" },
		{ "while p 1; do p 0; cd a; done", "/w /w/a ?" },
		{ "for x in 1 2; do p 0; done; cd a", "/w" },
		{ "trap 'p 0' EXIT; cd a", "/w /w/a ?" },
		{ "eval 'cd a' && p 0", "/w/a /w" },
		{ "cd && p 0", "/home/agent" },
		{ "cd ~ && p 0", "/home/agent" },
		{ "cd ~/x && p 0", "/home/agent/x" },
		{ "cd -- a && p 0", "/w/a" },
		{ "cd -P a && p 0", "/w/a" },
		{ "cd - && p 0", "/w ?" },
		{ "cd /a && cd /b && cd - && p 0", "/a /b ?" },
		{ "cd \"$x\" && p 0", "/w ?" },
		{ "cd \"$x\" && cd /b && p 0", "/b" },
		{ "cd a b && p 0", "/w ?" },
		{ "pushd a && p 0", "/w/a" },
		{ "pushd && p 0", "/w ?" },
		{ "popd && p 0", "/w ?" },
		{ "command cd a && p 0", "/w/a" },
		{ "builtin cd a && p 0", "/w/a" },
		{ "shopt -s cdable_vars; p 1; p 0", "/w ?" },
		{ "cd .. && p 0", "/" },
		{ "cd 1; cd 2; cd 3; p 0", "/w/1/2/3 /w/2/3 /w/1/3 /w/3 ?" },
		{ "cat <<E && p 0\n$(cd a && p 1)\nE", "/w" },
		{ "cd a && cat <<E\n$(p 0)\nE", "/w/a" },
	};
	char found[512];
	struct shell_script script;

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct folders **folders = find(table[i].text, "/w", &script);
		const struct shell_command *print = find_print(&script, "0");

		assert_non_null(print);
		describe(folders[print->index], found, sizeof(found));
		if (strcmp(found, table[i].places) != 0)
			fail_msg("%s: %s, not %s", table[i].text, found, table[i].places);
	}
}

/* ---- real bash ---- */

static unsigned chance_state;
static char text[4096];
static unsigned nr_prints;

static unsigned chance(unsigned below)
{
	chance_state = chance_state * 1103515245 + 12345;
	return (chance_state >> 16) % below;
}

static void say(const char *part)
{
	assert_true(strlen(text) + strlen(part) < sizeof(text));
	strcat(text, part);
}

static void make_list(unsigned depth);

static void make_command(unsigned depth)
{
	static const char *const moves[] = { "cd a", "cd ..", "cd nowhere 2>&-", "cd b", "cd -P a", "cd \"$PWD/a\"", "pushd a >&-", "exit", "true", "false" };
	char print[32];

	switch (chance(depth ? 13 : 6)) {
	case 0: case 1: case 2:
		say(moves[chance(sizeof(moves) / sizeof(moves[0]))]);
		return;
	case 6:
		say("( ");
		make_list(depth - 1);
		say(")");
		return;
	case 7:
		say("{ ");
		make_list(depth - 1);
		say("; }");
		return;
	case 8:
		say("if ");
		make_list(depth - 1);
		say("; then ");
		make_list(depth - 1);
		say("; else ");
		make_list(depth - 1);
		say("; fi");
		return;
	case 9:
		say("for i in 1 2; do ");
		make_list(depth - 1);
		say("; done");
		return;
	case 10:
		say("echo $( ");
		make_list(depth - 1);
		say(")");
		return;
	case 11:
		say("eval '");
		make_list(0);
		say("'");
		return;
	case 12:
		make_command(depth - 1);
		say(" | ");
		make_command(depth - 1);
		return;
	default:
		snprintf(print, sizeof(print), "p %u", nr_prints++);
		say(print);
		return;
	}
}

static void make_list(unsigned depth)
{
	static const char *const joints[] = { " && ", " && ", " || ", "; ", "; ", " & " };

	for (unsigned more = chance(4) + 1; more; more--) {
		if (chance(8) == 0)
			say("! ");
		make_command(depth);
		if (more > 1)
			say(joints[chance(sizeof(joints) / sizeof(joints[0]))]);
	}
}

/* Runs text and holds each line "N FOLDER" it printed against what was found. Returns how many there were. */
static unsigned compare(void)
{
	char command[sizeof(text) + 256], line[PATH_MAX + 32], found[4096];
	struct shell_script script;
	const struct folders **folders = find(text, base, &script);
	unsigned nr = 0;
	FILE *out;

	assert_int_equal(setenv("BASE", base, 1), 0);
	assert_int_equal(setenv("TEXT", text, 1), 0);
	snprintf(command, sizeof(command),
		 "cd \"$BASE\" && exec bash --norc -c 'mkdir -p a/a/a b a/b; p() { echo \"@$1 $PWD\" >&9; }; export -f p; bash --norc -c \"$TEXT\" </dev/null >&- 2>&- 9>&9; wait' 9>&1");
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		const struct shell_command *print;
		char *folder = strchr(line, ' ');

		assert_non_null(folder);
		line[strcspn(line, "\n")] = '\0';
		*folder++ = '\0';
		print = find_print(&script, line + 1);
		assert_non_null(print);
		nr++;
		if (folders[print->index]->lost)
			continue;
		describe(folders[print->index], found, sizeof(found));
		for (unsigned i = 0; i < folders[print->index]->nr; i++)
			if (strcmp(folders[print->index]->path[i], folder) == 0)
				folder = NULL, i = FOLDERS_MAX;
		if (folder)
			fail_msg("%s: p %s stood in %s, found %s", text, line + 1, folder, found);
	}
	pclose(out);
	return nr;
}

static void bash_stands_where_it_was_said(void **state)
{
	unsigned nr = 0;

	(void)state;
	chance_state = 7;
	for (unsigned i = 0; i < 200; i++) {
		text[0] = '\0';
		nr_prints = 0;
		make_list(3);
		nr += compare();
	}
	if (system("cd \"$BASE\" && rm -r a b"))
		fail_msg("the folders are not there");
	printf("# %u commands said where they stood\n", nr);
	assert_true(nr > 200);
}

/* Each cd leads one folder further on from every place there is, and may fail: what is remembered stays small. */
static void thousands_of_cds_fit(void **state)
{
	static char many[65536];
	struct shell_script script;
	size_t len = 0;

	(void)state;
	while (len + sizeof("cd a 2>/dev/null;p 0") < sizeof(many))
		len += (size_t)sprintf(many + len, "cd a 2>/dev/null;");
	strcpy(many + len, "p 0");
	assert_true(find(many, "/w", &script)[script.nr_commands - 1]->lost);
	assert_in_range(arena.used_bytes, 0, SHELL_ARENA_BYTES / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_places_of_p_0),
		cmocka_unit_test(thousands_of_cds_fit),
		cmocka_unit_test(bash_stands_where_it_was_said),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
