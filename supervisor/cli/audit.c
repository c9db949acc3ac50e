/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon audit tail` and `cordon audit verify`: the log for people. Only reads; needs no running supervisor, works on a copied
 * folder as well. Nothing from the log reaches the terminal unescaped.
 */
#include "supervisor/audit/reader.h"
#include "supervisor/audit/shorthand.h"
#include "supervisor/audit/verify.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/cli/cli.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#define EXIT_USAGE 2
#define LOOK_MS 500		/* follow: look again even when no event came */
#define TAIL_MAX 1000000ul

static const char usage[] =
	"usage: cordon audit tail [-f] [-n N] [--json] [--dir DIR]\n"
	"       cordon audit verify [--sealed] [--anchors FILE] [--dir DIR]\n"
	"\n"
	"tail    the last records (20), one line each; -f goes on as they come, --json shows them as they are written\n"
	"verify  is the log whole? Exit 0 intact, 1 broken, 2 truncated (or wrong usage)\n"
	"\n"
	"  -f, --follow      print records as they are written, across rotation\n"
	"  -n, --lines N     how many records to begin with; 0 for none\n"
	"      --json        the records themselves, one JSON object a line\n"
	"      --sealed      the log must end with a seal, as after an orderly stop\n"
	"      --anchors F   what left the container (docker logs, \"-\" for standard input): each anchor in it must fit\n"
	"      --dir DIR     the log's folder (default " CORDON_AUDIT_DIR ")\n"
	"  -h, --help        this text\n";

struct audit_arguments {
	const char *dir, *anchors;
	unsigned long lines;
	bool follow, json, sealed;
};

static int complain(const char *text)
{
	fprintf(stderr, "cordon: audit: %s (see cordon audit --help)\n", text);
	return EXIT_USAGE;
}

/* ---- tail ---- */

struct printer {
	bool json, colour;
	struct buf out;
};

static void print_line(struct printer *p, const struct reader_line *line)
{
	struct record record;
	struct err error = { 0 };

	buf_reset(&p->out);
	if (!line->whole || record_parse(line->text, &record, &error) < 0) {
		buf_format(&p->out, "audit-%06u.jsonl:%" PRIu64 ": %s: ", line->number, line->line, line->whole ? error.text : "torn line");
		shorthand_raw(&p->out, line->text);
		fprintf(p->json ? stderr : stdout, "%s\n", p->out.failed ? "" : p->out.data);
		return;
	}
	if (p->json)
		shorthand_raw(&p->out, line->text);
	else
		shorthand_format(&p->out, &record, p->colour);
	record_free(&record);
	if (!p->out.failed)
		printf("%s\n", p->out.data);
}

/* The last lines seen, oldest at next once all places are taken. */
struct recent {
	struct reader_line *lines;	/* text.data malloc'ed */
	size_t size, next;
};

static int remember(struct recent *recent, const struct reader_line *line)
{
	struct reader_line *place;
	char *text;

	if (recent->size == 0)
		return 0;
	text = malloc(line->text.len + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, line->text.data, line->text.len);
	place = &recent->lines[recent->next];
	recent->next = (recent->next + 1) % recent->size;
	free((void *)(uintptr_t)place->text.data);
	*place = *line;
	place->text.data = text;
	return 0;
}

static void print_recent(struct recent *recent, struct printer *p)
{
	for (size_t i = 0; i < recent->size; i++) {
		struct reader_line *line = &recent->lines[(recent->next + i) % recent->size];

		if (line->text.data)
			print_line(p, line);
		free((void *)(uintptr_t)line->text.data);
		line->text.data = NULL;
	}
	free(recent->lines);
	*recent = (struct recent){ 0 };
}

/* Ends when output does (SIGPIPE, Ctrl-C) or the folder cannot be read. */
static int follow(struct reader *reader, const char *dir, struct printer *p, struct err *error)
{
	_cleanup_close_ int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	struct pollfd pollfd = { .fd = watch, .events = POLLIN };
	struct reader_line line;
	char events[4096];
	int r;

	if (watch >= 0)
		(void)inotify_add_watch(watch, dir, IN_MODIFY | IN_CREATE);
	for (;;) {
		while ((r = reader_next(reader, &line, error)) == 1)
			print_line(p, &line);
		if (r < 0)
			return r;
		if (fflush(stdout) != 0)
			return 0;
		(void)poll(&pollfd, 1, LOOK_MS);
		while (watch >= 0 && read(watch, events, sizeof(events)) > 0)
			;
	}
}

static bool wants_colour(void)
{
	const char *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) && !getenv("NO_COLOR") && terminal && strcmp(terminal, "dumb") != 0;
}

static int tail(const struct audit_arguments *arguments)
{
	struct printer p = { .json = arguments->json, .colour = wants_colour() };
	struct recent recent = { .size = arguments->lines };
	struct reader_line line;
	struct reader *reader;
	struct err error = { 0 };
	int r = reader_open(arguments->dir, &reader, &error);

	if (r < 0) {
		fprintf(stderr, "cordon: %s\n", error.text);
		return EXIT_FAILURE;
	}
	recent.lines = calloc(recent.size ? recent.size : 1, sizeof(*recent.lines));
	if (!recent.lines)
		r = -ENOMEM;
	while (r >= 0 && (r = reader_next(reader, &line, &error)) == 1)
		r = remember(&recent, &line);
	print_recent(&recent, &p);
	if (r == 0 && arguments->follow)
		r = follow(reader, arguments->dir, &p, &error);
	reader_close(reader);
	buf_free(&p.out);
	if (r < 0)
		fprintf(stderr, "cordon: %s\n", error.text[0] ? error.text : strerror(-r));
	return r < 0 || fflush(stdout) != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- verify ---- */

static void print_report(const struct verify_report *report, size_t nr_anchors)
{
	static const char *const names[] = { "intact", "broken", "truncated" };
	char place[512];

	if (report->result != VERIFY_INTACT) {
		err_format(&report->why, place, sizeof(place));
		printf("%s: %s (good up to seq %" PRIu64 ")\n", names[report->result], place, report->seq);
		return;
	}
	printf("intact: %" PRIu64 " records, seq %" PRIu64 " to %" PRIu64 ", in %u file%s", report->records, report->first_seq,
	       report->seq, report->last_file - report->first_file + 1, report->last_file == report->first_file ? "" : "s");
	printf(report->sealed ? "; sealed\n" : "; not sealed (still being written, or stopped without)\n");
	if (report->first_file > 1)
		printf("  rotation deleted the %u oldest file%s, as the log says\n", report->first_file - 1,
		       report->first_file == 2 ? "" : "s");
	if (report->lost)
		printf("  %" PRIu64 " records were lost while it was written, as audit_drop records say\n", report->lost);
	if (report->torn)
		printf("  %u line%s torn by a crash, as recovered records say\n", report->torn, report->torn == 1 ? " was" : "s were");
	if (nr_anchors)
		printf("  %zu anchors from outside fit, %zu are older than the oldest record\n", report->anchors_met, report->anchors_before);
}

static int read_anchors(const char *path, struct anchor **ret_anchors, size_t *ret_count)
{
	bool standard = strcmp(path, "-") == 0;
	int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : verify_read_anchors(fd, ret_anchors, ret_count);

	if (fd >= 0 && !standard)
		close(fd);
	if (r < 0)
		fprintf(stderr, "cordon: anchors from %s: %s\n", path, strerror(-r));
	else if (*ret_count == 0)
		fprintf(stderr, "cordon: %s holds no anchor (lines with ANCHOR, seq= and hash=)\n", path);
	return r < 0 ? r : *ret_count ? 0 : -ENOENT;
}

static int verify(const struct audit_arguments *arguments)
{
	_cleanup_free_ struct anchor *anchors = NULL;
	struct verify_options options = { .dir = arguments->dir, .sealed = arguments->sealed };
	struct verify_report report;
	struct err error = { 0 };

	if (arguments->anchors && read_anchors(arguments->anchors, &anchors, &options.nr_anchors) < 0)
		return EXIT_USAGE;
	options.anchors = anchors;
	if (verify_log(&options, &report, &error) < 0) {
		fprintf(stderr, "cordon: %s\n", error.text);
		return EXIT_USAGE;
	}
	print_report(&report, options.nr_anchors);
	return report.result == VERIFY_INTACT ? 0 : report.result == VERIFY_BROKEN ? 1 : 2;
}

/* ---- arguments ---- */

enum { OPTION_JSON = 256, OPTION_DIR, OPTION_SEALED, OPTION_ANCHORS };

static bool parse_lines(const char *text, unsigned long *ret_lines)
{
	char *end;

	errno = 0;
	*ret_lines = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret_lines <= TAIL_MAX;
}

/* Returns -1 to go on, else the exit code. */
static int take_option(struct audit_arguments *a, bool is_tail, int option)
{
	switch (option) {
	case 'h':
		fputs(usage, stdout);
		return 0;
	case OPTION_DIR:
		a->dir = optarg;
		return -1;
	case 'f':
		a->follow = true;
		break;
	case 'n':
		if (!parse_lines(optarg, &a->lines))
			return complain("-n takes a number from 0 to 1000000");
		break;
	case OPTION_JSON:
		a->json = true;
		break;
	case OPTION_SEALED:
		a->sealed = true;
		break;
	case OPTION_ANCHORS:
		a->anchors = optarg;
		break;
	case ':':
		return complain("an option lacks its value");
	default:
		return complain("unknown option");
	}
	if (is_tail == (option == OPTION_SEALED || option == OPTION_ANCHORS))
		return complain(is_tail ? "--sealed and --anchors belong to verify" : "-f, -n and --json belong to tail");
	return -1;
}

int cli_audit(int argc, char **argv)
{
	static const struct option options[] = {
		{ "follow", no_argument, NULL, 'f' },		  { "lines", required_argument, NULL, 'n' },
		{ "json", no_argument, NULL, OPTION_JSON },	  { "dir", required_argument, NULL, OPTION_DIR },
		{ "sealed", no_argument, NULL, OPTION_SEALED },	  { "anchors", required_argument, NULL, OPTION_ANCHORS },
		{ "help", no_argument, NULL, 'h' },		  { 0 },
	};
	struct audit_arguments arguments = { .dir = CORDON_AUDIT_DIR, .lines = 20 };
	const char *verb = argc > 1 ? argv[1] : "";
	bool is_tail = strcmp(verb, "tail") == 0;
	int option;

	if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)
		return fputs(usage, stdout) < 0;
	if (!is_tail && strcmp(verb, "verify") != 0)
		return complain(*verb ? "no such command; there are tail and verify" : "give a command, tail or verify");
	optind = 0;	/* glibc: begin anew */
	while ((option = getopt_long(argc - 1, argv + 1, ":fn:h", options, NULL)) != -1) {
		int r = take_option(&arguments, is_tail, option);

		if (r >= 0)
			return r;
	}
	if (optind < argc - 1)
		return complain("an argument too many");
	return is_tail ? tail(&arguments) : verify(&arguments);
}
