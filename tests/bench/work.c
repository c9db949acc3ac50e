/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the benchmark runs natively, under the floor, in a launch and under bubblewrap. Static, so that every side runs the same bytes.
 *
 *   work micro DIR SCALE [MEASURE...]     one JSON line per measure: the time of single calls, in microseconds
 *   work contention DIR PROCESSES SECONDS one JSON line: writers and spawners hammering at once
 *   work compare ROUNDS + A... [+ B...]   one JSON line per command: whole processes, interleaved
 *   work listen PORT                      accepts and closes, until killed
 *   work nop                              ends at once
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPS_MAX 100000
#define THREADS 8
#define PROXY_PORT 48080	/* of policies/services: somebody else's listener that a launch may reach */
#define CONTENDERS_MAX 256
#define SAMPLES_MAX 20000

extern char **environ;

static char self[4096];

static void die(const char *what)
{
	fprintf(stderr, "work: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* ---- samples ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* samples must be sorted. */
static double quantile(const double *samples, unsigned nr, double q)
{
	return nr ? samples[(unsigned)(q * (nr - 1) + 0.5)] : 0;
}

static void report(const char *name, double *samples, unsigned nr)
{
	qsort(samples, nr, sizeof(*samples), by_value);
	printf("{\"measure\":\"%s\",\"n\":%u,\"median\":%.3f,\"p90\":%.3f,\"p99\":%.3f}\n", name, nr, quantile(samples, nr, 0.5),
	       quantile(samples, nr, 0.9), quantile(samples, nr, 0.99));
	fflush(stdout);
}

/* ---- spawning ---- */

static void wait_for(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0 || status)
		die("a spawned program failed");
}

static void spawn(char *const *argv)
{
	pid_t pid;
	int r = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);

	if (r) {
		errno = r;
		die(argv[0]);
	}
	wait_for(pid);
}

static double once_spawn_static(void)
{
	char *argv[] = { self, (char[]){ "nop" }, NULL };
	double start = now_us();

	spawn(argv);
	return now_us() - start;
}

static double once_spawn_dynamic(void)
{
	char *argv[] = { (char[]){ "/bin/true" }, NULL };
	double start = now_us();

	spawn(argv);
	return now_us() - start;
}

static double once_vfork_exec(void)
{
	char *const argv[] = { self, (char[]){ "nop" }, NULL };
	double start = now_us();
	pid_t pid = vfork();

	if (pid == 0) {
		execve(self, argv, environ);
		_exit(127);
	}
	if (pid < 0)
		die("vfork");
	wait_for(pid);
	return now_us() - start;
}

/* ---- calls nobody needs to see ---- */

static double once_getpid(void)
{
	double start = now_us();

	/* One call is below the clock's grain. */
	for (int i = 0; i < 100; i++)
		syscall(SYS_getpid);
	return (now_us() - start) / 100;
}

static double once_open_read(void)
{
	double start = now_us();
	int fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	double end = now_us();

	if (fd < 0)
		die("/etc/passwd");
	close(fd);
	return end - start;
}

static double once_stat(void)
{
	struct stat st;
	double start = now_us();

	if (stat("/etc/passwd", &st) < 0)
		die("/etc/passwd");
	return now_us() - start;
}

static double once_pipe(void)
{
	double start = now_us(), end;
	int fds[2];

	if (pipe(fds) < 0)
		die("pipe");
	end = now_us();
	close(fds[0]);
	close(fds[1]);
	return end - start;
}

static void *idle_thread(void *nothing)
{
	return nothing;
}

static double once_thread(void)
{
	double start = now_us();
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle_thread, NULL) || pthread_join(thread, NULL))
		die("thread");
	return now_us() - start;
}

/* ---- files ---- */

static double timed_open(const char *path, int flags)
{
	double start = now_us(), end;
	int fd = open(path, flags | O_CLOEXEC, 0644);

	end = now_us();
	if (fd < 0)
		die(path);
	close(fd);
	return end - start;
}

static double once_open_write(void)
{
	return timed_open("existing", O_WRONLY);
}

static char absolute[4096];

static double once_open_absolute(void)
{
	return timed_open(absolute, O_WRONLY);
}

static unsigned nr_created;

static double once_create(void)
{
	char name[32];

	snprintf(name, sizeof(name), "new.%u", nr_created++);
	return timed_open(name, O_WRONLY | O_CREAT | O_EXCL);
}

/* What the measure before it created; makes its own when there is none left. */
static double once_unlink(void)
{
	char name[32];
	double start;

	if (!nr_created)
		once_create();
	snprintf(name, sizeof(name), "new.%u", --nr_created);
	start = now_us();
	if (unlink(name) < 0)
		die(name);
	return now_us() - start;
}

/* ---- sockets ---- */

static struct sockaddr_in loopback(in_port_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

/* A bound socket of our own; a TCP one listens. */
static int own_socket(int type, struct sockaddr_in *ret_address)
{
	socklen_t bytes = sizeof(*ret_address);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	*ret_address = loopback(0);
	if (fd < 0 || bind(fd, (struct sockaddr *)ret_address, bytes) < 0 || getsockname(fd, (struct sockaddr *)ret_address, &bytes) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 64) < 0))
		die("own socket");
	return fd;
}

