/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: every spelling of an address nobody may reach, races on address and descriptor, and the connects that must work as ever. */
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

#define MPTCP 262

static struct sockaddr_in v4(const char *address, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	inet_pton(AF_INET, address, &in.sin_addr);
	return in;
}

static struct sockaddr_in6 v6(const char *address, int port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port) };

	inet_pton(AF_INET6, address, &in6.sin6_addr);
	return in6;
}

static void try_connect(const char *name, int family, int type, int protocol, const void *address, socklen_t bytes)
{
	int fd = socket(family, type, protocol), r;

	if (fd < 0) {
		report(name, -1);
		return;
	}
	r = (int)syscall(SYS_connect, fd, address, bytes);
	report(name, r);
	close(fd);
}

/* ---- forms: nothing of this may reach the listener ---- */

static void fast_open(const char *name, int call, int protocol, const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM, protocol);
	struct iovec io = { (void *)(uintptr_t)"x", 1 };
	struct mmsghdr m = { .msg_hdr = { .msg_name = (void *)(uintptr_t)to, .msg_namelen = sizeof(*to), .msg_iov = &io, .msg_iovlen = 1 } };
	long r = -1;

	if (fd < 0) {
		report(name, -1);
		return;
	}
	if (call == 0)
		r = syscall(SYS_sendto, fd, "x", 1, MSG_FASTOPEN, to, sizeof(*to));
	else if (call == 1)
		r = syscall(SYS_sendmsg, fd, &m.msg_hdr, MSG_FASTOPEN);
	else if (call == 2)
		r = syscall(SYS_sendmmsg, fd, &m, 1, MSG_FASTOPEN);
	else if (call == 3)
		r = syscall(SYS_sendto, fd, "x", 1, 0x7700000000UL << 8 | MSG_FASTOPEN, to, sizeof(*to));
	report(name, r);
	close(fd);
}

static void forms(const char *address, int port)
{
	struct sockaddr_in to = v4(address, port);
	struct sockaddr_in6 to6;
	struct sockaddr_storage padded = { 0 };
	char text[64];
	int fd, one = 1;

	try_connect("plain", AF_INET, SOCK_STREAM, 0, &to, sizeof(to));
	fd = socket(AF_INET, SOCK_STREAM, 0);
	report("junk-registers", syscall(SYS_connect, fd | 0x4200000000L, &to, sizeof(to) | 0x1700000000UL));
	close(fd);
	memcpy(&padded, &to, sizeof(to));
	try_connect("long-address", AF_INET, SOCK_STREAM, 0, &padded, sizeof(padded));
	snprintf(text, sizeof(text), "::ffff:%s", address);
	to6 = v6(text, port);
	try_connect("mapped", AF_INET6, SOCK_STREAM, 0, &to6, sizeof(to6));
	try_connect("mapped-24-bytes", AF_INET6, SOCK_STREAM, 0, &to6, 24);
	to6.sin6_scope_id = 1;
	try_connect("mapped-scope", AF_INET6, SOCK_STREAM, 0, &to6, sizeof(to6));
	try_connect("v4-on-v6-socket", AF_INET6, SOCK_STREAM, 0, &to, sizeof(to));
	try_connect("mptcp", AF_INET, SOCK_STREAM, MPTCP, &to, sizeof(to));
	to.sin_family = AF_UNSPEC;
	try_connect("family-unspec", AF_INET, SOCK_STREAM, 0, &to, sizeof(to));
	to.sin_family = 0x102;
	try_connect("family-junk", AF_INET, SOCK_STREAM, 0, &to, sizeof(to));
	to.sin_family = AF_INET;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	report("non-blocking", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one));
	report("fastopen-connect", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	report("fastopen-connect-write", write(fd, "x", 1));
	close(fd);
	fast_open("fastopen-sendto", 0, 0, &to);
	fast_open("fastopen-sendmsg", 1, 0, &to);
	fast_open("fastopen-sendmmsg", 2, 0, &to);
	fast_open("fastopen-junk", 3, 0, &to);
	fast_open("fastopen-mptcp", 0, MPTCP, &to);
}

