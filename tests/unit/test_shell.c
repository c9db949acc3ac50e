/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shell reader: tables of texts and what is found in them. Found commands are written "[word word]": a word known at run time
 * only is "?" when it is one argument, "*" when it may be any number. Then evaluations: "A"rithmetic, "N"ame, "T"ext, "F"ile,
 * "R"emap, "P"lugin. "!" is a problem.
 */
#include "supervisor/analyze/shell.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

static struct arena arena;
static struct shell_script script;
static struct shell_problem problem;

static int set_up(void **state)
{
	(void)state;
	arena = (struct arena){ malloc(SHELL_ARENA_BYTES), SHELL_ARENA_BYTES, 0 };
	return arena.data ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(arena.data);
	return 0;
}

/* Reads from a copy of exactly the text's length, so that a byte too far is seen. */
static int read_bytes(const char *text, size_t len, enum shell_dialect dialect)
{
	static char *copy;

	free(copy);
	copy = malloc(len ? len : 1);
	assert_non_null(copy);
	memcpy(copy, text, len);
	arena.used_bytes = 0;
	return shell_read((struct bytes){ copy, len }, dialect, SHELL_LIMITS, &arena, &script, &problem);
}

static int read_text(const char *text, enum shell_dialect dialect)
{
	return read_bytes(text, strlen(text), dialect);
}

static size_t add_bytes(char *line, size_t used, size_t size, struct bytes b)
{
	assert_true(used + b.len < size);
	memcpy(line + used, b.data, b.len);
	line[used + b.len] = '\0';
	return used + b.len;
}

static size_t add_word(char *line, size_t used, size_t size, const struct shell_word *word)
{
	if (!word->why)
		return add_bytes(line, used, size, word->value);
	return add_bytes(line, used, size, bytes_of(word->single ? "?" : "*"));
}

static const char *found(const char *text, enum shell_dialect dialect)
{
	static char line[4096];
	const struct shell_evaluation *e;
	size_t used = 0, i, w;

	if (read_text(text, dialect) < 0) {
		assert_true(problem.offset <= strlen(text));
		assert_non_null(problem.sentence);
		return "!";
	}
	line[0] = '\0';
	for (i = 0; i < script.nr_commands; i++) {
		const struct shell_command *c = script.commands[i];

		assert_int_equal(c->index, i);
		assert_true(!c->parent || c->parent->index < i);
		if (c->kind != SHELL_SIMPLE)
			continue;
		for (w = 0; w < c->nr_words; w++) {
			used = add_bytes(line, used, sizeof(line), bytes_of(w ? " " : "["));
			used = add_word(line, used, sizeof(line), c->words[w]);
		}
		if (c->nr_words)
			used = add_bytes(line, used, sizeof(line), bytes_of("]"));
	}
	for (e = script.evaluations; e; e = e->next)
		used = add_bytes(line, used, sizeof(line), (struct bytes){ &"ANTFRP"[e->what], 1 });
	return line;
}

struct reading {
	const char *text, *found;
};

static void check(const struct reading *table, size_t nr, enum shell_dialect dialect)
{
	size_t i, bad = 0;

	for (i = 0; i < nr; i++) {
		const char *got = found(table[i].text, dialect);

		if (strcmp(got, table[i].found) == 0)
			continue;
		print_error("%s\n  expected %s\n  found    %s (%s at %zu)\n", table[i].text, table[i].found, got,
			    got[0] == '!' ? problem.sentence : "", problem.offset);
		bad++;
	}
	assert_int_equal(bad, 0);
}
#define CHECK(table, dialect) check(table, sizeof(table) / sizeof((table)[0]), dialect)

