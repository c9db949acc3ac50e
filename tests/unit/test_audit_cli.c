/* SPDX-License-Identifier: Apache-2.0 */
/* `cordon audit` as it is called: exit codes, what is printed where, and following a log across rotation. */
#include "supervisor/cli/audit.c"

#include "supervisor/audit/audit.h"
#include "supervisor/base/io.h"
#include "supervisor/base/json_out.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/cordon-audit-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct audit *open_log(uint64_t limit, int copy_fd)
{
	struct audit_options options = { .dir = dir, .run = "r", .boot = "b", .file_limit_bytes = limit, .copy_fd = copy_fd };
	struct audit *audit;

	assert_int_equal(audit_open(&options, &audit, NULL), 0);
	return audit;
}

static void record(struct audit *audit, int from, int count)
{
	for (int i = from; i < from + count; i++) {
		_cleanup_buf_ struct buf members = { 0 };
		struct json_out j = { .buf = &members };

		json_int(&j, "n", i);
		assert_int_equal(audit_record(audit, "state", AUDIT_INFO, false, &members), 0);
	}
	assert_int_equal(audit_flush(audit, 60000), 0);
}

static void make_log(int count)
{
	struct audit *audit = open_log(0, -1);

	record(audit, 0, count);
	assert_int_equal(audit_close(audit, true), 0);
}

/* Starts the command with its output in a pipe. */
static pid_t start(char **argv, int *ret_out)
{
	int out[2], argc = 0;
	pid_t child;

	while (argv[argc])
		argc++;
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(out[1], STDERR_FILENO);
		int code = cli_audit(argc, argv);

		fflush(NULL);
		_exit(code);
	}
	close(out[1]);
	*ret_out = out[0];
	return child;
}

static int run(struct buf *output, char **argv)
{
	int out, status;
	pid_t child = start(argv, &out);

	buf_reset(output);
	assert_int_equal(io_read_all(out, 1u << 20, output), 0);
	close(out);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}
#define RUN(output, ...) run(output, (char *[]){ (char[]){ "audit" }, __VA_ARGS__, NULL })
#define S(literal) (char[]){ literal }

static unsigned count_lines(const struct buf *b)
{
	unsigned count = 0;

	for (size_t i = 0; i < b->len; i++)
		count += b->data[i] == '\n';
	return count;
}

static void tail_prints_the_last_records(void **state)
{
	_cleanup_buf_ struct buf out = { 0 };

	(void)state;
	make_log(50);
	assert_int_equal(RUN(&out, S("tail"), S("--dir"), dir), 0);
	assert_int_equal(count_lines(&out), 20);
	assert_non_null(strstr(out.data, "SEAL"));
	assert_null(strchr(out.data, '\033'));
	assert_int_equal(RUN(&out, S("tail"), S("-n"), S("3"), S("--json"), S("--dir"), dir), 0);
	assert_int_equal(count_lines(&out), 3);
	assert_int_equal(strncmp(out.data, "{\"v\":1,\"seq\":49,", 16), 0);
	assert_int_equal(RUN(&out, S("tail"), S("-n100000"), S("--dir"), dir), 0);
	assert_int_equal(count_lines(&out), 51);
	assert_int_equal(RUN(&out, S("tail"), S("-n"), S("0"), S("--dir"), dir), 0);
	assert_int_equal(out.len, 0);
}

static void verify_says_what_it_found(void **state)
{
	_cleanup_buf_ struct buf out = { 0 };
	char path[128];
	int fd;

	(void)state;
	make_log(5);
	assert_int_equal(RUN(&out, S("verify"), S("--sealed"), S("--dir"), dir), 0);
	assert_string_equal(out.data, "intact: 6 records, seq 1 to 6, in 1 file; sealed\n");
	snprintf(path, sizeof(path), "%s/audit-000001.jsonl", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "2", 1, 21), 1);	/* the year's first digit is 2 anyway */
	assert_int_equal(RUN(&out, S("verify"), S("--dir"), dir), 0);
	assert_int_equal(pwrite(fd, "3", 1, 21), 1);
	assert_int_equal(RUN(&out, S("verify"), S("--dir"), dir), 1);
	assert_string_equal(out.data, "broken: audit-000001.jsonl:2: seq 2 does not chain: seq 1 before it is not what was written (good up to seq 1)\n");
	assert_int_equal(pwrite(fd, "2", 1, 21), 1);
	assert_int_equal(ftruncate(fd, lseek(fd, 0, SEEK_END) - 5), 0);
	assert_int_equal(RUN(&out, S("verify"), S("--dir"), dir), 2);
	assert_string_equal(out.data, "truncated: audit-000001.jsonl: the last line is cut off, after seq 5 (good up to seq 5)\n");
	close(fd);
}

