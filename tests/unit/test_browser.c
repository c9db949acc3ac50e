/* SPDX-License-Identifier: Apache-2.0 */
/* agent-browser over the shipped policy: what its words mean at an exec, by which variables it may be led, and who runs and reaches a browser. */
#include "supervisor/judge/judge.h"

#include "supervisor/analyze/arena.h"
#include "supervisor/base/cleanup.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/shipped_policy.h"

#define WORDS 12

static const char *const roots[] = { "/workspace", "/tmp", "/home/agent", NULL };
static const char *const launch_environment[] = { "PATH=/usr/bin:/bin", "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080", NULL };

static struct judge_subject subject_in(enum mode mode, enum session_role session)
{
	return (struct judge_subject){
		.mode = mode, .home = "/home/agent", .write_roots = roots, .launch_environment = launch_environment, .session = session,
	};
}

static struct decision ask(enum mode mode, enum session_role session, struct action action)
{
	struct judge_subject subject = subject_in(mode, session);
	struct decision d;

	memset(&d, 0xa5, sizeof(d));
	judge(policy, &subject, &action, &d);
	assert_true(d.reason[0]);
	assert_int_equal(d.verdict == VERDICT_DENY, d.tag != NULL);
	return d;
}

static char letter(const struct decision *d)
{
	return d->verdict == VERDICT_ALLOW ? 'a' : d->verdict == VERDICT_REVIEW ? 'r' : 'd';
}

