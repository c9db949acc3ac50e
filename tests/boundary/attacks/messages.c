/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: every way to hand an address to a send, races on all of what a send points to, and the sends that must work as ever. */
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

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

/* A UDP server of one's own on loopback. */
static int receiver(struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t bytes = sizeof(*ret_address);

	*ret_address = v4("127.0.0.1", 0);
	if (bind(fd, (struct sockaddr *)ret_address, sizeof(*ret_address)) < 0 || getsockname(fd, (struct sockaddr *)ret_address, &bytes) < 0)
		die("receiver");
	return fd;
}

static int server_tcp(struct sockaddr_in *ret_address)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t bytes = sizeof(*ret_address);

	*ret_address = v4("127.0.0.1", 0);
	if (bind(fd, (struct sockaddr *)ret_address, sizeof(*ret_address)) < 0 || listen(fd, 64) < 0 ||
	    getsockname(fd, (struct sockaddr *)ret_address, &bytes) < 0)
		die("server");
	return fd;
}

#define LATE_MS 20000 /* nothing that comes at all takes so long, on the slowest machine */

static unsigned drain(int fd)
{
	unsigned nr = 0;
	char data[64];

	while (recv(fd, data, sizeof(data), MSG_DONTWAIT) >= 0)
		nr++;
	return nr;
}

static void *idle(void *unused)
{
	pause();
	return unused;
}

/* From here on the process has two threads: its sends are performed, not continued. */
static void become_threaded(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, idle, NULL) != 0)
		die("thread");
}

struct one {
	struct mmsghdr m[8];
	struct iovec data[8];
};

static struct mmsghdr *message_to(struct one *o, unsigned i, void *address, socklen_t bytes, const char *text)
{
	o->data[i] = (struct iovec){ (void *)(uintptr_t)text, strlen(text) };
	o->m[i] = (struct mmsghdr){ .msg_hdr = { .msg_name = address, .msg_namelen = bytes, .msg_iov = &o->data[i], .msg_iovlen = 1 } };
	return &o->m[i];
}

/* ---- forms: nothing of this may reach the receiver at the denied address ---- */