static void words_and_quotes(void **state)
{
	static const struct reading table[] = {
		{ "", "" },
		{ "ls -la /tmp", "[ls -la /tmp]" },
		{ "r\\m r''m \"r\"m $'\\x72m' r\\\nm", "[rm rm rm rm rm]" },
		{ "echo 'a b' \"c d\" e\\ f", "[echo a b c d e f]" },
		{ "echo $'\\t\\n\\101\\u41\\U0041\\cA\\'\\\"\\\\\\z'", "[echo \t\nAAA\001'\"\\\\z]" },
		{ "echo $'a\\0b'", "!" },
		{ "echo $'\\u2713' $\"rm\"", "[echo ? ?]T" },
		{ "echo \"$'x'\" '\\\n'", "[echo $'x' \\\n]" },
		{ "echo \"a\\$b\\`c\\\"d\\\\e\\f\\\ng\"", "[echo a$b`c\"d\\e\\fg]" },
		{ "echo a#b #c 'd", "[echo a#b]" },
		{ "echo a # it's\nrm -rf / # it's", "[echo a][rm -rf /]" },
		{ "echo # c\\\nrm x", "[echo][rm x]" },
		{ "ls\r\nrm\vx", "[ls\r][rm\vx]" },
		{ "rm\xc2\xa0x", "[rm\xc2\xa0x]" },
		{ "echo $ a$ $% \"$\"", "[echo $ a$ $% $]" },
		{ "echo $x \"$x\" a\"$x\"b $@ \"$@\" \"${a[@]}\" \"$*\" $1 $10", "[echo * ? ? * * * ? * *]" },
		{ "ec\\\nho \\\n a\\\nb", "[echo ab]" },
		{ "{rm,-rf,/}", "[rm -rf /]" },
		{ "{r,}m -rf /", "[rm m -rf /]" },
		{ "echo {a,$b} {1..3} {a} {} {a,b c} '{a,b}' \\{a,b}", "[echo * * {a} {} {a,b c} {a,b} {a,b}]" },
		{ "echo {$,}HOME", "!" },
		{ "echo *.txt [a]b \\* \"*\" a?", "[echo * * * * *]" },
		{ "[ a = b ]", "[[ a = b ]]" },
		{ "echo ~ a~ ~/x x=~ x=a:~ h:~/x \"~\"", "[echo ? a~ ? ? ? h:~/x ~]" },
		{ "shopt -s extglob\nls !(a|b) @($(id))", "[shopt -s extglob][ls * *][id]" },
		{ "!(id)", "!" },
		{ "echo 'unterminated", "!" },
		{ "echo \"unterminated", "!" },
		{ "echo \\", "!" },
		{ "echo a\001b", "!" },
		{ "echo a\177b", "!" },
	};

	(void)state;
	CHECK(table, SHELL_BASH);
	assert_int_equal(read_bytes("ls\0x", 4, SHELL_BASH), -EBADMSG);
	assert_int_equal(problem.offset, 2);
}

static void lists_and_compounds(void **state)
{
	static const struct reading table[] = {
		{ "a;b&c\nd&&e||f|g|&h", "[a][b][c][d][e][f][g][h]" },
		{ "ls & rm -rf /x", "[ls][rm -rf /x]" },
		{ "(a; b) && { c; d; }", "[a][b][c][d]" },
		{ "! a; ! ! b; time c; time -p -- d; time; !", "[a][b][c][d]" },
		{ "time -x", "[-x]" },
		{ "if a; then b; elif c; then d; else e; fi", "[a][b][c][d][e]" },
		{ "while a; do b; done; until c\ndo d\ndone", "[a][b][c][d]" },
		{ "for x in a $(b); do c; done; for x; do d; done; for x do e; done; for x in a; { f; }", "[b][c][d][e][f]" },
		{ "for ((i=0;i<$(a);i++)); do b; done", "[a][b]A" },
		{ "select x in a; do b; done", "[b]" },
		{ "case $(a) in x) b;; (y|$(c)) d;& z) e;;& esac) f; esac", "!" },
		{ "case $(a) in x) b;; (y|$(c)) d;& z) e;;& (esac) f; esac", "!" },
		{ "case $(a) in x) b;; (y|$(c)) d;& z) e;;& (*) f; esac", "[a][b][c][d][e][f]" },
		{ "case x in x) rm -rf /;; esac", "[rm -rf /]" },
		{ "case x in\nesac", "" },
		{ "f() { rm x; }; f", "[rm x][f]" },
		{ "function f { a; }; function g() ( b ); h () if c; then d; fi", "[a][b][c][d]" },
		{ ":(){ :|:& };:", "[:][:][:]" },
		{ "coproc rm x; coproc X { a; }; coproc Y (b)", "[rm x][a][b]" },
		{ "[[ $(a) == b && ! ( -f $(c) || x < $(d) ) ]] && e", "[a][c][d][e]" },
		{ "[[ a =~ `rm x`a ]] ; [[ a =~ (b|$(c) d) ]]", "[rm x][c]" },
		{ "[[ $x -eq 1 ]]", "A" },
		{ "[[ $# -eq 1 ]]", "" },
		{ "[[ -v 'b[$(rm x)]' ]]", "[rm x]A" },
		{ "((a)); ((1+2))", "A" },
		{ "((a) | b)", "[a][b]" },
		{ "((a); (b))", "[a][b]" },
		{ "a=1 if b", "[if b]" },
		{ ">x if b", "[if b]" },
		{ "{a; }", "!" },
		{ "ls ;; pwd", "!" },
		{ "ls &&", "!" },
		{ "ls | | x", "!" },
		{ ";", "!" },
		{ "if a; fi", "!" },
		{ "then", "!" },
		{ "a )", "!" },
		{ "( a", "!" },
		{ "f() a", "!" },
		{ "a (b)", "!" },
		{ "{ a; } b", "!" },
		{ "{ find x;}| a", "[find x][a]" },
	};

	(void)state;
	CHECK(table, SHELL_BASH);
}