/* Expected: letters for guarded and observe without a snapshot that holds, then with one; and what the words mean for the page. */
static const struct { const char *words[WORDS], *expected; enum page page; } commands[] = {
	{ { "snapshot", "-i", "-d", "3" }, "aaaa", PAGE_SHOWS },
	{ { "snapshot", "--selector", "main" }, "aaaa", PAGE_SHOWS },
	{ { "snapshot", "--help" }, "aaaa", PAGE_KEEPS },
	{ { "click", "@e1", "-h" }, "aaaa", PAGE_KEEPS },
	{ { "snapshot", "-s", "--session", "x" }, "dddd", PAGE_CHANGES },
	{ { "get", "text", "@e1" }, "aaaa", PAGE_KEEPS },
	{ { "get", "value", "@e1" }, "rrrr", PAGE_KEEPS },
	{ { "get", "cdp-url" }, "dddd", PAGE_KEEPS },
	{ { "is", "visible", "@e1" }, "aaaa", PAGE_KEEPS },
	{ { "wait", "100" }, "aaaa", PAGE_KEEPS },
	{ { "wait", "#x", "--state", "hidden" }, "aaaa", PAGE_KEEPS },
	{ { "wait", "#x", "--state", "./auth.json" }, "dddd", PAGE_KEEPS },
	{ { "wait", "--text", "--fn", "fetch('/x')" }, "dddd", PAGE_KEEPS },
	{ { "wait", "--fn", "1" }, "dddd", PAGE_KEEPS },
	{ { "scroll", "down" }, "aaaa", PAGE_CHANGES },
	{ { "screenshot" }, "rrrr", PAGE_KEEPS },
	{ { "session" }, "aaaa", PAGE_KEEPS },
	{ { "session", "info" }, "rrrr", PAGE_KEEPS },
	{ { "open", "http://target.test/" }, "rrrr", PAGE_CHANGES },
	{ { "open", "file:///etc/passwd" }, "dddd", PAGE_CHANGES },
	{ { "open", "View-Source:file:///etc/passwd" }, "dddd", PAGE_CHANGES },
	{ { "back" }, "rrrr", PAGE_CHANGES },
	{ { "reload" }, "rdrd", PAGE_CHANGES },
	{ { "click", "@e1" }, "ddrd", PAGE_CHANGES },
	{ { "click", "#submit" }, "ddrd", PAGE_CHANGES },
	{ { "fill", "e3", "text of mine" }, "ddrd", PAGE_CHANGES },
	{ { "fill", "ref=e3", "-5" }, "dddd", PAGE_CHANGES },
	{ { "hover", "@e1" }, "ddrd", PAGE_CHANGES },
	{ { "press", "Enter" }, "ddrd", PAGE_CHANGES },
	{ { "mouse", "down" }, "ddrd", PAGE_CHANGES },
	{ { "find", "text", "Sign in" }, "ddrd", PAGE_CHANGES },
	{ { "find", "text", "Sign in", "text" }, "aaaa", PAGE_KEEPS },
	{ { "find", "role", "heading", "text", "--name", "x" }, "aaaa", PAGE_KEEPS },
	{ { "find", "text", "--exact", "click", "text" }, "ddrd", PAGE_CHANGES },
	{ { "find", "text", "-x", "click", "text" }, "dddd", PAGE_KEEPS },
	{ { "get", "frobnicate" }, "dddd", PAGE_KEEPS },
	{ { "is", "frobnicate", "@e1" }, "rrrr", PAGE_CHANGES },
	{ { "find", "nth", "2", "text", "click" }, "ddrd", PAGE_CHANGES },
	{ { "find", "nth", "2", "text" }, "ddrd", PAGE_CHANGES },
	{ { "find", "nth", "2", ".card", "text" }, "aaaa", PAGE_KEEPS },
	{ { "eval", "1" }, "dddd", PAGE_CHANGES },
	{ { "batch", "click @e1" }, "dddd", PAGE_CHANGES },
	{ { "auth", "login", "x" }, "dddd", PAGE_CHANGES },
	{ { "state", "save", "x" }, "dddd", PAGE_CHANGES },
	{ { "cookies", "set", "a", "b" }, "dddd", PAGE_CHANGES },
	{ { "storage", "local", "set", "a", "b" }, "dddd", PAGE_CHANGES },
	{ { "storage", "local", "get", "a" }, "rrrr", PAGE_CHANGES },
	{ { "upload", "@e1", "x" }, "dddd", PAGE_CHANGES },
	{ { "drag", "@e1", "@e2" }, "dddd", PAGE_CHANGES },
	{ { "dialog", "accept" }, "dddd", PAGE_CHANGES },
	{ { "network", "requests" }, "dddd", PAGE_CHANGES },
	{ { "connect", "9222" }, "dddd", PAGE_CHANGES },
	{ { "confirm", "1" }, "dddd", PAGE_CHANGES },
	{ { "mcp", "call", "agent_browser_click", "{}" }, "dddd", PAGE_CHANGES },
	{ { "clipboard", "paste" }, "rdrd", PAGE_CHANGES },
	{ { "close" }, "rrrr", PAGE_ENDS },
	{ { "close", "--all" }, "dddd", PAGE_ENDS },
	/* unknown: reviewed, never allowed */
	{ { "frobnicate" }, "rrrr", PAGE_CHANGES },
	{ { "cookies", "bake" }, "rrrr", PAGE_CHANGES },
	{ { "get", "text", "--frobnicate" }, "dddd", PAGE_KEEPS },
	/* overrides, before and behind */
	{ { "--session", "x", "snapshot" }, "dddd", PAGE_SHOWS },
	{ { "snapshot", "--session", "x" }, "dddd", PAGE_SHOWS },
	{ { "snapshot", "--session=x" }, "dddd", PAGE_SHOWS },
	{ { "--", "--session", "x", "snapshot" }, "dddd", PAGE_CHANGES },
	{ { "--json", "--cdp", "9222", "get", "url" }, "dddd", PAGE_KEEPS },
	{ { "get", "url", "-p", "x" }, "dddd", PAGE_KEEPS },
	{ { "get", "url", "--max-output", "--session" }, "dddd", PAGE_KEEPS },
	{ { "get", "url", "--no-auto-dialog" }, "dddd", PAGE_KEEPS },
};

static void its_words_mean_the_same_at_an_exec_and_in_text(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		const char *argv[WORDS + 2] = { "agent-browser" };
		char found[5] = "";
		unsigned which;
		struct decision d;

		memcpy(argv + 1, commands[i].words, sizeof(commands[i].words));
		for (which = 0; which < 4; which++) {
			struct action action = { .kind = ACTION_EXEC, .argv = argv, .program = "/usr/bin/agent-browser", .environment = launch_environment,
						 .cwd = "/workspace", .snapshot_holds = which >= 2 };

			d = ask(which % 2 ? MODE_OBSERVE : MODE_GUARDED, SESSION_USER, action);
			found[which] = letter(&d);
			assert_int_equal(d.page, commands[i].page);
			/* The npm package's own name for the same program. */
			action.program = "/usr/lib/node_modules/agent-browser/bin/agent-browser-linux-x64";
			d = ask(which % 2 ? MODE_OBSERVE : MODE_GUARDED, SESSION_USER, action);
			assert_int_equal(letter(&d), found[which]);
			/* In text nobody knows what a snapshot shows; a fetch may be in scope there. */
			action.program = NULL;
			d = ask(which % 2 ? MODE_OBSERVE : MODE_GUARDED, SESSION_USER, action);
			if (which < 2 && strcmp(argv[1], "open") != 0 && strcmp(argv[1], "screenshot") != 0)
				assert_int_equal(letter(&d), found[which]);
		}
		if (strcmp(found, commands[i].expected) != 0)
			print_error("%s %s: expected %s\n", argv[1], argv[2] ? argv[2] : "", commands[i].expected);
		assert_string_equal(found, commands[i].expected);
	}
}

