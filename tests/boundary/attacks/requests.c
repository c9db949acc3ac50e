/* SPDX-License-Identifier: Apache-2.0 */
/* Launch requests no client of ours would send. Run by the host or from inside a launch; prints what came back. */
#include "attack.h"

#include "shim/proto.h"
#include "supervisor/control/layout.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

static int reach(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = CORDON_RUN_DIR "/" CORDON_LAUNCH_SOCKET };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		printf("connect %s\n", strerrorname_np(errno));
		exit(1);
	}
	return fd;
}

static void say(const char *name, int socket)
{
	struct {
		struct launch_event head;
		char text[PROTO_TEXT_MAX + 1];
	} event;
	struct pollfd p = { .fd = socket, .events = POLLIN };
	ssize_t len;

	for (;;) {
		if (poll(&p, 1, 5000) != 1) {
			printf("%s no answer\n", name);
			break;
		}
		len = recv(socket, &event, sizeof(event) - 1, 0);
		if (len <= 0) {
			printf("%s hangs up\n", name);
			break;
		}
		if (event.head.type == EVENT_TAKEN || event.head.type == EVENT_STARTED)
			continue;
		event.text[len > (ssize_t)sizeof(event.head) ? len - (ssize_t)sizeof(event.head) : 0] = 0;
		printf("%s type %u code %d text %.60s\n", name, event.head.type, event.head.code, event.text);
		break;
	}
	close(socket);
}

static void send_request(int socket, const void *data, size_t bytes, const int *fds, unsigned nr_fds)
{
	char control[CMSG_SPACE(16 * sizeof(int))] = "";
	struct iovec io = { (void *)(uintptr_t)data, bytes };
	struct msghdr m = { .msg_iov = &io, .msg_iovlen = 1 };

	if (nr_fds) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(nr_fds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(nr_fds * sizeof(int)) };
		memcpy(CMSG_DATA(c), fds, nr_fds * sizeof(int));
	}
	if (sendmsg(socket, &m, MSG_NOSIGNAL) < 0)
		printf("send %s\n", strerrorname_np(errno));
}

static int blob_of(const void *data, size_t bytes)
{
	int fd = memfd_create("blob", MFD_ALLOW_SEALING);

	if (write(fd, data, bytes) != (ssize_t)bytes)
		die("memfd");
	return fd;
}

struct counted {
	struct request_blob counts;
	char strings[256];
};

static size_t make_blob(struct counted *b, uint32_t argc, uint32_t envc, const char *strings, size_t bytes)
{
	*b = (struct counted){ .counts = { argc, envc } };
	memcpy(b->strings, strings, bytes);
	return sizeof(b->counts) + bytes;
}

#define STRINGS "\0\0\0/workspace\0/srv/allow/ok\0"	/* agent, mode, user, cwd, argv[0] */

static void one(const char *name, uint32_t argc, uint32_t envc, const char *strings, size_t bytes, uint32_t claimed)
{
	struct counted b;
	size_t len = make_blob(&b, argc, envc, strings, bytes);
	struct launch_request request = { .magic = PROTO_MAGIC, .version = PROTO_VERSION, .blob_bytes = claimed ? claimed : (uint32_t)len };
	int socket = reach(), fds[4] = { blob_of(&b, len), 0, 1, 2 };

	send_request(socket, &request, sizeof(request), fds, 4);
	say(name, socket);
	close(fds[0]);
}

static void odd_blobs(void)
{
	one("good", 1, 0, STRINGS, sizeof(STRINGS) - 1, 0);
	one("argc-0", 0, 0, STRINGS, sizeof(STRINGS) - 1, 0);
	one("argc-huge", 0xffffffff, 0, STRINGS, sizeof(STRINGS) - 1, 0);
	one("envc-huge", 1, 0x7fffffff, STRINGS, sizeof(STRINGS) - 1, 0);
	one("argc-beyond", 2, 0, STRINGS, sizeof(STRINGS) - 1, 0);
	one("no-nul", 1, 0, STRINGS, sizeof(STRINGS) - 2, 0);
	one("no-strings", 1, 0, "", 0, 0);
	one("claims-more", 1, 0, STRINGS, sizeof(STRINGS) - 1, 4096);
	one("claims-8m", 1, 0, STRINGS, sizeof(STRINGS) - 1, PROTO_BLOB_MAX);
	one("claims-4g", 1, 0, STRINGS, sizeof(STRINGS) - 1, 0xffffffff);
	one("claims-4", 1, 0, STRINGS, sizeof(STRINGS) - 1, 4);
	one("agent-slash", 1, 0, "../x\0\0\0/workspace\0/srv/allow/ok\0", 32, 0);
	one("cwd-relative", 1, 0, "\0\0\0workspace\0/srv/allow/ok\0", sizeof(STRINGS) - 2, 0);
	one("cwd-empty", 1, 0, "\0\0\0\0/srv/allow/ok\0", 18, 0);
	one("cwd-missing", 1, 0, "\0\0\0/no/such/x\0/srv/allow/ok\0", 28, 0);
	one("user-unknown", 1, 0, "\0\0nobody-at-all\0/workspace\0/srv/allow/ok\0", 41, 0);
	one("argv0-empty", 1, 0, "\0\0\0/workspace\0\0", 15, 0);
	one("env-nameless", 1, 2, "\0\0\0/workspace\0/srv/allow/ok\0=x\0y\0", sizeof(STRINGS) - 1 + 5, 0);
}

