/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command texts that are as slow to judge as texts get: one piece again and again, up to a length. The test counts the work that they make, the benchmark
 * takes its time (tests/unit/test_work.c, tests/bench/decisions.c).
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG_TEXT_BYTES 65536	/* the longest that is read */
#define NUMBER "\2"		/* in a line: which one it is */

struct long_text {
	const char *name;
	const char *head;			/* once */
	const char *line, *word;		/* as often as they fit: the line, so many words, and its end */
	unsigned words;
	const char *end;
	const char *tail;			/* once */
	const char *wrap;			/* the whole is quoted behind this, so many times */
	unsigned depth;
};

static const struct long_text long_texts[] = {
	/* commands */
	{ "short commands", .line = "ls a b;\n" },
	{ "unknown programs", .line = "xyz a b;" },
	{ "unknown wrappers", .line = "x x x x rm a;\n" },
	{ "pipeline", .line = "cat a b|", .tail = "cat" },
	{ "background", .line = "ls a  &\n" },
	{ "own programs", .line = "./a b c;" },
	{ "cd and command", .line = "cd a;ls b;" },
	{ "subshells", .line = "(a b c);" },
	{ "conditions", .line = "[[ a == b ]];" },
	{ "cases", .head = "case a in ", .line = "a) b;; ", .tail = "esac" },
	{ "if", .line = "if a;then b;fi\n" },
	{ "not arithmetic", .line = "((a);(b))\n" },
	{ "functions and calls", .line = "f" NUMBER "(){ :;};f1 a b c d e f g h i j k l m n o p q r s t u v w x y z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28;" },
	{ "for words", .head = "for a in", .line = " b", .tail = ";do echo $a;done" },
	/* words */
	{ "files", .line = "cat", .word = " a", .words = 150, .end = "\n" },
	{ "files outside", .line = "cp", .word = " /a", .words = 150, .end = "\n" },
	{ "files at home", .line = "cat", .word = " ~/a", .words = 150, .end = "\n" },
	{ "patterns", .line = "cat", .word = " *", .words = 150, .end = "\n" },
	{ "deep patterns", .line = "cat", .word = " /*/*", .words = 150, .end = "\n" },
	{ "patterns at home", .line = "cat", .word = " ~/*", .words = 150, .end = "\n" },
	{ "patterns removed", .line = "rm -r", .word = " *", .words = 150, .end = "\n" },
	{ "sets", .line = "cat", .word = " *[a-z]*[a-z]*[a-z]*", .words = 150, .end = "\n" },
	{ "patterns of find", .line = "find", .word = " *[z]", .words = 150, .end = "\n" },
	{ "wrapped patterns", .line = "env env env env env env env cat", .word = " *", .words = 150, .end = "\n" },
	{ "one long path", .head = "cat ", .line = "a/" },
	{ "one long pattern", .head = "cat /", .line = "*/" },
	{ "long paths", .line = "cat ", .word = "a/../", .words = 800, .end = "b\n" },
	{ "URLs", .line = "curl", .word = " http://a.b/?x=%20y", .words = 150, .end = "\n" },
	{ "URLs that are patterns", .line = "curl http://a/", .word = "?", .words = 2000, .end = "\n" },
	{ "queries", .line = "curl 'http://a/?", .word = "drop tabl ", .words = 400, .end = "';\n" },
	{ "one body", .head = "psql -c '", .line = "drop tabl ", .tail = "'" },
	{ "hosts", .line = "nmap", .word = " 1.1.1.1", .words = 150, .end = "\n" },
	{ "clusters", .line = "ls", .word = " -lalala", .words = 500, .end = "\n" },
	{ "one cluster", .head = "tar ", .line = "Q" },
	{ "abbreviations", .line = "nmap", .word = " -s", .words = 500, .end = "\n" },
	{ "find -exec", .line = "find .", .word = " -exec a {} \\;", .words = 150, .end = "\n" },
	{ "find -exec without end", .line = "find", .word = " -exec a", .words = 500, .end = "\n" },
	{ "find in find", .line = "", .word = "find . -exec ", .words = 8, .end = "ls a \\;\n" },
	{ "sed", .line = "sed 'e ls' d;\n" },
	{ "one sed program", .head = "sed '", .line = "s/a/b/;", .tail = "' a" },
	{ "awk", .line = "awk '{system(\"ls\")}' a;\n" },
	{ "one awk program", .head = "awk '{x=", .line = "1+", .tail = "1}' a" },
	/* what surrounds them */
	{ "assignments", .line = "a" NUMBER "=1 " },
	{ "arrays", .line = "a" NUMBER "=(1);declare a" NUMBER "=$x;" },
	{ "subscripts", .line = "a[1[2[3]]]=" },
	{ "redirections", .head = "ls ", .line = ">a " },
	{ "here-documents", .line = "cat <<A\nx\nA\n" },
	{ "one here-document", .head = "cat <<A\n", .line = "$a `b` $(c)\n", .tail = "A\n" },
	{ "here-documents of one command", .head = "cat ", .line = "<<A ", .tail = "\nA\n" },
	{ "braces", .line = "ls {", .word = "a,", .words = 60, .end = "};\n" },
	{ "open braces", .head = "ls ", .line = "{" },
	{ "substitutions", .head = "ls ", .line = "$(a) " },
	{ "expansions", .head = "echo ", .line = "${a:-b}" },
	{ "arithmetic", .head = "echo ", .line = "$((a+1)) " },
	{ "continuations", .head = "l", .line = "\\\n", .tail = "s" },
	{ "escapes", .head = "ls ", .line = "\\a" },
	{ "variables that double", .line = "v" NUMBER "=$v$v;" },
	/* a working folder as deep as paths go */
	{ "files in a deep folder", .head = "cd DEEP\n", .line = "cat", .word = " b", .words = 150, .end = "\n" },
	{ "patterns in a deep folder", .head = "cd DEEP\n", .line = "cat", .word = " *", .words = 150, .end = "\n" },
	{ "removals in a deep folder", .head = "cd DEEP\n", .line = "rm -r", .word = " b", .words = 150, .end = "\n" },
	{ "redirections in a deep folder", .head = "cd DEEP\nls ", .line = ">b " },
	{ "ever other folders", .head = "cd DEEP\n", .line = "cd " NUMBER ";" },
	{ "folders too deep", .head = "cd DEEP\ncd a; cd b; cd c; cd d\n", .line = "cd DEEP;" },
	{ "many folders", .head = "cd /a; cd /b; cd /c; cd /d; cd /e\n", .line = "ls a b;\n" },
	{ "files in many folders", .head = "cd /a; cd /b; cd /c; cd /d; cd /e\n", .line = "cat", .word = " b", .words = 150, .end = "\n" },
	{ "texts in many folders", .head = "cd /a; cd /b; cd /c; cd /d\n", .line = "ls a b;\n", .wrap = "cd /a; cd /b; cd /c; cd /d\neval ", .depth = 4 },
	/* texts in texts */
	{ "eval in eval", .line = "ls a b;\n", .wrap = "eval ", .depth = 2 },
	{ "eval, five deep", .line = "ls a b;\n", .wrap = "eval ", .depth = 5 },
	{ "many evals", .line = "eval 'eval '\\''eval ls'\\'\n" },
	{ "sh in sh", .line = "ls a b;\n", .wrap = "sh -c ", .depth = 4 },
	{ "sh behind wrappers", .line = "ls a b;\n", .wrap = "env a=b timeout 1 bash -c ", .depth = 3 },
	{ "watch in watch", .line = "ls a b;\n", .wrap = "watch ", .depth = 4 },
	{ "trap in trap", .line = "ls a b;\n", .wrap = "trap -- ", .depth = 4 },
	{ "xargs in xargs", .line = "xargs xargs xargs xargs xargs cat", .word = " *", .words = 150, .end = "\n" },
};
#define LONG_TEXTS (sizeof(long_texts) / sizeof(long_texts[0]))