/* knowledge: kinds of valid bash in which a widely used grammar hides commands. */
static void what_others_hide(void **state)
{
	static const struct reading table[] = {
		{ "cat <<EOF\n EOF\ncat <<'X'\nEOF\nrm x\nX\n", "[cat][rm x][X]" },
		{ "cat <<EOF\nEOF \ncat <<'X'\nEOF\nrm x\nX\n", "[cat][rm x][X]" },
		{ "cat <<EOF\nEOF\r\ncat <<'X'\nEOF\nrm x\nX\n", "[cat][rm x][X]" },
		{ "cat <<EOF\na\\\nEOF\ncat <<'X'\nEOF\nrm x\nX\n", "[cat][rm x][X]" },
		{ "cat <<-EOF\n EOF\ncat <<'X'\n\tEOF\nrm x\nX\n", "[cat][rm x][X]" },
		{ "cat <<E'O'F\nx $(id)\nEOF\nrm x\n", "[cat][rm x]" },
		{ "cat <<EOF\n`rm x` ${q:-`rm y`}\nEOF\n", "[cat][rm x][rm y]" },
		{ "cat <<EOF\n${q:-'$(rm x)'}\nEOF\n", "!" },
		{ "echo `echo \\`rm x\\``", "[echo *][echo *][rm x]" },
		{ "echo ${x:-`rm a`} \"${x:=`rm b`}\" ${x:+`rm c`} ${x/`rm d`/`rm e`} ${x#`rm f`} ${x,,`rm g`}",
		  "[echo * ? * * * *][rm a][rm b][rm c][rm d][rm e][rm f][rm g]" },
		{ "echo ${x#$(rm a)} ${x%$(rm b)} ${x%%$(rm c)} ${x^^$(rm d)} ${x,,$(rm e)} ${y?$(rm f)}",
		  "[echo * * * * * *][rm a][rm b][rm c][rm d][rm e][rm f]" },
		{ "echo \"${x:-'$(rm x)'}\"", "!" },
		{ "echo ${x:-'$(rm x)'}", "[echo *]" },
		{ "rg --p\\\nre sh x", "[rg --pre sh x]" },
		{ "rm 2>/dev/null -rf /", "[rm -rf /]" },
		{ "[ a > f ]", "[[ a ]]" },
		{ "cat <<EOF |\nbody\nEOF\nbash", "[cat][bash]" },
		{ "\xef\xbb\xbfrm x", "[\xef\xbb\xbfrm x]" },
		{ "1a=2 x", "[1a=2 x]" },
		{ "cat <<E\\OF\n$(rm x)\nEOF\n", "[cat]" },
		{ "cat <<A <<B; a <<C\n1\nA\n$(b)\nB\nC\nc", "[cat][a][b][c]" },
		{ "cat <<EOF && a\nx\nEOF\nb", "[cat][a][b]" },
		{ "cat <<EOF & a\nx\nEOF\n", "[cat][a]" },
		{ "case x in y) a;;& esac", "[a]" },
		{ "3<>f a", "[a]" },
		{ "echo $((cd x; rm y) | cat)", "[echo *][cd x][rm y][cat]" },
		{ "a {fd}>f b", "[a b]" },
	};

	(void)state;
	CHECK(table, SHELL_BASH);
}

static void expansions(void **state)
{
	static const struct reading table[] = {
		{ "echo \"$(rm x)\" `rm y` $(rm z)", "[echo ? * *][rm x][rm y][rm z]" },
		{ "echo \"`echo \\\"a b\\\"`\"", "[echo ?][echo a b]" },
		{ "echo $(a $(b \"$(c `d`)\"))", "[echo *][a *][b ?][c *][d]" },
		{ "echo $(case x in x) a;; y) b; esac) $(# it's )\nc)", "[echo * *][a][b][c]" },
		{ "diff <(a) >(b) x<(c)", "[diff ? ? ?][a][b][c]" },
		{ "x=`rm a` y=\"$(rm b)\" z+=$(rm c)", "[rm a][rm b][rm c]" },
		{ "a[$(rm x)]=1; a=($(rm y) [`rm z`]=2)", "[rm x][rm y][rm z]AA" },
		{ "export X=$(rm x); declare -a b=(1 $(rm y))", "[export *][rm x][declare -a ?][rm y]" },
		{ "echo $((1+2)) $((0x1f)) $((x)) $[y] $((`a`)) \"$(( $(b) ))\"", "[echo * * * * * ?][a][b]AAAA" },
		{ "echo ${x:1:2} ${x:y} ${x:$(a)} ${x: -1}", "[echo * * * *][a]AA" },
		{ "echo ${#x} ${#} ${#x[@]} ${!x} ${!x*} ${!x[@]} ${!} ${x@Q} ${x@P} ${x[1]} ${x[i]}", "[echo * * * * * * * * * * *]NTA" },
		{ "echo ${ ls; } ", "!" },
		{ "echo ${|x}", "!" },
		{ "echo ${x&}", "!" },
		{ "echo ${x", "!" },
		{ "echo \"${x:-\"a b\"}\" ${x:-a}b} \"${x:-\\}}\"", "[echo ? * ?]" },
		{ "echo \"${x%$'\\r'}\"", "[echo ?]" },
		{ "echo \"${x:-it's}\"; echo 'b", "!" },
		{ "echo ${x:-<(rm y)}", "!" },
		{ "$(echo rm) x", "[* x][echo rm]" },
		{ "$'rm' x; ${X:-rm} y", "[rm x][* y]" },
		{ "cat ${IFS}x$IFS", "[cat *]" },
		{ ": ${LD_PRELOAD:=x}", "[: *]" },
		{ "echo $(cat <<E\nx `rm y`\nE\n)", "[echo *][cat][rm y]" },
		{ "echo $(cat <<E)\nx\nE\n", "!" },
		{ "echo `cat <<E\nx\nE`", "[echo *][cat]" },
		/* bash 5.2 reads what it printed itself, and prints these wrongly */
		{ "echo $({ a; } <<E | b; c\nE\n)", "!" },
		{ "echo $(a <<E | b\nE\nc; d\n)", "!" },
		{ "echo $(a <<E | b\nE\nc\n); d; e", "[echo *][a][b][c][d][e]" },
		{ "echo $(coproc a)", "!" },
		{ "cat <<A $(a\nb)\nx\nA\nc", "[cat *][a][b][c]" },
		{ "((x[\\$(id)]))", "!" },
		{ "echo $(( 'a[$(id)]' ))", "!" },
	};

	(void)state;
	CHECK(table, SHELL_BASH);
}