static void forms(const char *address, int port)
{
	struct sockaddr_in denied = v4(address, port), own, unspec = denied, any = v4("0.0.0.0", 0);
	struct sockaddr_in6 mapped;
	struct sockaddr off = { .sa_family = AF_UNSPEC };
	int server = receiver(&own), fd = socket(AF_INET, SOCK_DGRAM, 0), six = socket(AF_INET6, SOCK_DGRAM, 0), on = 1, no = 0;
	struct one o;
	char text[80];
	/* 4 GiB-aligned: to whoever compares 32 bits this is NULL. */
	void *low = mmap((void *)0x700000000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (low == MAP_FAILED)
		die("mmap");
	snprintf(text, sizeof(text), "::ffff:%s", address);
	mapped = v6(text, port);
	unspec.sin_family = AF_UNSPEC;
	setsockopt(six, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	report("sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&denied, sizeof(denied)));
	report("sendto-junk", syscall(SYS_sendto, fd | 0x500000000L, "x", 1, 0x600000000L, &denied, sizeof(denied) | 0x300000000L));
	memcpy(low, &denied, sizeof(denied));
	report("sendto-low-zero", sendto(fd, "x", 1, 0, low, sizeof(denied)));
	report("sendmsg", sendmsg(fd, &message_to(&o, 0, &denied, sizeof(denied), "x")->msg_hdr, 0));
	report("sendmsg-low-zero", sendmsg(fd, &message_to(&o, 0, low, sizeof(denied), "x")->msg_hdr, 0));
	report("sendmsg-long-name", sendmsg(fd, &message_to(&o, 0, &denied, 4096, "x")->msg_hdr, 0));
	report("sendmmsg", sendmmsg(fd, &message_to(&o, 0, &denied, sizeof(denied), "x")[0], 1, 0));
	report("unspec-family", sendto(fd, "x", 1, 0, (struct sockaddr *)&unspec, sizeof(unspec)));
	report("mapped", sendto(six, "x", 1, 0, (struct sockaddr *)&mapped, sizeof(mapped)));
	report("mapped-short", sendto(six, "x", 1, 0, (struct sockaddr *)&mapped, 24));
	report("v4-on-v6", sendto(six, "x", 1, 0, (struct sockaddr *)&denied, sizeof(denied)));
	report("empty", sendto(fd, "", 0, 0, (struct sockaddr *)&denied, sizeof(denied)));
	report("connect", connect(fd, (struct sockaddr *)&denied, sizeof(denied)));
	report("connect-own", connect(fd, (struct sockaddr *)&own, sizeof(own)));
	report("connected-sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&denied, sizeof(denied)));
	report("disconnect", connect(fd, &off, sizeof(off)));
	report("disconnected-sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&denied, sizeof(denied)));
	setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof(on));
	report("cork-own", sendto(fd, "own", 3, 0, (struct sockaddr *)&own, sizeof(own)));
	report("cork-denied", sendto(fd, "x", 1, 0, (struct sockaddr *)&denied, sizeof(denied)));
	on = 0;
	setsockopt(fd, IPPROTO_UDP, UDP_CORK, &on, sizeof(on));
	printf("cork-received %u\n", drain(server));
	report("bind-any", bind(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&any, sizeof(any)));

	/* A batch ends where it is refused, and says how far it came. */
	message_to(&o, 0, &own, sizeof(own), "one");
	message_to(&o, 1, &own, sizeof(own), "two");
	message_to(&o, 2, &denied, sizeof(denied), "three");
	message_to(&o, 3, &own, sizeof(own), "four");
	printf("batch %d\n", sendmmsg(fd, o.m, 4, 0));
	printf("batch-lengths %u %u %u %u\n", o.m[0].msg_len, o.m[1].msg_len, o.m[2].msg_len, o.m[3].msg_len);
	printf("batch-received %u\n", drain(server));
	report("batch-rest", sendmmsg(fd, o.m + 2, 2, 0));
	printf("rest-received %u\n", drain(server));
}

/* A send that connects on its way: to one's own server its data arrives, elsewhere it is a refused connect. */
static void fast_open(const char *address, int port)
{
	struct sockaddr_in denied = v4(address, port), own;
	int server = server_tcp(&own), accepted;
	char data[16];

	for (int blocks = 0; blocks < 2; blocks++) {
		int fd = socket(AF_INET, SOCK_STREAM | (blocks ? 0 : SOCK_NONBLOCK), 0);
		ssize_t r = sendto(fd, "hello", 5, MSG_FASTOPEN, (struct sockaddr *)&own, sizeof(own));
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		if (r < 0 && errno == EINPROGRESS && poll(&p, 1, LATE_MS) == 1) /* no cookie yet: the data goes when the connection stands */
			r = send(fd, "hello", 5, 0);
		report("own", r);
		accepted = accept(server, NULL, NULL);
		printf("received %zd\n", recv(accepted, data, sizeof(data), 0));
		report("again", sendto(fd, "x", 1, MSG_FASTOPEN, (struct sockaddr *)&own, sizeof(own)));
		close(accepted);
		close(fd);
	}
	report("denied", sendto(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN, (struct sockaddr *)&denied, sizeof(denied)));
	report("denied-nonblocking", sendto(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "x", 1, MSG_FASTOPEN, (struct sockaddr *)&denied, sizeof(denied)));
}

/* Routes in options: the packet would go to the denied address, though another one was judged. */
static void routes(const char *address, int port)
{
	struct sockaddr_in own, denied = v4(address, port);
	int server = receiver(&own), fd = socket(AF_INET, SOCK_DGRAM, 0), six = socket(AF_INET6, SOCK_DGRAM, 0);
	unsigned char route[12] = { IPOPT_NOP, IPOPT_LSRR, 11, 4 }, control[CMSG_SPACE(sizeof(route))] __attribute__((aligned(8))) = { 0 };
	unsigned char header6[24] = { 0, 2, 2, 1 };
	struct one o;
	struct msghdr *m = &message_to(&o, 0, &own, sizeof(own), "x")->msg_hdr;
	struct cmsghdr *c;
	unsigned mark = 7;

	memcpy(route + 4, &denied.sin_addr, 4);
	memcpy(route + 8, &own.sin_addr, 4);
	report("option", setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, sizeof(route)));
	report("option-v6", setsockopt(six, IPPROTO_IPV6, IPV6_RTHDR, header6, sizeof(header6)));
	m->msg_control = control;
	m->msg_controllen = sizeof(control);
	c = CMSG_FIRSTHDR(m);
	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(route)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_RETOPTS };
	memcpy(CMSG_DATA(c), route, sizeof(route));
	report("ancillary", sendmsg(fd, m, 0));
	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(mark)), .cmsg_level = SOL_SOCKET, .cmsg_type = SO_MARK };
	memcpy(CMSG_DATA(c), &mark, sizeof(mark));
	m->msg_controllen = CMSG_SPACE(sizeof(mark));
	report("mark", sendmsg(fd, m, 0));
	printf("received %u\n", drain(server));
}

/* ---- races ---- */

static void race_name(const char *address, int port, unsigned tries)
{
	struct sockaddr_in own, denied = v4(address, port), *name = map_shared(4096);
	int server = receiver(&own), fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct flip f = { .word = (void *)name };
	unsigned sent = 0, refused = 0, other = 0, arrived = 0;
	struct one o;
	pthread_t thread;

	*name = own;
	memcpy(&f.values[0], &own, 8);
	memcpy(&f.values[1], &denied, 8);
	pthread_create(&thread, NULL, flip_run, &f);
	message_to(&o, 0, name, sizeof(*name), "x");
	for (unsigned i = 0; i < tries || ((sent <= 500 || refused <= 500) && i < 20 * tries); i++) {
		long r = i % 3 == 0 ? sendto(fd, "x", 1, 0, (struct sockaddr *)name, sizeof(*name)) :
			 i % 3 == 1 ? sendmsg(fd, &o.m[0].msg_hdr, 0) : sendmmsg(fd, o.m, 1, 0);

		sent += r >= 0;
		refused += r < 0 && errno == EPERM;
		other += r < 0 && errno != EPERM;
		arrived += drain(server);
	}
	f.stop = 1;
	pthread_join(thread, NULL);
	arrived += drain(server);
	printf("name tries=%u sent=%u refused=%u other=%u arrived=%u\n", tries, sent, refused, other, arrived);
}

