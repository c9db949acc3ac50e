/* SPDX-License-Identifier: Apache-2.0 */
/* What command lines do, by the shipped data: each style of options, operands with a meaning, and the tricks that hide an option. */
#include "supervisor/judge/arguments.h"

#include "supervisor/analyze/programs.h"
#include "supervisor/base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/shipped_policy.h"

/* A line is split at blanks; "~" in a word stands for one, "$" at its start makes it dynamic, "*" in it a glob. */
static size_t split(const char *line, char *storage, const char **words, uint8_t *flags)
{
	char *rest = storage, *word;
	size_t nr = 0;

	strcpy(storage, line);
	while ((word = strsep(&rest, " "))) {
		char *c;

		flags[nr] = *word == '$' ? WORD_DYNAMIC | WORD_SPLITS : *word == '%' ? WORD_DYNAMIC : WORD_STATIC;
		for (c = word; *c; c++)
			if (*c == '~')
				*c = ' ';
		words[nr++] = word;
	}
	return nr;
}

static void parse(const char *line, struct arguments *ret)
{
	static char storage[1024];
	static const char *words[64];
	static uint8_t flags[64];
	size_t nr = split(line, storage, words, flags);
	const struct command *command = policy_command(policy, words[0]);

	assert_non_null(command);
	arguments_parse(command, (struct words){ words, flags, nr }, 0, ret);
}

#define R EFFECT_READ
#define W EFFECT_WRITE
#define D EFFECT_DELETE
#define C EFFECT_CODE
#define U EFFECT_UNKNOWN
#define F EFFECT_FETCH
#define N EFFECT_NETWORK
#define M EFFECT_NETWORK_MUTATE
#define L EFFECT_LOAD
#define S EFFECT_STATE