static void builtins_that_take_code(void **state)
{
	static const struct reading table[] = {
		{ "eval 'rm x'; eval rm y ';' rm z", "[eval rm x][rm x][eval rm y ; rm z][rm y][rm z]" },
		{ "eval \"$x\"", "[eval ?]T" },
		{ "eval 'rm", "!" },
		{ "builtin eval 'rm x'; command eval 'rm y'; \\eval 'rm z'", "[builtin eval rm x][rm x][command eval rm y][rm y][eval rm z][rm z]" },
		{ "trap 'rm x' EXIT; trap - INT; trap '' HUP; trap EXIT; trap -p; trap \"$x\" EXIT",
		  "[trap rm x EXIT][rm x][trap - INT][trap  HUP][trap EXIT][trap -p][trap ? EXIT]T" },
		{ ". ./x; source y", "[. ./x][source y]FF" },
		{ "let 'b[$(rm x)]=1' 2+2", "[let b[$(rm x)]=1 2+2][rm x]A" },
		{ "test -v 'b[$(rm x)]'; [ -v \"$y\" ]; [ \"$x\" -eq 1 ]; [ -n \"$x\" ]; [ $x = y ]; [ $# -gt 1 ]",
		  "[test -v b[$(rm x)]][rm x][[ -v ? ]][[ ? -eq 1 ]][[ -n ? ]][[ * = y ]][[ * -gt 1 ]]ANN" },
		{ "declare 'b[$(rm x)]=1'; printf -v 'c[$(rm y)]' x; read 'd[`rm z`]'",
		  "[declare b[$(rm x)]=1][rm x][printf -v c[$(rm y)] x][rm y][read d[`rm z`]][rm z]AAA" },
		{ "printf '%s' \"$x\"; printf \"$x\"; printf \"$x\" \"$y\"; read -p \"$x\" y; read \"$x\"; unset \"$x\"",
		  "[printf %s ?][printf ?][printf ? ?][read -p ? y][read ?][unset ?]NNN" },
		{ "declare -i n; declare -n r=x; local x=\"$1\"", "[declare -i n][declare -n r=x][local ?]AN" },
		{ "mapfile -C 'rm x;' -c1 y", "[mapfile -C rm x; -c1 y][rm x]T" },
		{ "compgen -C 'rm x' y; complete -F f g; bind -x '\"a\": b'; fc -s",
		  "[compgen -C rm x y][rm x][complete -F f g][bind -x \"a\": b][fc -s]TTTT" },
		{ "hash -p /bin/rm ls; hash -r; enable -n echo; enable -f ./x y; enable", "[hash -p /bin/rm ls][hash -r][enable -n echo][enable -f ./x y][enable]RRP" },
		{ "PS4='$(rm x)'; PROMPT_COMMAND=y", "TT" },
		{ "BASH_CMDS[ls]=/bin/rm; printf -v 'BASH_CMDS[x]' y", "[printf -v BASH_CMDS[x] y]ARRA" },
		{ "POSIXLY_CORRECT=1", "!" },
		{ "read POSIXLY_CORRECT", "!" },
		{ "OPTIND=1; RANDOM='x[$(rm a)]'; export SECONDS=\"$y\"; read HISTCMD", "[rm a][export ?][read HISTCMD]AAA" },
		{ "declare -a 'x=($(rm a))'; readonly 'y=(`rm b`)'", "[declare -a x=($(rm a))][rm a][readonly y=(`rm b`)][rm b]TT" },
		{ "declare -a x=\"$y\"; local z=\"$1\"", "[declare -a ?][local ?]T" },
		{ "x=(1); declare x=$y", "[declare *]T" },
		{ "alias ls='rm -rf'\nls /", "[alias ls=rm -rf][ls /]" },
		{ "shopt -s expand_aliases\nalias ls=rm\nls /", "!" },
		{ "shopt -s $x", "!" },
		{ "set -euo pipefail; set -- a b; set x; set -- $x; set +o noglob; set -", "[set -euo pipefail][set -- a b][set x][set -- *][set +o noglob][set -]" },
		{ "set -k", "!" },
		{ "set -o posix", "!" },
		{ "set $x", "!" },
		{ "shopt -so keyword", "!" },
		{ "wait -p 'a[$(rm x)]' -n; getopts ab 'o[$(rm y)]'", "[wait -p a[$(rm x)] -n][rm x][getopts ab o[$(rm y)]][rm y]AA" },
	};

	(void)state;
	CHECK(table, SHELL_BASH);
}