/* What docker logs hands back: our lines inside JSON, and others between. */
static void anchors_are_found_in_whatever_was_logged(void **state)
{
	_cleanup_buf_ struct buf out = { 0 }, shown = { 0 };
	char path[128];
	struct audit *audit;
	int copy[2], fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/stdout", dir);
	assert_int_equal(pipe2(copy, O_CLOEXEC), 0);
	audit = open_log(0, copy[1]);
	record(audit, 0, 5);
	assert_int_equal(audit_close(audit, true), 0);
	close(copy[1]);
	assert_int_equal(io_read_all(copy[0], 1u << 20, &shown), 0);
	close(copy[0]);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	for (char *line = strtok(shown.data, "\n"); line; line = strtok(NULL, "\n"))
		dprintf(fd, "noise seq=1\n{\"log\":\"%s\\n\",\"stream\":\"stdout\"}\n", line);
	assert_int_equal(RUN(&out, S("verify"), S("--anchors"), path, S("--dir"), dir), 0);
	assert_non_null(strstr(out.data, "2 anchors from outside fit"));
	dprintf(fd, "00:00:00.000 #9 ANCHOR info anchor seq=3 hash=%064d\n", 0);
	assert_int_equal(RUN(&out, S("verify"), S("--anchors"), path, S("--dir"), dir), 1);
	assert_non_null(strstr(out.data, "seq 3 is not the record whose hash was anchored outside"));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(RUN(&out, S("verify"), S("--anchors"), path, S("--dir"), dir), 2);
	assert_non_null(strstr(out.data, "holds no anchor"));
	close(fd);
}

static void wrong_usage_is_one_line_and_2(void **state)
{
	_cleanup_buf_ struct buf out = { 0 };

	(void)state;
	assert_int_equal(RUN(&out, NULL), 2);
	assert_int_equal(RUN(&out, S("frob")), 2);
	assert_int_equal(count_lines(&out), 1);
	assert_int_equal(RUN(&out, S("tail"), S("--frob")), 2);
	assert_int_equal(count_lines(&out), 1);
	assert_int_equal(RUN(&out, S("tail"), S("-n"), S("-3")), 2);
	assert_int_equal(RUN(&out, S("tail"), S("-n")), 2);
	assert_int_equal(RUN(&out, S("tail"), S("--sealed")), 2);
	assert_int_equal(RUN(&out, S("verify"), S("-f")), 2);
	assert_int_equal(RUN(&out, S("verify"), S("extra")), 2);
	assert_int_equal(RUN(&out, S("--help")), 0);
	assert_int_equal(RUN(&out, S("tail"), S("--help")), 0);
	assert_int_equal(RUN(&out, S("verify"), S("-h")), 0);
	assert_int_equal(strncmp(out.data, "usage: ", 7), 0);
	assert_int_equal(RUN(&out, S("tail"), S("--dir"), S("/nowhere")), 1);
	assert_int_equal(count_lines(&out), 1);
	assert_int_equal(RUN(&out, S("verify"), S("--dir"), S("/nowhere")), 2);
	assert_int_equal(RUN(&out, S("verify"), S("--dir"), dir), 2);
	assert_non_null(strstr(out.data, "holds no audit-NNNNNN.jsonl"));
}

static void a_planted_line_cannot_move_the_cursor(void **state)
{
	_cleanup_buf_ struct buf out = { 0 };
	char path[128];
	int fd;

	(void)state;
	make_log(1);
	snprintf(path, sizeof(path), "%s/audit-000001.jsonl", dir);
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(io_write_all(fd, "\033[2Jgone\n", 9), 0);
	close(fd);
	assert_int_equal(RUN(&out, S("tail"), S("--dir"), dir), 0);
	assert_null(strchr(out.data, '\033'));
	assert_non_null(strstr(out.data, "audit-000001.jsonl:3: not a JSON object"));
}

static void follow_goes_on_across_rotation(void **state)
{
	struct audit *audit = open_log(2048, -1);
	int out, status;
	pid_t child;
	FILE *lines;

	(void)state;
	record(audit, 0, 5);
	child = start((char *[]){ S("audit"), S("tail"), S("-f"), S("--json"), S("-n"), S("1"), S("--dir"), dir, NULL }, &out);
	lines = fdopen(out, "r");
	for (int n = 4; n < 40; n++) {
		char line[4096];
		json_t *root;

		if (n > 4)
			record(audit, n, 1);
		do {	/* records of the writer's own stand between */
			alarm(120);
			assert_non_null(fgets(line, sizeof(line), lines));
			root = json_loads(line, 0, NULL);
			assert_non_null(root);
			status = json_object_get(root, "n") && json_integer_value(json_object_get(root, "n")) == n;
			json_decref(root);
		} while (!status);
	}
	alarm(0);
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	fclose(lines);
	assert_int_equal(audit_close(audit, false), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(tail_prints_the_last_records),
		TEST(verify_says_what_it_found),
		TEST(anchors_are_found_in_whatever_was_logged),
		TEST(wrong_usage_is_one_line_and_2),
		TEST(a_planted_line_cannot_move_the_cursor),
		TEST(follow_goes_on_across_rotation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
