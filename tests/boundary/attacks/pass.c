/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors handed from one launch to another: what one may open and the other not. */
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

static socklen_t address_of(const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	strcpy(ret->sun_path, name);
	if (name[0] == '@')
		ret->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name) + (name[0] != '@'));
}

static void send_fd(int to, int fd)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'f';
	struct iovec io = { &byte, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	report("send", sendmsg(to, &m, 0));
}

static int take_fd(int from)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
	return fd;
}

/* Serves a writable descriptor of FILE at every socket there is, until it is killed. */
static void give(const char *file, int nr, char **names)
{
	int fd = open(file, O_RDWR | O_CREAT, 0666), servers[8];

	if (fd < 0)
		die(file);
	for (int i = 0; i < nr; i++) {
		struct sockaddr_un address;
		socklen_t bytes = address_of(names[i], &address);

		servers[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(servers[i], (struct sockaddr *)&address, bytes) < 0 || listen(servers[i], 8) < 0)
			die(names[i]);
		if (fork() == 0)
			for (;;)
				send_fd(accept(servers[i], NULL, NULL), fd);
	}
	printf("giving\n");
	for (;;)
		pause();
}

/* What a launch gets there, and whether it can write by it. */
static void take(const char *name)
{
	struct sockaddr_un address;
	socklen_t bytes = address_of(name, &address);
	int s = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	if (connect(s, (struct sockaddr *)&address, bytes) < 0) {
		printf("take %s connect %s\n", name, strerrorname_np(errno));
		return;
	}
	fd = take_fd(s);
	if (fd < 0)
		printf("take %s nothing\n", name);
	else
		printf("take %s %s\n", name, write(fd, "written by the stricter one\n", 28) == 28 ? "wrote" : strerrorname_np(errno));
}

/* A FIFO or socket file of the other launch is a way, too. */
static void meet(const char *fifo)
{
	int fd = open(fifo, O_WRONLY | O_NONBLOCK);

	report_fd("fifo", fd);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 3 && strcmp(argv[1], "give") == 0)
		give(argv[2], argc - 3, argv + 3);
	for (int i = 2; argc > 2 && strcmp(argv[1], "take") == 0 && i < argc; i++)
		take(argv[i]);
	if (argc == 3 && strcmp(argv[1], "meet") == 0)
		meet(argv[2]);
	return 0;
}
