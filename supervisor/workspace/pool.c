/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded queue and a thread per CPU, the walk's own among them. The first error stops what is not begun; everything queued is still given back.
 *
 * A destination is finished (owner, mode, times) by whoever drops its last reference: the walk, or the thread of its last file.
 */
#include "supervisor/workspace/pool.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUEUE_MAX 256
#define THREADS_MAX 8

struct job {
	struct destination *destination;
	struct view_place *place;
	char from[NAME_MAX + 1], to[NAME_MAX + 1];
};

struct copy_pool {
	struct copy_ids ids;
	pthread_mutex_t lock;
	pthread_cond_t not_empty;
	pthread_t threads[THREADS_MAX];
	unsigned nr_threads, nr_idle, first, nr;
	bool ending;
	int error;
	uint64_t files, bytes, gone;
	struct job queue[QUEUE_MAX];
};

int copy_pool_error(struct copy_pool *pool)
{
	return __atomic_load_n(&pool->error, __ATOMIC_RELAXED);
}

void copy_pool_fail(struct copy_pool *pool, int error)
{
	int none = 0;

	__atomic_compare_exchange_n(&pool->error, &none, error, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void copy_pool_counts(struct copy_pool *pool, uint64_t *ret_files, uint64_t *ret_bytes, uint64_t *ret_gone)
{
	*ret_files = __atomic_load_n(&pool->files, __ATOMIC_RELAXED);
	*ret_bytes = __atomic_load_n(&pool->bytes, __ATOMIC_RELAXED);
	*ret_gone = __atomic_load_n(&pool->gone, __ATOMIC_RELAXED);
}

/* ---- folders ---- */

struct destination *destination_make(struct copy_pool *pool, struct destination *up, const char *name, struct view_place *place, int fd)
{
	struct destination *d = malloc(sizeof(*d));
	int r = d ? 0 : -ENOMEM;

	if (r == 0 && up && mkdirat(up->fd, name, 0700) < 0)
		r = -errno;
	if (r == 0 && up) {
		fd = openat(up->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = fd < 0 ? -errno : 0;
	}
	if (r < 0) {
		copy_pool_fail(pool, r);
		free(d);
		return NULL;
	}
	*d = (struct destination){ .refs = 1, .up = up, .fd = fd, .place = view_get_place(place) };
	if (up)
		__atomic_add_fetch(&up->refs, 1, __ATOMIC_RELAXED);
	return d;
}

void destination_put(struct copy_pool *pool, struct destination *d)
{
	while (d && __atomic_sub_fetch(&d->refs, 1, __ATOMIC_ACQ_REL) == 0) {
		struct destination *up = d->up;
		int r = copy_pool_error(pool) ? 0 : copy_folder_metadata(d->place->fd, d->fd, &pool->ids);

		if (r < 0)
			copy_pool_fail(pool, r);
		close(d->fd);
		view_put_place(d->place);
		free(d);
		d = up;
	}
}

/* ---- files ---- */

static void copy_one(struct copy_pool *pool, const struct job *job)
{
	_cleanup_close_ int from = view_open_file(job->place, job->from);
	uint64_t bytes = 0;
	int r = 0;

	if (from == -ENOENT || from == -EINVAL)	/* its time of change says so to whoever asks what changed */
		__atomic_add_fetch(&pool->gone, 1, __ATOMIC_RELAXED);
	else
		r = from < 0 ? from : copy_file(from, job->destination->fd, job->to, &pool->ids, &bytes);
	if (r < 0)
		copy_pool_fail(pool, r);
	__atomic_add_fetch(&pool->files, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&pool->bytes, bytes, __ATOMIC_RELAXED);
}

static struct job take_job(struct copy_pool *pool)
{
	struct job job = pool->queue[pool->first];

	pool->first = (pool->first + 1) % QUEUE_MAX;
	pool->nr--;
	return job;
}

static void do_job(struct copy_pool *pool, const struct job *job)
{
	if (!copy_pool_error(pool))
		copy_one(pool, job);
	view_put_place(job->place);
	destination_put(pool, job->destination);
}

static void *copy_thread(void *argument)
{
	struct copy_pool *pool = argument;
	struct job job;

	for (;;) {
		pthread_mutex_lock(&pool->lock);
		pool->nr_idle++;
		while (pool->nr == 0 && !pool->ending)
			pthread_cond_wait(&pool->not_empty, &pool->lock);
		pool->nr_idle--;
		if (pool->nr == 0) {
			pthread_mutex_unlock(&pool->lock);
			return NULL;
		}
		job = take_job(pool);
		pthread_mutex_unlock(&pool->lock);
		do_job(pool, &job);
	}
}

/* With the queue full the walk does one itself, rather than wait for somebody who does. */
void copy_pool_add(struct copy_pool *pool, struct destination *d, struct view_place *place, const char *from, const char *to)
{
	struct job *job, oldest;
	bool full;

	pthread_mutex_lock(&pool->lock);
	full = pool->nr == QUEUE_MAX;
	if (full)
		oldest = take_job(pool);
	job = &pool->queue[(pool->first + pool->nr) % QUEUE_MAX];
	job->destination = d;
	__atomic_add_fetch(&d->refs, 1, __ATOMIC_RELAXED);
	job->place = place;
	memcpy(job->from, from, strlen(from) + 1);
	memcpy(job->to, to, strlen(to) + 1);
	pool->nr++;
	if (pool->nr_idle)
		pthread_cond_signal(&pool->not_empty);
	pthread_mutex_unlock(&pool->lock);
	if (full)
		do_job(pool, &oldest);
}

/* ---- the pool ---- */

static unsigned cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (unsigned)CPU_COUNT(&set);
}

struct copy_pool *copy_pool_start(const struct copy_ids *ids)
{
	struct copy_pool *pool = calloc(1, sizeof(*pool));
	unsigned want = cpus() > THREADS_MAX ? THREADS_MAX : cpus() > 1 ? cpus() - 1 : 1;	/* the walk copies too */

	if (!pool)
		return NULL;
	pool->ids = *ids;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->not_empty, NULL);
	while (pool->nr_threads < want && pthread_create(&pool->threads[pool->nr_threads], NULL, copy_thread, pool) == 0)
		pool->nr_threads++;
	if (pool->nr_threads)
		return pool;
	free(pool);
	return NULL;
}

int copy_pool_end(struct copy_pool *pool)
{
	int r;

	pthread_mutex_lock(&pool->lock);
	pool->ending = true;
	pthread_cond_broadcast(&pool->not_empty);
	pthread_mutex_unlock(&pool->lock);
	for (unsigned i = 0; i < pool->nr_threads; i++)
		pthread_join(pool->threads[i], NULL);
	r = copy_pool_error(pool);
	free(pool);
	return r;
}
