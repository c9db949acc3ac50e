/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `cordon workspace`: which there are, what agents changed in them, and how to take it out or throw it away. Reads the run folder, the state
 * folder and the mounts themselves; asks no supervisor. Names that agents chose reach a terminal escaped.
 */
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/text.h"
#include "supervisor/cli/cli.h"
#include "supervisor/control/layout.h"
#include "supervisor/workspace/changes.h"
#include "supervisor/workspace/names.h"
#include "supervisor/workspace/patch.h"
#include "supervisor/workspace/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2

static const char usage[] =
	"usage: cordon workspace list [--json]              which there are, of what kind, and why\n"
	"       cordon workspace list [--json] NAME         what agents changed, one path a line\n"
	"       cordon workspace list --details [--json] NAME   what was left out of it, what links became, what is protected\n"
	"       cordon workspace diff NAME                  the same as a unified diff\n"
	"       cordon workspace export [--format tar|patch] NAME   to standard output, for the host to apply\n"
	"       cordon workspace discard NAME               throw the changes away: at the next start, where it is mounted\n"
	"\n"
	"Changes: A added, D deleted, M content, m mode, owner or attributes alone, ! a protected name that the source lacks (never exported).\n"
	"A patch is git's (git apply), with binary files. A tar has files to unpack over the source, and an empty .wh.NAME for what was deleted.\n"
	"exit: 0 done, 1 it cannot be done, 2 usage\n";

struct request {
	const char *state_dir, *run_dir, *name;
	bool json, details, patch;
	struct running_list running;
};

static int complain(const char *text)
{
	fprintf(stderr, "cordon: workspace: %s (see cordon workspace --help)\n", text);
	return EXIT_USAGE;
}

static int report(const struct err *e)
{
	fprintf(stderr, "cordon: workspace: %s\n", e->text);
	return 1;
}

/* ---- bytes for people ---- */

/* Whatever is not visible as \xNN; line ends and tabs stay where they are text's own. */
static void put_shown(struct buf *out, struct bytes rest, bool lines)
{
	while (rest.len) {
		uint32_t point = 0;
		unsigned len = text_decode(rest, &point), take = len ? len : 1;

		if ((len && text_is_plain(point) && (lines || point != '\\')) || (lines && (*rest.data == '\n' || *rest.data == '\t')))
			buf_append(out, rest.data, take);
		else
			for (unsigned i = 0; i < take; i++)
				buf_format(out, "\\x%02x", (unsigned char)rest.data[i]);
		rest.data += take;
		rest.len -= take;
	}
}

static void print_path(const char *path, const char *end)
{
	_cleanup_buf_ struct buf shown = { 0 };

	put_shown(&shown, bytes_of(path), false);
	printf("%s%s\n", shown.data ? shown.data : "", end);
}

/* ---- list ---- */

static void print_line(const struct workspace *w, const char *place, const char *changed)
{
	printf("%-16s %-8s %-24s left out %zu, links %zu, protected %zu\n", w->name, workspace_kind_name(w->kind), place, w->left_out.total, w->linked.total,
	       w->protected.total);
	printf("%-16s %s\n", "", w->why);
	if (changed) {
		printf("%-16s the source changed since it was made: ", "");
		print_path(changed, "");
	}
}

static bool is_running(const struct request *q, const char *name)
{
	for (size_t i = 0; i < q->running.nr; i++)
		if (strcmp(q->running.items[i].workspace.name, name) == 0)
			return true;
	return false;
}

/* What the state folder keeps of sources that are not here now. */
static void print_kept(const struct request *q)
{
	_cleanup_close_ int state = open(q->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder = -1;
	_cleanup_buf_ struct buf names = { 0 };
	const char *at;
	size_t nr;

	folder = state < 0 ? -1 : openat(state, WORKSPACE_FOLDER, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || names_read(folder, &names, &nr) < 0)
		return;
	at = names.data;
	for (; nr > 0; nr--, at += strlen(at + 1) + 2) {
		_cleanup_close_ int one = -1;
		struct workspace w = { 0 };

		if (is_running(q, at + 1))
			continue;
		one = state_open(q->state_dir, at + 1, false, NULL);
		if (one >= 0 && state_read(one, &w, NULL) == 0)
			print_line(&w, "(not mounted)", NULL);
		workspace_free(&w);
	}
}

static int list_all(const struct request *q)
{
	if (q->json)
		return puts(q->running.text ? q->running.text : "[]") < 0;
	for (size_t i = 0; i < q->running.nr; i++) {
		const struct running *running = &q->running.items[i];
		_cleanup_free_ char *changed = NULL;

		if (!running->changed && running->workspace.kind != WORKSPACE_LIVE)
			(void)changes_look(running, &changed, NULL);
		print_line(&running->workspace, running->path, changed ? changed : running->changed);
	}
	print_kept(q);
	return 0;
}

static void print_notes(const char *title, const struct notes *notes)
{
	_cleanup_buf_ struct buf end = { 0 };

	for (size_t i = 0; i < notes->nr; i++) {
		buf_reset(&end);
		buf_format(&end, "  (%s)", notes->items[i].why);
		printf("%-10s ", title);
		print_path(notes->items[i].path, end.data ? end.data : "");
	}
	if (notes->total > notes->nr)
		printf("%-10s and %zu more\n", title, notes->total - notes->nr);
}

static int list_details(const struct request *q, const struct running *running)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };

	if (q->json) {
		json_object_begin(&j, NULL);
		state_put(&j, &running->workspace);
		json_object_end(&j);
		return text.failed ? 1 : puts(text.data) < 0;
	}
	print_notes("left out", &running->workspace.left_out);
	print_notes("link", &running->workspace.linked);
	print_notes("protected", &running->workspace.protected);
	return 0;
}

