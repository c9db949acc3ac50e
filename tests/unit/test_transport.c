/* SPDX-License-Identifier: Apache-2.0 */
/* Templates of the shipped policy: which command lines they are, which execs of such a launch pass, and whose names a tool hands
 * on. */
#include "supervisor/enforcer/internal.h"
#include "supervisor/judge/judge.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct policy *policy;
static char *install_path, *install_fingerprint;

static const char *const roots[] = { "/workspace", "/tmp", "/home/agent", NULL };

#define STAGE "/tmp/sandbox-docker-archive"
#define UUID "0123456789abcdef0123456789abcdef"
#define HELPERS "/tmp/openai-agents/bin"
#define RESOLVER HELPERS "/resolve-workspace-path-f8e24896b498"
#define FINGERPRINT HELPERS "/workspace-fingerprint-9ddeeb58be6a"
#define PTY "mkdir -p \"$1\" && printf \"%s\" \"$$\" > \"$2\" && shift 2 && exec \"$@\""
#define FRAME "n=$1; shift; [ \"$(printf ab | head -c 1 2>/dev/null)\" = a ] || exit 98; head -c \"$n\" | \"$@\""
#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static char *read_beside(const char *name)
{
	struct buf text = { 0 };
	char path[512];

	snprintf(path, sizeof(path), "%s", __FILE__);
	*strrchr(path, '/') = '\0';
	strcat(path, name);
	assert_int_equal(io_read_file(AT_FDCWD, path, 1u << 20, &text), 0);
	buf_char(&text, 0);
	return text.data;
}

static int set_up(void **state)
{
	char path[512];

	(void)state;
	snprintf(path, sizeof(path), "%s", __FILE__);
	*strrchr(path, '/') = '\0';
	strcat(path, "/../../policies");
	install_path = read_beside("/../data/agents-sdk/install-path");
	install_fingerprint = read_beside("/../data/agents-sdk/install-fingerprint");
	return policy_load(path, &policy, NULL);
}

static int tear_down(void **state)
{
	(void)state;
	policy_free(policy);
	free(install_path);
	free(install_fingerprint);
	return 0;
}

/* ---- which command line ---- */

static const char *template_of(const char *const *argv)
{
	const struct transport *transport = judge_transport(policy, argv, NULL);

	return transport ? transport->id : "";
}

static void expect_template(const char *expected, const char *const *argv)
{
	const char *found = template_of(argv);

	if (strcmp(found, expected) != 0)
		fail_msg("%s %s %s: \"%s\", expected \"%s\"", argv[0], argv[1] ? argv[1] : "", argv[1] && argv[2] ? argv[2] : "",
			 found, expected);
}

static void what_hosts_issue_is_known(void **state)
{
	(void)state;
	expect_template("sdk.install.path", WORDS("sh", "-c", install_path, "sh", RESOLVER));
	expect_template("sdk.install.fingerprint", WORDS("sh", "-c", install_fingerprint, "sh", FINGERPRINT));
	expect_template("sdk.probe", WORDS("test", "-x", RESOLVER));
	expect_template("sdk.helper.path", WORDS(RESOLVER, "/workspace", "/workspace/a", "1"));
	expect_template("sdk.helper.path", WORDS(RESOLVER, "/workspace", "/workspace/a", "1", "/data", "1"));
	expect_template("sdk.read", WORDS("cat", "--", "/workspace/a"));
	expect_template("sdk.mkdir.parents", WORDS("mkdir", "-p", "/workspace"));
	expect_template("sdk.mkdir.parents", WORDS("mkdir", "-p", STAGE));
	expect_template("sdk.write.stage", WORDS("sh", "-lc", "cat > \"$1\"", "sh", STAGE "/" UUID "_main.py"));
	expect_template("sdk.write.place", WORDS("cp", "--", STAGE "/" UUID "_main.py", "/workspace/src/main.py"));
	expect_template("sdk.clean", WORDS("rm", "-rf", "--", STAGE "/" UUID "_main.py"));
	expect_template("sdk.hydrate", WORDS("tar", "-x", "-C", "/workspace"));
	expect_template("sdk.framed.hydrate", WORDS("sh", "-c", FRAME, "sh", "1024", "tar", "-x", "-C", "/workspace"));
	expect_template("", WORDS("sh", "-c", FRAME, "sh", "1024", "tar", "-x", "-C", "/"));
	expect_template("", WORDS("sh", "-c", FRAME, "sh", "1k", "tar", "-x", "-C", "/workspace"));
	expect_template("sdk.kill.pattern", WORDS("sh", "-lc", "pkill -f -- 'sh -lc echo '\\''a'\\''' >/dev/null 2>&1 || true"));
	expect_template("strix.caido", WORDS("sh", "-lc",
					     "curl -fsS -X POST -H 'Content-Type: application/json' -d "
					     "'{\"query\":\"mutation LoginAsGuest { loginAsGuest { token { accessToken } } }\"}' "
					     "http://127.0.0.1:48080/graphql"));
}

