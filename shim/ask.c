/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the supervisor for a launch, or a question about one, and stands in for the launch until it ends.
 *
 * Unprivileged. Owns nothing but its own terminal's settings, which it restores. It decides nothing: who it is, the supervisor learns from the kernel;
 * what it prints last, the supervisor or the keeper wrote.
 */
#include "shim/ask.h"

#include "shim/proto.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/err.h"
#include "supervisor/base/io.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>

#define EXIT_REFUSED 126
#define HUNG_UP 256	/* no exit code */
#define HANG_UPS_MAX 8
#define PATIENCE_MS 10000
#define PATIENCE_STEP_MS 10

extern char **environ;

int ask_fail(int code, const char *format, ...)
{
	va_list arguments;

	fputs("cordon: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return code;
}

/* ---- the request ---- */

static void append_string(struct buf *b, const char *text)
{
	buf_append(b, text ? text : "", strlen(text ? text : "") + 1);
}

static size_t count(char *const *strings)
{
	size_t nr = 0;

	while (strings[nr])
		nr++;
	return nr;
}

/* True when one of the --env settings replaces this variable. */
static bool is_replaced(const struct ask *ask, const char *variable)
{
	size_t name_len = strcspn(variable, "=") + 1;

	for (size_t i = 0; i < ask->nr_extra_env; i++)
		if (strncmp(ask->extra_env[i], variable, name_len) == 0)
			return true;
	return false;
}

static void build_blob(const struct ask *ask, struct buf *ret_blob)
{
	struct request_blob head = { .argc = (uint32_t)count(ask->argv), .envc = (uint32_t)ask->nr_extra_env };

	for (char **e = environ; *e; e++)
		head.envc += !is_replaced(ask, *e);
	buf_append(ret_blob, &head, sizeof(head));
	append_string(ret_blob, ask->agent);
	append_string(ret_blob, ask->mode);
	append_string(ret_blob, ask->user);
	append_string(ret_blob, ask->cwd);
	for (char **a = ask->argv; *a; a++)
		append_string(ret_blob, *a);
	for (char **e = environ; *e; e++)
		if (!is_replaced(ask, *e))
			append_string(ret_blob, *e);
	for (size_t i = 0; i < ask->nr_extra_env; i++)
		append_string(ret_blob, ask->extra_env[i]);
	if (ask->flags & REQUEST_SCOPE)
		append_string(ret_blob, ask->scope);
	if (ask->flags & REQUEST_ROOTS)
		append_string(ret_blob, ask->roots);
}

static int blob_to_memfd(const struct buf *blob)
{
	int fd = memfd_create("cordon-request", MFD_CLOEXEC | MFD_ALLOW_SEALING), r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, blob->data, blob->len);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

static void socket_path(struct sockaddr_un *ret_address)
{
	const char *dir = getenv("CORDON_RUN_DIR");

	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(ret_address->sun_path, sizeof(ret_address->sun_path), "%s/%s", dir && *dir ? dir : CORDON_RUN_DIR,
		 CORDON_LAUNCH_SOCKET);
}

static bool pid1_is_ours(void)
{
	char name[16] = "";
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);

	if (fd >= 0)
		close(fd);
	return len > 0 && strcmp(name, "cordond\n") == 0;
}

/* While PID 1 boots, or starts a new enforcer, nobody listens for a moment: a launch waits then, it does not fail. */
static bool connect_patiently(int fd, const struct sockaddr_un *address)
{
	struct timespec pause = { .tv_nsec = PATIENCE_STEP_MS * 1000000L };

	for (int waited_ms = 0;; waited_ms += PATIENCE_STEP_MS) {
		if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
			return true;
		if ((errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN) || waited_ms >= PATIENCE_MS || !pid1_is_ours())
			return false;
		nanosleep(&pause, NULL);
	}
}