/* The pointer in the header is what changes, from a process that shares nothing but this memory. */
static void race_header(const char *address, int port, unsigned tries)
{
	struct shared {
		struct one o;
		struct sockaddr_in own, denied;
		volatile int stop;
	} *s = map_shared(sizeof(*s));
	int server = receiver(&s->own), fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct flip f = { 0 };
	unsigned sent = 0, refused = 0, other = 0, arrived = 0;
	pid_t child;

	s->denied = v4(address, port);
	message_to(&s->o, 0, &s->own, sizeof(s->own), "x");
	f.word = (volatile uint64_t *)(void *)&s->o.m[0].msg_hdr.msg_name;
	f.values[0] = (uint64_t)&s->own;
	f.values[1] = (uint64_t)&s->denied;
	child = fork();
	if (child == 0) {
		flip_run(&f);
		_exit(0);
	}
	for (unsigned i = 0; i < tries || ((sent <= 500 || refused <= 500) && i < 20 * tries); i++) {
		long r = sendmsg(fd, &s->o.m[0].msg_hdr, 0);

		sent += r >= 0;
		refused += r < 0 && errno == EPERM;
		other += r < 0 && errno != EPERM;
		arrived += drain(server);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	arrived += drain(server);
	printf("header tries=%u sent=%u refused=%u other=%u arrived=%u\n", tries, sent, refused, other, arrived);
}

/*
 * The number names a UNIX socket when the call is received, and a UDP socket a moment later. call: sendmsg, sendto, connect or bind. What a
 * supervisor lets the kernel go on with then goes to the denied address. hits: how often the caller's own number had changed when it came back.
 */
static int swap_from[2];
static volatile int swap_stop;
static volatile unsigned swap_at;

static void *swap_run(void *unused)
{
	unsigned seed = 7;

	for (unsigned i = 0; !swap_stop; i++) {
		dup2(swap_from[i & 1], 60);
		swap_at = i;
		for (unsigned n = (seed = seed * 1103515245u + 12345u) >> 18 & 0x3fff; n; n--)
			__asm__ volatile("pause");
	}
	return unused;
}

static void race_fd(const char *call, const char *address, int port, unsigned tries)
{
	struct sockaddr_in denied = v4(address, port);
	unsigned sent = 0, refused = 0, other = 0, hits = 0;
	int pair[2], on = 1;
	struct one o;
	pthread_t thread;

	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	swap_from[0] = pair[0];
	swap_from[1] = socket(AF_INET, SOCK_DGRAM, 0);
	ioctl(pair[0], FIONBIO, &on);
	message_to(&o, 0, &denied, sizeof(denied), "x");
	dup2(swap_from[0], 60);
	pthread_create(&thread, NULL, swap_run, NULL);
	/* Where both threads share a CPU, the number changes under few calls: then more are made. */
	for (unsigned i = 0; i < tries || (hits <= 50 && i < 20 * tries); i++) {
		unsigned before = swap_at;
		long r = -1;

		if (strcmp(call, "sendmsg") == 0)
			r = sendmsg(60, &o.m[0].msg_hdr, 0);
		else if (strcmp(call, "sendto") == 0)
			r = sendto(60, "x", 1, 0, (struct sockaddr *)&denied, sizeof(denied));
		else
			r = connect(60, (struct sockaddr *)&denied, sizeof(denied));
		sent += r >= 0;
		refused += r < 0 && (errno == EPERM || errno == ECONNREFUSED);
		other += r < 0 && errno != EPERM && errno != ECONNREFUSED;
		hits += swap_at != before;
		if (strcmp(call, "connect") == 0)
			(void)!write(swap_from[1], "x", 1); /* is an association there? */
	}
	swap_stop = 1;
	pthread_join(thread, NULL);
	printf("fd-%s tries=%u sent=%u refused=%u other=%u hits=%u\n", call, tries, sent, refused, other, hits);
}

/* ---- what must be as it is without a supervisor ---- */

static void oddities(void)
{
	struct sockaddr_in own, closed = v4("127.0.0.1", 1);
	int server = receiver(&own), fd = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0), six = socket(AF_INET6, SOCK_DGRAM, 0);
	struct sockaddr_in6 own6 = v6("::1", 0), closed6 = v6("::1", 1);
	struct sockaddr_in to, privileged = v4("127.0.0.1", 80), elsewhere = v4("203.0.113.77", 0);
	static char big[70000];
	struct iovec parts[1025];
	struct one o;
	struct msghdr *m;
	int listener = server_tcp(&to), pair[2], accepted, path = open("/workspace", O_PATH);

	report("sendto", sendto(fd, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)));
	report("no-address", sendto(fd, "x", 1, 0, NULL, 0));
	report("no-length", syscall(SYS_sendto, fd, "x", 1, 0, &own, 0));
	report("short", syscall(SYS_sendto, fd, "x", 1, 0, &own, 8));
	report("negative", syscall(SYS_sendto, fd, "x", 1, 0, &own, -1));
	report("129", syscall(SYS_sendto, fd, "x", 1, 0, &own, 129));
	report("128", syscall(SYS_sendto, fd, "x", 1, 0, big, 128));
	report("bad-address", syscall(SYS_sendto, fd, "x", 1, 0, 8, sizeof(own)));
	report("bad-data", syscall(SYS_sendto, fd, 8, 1, 0, &own, sizeof(own)));
	report("bad-fd", sendto(77, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)));
	report("no-socket", sendto(0, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)));
	report("path-fd", sendto(path, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)));
	report("65507", sendto(fd, big, 65507, 0, (struct sockaddr *)&own, sizeof(own)));
	report("65508", sendto(fd, big, 65508, 0, (struct sockaddr *)&own, sizeof(own)));
	report("65536", sendto(fd, big, 65536, 0, (struct sockaddr *)&own, sizeof(own)));
	report("empty", sendto(fd, NULL, 0, 0, (struct sockaddr *)&own, sizeof(own)));
	own.sin_port = 0;
	report("port-0", sendto(fd, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)));
	own.sin_port = closed.sin_port;
	report("closed", sendto(fd, "x", 1, 0, (struct sockaddr *)&own, sizeof(own)));
	report("on-tcp", sendto(tcp, "x", 1, MSG_NOSIGNAL, (struct sockaddr *)&closed, sizeof(closed)));
	report("v6-on-v4", sendto(fd, "x", 1, 0, (struct sockaddr *)&closed6, sizeof(closed6)));
	report("v6", sendto(six, "x", 1, 0, (struct sockaddr *)&closed6, sizeof(closed6)));
	drain(server);

	closed.sin_port = own.sin_port;
	getsockname(server, (struct sockaddr *)&own, &(socklen_t){ sizeof(own) });
	m = &message_to(&o, 0, &own, sizeof(own), "hello")->msg_hdr;
	report("sendmsg", sendmsg(fd, m, 0));
	report("sendmsg-bad", sendmsg(fd, (struct msghdr *)8, 0));
	m->msg_namelen = 0;
	report("sendmsg-namelen-0", sendmsg(fd, m, 0));
	m->msg_namelen = 8;
	report("sendmsg-namelen-8", sendmsg(fd, m, 0));
	m->msg_namelen = (socklen_t)-1;
	report("sendmsg-namelen-negative", sendmsg(fd, m, 0));
	m->msg_name = NULL;
	report("sendmsg-null-negative", sendmsg(fd, m, 0));
	message_to(&o, 0, (void *)8, 16, "x");
	report("sendmsg-bad-name", sendmsg(fd, m, 0));
	message_to(&o, 0, &own, sizeof(own), "x");
	for (int i = 0; i < 1025; i++)
		parts[i] = (struct iovec){ big + i, 1 };
	m->msg_iov = parts;
	m->msg_iovlen = 1024;
	report("1024-parts", sendmsg(fd, m, 0));
	m->msg_iovlen = 1025;
	report("1025-parts", sendmsg(fd, m, 0));
	m->msg_iovlen = 2;
	parts[1].iov_len = (size_t)-1;
	report("negative-part", sendmsg(fd, m, 0));
	parts[1].iov_len = 1;
	parts[1].iov_base = (void *)8;
	report("bad-part", sendmsg(fd, m, 0));
	m->msg_iov = (struct iovec *)8;
	report("bad-parts", sendmsg(fd, m, 0));
	message_to(&o, 0, &own, sizeof(own), "x");
	m->msg_control = (void *)8;
	m->msg_controllen = 16;
	report("bad-control", sendmsg(fd, m, 0));
	m->msg_controllen = (size_t)-1;
	report("huge-control", sendmsg(fd, m, 0));
	report("batch-0", sendmmsg(fd, o.m, 0, 0));
	report("batch-bad", syscall(SYS_sendmmsg, fd, 8, 1, 0));
	message_to(&o, 0, &own, sizeof(own), "x");
	message_to(&o, 1, &own, 8, "x");
	printf("batch-half %d\n", sendmmsg(fd, o.m, 2, 0));
	drain(server);

	report("udp-connect", connect(fd, (struct sockaddr *)&own, sizeof(own)));
	message_to(&o, 0, NULL, 0, "connected");
	report("connected-sendmsg", sendmsg(fd, m, 0));
	report("connected-mmsg", sendmmsg(fd, o.m, 1, 0));
	printf("received %u\n", drain(server));
	report("udp-closed", connect(fd, (struct sockaddr *)&closed, sizeof(closed)));
	send(fd, "x", 1, 0);
	poll(&(struct pollfd){ .fd = fd }, 1, LATE_MS); /* the ICMP error */
	report("icmp-error", sendmsg(fd, m, 0));

	report("bind-0", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&(struct sockaddr_in){ .sin_family = AF_INET }, sizeof(own)));
	report("bind-privileged", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&privileged, sizeof(privileged)));
	report("bind-privileged-udp", bind(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&privileged, sizeof(privileged)));
	report("bind-elsewhere", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&elsewhere, sizeof(elsewhere)));
	report("bind-taken", bind(tcp, (struct sockaddr *)&to, sizeof(to)));
	report("bind-short", bind(tcp, (struct sockaddr *)&to, 8));
	report("bind-huge", bind(tcp, (struct sockaddr *)&to, 0x7fffffff));
	report("bind-bad", bind(tcp, (struct sockaddr *)8, sizeof(to)));
	report("bind-bad-fd", bind(77, (struct sockaddr *)&to, sizeof(to)));
	report("bind-no-socket", bind(0, (struct sockaddr *)&to, sizeof(to)));
	report("bind-twice", bind(listener, (struct sockaddr *)&to, sizeof(to)));
	report("bind-v6", bind(six, (struct sockaddr *)&own6, sizeof(own6)));
	report("bind-v6-short", bind(socket(AF_INET6, SOCK_DGRAM, 0), (struct sockaddr *)&own6, 20));
	report("bind-v4-on-v6", bind(socket(AF_INET6, SOCK_DGRAM, 0), (struct sockaddr *)&to, sizeof(to)));
	report("bind-v6-on-v4", bind(socket(AF_INET, SOCK_DGRAM, 0), (struct sockaddr *)&own6, sizeof(own6)));

	report("tcp", connect(tcp, (struct sockaddr *)&to, sizeof(to)));
	accepted = accept(listener, NULL, NULL);
	m = &message_to(&o, 0, &closed, sizeof(closed), "named")->msg_hdr;
	report("tcp-named", sendmsg(tcp, m, 0)); /* an established connection has its address */
	printf("tcp-received %zd\n", recv(accepted, big, sizeof(big), 0));
	close(accepted);
	poll(&(struct pollfd){ .fd = tcp, .events = POLLIN }, 1, LATE_MS); /* its end */
	(void)!sendmsg(tcp, m, MSG_NOSIGNAL);
	poll(&(struct pollfd){ .fd = tcp }, 1, LATE_MS); /* the reset */
	report("tcp-gone", sendmsg(tcp, m, MSG_NOSIGNAL));
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	message_to(&o, 0, NULL, 0, "x");
	report("pair", sendmsg(pair[0], m, 0));
	message_to(&o, 0, &own, sizeof(own), "x");
	report("pair-named", sendmsg(pair[0], m, 0));
	close(pair[1]);
	message_to(&o, 0, NULL, 0, "x");
	report("pair-gone", sendmsg(pair[0], m, MSG_NOSIGNAL));
}

