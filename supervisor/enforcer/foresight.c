/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a launch that passed as a whole is going to exec: the command lines of its text that are known to the last byte, each with its working folder, as
 * digests. An exec that is one of them has had the launch's answer.
 *
 * Read from the words that the keeper holds, by the judge that passed the launch, when the first exec asks: so a later enforcer knows the same. A name of
 * a program foretells the file that the launch's PATH gives, and who execs has to be the shell (or wrapper) whose own words were read.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/sha256.h"
#include "supervisor/boundary/resolve.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES_MAX 16384	/* twice what a text may hold: some are readers as well */

struct entry {
	uint8_t digest[32];
};

struct foresight {
	struct worker_job job;
	struct consideration *question;		/* until it is answered */
	bool known;
	bool passed, unreviewed;		/* the launch as a whole */
	struct entry *entries;
	size_t nr, most;
};

/* cwd NULL: the command line as one that reads others. */
static void digest(const char *const *argv, size_t nr, const char *cwd, struct entry *ret)
{
	struct sha256 s;

	sha256_init(&s);
	sha256_update(&s, cwd ? cwd : "", strlen(cwd ? cwd : "") + 1);
	for (size_t i = 0; i < nr; i++)
		sha256_update(&s, argv[i], strlen(argv[i]) + 1);
	sha256_final(&s, ret->digest);
}

static size_t count(const char *const *argv)
{
	size_t nr = 0;

	while (argv[nr])
		nr++;
	return nr;
}

static bool holds(const struct foresight *f, const char *const *argv, const char *cwd)
{
	struct entry wanted;

	digest(argv, count(argv), cwd, &wanted);
	for (size_t i = 0; i < f->nr; i++)
		if (memcmp(&f->entries[i], &wanted, sizeof(wanted)) == 0)
			return true;
	return false;
}

static void add(struct foresight *f, const char *const *argv, size_t nr, const char *cwd)
{
	if (f->nr == f->most) {
		size_t most = f->most ? f->most * 2 : 8;
		struct entry *grown = most > ENTRIES_MAX ? NULL : realloc(f->entries, most * sizeof(*grown));

		if (!grown)
			return;		/* an exec that is not foreseen is judged alone */
		f->entries = grown;
		f->most = most;
	}
	digest(argv, nr, cwd, &f->entries[f->nr++]);
}

static void take(void *context, const char *const *argv, size_t nr, const char *cwd, bool reads)
{
	add(context, argv, nr, cwd);
	if (reads)
		add(context, argv, nr, NULL);
}

/* ---- asking ---- */

static void look_ahead(struct worker_job *job, struct arena *arena)
{
	struct foresight *f = container_of(job, struct foresight, job);
	struct consideration *c = f->question;
	const struct foreseen foreseen = { .take = take, .context = f };
	struct judge_subject subject = consideration_subject(c, c->asked, arena);

	subject.foreseen = &foreseen;
	judge_launch(c->policy, &subject, c->argv, c->cwd, &c->decision);
	judge_settle(&subject, &c->decision);
	f->passed = c->decision.verdict == VERDICT_ALLOW;
	f->unreviewed = c->decision.unreviewed;
	if (judge_transport(c->policy, c->argv, NULL))	/* the template's own shell starts what stands behind it */
		add(f, c->argv, count(c->argv), NULL);
}

static void looked_ahead(struct enforcer *e, struct worker_job *job)
{
	struct foresight *f = container_of(job, struct foresight, job);
	struct launch *l = job->owner;

	consideration_free(f->question);
	f->question = NULL;
	f->known = true;
	if (l)
		exec_resume(e, l);
	else
		foresight_free(f);
}