/* Returns a connected socket or the exit code to end with, negated. */
static int reach_supervisor(void)
{
	struct sockaddr_un address;
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	socket_path(&address);
	if (fd < 0)
		return -ask_fail(EXIT_UNSTARTED, "no socket: %s", strerror(errno));
	if (connect_patiently(fd, &address))
		return fd;
	if (errno == ENOENT || errno == ECONNREFUSED)
		ask_fail(0, "supervisor not running: %s does not answer (is PID 1 of this container `cordond init`?)", address.sun_path);
	else if (errno == EACCES || errno == EPERM)
		ask_fail(0, "no permission to reach the supervisor at %s (launches cannot start launches)", address.sun_path);
	else
		ask_fail(0, "cannot reach the supervisor at %s: %s", address.sun_path, strerror(errno));
	close(fd);
	return -EXIT_UNSTARTED;
}

static void window_size(uint16_t *ret_rows, uint16_t *ret_columns)
{
	struct winsize size;

	*ret_rows = *ret_columns = 0;
	for (int fd = 0; fd <= 2; fd++) {
		if (ioctl(fd, TIOCGWINSZ, &size) < 0)
			continue;
		*ret_rows = size.ws_row;
		*ret_columns = size.ws_col;
		return;
	}
}

/* A closed stdio descriptor would shift the others: /dev/null stands in. */
static int fill_stdio(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_WRONLY : O_RDONLY) != fd)
			return -errno;
	return 0;
}

/* Returns 0, HUNG_UP when nobody took it, or the exit code. */
static int send_request(int socket, const struct ask *ask)
{
	_cleanup_buf_ struct buf blob = { 0 };
	struct launch_request request = {
		.magic = PROTO_MAGIC,
		.version = PROTO_VERSION,
		.flags = ask->flags,
		.timeout_ms = ask->timeout_ms,
	};
	int fds[4] = { -1, 0, 1, 2 }, r;

	build_blob(ask, &blob);
	if (blob.failed)
		return ask_fail(EXIT_UNSTARTED, "out of memory");
	if (blob.len > PROTO_BLOB_MAX)
		return ask_fail(EXIT_UNSTARTED, "arguments and environment are %zu bytes, at most %u are taken", blob.len, PROTO_BLOB_MAX);
	request.blob_bytes = (uint32_t)blob.len;
	window_size(&request.rows, &request.columns);
	fds[0] = blob_to_memfd(&blob);
	if (fds[0] < 0)
		return ask_fail(EXIT_UNSTARTED, "cannot make the request: %s", strerror(-fds[0]));
	r = io_send(socket, &request, sizeof(request), fds, 4, 0);
	close(fds[0]);
	if (r == -EPIPE || r == -ECONNRESET)
		return HUNG_UP;
	return r < 0 ? ask_fail(EXIT_UNSTARTED, "the request cannot be sent: %s", strerror(-r)) : 0;
}

/* ---- while it runs ---- */

static struct termios saved_terminal;
static int raw_terminal_fd = -1;

static void restore_terminal(void)
{
	if (raw_terminal_fd >= 0)
		tcsetattr(raw_terminal_fd, TCSANOW, &saved_terminal);
	raw_terminal_fd = -1;
}

/* The keeper's pty has the line discipline; ours must pass every key through. */
static void make_terminal_raw(void)
{
	struct termios raw;

	if (tcgetattr(STDIN_FILENO, &saved_terminal) < 0)
		return;
	raw = saved_terminal;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0)
		raw_terminal_fd = STDIN_FILENO;
}

static void relay_signal(int socket, int signals)
{
	struct signalfd_siginfo info;
	struct client_message message = { .type = CLIENT_SIGNAL };

	if (read(signals, &info, sizeof(info)) != sizeof(info))
		return;
	message.signal = (int32_t)info.ssi_signo;
	if (info.ssi_signo == SIGWINCH) {
		message.type = CLIENT_WINDOW;
		window_size(&message.rows, &message.columns);
	}
	(void)io_send(socket, &message, sizeof(message), NULL, 0, 0);
}

static void print_last_line(const char *text)
{
	if (*text)
		fprintf(stderr, "%s\n", text);
}