/* Linger 0: thousands of connections leave no TIME_WAIT behind. */
static int client_socket(int domain, int type)
{
	struct linger reset = { .l_onoff = 1 };
	int fd = socket(domain, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	if (domain == AF_INET && type == SOCK_STREAM)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	return fd;
}

static double timed_connect(int domain, int type, const void *address, socklen_t bytes, int acceptor)
{
	int fd = client_socket(domain, type), accepted = -1;
	double start = now_us(), end;

	if (connect(fd, address, bytes) < 0)
		die("connect");
	if (acceptor >= 0)
		accepted = accept(acceptor, NULL, NULL);
	end = now_us();
	close(fd);
	if (accepted >= 0)
		close(accepted);
	return end - start;
}

static double once_tcp_own(void)
{
	static struct sockaddr_in address;
	static int fd = -1;

	if (fd < 0)
		fd = own_socket(SOCK_STREAM, &address);
	return timed_connect(AF_INET, SOCK_STREAM, &address, sizeof(address), fd);
}

static double once_tcp_other(void)
{
	struct sockaddr_in address = loopback(PROXY_PORT);

	return timed_connect(AF_INET, SOCK_STREAM, &address, sizeof(address), -1);
}

static double once_udp(void)
{
	static struct sockaddr_in address;
	static int fd = -1;

	if (fd < 0)
		fd = own_socket(SOCK_DGRAM, &address);
	return timed_connect(AF_INET, SOCK_DGRAM, &address, sizeof(address), -1);
}

static double once_unix(void)
{
	static struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "socket" };
	static int fd = -1;

	if (fd < 0) {
		unlink(address.sun_path);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 64) < 0)
			die("UNIX socket");
	}
	return timed_connect(AF_UNIX, SOCK_STREAM, &address, sizeof(address), fd);
}

/* ---- micro ---- */

static const struct measure {
	const char *name;
	double (*once)(void);
	unsigned ops;		/* at scale 1 */
	bool threads;
} measures[] = {
	{ "getpid", once_getpid, 2000, false },
	{ "open_read", once_open_read, 3000, false },
	{ "stat", once_stat, 3000, false },
	{ "pipe", once_pipe, 3000, false },
	{ "thread", once_thread, 1000, false },
	{ "spawn_static", once_spawn_static, 150, false },
	{ "spawn_dynamic", once_spawn_dynamic, 150, false },
	{ "vfork_exec_8_threads", once_vfork_exec, 320, true },
	{ "open_write", once_open_write, 1500, false },
	{ "open_write_absolute", once_open_absolute, 1500, false },
	{ "create", once_create, 1000, false },
	{ "unlink", once_unlink, 1000, false },
	{ "tcp_own", once_tcp_own, 600, false },
	{ "tcp_other", once_tcp_other, 600, false },
	{ "udp", once_udp, 1000, false },
	{ "unix", once_unix, 1000, false },
};

struct share { const struct measure *measure; double *samples; unsigned nr; };

static void *run_share(void *argument)
{
	struct share *s = argument;

	for (unsigned i = 0; i < s->nr; i++)
		s->samples[i] = s->measure->once();
	return NULL;
}

static void run_measure(const struct measure *m, double scale)
{
	static double samples[OPS_MAX];
	unsigned nr = (unsigned)(m->ops * scale), nr_threads = m->threads ? THREADS : 1;
	struct share shares[THREADS];
	pthread_t threads[THREADS];

	if (nr > OPS_MAX)
		nr = OPS_MAX;
	if (nr < 2 * nr_threads)
		nr = 2 * nr_threads;
	for (unsigned i = 0; i < nr / 50 + 1 && !m->threads; i++) /* warm */
		m->once();
	for (unsigned i = 0; i < nr_threads; i++) {
		shares[i] = (struct share){ m, samples + i * (nr / nr_threads), nr / nr_threads };
		if (nr_threads == 1)
			run_share(&shares[i]);
		else if (pthread_create(&threads[i], NULL, run_share, &shares[i]))
			die("thread");
	}
	for (unsigned i = 0; nr_threads > 1 && i < nr_threads; i++)
		pthread_join(threads[i], NULL);
	report(m->name, samples, nr / nr_threads * nr_threads);
}