#define DEEP_PARTS 2000		/* "a/": nearly the longest path */

static inline void long_text_put(FILE *to, const char *text, size_t number)
{
	for (; text && *text; text++)
		if (*text == *NUMBER)
			fprintf(to, "%zu", number);
		else if (strncmp(text, "DEEP", 4) == 0)
			for (text += 3, number = DEEP_PARTS; number > 0; number--)
				fputs("a/", to);
		else
			fputc(*text, to);
}

/* 'TEXT' behind the wrap, each quote in it as '\''. */
static inline char *long_text_quote(const char *wrap, char *text)
{
	char *quoted, *c;
	size_t len;
	FILE *to = open_memstream(&quoted, &len);

	fprintf(to, "%s'", wrap);
	for (c = text; *c; c++)
		fputs(*c == '\'' ? "'\\''" : (const char[]){ *c, '\0' }, to);
	fputc('\'', to);
	fclose(to);
	free(text);
	return quoted;
}

/* The caller frees it. It is no longer than bytes, and shorter by less than its longest piece. */
static inline char *long_text_make(const struct long_text *t, size_t bytes)
{
	char *text, *whole;
	size_t len, number = 0, before;
	unsigned depth, i;
	FILE *to;

	for (depth = 0; depth < t->depth; depth++)	/* room for the quotes: four times as many at each level */
		bytes -= strlen(t->wrap) + 2 + ((size_t)2 << 2 * depth);
	to = open_memstream(&text, &len);
	long_text_put(to, t->head, 0);
	do {
		fflush(to);
		before = len;
		long_text_put(to, t->line, ++number);
		for (i = 0; i < t->words; i++)
			long_text_put(to, t->word, number);
		long_text_put(to, t->end, number);
		fflush(to);
	} while (len + (t->tail ? strlen(t->tail) : 0) <= bytes);
	fclose(to);
	whole = malloc(before + (t->tail ? strlen(t->tail) : 0) + 1);
	memcpy(whole, text, before);
	strcpy(whole + before, t->tail ? t->tail : "");
	free(text);
	for (depth = 0; depth < t->depth; depth++)
		whole = long_text_quote(t->wrap, whole);
	return whole;
}