/* The folder's real name, which is what an exec is compared with. */
static void real_folder(const struct launch *l, char ret[static RESOLVE_PATH_MAX])
{
	const char *typed = l->blob + l->spec->cwd_offset;
	struct resolved folder;

	snprintf(ret, RESOLVE_PATH_MAX, "%s", typed);
	if (resolve_under(l->root, l->keeper_pid, AT_FDCWD, typed, true, &folder) < 0)
		return;
	if (!folder.missing)
		snprintf(ret, RESOLVE_PATH_MAX, "%s", folder.path);
	resolved_close(&folder);
}

static struct foresight *ask(struct enforcer *e, struct launch *l)
{
	struct foresight *f = calloc(1, sizeof(*f));
	char cwd[RESOLVE_PATH_MAX];

	if (!f)
		return NULL;
	real_folder(l, cwd);
	f->question = consideration_of(e, l, cwd);
	f->job = (struct worker_job){ .owner = l, .work = look_ahead, .done = looked_ahead };
	if (f->question && workers_give(e, &f->job) == 0)
		return f;
	consideration_free(f->question);
	free(f);
	return NULL;
}

enum foreseen_exec foresight_of(struct enforcer *e, struct launch *l, const char *const *argv, const char *cwd)
{
	if (!l->foresight)
		l->foresight = ask(e, l);
	if (!l->foresight)
		return FORESEEN_NOT;	/* no memory: judged alone */
	if (!l->foresight->known)
		return FORESEEN_LATER;
	return cwd && l->foresight->passed && holds(l->foresight, argv, cwd) ? FORESEEN : FORESEEN_NOT;
}

bool foresight_unreviewed(const struct launch *l)
{
	return l->foresight && l->foresight->unreviewed;
}

void foresight_free(struct foresight *f)
{
	if (!f)
		return;
	if (!f->known && f->job.owner) {	/* a worker has it still: it comes back to nobody */
		f->job.owner = NULL;
		return;
	}
	consideration_free(f->question);
	free(f->entries);
	free(f);
}

/* ---- who, and what ---- */

bool foresight_reads(const struct launch *l, pid_t caller)
{
	_cleanup_buf_ struct buf text = { 0 };
	_cleanup_free_ const char **argv = NULL;
	char path[32];
	size_t nr = 0;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", caller);
	if (!l->foresight || io_read_file(AT_FDCWD, path, PROTO_BLOB_MAX, &text) < 0)
		return false;
	buf_char(&text, 0);
	argv = text.failed ? NULL : calloc(text.len + 1, sizeof(*argv));
	if (!argv)
		return false;
	for (const char *at = text.data; at < text.data + text.len - 1; at += strlen(at) + 1)
		argv[nr++] = at;
	return holds(l->foresight, argv, NULL);
}

static bool is_file(const struct launch *l, pid_t tid, const char *path, const struct stat *file)
{
	struct resolved found;
	bool same;

	if (resolve_under(l->root, tid, AT_FDCWD, path, true, &found) < 0)
		return false;
	same = !found.missing && found.stat.st_dev == file->st_dev && found.stat.st_ino == file->st_ino;
	resolved_close(&found);
	return same;
}

static bool exists(const struct launch *l, pid_t tid, const char *path)
{
	struct resolved found;
	bool there;

	if (resolve_under(l->root, tid, AT_FDCWD, path, true, &found) < 0)
		return false;
	there = !found.missing && S_ISREG(found.stat.st_mode) && found.stat.st_mode & 0111;
	resolved_close(&found);
	return there;
}

bool foresight_names(const struct launch *l, pid_t tid, const char *name, const struct stat *file)
{
	const char *search = l->blob + l->spec->search_offset, *end;
	char path[RESOLVE_PATH_MAX];

	if (strchr(name, '/'))
		return name[0] == '/' && is_file(l, tid, name, file);
	for (;; search = end + 1) {
		end = search + strcspn(search, ":");
		if (*search == '/' && (size_t)snprintf(path, sizeof(path), "%.*s/%s", (int)(end - search), search, name) < sizeof(path) && exists(l, tid, path))
			return is_file(l, tid, path, file);
		if (!*end)
			return false;
	}
}