static bool is_asked(const char *name, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static int micro(const char *dir, const char *scale, char **names)
{
	int fd;

	if (chdir(dir) < 0)
		die(dir);
	fd = open("existing", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || !realpath("existing", absolute))
		die("existing");
	close(fd);
	for (size_t i = 0; i < sizeof(measures) / sizeof(measures[0]); i++)
		if (is_asked(measures[i].name, names))
			run_measure(&measures[i], atof(scale));
	return 0;
}

/* ---- contention ---- */

struct contender {		/* in memory all of them share */
	unsigned opens, spawns, nr_samples;
	double samples[SAMPLES_MAX];	/* of write-opens */
};

/* Sixteen opens, then a program: roughly what a build or an agent's shell does. */
static void contend(struct contender *c, unsigned index, double until)
{
	char name[32];

	snprintf(name, sizeof(name), "contender.%u", index);
	while (now_us() < until) {
		for (int i = 0; i < 16 && now_us() < until; i++) {
			double took = timed_open(name, O_WRONLY | O_CREAT);

			c->opens++;
			if (c->nr_samples < SAMPLES_MAX)
				c->samples[c->nr_samples++] = took;
		}
		once_spawn_static();
		c->spawns++;
	}
	_exit(0);
}

static void report_contention(const struct contender *all, unsigned nr, double seconds)
{
	double *samples = malloc((size_t)nr * SAMPLES_MAX * sizeof(*samples)), *shares = calloc(nr, sizeof(*shares));
	unsigned nr_samples = 0;
	double calls = 0;

	if (!samples || !shares)
		die("memory");
	for (unsigned i = 0; i < nr; i++) {
		memcpy(samples + nr_samples, all[i].samples, all[i].nr_samples * sizeof(*samples));
		nr_samples += all[i].nr_samples;
		shares[i] = all[i].opens + all[i].spawns;
		calls += shares[i];
	}
	qsort(samples, nr_samples, sizeof(*samples), by_value);
	qsort(shares, nr, sizeof(*shares), by_value);
	printf("{\"measure\":\"contention\",\"processes\":%u,\"calls_per_second\":%.0f,\"p50\":%.1f,\"p99\":%.1f,"
	       "\"share_min\":%.3f,\"share_max\":%.3f}\n",
	       nr, calls / seconds, quantile(samples, nr_samples, 0.5), quantile(samples, nr_samples, 0.99), shares[0] / (calls / nr),
	       shares[nr - 1] / (calls / nr));
	free(samples);
	free(shares);
}

static int contention(const char *dir, unsigned nr, double seconds)
{
	struct contender *all = mmap(NULL, sizeof(*all) * nr, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double until;
	int status, failed = 0;

	if (all == MAP_FAILED || chdir(dir) < 0)
		die(dir);
	until = now_us() + seconds * 1e6;
	for (unsigned i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0)
			contend(&all[i], i, until);
	}
	while (wait(&status) > 0)
		failed |= status;
	if (failed) {
		fprintf(stderr, "work: a contender failed\n");
		return 1;
	}
	report_contention(all, nr, seconds);
	return 0;
}

/* ---- whole processes ---- */

static double timed_command(char **argv)
{
	posix_spawn_file_actions_t actions;
	double start;
	int status, r;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	start = now_us();
	r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	if (r || waitpid(pid, &status, 0) < 0 || status) {
		fprintf(stderr, "work: %s failed\n", argv[0]);
		exit(1);
	}
	posix_spawn_file_actions_destroy(&actions);
	return now_us() - start;
}

static int compare(unsigned rounds, char **argv)
{
	static double samples[8][1000];
	char **commands[8], label[] = "compare_0";
	unsigned nr = 0;

	if (rounds > 1000)
		rounds = 1000;
	for (; *argv && nr < 8; argv++)
		if (strcmp(*argv, "+") == 0) {
			*argv = NULL;
			commands[nr++] = argv + 1;
		}
	for (unsigned i = 0; i < rounds; i++)
		for (unsigned k = 0; k < nr; k++)
			samples[k][i] = timed_command(commands[k]);
	for (unsigned k = 0; k < nr; k++) {
		label[sizeof(label) - 2] = (char)('0' + k);
		report(label, samples[k], rounds);
	}
	return 0;
}

static _Noreturn void listen_forever(const char *port)
{
	struct sockaddr_in address = loopback((in_port_t)atoi(port));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 512) < 0)
		die("listen");
	puts("listening");
	fflush(stdout);
	for (;;) {
		int accepted = accept(fd, NULL, NULL);

		if (accepted >= 0)
			close(accepted);
	}
}

int main(int argc, char **argv)
{
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (argc >= 2 && strcmp(argv[1], "nop") == 0)
		return 0;
	if (len < 0)
		die("/proc/self/exe");
	if (argc >= 4 && strcmp(argv[1], "micro") == 0)
		return micro(argv[2], argv[3], argv + 4);
	if (argc == 5 && strcmp(argv[1], "contention") == 0 && atoi(argv[3]) > 0 && atoi(argv[3]) <= CONTENDERS_MAX)
		return contention(argv[2], (unsigned)atoi(argv[3]), atof(argv[4]));
	if (argc >= 5 && strcmp(argv[1], "compare") == 0)
		return compare((unsigned)atoi(argv[2]), argv + 3);
	if (argc == 3 && strcmp(argv[1], "listen") == 0)
		listen_forever(argv[2]);
	fprintf(stderr, "usage: work micro DIR SCALE [MEASURE...] | contention DIR PROCESSES SECONDS | compare ROUNDS + A... [+ B...] | listen PORT | nop\n");
	return 2;
}