static void a_wrap_says_where_the_command_begins(void **state)
{
	const char *const argv[] = { "sh", "-lc", PTY, "sh", STAGE, STAGE "/" UUID "_pty.pid", "bash", "-lc", "id", NULL };
	const struct transport *transport;
	size_t rest = 0;

	(void)state;
	transport = judge_transport(policy, argv, &rest);
	assert_non_null(transport);
	assert_true(transport->wrap);
	assert_string_equal(argv[rest], "bash");
	expect_template("", WORDS("sh", "-lc", PTY, "sh", STAGE, STAGE "/" UUID "_pty.pid")); /* wraps nothing */
}

static void a_text_that_differs_is_an_agents(void **state)
{
	char other[8192];

	(void)state;
	snprintf(other, sizeof(other), "%s\n", install_path);
	expect_template("", WORDS("sh", "-c", other, "sh", RESOLVER));
	snprintf(other, sizeof(other), "%s", install_path);
	*strstr(other, "0555") = '4';
	expect_template("", WORDS("sh", "-c", other, "sh", RESOLVER));
	expect_template("", WORDS("sh", "-c", install_path, "sh", RESOLVER "x"));
	expect_template("", WORDS("sh", "-c", install_path, "sh", RESOLVER, "x"));
	expect_template("", WORDS("sh", "-c", install_path, "sh", FINGERPRINT));
	expect_template("", WORDS("bash", "-c", install_path, "sh", RESOLVER));
	expect_template("", WORDS("sh", "-lc", install_path, "sh", RESOLVER));
	expect_template("", WORDS("rm", "-rf", "--", "/workspace/a"));
	expect_template("", WORDS("rm", "-rf", "--", STAGE));
	expect_template("", WORDS("rm", "-rf", "--", STAGE "/keep"));
	expect_template("", WORDS("rm", "-rf", "--", STAGE "/" UUID "_a/../../../workspace"));
	expect_template("", WORDS("rm", "-rf", "--", STAGE "/" UUID "_"));
	expect_template("", WORDS("rm", "-rf", "--", STAGE "/" UUID "_.."));
	expect_template("", WORDS("rm", "-rf", "--", STAGE "/" UUID "_a", "/workspace"));
	expect_template("", WORDS("rm", "-rf", STAGE "/" UUID "_a"));
	expect_template("", WORDS("rm", "-rf", "--", "/tmp/sandbox-git-a/../../workspace"));
	expect_template("", WORDS("mkdir", "-p", "/workspace/../etc"));
	expect_template("", WORDS("mkdir", "-p", "/workspaces"));
	expect_template("", WORDS("mkdir", "-p", "/workspace//a"));
	expect_template("", WORDS("mkdir", "-p", "workspace"));
	expect_template("", WORDS("chmod", "4755", "/workspace/a"));
	expect_template("", WORDS("chmod", "0755", "/tmp/a"));
	expect_template("", WORDS("tar", "-x", "-C", "/workspace", "--to-command=sh"));
	expect_template("", WORDS("tar", "-x", "-C", "/"));
	expect_template("", WORDS("sh", "-lc", "pkill -f -- 'a'; rm -rf '/workspace' >/dev/null 2>&1 || true"));
	expect_template("", WORDS("sh", "-lc", "pkill -f -- 'a'\\' >/dev/null 2>&1 || true"));
	expect_template("", WORDS("sh"));
}

/* ---- which execs ---- */

