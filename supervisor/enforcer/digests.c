/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of digests belongs to the loop. The thread sees only its queue of open files and gives back what it found; it decides nothing.
 *
 * Launches take turns in the queue, so that one that runs a thousand large programs of its own holds up another's by one of them.
 */
#include "supervisor/enforcer/digests.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define KNOWN_MAX 1024
#define ASKED_MAX 64		/* files nobody waits for, in the queue at once */

struct entry {
	struct exec_identity identity;
	char hex[65];		/* "": free */
};

struct job {
	struct job *next;
	int fd;
	struct exec_identity identity;
	uint64_t launch, flight;
	char *path;
	bool settled;
	int result;
	char hex[65];
};

struct digests {
	struct entry known[KNOWN_MAX];
	struct source done;
	unsigned nr_asked;
	pthread_mutex_t lock;	/* of what follows */
	pthread_cond_t wake;
	struct job *waiting, *finished;
	uint64_t last_launch;
};

/* ---- the table ---- */

static struct entry *place_of(const struct enforcer *e, const struct exec_identity *identity)
{
	uint64_t key = (uint64_t)identity->ino * 0x9e3779b97f4a7c15ULL ^ (uint64_t)identity->dev;

	return &e->digests->known[key >> 54];
}

const char *digest_known(const struct enforcer *e, const struct exec_identity *identity)
{
	const struct entry *entry = place_of(e, identity);

	return entry->hex[0] && exec_identity_same(&entry->identity, identity) ? entry->hex : NULL;
}

const char *digest_known_of(const struct enforcer *e, const struct stat *st)
{
	struct exec_identity identity;

	exec_identity_of(st, &identity);
	return digest_known(e, &identity);
}

static const char *remember(struct enforcer *e, const struct exec_identity *identity, const char *hex, bool settled)
{
	static char last[65];
	struct entry *entry = place_of(e, identity);

	memcpy(last, hex, sizeof(last));
	if (settled) {
		entry->identity = *identity;
		memcpy(entry->hex, hex, sizeof(entry->hex));
	}
	return last;
}

/* The descriptor may stand for a file that is not open (O_PATH). Regular files only ever come here. */
static int reopen(int fd)
{
	char link[32];
	int opened;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	opened = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return opened < 0 ? -errno : opened;
}

/* What was read is of the file as it was identified, or of nothing. */
static int hash(int fd, const struct exec_identity *identity, char ret_hex[static 65])
{
	struct exec_identity now;
	struct stat st;
	int r = sha256_fd(fd, DIGEST_MAX_BYTES, ret_hex);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		return -errno;
	exec_identity_of(&st, &now);
	return exec_identity_same(&now, identity) ? 0 : -ESTALE;
}

const char *digest_now(struct enforcer *e, int fd, const struct exec_identity *identity)
{
	const bool settled = exec_identity_settled(identity);
	_cleanup_close_ int opened = reopen(fd);
	char hex[65];

	if (opened < 0 || hash(opened, identity, hex) < 0)
		return NULL;
	return remember(e, identity, hex, settled);
}

/* ---- the thread ---- */

static struct job *take_next(struct digests *d)
{
	struct job **link = &d->waiting, *job;

	while (*link && (*link)->launch == d->last_launch)
		link = &(*link)->next;
	if (!*link)
		link = &d->waiting;
	job = *link;
	*link = job->next;
	d->last_launch = job->launch;
	return job;
}

static void *hash_for_ever(void *argument)
{
	struct digests *d = argument;
	const uint64_t one = 1;
	struct job *job;

	for (;;) {
		pthread_mutex_lock(&d->lock);
		while (!d->waiting)
			pthread_cond_wait(&d->wake, &d->lock);
		job = take_next(d);
		pthread_mutex_unlock(&d->lock);
		job->settled = exec_identity_settled(&job->identity);
		job->result = hash(job->fd, &job->identity, job->hex);
		close(job->fd);
		pthread_mutex_lock(&d->lock);
		job->next = d->finished;
		d->finished = job;
		pthread_mutex_unlock(&d->lock);
		(void)!write(d->done.fd, &one, sizeof(one));
	}
	return NULL;
}

/* ---- asking, and what comes back ---- */

static void record_program(struct enforcer *e, const struct job *job)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_bytes(&j, "path", bytes_of(job->path));
	json_uint(&j, "dev", job->identity.dev);
	json_uint(&j, "ino", job->identity.ino);
	json_uint(&j, "size", (uint64_t)job->identity.size);
	json_text(&j, "sha256", job->hex);
	audit_record(e->audit, "program", AUDIT_INFO, false, &members);
}

static void finish(struct enforcer *e, struct job *job)
{
	if (job->result == 0)
		(void)remember(e, &job->identity, job->hex, job->settled);
	if (job->result == 0 && job->path)
		record_program(e, job);
	if (job->flight)
		exec_digested(e, job->flight, &job->identity, job->result == 0 ? job->hex : NULL);
	else
		e->digests->nr_asked--;
	free(job->path);
	free(job);
}

static void done_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct digests *d = container_of(source, struct digests, done);
	struct job *job, *next;
	uint64_t count;

	(void)events;
	if (read(source->fd, &count, sizeof(count)) < 0)
		return;
	pthread_mutex_lock(&d->lock);
	job = d->finished;
	d->finished = NULL;
	pthread_mutex_unlock(&d->lock);
	for (; job; job = next) {
		next = job->next;
		finish(e, job);
	}
}

int digest_ask(struct enforcer *e, int fd, const struct exec_identity *identity, const char *path, uint64_t launch, uint64_t flight)
{
	struct digests *d = e->digests;
	struct job *job, **last = &d->waiting;

	if (!flight && d->nr_asked >= ASKED_MAX)
		return -EBUSY;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	*job = (struct job){ .identity = *identity, .launch = launch, .flight = flight, .path = path ? strdup(path) : NULL };
	job->fd = reopen(fd);
	if (job->fd < 0) {
		int r = job->fd;

		free(job->path);
		free(job);
		return r;
	}
	d->nr_asked += !flight;
	pthread_mutex_lock(&d->lock);
	while (*last)
		last = &(*last)->next;
	*last = job;
	pthread_cond_signal(&d->wake);
	pthread_mutex_unlock(&d->lock);
	return 0;
}

int digests_start(struct enforcer *e)
{
	struct digests *d = e->digests = calloc(1, sizeof(*d));
	int done = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), r;

	if (!d || done < 0)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	r = source_add(e, &d->done, done, EPOLLIN, done_ready);
	if (r < 0)
		return r;
	return thread_begin(hash_for_ever, d);
}