/* In sh only what dash and bash read alike. */
static void posix_dialect(void **state)
{
	static const struct reading table[] = {
		{ "a; b | c && ( d ) & { e; }", "[a][b][c][d][e]" },
		{ "x=1 y=$(a) b <<E >f 2>&1\n$(c)\nE\n", "[b][a][c]" },
		{ "echo $((1+1)) ${x:-`a`} \"${x#y}\"", "[echo * * ?][a]" },
		{ "{rm,x}", "[*]" },
		{ "f() { a; }; case x in (x) b;; esac", "[a][b]" },
		{ "echo $'a'", "!" },
		{ "[[ a ]]", "!" },
		{ "function f { a; }", "!" },
		{ "a &>b", "!" },
		{ "a <(b)", "!" },
		{ "a <<< b", "!" },
		{ "((a))", "!" },
		{ "((a); b)", "[a][b]" },
		{ "a=(b)", "!" },
		{ "a+=b", "!" },
		{ "a[1]=b", "[*]" },
		{ "time a", "!" },
		{ "coproc a", "!" },
		{ "select x in y; do a; done", "!" },
		{ "a |& b", "!" },
		{ "case x in x) a;& y) b;; esac", "!" },
		{ "echo ${x:1}", "!" },
		{ "echo ${x/a/b}", "!" },
		{ "echo ${!x}", "!" },
		{ "a 12>b", "!" },
		{ "a {x}>b", "!" },
		{ "alias a=b", "!" },
		{ "echo $[1]", "!" },
		{ "for x in a; { b; }", "!" },
		{ "ls !(a)", "!" },
	};

	(void)state;
	CHECK(table, SHELL_POSIX);
	assert_int_equal(read_text("ls", SHELL_OTHER), -EBADMSG);
}

static const struct shell_command *command_named(const char *name)
{
	size_t i;

	for (i = 0; i < script.nr_commands; i++)
		if (script.commands[i]->nr_words && bytes_equal(script.commands[i]->words[0]->value, bytes_of(name)))
			return script.commands[i];
	fail_msg("no command %s", name);
	return NULL;
}

static void assert_bytes(struct bytes b, const char *text)
{
	if (!bytes_equal(b, bytes_of(text)))
		fail_msg("expected %s, found %.*s", text, (int)b.len, b.data);
}

static void redirections(void **state)
{
	static const struct {
		const char *text;
		enum shell_redirect op;
		int fd;
		const char *target;
	} table[] = {
		{ "a <f", SHELL_READ, 0, "f" }, { "a >f", SHELL_WRITE, 1, "f" }, { "a >|f", SHELL_WRITE, 1, "f" },
		{ "a 2>>f", SHELL_APPEND, 2, "f" }, { "a <>f", SHELL_READ_WRITE, 0, "f" }, { "a &>f", SHELL_WRITE_BOTH, 1, "f" },
		{ "a >&f", SHELL_WRITE_BOTH, 1, "f" }, { "a &>>f", SHELL_APPEND_BOTH, 1, "f" }, { "a 2>&1", SHELL_DUP_OUT, 2, "1" },
		{ "a <&3-", SHELL_DUP_IN, 0, "3-" }, { "a >&-", SHELL_DUP_OUT, 1, "-" }, { "a <<<f", SHELL_HERE_STRING, 0, "f" },
		{ "a >/dev/tcp/h/1", SHELL_WRITE, 1, "/dev/tcp/h/1" }, { "a 12> f", SHELL_WRITE, 12, "f" },
		{ "a >\\\n> f", SHELL_APPEND, 1, "f" },
	};
	const struct shell_redirection *redirection;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(read_text(table[i].text, SHELL_BASH), 0);
		redirection = command_named("a")->redirections;
		assert_non_null(redirection);
		assert_int_equal(redirection->op, table[i].op);
		assert_int_equal(redirection->fd, table[i].fd);
		assert_bytes(redirection->target->value, table[i].target);
	}
	assert_int_equal(read_text("a {v}>f", SHELL_BASH), 0);
	assert_bytes(command_named("a")->redirections->fd_name, "v");
	assert_int_equal(command_named("a")->assignments->by, SHELL_ASSIGN_DESCRIPTOR);
	assert_string_equal(found("a {v[1]}>f", SHELL_BASH), "!");
	assert_string_equal(found("a >&-x", SHELL_BASH), "!");
	assert_string_equal(found("a >", SHELL_BASH), "!");
	assert_int_equal(read_text("{ a; } >f 2>g", SHELL_BASH), 0);
	assert_int_equal(script.commands[0]->kind, SHELL_GROUP);
	assert_bytes(script.commands[0]->redirections->next->target->value, "g");
}

