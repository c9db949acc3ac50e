/* SPDX-License-Identifier: Apache-2.0 */
/* What the attack programs share. They print one line a case, "NAME RESULT", and leave judging to the script that runs them. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(99);
}

/* The case's errno by name, or "ok". Closes what it got. */
static inline void report_fd(const char *name, int fd)
{
	printf("%s %s\n", name, fd >= 0 ? "ok" : strerrorname_np(errno));
	if (fd >= 0)
		close(fd);
}

static inline void report(const char *name, long result)
{
	printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(errno));
}

/* Bound to a port of its own on loopback; a stream one listens. */
static inline int loopback_server(int type, struct sockaddr_in *ret)
{
	int server = socket(AF_INET, type, 0);
	socklen_t bytes = sizeof(*ret);

	*ret = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (bind(server, (struct sockaddr *)ret, sizeof(*ret)) < 0 || (type == SOCK_STREAM && listen(server, 4096) < 0) ||
	    getsockname(server, (struct sockaddr *)ret, &bytes) < 0)
		die("server");
	return server;
}

static inline uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static inline void *map_shared(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("mmap");
	return memory;
}

/*
 * A word that somebody else keeps changing between two values while calls that point to it are judged. Eight bytes are swapped at once, so a
 * reader never sees half of each; the pause is drawn anew each time, so that every phase of the call is hit.
 */
struct flip {
	volatile uint64_t *word;
	uint64_t values[2];
	volatile int stop;
};

static inline void *flip_run(void *argument)
{
	struct flip *f = argument;
	unsigned seed = 1;

	for (unsigned i = 0; !f->stop; i++) {
		*f->word = f->values[i & 1];
		for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 18 & 0x3fff; n; n--)
			__asm__ volatile("pause");
	}
	return NULL;
}
