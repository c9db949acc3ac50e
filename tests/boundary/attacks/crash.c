/* SPDX-License-Identifier: Apache-2.0 */
/* One mediated call, made when /workspace/go appears; says how it ended and what is left of it. */
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

static struct sockaddr_in own;
static int server, client;
static const char *what;

static void say(const char *name, long result, int error)
{
	printf("%s %s\n", name, result >= 0 ? "ok" : strerrorname_np(error));
}

static int count_waiting(int type)
{
	int nr = 0, fd;
	char bytes[16];

	fcntl(server, F_SETFL, O_NONBLOCK);
	usleep(100000); /* what is on its way arrives */
	while ((fd = type == SOCK_STREAM ? accept(server, NULL, NULL) : (int)recv(server, bytes, sizeof(bytes), 0)) >= 0)
		nr++;
	return nr;
}

static void *act(void *argument)
{
	long r = -1;
	int status;
	pid_t pid;

	(void)argument;
	if (strncmp(what, "connect", 7) == 0) {
		r = connect(client, (struct sockaddr *)&own, sizeof(own));
		say("connect", r, errno);
		printf("%s\n", fcntl(client, F_GETFL) & O_NONBLOCK ? "nonblocking" : "blocking");
		close(client);
		printf("arrived=%d\n", count_waiting(SOCK_STREAM));
		client = socket(AF_INET, SOCK_STREAM, 0);
		r = connect(client, (struct sockaddr *)&own, sizeof(own));
		say("again", r, errno);
	} else if (strncmp(what, "send", 4) == 0) {
		r = sendto(client, "x", 1, 0, (struct sockaddr *)&own, sizeof(own));
		say("send", r, errno);
		printf("arrived=%d\n", count_waiting(SOCK_DGRAM));
	} else if (strcmp(what, "open") == 0) {
		r = open("/workspace/crash", O_WRONLY | O_CREAT | O_EXCL, 0600);
		say("open", r, errno);
		unlink("/workspace/crash");
	} else if (strcmp(what, "denied-open") == 0) {
		r = open("/srv/open/target", O_WRONLY);
		say("open", r, errno);
	} else {
		pid = fork();
		if (pid == 0) {
			execl(strcmp(what, "exec") == 0 ? "/srv/allow/ok" : "/srv/deny/rm", "ok", (char *)NULL);
			_exit(errno);
		}
		waitpid(pid, &status, 0);
		if (WIFSIGNALED(status))
			printf("exec signal %d\n", WTERMSIG(status));
		else
			say("exec", WEXITSTATUS(status) ? -1 : 0, WEXITSTATUS(status));
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	what = argc > 1 ? argv[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strncmp(what, "connect", 7) == 0 || strncmp(what, "send", 4) == 0) {
		server = loopback_server(what[0] == 'c' ? SOCK_STREAM : SOCK_DGRAM, &own);
		client = socket(AF_INET, what[0] == 'c' ? SOCK_STREAM : SOCK_DGRAM, 0);
	}
	printf("waiting\n");
	while (access("/workspace/go", F_OK) < 0)
		usleep(1000);
	if (!strstr(what, "-thread")) {
		act(NULL);
		return 0;
	}
	pthread_create(&thread, NULL, act, NULL);
	pthread_join(thread, NULL);
	return 0;
}