static void datagrams(const char *address, int port)
{
	struct sockaddr_in to = v4(address, port), loopback = v4("127.0.0.1", port);
	struct iovec io = { (void *)(uintptr_t)"x", 1 };
	struct mmsghdr m[2] = { { .msg_hdr = { .msg_name = &loopback, .msg_namelen = sizeof(to), .msg_iov = &io, .msg_iovlen = 1 } },
				{ .msg_hdr = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &io, .msg_iovlen = 1 } } };
	struct sockaddr_in6 to6;
	char text[64];
	int fd = socket(AF_INET, SOCK_DGRAM, 0), fd6 = socket(AF_INET6, SOCK_DGRAM, 0);

	report("sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
	report("sendmsg", sendmsg(fd, &m[1].msg_hdr, 0));
	report("sendmmsg", sendmmsg(fd, &m[1], 1, 0));
	report("sendmmsg-batch", sendmmsg(fd, m, 2, 0));
	report("connect", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	report("connect-send", send(fd, "x", 1, 0));
	report("confirm", sendto(fd, "x", 1, MSG_CONFIRM | MSG_MORE, (struct sockaddr *)&to, sizeof(to)));
	to.sin_family = AF_UNSPEC; /* UDP reads it as IPv4 */
	report("unspec", sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
	report("unspec-connect", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	to.sin_family = AF_INET;
	report("v4-on-v6", sendto(fd6, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
	snprintf(text, sizeof(text), "::ffff:%s", address);
	to6 = v6(text, port);
	report("mapped", sendto(fd6, "x", 1, 0, (struct sockaddr *)&to6, sizeof(to6)));
	report("mapped-24", sendto(fd6, "x", 1, 0, (struct sockaddr *)&to6, 24));
	report("mapped-connect", connect(fd6, (struct sockaddr *)&to6, sizeof(to6)));
	report("mapped-connect-send", send(fd6, "x", 1, 0));
	fd = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE);
	report("udplite", fd < 0 ? -1 : sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
	fd = socket(AF_INET, SOCK_DGRAM, 1);
	report("ping", fd < 0 ? -1 : sendto(fd, "\10\0\0\0\0\0\0\0", 8, 0, (struct sockaddr *)&to, sizeof(to)));
}

/* ---- races: what the listener counts are wins; "tries" and what the caller saw are printed ---- */

static void race_address(const char *allowed, int allowed_port, const char *denied, int denied_port, unsigned tries)
{
	struct sockaddr_in *address = map_shared(4096), a = v4(allowed, allowed_port), d = v4(denied, denied_port);
	struct flip f = { .word = (void *)address };
	unsigned connected = 0, refused = 0, other = 0;
	pthread_t thread;

	*address = a;
	memcpy(&f.values[0], &a, 8);
	memcpy(&f.values[1], &d, 8);
	pthread_create(&thread, NULL, flip_run, &f);
	for (unsigned i = 0; i < tries; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0), r = connect(fd, (struct sockaddr *)address, sizeof(*address));

		connected += r == 0;
		refused += r < 0 && errno == ECONNREFUSED;
		other += r < 0 && errno != ECONNREFUSED;
		close(fd);
	}
	f.stop = 1;
	pthread_join(thread, NULL);
	printf("address tries=%u connected=%u refused=%u other=%u\n", tries, connected, refused, other);
}

/* Two UNIX addresses, one of them refused, in memory that another process changes: the caller itself has one thread and nothing to share. */
static void race_unix(const char *denied, unsigned ms)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX, .sun_path = "/workspace/race.sock" }, other = { .sun_family = AF_UNIX }, peer;
	struct sockaddr_un *address = map_shared(4096);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	unsigned tries = 0, connected = 0, escapes = 0;
	uint64_t end = now_ms() + ms;
	pid_t swapper;

	strncpy(other.sun_path, denied, sizeof(other.sun_path) - 1);
	unlink(own.sun_path);
	if (bind(server, (struct sockaddr *)&own, sizeof(own)) < 0 || listen(server, 64) < 0)
		die("server");
	*address = own;
	swapper = fork();
	for (unsigned seed = 7; swapper == 0; *address = address->sun_path[1] == own.sun_path[1] ? other : own)
		for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 17 & 0x7fff; n; n--)
			__asm__ volatile("pause");
	while (now_ms() < end) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0), accepted;
		socklen_t bytes = sizeof(peer);

		tries++;
		memset(&peer, 0, sizeof(peer));
		if (connect(fd, (struct sockaddr *)address, sizeof(*address)) == 0 && ++connected &&
		    getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 && strcmp(peer.sun_path, denied) == 0)
			escapes++;
		while ((accepted = accept(server, NULL, NULL)) >= 0)
			close(accepted);
		close(fd);
	}
	kill(swapper, SIGKILL);
	waitpid(swapper, NULL, 0);
	printf("unix tries=%u connected=%u escapes=%u\n", tries, connected, escapes);
}