static int print_change(void *data, const struct change *change)
{
	const struct request *q = data;
	const struct stat *st = change->is ? change->is : change->was;
	_cleanup_buf_ struct buf text = { 0 };
	struct json_out j = { .buf = &text };

	if (!q->json) {
		printf("%c ", (char)change->kind);
		print_path(change->path, S_ISDIR(st->st_mode) ? "/" : "");
		return 0;
	}
	json_object_begin(&j, NULL);
	json_text(&j, "change", (const char[]){ (char)change->kind, 0 });
	json_bytes(&j, "path", bytes_of(change->path));
	json_bool(&j, "folder", S_ISDIR(st->st_mode));
	if (change->was)
		json_uint(&j, "was_mode", change->was->st_mode);
	if (change->is)
		json_uint(&j, "mode", change->is->st_mode);
	json_object_end(&j);
	return text.failed ? -ENOMEM : puts(text.data) < 0 ? -EIO : 0;
}

/* ---- diff and export ---- */

struct output {
	const struct request *request;
	const struct running *running;
	char *deleted;			/* the last folder that was: what was in it goes with it */
	bool binary, shown;
};

/* An agent's name in a message of ours. */
static void warn(const char *path, const char *text)
{
	_cleanup_buf_ struct buf shown = { 0 };

	put_shown(&shown, bytes_of(path), false);
	fprintf(stderr, "cordon: workspace: %s: %s\n", shown.data ? shown.data : "", text);
}

static bool is_kept_back(const struct change *change)
{
	if (change->kind == CHANGE_FORBIDDEN)
		warn(change->path, "a protected name that the source lacks; left out");
	return change->kind == CHANGE_FORBIDDEN;
}

static int write_patch(void *data, const struct change *change)
{
	const struct output *o = data;
	_cleanup_buf_ struct buf patch = { 0 }, shown = { 0 };
	int r;

	if (is_kept_back(change))
		return 0;
	r = patch_put(change, o->binary, &patch);
	if (r == -EFBIG) {
		warn(change->path, "too large for a patch: export it as tar");
		return o->binary ? r : 0;
	}
	if (r == -ENOENT || r == -EINVAL) {
		warn(change->path, "is gone, or no file any more");
		return 0;
	}
	if (r < 0)
		return r;
	if (o->shown)
		put_shown(&shown, (struct bytes){ patch.data, patch.len }, true);
	return o->shown ? io_write_all(1, shown.data, shown.len) : io_write_all(1, patch.data, patch.len);
}

static bool went_with_folder(struct output *o, const struct change *change)
{
	size_t len = o->deleted ? strlen(o->deleted) : 0;

	if (change->kind != CHANGE_DELETED)
		return false;
	if (len && strncmp(change->path, o->deleted, len) == 0 && change->path[len] == '/')
		return true;
	free(o->deleted);
	o->deleted = S_ISDIR(change->was->st_mode) ? strdup(change->path) : NULL;
	return false;
}

static int write_tar(void *data, const struct change *change)
{
	struct output *o = data;
	int r;

	if (is_kept_back(change) || went_with_folder(o, change))
		return 0;
	r = tar_put(change, &o->running->workspace.ids, 1);
	if (r == 1)
		warn(change->path, "is nothing an archive takes, or is gone");
	return r < 0 ? r : 0;
}

/* ---- the verbs ---- */

static const struct running *find_running(const struct request *q)
{
	for (size_t i = 0; i < q->running.nr; i++)
		if (strcmp(q->running.items[i].workspace.name, q->name) == 0)
			return &q->running.items[i];
	fprintf(stderr, "cordon: workspace: no workspace %s is mounted here\n", q->name);
	return NULL;
}

