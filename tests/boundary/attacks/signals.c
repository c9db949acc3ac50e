/* SPDX-License-Identifier: Apache-2.0 */
/* A timer a thousand times a second, its handler without SA_RESTART, while mediated calls are made: how many end with EINTR? */
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

static volatile unsigned long ticks;

static void on_tick(int number)
{
	(void)number;
	ticks++;
}

static void tick(void)
{
	struct sigaction action = { .sa_handler = on_tick };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
}

struct tally {
	unsigned long calls, interrupted, failed;
};

static void add(struct tally *t, bool ok, int error)
{
	t->calls++;
	if (!ok && error == EINTR)
		t->interrupted++;
	else if (!ok)
		t->failed++;
}

static void print(const char *name, const struct tally *t)
{
	printf("%s calls=%lu interrupted=%lu failed=%lu\n", name, t->calls, t->interrupted, t->failed);
}

/* The child execs with its own timer running; it must run, or say EINTR. */
static void exec_once(struct tally *t)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		tick();
		execl("/srv/allow/ok", "ok", (char *)NULL);
		_exit(errno);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* After the exec the timer goes on and SIGALRM has its default action again: that is not ours to count. */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		status = 0;
	add(t, status == 0, WIFEXITED(status) ? WEXITSTATUS(status) : EIO);
}

int main(int argc, char **argv)
{
	uint64_t end = now_ms() + (argc > 1 ? (uint64_t)atoi(argv[1]) : 3000);
	struct tally opens = { 0 }, connects = { 0 }, execs = { 0 }, exclusive = { 0 };
	struct sockaddr_in to;
	int server = loopback_server(SOCK_STREAM, &to), fd, r;
	char name[64];

	tick();
	for (unsigned i = 0; now_ms() < end; i++) {
		for (int n = 0; n < 20; n++) {
			fd = open("/workspace/ticking", O_WRONLY | O_CREAT, 0600);
			add(&opens, fd >= 0, errno);
			close(fd);
		}
		/* Twice done would be EEXIST. */
		snprintf(name, sizeof(name), "/tmp/once-%d-%u", getpid(), i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
		add(&exclusive, fd >= 0, errno);
		close(fd);
		unlink(name);
		fd = socket(AF_INET, SOCK_STREAM, 0);
		r = connect(fd, (struct sockaddr *)&to, sizeof(to));
		add(&connects, r == 0, errno);
		close(fd);
		if (r == 0)
			close(accept(server, NULL, NULL));
		if (i % 4 == 0)
			exec_once(&execs);
	}
	print("open", &opens);
	print("exclusive", &exclusive);
	print("connect", &connects);
	print("exec", &execs);
	printf("ticks=%lu\n", ticks);
	return 0;
}