static void here_documents(void **state)
{
	const struct shell_redirection *redirection;

	(void)state;
	assert_int_equal(read_text("a <<E\nx $y\\$z \"q\" \\\nw\nE\n", SHELL_BASH), 0);
	redirection = command_named("a")->redirections;
	assert_false(redirection->verbatim);
	assert_int_equal(redirection->body->why, SHELL_PARAMETER);
	assert_bytes(redirection->body->prefix, "x ");
	assert_int_equal(read_text("a <<E\nx\\$z \"q\" \\\nw\nE", SHELL_BASH), 0);
	assert_bytes(command_named("a")->redirections->body->value, "x$z \"q\" w\n");
	assert_int_equal(read_text("a <<-'E'\n\t\tx $y\n\t\n\t E\n\tE\nb", SHELL_BASH), 0);
	redirection = command_named("a")->redirections;
	assert_true(redirection->verbatim);
	assert_bytes(redirection->body->value, "x $y\n\n E\n");
	(void)command_named("b");
	assert_int_equal(read_text("cat <<''\nbody\n\nls\n", SHELL_BASH), 0);
	assert_bytes(command_named("cat")->redirections->body->value, "body\n");
	(void)command_named("ls");
	assert_string_equal(found("cat <<EOF\nunterminated", SHELL_BASH), "!");
	assert_string_equal(found("cat <<$x\n$x\n", SHELL_BASH), "!");
	assert_string_equal(found("cat <<E; a=(1\nE\n2)", SHELL_BASH), "!");
}

static void standard_input(void **state)
{
	struct shell_source source;

	(void)state;
	assert_int_equal(read_text("a | b | c <f", SHELL_BASH), 0);
	assert_int_equal(command_named("a")->stdin_from, SHELL_STDIN_INHERITED);
	assert_ptr_equal(command_named("a")->pipe_to, command_named("b"));
	assert_ptr_equal(shell_stdin_source(command_named("b")).pipe_from, command_named("a"));
	assert_int_equal(command_named("c")->stdin_from, SHELL_STDIN_REDIRECTED);
	assert_int_equal(read_text("a | { b; while c; do d; done; } ; e & (f | g) <h", SHELL_BASH), 0);
	source = shell_stdin_source(command_named("d"));
	assert_int_equal(source.from, SHELL_STDIN_PIPE);
	assert_ptr_equal(source.pipe_from, command_named("a"));
	assert_int_equal(command_named("e")->stdin_from, SHELL_STDIN_BACKGROUND);
	source = shell_stdin_source(command_named("f"));
	assert_bytes(source.redirection->target->value, "h");
	assert_ptr_equal(shell_stdin_source(command_named("g")).pipe_from, command_named("f"));
	assert_int_equal(read_text("a | b $(c) <f >(d); coproc e", SHELL_BASH), 0);
	assert_ptr_equal(shell_stdin_source(command_named("c")).pipe_from, command_named("a"));
	assert_int_equal(shell_stdin_source(command_named("d")).from, SHELL_STDIN_WRITTEN);
	assert_int_equal(shell_stdin_source(command_named("e")).from, SHELL_STDIN_COPROC);
}

static void contexts(void **state)
{
	(void)state;
	assert_int_equal(read_text("a && b; if c; then d; fi; (e) & f $(g); h | i; ! j; time k; l() { m; }; eval n", SHELL_BASH), 0);
	assert_int_equal(command_named("a")->context, 0);
	assert_int_equal(command_named("b")->context, SHELL_CONDITIONAL);
	assert_int_equal(command_named("c")->context, SHELL_IN_CONDITION);
	assert_int_equal(command_named("d")->context, SHELL_CONDITIONAL);
	assert_int_equal(command_named("e")->context, SHELL_IN_SUBSHELL | SHELL_IN_BACKGROUND);
	assert_int_equal(command_named("g")->context, SHELL_IN_SUBSHELL | SHELL_IN_SUBSTITUTION);
	assert_int_equal(command_named("g")->relation, SHELL_CAPTURED);
	assert_ptr_equal(command_named("g")->parent, command_named("f"));
	assert_int_equal(command_named("h")->context, SHELL_IN_SUBSHELL);
	assert_int_equal(command_named("i")->context, SHELL_IN_SUBSHELL);
	assert_int_equal(command_named("j")->context, SHELL_NEGATED);
	assert_int_equal(command_named("k")->context, SHELL_TIMED);
	assert_int_equal(command_named("m")->context, SHELL_IN_FUNCTION | SHELL_CONDITIONAL);
	assert_bytes(command_named("m")->function->name, "l");
	assert_int_equal(command_named("n")->context, SHELL_IN_EVALUATION);
	assert_int_equal(command_named("n")->relation, SHELL_EVALUATED);
}