/*
 * The number of a UNIX socket in the call, whose connect is allowed; an internet socket under that number, and its address in the memory, a
 * moment later. A supervisor that lets the kernel go on with the caller's own arguments connects the wrong one.
 */
static int swapped[2];
static volatile int swap_stop;
static struct sockaddr_storage *swap_address;
static struct sockaddr_un swap_unix;
static struct sockaddr_in swap_internet;

static void *swap_run(void *unused)
{
	unsigned seed = 7;

	(void)unused;
	for (unsigned i = 0; !swap_stop; i++) {
		dup2(swapped[i & 1], 60);
		if (i & 1)
			memcpy(swap_address, &swap_internet, sizeof(swap_internet));
		else
			memcpy(swap_address, &swap_unix, sizeof(swap_unix));
		for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 17 & 0x7fff; n; n--)
			__asm__ volatile("pause");
	}
	return NULL;
}

static void race_socket(const char *denied, int port, int protocol, unsigned ms)
{
	unsigned tries = 0, zero = 0;
	uint64_t end = now_ms() + ms;
	pthread_t thread;

	swap_address = map_shared(4096);
	swap_unix.sun_family = AF_UNIX;
	strcpy(swap_unix.sun_path, "/workspace/server.sock");
	swap_internet = v4(denied, port);
	unlink(swap_unix.sun_path);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)&swap_unix, sizeof(swap_unix)) < 0 || listen(server, 64) < 0)
		die("server");
	swapped[0] = socket(AF_UNIX, SOCK_STREAM, 0);
	swapped[1] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, protocol);
	pthread_create(&thread, NULL, swap_run, NULL);
	while (now_ms() < end) {
		int r = (int)syscall(SYS_connect, 60, swap_address, sizeof(swap_unix));
		struct sockaddr_storage peer;
		socklen_t bytes = sizeof(peer);

		tries++;
		if (r == 0) { /* the UNIX one: a fresh socket for the next try */
			int accepted = accept4(server, NULL, NULL, SOCK_NONBLOCK), next = socket(AF_UNIX, SOCK_STREAM, 0);

			zero++;
			if (accepted >= 0)
				close(accepted);
			dup2(next, swapped[0]);
			close(next);
		}
		if (getpeername(swapped[1], (struct sockaddr *)&peer, &bytes) == 0)
			break;
	}
	swap_stop = 1;
	pthread_join(thread, NULL);
	printf("socket tries=%u unix-connected=%u\n", tries, zero);
}

/*
 * The same for datagrams, for which the kernel has no backstop: the number, the address, the message header and its length all change while a
 * send is judged, by a sibling thread or by a process that shares the memory alone.
 */