static const struct { const char *line; unsigned effects; } lines[] = {
	/* getopt_long: clusters, glued and separate values, "=", abbreviations, permutation, "--", repeats */
	{ "sort f", R }, { "sort -k2 -rn f", R }, { "sort -uoout f", R | W }, { "sort f -o out", R | W }, { "sort --output=out f", R | W },
	{ "sort --output out f", R | W }, { "sort --outp=out f", R | W }, { "sort --out out f", R | W }, { "sort -- -o out", R }, { "sort -o - f", R | W }, { "sort -o /dev/null f", R },
	{ "sort --co=sh f", R | C }, { "sort --unknown f", R | U }, { "sort -Y f", R | U }, { "sort -k", R | U | EFFECT_TYPED }, { "sort -ko f", R }, { "sort --r f", R | U },
	{ "sort -t -o f", R }, { "sort -no f", R | W | EFFECT_TYPED }, { "head -20 f", R }, { "uniq -3 f", R }, { "grep -A3 x f", R },
	/* words nobody knows */
	{ "sort $x", R | U }, { "sort %x", R | U }, { "sort -- $x", R }, { "cat $x", R }, { "ls %x", R }, { "uniq f $x", R | W }, { "uniq -- f %x", R | W }, { "rm -f $x", D | U },
	{ "find %x", R | U }, { "git $x", R | U | EFFECT_DYNAMIC },
	/* operands with a meaning */
	{ "uniq a", R }, { "uniq a b", R | W }, { "uniq a b c", R | W | U }, { "xxd a", R }, { "xxd -r a b", R | W }, { "cp a b", W }, { "tee", R }, { "tee /dev/null", R }, { "tee x", R | W },
	{ "date +%s", R }, { "date 010100002020", R | EFFECT_SYSTEM }, { "date -d now +%F", R }, { "hostname", R | S }, { "hostname x", R | S | EFFECT_SYSTEM },
	{ "chmod 755 a", W }, { "chmod +x a", W }, { "chmod 777 a", W | EFFECT_PERMISSION }, { "chmod u+s a", W | EFFECT_PERMISSION }, { "chmod -R 755 a", W | EFFECT_PERMISSION },
	{ "chmod /workspace/x", EFFECT_WRITE | EFFECT_PERMISSION },
	/* one dash or two; letters with values that a long name does not take away */
	{ "nmap -sL target.test", F }, { "nmap -sV -p80 -T4 -Pn h", N }, { "nmap -oN out h", N | W }, { "nmap -script=./x h", N | M | C }, { "nmap --script ./x h", N | M | C },
	{ "nmap --script default h", N }, { "nmap --script=vuln,dos h", N | EFFECT_FLOOD }, { "nmap --datadir d h", N | L }, { "nmap -iR 10", N | EFFECT_FLOOD },
	{ "openssl x509 -in c -noout -text", R }, { "openssl x509 -in c -out d", R | W }, { "openssl req -engine x", R | L }, { "openssl s_client -connect h:1", N },
	/* find */
	{ "find . -name *.py", R }, { "find . -delete", R | D }, { "find . -fprint x", R | W }, { "find . -fprintf x p", R | W }, { "find . -name -delete", R }, { "find . -newerXX y", R | U },
	{ "find -L . ( -name a -o -name b ) -print0", R }, { "find . -exec rm {} ;", R }, { "find . -ok ls ;", R | EFFECT_DYNAMIC }, { "find . -exec", R | U },
	/* dd */
	{ "dd if=a of=/dev/null bs=1M", R }, { "dd if=a of=b", R | W }, { "dd if=a xx=b", R | U }, { "dd a", R | U },
	/* bundles */
	{ "tar tf a", R }, { "tar -tvf a", R }, { "tar xf a", W }, { "tar xf a --to-command=x", W | C }, { "tar tf a -Ix", R | C }, { "tar cf a --checkpoint-a=exec=sh b", W | C },
	{ "tar cf a --checkpoint-action=dot b", W }, { "tar tfv a", R }, { "tar tf h:a", R | C | N }, { "tar cf a --remove-files b", W | D }, { "ar t a", R }, { "7z l a", R }, { "7z x a -o/x", W },
	/* subcommands, global options before and after them */
	{ "git log -5 --oneline", R }, { "git log --output=x", R | W }, { "git -C x log", R | C }, { "git -c a=b log", R | L }, { "git -ca=b log", R | L }, { "git --exec-path=x log", R | L },
	{ "git branch -a", R }, { "git branch x", R | W }, { "git branch -D x", R | W | D }, { "git stash drop", D }, { "git stash list", R }, { "git clean -fd", D }, { "git clean -nfd", R },
	{ "git reset --har", W | C | D }, { "git checkout main", W | C }, { "git checkout -- f", W | C | D }, { "git checkout HEAD f", W | C | D }, { "git push", EFFECT_PUBLISH },
	{ "git ls-remote --upload-pa=x .", N | W | C | L }, { "git grep -Osh x", C | L }, { "git grep --open-f=sh x", C | L }, { "git frobnicate", U }, { "git config --get a.b", R },
	{ "git config core.pager x", R | EFFECT_PERSIST }, { "git config core.pager", R }, { "git config user.name x", W },
	{ "docker ps", N | S }, { "docker rm -f x", EFFECT_PUBLISH }, { "docker volume ls", N | S }, { "docker -H tcp://x ps", N | S | L },
	{ "kubectl get pods -n x", N }, { "kubectl -n x delete pod y", EFFECT_PUBLISH }, { "kubectl delete pod y --dry-run=client", N }, { "kubectl get secrets", N | EFFECT_SECRET },
	{ "ip a", R | S }, { "ip -br link show", R | S }, { "ip link set eth0 down", R | S | EFFECT_SYSTEM }, { "ip route del default", R | S | EFFECT_SYSTEM }, { "ip -b f", R | S | C },
	{ "systemctl status x", R | S }, { "systemctl poweroff", EFFECT_POWER | EFFECT_HARDLINE }, { "pip list", R }, { "pip uninstall -y x", D }, { "apt list", R },
	{ "apt-get -o APT::Update::Pre-Invoke::=id update", N | W | C | L }, { "npm publish", EFFECT_PUBLISH }, { "npm ls", R },
	/* values that count; options that only count without another */
	{ "curl http://h/", F }, { "curl -X GET http://h/", F }, { "curl -XDELETE http://h/", F | M }, { "curl --request=PUT http://h/", F | M }, { "curl -X GET -X POST http://h/", F | M },
	{ "curl -d x http://h/", F | M }, { "curl -Gd x http://h/", F }, { "curl -sd@f http://h/", F | M | EFFECT_UNSEEN }, { "curl -L http://h/", F | N }, { "curl -o x http://h/", F | W },
	{ "curl -o - http://h/", F }, { "curl --upload-f a http://h/", F | M }, { "curl --trace-a t http://h/", F | W }, { "curl -x p http://h/", F | EFFECT_UNSEEN }, { "curl", F | EFFECT_DYNAMIC },
	{ "curl -H X-HTTP-Method-Override:~DELETE http://h/", F | M }, { "curl -H authorization:~x http://h/", F | N }, { "curl -H Accept:~x http://h/", F },
	{ "wget http://h/", F | W }, { "wget -qO- http://h/", F }, { "wget -q --spider http://h/", F }, { "wget --meth=POST -O - http://h/", F | M }, { "wget --use-askpass=x http://h/", F | W | L },
	{ "http GET h", F }, { "http h a=1", F | M }, { "http h a==1", F }, { "http DELETE h", F | M }, { "xh post h", F | M },
	{ "ssh -oProxyCommand=x h", N | M | L }, { "ssh -o proxycommand~x h", N | M | L }, { "ssh -o LogLevel=ERROR h", N | M },
	{ "kill -l", R }, { "kill -0 12", R }, { "kill -9 12", EFFECT_SIGNAL }, { "kill -0 -9 12", EFFECT_SIGNAL }, { "kill -9 -1", EFFECT_SIGNAL | EFFECT_HARDLINE }, { "sudo -S ls", EFFECT_ELEVATE | EFFECT_HARDLINE },
	{ "sqlite3 -readonly -safe d select~1", R }, { "sqlite3 -readonly d .shell~id", C | W }, { "sqlite3 d DROP~TABLE~x", C | W | D }, { "sqlite3 d DELETE~FROM~x", C | W | D },
	/* helpers and queries */
	{ "rg --pre sh x", R | C }, { "rg --pre=sh x", R | C }, { "rg -uz x", R | C }, { "fd -x rm", R }, { "fd -xrm", R | EFFECT_DYNAMIC }, { "man -P x ls", R | C }, { "man --pag=x ls", R | C },
	{ "less +!id f", R | C }, { "python3 --version", R }, { "python3 -V", R }, { "python3 -c exec(x)", C | EFFECT_DYNAMIC }, { "python3 -c print(1)", C }, { "python3", C | EFFECT_DYNAMIC },
	{ "python3 -m http.server", C | EFFECT_LISTEN }, { "node -e x", C | EFFECT_DYNAMIC }, { "command -v ls", R }, { "command ls", EFFECT_WRAP }, { "env", EFFECT_SECRET },
	{ "agent-browser snapshot -i", R }, { "agent-browser snapshot --cdp 9222", R | L }, { "agent-browser --bogus x snapshot", L | U }, { "agent-browser open file:///x", F | L },
};