static void odd_messages(void)
{
	struct counted b;
	size_t len = make_blob(&b, 1, 0, STRINGS, sizeof(STRINGS) - 1);
	struct launch_request good = { .magic = PROTO_MAGIC, .version = PROTO_VERSION, .blob_bytes = (uint32_t)len }, bad = good;
	int blob = blob_of(&b, len), p[2], socket, fds[10] = { blob, 0, 1, 2, 0, 0, 0, 0, 0, 0 };

	socket = reach();
	send_request(socket, &good, sizeof(good), fds, 3);
	say("three-fds", socket);
	socket = reach();
	send_request(socket, &good, sizeof(good), fds, 10);
	say("ten-fds", socket);
	socket = reach();
	send_request(socket, &good, sizeof(good), NULL, 0);
	say("no-fds", socket);
	socket = reach();
	send_request(socket, &good, 4, fds, 4);
	say("short", socket);
	socket = reach();
	send_request(socket, &b, sizeof(b), fds, 4);
	say("long", socket);
	bad.magic++;
	socket = reach();
	send_request(socket, &bad, sizeof(bad), fds, 4);
	say("magic", socket);
	bad = good;
	bad.version = 99;
	socket = reach();
	send_request(socket, &bad, sizeof(bad), fds, 4);
	say("version", socket);
	if (pipe(p) < 0)
		die("pipe");
	fds[0] = p[0];
	socket = reach();
	send_request(socket, &good, sizeof(good), fds, 4);
	say("pipe-as-blob", socket);
	fds[0] = open("/dev/zero", O_RDONLY);
	socket = reach();
	send_request(socket, &good, sizeof(good), fds, 4);
	say("zero-as-blob", socket);
	fds[0] = blob;
	fds[2] = open("/", O_RDONLY | O_DIRECTORY);
	socket = reach();
	send_request(socket, &good, sizeof(good), fds, 4);
	say("folder-as-stdout", socket);
	fds[2] = open("/srv/target", O_PATH);
	socket = reach();
	send_request(socket, &good, sizeof(good), fds, 4);
	say("path-as-stdout", socket);
	bad = good;
	bad.flags = ~0U;
	bad.timeout_ms = ~0U;
	bad.rows = bad.columns = 0xffff;
	fds[2] = 1;
	socket = reach();
	send_request(socket, &bad, sizeof(bad), fds, 4);
	say("all-flags", socket);
}

/* Each holds a connection: some say nothing, some half, some a whole request. */
static void crowd(int nr)
{
	struct counted b;
	size_t len = make_blob(&b, 1, 0, STRINGS, sizeof(STRINGS) - 1);
	struct launch_request good = { .magic = PROTO_MAGIC, .version = PROTO_VERSION, .blob_bytes = (uint32_t)len };
	int *sockets = calloc((size_t)nr, sizeof(int)), fds[4] = { blob_of(&b, len), 0, 1, 2 }, ended = 0;

	for (int i = 0; i < nr; i++) {
		sockets[i] = reach();
		if (i % 3 == 0)
			send_request(sockets[i], &good, sizeof(good), fds, 4);
		else if (i % 3 == 1)
			send_request(sockets[i], &good, 8, fds, 2);
	}
	for (int i = 0; i < nr; i += 3) {
		struct launch_event event;
		struct pollfd p = { .fd = sockets[i], .events = POLLIN };

		while (poll(&p, 1, 20000) == 1 && recv(sockets[i], &event, sizeof(event), 0) >= (ssize_t)sizeof(event))
			if (event.type == EVENT_EXITED && event.code == 0) {
				ended++;
				break;
			}
	}
	printf("crowd of %d: %d of %d launches ended\n", nr, ended, (nr + 2) / 3);
}

/* A process of a launch that connects, hands its connection on and is gone when the supervisor looks who asked. */
static void as_the_dead(void)
{
	struct counted b;
	size_t len = make_blob(&b, 1, 0, STRINGS, sizeof(STRINGS) - 1);
	struct launch_request good = { .magic = PROTO_MAGIC, .version = PROTO_VERSION, .blob_bytes = (uint32_t)len };
	int pair[2], fds[4] = { blob_of(&b, len), 0, 1, 2 };

	for (int i = 0; i < 20; i++) {
		struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = CORDON_RUN_DIR "/" CORDON_LAUNCH_SOCKET };
		int socket_fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		pid_t pid;

		(void)pair;
		pid = fork();
		if (pid == 0)
			_exit(connect(socket_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0);
		waitpid(pid, NULL, 0);
		send_request(socket_fd, &good, sizeof(good), fds, 4);
		say("as-the-dead", socket_fd);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "blobs") == 0)
		odd_blobs();
	else if (strcmp(what, "messages") == 0)
		odd_messages();
	else if (strcmp(what, "crowd") == 0 && argc == 3)
		crowd(atoi(argv[2]));
	else if (strcmp(what, "dead") == 0)
		as_the_dead();
	else
		return 2;
	return 0;
}