/* One event. Returns -1 while the launch goes on, HUNG_UP when nothing was started, else the exit code. */
static int handle_event(int socket, bool *taken)
{
	struct {
		struct launch_event head;
		char text[PROTO_TEXT_MAX + 1];
	} event;
	ssize_t len = io_receive(socket, &event, sizeof(event) - 1, NULL, 0, NULL, 0);

	if (len <= 0 || (size_t)len < sizeof(event.head) || event.head.text_bytes != (size_t)len - sizeof(event.head)) {
		if (!*taken)
			return HUNG_UP;
		restore_terminal();
		return ask_fail(EXIT_UNSTARTED, "the supervisor's side of this launch died; its processes are killed");
	}
	event.text[event.head.text_bytes] = 0;
	if (event.head.type == EVENT_TAKEN)
		*taken = true;
	if (event.head.type == EVENT_TAKEN || event.head.type == EVENT_STARTED)
		return -1;
	restore_terminal();
	switch (event.head.type) {
	case EVENT_EXITED:
		print_last_line(event.text);
		return event.head.signal ? 128 + event.head.signal : event.head.code;
	case EVENT_REFUSED:
		print_last_line(event.text);
		return EXIT_REFUSED;
	case EVENT_FAILED:
		return ask_fail(EXIT_UNSTARTED, "%s", event.text);
	default:
		return ask_fail(EXIT_UNSTARTED, "the supervisor spoke a newer protocol (event %u)", event.head.type);
	}
}

static int follow(int socket, int signals)
{
	bool taken = false;
	struct pollfd polls[2] = { { .fd = socket, .events = POLLIN }, { .fd = signals, .events = POLLIN } };
	int code = -1;

	while (code < 0) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return ask_fail(EXIT_UNSTARTED, "poll: %s", strerror(errno));
		if (polls[1].revents & POLLIN)
			relay_signal(socket, signals);
		if (polls[0].revents)
			code = handle_event(socket, &taken);
	}
	return code;
}

static int block_signals(void)
{
	static const int relayed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(relayed); i++)
		sigaddset(&set, relayed[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* An enforcer that died before it took the request has started nothing: the next one is asked. Returns the exit code. */
static int ask_until_taken(int socket, int signals, const struct ask *ask)
{
	int code = send_request(socket, ask);

	if (!code)
		code = follow(socket, signals);
	for (int hang_ups = 1; code == HUNG_UP && hang_ups < HANG_UPS_MAX; hang_ups++) {
		close(socket);
		socket = reach_supervisor();
		code = socket < 0 ? -socket : send_request(socket, ask);
		if (!code)
			code = follow(socket, signals);
	}
	return code == HUNG_UP ? ask_fail(EXIT_UNSTARTED, "the supervisor hung up %d times before it took the request", HANG_UPS_MAX) : code;
}

int ask_launch(const struct ask *ask)
{
	bool terminal;
	int socket, signals, code;

	if (fill_stdio() < 0)
		return EXIT_UNSTARTED;
	terminal = isatty(STDIN_FILENO);
	socket = reach_supervisor();
	if (socket < 0)
		return -socket;
	signals = block_signals(); /* not earlier: whoever waits for a supervisor may be interrupted */
	if (signals < 0)
		return ask_fail(EXIT_UNSTARTED, "signalfd: %s", strerror(errno));
	if (terminal)
		make_terminal_raw();
	code = ask_until_taken(socket, signals, ask);
	restore_terminal();
	return code;
}

int ask_explain(const struct ask *ask, struct buf *ret_json)
{
	struct {
		struct launch_event head;
		char text[PROTO_TEXT_MAX + 1];
	} event = { 0 };
	int socket = reach_supervisor(), fd = -1, code;
	unsigned nr_fds = 0;
	ssize_t len;

	if (socket < 0)
		return -socket;
	code = send_request(socket, ask);
	len = code ? 0 : io_receive(socket, &event, sizeof(event) - 1, &fd, 1, &nr_fds, 0);
	close(socket);
	if (code == HUNG_UP || (!code && len < (ssize_t)sizeof(event.head)))
		return ask_fail(EXIT_UNSTARTED, "the supervisor hung up");
	if (code)
		return code;
	if (event.head.type == EVENT_EXPLAINED && nr_fds == 1 && lseek(fd, 0, SEEK_SET) == 0)
		code = io_read_all(fd, PROTO_BLOB_MAX * 2, ret_json) < 0 ? ask_fail(EXIT_UNSTARTED, "the answer cannot be read") : 0;
	else
		code = ask_fail(EXIT_UNSTARTED, "%s", event.head.type == EVENT_FAILED ? event.text : "the supervisor gave another answer");
	if (nr_fds)
		close(fd);
	return code;
}