static struct msghdr *swap_header;

static void *swap_datagram(void *unused)
{
	unsigned seed = 11;

	(void)unused;
	for (unsigned i = 0; !swap_stop; i++) {
		if (i & 2)
			dup2(swapped[i & 1], 60);
		if (i & 1)
			memcpy(swap_address, &swap_internet, sizeof(swap_internet));
		else
			memcpy(swap_address, &swap_unix, sizeof(swap_unix));
		swap_header->msg_name = i & 4 ? (void *)&swap_internet : (void *)swap_address;
		swap_header->msg_namelen = i & 1 ? sizeof(swap_internet) : sizeof(swap_unix);
		for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 17 & 0x7fff; n; n--)
			__asm__ volatile("pause");
	}
	return NULL;
}

static int swap_datagram_beside(void *unused)
{
	swap_datagram(unused);
	return 0;
}

static void race_datagram(const char *denied, int port, bool thread, unsigned ms)
{
	static char stack[65536] __attribute__((aligned(16)));
	struct iovec io = { (void *)(uintptr_t)"x", 1 };
	struct mmsghdr *batch = map_shared(4096);
	unsigned tries = 0, sent = 0;
	uint64_t end = now_ms() + ms;
	pthread_t id;

	swap_header = &batch->msg_hdr;
	swap_header->msg_iov = &io;
	swap_header->msg_iovlen = 1;
	swap_address = map_shared(4096);
	swap_unix.sun_family = AF_UNIX;
	strcpy(swap_unix.sun_path, "/workspace/datagrams.sock");
	swap_internet = v4(denied, port);
	unlink(swap_unix.sun_path);
	int server = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	char byte;

	if (bind(server, (struct sockaddr *)&swap_unix, sizeof(swap_unix)) < 0)
		die("server");
	swapped[0] = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	swapped[1] = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	dup2(swapped[thread ? 0 : 1], 60);
	if (thread)
		pthread_create(&id, NULL, swap_datagram, NULL);
	else if (clone(swap_datagram_beside, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL) < 0)
		die("clone");
	while (now_ms() < end) {
		long r = tries % 3 == 0   ? syscall(SYS_sendto, 60, "x", 1, 0, swap_address, tries & 1 ? sizeof(swap_internet) : sizeof(swap_unix))
			 : tries % 3 == 1 ? syscall(SYS_sendmsg, 60, swap_header, 0)
					  : syscall(SYS_sendmmsg, 60, batch, 1, 0);

		tries++;
		sent += r > 0;
		while (read(server, &byte, 1) > 0)
			;
	}
	swap_stop = 1;
	printf("datagram tries=%u sent=%u\n", tries, sent);
	fflush(stdout);
	_exit(0);
}

/* ---- what must work, and say what the kernel says ---- */