struct exec {
	const char *caller, *program, *interpreter;
	bool first;
	const char *const *argv;
};

static struct decision ask(enum mode mode, const char *const *launch, const struct exec *x)
{
	const struct judge_subject subject = {
		.mode = mode, .home = "/home/agent", .write_roots = roots, .transport = judge_transport(policy, launch, NULL)
	};
	const struct action action = { .kind = ACTION_EXEC,
				       .argv = x->argv,
				       .program = x->program,
				       .interpreter = x->interpreter,
				       .caller = x->caller,
				       .first = x->first,
				       .cwd = "/workspace" };
	struct decision d;

	judge(policy, &subject, &action, &d);
	return d;
}

static void expect_exec(char expected, const char *const *launch, const struct exec *x)
{
	const struct decision d = ask(MODE_GUARDED, launch, x);
	const char found = d.verdict == VERDICT_ALLOW ? 'a' : d.verdict == VERDICT_REVIEW ? 'r' : 'd';

	/* 'd': not by the template; whether it is a deny or a review is for the rules about commands */
	if (expected == 'd' ? found == 'a' : found != expected)
		fail_msg("%s %s by %s: %s", x->program, x->argv[1] ? x->argv[1] : "", x->caller ? x->caller : "?", d.reason);
}

#define SH "/usr/bin/dash"
#define EXEC(by, path, ...) (&(struct exec){ .caller = by, .program = path, .argv = WORDS(__VA_ARGS__) })

static void an_installation_makes_its_own_execs_only(void **state)
{
	const char *const launch[] = { "sh", "-c", install_path, "sh", RESOLVER, NULL };

	(void)state;
	expect_exec('a', launch, EXEC(SH, "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp.17"));
	expect_exec('a', launch, EXEC(SH, "/usr/bin/rm", "rm", "-f", "--", RESOLVER ".tmp.17"));
	expect_exec('a', launch, EXEC(SH, "/usr/bin/rm", "rm", "-rf", "--", RESOLVER));
	expect_exec('a', launch, EXEC(SH, "/usr/bin/mv", "mv", "-f", "--", RESOLVER ".tmp.17", RESOLVER));
	expect_exec('a', launch, EXEC(SH, "/usr/bin/mkdir", "mkdir", "-p", "--", HELPERS));
	expect_exec('a', launch, EXEC(SH, "/usr/bin/busybox", "chmod", "0555", RESOLVER ".tmp.17"));
	/* other words */
	expect_exec('d', launch, EXEC(SH, "/usr/bin/chmod", "chmod", "0777", RESOLVER ".tmp.17"));
	expect_exec('d', launch, EXEC(SH, "/usr/bin/chmod", "chmod", "0555", "/workspace/a"));
	expect_exec('d', launch, EXEC(SH, "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp.17", "/workspace/a"));
	expect_exec('d', launch, EXEC(SH, "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp."));
	expect_exec('d', launch, EXEC(SH, "/usr/bin/rm", "rm", "-rf", "--", "/workspace"));
	/* other programs under these words */
	expect_exec('d', launch, EXEC(SH, "/usr/bin/mkfs", "chmod", "0555", RESOLVER ".tmp.17"));
	expect_exec('d', launch, EXEC(SH, "/workspace/chmod", "chmod", "0555", RESOLVER ".tmp.17"));
	/* other callers */
	expect_exec('d', launch, EXEC(NULL, "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp.17"));
	expect_exec('d', launch, EXEC("/tmp/sh", "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp.17"));
	expect_exec('d', launch, EXEC("/usr/bin/python3.11", "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp.17"));
	/* no such launch */
	expect_exec('d', WORDS("sh", "-c", "true"), EXEC(SH, "/usr/bin/chmod", "chmod", "0555", RESOLVER ".tmp.17"));
}

static void a_program_may_have_another_name(void **state)
{
	const char *const launch[] = { "sh", "-lc", "pkill -f -- 'a b' >/dev/null 2>&1 || true", NULL };

	(void)state;
	expect_exec('a', launch, EXEC(SH, "/usr/bin/pkill", "pkill", "-f", "--", "a b"));
	expect_exec('a', launch, EXEC(SH, "/usr/bin/pgrep", "pkill", "-f", "--", "a b"));
	expect_exec('r', launch, EXEC(SH, "/usr/bin/python3.11", "pkill", "-f", "--", "a b"));
	expect_exec('r', launch, EXEC(SH, "/tmp/pgrep", "pkill", "-f", "--", "a b"));
	expect_exec('r', launch, EXEC(SH, "/usr/bin/pkill", "pkill", "-f", "a b"));
}