static void assignments(void **state)
{
	const struct shell_assignment *assignment;

	(void)state;
	assert_int_equal(read_text("A=x B+= C[1]=$z D=(1 2) e", SHELL_BASH), 0);
	assignment = command_named("e")->assignments;
	assert_bytes(assignment->name, "A");
	assert_bytes(assignment->value->value, "x");
	assignment = assignment->next;
	assert_true(assignment->append);
	assert_bytes(assignment->value->value, "");
	assignment = assignment->next;
	assert_bytes(assignment->subscript, "1");
	assert_int_equal(assignment->value->why, SHELL_PARAMETER);
	assignment = assignment->next;
	assert_true(assignment->is_array);
	assert_int_equal(assignment->nr_elements, 2);
	assert_int_equal(read_text("PA\\\nTH=/x e", SHELL_BASH), 0);
	assert_bytes(command_named("e")->assignments->name, "PATH");
	assert_int_equal(read_text("export PYTHONPATH=/tmp X=\"a$b\" Y", SHELL_BASH), 0);
	assignment = command_named("export")->assignments;
	assert_int_equal(assignment->by, SHELL_ASSIGN_DECLARED);
	assert_bytes(assignment->name, "PYTHONPATH");
	assert_bytes(assignment->value->value, "/tmp");
	assert_bytes(assignment->next->value->prefix, "a");
	assert_null(assignment->next->next->value);
	assert_int_equal(read_text("for PATH in /tmp; do :; done", SHELL_BASH), 0);
	assert_bytes(script.commands[0]->assignments->name, "PATH");
	assert_int_equal(script.commands[0]->assignments->by, SHELL_ASSIGN_LOOP);
	assert_int_equal(read_text(": ${LD_PRELOAD:=x}", SHELL_BASH), 0);
	assert_bytes(command_named(":")->assignments->name, "LD_PRELOAD");
	assert_bytes(command_named(":")->assignments->value->value, "x");
}

static void functions(void **state)
{
	(void)state;
	assert_int_equal(read_text("f() { a; }; f; x && g() { b; }; g; h; h() { c; }", SHELL_BASH), 0);
	assert_true(command_named("f")->calls_certain);
	assert_bytes(command_named("f")->calls->name, "f");
	assert_non_null(command_named("g")->calls);
	assert_false(command_named("g")->calls_certain);
	assert_non_null(command_named("h")->calls);
	assert_false(command_named("h")->calls_certain);
	assert_null(command_named("a")->calls);
	assert_int_equal(read_text("f() { a; }; unset -f f; f", SHELL_BASH), 0);
	assert_false(command_named("f")->calls_certain);
	assert_int_equal(read_text("f() { a; } | b; f", SHELL_BASH), 0);
	assert_false(command_named("f")->calls_certain);
}

static void words_in_parts(void **state)
{
	const struct shell_word *word;

	(void)state;
	assert_int_equal(read_text("a --o=$x\"y$z\"{1,2}[b]", SHELL_BASH), 0);
	word = command_named("a")->words[1];
	assert_bytes(word->prefix, "--o=");
	assert_bytes(word->source, "--o=$x\"y$z\"{1,2}[b]");
	assert_int_equal(word->why, SHELL_PARAMETER | SHELL_BRACE | SHELL_GLOB);
	assert_bytes(word->parts->next->text, "x");
	assert_false(word->parts->next->quoted);
	assert_bytes(word->parts->next->next->text, "y");
	assert_bytes(word->parts->next->next->next->text, "z");
	assert_true(word->parts->next->next->next->quoted);
	assert_int_equal(read_text("a x[y]* \xc3\xa9", SHELL_BASH), 0);
	assert_bytes(command_named("a")->words[1]->prefix, "x");
	assert_bytes(command_named("a")->words[1]->value, "x[y]*");
	assert_true(command_named("a")->words[2]->odd);
	assert_false(command_named("a")->words[1]->odd);
}