static volatile sig_atomic_t pipes;

static void on_pipe(int number)
{
	(void)number;
	pipes++;
}

static int pass(int via, const int *fds, unsigned nr)
{
	char control[CMSG_SPACE(64 * sizeof(int))] = { 0 };
	struct iovec data = { (void *)(uintptr_t)"fds", 3 };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(nr * sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(nr * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(c), fds, nr * sizeof(int));
	return (int)sendmsg(via, &m, 0);
}

/* Receives what pass() sent: how many descriptors, and whether each is the file it should be. */
static void take(int from, ino_t inode)
{
	char control[CMSG_SPACE(64 * sizeof(int))], text[16];
	struct iovec data = { text, sizeof(text) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	unsigned right = 0, nr;
	struct cmsghdr *c;
	struct stat st;

	if (recvmsg(from, &m, 0) != 3 || !(c = CMSG_FIRSTHDR(&m)) || c->cmsg_type != SCM_RIGHTS) {
		printf("taken nothing\n");
		return;
	}
	nr = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
	for (unsigned i = 0; i < nr; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
		right += fstat(fd, &st) == 0 && st.st_ino == inode;
		close(fd);
	}
	printf("taken %u right %u\n", nr, right);
}

/* Sends many bytes in one blocking call while a child reads slowly: all of them arrive, in order. */
static void flood(const char *name, int from, int to, size_t bytes)
{
	unsigned char *data = malloc(bytes);
	struct iovec parts[3] = { { data, 1000 }, { data + 1000, bytes / 2 }, { data + 1000 + bytes / 2, bytes - bytes / 2 - 1000 } };
	struct msghdr m = { .msg_iov = parts, .msg_iovlen = 3 };
	int status;
	ssize_t sent;
	pid_t child;

	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)(i * 2654435761u >> 13);
	child = fork();
	if (child == 0) {
		size_t at = 0;
		static unsigned char got[8192];

		close(from);
		for (;;) {
			ssize_t n = read(to, got, sizeof(got));

			if (n <= 0)
				break;
			if (at + (size_t)n > bytes || memcmp(got, data + at, (size_t)n) != 0)
				_exit(2);
			at += (size_t)n;
			if (at / 65536 != (at - (size_t)n) / 65536)
				usleep(1000);
		}
		_exit(at == bytes ? 0 : 3);
	}
	close(to);
	sent = sendmsg(from, &m, 0);
	close(from);
	waitpid(child, &status, 0);
	printf("%s sent=%zd child=%d\n", name, sent, WEXITSTATUS(status));
	free(data);
}

static void tcp_pair(int ret[2])
{
	struct sockaddr_in to;
	int listener = server_tcp(&to);

	ret[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(ret[0], (struct sockaddr *)&to, sizeof(to)) < 0 || (ret[1] = accept(listener, NULL, NULL)) < 0)
		die("pair");
	close(listener);
}

static void streams(void)
{
	int pair[2], fds[20], file = open("/bin/sh", O_RDONLY);
	struct timeval timeout = { .tv_usec = 200000 };
	struct ucred credentials;
	static char big[1 << 20];
	struct iovec data = { big, sizeof(big) };
	struct msghdr m = { .msg_iov = &data, .msg_iovlen = 1 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char control[128];
	struct stat st;
	uint64_t began;
	long sent, all;
	int on = 1, server;

	fstat(file, &st);
	for (int i = 0; i < 20; i++)
		fds[i] = file;
	for (int type = SOCK_STREAM; type <= SOCK_SEQPACKET; type++) {
		if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
			continue;
		socketpair(AF_UNIX, type, 0, pair);
		printf("type %d pass-1 %d\n", type, pass(pair[0], fds, 1));
		take(pair[1], st.st_ino);
		printf("type %d pass-20 %d\n", type, pass(pair[0], fds, 20));
		take(pair[1], st.st_ino);
		fds[3] = 99;
		report("pass-bad", pass(pair[0], fds, 20));
		fds[3] = file;
		close(pair[0]);
		close(pair[1]);
	}
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	flood("flood-unix", pair[0], pair[1], 5000000);
	tcp_pair(pair);
	flood("flood-tcp", pair[0], pair[1], 5000000);

	/* No room: EAGAIN without waiting, what fitted before that; with a timeout the same after it. */
	for (int tcp = 0; tcp < 2; tcp++) {
		if (tcp)
			tcp_pair(pair);
		else
			socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
		for (all = 0; (sent = sendmsg(pair[0], &m, MSG_DONTWAIT)) > 0; all += sent)
			;
		printf("%s full %s %s\n", tcp ? "tcp" : "unix", strerrorname_np(errno), all > 100000 ? "after-much" : "after-little");
		setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
		began = now_ms();
		sent = sendmsg(pair[0], &m, 0);
		printf("timeout %s %s\n", sent < 0 ? strerrorname_np(errno) : "sent", now_ms() - began >= 190 && now_ms() - began < LATE_MS ? "in-time" : "late");
		close(pair[0]);
		close(pair[1]);
	}

	/* SIGPIPE, unless it is not wanted. */
	signal(SIGPIPE, on_pipe);
	for (int tcp = 0; tcp < 2; tcp++) {
		data.iov_len = 10;
		if (tcp)
			tcp_pair(pair);
		else
			socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
		close(pair[1]);
		shutdown(pair[0], SHUT_WR);
		pipes = 0;
		report("pipe", sendmsg(pair[0], &m, 0));
		printf("signals %d\n", pipes);
		report("pipe-nosignal", sendmsg(pair[0], &m, MSG_NOSIGNAL));
		printf("signals %d\n", pipes);
		close(pair[0]);
	}

	/* Who sent it: the receiver must at least see the right user. */
	socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
	setsockopt(pair[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	report("credentials", sendmsg(pair[0], &m, 0));
	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	if (recvmsg(pair[1], &m, 0) == 10 && CMSG_FIRSTHDR(&m)) {
		memcpy(&credentials, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(credentials));
		printf("from-pid %d uid %d gid %d\n", credentials.pid == getpid(), credentials.uid == getuid(), credentials.gid == getgid());
	}
	m.msg_control = NULL;
	m.msg_controllen = 0;

	/* Servers of one's own by every kind of name. */
	for (int kind = 0; kind < 4; kind++) {
		socklen_t bytes = sizeof(un);

		memset(un.sun_path, 0, sizeof(un.sun_path));
		if (kind == 3) {
			snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "messages-%d", getpid());
			bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(un.sun_path + 1));
		} else {
			snprintf(un.sun_path, sizeof(un.sun_path), "%smessages-%d-%d", kind == 0 ? "/workspace/" : kind == 1 ? "" : "./", getpid(), kind);
		}
		server = socket(AF_UNIX, SOCK_DGRAM, 0);
		umask(kind == 1 ? 077 : 022);
		report("bind", bind(server, (struct sockaddr *)&un, bytes));
		if (kind < 3 && stat(un.sun_path, &st) == 0)
			printf("mode %o owner %d\n", st.st_mode & 0777, st.st_uid == getuid() && st.st_gid == getgid());
		m.msg_name = &un;
		m.msg_namelen = bytes;
		report("named", sendmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &m, 0));
		report("sendto", sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "abc", 3, 0, (struct sockaddr *)&un, bytes));
		printf("arrived %u\n", drain(server));
		close(server);
		report("nobody", sendmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &m, 0));
		server = socket(AF_UNIX, SOCK_STREAM, 0);
		if (kind < 3)
			unlink(un.sun_path);
		report("bind-stream", bind(server, (struct sockaddr *)&un, bytes));
		report("bind-again", bind(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&un, bytes));
		listen(server, 1);
		pair[0] = socket(AF_UNIX, SOCK_STREAM, 0);
		report("connect", connect(pair[0], (struct sockaddr *)&un, bytes));
		report("connect-twice", connect(pair[0], (struct sockaddr *)&un, bytes));
		pair[1] = accept(server, NULL, NULL);
		if (getsockopt(pair[1], SOL_SOCKET, SO_PEERCRED, &credentials, &(socklen_t){ sizeof(credentials) }) == 0)
			printf("peer-uid %d peer-gid %d\n", credentials.uid == getuid(), credentials.gid == getgid());
		close(server);
		if (kind < 3)
			unlink(un.sun_path);
	}
}

