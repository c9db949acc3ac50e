/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon check`: what the judge says of an action, offline. Reads the policy folder and nothing else; touches no process, no network.
 *
 * --batch answers line by line, each before the next is read, so that another program can ask as it goes.
 */
#include "supervisor/cli/question.h"

#include "supervisor/cli/cli.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum check_exit { CHECK_ALLOW = 0, CHECK_DENY = 1, CHECK_USAGE = 2, CHECK_REVIEW = 3 };
#define LINE_LIMIT_BYTES (1u << 20)

struct check {
	const char *policy_dir, *mode, *scope_text, *cwd, *batch;
	bool json;
	struct questions questions;
};

static const char help[] =
	"usage: cordon check [OPTION]... KIND ARG...\n"
	"       cordon check [OPTION]... --batch FILE|-\n"
	"\n"
	"  exec COMMAND          one argument: a command text, read as bash reads it\n"
	"  exec PROGRAM ARG...   an argument vector\n"
	"  read PATH, write PATH\n"
	"  connect ADDRESS:PORT  a literal address; IPv6 in brackets\n"
	"  env NAME[=VALUE]      what command text sets\n"
	"  stdin TEXT            what is typed into a running program\n"
	"  http METHOD URL       a request; names are not resolved\n"
	"  browser ARG...        the words after agent-browser; no snapshot was taken yet\n"
	"\n"
	"  --mode M              off, guarded, observe, readonly (default: the policy's)\n"
	"  --policy DIR          policy folder (default: $CORDON_POLICY, else " CORDON_POLICY_DIR ")\n"
	"  --scope LIST          declared targets: names, addresses, ranges, each with or without a port (default: none)\n"
	"  --cwd DIR             what relative paths start from (default: the policy's project)\n"
	"  --json                print the answer as one JSON object\n"
	"  --batch FILE|-        one JSON array [\"KIND\",\"ARG\",...] a line in, one JSON object a line out\n"
	"\n"
	"exit status: 0 allow, 1 deny, 2 bad usage or bad policy, 3 review; --batch: 0 when every line was answered\n";

static int __attribute__((format(printf, 1, 2))) usage(const char *format, ...)
{
	va_list arguments;

	fputs("cordon: check: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputs(" (see cordon check --help)\n", stderr);
	return CHECK_USAGE;
}

/* ---- answers ---- */

static void write_json(const struct decision *d, struct buf *line)
{
	struct json_out j = { .buf = line };
	char place[300] = "";
	unsigned i;

	if (d->origin.file[0])
		snprintf(place, sizeof(place), "%s:%u", d->origin.file, d->origin.line);
	json_object_begin(&j, NULL);
	json_text(&j, "verdict", verdict_name(d->verdict));
	json_text(&j, "rule", d->rule);
	json_text(&j, "origin", place[0] ? place : NULL);
	json_text(&j, "tag", d->tag);
	json_text(&j, "reason", d->reason);
	json_text(&j, "hint", d->hint);
	json_array_begin(&j, "effects");
	for (i = 0; i < EFFECT_COUNT; i++)
		if (d->effects & 1u << i)
			json_text(&j, NULL, effect_name((enum effect)(1u << i)));
	json_array_end(&j);
	json_object_end(&j);
	buf_char(line, '\n');
}

static int print_json(const struct decision *d)
{
	_cleanup_buf_ struct buf line = { 0 };

	write_json(d, &line);
	if (line.failed || fwrite(line.data, 1, line.len, stdout) != line.len || fflush(stdout) != 0)
		return usage("the answer cannot be written");
	return 0;
}

static int print_text(const struct decision *d)
{
	printf("%s: %s (%s", verdict_name(d->verdict), d->reason, d->rule);
	if (d->origin.file[0])
		printf(", %s:%u", d->origin.file, d->origin.line);
	printf("%s%s)\n", d->tag ? ", " : "", d->tag ? d->tag : "");
	if (d->hint)
		printf("hint: %s\n", d->hint);
	return fflush(stdout) == 0 ? 0 : usage("the answer cannot be written");
}

static int check_one(const struct check *c, char *const *arguments, size_t nr)
{
	_cleanup_free_ const char **words = calloc(nr + 1, sizeof(*words));
	struct decision d;

	if (!words)
		return usage("out of memory");
	for (size_t i = 0; i < nr; i++)
		words[i] = arguments[i];
	questions_ask(&c->questions, words, &d);
	if (c->json ? print_json(&d) : print_text(&d))
		return CHECK_USAGE;
	return d.verdict == VERDICT_ALLOW ? CHECK_ALLOW : d.verdict == VERDICT_REVIEW ? CHECK_REVIEW : CHECK_DENY;
}

/* ---- batch ---- */

static void ask_line(const struct check *c, const char *line, size_t len, struct decision *ret)
{
	json_t *request = len > LINE_LIMIT_BYTES ? NULL : json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	size_t nr = json_array_size(request), i;	/* 0 for what is no array */
	_cleanup_free_ const char **words = calloc(nr + 1, sizeof(*words));

	for (i = 0; words && i < nr; i++) {
		words[i] = json_string_value(json_array_get(request, i));
		if (!words[i])
			break;
	}
	if (!words || nr == 0 || i < nr)
		questions_refuse(ret, "check.line", "Expected one JSON array of texts: [\"KIND\",\"ARG\",...].");
	else
		questions_ask(&c->questions, words, ret);
	json_decref(request);
}

static int check_batch(const struct check *c)
{
	FILE *from = strcmp(c->batch, "-") == 0 ? stdin : fopen(c->batch, "re");
	_cleanup_free_ char *line = NULL;
	struct decision d;
	size_t bytes = 0;
	ssize_t len;
	int r = 0;

	if (!from)
		return usage("--batch %s: %s", c->batch, strerror(errno));
	while (r == 0 && (len = getline(&line, &bytes, from)) >= 0) {
		ask_line(c, line, (size_t)len, &d);
		r = print_json(&d);
	}
	if (r == 0 && ferror(from))
		r = usage("--batch %s: %s", c->batch, strerror(errno));
	if (from != stdin)
		fclose(from);
	return r;
}

/* ---- setting up ---- */

static int load(struct check *c)
{
	struct questions *q = &c->questions;
	struct err e = { 0 };

	if (questions_open(q, c->policy_dir, &e) < 0)
		return CHECK_USAGE;
	if (c->mode && mode_parse(c->mode, &q->subject.mode, &e) < 0)
		return usage("--mode: %s", e.text);
	if (c->scope_text && scope_parse(c->scope_text, &q->scope, &e) < 0)
		return usage("--scope: %s", e.text);
	if (c->cwd)
		q->cwd = c->cwd;
	return *q->cwd == '/' ? 0 : usage("--cwd %s: expected an absolute path", c->cwd);
}

static int parse_options(int argc, char **argv, struct check *c, bool *ret_help)
{
	enum { MODE = 256, POLICY, SCOPE, CWD, JSON, BATCH };
	static const struct option options[] = {
		{ "mode", required_argument, NULL, MODE },   { "policy", required_argument, NULL, POLICY },
		{ "scope", required_argument, NULL, SCOPE }, { "cwd", required_argument, NULL, CWD },
		{ "json", no_argument, NULL, JSON },	     { "batch", required_argument, NULL, BATCH },
		{ "help", no_argument, NULL, 'h' },	     { NULL, 0, NULL, 0 },
	};
	int option;

	optind = 0;	/* glibc: start over, whoever parsed before */
	while ((option = getopt_long(argc, argv, "+:h", options, NULL)) >= 0) {
		switch (option) {
		case MODE: c->mode = optarg; break;
		case POLICY: c->policy_dir = optarg; break;
		case SCOPE: c->scope_text = optarg; break;
		case CWD: c->cwd = optarg; break;
		case JSON: c->json = true; break;
		case BATCH: c->batch = optarg; break;
		case 'h': *ret_help = true; return 0;
		case ':': return usage("option %s needs a value", argv[optind - 1]);
		default: return usage("unknown option %s", argv[optind - 1]);
		}
	}
	return 0;
}

static int check_usage(int argc, char **argv, const struct check *c)
{
	enum question_kind kind;

	if (c->batch)
		return optind == argc ? 0 : usage("--batch takes its questions from the file, not from the command line: %s", argv[optind]);
	if (optind == argc)
		return usage("expected a kind: exec, read, write, connect, env, stdin, http or browser");
	kind = question_kind(argv[optind]);
	if (kind == QUESTION_COUNT)
		return usage("unknown kind %s", argv[optind]);
	if (optind + 1 == argc)
		return usage("%s needs an argument", argv[optind]);
	if (optind + 2 < argc && kind != QUESTION_EXEC && kind != QUESTION_HTTP && kind != QUESTION_BROWSER)
		return usage("%s takes one argument", argv[optind]);
	return 0;
}

int cli_check(int argc, char **argv)
{
	struct check c = { 0 };
	bool wants_help = false;
	int r = parse_options(argc, argv, &c, &wants_help);

	if (wants_help) {
		fputs(help, stdout);
		return 0;
	}
	if (r == 0)
		r = check_usage(argc, argv, &c);
	if (r == 0)
		r = load(&c);
	if (r == 0)
		r = c.batch ? check_batch(&c) : check_one(&c, argv + optind, (size_t)(argc - optind));
	questions_close(&c.questions);
	return r;
}