static void errnos(void)
{
	struct sockaddr_in closed = v4("127.0.0.1", 1), any = v4("0.0.0.0", 1);
	struct sockaddr_in6 closed6 = v6("::1", 1);
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "/workspace/no.sock" };
	socklen_t un_bytes = sizeof(un);
	struct sockaddr unspec = { .sa_family = AF_UNSPEC };
	char name[100];
	int fd, pair[2];

	(void)any;
	try_connect("closed-port", AF_INET, SOCK_STREAM, 0, &closed, sizeof(closed));
	try_connect("closed-port-v6", AF_INET6, SOCK_STREAM, 0, &closed6, sizeof(closed6));
	try_connect("short", AF_INET, SOCK_STREAM, 0, &closed, 8);
	try_connect("one-byte", AF_INET, SOCK_STREAM, 0, &closed, 1);
	try_connect("no-bytes", AF_INET, SOCK_STREAM, 0, &closed, 0);
	try_connect("huge", AF_INET, SOCK_STREAM, 0, &closed, 0x7fffffff);
	try_connect("negative", AF_INET, SOCK_STREAM, 0, &closed, (socklen_t)-1);
	try_connect("129-bytes", AF_INET, SOCK_STREAM, 0, &closed, 129);
	try_connect("bad-pointer", AF_INET, SOCK_STREAM, 0, (void *)8, sizeof(closed));
	try_connect("null", AF_INET, SOCK_STREAM, 0, NULL, sizeof(closed));
	report("bad-fd", connect(77, (struct sockaddr *)&closed, sizeof(closed)));
	report("no-socket", connect(0, (struct sockaddr *)&closed, sizeof(closed)));
	fd = open("/workspace", O_PATH);
	report("path-fd", connect(fd, (struct sockaddr *)&closed, sizeof(closed)));
	close(fd);
	try_connect("unspec-stream", AF_INET, SOCK_STREAM, 0, &unspec, sizeof(unspec));
	try_connect("unspec-dgram", AF_INET, SOCK_DGRAM, 0, &unspec, sizeof(unspec));
	try_connect("unix-missing", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	strcpy(un.sun_path, "/no/such/folder/sock");
	try_connect("unix-no-folder", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	strcpy(un.sun_path, "no/relative");
	try_connect("unix-relative-missing", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	strcpy(un.sun_path, "/workspace");
	try_connect("unix-folder", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	try_connect("unix-family-only", AF_UNIX, SOCK_STREAM, 0, &un, sizeof(sa_family_t));
	try_connect("unix-too-long", AF_UNIX, SOCK_STREAM, 0, &un, sizeof(un) + 1);
	try_connect("unix-unspec-stream", AF_UNIX, SOCK_STREAM, 0, &unspec, sizeof(unspec));
	try_connect("unix-unspec-dgram", AF_UNIX, SOCK_DGRAM, 0, &unspec, sizeof(unspec));
	memset(un.sun_path, 0, sizeof(un.sun_path));
	strcpy(un.sun_path + 1, "nobody-listens");
	try_connect("abstract-missing", AF_UNIX, SOCK_STREAM, 0, &un, offsetof(struct sockaddr_un, sun_path) + 15);
	un.sun_family = AF_INET;
	try_connect("unix-wrong-family", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	un.sun_family = AF_UNIX;

	/* Servers of one's own. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(fd, (struct sockaddr *)&un, offsetof(struct sockaddr_un, sun_path) + 15);
	listen(fd, 4);
	try_connect("abstract-own", AF_UNIX, SOCK_STREAM, 0, &un, offsetof(struct sockaddr_un, sun_path) + 15);
	close(fd);
	memset(&un.sun_path, 0, sizeof(un.sun_path));
	snprintf(un.sun_path, sizeof(un.sun_path), "own-%d.sock", getpid());
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	report("unix-bind", bind(fd, (struct sockaddr *)&un, sizeof(un)));
	listen(fd, 4);
	try_connect("unix-own-relative", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	snprintf(name, sizeof(name), "/proc/self/cwd/%.60s", un.sun_path);
	memcpy(un.sun_path, name, strlen(name) + 1);
	try_connect("unix-own-proc-cwd", AF_UNIX, SOCK_STREAM, 0, &un, un_bytes);
	unlink(un.sun_path);
	report("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	report("connected", connect(pair[0], (struct sockaddr *)&un, un_bytes));
}

static int listener_of_mine(struct sockaddr_in *ret, int backlog)
{
	int server = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t bytes = sizeof(*ret);

	*ret = v4("127.0.0.1", 0);
	if (bind(server, (struct sockaddr *)ret, sizeof(*ret)) < 0 || listen(server, backlog) < 0 ||
	    getsockname(server, (struct sockaddr *)ret, &bytes) < 0)
		die("server");
	return server;
}

static void nonblocking(void)
{
	struct sockaddr_in to;
	int server = listener_of_mine(&to, 16), fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), error = 0;
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t bytes = sizeof(error);
	int r = connect(fd, (struct sockaddr *)&to, sizeof(to));

	printf("first %s\n", r == 0 || errno == EINPROGRESS ? "begun" : strerrorname_np(errno));
	printf("poll %d\n", poll(&p, 1, 20000));
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	printf("error %d\n", error);
	r = connect(fd, (struct sockaddr *)&to, sizeof(to));
	printf("second %s\n", r == 0 || errno == EISCONN ? "connected" : strerrorname_np(errno));
	report("third", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	close(accept(server, NULL, NULL));
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	report("udp-own-loopback", connect(fd, (struct sockaddr *)&to, sizeof(to)));
}

/* Fills the backlog of a listener nobody accepts from, and hangs there: the others of the launch and of other launches must not. */
static void hang(int nr, int seconds)
{
	struct sockaddr_in to;
	int server = listener_of_mine(&to, 0);

	(void)server;
	for (int i = 0; i < nr; i++)
		if (fork() == 0) {
			int fd = socket(AF_INET, SOCK_STREAM, 0);

			if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 && errno != EINTR)
				printf("hung-connect %s\n", strerrorname_np(errno));
			pause();
			_exit(0);
		}
	printf("hanging\n");
	sleep((unsigned)seconds);
	kill(0, SIGKILL);
}

static void unix_reach(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t bytes = sizeof(un);

	if (path[0] == '@') {
		strcpy(un.sun_path + 1, path + 1);
		bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
	} else {
		snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
	}
	try_connect("reach", AF_UNIX, SOCK_STREAM, 0, &un, bytes);
	try_connect("reach-seqpacket", AF_UNIX, SOCK_SEQPACKET, 0, &un, bytes);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	report("reach-sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&un, bytes));
}

static void reach(const char *address, int port)
{
	struct sockaddr_in to = v4(address, port);

	try_connect("reach", AF_INET, SOCK_STREAM, 0, &to, sizeof(to));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	if (strcmp(what, "forms") == 0 && argc == 4)
		forms(argv[2], atoi(argv[3]));
	else if (strcmp(what, "reach") == 0 && argc == 4)
		reach(argv[2], atoi(argv[3]));
	else if (strcmp(what, "unix") == 0 && argc == 3)
		unix_reach(argv[2]);
	else if (strcmp(what, "race-address") == 0 && argc == 7)
		race_address(argv[2], atoi(argv[3]), argv[4], atoi(argv[5]), (unsigned)atoi(argv[6]));
	else if (strcmp(what, "race-unix") == 0 && argc == 4)
		race_unix(argv[2], (unsigned)atoi(argv[3]));
	else if (strcmp(what, "race-socket") == 0 && argc == 5)
		race_socket(argv[2], atoi(argv[3]), 0, (unsigned)atoi(argv[4]));
	else if (strcmp(what, "race-socket-mptcp") == 0 && argc == 5)
		race_socket(argv[2], atoi(argv[3]), MPTCP, (unsigned)atoi(argv[4]));
	else if (strcmp(what, "race-datagram-thread") == 0 && argc == 5)
		race_datagram(argv[2], atoi(argv[3]), true, (unsigned)atoi(argv[4]));
	else if (strcmp(what, "race-datagram-vm") == 0 && argc == 5)
		race_datagram(argv[2], atoi(argv[3]), false, (unsigned)atoi(argv[4]));
	else if (strcmp(what, "datagrams") == 0 && argc == 4)
		datagrams(argv[2], atoi(argv[3]));
	else if (strcmp(what, "errnos") == 0)
		errnos();
	else if (strcmp(what, "nonblocking") == 0)
		nonblocking();
	else if (strcmp(what, "hang") == 0 && argc == 4)
		hang(atoi(argv[2]), atoi(argv[3]));
	else
		return 2;
	return 0;
}