static void a_refused_interaction_says_why(void **state)
{
	static const char *const argv[] = { "agent-browser", "click", "@e1", NULL };
	struct action action = { .kind = ACTION_EXEC, .argv = argv, .program = "/usr/bin/agent-browser", .environment = launch_environment };
	struct decision d = ask(MODE_GUARDED, SESSION_USER, action);

	(void)state;
	assert_string_equal(d.tag, "stale_snapshot");
	assert_non_null(strstr(d.hint, "snapshot"));
	action.snapshot_holds = true;
	d = ask(MODE_OBSERVE, SESSION_USER, action);
	assert_string_equal(d.tag, "target_mutation");
}

static void its_variables_are_those_of_the_launch(void **state)
{
	static const char *const argv[] = { "agent-browser", "snapshot", NULL };
	static const struct { const char *environment[6]; char expected; } cases[] = {
		{ { "PATH=/usr/bin:/bin", "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080" }, 'a' },
		{ { "PATH=/opt/x", "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080", "OTHER=1" }, 'a' },
		{ { "HOME=/home/agent", "AGENT_BROWSER_SESSION=b-2", "http_proxy=http://127.0.0.1:48080" }, 'd' },
		{ { "HOME=/home/agent", "http_proxy=http://127.0.0.1:48080" }, 'd' },
		{ { "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1" }, 'd' },
		{ { "HOME=/tmp/x", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080" }, 'd' },
		{ { "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080", "AGENT_BROWSER_CONFIG=/tmp/x" }, 'd' },
		{ { "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080", "AGENT_BROWSER_SESSION=b-2" }, 'd' },
		{ { "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080", "HTTPS_PROXY=http://127.0.0.1:1" }, 'd' },
		{ { "HOME=/home/agent", "AGENT_BROWSER_SESSION=a-1", "http_proxy=http://127.0.0.1:48080", "XDG_RUNTIME_DIR=/tmp" }, 'd' },
		{ { NULL }, 'd' },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct action action = { .kind = ACTION_EXEC, .argv = argv, .program = "/usr/bin/agent-browser", .environment = cases[i].environment };
		struct decision d = ask(MODE_GUARDED, SESSION_USER, action);

		assert_int_equal(letter(&d), cases[i].expected);
		if (cases[i].expected == 'd')
			assert_string_equal(d.tag, "environment");
	}
}

/* At its exec the tool's words are all that will be known, too: guarded, observe, without a scope and with one. */
static void a_page_is_opened_where_it_is_declared(void **state)
{
	static const struct { const char *command, *url, *expected; } cases[] = {
		{ "open", "http://target.test/a", "rraa" },
		{ "goto", "target.test", "rraa" },
		{ "open", "http://target.test:8443/", "rrrd" },
		{ "open", "http://other.test/", "rrrd" },
		{ "open", "http://target.test/account/delete", "rdrd" },
		{ "open", "http://10.1.2.3/", "ddrd" },
		{ "open", "http://169.254.169.254/latest/", "dddd" },
		{ "open", "http://127.0.0.1:9222/json", "dddd" },
		{ "open", "http://127.0.0.1:8000/", "rrrr" },	/* whether an agent listens there is asked when it connects */
		{ "open", "file:///etc/passwd", "dddd" },
		{ "read", "http://target.test/a", "rrrr" },
	};
	static const enum mode modes[] = { MODE_GUARDED, MODE_OBSERVE };
	struct scope scope;

	(void)state;
	assert_int_equal(scope_parse("target.test:80", &scope, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases) * 4; i++) {
		const char *const argv[] = { "agent-browser", cases[i / 4].command, cases[i / 4].url, NULL };
		const struct action action = { .kind = ACTION_EXEC, .argv = argv, .program = "/usr/bin/agent-browser", .environment = launch_environment };
		struct judge_subject subject = subject_in(modes[i % 2], SESSION_USER);
		struct decision d;

		subject.scope = i % 4 >= 2 ? &scope : NULL;
		judge(policy, &subject, &action, &d);
		if (letter(&d) != cases[i / 4].expected[i % 4])
			print_error("%s %s, %zu: %c, %s\n", argv[1], argv[2], i % 4, letter(&d), d.reason);
		assert_int_equal(letter(&d), cases[i / 4].expected[i % 4]);
	}
	scope_free(&scope);
}

static void browsers_run_in_sessions_only(void **state)
{
	static const struct { const char *program, *interpreter; char none, user, daemon; const char *word; } cases[] = {
		{ "/usr/lib/chromium/chromium", NULL, 'd', 'd', 'a', NULL },
		{ "/usr/lib/chromium/chrome_crashpad_handler", NULL, 'd', 'd', 'a', NULL },
		{ "/home/agent/.cache/ms-playwright/chromium-1/chrome-linux/chrome", NULL, 'd', 'd', 'd', NULL },
		{ "/usr/bin/geckodriver", NULL, 'd', 'd', 'd', NULL },
		{ "/usr/bin/chromium", "/usr/bin/dash", 'd', 'd', 'd', NULL },
		{ "/workspace/tool", NULL, 'r', 'r', 'd', "--headless" },
		{ "/workspace/tool", NULL, 'd', 'd', 'd', "--remote-debugging-port=0" },
		{ "/tmp/tool", NULL, 'd', 'd', 'd', "--type=zygote" },
		{ "/workspace/tool", "/usr/bin/dash", 'r', 'r', 'd', "--dump-dom" },
		{ "/usr/bin/cat", NULL, 'a', 'a', 'd', "--dump-dom" },
		{ "/usr/bin/agent-browser", NULL, 'a', 'a', 'a', NULL },
		{ "/usr/bin/agent-browser", "/usr/bin/node", 'r', 'r', 'd', NULL },
		{ "/usr/bin/cat", NULL, 'a', 'a', 'd', NULL },
		{ "/usr/bin/dash", NULL, 'a', 'a', 'd', NULL },
		{ "/workspace/chromium", NULL, 'd', 'd', 'd', NULL },
	};
	struct judge_subject subject = subject_in(MODE_GUARDED, SESSION_NONE);
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const argv[] = { "x", cases[i].word, NULL };
		struct action action = { .kind = ACTION_EXEC, .argv = argv, .program = cases[i].program, .interpreter = cases[i].interpreter,
					 .environment = launch_environment };
		const char expected[] = { cases[i].none, cases[i].user, cases[i].daemon };
		unsigned session;

		for (session = SESSION_NONE; session <= SESSION_DAEMON; session++) {
			struct decision d;

			subject.session = (enum session_role)session;
			judge(policy, &subject, &action, &d);
			if (letter(&d) != expected[session])
				print_error("%s, session %u\n", cases[i].program, session);
			assert_int_equal(letter(&d), expected[session]);
		}
	}
}

static void only_the_sessions_tool_connects_to_it(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(40001), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct { struct action action; char expected; } cases[] = {
		{ { .path = "/run/cordon-browser/a-1/run/a-1.sock" }, 'a' },
		{ { .path = "/run/cordon-browser/a-1/run/a-1.sock", .of_session = true }, 'd' },
		{ { .path = "/run/cordon-browser/a-1/run/a-1.sock", .of_session = true, .session_client = true }, 'a' },
		{ { .address = (struct sockaddr *)&in, .address_bytes = sizeof(in), .agent_listens = true }, 'a' },
		{ { .address = (struct sockaddr *)&in, .address_bytes = sizeof(in), .agent_listens = true, .of_session = true }, 'd' },
		{ { .address = (struct sockaddr *)&in, .address_bytes = sizeof(in), .agent_listens = true, .of_session = true, .session_client = true }, 'a' },
		{ { .address = (struct sockaddr *)&in, .address_bytes = sizeof(in), .of_session = true, .session_client = true }, 'd' },
	};
	const sa_family_t unix_family = AF_UNIX;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct action action = cases[i].action;
		struct decision d;

		action.kind = ACTION_CONNECT;
		action.socket_type = SOCK_STREAM;
		if (!action.address) {
			action.address = (const struct sockaddr *)&unix_family;
			action.address_bytes = sizeof(unix_family);
		}
		d = ask(MODE_GUARDED, SESSION_USER, action);
		assert_int_equal(letter(&d), cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_words_mean_the_same_at_an_exec_and_in_text),
		cmocka_unit_test(a_refused_interaction_says_why),
		cmocka_unit_test(its_variables_are_those_of_the_launch),
		cmocka_unit_test(a_page_is_opened_where_it_is_declared),
		cmocka_unit_test(browsers_run_in_sessions_only),
		cmocka_unit_test(only_the_sessions_tool_connects_to_it),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