/* Listens without a bind until chance gives this port, or every port of the range came by. */
static void chance(int port)
{
	unsigned seen = 0;

	for (int round = 0; round < 40000; round++) {
		struct sockaddr_in name;
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (listen(fd, 1) < 0 || getsockname(fd, (struct sockaddr *)&name, &(socklen_t){ sizeof(name) }) < 0)
			break;
		seen++;
		if (ntohs(name.sin_port) == port) {
			printf("got %d\n", port);
			return;
		}
		if (round % 200 != 199) /* some stay open, so that the choice moves on */
			close(fd);
	}
	printf("never got %d%s\n", port, seen == 40000 ? "" : ", but ended early");
}

/* An abstract socket, connected and not. */
static void abstract(const char *name)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));

	snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", name);
	report("abstract-connect", connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&un, bytes));
	report("abstract-sendto", sendto(socket(AF_UNIX, SOCK_DGRAM, 0), "x", 1, 0, (struct sockaddr *)&un, bytes));
	report("abstract-connect-dgram", connect(socket(AF_UNIX, SOCK_DGRAM, 0), (struct sockaddr *)&un, bytes));
}

static void netlink(void)
{
	struct { struct nlmsghdr head; struct rtgenmsg body; } ask = {
		{ sizeof(ask), RTM_GETLINK, NLM_F_REQUEST | NLM_F_DUMP, 1, 0 }, { AF_UNSPEC },
	};
	struct { struct nlmsghdr head; struct ifinfomsg body; } change = {
		{ sizeof(change), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 2, 0 }, { .ifi_index = 1, .ifi_change = 1, .ifi_flags = 0 },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	char answer[16384];
	struct nlmsghdr *h = (void *)answer;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct iovec data = { &ask, sizeof(ask) };
	struct msghdr m = { .msg_name = &kernel, .msg_namelen = sizeof(kernel), .msg_iov = &data, .msg_iovlen = 1 };

	report("nl-sendto", sendto(fd, &ask, sizeof(ask), 0, (struct sockaddr *)&kernel, sizeof(kernel)));
	printf("nl-answer %d\n", recv(fd, answer, sizeof(answer), 0) > 0 && h->nlmsg_type == RTM_NEWLINK);
	close(fd);
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	report("nl-bind", bind(fd, (struct sockaddr *)&kernel, sizeof(kernel)));
	report("nl-sendmsg", sendmsg(fd, &m, 0));
	printf("nl-answer %d\n", recv(fd, answer, sizeof(answer), 0) > 0 && h->nlmsg_type == RTM_NEWLINK);
	close(fd);
	/* Takes loopback down, where whoever sends it has the capability. */
	fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	sendto(fd, &change, sizeof(change), 0, (struct sockaddr *)&kernel, sizeof(kernel));
	if (recv(fd, answer, sizeof(answer), 0) > 0 && h->nlmsg_type == NLMSG_ERROR)
		printf("nl-change %s\n", strerrorname_np(-((struct nlmsgerr *)NLMSG_DATA(h))->error));
}

/* ---- waits ---- */

static volatile sig_atomic_t alarms;

static void on_alarm(int number)
{
	(void)number;
	alarms++;
}

/* A blocking connect to nowhere and a signal with and without SA_RESTART; then killed where it waits. */
static void waits(const char *blackhole, int port)
{
	struct sockaddr_in to = v4(blackhole, port);
	struct itimerval every = { { 0, 100000 }, { 0, 300000 } }, never = { 0 };
	struct sigaction action = { .sa_handler = on_alarm };
	int fd = socket(AF_INET, SOCK_STREAM, 0), error = 0, status;
	uint64_t began = now_ms();
	socklen_t bytes = sizeof(error);
	struct pollfd p;
	pid_t child;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	report("interrupted", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	setitimer(ITIMER_REAL, &never, NULL);
	printf("within %s\n", now_ms() - began < LATE_MS ? "a-moment" : "long");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	report("again", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	close(fd);

	child = fork();
	if (child == 0) {
		action.sa_flags = SA_RESTART;
		sigaction(SIGALRM, &action, NULL);
		setitimer(ITIMER_REAL, &every, NULL);
		connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
		_exit(1); /* a restarted connect does not return */
	}
	usleep(1200000);
	printf("restarts %s\n", waitpid(child, &status, WNOHANG) == 0 ? "and-waits" : "but-returned");
	began = now_ms();
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	printf("killed %d %s\n", WTERMSIG(status), now_ms() - began < LATE_MS ? "at-once" : "late");

	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){ .tv_usec = 300000 }, sizeof(struct timeval));
	began = now_ms();
	report("timeout", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	printf("within %s\n", now_ms() - began >= 290 && now_ms() - began < LATE_MS ? "its-time" : "another");
	printf("blocking %d\n", !(fcntl(fd, F_GETFL) & O_NONBLOCK));
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	report("non-blocking", connect(fd, (struct sockaddr *)&to, sizeof(to)));
	p = (struct pollfd){ .fd = fd, .events = POLLOUT };
	printf("poll %d\n", poll(&p, 1, 100));
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes);
	printf("so-error %d\n", error);
}

/* NR processes in a blocking connect to nowhere, for SECONDS. */
static void hang(const char *blackhole, int port, int nr, int seconds)
{
	struct sockaddr_in to = v4(blackhole, port);

	for (int i = 0; i < nr; i++)
		if (fork() == 0) {
			connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
			pause();
		}
	printf("hanging\n");
	sleep((unsigned)seconds);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGKILL);
}