static void invocations(void **state)
{
	static const struct {
		const char *text;
		enum shell_reads reads;
		size_t index;
		enum shell_dialect dialect;
	} table[] = {
		{ "bash -c ls", SHELL_READS_TEXT, 2, SHELL_BASH },
		{ "bash -lc ls x", SHELL_READS_TEXT, 2, SHELL_BASH },
		{ "bash -xc ls", SHELL_READS_TEXT, 2, SHELL_BASH },
		{ "bash -cO extglob ls", SHELL_READS_TEXT, 3, SHELL_BASH },
		{ "bash -O extglob -c ls", SHELL_READS_TEXT, 4, SHELL_BASH },
		{ "bash -c -- ls", SHELL_READS_TEXT, 3, SHELL_BASH },
		{ "bash -c -e -o pipefail ls", SHELL_READS_TEXT, 5, SHELL_BASH },
		{ "bash +x -c ls", SHELL_READS_TEXT, 3, SHELL_BASH },
		{ "bash --posix -c ls", SHELL_READS_TEXT, 3, SHELL_POSIX },
		{ "bash --norc --noprofile -c ls", SHELL_READS_TEXT, 4, SHELL_BASH },
		{ "/bin/sh -o errexit -c ls", SHELL_READS_TEXT, 4, SHELL_POSIX },
		{ "dash -ec ls", SHELL_READS_TEXT, 2, SHELL_POSIX },
		{ "zsh -c ls", SHELL_READS_TEXT, 2, SHELL_OTHER },
		{ "bash x.sh y", SHELL_READS_FILE, 1, SHELL_BASH },
		{ "bash -e -- x.sh", SHELL_READS_FILE, 3, SHELL_BASH },
		{ "bash --rcfile f -i", SHELL_READS_STDIN, 4, SHELL_BASH },
		{ "bash -s x", SHELL_READS_STDIN, 2, SHELL_BASH },
		{ "bash -", SHELL_READS_STDIN, 2, SHELL_BASH },
		{ "sh", SHELL_READS_STDIN, 1, SHELL_POSIX },
		{ "bash --version", SHELL_READS_NOTHING, 0, SHELL_BASH },
		{ "bash -n x.sh", SHELL_READS_NOTHING, 2, SHELL_BASH },
		{ "bash -c \"$x\"", SHELL_READS_TEXT, 2, SHELL_BASH },
		{ "bash $x", SHELL_READS_UNKNOWN, 0, SHELL_BASH },
		{ "bash -kc ls", SHELL_READS_UNKNOWN, 0, SHELL_BASH },
		{ "bash -O expand_aliases -c ls", SHELL_READS_UNKNOWN, 0, SHELL_BASH },
		{ "bash -o $x -c ls", SHELL_READS_UNKNOWN, 0, SHELL_BASH },
		{ "bash --what -c ls", SHELL_READS_UNKNOWN, 0, SHELL_BASH },
		{ "bash -Zc ls", SHELL_READS_UNKNOWN, 0, SHELL_BASH },
		{ "ls -c x", SHELL_READS_UNKNOWN, 0, SHELL_OTHER },
	};
	struct shell_invocation invocation;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct shell_command *c;

		assert_int_equal(read_text(table[i].text, SHELL_BASH), 0);
		c = script.commands[0];
		shell_read_invocation(c->words, c->nr_words, &invocation);
		if (invocation.reads != table[i].reads || invocation.dialect != table[i].dialect ||
		    (invocation.reads != SHELL_READS_UNKNOWN && invocation.reads != SHELL_READS_NOTHING && invocation.index != table[i].index))
			fail_msg("%s: reads %d, index %zu, dialect %d", table[i].text, (int)invocation.reads, invocation.index,
				 (int)invocation.dialect);
		assert_int_equal(invocation.reads == SHELL_READS_UNKNOWN, invocation.why != NULL);
	}
}

static void programs(void **state)
{
	static const struct {
		const char *text;
		size_t index;
		bool opaque;
	} table[] = {
		{ "ls x", 0, false }, { "command ls", 1, false }, { "command -p -- ls", 3, false }, { "command -v ls", 3, false },
		{ "builtin command ls", 2, false }, { "exec -a x ls", 3, false }, { "exec", 1, false }, { "exec -cl ls", 2, false },
		{ "jobs -x ls", 2, false }, { "jobs -l", 0, false }, { "command $x ls", 1, true }, { "command ./$x", 1, false },
	};
	bool opaque;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(read_text(table[i].text, SHELL_BASH), 0);
		assert_int_equal(shell_program_index(script.commands[0], &opaque), table[i].index);
		assert_int_equal(opaque, table[i].opaque);
	}
}

/* Texts made to be slow or deep end at a limit, soon. */
static void limits(void **state)
{
	static const char *const repeated[] = { "((", "( ", "$(", "$((", "`", "\\", "'", "\"", "\\\n", "${a:-", "a ", "a;", "a|", "a&", "{ ",
						"if a;then ", "[[ ", "case ", "coproc ", "! ", "time ", "<<a ", "echo @(", "a[", "a=(",
						"\"$(", "<(", "$((a[", "f()", "eval '", "x=" };
	static char text[65537];
	struct timespec from, to;
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(repeated) / sizeof(repeated[0]); i++) {
		for (len = 0; len + strlen(repeated[i]) <= 65536; len += strlen(repeated[i]))
			memcpy(text + len, repeated[i], strlen(repeated[i]));
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
		(void)read_bytes(text, len, SHELL_BASH);
		(void)read_bytes(text, len, SHELL_POSIX);
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
		if (to.tv_sec - from.tv_sec > 2)
			fail_msg("%s repeated takes too long", repeated[i]);
	}
	memset(text, 'x', sizeof(text));
	assert_int_equal(read_bytes(text, 65537, SHELL_BASH), -E2BIG);
	assert_int_equal(read_bytes(text, 65536, SHELL_BASH), 0);
	arena.len_bytes = 4096;
	assert_int_equal(read_bytes(text, 65536, SHELL_BASH), -ENOMEM);
	arena.len_bytes = SHELL_ARENA_BYTES;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_and_quotes),
		cmocka_unit_test(lists_and_compounds),
		cmocka_unit_test(what_others_hide),
		cmocka_unit_test(expansions),
		cmocka_unit_test(builtins_that_take_code),
		cmocka_unit_test(posix_dialect),
		cmocka_unit_test(redirections),
		cmocka_unit_test(here_documents),
		cmocka_unit_test(standard_input),
		cmocka_unit_test(contexts),
		cmocka_unit_test(assignments),
		cmocka_unit_test(functions),
		cmocka_unit_test(words_in_parts),
		cmocka_unit_test(invocations),
		cmocka_unit_test(programs),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