static int find_changes(const struct request *q, const struct running *running, int (*each)(void *, const struct change *), void *data)
{
	const struct changes_plan plan = { .running = running, .state_dir = q->state_dir, .each = each, .data = data };
	struct err e = { 0 };
	char *changed = NULL;
	int r;

	if (running->workspace.kind == WORKSPACE_LIVE) {
		fprintf(stderr, "cordon: workspace: %s is the source itself: %s\n", q->name, running->workspace.why);
		return 1;
	}
	r = changes_find(&plan, &changed, &e);
	if (changed)
		warn(changed, "the source changed here since the workspace was made; what is told is against the source as it is now");
	free(changed);
	return r < 0 ? report(&e) : 0;
}

static int do_list(struct request *q)
{
	const struct running *running;

	if (!q->name)
		return q->details ? complain("which workspace's details?") : list_all(q);
	running = find_running(q);
	if (!running)
		return 1;
	return q->details ? list_details(q, running) : find_changes(q, running, print_change, q);
}

static int do_diff(struct request *q)
{
	const struct running *running = find_running(q);
	struct output o = { .request = q, .running = running, .shown = isatty(1) };

	return running ? find_changes(q, running, write_patch, &o) : 1;
}

static int do_export(struct request *q)
{
	const struct running *running = find_running(q);
	struct output o = { .request = q, .running = running, .binary = true };
	int code;

	if (!running)
		return 1;
	if (isatty(1)) {
		fputs("cordon: workspace: an export goes to a file or a pipe, not to a terminal\n", stderr);
		return 1;
	}
	code = find_changes(q, running, q->patch ? write_patch : write_tar, &o);
	free(o.deleted);
	return code || q->patch ? code : tar_end(1) < 0;
}

/* Without its marker it is made anew. Under agents' feet nothing is taken away. */
static int do_discard(struct request *q)
{
	_cleanup_close_ int folder = -1;
	struct err e = { 0 };
	int r;

	if (workspace_check_name(q->name, &e) < 0)
		return report(&e);
	folder = state_open(q->state_dir, q->name, false, &e);
	if (folder < 0)
		return report(&e);
	r = is_running(q, q->name) ? state_forget(folder) : state_empty(folder);
	if (r < 0) {
		fprintf(stderr, "cordon: workspace: %s: %s\n", q->name, strerror(-r));
		return 1;
	}
	if (is_running(q, q->name))
		printf("%s: made anew at the next start; until then it stays as it is\n", q->name);
	return 0;
}

static const struct verb {
	const char *name;
	bool names_one;
	int (*run)(struct request *q);
} verbs[] = {
	{ "list", false, do_list }, { "diff", true, do_diff }, { "export", true, do_export }, { "discard", true, do_discard },
};

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' }, { "details", no_argument, NULL, 'd' }, { "format", required_argument, NULL, 'f' }, { "help", no_argument, NULL, 'h' }, { 0 },
};

static const char *folder_of(const char *variable, const char *otherwise)
{
	const char *value = getenv(variable);

	return value && *value ? value : otherwise;
}

static int run_verb(struct request *q, const char *name, bool has_more)
{
	struct err e = { 0 };
	int code;

	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
		if (strcmp(verbs[i].name, name) != 0)
			continue;
		if (has_more || (verbs[i].names_one && !q->name))
			return complain(has_more ? "unexpected word" : "which workspace?");
		if (running_read(q->run_dir, &q->running, &e) < 0)
			return report(&e);
		code = verbs[i].run(q);
		running_free(&q->running);
		return fflush(stdout) == EOF ? 1 : code;
	}
	return complain("list, diff, export or discard?");
}

int cli_workspace(int argc, char **argv)
{
	struct request q = { .state_dir = folder_of("CORDON_STATE_DIR", CORDON_STATE_DIR), .run_dir = folder_of("CORDON_RUN_DIR", CORDON_RUN_DIR) };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			q.json = true;
			break;
		case 'd':
			q.details = true;
			break;
		case 'f':
			q.patch = strcmp(optarg, "patch") == 0;
			if (!q.patch && strcmp(optarg, "tar") != 0)
				return complain("the format is tar or patch");
			break;
		case 'h':
			return fputs(usage, stdout) == EOF;
		default:
			return complain(option == ':' ? "a value is missing" : "unknown option");
		}
	}
	if (optind == argc)
		return complain("list, diff, export or discard?");
	q.name = optind + 1 < argc ? argv[optind + 1] : NULL;
	return run_verb(&q, argv[optind], optind + 2 < argc);
}
