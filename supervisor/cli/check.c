/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon check`: what the judge says of an action, offline. Reads the policy folder and nothing else; touches no process, no network.
 *
 * --batch answers line by line, each before the next is read, so that another program can ask as it goes.
 */
#include "supervisor/cli/cli.h"

#include "supervisor/analyze/shell.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/json_out.h"
#include "supervisor/control/layout.h"
#include "supervisor/judge/judge.h"

#include <arpa/inet.h>
#include <ctype.h>
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
	struct policy *policy;
	struct scope scope;
	struct judge_subject subject;
	struct arena arena;	/* for one question at a time */
	char home[256];
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

/* ---- one question ---- */

/* An answer of our own, for requests that are no question for the judge. */
static void refuse(struct decision *d, const char *tag, const char *rule, const char *reason)
{
	*d = (struct decision){ .verdict = VERDICT_DENY, .tag = tag, .rule = rule, .origin = CODE_ORIGIN,
				.hint = "ask as cordon-check(1) says, for example: cordon check exec 'ls -la'" };
	snprintf(d->reason, sizeof(d->reason), "%s", reason);
}

/* "1.2.3.4:80" or "[::1]:80": literals only, for names are resolved by whoever connects. Octal and short spellings are no literals here. */
static bool parse_address(const char *text, struct sockaddr_storage *ret_address, socklen_t *ret_bytes)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	bool is_v6 = len > 2 && text[0] == '[' && colon[-1] == ']';
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	char host[64], *end;
	unsigned long port;

	if (!colon || len >= sizeof(host) || !isdigit((unsigned char)colon[1]))
		return false;
	memcpy(host, is_v6 ? text + 1 : text, is_v6 ? len - 2 : len);
	host[is_v6 ? len - 2 : len] = '\0';
	errno = 0;
	port = strtoul(colon + 1, &end, 10);
	if (*end || errno || port > 65535)
		return false;
	in.sin_port = in6.sin6_port = htons((uint16_t)port);
	if (is_v6 ? inet_pton(AF_INET6, host, &in6.sin6_addr) != 1 : inet_pton(AF_INET, host, &in.sin_addr) != 1)
		return false;
	*ret_bytes = is_v6 ? sizeof(in6) : sizeof(in);
	memcpy(ret_address, is_v6 ? (const void *)&in6 : (const void *)&in, *ret_bytes);
	return true;
}

static const char *const kinds[] = { "exec", "read", "write", "connect", "env", "stdin", "http", "browser" };
enum kind { KIND_EXEC, KIND_READ, KIND_WRITE, KIND_CONNECT, KIND_ENV, KIND_STDIN, KIND_HTTP, KIND_BROWSER, KIND_COUNT };

static enum kind find_kind(const char *word)
{
	unsigned i;

	for (i = 0; i < KIND_COUNT && strcmp(word, kinds[i]) != 0; i++)
		;
	return (enum kind)i;
}

/* words: the kind and its arguments, NULL-terminated; the kind's place may get a program's name. Always answers. */
static void ask(const struct check *c, const char **words, struct decision *ret)
{
	const char *const *arguments = words + 1;
	struct action action = { .cwd = c->cwd, .unresolved = true };
	enum kind kind = find_kind(words[0]);
	struct sockaddr_storage address;

	if (kind != KIND_HTTP && kind != KIND_BROWSER && kind != KIND_COUNT && (!arguments[0] || (arguments[1] && kind != KIND_EXEC))) {
		refuse(ret, "invalid_request", "check.arguments", "The kind needs exactly one argument (exec: at least one).");
		return;
	}
	switch (kind) {
	case KIND_EXEC:
		action.kind = ACTION_EXEC;
		action.argv = arguments;
		action.shell_text = !arguments[1];
		break;
	case KIND_READ:
	case KIND_WRITE:
		action.kind = kind == KIND_READ ? ACTION_READ : ACTION_WRITE;
		action.path = arguments[0];
		break;
	case KIND_ENV:
		action.kind = ACTION_ENVIRONMENT;
		action.text = arguments[0];
		break;
	case KIND_STDIN:
		action.kind = ACTION_STDIN;
		action.typed = arguments[0];
		action.typed_bytes = strlen(arguments[0]);
		break;
	case KIND_CONNECT:
		action.kind = ACTION_CONNECT;
		action.address = (const struct sockaddr *)&address;
		action.socket_type = SOCK_STREAM;
		if (parse_address(arguments[0], &address, &action.address_bytes))
			break;
		refuse(ret, "invalid_request", "check.address", "Expected a literal address and a port, such as 192.0.2.1:80 or [2001:db8::1]:80.");
		return;
	case KIND_HTTP:
		action.kind = ACTION_HTTP;
		action.method = arguments[0];
		action.url = arguments[0] ? arguments[1] : NULL;
		if (arguments[0] && arguments[1] && !arguments[2])
			break;
		refuse(ret, "invalid_request", "check.arguments", "The kind http needs a method and a URL.");
		return;
	case KIND_BROWSER:
		/* The words of the array stand behind the kind, which gives its place to the program's name. */
		action.kind = ACTION_EXEC;
		words[0] = "agent-browser";
		action.argv = words;
		break;
	default:
		refuse(ret, "invalid_request", "check.kind", "The kind is not one of exec, read, write, connect, env, stdin, http, browser.");
		return;
	}
	c->subject.arena->used_bytes = 0;
	judge(c->policy, &c->subject, &action, ret);
}

/* ---- answers ---- */

static const char *verdict_name(enum verdict verdict)
{
	return verdict == VERDICT_ALLOW ? "allow" : verdict == VERDICT_REVIEW ? "review" : "deny";
}

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
	ask(c, words, &d);
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
		refuse(ret, "invalid_request", "check.line", "Expected one JSON array of texts: [\"KIND\",\"ARG\",...].");
	else
		ask(c, words, ret);
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
	enum mode mode;
	char line[1024];
	struct err e = { 0 };

	if (!c->policy_dir)
		c->policy_dir = getenv("CORDON_POLICY");
	if (!c->policy_dir || !*c->policy_dir)
		c->policy_dir = CORDON_POLICY_DIR;
	if (policy_load(c->policy_dir, &c->policy, &e) < 0) {
		err_format(&e, line, sizeof(line));
		fprintf(stderr, "cordon: %s\n", line);
		return CHECK_USAGE;
	}
	mode = c->policy->mode;
	if (c->mode && mode_parse(c->mode, &mode, &e) < 0)
		return usage("--mode: %s", e.text);
	if (c->scope_text && scope_parse(c->scope_text, &c->scope, &e) < 0)
		return usage("--scope: %s", e.text);
	if (!c->cwd)
		c->cwd = c->policy->paths.project;
	if (*c->cwd != '/')
		return usage("--cwd %s: expected an absolute path", c->cwd);
	/* The launch user's home is passwd's to say, which an offline check does not ask: useradd's default stands for it. */
	snprintf(c->home, sizeof(c->home), "/home/%s", c->policy->launch_user);
	c->arena = (struct arena){ .data = malloc(SHELL_ARENA_BYTES), .len_bytes = SHELL_ARENA_BYTES };
	if (!c->arena.data)
		return usage("out of memory");
	c->subject = (struct judge_subject){ .arena = &c->arena, .mode = mode, .home = c->home, .scope = &c->scope,
					     .unreviewed_allow = c->policy->unreviewed_allow };
	return 0;
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
	enum kind kind;

	if (c->batch)
		return optind == argc ? 0 : usage("--batch takes its questions from the file, not from the command line: %s", argv[optind]);
	if (optind == argc)
		return usage("expected a kind: exec, read, write, connect, env, stdin, http or browser");
	kind = find_kind(argv[optind]);
	if (kind == KIND_COUNT)
		return usage("unknown kind %s", argv[optind]);
	if (optind + 1 == argc)
		return usage("%s needs an argument", argv[optind]);
	if (optind + 2 < argc && kind != KIND_EXEC && kind != KIND_HTTP && kind != KIND_BROWSER)
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
	policy_free(c.policy);
	scope_free(&c.scope);
	free(c.arena.data);
	return r;
}
