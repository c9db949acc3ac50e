/* SPDX-License-Identifier: Apache-2.0 */
/* One exec, one write-open, one connect to a listener of its own: exit status 0 when all work. */
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

static int connect_own(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&address, &bytes) < 0)
		return -1;
	return connect(client, (struct sockaddr *)&address, sizeof(address));
}

int main(int argc, char **argv)
{
	int status;
	pid_t pid;

	(void)argv;
	if (argc > 1)
		return 0;
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "canary", "child", NULL);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("exec");
	if (open("/workspace/canary", O_WRONLY | O_CREAT, 0666) < 0)
		die("open");
	if (connect_own() < 0)
		die("connect");
	return 0;
}
