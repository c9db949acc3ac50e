/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the audit log's queue with allowed connects until one is refused, then sees what else goes. */
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

static const char *exec_of(const char *program)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execl(program, program, (char *)NULL);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	return status == 0 ? "ran" : WIFSIGNALED(status) ? "killed" : strerrorname_np(WEXITSTATUS(status));
}

/* Refused ever other things: would older records go to make room for these? */
static void wash(unsigned nr)
{
	char path[64];
	unsigned refused = 0, secret = 0;

	for (unsigned i = 0; i < nr; i++) {
		snprintf(path, sizeof(path), "/srv/open/wash-%u", i);
		refused += open(path, O_WRONLY | O_CREAT, 0600) < 0;
		if (i % 4 == 0)
			secret += open("/home/agent/.ssh/id_ed25519", O_RDONLY) < 0;
	}
	printf("refused=%u secret=%u\n", refused, secret);
	sleep(7); /* sums are written */
}

static void bad_execs(int nr, int seconds)
{
	unsigned long *done = map_shared(4096);
	uint64_t end = now_ms() + (uint64_t)seconds * 1000;

	for (int i = 0; i < nr; i++) {
		if (fork() != 0)
			continue;
		while (now_ms() < end) {
			syscall(SYS_execve, 1UL, 1UL, 1UL);
			__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("bad-execs=%lu\n", *done);
}

static void masked(int nr, int seconds)
{
	unsigned long *done = map_shared(4096), *opened = done + 1;
	uint64_t end = now_ms() + (uint64_t)seconds * 1000;

	for (int i = 0; i < nr; i++) {
		if (fork() != 0)
			continue;
		while (now_ms() < end)
			__atomic_add_fetch(open("/home/agent/.ssh/id_ed25519", O_RDONLY) < 0 ? done : opened, 1, __ATOMIC_RELAXED);
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("masked=%lu opened=%lu\n", *done, *opened);
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "masked") == 0) {
		masked(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "bad-execs") == 0) {
		bad_execs(atoi(argv[2]), atoi(argv[3]));
		return 0;
	}
	if (argc == 3 && strcmp(argv[1], "wash") == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		wash((unsigned)atoi(argv[2]));
		return 0;
	}
	unsigned most = argc > 1 ? (unsigned)atoi(argv[1]) : 100000, ok = 0, accepted = 0;
	struct sockaddr_in to;
	int server = loopback_server(SOCK_STREAM, &to), r = 0, error = 0;
	uint64_t began;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while (ok < most && r == 0) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), peer;

		began = now_ms();
		r = connect(fd, (struct sockaddr *)&to, sizeof(to));
		error = errno;
		if (r == 0) {
			ok++;
			peer = accept(server, NULL, NULL);
			accepted += peer >= 0;
			close(peer);
		}
		close(fd);
	}
	printf("connects ok=%u accepted=%u then=%s after=%lu\n", ok, accepted, r < 0 ? strerrorname_np(error) : "ok", now_ms() - began);
	began = now_ms();
	printf("exec %s", exec_of("/srv/allow/ok"));
	printf(" after=%lu\n", now_ms() - began);
	report_fd("open", open("/workspace/flood", O_WRONLY | O_CREAT, 0600));
	return 0;
}