static const char *spell(unsigned effects, char *text, size_t bytes)
{
	size_t used = 0;
	unsigned i;

	text[0] = '\0';
	for (i = 0; i < EFFECT_COUNT && used < bytes; i++)
		if (effects & 1u << i)
			used += (size_t)snprintf(text + used, bytes - used, "%s ", effect_name((enum effect)(1u << i)));
	return text;
}

static void command_lines_do_what_the_tool_would(void **state)
{
	static struct arguments a;
	size_t i, wrong = 0;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(lines); i++) {
		char expected[512], got[512];

		parse(lines[i].line, &a);
		if (a.effects == lines[i].effects)
			continue;
		wrong++;
		print_error("%s: expected %sgot %s\n", lines[i].line, spell(lines[i].effects, expected, sizeof(expected)), spell(a.effects, got, sizeof(got)));
	}
	assert_int_equal(wrong, 0);
}

static void words_keep_their_roles(void **state)
{
	static const struct { const char *line; enum role role; const char *text; } cases[] = {
		{ "sort -oout f", ROLE_WRITE, "out" }, { "sort f --output=x", ROLE_WRITE, "x" }, { "cp -t dir a b", ROLE_WRITE, "dir" }, { "cp a b c", ROLE_WRITE, "c" }, { "rm -rf x", ROLE_DELETE, "x" },
		{ "curl --url http://h/ -s", ROLE_URL, "http://h/" }, { "dig @ns h MX", ROLE_HOST, "h" }, { "timeout -k 5 10 ls x", ROLE_COMMAND, "ls" }, { "env -- B=2 ls", ROLE_COMMAND, "ls" },
		{ "env A=1 ls", ROLE_ASSIGNMENT, "A=1" }, { "find . -exec rm {} +", ROLE_COMMAND, "rm" }, { "find . -exec a ; -exec b ;", ROLE_COMMAND, "b" }, { "xargs -n1 -I{} ls {}", ROLE_COMMAND, "ls" },
		{ "nice -n 5 ls", ROLE_COMMAND, "ls" }, { "flock f ls", ROLE_COMMAND, "ls" }, { "ssh h ls -l", ROLE_COMMAND, "ls" }, { "ssh -p 22 u@h", ROLE_HOST, "u@h" }, { "sed -n p f", ROLE_SED, "p" },
		{ "sed -e p -e d f", ROLE_SED, "d" }, { "awk -F: {print} f", ROLE_AWK, "{print}" }, { "python3 -u x.py -c", ROLE_SCRIPT, "x.py" }, { "flock f -c ls", ROLE_COMMAND, "ls" }, { "dd of=x", ROLE_WRITE, "x" },
		{ "tar xf a -C d", ROLE_WRITE, "d" }, { "sudo -u x ls", ROLE_COMMAND, "ls" }, { "busybox rm x", ROLE_COMMAND, "rm" },
	};
	static struct arguments a;
	size_t i, n;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		parse(cases[i].line, &a);
		for (n = 0; n < a.nr_items && !(a.items[n].role == cases[i].role && strcmp(a.items[n].text, cases[i].text) == 0); n++)
			;
		if (n == a.nr_items)
			fail_msg("%s: no word '%s' with role %d", cases[i].line, cases[i].text, cases[i].role);
	}
}