/* Medians and 99th percentiles of calls that are answered at once, in microseconds. */
static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void canary(int nr)
{
	double *took = calloc((size_t)nr, sizeof(*took));
	struct sockaddr_in to;
	int listener = server_tcp(&to);

	for (int i = 0; i < nr; i++) {
		struct timespec a, b;
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		clock_gettime(CLOCK_MONOTONIC, &a);
		if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("canary");
		clock_gettime(CLOCK_MONOTONIC, &b);
		took[i] = (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
		close(fd);
		close(accept(listener, NULL, NULL));
		usleep(2000);
	}
	qsort(took, (size_t)nr, sizeof(*took), by_value);
	printf("canary median=%.0f p99=%.0f\n", took[nr / 2], took[nr * 99 / 100]);
}

/* Counts datagrams while the enforcer dies and comes back: each send that said it was done was done once, no other was done. */
static void storm(int seconds)
{
	struct sockaddr_in own;
	int server = receiver(&own), fd = socket(AF_INET, SOCK_DGRAM, 0), room = 8 << 20;
	uint64_t end = now_ms() + (uint64_t)seconds * 1000;
	unsigned done = 0, unknown = 0, missing = 0, other = 0, arrived = 0, doubled = 0, lost = 0, last = 0, next = 1;

	setsockopt(server, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
	while (now_ms() < end) {
		unsigned number = next++, got;
		long r = sendto(fd, &number, sizeof(number), 0, (struct sockaddr *)&own, sizeof(own));
		bool here = false;

		done += r >= 0;
		unknown += r < 0 && errno == EIO;
		missing += r < 0 && errno == ENOSYS;
		other += r < 0 && errno != EIO && errno != ENOSYS;
		while (recv(server, &got, sizeof(got), MSG_DONTWAIT) == sizeof(got)) {
			arrived++;
			doubled += got == last;
			here |= got == number;
			last = got;
		}
		lost += r >= 0 && !here;
	}
	printf("storm done=%u unknown=%u enosys=%u other=%u arrived=%u doubled=%u lost=%u\n", done, unknown, missing, other, arrived, doubled, lost);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && strcmp(argv[argc - 1], "threads") == 0) {
		become_threaded();
		argc--;
	}
	if (strcmp(what, "forms") == 0 && argc == 4)
		forms(argv[2], atoi(argv[3]));
	else if (strcmp(what, "fast-open") == 0 && argc == 4)
		fast_open(argv[2], atoi(argv[3]));
	else if (strcmp(what, "chance") == 0 && argc == 3)
		chance(atoi(argv[2]));
	else if (strcmp(what, "abstract") == 0 && argc == 3)
		abstract(argv[2]);
	else if (strcmp(what, "bind") == 0 && argc == 4)
		report("bind", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)(struct sockaddr_in[]){ v4(argv[2], atoi(argv[3])) }, sizeof(struct sockaddr_in)));
	else if (strcmp(what, "routes") == 0 && argc == 4)
		routes(argv[2], atoi(argv[3]));
	else if (strcmp(what, "race-name") == 0 && argc == 5)
		race_name(argv[2], atoi(argv[3]), (unsigned)atoi(argv[4]));
	else if (strcmp(what, "race-header") == 0 && argc == 5)
		race_header(argv[2], atoi(argv[3]), (unsigned)atoi(argv[4]));
	else if (strcmp(what, "race-fd") == 0 && argc == 6)
		race_fd(argv[2], argv[3], atoi(argv[4]), (unsigned)atoi(argv[5]));
	else if (strcmp(what, "oddities") == 0)
		oddities();
	else if (strcmp(what, "streams") == 0)
		streams();
	else if (strcmp(what, "netlink") == 0)
		netlink();
	else if (strcmp(what, "waits") == 0 && argc == 4)
		waits(argv[2], atoi(argv[3]));
	else if (strcmp(what, "hang") == 0 && argc == 6)
		hang(argv[2], atoi(argv[3]), atoi(argv[4]), atoi(argv[5]));
	else if (strcmp(what, "canary") == 0 && argc == 3)
		canary(atoi(argv[2]));
	else if (strcmp(what, "storm") == 0 && argc == 3)
		storm(atoi(argv[2]));
	else
		return 2;
	return 0;
}