static void a_wrapped_command_is_judged_as_always(void **state)
{
	const char *const launch[] = {
		"sh", "-lc", PTY, "sh", STAGE, STAGE "/" UUID "_pty.pid", "rm", "-rf", "/workspace", NULL
	};
	struct exec x = { .caller = SH, .program = "/usr/bin/rm", .argv = WORDS("rm", "-rf", "/workspace"), .first = true };

	(void)state;
	expect_exec('a', launch, EXEC(SH, "/usr/bin/mkdir", "mkdir", "-p", STAGE));
	expect_exec('r', launch, EXEC(SH, "/usr/bin/mkdir", "mkdir", "-p", "/workspace/x"));
	expect_exec('d', launch, &x);
}

static void a_command_of_the_host_passes_as_the_first_exec(void **state)
{
	const char *const launch[] = { "rm", "-rf", "--", STAGE "/" UUID "_a", NULL };
	const char *const helper[] = { RESOLVER, "/workspace", "/workspace/a", "0", NULL };
	struct exec x = { .program = "/usr/bin/rm", .argv = launch, .first = true };
	struct exec script = { .program = RESOLVER, .interpreter = SH, .argv = helper, .first = true };
	struct decision d;

	(void)state;
	expect_exec('a', launch, &x);
	d = ask(MODE_GUARDED, launch, &x);
	assert_string_equal(d.rule, "sdk.clean");
	assert_string_equal(d.origin.file, "transports/agents-sdk.json");
	assert_true(d.effects & EFFECT_WRITE);	/* scratch space */
	assert_int_equal(ask(MODE_OBSERVE, launch, &x).verdict, VERDICT_ALLOW);
	assert_int_equal(ask(MODE_READONLY, launch, &x).verdict, VERDICT_DENY);
	x.first = false;
	expect_exec('d', launch, &x);
	x.first = true;
	x.program = "/workspace/rm";
	expect_exec('d', launch, &x);

	/* A script where agents write: while a shell of the image reads it. */
	expect_exec('a', helper, &script);
	script.interpreter = "/tmp/sh";
	expect_exec('r', helper, &script);
	script.interpreter = "/usr/bin/python3.11";
	expect_exec('r', helper, &script);
	script.interpreter = NULL; /* a binary in the script's place */
	expect_exec('r', helper, &script);
	script.interpreter = SH;
	script.program = "/workspace/other"; /* a link in its place */
	expect_exec('r', helper, &script);
}

/* Each template says why it is harmless; none lets a program run that was not named. */
static void every_template_speaks_for_itself(void **state)
{
	(void)state;
	assert_true(policy->nr_transports > 20);
	for (size_t i = 0; i < policy->nr_transports; i++) {
		assert_true(strlen(policy->transports[i].why) > 20);
		for (size_t r = 0; r < policy->transports[i].nr_runs; r++)
			assert_false(policy->transports[i].runs[r].rest);
	}
}

/* ---- names that tools set ---- */

static enum verdict with_name(const char *caller, const char *program, const char *interpreter, const char *entry,
			      const char *given)
{
	const char *const argv[] = { "x", NULL }, *const environment[] = { entry, NULL }, *const began[] = { given, NULL };
	const struct judge_subject subject = {
		.mode = MODE_OBSERVE, .home = "/home/agent", .write_roots = roots, .unreviewed_allow = true
	};
	const struct action action = { .kind = ACTION_EXEC,
				       .argv = argv,
				       .program = program,
				       .interpreter = interpreter,
				       .environment = environment,
				       .caller = caller,
				       .caller_environment = given ? began : NULL,
				       .cwd = "/workspace" };
	struct decision d;

	judge(policy, &subject, &action, &d);
	judge_settle(&subject, &d);
	return d.verdict;
}