static void too_many_words_are_not_known(void **state)
{
	static const char *words[3000];
	static struct arguments a;
	size_t i;

	(void)state;
	words[0] = "sort";
	for (i = 1; i < ARRAY_SIZE(words); i++)
		words[i] = i % 2 ? "-ox" : "f";
	arguments_parse(policy_command(policy, "sort"), (struct words){ words, NULL, ARRAY_SIZE(words) }, 0, &a);
	assert_true(a.effects & EFFECT_UNKNOWN && a.effects & EFFECT_WRITE);
}

static void sed_programs_are_read(void **state)
{
	static const struct { const char *text; bool runs, writes; } cases[] = {
		{ "p", false, false }, { "1,20p", false, false }, { "/a/,/b/p", false, false }, { "s/a/b/", false, false }, { "s/a/b/gI; s|/x|/y|2p", false, false }, { "$!{h;d};x", false, false }, { "1~2d", false, false },
		{ "s/\\/e/x/", false, false }, { "s/[/]e/", false, false }, { ":a;N;$!ba;s/\\n/ /g", false, false }, { "a\\ e id", false, false }, { "y/abc/xyz/", false, false }, { "# e id", false, false }, { "\\,e,p", false, false },
		{ "s/a/b/e", true, false }, { "e id", true, false }, { "1e", true, false }, { "1!e id", true, false }, { "$!{h;d};x;e id", true, false }, { "s#.*#id#e", true, false }, { "p;e", true, false }, { "a x\ne id", true, false },
		{ "w out", false, true }, { "s/a/b/w out", false, true }, { "s/a/b/gw out", false, true }, { "1W out", false, true }, { "s/a/b/ew x", true, true }, { "s/a", true, false }, { "K", true, false }, { "/a", true, false },
	};
	struct program_facts facts;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		sed_read(cases[i].text, &facts);
		if (facts.runs != cases[i].runs || facts.writes != cases[i].writes)
			fail_msg("sed '%s': runs %d, writes %d", cases[i].text, facts.runs, facts.writes);
		if (facts.writes)
			assert_true(strcmp(facts.file, "out") == 0 || strcmp(facts.file, "x") == 0);
	}
}

