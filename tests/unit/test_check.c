/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon check` and `cordon policy` as programs see them: answers, exit codes, a batch that answers before the next question. */
#include "supervisor/base/cleanup.h"
#include "supervisor/cli/cli.h"

#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char policies[512];

struct outcome {
	int code;
	char out[65536], err[4096];
};

static void read_back(int fd, char *text, size_t bytes)
{
	ssize_t n = pread(fd, text, bytes - 1, 0);

	assert_true(n >= 0);
	text[n] = '\0';
	close(fd);
}

/* Runs a verb in a child with its output in memory. input may be NULL. */
static struct outcome run(int (*verb)(int, char **), const char *const *words, const char *input)
{
	int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC), in = memfd_create("in", MFD_CLOEXEC), status;
	struct outcome o;
	char *argv[32] = { NULL };
	int argc = 0;
	pid_t child;

	assert_true(out >= 0 && err >= 0 && in >= 0);
	if (input)
		assert_int_equal(pwrite(in, input, strlen(input), 0), (ssize_t)strlen(input));
	for (; words[argc]; argc++)
		argv[argc] = strdup(words[argc]);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(in, 0);
		dup2(out, 1);
		dup2(err, 2);
		status = verb(argc, argv);
		fflush(NULL);
		_exit(status);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	o.code = WEXITSTATUS(status);
	read_back(out, o.out, sizeof(o.out));
	read_back(err, o.err, sizeof(o.err));
	close(in);
	while (argc)
		free(argv[--argc]);
	return o;
}

static struct outcome check(const char *const *rest, const char *input)
{
	const char *words[32] = { "check", "--policy", policies, "--mode", "guarded" };
	unsigned i, n = 5;

	for (i = 0; rest[i]; i++)
		words[n++] = rest[i];
	return run(cli_check, words, input);
}
#define CHECK(...) check((const char *const[]){ __VA_ARGS__, NULL }, NULL)

static void exit_codes_are_the_verdicts(void **state)
{
	(void)state;
	assert_int_equal(CHECK("exec", "ls -la").code, 0);
	assert_int_equal(CHECK("exec", "ls", "a;b").code, 0);
	assert_int_equal(CHECK("exec", "rm -rf /").code, 1);
	assert_int_equal(CHECK("exec", "ls;ls").code, 0);
	assert_int_equal(CHECK("exec", "ls;rm x").code, 1);
	assert_int_equal(CHECK("exec", "curl http://x").code, 3);
	assert_int_equal(CHECK("read", "/tmp/notes.txt").code, 0);
	assert_int_equal(CHECK("read", "~/.ssh/id_rsa").code, 1);
	assert_int_equal(CHECK("write", "notes/x").code, 0);
	assert_int_equal(CHECK("write", "/etc/passwd").code, 1);
	assert_int_equal(CHECK("env", "LD_PRELOAD=x").code, 1);
	assert_int_equal(CHECK("env", "FOO=x").code, 0);
	assert_int_equal(CHECK("stdin", "\x03").code, 0);
	assert_int_equal(CHECK("stdin", "y\n").code, 1);
	assert_int_equal(CHECK("connect", "1.1.1.1:443").code, 0);
	assert_int_equal(CHECK("connect", "[2606:4700:4700::1111]:443").code, 0);
	assert_int_equal(CHECK("connect", "10.0.0.1:443").code, 1);
	assert_int_equal(CHECK("--scope", "10.0.0.0/8", "connect", "10.0.0.1:443").code, 0);
	assert_int_equal(CHECK("--mode", "off", "exec", "rm -rf /").code, 0);
	assert_int_equal(CHECK("--mode", "readonly", "--cwd", "/workspace/a", "exec", "cat x").code, 0);
	assert_int_equal(CHECK("--mode", "readonly", "--cwd", "/srv", "exec", "cat x").code, 1);
	assert_int_equal(CHECK("http", "GET", "https://1.1.1.1/").code, 0);
	assert_int_equal(CHECK("http", "POST", "https://1.1.1.1/").code, 3);
	assert_int_equal(CHECK("http", "GET", "http://0x7f.1/").code, 1);
	assert_int_equal(CHECK("http", "GET").code, 1);
	/* said openly: not judged yet, so never allowed */
	assert_int_equal(CHECK("--mode", "off", "browser", "snapshot").code, 0);
	assert_int_equal(CHECK("--mode", "guarded", "browser", "click", "@e1").code, 1);
	assert_int_equal(CHECK("--mode", "guarded", "browser", "frobnicate").code, 3);
}

static void odd_spellings_of_addresses_are_no_addresses(void **state)
{
	static const char *const odd[] = { "0177.0.0.1:80", "127.1:80", "2130706433:80", "0x7f.1:80", "localhost:80", "::1:80", "[::1]", "1.1.1.1", "1.1.1.1:", "1.1.1.1:99999",
					   "1.1.1.1:+80", "1.1.1.1: 80", "[fe80::1%eth0]:80", "" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		struct outcome o = CHECK("--json", "connect", odd[i]);

		assert_int_equal(o.code, 1);
		assert_non_null(strstr(o.out, "invalid_request"));
	}
}

static void text_and_json_say_the_same(void **state)
{
	struct outcome o = CHECK("exec", "rm x");
	json_t *answer;

	(void)state;
	assert_non_null(strstr(o.out, "deny: 'rm' removes or destroys data"));
	assert_non_null(strstr(o.out, "(guarded.destroy, modes/guarded.json:4, policy_block)\nhint: "));
	assert_string_equal(o.err, "");
	o = CHECK("--json", "exec", "rm x");
	assert_int_equal(o.code, 1);
	answer = json_loads(o.out, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(answer, "verdict")), "deny");
	assert_string_equal(json_string_value(json_object_get(answer, "rule")), "guarded.destroy");
	assert_string_equal(json_string_value(json_object_get(answer, "origin")), "modes/guarded.json:4");
	assert_string_equal(json_string_value(json_object_get(answer, "tag")), "policy_block");
	assert_non_null(json_object_get(answer, "hint"));
	assert_string_equal(json_string_value(json_array_get(json_object_get(answer, "effects"), 0)), "delete");
	json_decref(answer);
}

static void bad_usage_is_one_line_and_exit_2(void **state)
{
	static const char *const cases[][6] = {
		{ "check" }, { "check", "--nope" }, { "check", "--mode" }, { "check", "fly", "x" }, { "check", "exec" }, { "check", "read", "a", "b" },
		{ "check", "--mode", "strange", "exec", "ls" }, { "check", "--mode", "workspace", "exec", "ls" }, { "check", "--scope", "a b", "exec", "ls" },
		{ "check", "--cwd", "here", "exec", "ls" }, { "check", "--batch", "-", "exec", "ls" }, { "check", "--batch", "/nowhere/x" },
		{ "check", "--policy", "/nowhere/policy", "exec", "ls" },
	};
	size_t i;

	(void)state;
	setenv("CORDON_POLICY", policies, 1);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outcome o = run(cli_check, cases[i], NULL);
		char *newline = strchr(o.err, '\n');

		assert_int_equal(o.code, 2);
		assert_string_equal(o.out, "");
		assert_true(strncmp(o.err, "cordon: ", 8) == 0 && newline && !newline[1]);
	}
	unsetenv("CORDON_POLICY");
}

static void a_batch_answers_every_line_in_order(void **state)
{
	static const char questions[] = "[\"exec\",\"ls\"]\n[\"exec\",\"rm x\"]\nnot json\n{\"a\":1}\n[]\n[1]\n[\"exec\"]\n[\"fly\",\"x\"]\n[\"read\",\"a\\u0000b\"]\n\n"
					"[\"exec\",\"env\",\"ls\"]\n[\"http\",\"GET\",\"http://x\"]\n[\"exec\",\"pwd\"]";
	static const char *const expected[] = { "allow", "deny policy_block", "deny invalid_request", "deny invalid_request", "deny invalid_request", "deny invalid_request",
						"deny invalid_request", "deny invalid_request", "deny invalid_request", "deny invalid_request",
						"deny incomplete_evidence", "allow", "allow" };
	struct outcome o = check((const char *const[]){ "--batch", "-", NULL }, questions);
	char *line, *rest = o.out;
	size_t i = 0;

	(void)state;
	assert_int_equal(o.code, 0);
	for (; (line = strsep(&rest, "\n")) && *line; i++) {
		json_t *answer = json_loads(line, 0, NULL);
		const char *tag = json_string_value(json_object_get(answer, "tag"));
		char got[128];

		assert_true(i < ARRAY_SIZE(expected));
		assert_non_null(json_object_get(answer, "effects"));
		snprintf(got, sizeof(got), "%s%s%s", json_string_value(json_object_get(answer, "verdict")), tag ? " " : "", tag ? tag : "");
		assert_string_equal(got, expected[i]);
		json_decref(answer);
	}
	assert_int_equal(i, ARRAY_SIZE(expected));
}

static void a_batch_answers_before_the_next_question(void **state)
{
	char *argv[] = { (char[]){ "check" }, (char[]){ "--policy" }, policies, (char[]){ "--batch" }, (char[]){ "-" }, NULL };
	char answer[4096];
	int in[2], out[2], status, i;
	pid_t child;

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		_exit(cli_check(5, argv));
	}
	close(in[0]);
	close(out[1]);
	for (i = 0; i < 3; i++) {
		ssize_t n;

		assert_int_equal(write(in[1], "[\"exec\",\"ls\"]\n", 14), 14);
		n = read(out[0], answer, sizeof(answer));	/* would wait for ever if it wanted more input first */
		assert_true(n > 0 && answer[n - 1] == '\n');
	}
	close(in[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WEXITSTATUS(status), 0);
	close(out[0]);
}

static void validate_prints_files_or_the_first_fault(void **state)
{
	struct outcome o = run(cli_policy, (const char *const[]){ "policy", "validate", policies, NULL }, NULL);

	(void)state;
	assert_int_equal(o.code, 0);
	assert_non_null(strstr(o.out, "modes/guarded.json: ok\n"));
	assert_non_null(strstr(o.out, "sha256 "));
	o = run(cli_policy, (const char *const[]){ "policy", "validate", "/nowhere", NULL }, NULL);
	assert_int_equal(o.code, 2);
	assert_string_equal(o.err, "cordon: /nowhere: No such file or directory\n");
	assert_int_equal(run(cli_policy, (const char *const[]){ "policy", NULL }, NULL).code, 2);
	assert_int_equal(run(cli_policy, (const char *const[]){ "policy", "guess", NULL }, NULL).code, 2);
	assert_int_equal(run(cli_policy, (const char *const[]){ "policy", "validate", "a", "b", NULL }, NULL).code, 2);
	assert_int_equal(run(cli_policy, (const char *const[]){ "policy", "--help", NULL }, NULL).code, 0);
	assert_int_equal(run(cli_check, (const char *const[]){ "check", "--help", NULL }, NULL).code, 0);
}

/* ---- cordon policy show, test, diff ---- */

static char scratch[] = "/tmp/test-check-XXXXXX";
static char small[64];	/* a policy of few commands and other modes */

static const char *write_file(const char *name, const char *text)
{
	static char paths[8][256];
	static unsigned next;
	char *path = paths[next++ % ARRAY_SIZE(paths)];
	FILE *to;

	snprintf(path, sizeof(paths[0]), "%s/%s", scratch, name);
	to = fopen(path, "we");
	assert_non_null(to);
	assert_true(fputs(text, to) >= 0);
	assert_int_equal(fclose(to), 0);
	return path;
}

#define POLICY(...) run(cli_policy, (const char *const[]){ "policy", __VA_ARGS__, NULL }, NULL)

static void show_names_the_place_of_every_value(void **state)
{
	struct outcome o;
	json_t *value;
	(void)state;
	o = POLICY("show", small);
	assert_int_equal(o.code, 0);
	assert_non_null(strstr(o.out, ", mode off, sha256 "));
	assert_non_null(strstr(o.out, "\npolicy.json:2: mode = \"off\"\n"));
	assert_non_null(strstr(o.out, "\ncommands/all.json:"));
	assert_non_null(strstr(o.out, ": commands[0].options[2].values[0].fold = true\n"));
	o = POLICY("show", "--json", small);
	assert_int_equal(o.code, 0);
	*strchr(o.out, '\n') = '\0';
	value = json_loads(o.out, 0, NULL);
	assert_non_null(json_string_value(json_object_get(value, "file")));
	assert_true(json_integer_value(json_object_get(value, "line")) > 0);
	assert_non_null(json_string_value(json_object_get(value, "key")));
	assert_non_null(json_object_get(value, "value"));
	json_decref(value);
	assert_int_equal(POLICY("show", "/nowhere").code, 2);
	assert_int_equal(POLICY("show", "--rules").code, 2);
}

static void test_runs_a_teams_cases(void **state)
{
	const char *good = write_file("good.tsv", "# what we rely on; scope = shop.test;\nguarded\texec\tls -la\tallow\twe look\nguarded\texec\tls\\nrm -rf /\tdeny\n"
						  "observe\thttp\tPOST http://shop.test/\tdeny\nguarded\texec\tcurl http://shop.test/\tallow\n\n"
						  "# cwd = /srv;\nreadonly\texec\tcat x\tdeny\nguarded\texec\tmake\treview|deny\n");
	const char *bad = write_file("bad.tsv", "guarded\texec\tls\tdeny\tours\n");
	struct outcome o;
	json_t *line;

	(void)state;
	o = POLICY("test", "--policy", policies, good);
	assert_string_equal(o.err, "");
	assert_string_equal(o.out, "6 as wanted, 0 not\n");
	assert_int_equal(o.code, 0);
	o = POLICY("test", "--policy", policies, good, bad);
	assert_int_equal(o.code, 1);
	assert_non_null(strstr(o.out, "bad.tsv:1: guarded exec ls\n  wanted deny: ours\n  got allow: 'ls' only reads. (guarded.read, modes/guarded.json:"));
	assert_non_null(strstr(o.out, "6 as wanted, 1 not\n"));
	o = POLICY("test", "--json", "--policy", policies, bad);
	line = json_loads(o.out, 0, NULL);
	assert_int_equal(o.code, 1);
	assert_string_equal(json_string_value(json_object_get(line, "wanted")), "deny");
	assert_string_equal(json_string_value(json_object_get(json_object_get(line, "got"), "verdict")), "allow");
	json_decref(line);
}

static void a_faulty_case_file_is_named_with_its_line(void **state)
{
	static const struct { const char *text, *error; } cases[] = {
		{ "guarded\texec\tls\n", "f.tsv:1: expected mode, kind, action and verdict, with tabs between them" },
		{ "#\nstrange\texec\tls\tallow\n", "f.tsv:2: mode: " },
		{ "guarded\tfly\tls\tallow\n", "f.tsv:1: unknown kind \"fly\"" },
		{ "guarded\texec\tls\tallowed\n", "f.tsv:1: the verdict is not" },
		{ "guarded\texec\tls\tallow|\n", "f.tsv:1: the verdict is not" },
		{ "guarded\texec\ta\\x00b\tallow\n", "f.tsv:1: the action holds a NUL" },
		{ "# scope = a b;\n", "f.tsv:1: scope: " },
		{ "# cwd = here;\n", "f.tsv:1: the working folder" },
		{ "# nothing\n", "the files hold no case" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct outcome o = POLICY("test", "--policy", policies, write_file("f.tsv", cases[i].text));

		assert_int_equal(o.code, 2);
		if (!strstr(o.err, cases[i].error))
			print_error("%s: %s\n", cases[i].text, o.err);
		assert_non_null(strstr(o.err, cases[i].error));
	}
	assert_int_equal(POLICY("test", "--policy", policies).code, 2);
	assert_int_equal(POLICY("test", "--policy", policies, "/nowhere/f.tsv").code, 2);
	assert_int_equal(POLICY("test", "--policy", "/nowhere", write_file("f.tsv", "guarded\texec\tls\tallow\n")).code, 2);
	assert_int_equal(POLICY("test", "--policy").code, 2);
	assert_int_equal(POLICY("test", "--jso", "x").code, 2);
}

static void diff_lists_what_two_policies_decide_differently(void **state)
{
	const char *cases = write_file("d.tsv", "guarded\texec\tls x\tallow\nguarded\texec\tgit status\tallow\nobserve\texec\tls x\tallow\n");
	struct outcome o;
	(void)state;
	o = POLICY("diff", policies, policies, cases);
	assert_string_equal(o.out, "3 decided alike, 0 not\n");
	assert_int_equal(o.code, 0);
	o = POLICY("diff", policies, small, cases);
	assert_int_equal(o.code, 1);
	assert_null(strstr(o.out, "d.tsv:1:"));
	assert_non_null(strstr(o.out, "d.tsv:3: observe exec ls x\n  old allow: 'ls' only reads. (observe.read, modes/observe.json:"));
	assert_non_null(strstr(o.out, "\n  new deny: 'ls' is not known. (b.b, modes/observe.json:"));
	assert_non_null(strstr(o.out, "2 decided alike, 1 not\n"));
	o = POLICY("diff", "--rules", policies, small, cases);
	assert_int_equal(o.code, 1);
	assert_non_null(strstr(o.out, "d.tsv:1: guarded exec ls x\n  old allow"));
	assert_int_equal(POLICY("diff", policies, cases).code, 2);
	assert_int_equal(POLICY("diff", policies, "/nowhere", cases).code, 2);
}

static int make_scratch(void **state)
{
	char command[2048];

	(void)state;
	if (!mkdtemp(scratch))
		return -1;
	snprintf(small, sizeof(small), "%s/small", scratch);
	snprintf(command, sizeof(command), "cp -r %s %s && rm %s/commands/* %s/transports/* && cp -r %s/../tests/fuzz/policy/* %s/", policies, small, small, small, policies, small);
	return system(command);
}

static int remove_scratch(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", scratch);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_codes_are_the_verdicts),
		cmocka_unit_test(odd_spellings_of_addresses_are_no_addresses),
		cmocka_unit_test(text_and_json_say_the_same),
		cmocka_unit_test(bad_usage_is_one_line_and_exit_2),
		cmocka_unit_test(a_batch_answers_every_line_in_order),
		cmocka_unit_test(a_batch_answers_before_the_next_question),
		cmocka_unit_test(validate_prints_files_or_the_first_fault),
		cmocka_unit_test(show_names_the_place_of_every_value),
		cmocka_unit_test(test_runs_a_teams_cases),
		cmocka_unit_test(a_faulty_case_file_is_named_with_its_line),
		cmocka_unit_test(diff_lists_what_two_policies_decide_differently),
	};

	snprintf(policies, sizeof(policies), "%s", __FILE__);
	*strrchr(policies, '/') = '\0';
	strcat(policies, "/../../policies");
	return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
