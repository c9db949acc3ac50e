/* SPDX-License-Identifier: Apache-2.0 */
/* judge_launch(): what stands around a command is peeled, the answer is that of the bare text, and what it foretells is what it says. */
#include "supervisor/judge/judge.h"

#include "supervisor/analyze/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/shipped_policy.h"

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define UUID "0123456789abcdef0123456789abcdef"
#define PTY "mkdir -p \"$1\" && printf \"%s\" \"$$\" > \"$2\" && shift 2 && exec \"$@\""
#define STAGE "/tmp/sandbox-docker-archive"
#define WRAP "sh", "-lc", PTY, "sh", STAGE, STAGE "/" UUID "_pty.pid"

static const char *const roots[] = { "/workspace", "/tmp", "/home/agent", NULL };
static const char *const environment[] = { "PATH=/usr/bin:/bin", "HOME=/home/agent", NULL };
static char memory[SHELL_ARENA_BYTES];
static char foretold[4096];

static void take(void *context, const char *const *argv, size_t nr, const char *cwd, bool reads)
{
	size_t used = strlen(foretold), i;

	(void)context;
	used += (size_t)snprintf(foretold + used, sizeof(foretold) - used, "%s%s:", reads ? "*" : "", cwd);
	for (i = 0; i < nr; i++)
		used += (size_t)snprintf(foretold + used, sizeof(foretold) - used, "%s%s", i ? " " : "", argv[i]);
	snprintf(foretold + used, sizeof(foretold) - used, "\n");
}

static struct decision ask(enum mode mode, const char *const *argv)
{
	struct arena arena = { .data = memory, .len_bytes = sizeof(memory) };
	const struct foreseen foreseen = { .take = take };
	const struct judge_subject subject = {
		.mode = mode, .home = "/home/agent", .write_roots = roots, .launch_environment = environment, .arena = &arena, .foreseen = &foreseen,
	};
	struct decision d;

	foretold[0] = '\0';
	judge_launch(policy, &subject, argv, "/workspace", &d);
	return d;
}

static void expect(enum mode mode, enum verdict verdict, const char *tag, const char *const *argv)
{
	const struct decision d = ask(mode, argv);

	if (d.verdict != verdict || (tag && (!d.tag || strcmp(d.tag, tag) != 0)))
		fail_msg("%s %s in %s: verdict %d, tag %s: %s", argv[0], argv[1] && argv[2] ? argv[2] : "", mode_name(mode), d.verdict, d.tag ? d.tag : "none", d.reason);
}

static void shells_around_a_text_are_no_part_of_it(void **state)
{
	(void)state;
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS("sh", "-c", "cat f; ls"));
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS("/bin/bash", "-lc", "cat f | head"));
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS("sh", "-lc", "bash -lc 'cat f; ls'"));
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS(WRAP, "bash", "-lc", "cat f; ls"));
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS(WRAP, "cat", "f"));
	expect(MODE_READONLY, VERDICT_ALLOW, NULL, WORDS(WRAP, "bash", "-lc", "cat f"));
	expect(MODE_READONLY, VERDICT_ALLOW, NULL, WORDS("bash", "-c", "cat f"));
	expect(MODE_READONLY, VERDICT_DENY, NULL, WORDS("bash", "-c", "cat f; cat f"));
	/* A shell beside other commands, with settings of its own, from an agent's place, or that reads something else is one. */
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("sh", "-c", "ls; bash -c 'cat f'"));
	expect(MODE_GUARDED, VERDICT_REVIEW, NULL, WORDS("sh", "-c", "bash x.sh"));
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("bash", "-ic", "ls"));
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("bash", "--rcfile", "x", "-c", "ls"));
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("/tmp/bash", "-c", "ls"));
	expect(MODE_GUARDED, VERDICT_DENY, "incomplete_evidence", WORDS("sh", "-c", "\"$@\"", "sh", "rm", "f"));
	expect(MODE_GUARDED, VERDICT_DENY, "incomplete_evidence", WORDS("zsh", "-c", "ls"));
	expect(MODE_GUARDED, VERDICT_DENY, "incomplete_evidence", WORDS("sh"));
	expect(MODE_GUARDED, VERDICT_DENY, "policy_block", WORDS("sh", "-lc", "bash -lc 'rm f'"));
	expect(MODE_GUARDED, VERDICT_DENY, "policy_block", WORDS(WRAP, "rm", "f"));
	/* Whether an agent listens there is asked when it connects. */
	expect(MODE_GUARDED, VERDICT_REVIEW, NULL, WORDS("curl", "-s", "http://127.0.0.1:8000/"));
	expect(MODE_GUARDED, VERDICT_REVIEW, NULL, WORDS("curl", "-s", "http://localhost:8000/"));
	expect(MODE_GUARDED, VERDICT_DENY, "network_guard", WORDS("curl", "-s", "http://10.0.0.1:8000/"));
	expect(MODE_GUARDED, VERDICT_DENY, "network_guard", WORDS("curl", "-s", "http://127.0.0.1:9222/json"));
	expect(MODE_OFF, VERDICT_ALLOW, NULL, WORDS("sh", "-c", "rm -rf /"));
}

