/* SPDX-License-Identifier: Apache-2.0 */
/* Callers that die, are interrupted, or make others wait for their memory, while the supervisor acts for them. */
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

static struct sockaddr_in own;

/* ---- killed in the middle of calls ---- */

enum { BETWEEN, IN_OPEN, IN_CONNECT, IN_SEND, IN_EXEC, STAGES };

static void call_until_killed(volatile int *stage)
{
	int udp = socket(AF_INET, SOCK_DGRAM, 0);

	for (;;) {
		int fd;

		*stage = IN_OPEN;
		fd = open("/workspace/liveness", O_WRONLY | O_CREAT, 0600);
		close(fd);
		*stage = IN_CONNECT;
		fd = socket(AF_INET, SOCK_STREAM, 0);
		connect(fd, (struct sockaddr *)&own, sizeof(own));
		close(fd);
		*stage = IN_SEND;
		sendto(udp, "x", 1, 0, (struct sockaddr *)&own, sizeof(own));
		*stage = IN_EXEC;
		execl("/srv/open/no-such-program", "x", (char *)NULL);
		execl("/srv/allow/ok", "ok", (char *)NULL);
	}
}

static void kills(unsigned nr)
{
	unsigned long hits[STAGES] = { 0 };
	volatile int *stage = map_shared(4096);
	unsigned seed = 1;
	int server = loopback_server(SOCK_STREAM, &own);

	fcntl(server, F_SETFL, O_NONBLOCK);
	for (unsigned i = 0; i < nr; i++) {
		pid_t pid;

		*stage = BETWEEN;
		pid = fork();
		if (pid == 0)
			call_until_killed(stage);
		for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 16; n; n--)
			__asm__ volatile("pause");
		hits[*stage]++;
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		for (int fd; (fd = accept(server, NULL, NULL)) >= 0;)
			close(fd);
	}
	printf("kills=%u between=%lu open=%lu connect=%lu send=%lu exec=%lu\n", nr, hits[BETWEEN], hits[IN_OPEN], hits[IN_CONNECT], hits[IN_SEND],
	       hits[IN_EXEC]);
}

/* ---- Go's way: SIGURG to every thread every 10 ms, its handler with SA_RESTART ---- */

#define THREADS 8

static pid_t tids[THREADS];
static volatile bool over;
static unsigned long calls, failed, ticks;

static void on_urg(int number)
{
	(void)number;
}

static void *tick_all(void *argument)
{
	(void)argument;
	while (!over) {
		usleep(10000);
		for (int i = 0; i < THREADS; i++)
			if (tids[i] && syscall(SYS_tgkill, getpid(), tids[i], SIGURG) == 0)
				__atomic_add_fetch(&ticks, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void count(bool ok, const char *what)
{
	__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	if (ok)
		return;
	__atomic_add_fetch(&failed, 1, __ATOMIC_RELAXED);
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
}

static void *work(void *argument)
{
	int number = (int)(intptr_t)argument, fd, status;
	pid_t pid;
	char path[64];

	tids[number] = (pid_t)syscall(SYS_gettid);
	snprintf(path, sizeof(path), "/workspace/urg-%d", number);
	while (!over) {
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		count(fd >= 0, "open");
		close(fd);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* the program writes to 5 */
		count(connect(fd, (struct sockaddr *)&own, sizeof(own)) == 0, "connect");
		close(fd);
		/* As its forkExec: what is between fork and exec gets signals, too. */
		pid = fork();
		if (pid == 0) {
			execl("/srv/allow/ok", "ok", (char *)NULL);
			_exit(errno);
		}
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		errno = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
		count(status == 0, "exec");
	}
	return NULL;
}

static void *accept_all(void *argument)
{
	int server = (int)(intptr_t)argument;

	for (;;)
		close(accept(server, NULL, NULL));
	return NULL;
}

static void urg(int seconds)
{
	struct sigaction action = { .sa_handler = on_urg, .sa_flags = SA_RESTART | SA_ONSTACK };
	pthread_t threads[THREADS], other;

	sigaction(SIGURG, &action, NULL);
	pthread_create(&other, NULL, accept_all, (void *)(intptr_t)loopback_server(SOCK_STREAM, &own));
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
	pthread_create(&other, NULL, tick_all, NULL);
	sleep((unsigned)seconds);
	over = true;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("calls=%lu failed=%lu signals=%lu\n", calls, failed, ticks);
}

/* ---- memory that is hard to read: mmap_lock is held for writing most of the time ---- */

static void *hold_lock(void *argument)
{
	size_t bytes = 1UL << 30;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)argument;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	memset(memory, 1, bytes / 2);
	for (;;) {
		mprotect(memory, bytes, PROT_READ);
		mprotect(memory, bytes, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

static void locked(int seconds)
{
	uint64_t end, longest = 0;
	pthread_t thread;
	unsigned nr = 0;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, hold_lock, NULL);
	sleep(2);
	printf("holding\n");
	for (end = now_ms() + (uint64_t)seconds * 1000; now_ms() < end; nr++) {
		uint64_t began = now_ms();
		int fd = open("/workspace/locked", O_WRONLY | O_CREAT, 0600);

		if (fd < 0)
			die("open");
		close(fd);
		syscall(SYS_execve, 1UL, NULL, NULL);
		if (now_ms() - began > longest)
			longest = now_ms() - began;
	}
	printf("opened=%u longest=%lu ms\n", nr, longest);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "kills") == 0 && argc == 3)
		kills((unsigned)atoi(argv[2]));
	else if (strcmp(what, "urg") == 0 && argc == 3)
		urg(atoi(argv[2]));
	else if (strcmp(what, "locked") == 0 && argc == 3)
		locked(atoi(argv[2]));
	else
		return 2;
	return 0;
}
