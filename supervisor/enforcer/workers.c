/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for what may take longer than a notified call may wait: reading a launch's text, asking a command for a variable's value.
 *
 * A job belongs to the loop's thread except between workers_give() and its done(): meanwhile only its work() touches it. Whoever owns one and ends says
 * workers_forget(); the job itself lives until it is done.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/analyze/shell.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORKERS_MAX 4
#define STACK_BYTES (128u << 10)

struct workers {
	struct source source;		/* an eventfd: something is done */
	struct enforcer *enforcer;
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct worker_job *first, **last, *done;	/* under the lock */
	struct worker_job *all;			/* the loop's own: given and not done */
	unsigned nr_threads, nr_idle;
};

/* Nothing of it is kept: a text's reading may touch megabytes, once. */
static void work(struct worker_job *job)
{
	struct arena arena = { .len_bytes = SHELL_ARENA_BYTES };
	void *block = mmap(NULL, arena.len_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	arena.data = block;
	job->work(job, block == MAP_FAILED ? NULL : &arena);
	if (block != MAP_FAILED)
		munmap(block, arena.len_bytes);
}

static void *thread(void *argument)
{
	struct workers *w = argument;
	const uint64_t one = 1;

	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct worker_job *job;

		w->nr_idle++;
		while (!w->first)
			pthread_cond_wait(&w->more, &w->lock);
		w->nr_idle--;
		job = w->first;
		w->first = job->next;
		if (!w->first)
			w->last = &w->first;
		pthread_mutex_unlock(&w->lock);
		work(job);
		pthread_mutex_lock(&w->lock);
		job->next = w->done;
		w->done = job;
		(void)!write(w->source.fd, &one, sizeof(one));
	}
	return NULL;
}

static void finish(struct workers *w, struct worker_job *job)
{
	struct worker_job **link = &w->all;

	while (*link != job)
		link = &(*link)->next_of_all;
	*link = job->next_of_all;
	job->done(w->enforcer, job);
}

static void done_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct workers *w = container_of(source, struct workers, source);
	struct worker_job *job, *next;
	uint64_t count;

	(void)e;
	(void)events;
	(void)!read(source->fd, &count, sizeof(count));
	pthread_mutex_lock(&w->lock);
	job = w->done;
	w->done = NULL;
	pthread_mutex_unlock(&w->lock);
	for (; job; job = next) {
		next = job->next;
		finish(w, job);
	}
}

int workers_start(struct enforcer *e)
{
	struct workers *w = calloc(1, sizeof(*w));
	int fd;

	if (!w)
		return -ENOMEM;
	w->enforcer = e;
	w->last = &w->first;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	e->workers = w;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fd < 0 ? -errno : source_add(e, &w->source, fd, EPOLLIN, done_ready);
}

int workers_give(struct enforcer *e, struct worker_job *job)
{
	struct workers *w = e->workers;
	pthread_t id;
	int r = 0;

	pthread_mutex_lock(&w->lock);
	if (!w->nr_idle && w->nr_threads < WORKERS_MAX) {
		r = -pthread_create(&id, NULL, thread, w);
		if (r == 0) {
			pthread_detach(id);
			w->nr_threads++;
		}
	}
	if (r < 0 && !w->nr_threads) {
		pthread_mutex_unlock(&w->lock);
		return r;
	}
	job->next = NULL;
	*w->last = job;
	w->last = &job->next;
	pthread_cond_signal(&w->more);
	pthread_mutex_unlock(&w->lock);
	job->next_of_all = w->all;
	w->all = job;
	return 0;
}

void workers_forget(struct enforcer *e, const void *owner)
{
	for (struct worker_job *job = e->workers->all; job; job = job->next_of_all)
		if (job->owner == owner)
			job->owner = NULL;
}

int thread_begin(void *(*run)(void *argument), void *argument)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t id;
	int r = pthread_attr_init(&attributes);

	if (r)
		return -r;
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&id, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}