static void a_tool_hands_its_names_on(void **state)
{
	static const char p[] = "GIT_CONFIG_PARAMETERS='a.b'='c'";

	(void)state;
	assert_int_equal(with_name("/usr/bin/git", "/usr/lib/git-core/git", NULL, p, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/usr/lib/git-core/git-remote-http", "/usr/lib/git-core/git", NULL, p, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/usr/bin/git", "/workspace/.git/hooks/x", SH, p, NULL), VERDICT_ALLOW);
	/* a shell between them hands on what it was given, and nothing of its own */
	assert_int_equal(with_name(SH, "/usr/bin/git", NULL, p, p), VERDICT_ALLOW);
	assert_int_equal(with_name(SH, "/usr/bin/git", NULL, p, NULL), VERDICT_DENY);
	assert_int_equal(with_name(SH, "/usr/bin/git", NULL, p, "GIT_CONFIG_PARAMETERS='a.b'='d'"), VERDICT_DENY);
	assert_int_equal(with_name("/tmp/sh", "/usr/bin/git", NULL, p, p), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/python3.11", "/usr/bin/git", NULL, p, p), VERDICT_DENY);
	/* other names, other callers */
	assert_int_equal(with_name("/usr/bin/git", "/usr/bin/git", NULL, "LD_PRELOAD=x", NULL), VERDICT_DENY);
	assert_int_equal(with_name(SH, "/usr/bin/git", NULL, "LD_PRELOAD=x", "LD_PRELOAD=x"), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/git", "/usr/bin/git", NULL, "GIT_SSH_COMMAND=x", NULL), VERDICT_DENY);
	assert_int_equal(with_name("/workspace/git", "/usr/bin/git", NULL, p, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/env", "/usr/bin/git", NULL, p, p), VERDICT_DENY);
	assert_int_equal(with_name(NULL, "/usr/bin/git", NULL, p, p), VERDICT_DENY);
}

/* What go hands to everything it runs says nothing of the setter's choice; what cargo gives is for compilers and linkers alone. */
static void build_tools_hand_theirs_on(void **state)
{
	static const char go[] = "GIT_SSH_COMMAND=ssh -o ControlMaster=no -o BatchMode=yes", cargo[] = "LD_LIBRARY_PATH=/workspace/target/debug/deps";

	(void)state;
	assert_int_equal(with_name("/usr/lib/go-1.19/bin/go", "/usr/lib/go-1.19/pkg/tool/linux_amd64/compile", NULL, go, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/workspace/m.test", "/usr/bin/git", NULL, go, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/workspace/m.test", "/usr/bin/git", NULL, "GIT_SSH_COMMAND=ssh -o ControlMaster=no -o BatchMode=yes -o ProxyCommand=x", NULL),
			 VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/cargo", "/usr/bin/rustc", NULL, cargo, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/usr/bin/rustc", "/usr/bin/cc", NULL, cargo, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/usr/bin/cargo", "/usr/bin/git", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/workspace/cargo", "/usr/bin/rustc", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name(SH, "/usr/bin/rustc", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/cargo", "/usr/bin/rustc", NULL, "LD_PRELOAD=/workspace/x.so", NULL), VERDICT_DENY);
	/* and for what it built, which may hand it on to its like: never into a program of the image, be it a script's interpreter */
	assert_int_equal(with_name("/usr/bin/cargo", "/workspace/target/debug/demo", NULL, cargo, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/workspace/target/debug/deps/test-1", "/workspace/target/debug/demo", NULL, cargo, NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/workspace/target/debug/demo", "/usr/bin/git", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/workspace/target/debug/demo", "/usr/bin/rustc", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/cargo", "/workspace/x.sh", SH, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name(SH, "/workspace/target/debug/demo", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/env", "/workspace/target/debug/demo", NULL, cargo, NULL), VERDICT_DENY);
	assert_int_equal(with_name("/usr/bin/cargo", "/workspace/target/debug/demo", NULL, "LD_PRELOAD=/workspace/x.so", NULL), VERDICT_DENY);
	assert_int_equal(with_name(NULL, "/workspace/target/debug/demo", NULL, cargo, NULL), VERDICT_DENY);
	/* stdbuf's library is the image's and reads nothing but its own three names */
	assert_int_equal(with_name("/usr/bin/stdbuf", "/usr/bin/cat", NULL, "LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so", NULL), VERDICT_ALLOW);
	assert_int_equal(with_name("/usr/bin/stdbuf", "/usr/bin/cat", NULL, "LD_PRELOAD=/usr/libexec/coreutils/libstdbuf.so:/workspace/x.so", NULL), VERDICT_DENY);
}

/* ---- the gateway ---- */

static enum verdict reach(const struct scope *gateway, const char *address)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(8080) };
	const struct judge_subject subject = {
		.mode = MODE_GUARDED, .home = "/home/agent", .write_roots = roots, .gateway = gateway
	};
	const struct action action = {
		.kind = ACTION_CONNECT, .address = (struct sockaddr *)&in, .address_bytes = sizeof(in), .socket_type = SOCK_STREAM
	};
	struct decision d;

	assert_int_equal(inet_pton(AF_INET, address, &in.sin_addr), 1);
	judge(policy, &subject, &action, &d);
	return d.verdict;
}

static size_t gateways(const char *variable, const char *hosts, struct scope *ret)
{
	const char *const image[] = { "PATH=/bin", variable, NULL };
	char path[] = "/tmp/test_transport-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, hosts, strlen(hosts)), (ssize_t)strlen(hosts));
	close(fd);
	*ret = (struct scope){ 0 };
	assert_int_equal(plan_gateway(image, path, ret), 0);
	unlink(path);
	return ret->nr;
}

static void the_hosts_gateway_is_reachable(void **state)
{
	static const char hosts[] = "127.0.0.1 localhost\n# 10.0.0.9 host.docker.internal\n172.17.0.1\thost.docker.internal gw # "
				    "x\nbad host.docker.internal\n"
				    "fd00::1 Host.Docker.Internal\n";
	struct scope gateway;

	(void)state;
	assert_int_equal(gateways("HOST_GATEWAY=host.docker.internal", hosts, &gateway), 2);
	assert_int_equal(reach(&gateway, "172.17.0.1"), VERDICT_ALLOW);
	assert_int_equal(reach(&gateway, "172.17.0.2"), VERDICT_DENY);
	assert_int_equal(reach(&gateway, "10.0.0.9"), VERDICT_DENY);
	assert_int_equal(reach(NULL, "172.17.0.1"), VERDICT_DENY);
	scope_free(&gateway);
	assert_int_equal(gateways("HOST_GATEWAY=10.1.2.3", hosts, &gateway), 1);
	assert_int_equal(reach(&gateway, "10.1.2.3"), VERDICT_ALLOW);
	scope_free(&gateway);
	/* what was never meant: a range, a name that only a resolver knows, loopback, metadata */
	assert_int_equal(gateways("HOST_GATEWAY=10.0.0.0/8", hosts, &gateway), 0);
	scope_free(&gateway);
	assert_int_equal(gateways("HOST_GATEWAY=example.test", hosts, &gateway), 0);
	scope_free(&gateway);
	assert_int_equal(gateways("XHOST_GATEWAY=10.1.2.3", hosts, &gateway), 0);
	assert_int_equal(gateways("HOST_GATEWAY=127.0.0.1", hosts, &gateway), 1);
	assert_int_equal(reach(&gateway, "127.0.0.1"), VERDICT_DENY);
	scope_free(&gateway);
	assert_int_equal(gateways("HOST_GATEWAY=169.254.169.254", hosts, &gateway), 1);
	assert_int_equal(reach(&gateway, "169.254.169.254"), VERDICT_DENY);
	scope_free(&gateway);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_hosts_issue_is_known),
		cmocka_unit_test(a_wrap_says_where_the_command_begins),
		cmocka_unit_test(a_text_that_differs_is_an_agents),
		cmocka_unit_test(an_installation_makes_its_own_execs_only),
		cmocka_unit_test(a_program_may_have_another_name),
		cmocka_unit_test(a_wrapped_command_is_judged_as_always),
		cmocka_unit_test(a_command_of_the_host_passes_as_the_first_exec),
		cmocka_unit_test(every_template_speaks_for_itself),
		cmocka_unit_test(a_tool_hands_its_names_on),
		cmocka_unit_test(build_tools_hand_theirs_on),
		cmocka_unit_test(the_hosts_gateway_is_reachable),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