static void a_hosts_own_commands_pass_where_the_mode_has_them(void **state)
{
	struct decision d = ask(MODE_GUARDED, WORDS("rm", "-rf", "--", STAGE "/" UUID "_x"));

	(void)state;
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_int_equal(d.by, BY_PLAN);
	expect(MODE_OBSERVE, VERDICT_ALLOW, NULL, WORDS("tar", "-x", "-C", "/workspace"));
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS("kill", "-KILL", "12"));
	expect(MODE_GUARDED, VERDICT_ALLOW, NULL, WORDS("pkill", "-f", "sleep 1"));
	expect(MODE_READONLY, VERDICT_DENY, NULL, WORDS("tar", "-x", "-C", "/workspace"));
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("kill", "-KILL", "-1"));
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("sh", "-c", "kill -KILL 12"));
	expect(MODE_GUARDED, VERDICT_DENY, NULL, WORDS("rm", "-rf", "--", "/workspace/x"));
}

static void foretells(const char *expected, const char *const *argv)
{
	ask(MODE_GUARDED, argv);
	assert_string_equal(foretold, expected);
}

static void what_is_spelled_out_is_foretold(void **state)
{
	(void)state;
	foretells("/workspace:cat f\n", WORDS("cat", "f"));
	foretells("*/workspace:sh -c cat f; ls -l | wc -l\n/workspace:cat f\n/workspace:ls -l\n/workspace:wc -l\n", WORDS("sh", "-c", "cat f; ls -l | wc -l"));
	foretells("*/workspace:sh -c cat $x; cat \"g\"\n/workspace:cat g\n", WORDS("sh", "-c", "cat $x; cat \"g\""));
	foretells("*/workspace:sh -c cat *\n", WORDS("sh", "-c", "cat *"));
	foretells("*/workspace:sh -c cd a && cat f\n/workspace:cd a\n/workspace/a:cat f\n", WORDS("sh", "-c", "cd a && cat f"));
	foretells("*/workspace:sh -c cd $x && cat f\n/workspace:cat f\n", WORDS("sh", "-c", "cd $x && cat f"));	/* or somewhere else, of which nothing is foretold */
	foretells("*/workspace:sh -c cd a; cat f\n/workspace:cd a\n/workspace/a:cat f\n/workspace:cat f\n", WORDS("sh", "-c", "cd a; cat f"));	/* it may fail */
	foretells("*/workspace:bash -lc cat f\n/workspace:cat f\n", WORDS(WRAP, "bash", "-lc", "cat f"));
	/* A tool that runs what stands in its words is who runs it; where it fills words in, they are not known. */
	foretells("/workspace:cat f\n*/workspace:find . -exec cat f ;\n", WORDS("find", ".", "-exec", "cat", "f", ";"));
	foretells("*/workspace:find . -exec cat {} ;\n", WORDS("find", ".", "-exec", "cat", "{}", ";"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shells_around_a_text_are_no_part_of_it),
		cmocka_unit_test(a_hosts_own_commands_pass_where_the_mode_has_them),
		cmocka_unit_test(what_is_spelled_out_is_foretold),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