static void awk_programs_are_read(void **state)
{
	static const struct { const char *text; bool runs, writes; } cases[] = {
		{ "{print $1}", false, false }, { "NR==1{print} END{print NR}", false, false }, { "$3 > 100 && $2 != \"x\"", false, false }, { "/a|b/ {print $2}", false, false }, { "{print (a > b)}", false, false },
		{ "{x = $1 / 2; y = 3 / x; print x}", false, false }, { "$1 ~ /[/|>]/", false, false }, { "{print > \"/dev/stderr\"}", false, false }, { "{print \"a > b | c\"}", false, false }, { "{sum += $1} END {print sum/NR}", false, false },
		{ "{print > \"out\"}", false, true }, { "{print $1 >> \"out\"}", false, true }, { "{print(a) > \"out\"}", false, true }, { "{printf \"%s\", $1 > f}", false, true },
		{ "BEGIN{system(\"id\")}", true, false }, { "{print | \"sh\"}", true, false }, { "BEGIN{\"id\"|getline x}", true, false }, { "BEGIN{f=\"system\"; @f(\"id\")}", true, false }, { "BEGIN{s=\"/inet/tcp/0/h/80\"}", true, false },
		{ "{getline < \"f\"}", true, false }, { "@load \"x\"", true, false }, { "{print \"unterminated}", true, false }, { "{a = 1 `x`}", true, false },
	};
	struct program_facts facts;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		awk_read(cases[i].text, &facts);
		if (facts.runs != cases[i].runs || facts.writes != cases[i].writes)
			fail_msg("awk '%s': runs %d, writes %d", cases[i].text, facts.runs, facts.writes);
	}
	awk_read("BEGIN{system(\"rm -rf x\")}", &facts);
	assert_string_equal(facts.command, "rm -rf x");
}

static void globs_match_whole_texts(void **state)
{
	static const struct { const char *pattern, *text; bool fold, expected; } cases[] = {
		{ "", "", false, true }, { "*", "", false, true }, { "a*", "abc", false, true }, { "a*c", "abcb", false, false }, { "*b*", "abc", false, true }, { "a?c", "abc", false, true }, { "a?c", "ac", false, false },
		{ "[0-7][0145]", "75", false, true }, { "[0-7][0145]", "77", false, false }, { "[!a]b", "cb", false, true }, { "[!a]b", "ab", false, false }, { "A*", "abc", true, true }, { "A*", "abc", false, false },
		{ "*delete *from*", "xDELETE a FROM b", true, true }, { "[a", "a", false, true }, { "a[", "a", false, false },
	};
	char long_text[20001];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (glob_match(cases[i].pattern, cases[i].text, cases[i].fold) != cases[i].expected)
			fail_msg("%s ~ %s", cases[i].text, cases[i].pattern);
	memset(long_text, 'a', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	assert_false(glob_match("*a*a*a*a*b", long_text, false));
}

static void globs_match_parts_of_paths(void **state)
{
	static const struct { const char *pattern, *text; bool expected; } cases[] = {
		{ "a/b", "a/c", true }, { "a/b", "a", true }, { "a", "a/c", true }, { "a/b", "ab/c", false }, { "*/b", "a/c", true }, { "a*/b", "a/b", true }, { "?", "a/b", true },
		{ "?/b", "/b", false }, { "*", "", true }, { "/a", "/b", true }, { "[a/]", "a/", true }, { "[b-/a]", "/", false }, { "[!a/b]", "b/", true }, { "*c", "a/c", false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		if (glob_match_part(cases[i].pattern, cases[i].text) != cases[i].expected)
			fail_msg("%s ~ %s", cases[i].text, cases[i].pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(command_lines_do_what_the_tool_would),
		cmocka_unit_test(words_keep_their_roles),
		cmocka_unit_test(too_many_words_are_not_known),
		cmocka_unit_test(sed_programs_are_read),
		cmocka_unit_test(awk_programs_are_read),
		cmocka_unit_test(globs_match_whole_texts),
		cmocka_unit_test(globs_match_parts_of_paths),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
