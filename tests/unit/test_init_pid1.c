/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1 for real: init_run() as process 1 of new pid and mount namespaces, with this program standing in for the enforcer, the client
 * and the services. What is looked at is exit codes, process tables, what reached the enforcer, and time.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the enforcer's part ---- */

static char run_dir[512];

/* What PID 1 said, for the test to read: one line per message in RUN_DIR/heard. */
static void heard(const char *format, ...)
{
	char path[600], line[2048];
	va_list arguments;
	int fd, len;

	snprintf(path, sizeof(path), "%s/heard", run_dir);
	va_start(arguments, format);
	len = vsnprintf(line, sizeof(line) - 1, format, arguments);
	va_end(arguments);
	for (int i = 0; i < len; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	line[len++] = '\n';
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		_exit(98);
	close(fd);
}

static void tell(enum init_message_type type, uint32_t kind, uint64_t id, int64_t number, const char *text, int fd)
{
	const struct init_message m = { .type = type, .kind = kind, .id = id, .number = number };

	if (init_channel_send(INIT_CHANNEL_FD, &m, text, fd) < 0)
		_exit(97);
}

static void read_run_dir(const char *begin)
{
	const char *at = strstr(begin, "\"run_dir\":\"");

	if (!at || sscanf(at, "\"run_dir\":\"%500[^\"]", run_dir) != 1)
		_exit(96);
}

static bool is_restarted(const char *begin)
{
	return !strstr(begin, "\"restarts\":0");
}

static void keep_something(void)
{
	int fd = memfd_create("kept", 0);

	if (write(fd, "kept bytes", 10) != 10)
		_exit(95);
	tell(ENFORCER_KEEP, KEPT_KEEPER, 7, 0, NULL, fd);
	tell(ENFORCER_KEEP, KEPT_KEEPER, 8, 0, NULL, fd);
	tell(ENFORCER_DROP, KEPT_KEEPER, 8, 0, NULL, -1);
}

/* A launch that does not want to end. */
static pid_t start_stubborn(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	return pid;
}

/* Processes of the namespace beside PID 1 and us. */
static int count_others(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int nr = 0;

	while ((entry = readdir(proc)))
		nr += entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && atoi(entry->d_name) != 1 && atoi(entry->d_name) != getpid();
	closedir(proc);
	return nr;
}

static int as_enforcer(const char *part)
{
	static char text[INIT_TEXT_MAX + 1];
	bool restarted = false;
	pid_t launch = 0;
	struct init_message m;
	int fd;

	if (strcmp(part, "crash") == 0)
		return 3;
	while (init_channel_receive(INIT_CHANNEL_FD, &m, text, sizeof(text), &fd, 0) == 1) {
		char content[32] = "";

		switch (m.type) {
		case INIT_BEGIN:
			read_run_dir(text);
			restarted = is_restarted(text);
			heard("begin %s pid=%d", text, getpid());
			break;
		case INIT_KEPT:
			if (pread(fd, content, sizeof(content) - 1, 0) < 0)
				return 94;
			heard("kept %u %llu %s", m.kind, (unsigned long long)m.id, content);
			/* As an enforcer that finds its keeper dead. */
			tell(ENFORCER_DROP, m.kind, m.id, 0, NULL, -1);
			tell(ENFORCER_LAUNCHES, 0, 0, 0, NULL, -1);
			break;
		case INIT_KEPT_END:
			if (strcmp(part, "fail") == 0) {
				tell(ENFORCER_FAILED, 0, 0, INIT_EXIT_LAYER, "layer notify is missing: add it", -1);
				return INIT_EXIT_LAYER;
			}
			if (strcmp(part, "keep") == 0 && !restarted)
				keep_something();
			if (strcmp(part, "stubborn") == 0) {
				launch = start_stubborn();
				tell(ENFORCER_LAUNCHES, 0, 0, 1, NULL, -1);
			}
			tell(ENFORCER_READY, 0, 0, 0, NULL, -1);
			break;
		case INIT_ENVIRONMENT:
			heard("environment %s", text);
			break;
		case INIT_STATE:
			heard("state %s%s %s", init_state_name((enum init_state)m.number), m.kind ? " final" : "", text);
			break;
		case INIT_SERVICE:
			heard("service %s", text);
			break;
		case INIT_COUNTERS:
			heard("counters %s", text);
			break;
		case INIT_RECORD:
			heard("record %s", text);
			break;
		case INIT_KILL_ALL:
			heard("kill %d", (int)m.number);
			if (launch && m.number == SIGKILL) {
				kill(launch, SIGKILL);
				waitpid(launch, NULL, 0);
				tell(ENFORCER_LAUNCHES, 0, 0, 0, NULL, -1);
			}
			break;
		case INIT_SEAL:
			heard("seal, processes left: %d", count_others());
			return 0;
		default:
			return 93;
		}
		if (fd >= 0)
			close(fd);
	}
	return 92;
}

/* ---- the commands' part: "run -- NAME ARG" ---- */

static int count_zombies(void)
{
	DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int nr = 0;

	while ((entry = readdir(proc))) {
		char path[300], line[512], process_state = 0;
		FILE *stat_file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		stat_file = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (!stat_file)
			continue;
		if (fgets(line, sizeof(line), stat_file) && strrchr(line, ')'))
			process_state = strrchr(line, ')')[2];
		fclose(stat_file);
		nr += process_state == 'Z';
	}
	closedir(proc);
	return nr;
}

static bool wait_until(bool (*condition)(void *), void *argument, unsigned ms)
{
	for (unsigned i = 0; i < ms / 5; i++) {
		const struct timespec pause = { .tv_nsec = 5000000 };

		if (condition(argument))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool no_zombies(void *unused)
{
	(void)unused;
	return count_zombies() == 0;
}

/* 500 children of one parent that all die unreaped, then the parent: they are PID 1's at once. */
static int burst(void)
{
	pid_t parent = fork();

	if (parent == 0) {
		for (int i = 0; i < 500; i++)
			if (fork() == 0)
				_exit(0);
		_exit(0);
	}
	waitpid(parent, NULL, 0);
	return wait_until(no_zombies, NULL, 60000) ? 0 : count_zombies();
}

/* Thousands of orphans, made as fast as they can be, some already dead when PID 1 gets them. */
static int orphans(int nr)
{
	for (int i = 0; i < nr; i++) {
		pid_t parent = fork();

		if (parent < 0)
			return 1;
		if (parent == 0) {
			if (fork() == 0)
				_exit(i % 256);
			_exit(0);
		}
		waitpid(parent, NULL, 0);
	}
	return wait_until(no_zombies, NULL, 10000) ? 0 : 2;
}

/* Everything a process inside can try with TERM: the plain way, and with a forged "from outside". */
static int signal_init(void)
{
	siginfo_t forged = { .si_signo = SIGTERM, .si_code = SI_QUEUE };
	const union sigval value = { 0 };

	if (kill(1, SIGTERM) < 0 || sigqueue(1, SIGINT, value) < 0)
		return 1;
	if (syscall(SYS_rt_sigqueueinfo, 1, SIGQUIT, &forged) < 0 || kill(1, SIGHUP) < 0)
		return 2;
	/* What ends or stops any other process, and what a fault would look like. */
	if (kill(1, SIGKILL) < 0 || kill(1, SIGSTOP) < 0 || kill(1, SIGABRT) < 0)
		return 3;
#ifndef __SANITIZE_ADDRESS__	/* whose own handler believes it */
	if (kill(1, SIGSEGV) < 0)
		return 4;
#endif
	return 42;
}

/* Which descriptors a child of PID 1 has: exactly 0, 1, 2. */
static int count_descriptors(void)
{
	for (int fd = 3; fd < 1000; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return fd;
	return 0;
}

static int wait_for_usr1(void)
{
	sigset_t set;
	int got;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	heard("command waits");
	sigwait(&set, &got);
	return 66;
}

/* A daemon outside every group and session we know of, that does not want to end. */
static int leave_daemon(void)
{
	if (fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	return 0;
}

static int as_command(char **argv)
{
	if (strcmp(argv[0], "leave-daemon") == 0)
		return leave_daemon();
	if (strcmp(argv[0], "exit") == 0)
		return atoi(argv[1]);
	if (strcmp(argv[0], "burst") == 0)
		return burst();
	if (strcmp(argv[0], "orphans") == 0)
		return orphans(atoi(argv[1]));
	if (strcmp(argv[0], "signal-init") == 0)
		return signal_init();
	if (strcmp(argv[0], "descriptors") == 0)
		return count_descriptors();
	if (strcmp(argv[0], "usr1") == 0) {
		snprintf(run_dir, sizeof(run_dir), "%s", argv[1]);
		return wait_for_usr1();
	}
	if (strcmp(argv[0], "die") == 0)
		return raise(atoi(argv[1]));
	execvp(argv[0], argv);
	return errno == ENOENT ? 127 : 126;
}

/* ---- the services' part: "service HOW PORT" ---- */

static int listen_on(int port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons((uint16_t)port),
					     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 16) < 0)
		_exit(91);
	return fd;
}

/* A leader that ends while its child holds the port. */
static int leave_child(int port)
{
	char byte;
	int ends[2];

	if (pipe(ends) < 0)
		return 90;
	if (fork() == 0) {
		close(ends[0]);
		listen_on(port);
		if (write(ends[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	close(ends[1]);
	if (read(ends[0], &byte, 1) != 1)
		fprintf(stderr, "BIND FAILED\n");
	else
		fprintf(stderr, "BOUND\n");
	return 5;
}

static int flood(void)
{
	char line[1024];

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	for (int i = 0; i < 3 * 1024; i++)
		if (write(1, line, sizeof(line)) != sizeof(line))
			return 90;
	for (;;)
		pause();
}

/* Answers the first requests, then accepts no more: to a client it is there, and silent. */
static int answer_then_hang(int port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	char request[512];

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, 16) < 0)
		return 91;
	for (int i = 0; i < 4; i++) {
		int fd = accept(listener, NULL, NULL);

		if (read(fd, request, sizeof(request)) > 0)
			dprintf(fd, "HTTP/1.0 400 Bad Request\r\n\r\n");
		close(fd);
	}
	for (;;)
		pause();
}

/* Says that it is ready by its descriptor, half a line first. */
static int notify(void)
{
	const struct timespec late = { .tv_nsec = 300000000 };
	const char *fd = getenv("NOTIFY_FD");

	if (!fd || strcmp(fd, "3") != 0 || write(3, "READY", 5) != 5)
		return 89;
	nanosleep(&late, NULL);
	if (write(3, "=1\n", 3) != 3)
		return 88;
	for (;;)
		pause();
}

static int as_service(const char *how, int port)
{
	const struct timespec late = { .tv_nsec = 400000000 };
	int listener = -1;

	if (strcmp(how, "leave-child") == 0)
		return leave_child(port);
	if (strcmp(how, "answer-then-hang") == 0)
		return answer_then_hang(port);
	if (strcmp(how, "notify") == 0)
		return notify();
	if (strcmp(how, "write-home") == 0) {
		if (chdir(getenv("HOME")) < 0 || mkdir("written", 0700) < 0)
			return 87;
		printf("home %s\n", getenv("HOME"));
		fflush(stdout);
	}
	if (strcmp(how, "flood") == 0) {
		listen_on(port);
		return flood();
	}

	if (strcmp(how, "die") == 0) {
		fprintf(stderr, "first line\nthe port is taken\n");
		return 9;
	}
	if (strcmp(how, "late") == 0)
		nanosleep(&late, NULL);
	if (strcmp(how, "never") != 0)
		listener = listen_on(port);
	if (strcmp(how, "stubborn") == 0)
		signal(SIGTERM, SIG_IGN);
	if (strcmp(how, "brief") == 0) { /* seen to be ready, and gone soon after */
		(void)accept(listener, NULL, NULL);
		nanosleep(&late, NULL);
		return 5;
	}
	for (;;)
		pause();
}

/* ---- the test's part ---- */

struct container {
	char dir[64], run[80], state[80], etc[80], ca[80], trust[80], spare[80];
	struct policy policy;
	struct service service, both[2];
	const char *service_words[5];
	struct init_settings settings;
	char *enforcer[4], *command[4];
	char port[8];
	pid_t pid;	/* as we see it */
	int output;
	struct buf printed;
	uint64_t started_ms;
};

static void begin(struct container *c, const char *enforcer)
{
	*c = (struct container){ .dir = "/tmp/cordon-pid1-XXXXXX", .enforcer = { "enforcer", "as-enforcer", (char *)(uintptr_t)enforcer } };
	assert_non_null(mkdtemp(c->dir));
	assert_int_equal(chmod(c->dir, 0755), 0);
	snprintf(c->run, sizeof(c->run), "%s/run", c->dir);
	snprintf(c->state, sizeof(c->state), "%s/state", c->dir);
	snprintf(c->etc, sizeof(c->etc), "%s/etc", c->dir);
	snprintf(c->ca, sizeof(c->ca), "%s/ca", c->dir);
	snprintf(c->trust, sizeof(c->trust), "%s/trust", c->dir);
	snprintf(c->spare, sizeof(c->spare), "%s/spare", c->dir);
	assert_int_equal(mkdir(c->etc, 0755), 0);
	c->settings = (struct init_settings){ .policy = &c->policy,
					      .policy_dir = "/nonexistent",
					      .run_dir = c->run,
					      .state_dir = c->state,
					      .enforcer_program = "/proc/self/exe",
					      .enforcer_argv = c->enforcer,
					      .client = "/proc/self/exe",
					      .ca_dir = c->ca,
					      .trust_dir = c->trust,
					      .trust_spare_dir = c->spare,
					      .local_ca_dir = "/nonexistent",
					      .etc_dir = c->etc };
}

static void set_command(struct container *c, const char *name, const char *argument)
{
	c->command[0] = (char *)(uintptr_t)name;
	c->command[1] = (char *)(uintptr_t)argument;
	c->settings.command = c->command;
}

static int free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static void set_service(struct container *c, const char *how, unsigned ready_ms, bool proxy)
{
	int port = free_port();

	snprintf(c->port, sizeof(c->port), "%d", port);
	c->service_words[0] = "/proc/self/exe";
	c->service_words[1] = "as-service";
	c->service_words[2] = how;
	c->service_words[3] = "{PORT}";
	c->service = (struct service){ .name = "sample", .command = { c->service_words, 4 }, .user = "65534", .probe = PROBE_TCP,
				       .port = (uint16_t)port, .ready_ms = ready_ms, .proxy = proxy, .enabled = true };
	c->policy.services = &c->service;
	c->policy.nr_services = 1;
}

static void start(struct container *c)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	c->started_ms = now_ms();
	c->pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
	assert_true(c->pid >= 0);
	if (c->pid == 0) {
		int null = open("/dev/null", O_RDONLY);

		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("proc", "/proc", "proc", 0, NULL) < 0)
			_exit(90);
		dup2(null, 0);
		dup2(ends[1], 1);
		dup2(ends[1], 2);
		_exit(init_run(&c->settings));
	}
	close(ends[1]);
	c->output = ends[0];
	fcntl(c->output, F_SETFL, O_NONBLOCK);
}

static bool text_in_file(const char *path, const char *text)
{
	_cleanup_buf_ struct buf content = { 0 };

	return io_read_file(AT_FDCWD, path, 10000000, &content) == 0 && content.data && strstr(content.data, text);
}

struct expectation {
	struct container *c;
	const char *text;
};

static bool was_heard(void *argument)
{
	const struct expectation *e = argument;
	char path[128];

	snprintf(path, sizeof(path), "%s/heard", e->c->run);
	return text_in_file(path, e->text);
}

static bool was_printed(void *argument)
{
	const struct expectation *e = argument;
	char data[4096];
	ssize_t len;

	while ((len = read(e->c->output, data, sizeof(data))) > 0)
		buf_append(&e->c->printed, data, (size_t)len);
	return e->c->printed.data && strstr(e->c->printed.data, e->text);
}

static void assert_text(struct container *c, bool (*where)(void *), const char *text)
{
	struct expectation e = { c, text };

	if (wait_until(where, &e, 60000))
		return;
	print_error("missing: %s\nprinted:\n%s\n", text, c->printed.data ? c->printed.data : "");
	if (c->pid)
		kill(c->pid, SIGKILL);
	fail();
}

static bool is_heard(struct container *c, const char *text)
{
	struct expectation e = { c, text };

	return was_heard(&e);
}

struct ending {
	pid_t pid;
	int status;
};

static bool has_ended(void *argument)
{
	struct ending *e = argument;

	return waitpid(e->pid, &e->status, WNOHANG) == e->pid;
}

/* The exit code of the container, and how long since `since_ms` it took. */
static int ends_with(struct container *c, uint64_t since_ms, uint64_t *ret_ms)
{
	struct ending e = { .pid = c->pid };

	if (!wait_until(has_ended, &e, 60000)) {
		kill(c->pid, SIGKILL);
		fail_msg("the container does not end");
	}
	if (ret_ms)
		*ret_ms = now_ms() - since_ms;
	c->pid = 0;
	return WIFEXITED(e.status) ? WEXITSTATUS(e.status) : 128 + WTERMSIG(e.status);
}

static void finish(struct container *c)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", c->dir);
	assert_int_equal(system(command), 0);
	close(c->output);
	buf_free(&c->printed);
}

static int code_of(const char *name, const char *argument)
{
	struct container c;
	int code;

	begin(&c, "good");
	set_command(&c, name, argument);
	start(&c);
	code = ends_with(&c, 0, NULL);
	assert_true(is_heard(&c, "seal"));
	finish(&c);
	return code;
}

static void the_commands_exit_code_is_the_containers(void **state)
{
	(void)state;
	assert_int_equal(code_of("exit", "0"), 0);
	assert_int_equal(code_of("exit", "37"), 37);
	assert_int_equal(code_of("exit", "125"), 125);
	assert_int_equal(code_of("die", "9"), 137);
	assert_int_equal(code_of("no-such-program", NULL), 127);
	assert_int_equal(code_of("/etc/passwd", NULL), 126);
}

static void children_get_three_descriptors(void **state)
{
	(void)state;
	assert_int_equal(code_of("descriptors", NULL), 0);
}

static void a_burst_of_orphans_leaves_no_zombie(void **state)
{
	(void)state;
	assert_int_equal(code_of("burst", NULL), 0);
}

static void ten_thousand_orphans_leave_no_zombie(void **state)
{
	(void)state;
#ifdef __SANITIZE_ADDRESS__	/* whose forks are slow */
	assert_int_equal(code_of("orphans", "1000"), 0);
#else
	assert_int_equal(code_of("orphans", "10000"), 0);
#endif
}

/* A crash is never silent: one line, the log sealed, 115. */
static void a_crash_of_pid_1_is_said_and_sealed(void **state)
{
	struct container c;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip();
#endif
	begin(&c, "good");
	set_command(&c, "sleep", "100");
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_int_equal(kill(c.pid, SIGSEGV), 0);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_INTERNAL);
	assert_text(&c, was_printed, "cordon: PID 1 crashed\n");
	assert_true(is_heard(&c, "record state \"panic\":\"PID 1 crashed\""));
	assert_true(is_heard(&c, "seal"));
	finish(&c);
}

static void the_end_is_spread_over_the_runtimes_grace(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "stubborn");
	c.settings.stop_grace_s = 4;
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, now_ms(), &ms), 0);
	assert_in_range(ms, 1200, 4900); /* 5000 without it */
	finish(&c);
}

static void signals_from_inside_are_refused_and_recorded(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_command(&c, "signal-init", NULL);
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), 42);
	assert_true(is_heard(&c, "record signal_refused \"signal\":\"TERM\""));
	assert_true(is_heard(&c, "record signal_refused \"signal\":\"INT\""));
	assert_true(is_heard(&c, "record signal_refused \"signal\":\"QUIT\""));
	assert_true(is_heard(&c, "record signal_refused \"signal\":\"HUP\""));
#ifndef __SANITIZE_ADDRESS__
	assert_true(is_heard(&c, "record signal_refused \"signal\":\"SEGV\"") || is_heard(&c, "record signal_refused \"signal\":\"ABRT\""));
#endif
	assert_true(is_heard(&c, "state draining final the command ended"));
	finish(&c);
}

static void term_from_outside_stops_and_seals(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "good");
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, now_ms(), &ms), 0);
	assert_true(ms < 4900); /* no grace is waited for */
	assert_true(is_heard(&c, "kill 15"));
	assert_true(is_heard(&c, "state stopped"));
	assert_true(is_heard(&c, "seal"));
	finish(&c);
}

static void usr1_from_outside_reaches_the_command(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_command(&c, "usr1", c.run);
	start(&c);
	assert_text(&c, was_heard, "command waits");
	assert_int_equal(kill(c.pid, SIGUSR1), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 66);
	finish(&c);
}

static void a_launch_that_ignores_term_is_killed_within_the_budget(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "stubborn");
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, now_ms(), &ms), 0);
	assert_in_range(ms, 4900, 8000);
	assert_true(is_heard(&c, "kill 9"));
	assert_true(is_heard(&c, "seal"));
	finish(&c);
}

static void a_second_term_skips_the_graces(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "stubborn");
	set_service(&c, "stubborn", 60000, false);
	start(&c);
	assert_text(&c, was_heard, "\"state\":\"ready\"");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_text(&c, was_heard, "kill 15");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, now_ms(), &ms), 0);
	assert_true(ms < 4900); /* the graces are five seconds and two */
	assert_true(is_heard(&c, "seal"));
	finish(&c);
}

static pid_t enforcer_outside(const struct container *c)
{
	char path[64];
	FILE *list;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", c->pid, c->pid);
	list = fopen(path, "re");
	assert_non_null(list);
	assert_int_equal(fscanf(list, "%d", &pid), 1);
	fclose(list);
	return pid;
}

/* Returns how long it took until the next one had what the first one kept. */
static uint64_t kill_enforcer_once(void)
{
	struct container c;
	uint64_t ms;

	begin(&c, "keep");
	start(&c);
	assert_text(&c, was_heard, "state ready");
	ms = now_ms();
	assert_int_equal(kill(enforcer_outside(&c), SIGKILL), 0);
	assert_text(&c, was_heard, "kept 3 7 kept bytes");
	ms = now_ms() - ms;
	assert_text(&c, was_heard, "state degraded the enforcer is being restarted");
	assert_true(is_heard(&c, "\"restarts\":1"));
	assert_false(is_heard(&c, "kept 3 8"));
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	assert_true(is_heard(&c, "seal"));
	finish(&c);
	return ms;
}

static void a_killed_enforcer_is_restarted_and_gets_its_descriptors_back(void **state)
{
	uint64_t ms = kill_enforcer_once();

	(void)state;
	/* Within a second; where the machine was busy with something else, it is asked again. */
	for (int again = 0; again < 5 && ms >= 1000; again++)
		ms = kill_enforcer_once();
	assert_in_range(ms, 0, 999);
}

static int kill_if_new(struct container *c, pid_t *last)
{
	pid_t pid = enforcer_outside(c);

	if (pid == *last)
		return 0;
	*last = pid;
	return kill(pid, SIGKILL) == 0;
}

static void an_enforcer_that_keeps_dying_leaves_the_container_degraded(void **state)
{
	struct container c;
	pid_t last = 0;
	char text[64];

	(void)state;
	begin(&c, "good");
	start(&c);
	for (int i = 0; i <= RESTARTS_MAX; i++) {
		snprintf(text, sizeof(text), "\"restarts\":%d", i);
		assert_text(&c, was_heard, text);
		assert_int_equal(kill_if_new(&c, &last), 1);
	}
	assert_text(&c, was_printed, "is not started again");
	assert_text(&c, was_printed, "state degraded: the enforcer ended too often: nothing is launched");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	finish(&c);
}

static void failures_of_the_start_have_their_exit_codes(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "fail");
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_LAYER);
	assert_text(&c, was_printed, "cordon: layer notify is missing: add it\n");
	finish(&c);

	begin(&c, "crash");
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_INTERNAL);
	assert_text(&c, was_printed, "did not become ready in 6 attempts");
	finish(&c);

	begin(&c, "good");
	assert_int_equal(symlink("/tmp", c.run), 0);
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_INTERNAL);
	assert_text(&c, was_printed, "must be a folder, not a link");
	finish(&c);

	begin(&c, "good");
	assert_int_equal(symlink("/tmp", c.state), 0);
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_AUDIT);
	assert_text(&c, was_printed, "must be a folder, not a link");
	finish(&c);
}

static void the_command_waits_for_a_late_proxy(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "good");
	set_service(&c, "late", 60000, true);
	set_command(&c, "exit", "8");
	start(&c);
	assert_int_equal(ends_with(&c, c.started_ms, &ms), 8);
	assert_true(ms >= 400);
	assert_true(is_heard(&c, "state ready enforcer and proxy are ready"));
	assert_true(is_heard(&c, "https_proxy=http://127.0.0.1:"));
	finish(&c);
}

static void a_proxy_that_never_listens_is_112_with_the_reason(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "good");
	set_service(&c, "never", 700, true);
	set_command(&c, "exit", "8");
	start(&c);
	assert_int_equal(ends_with(&c, c.started_ms, &ms), INIT_EXIT_PROXY);
	assert_in_range(ms, 700, 20000);
	assert_text(&c, was_printed, "cordon: proxy sample not ready within ");
	assert_text(&c, was_printed, "Connection refused");
	assert_true(is_heard(&c, "seal"));
	finish(&c);
}

static void a_proxy_that_dies_is_114_at_once_with_its_last_lines(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "good");
	set_service(&c, "die", 30000, true);
	start(&c);
	assert_int_equal(ends_with(&c, c.started_ms, &ms), INIT_EXIT_PROXY_LOST);
	assert_true(ms < 20000); /* it has 30 s */
	assert_text(&c, was_printed, "cordon: proxy sample ended (exit 9): first line | the port is taken");
	finish(&c);
}

static void a_proxy_whose_user_is_missing_is_112(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_service(&c, "late", 60000, true);
	c.service.user = "no-such-user";
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_PROXY);
	assert_text(&c, was_printed, "user no-such-user is not in");
	finish(&c);
}

static void a_proxy_that_keeps_dying_later_leaves_the_container_degraded(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_service(&c, "brief", 60000, true);
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_text(&c, was_heard, "state degraded waiting for proxy sample");
	assert_text(&c, was_printed, "state degraded: proxy sample is lost: nothing is launched");
	assert_text(&c, was_heard, "state degraded final proxy sample is lost"); /* its line may be printed before the message is read */
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	finish(&c);
}

static void another_service_that_dies_stops_nothing(void **state)
{
	struct container c;
	char path[128];

	(void)state;
	begin(&c, "good");
	set_service(&c, "die", 60000, false);
	set_command(&c, "usr1", c.run);
	start(&c);
	assert_text(&c, was_heard, "\"state\":\"restarting\"");
	assert_text(&c, was_heard, "command waits");
	assert_int_equal(kill(c.pid, SIGUSR1), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 66);
	snprintf(path, sizeof(path), "%s/logs/sample.log", c.state);
	assert_true(text_in_file(path, "the port is taken"));
	finish(&c);
}

static void what_a_dead_service_left_does_not_hold_its_port(void **state)
{
	struct container c;
	char path[128];

	(void)state;
	begin(&c, "good");
	set_service(&c, "leave-child", 60000, false);
	start(&c);
	assert_text(&c, was_heard, "\"restarts\":3");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	snprintf(path, sizeof(path), "%s/logs/sample.log", c.state);
	assert_true(text_in_file(path, "BOUND"));
	assert_false(text_in_file(path, "BIND FAILED"));
	finish(&c);
}

static off_t size_of(const char *dir, const char *name)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/logs/%s", dir, name);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

static bool log_has_rotated(void *argument)
{
	const struct container *c = argument;

	return size_of(c->state, "sample.log.1") > 0;
}

static void a_services_log_is_bounded(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_service(&c, "flood", 60000, true);
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_true(wait_until(log_has_rotated, &c, 60000));
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	assert_in_range(size_of(c.state, "sample.log"), 0, 1 << 20);
	assert_in_range(size_of(c.state, "sample.log.1"), 1, 1 << 20);
	finish(&c);
}

static void a_service_says_by_its_descriptor_that_it_is_ready(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	begin(&c, "good");
	set_service(&c, "notify", 60000, true);
	c.service.probe = PROBE_NOTIFY;
	set_command(&c, "exit", "8");
	start(&c);
	assert_int_equal(ends_with(&c, c.started_ms, &ms), 8);
	assert_true(ms >= 300);
	finish(&c);
}

static void a_proxy_that_accepts_and_does_not_answer_is_restarted(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_service(&c, "answer-then-hang", 60000, true);
	c.service.probe = PROBE_HTTP;
	c.service.probe_url = "http://127.0.0.1/";
	c.service.alive_ms = 100;
	start(&c);
	assert_text(&c, was_heard, "state ready");
	assert_text(&c, was_heard, "state degraded waiting for proxy sample");
	assert_text(&c, was_printed, "service sample: does not answer any more: port");
	assert_text(&c, was_heard, "\"restarts\":1");
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	finish(&c);
}

/* Where in what was heard the text begins; -1: nowhere. */
static long heard_at(const struct container *c, const char *text)
{
	_cleanup_buf_ struct buf content = { 0 };
	char path[128];
	const char *at;

	snprintf(path, sizeof(path), "%s/heard", c->run);
	assert_int_equal(io_read_file(AT_FDCWD, path, 10000000, &content), 0);
	at = strstr(content.data, text);
	return at ? at - content.data : -1;
}

static void a_service_waits_for_those_it_comes_after(void **state)
{
	static const char *first[] = { "first", NULL };
	struct container c;

	(void)state;
	begin(&c, "good");
	set_service(&c, "late", 60000, false);
	c.both[1] = c.service;
	c.both[1].name = "first";
	set_service(&c, "late", 60000, false);
	c.both[0] = c.service;
	c.both[0].name = "second";
	c.both[0].after = (struct strings){ first, 1, 0 };
	c.policy.services = c.both;
	c.policy.nr_services = 2;
	start(&c);
	assert_text(&c, was_heard, "\"name\":\"second\",\"state\":\"ready\"");
	assert_true(heard_at(&c, "\"name\":\"second\",\"state\":\"starting\"") > heard_at(&c, "\"name\":\"first\",\"state\":\"ready\""));
	assert_int_equal(kill(c.pid, SIGTERM), 0);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	finish(&c);
}

static void a_port_that_somebody_else_holds_is_not_the_proxys(void **state)
{
	struct container c;
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int squatter = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	begin(&c, "good");
	set_service(&c, "never", 700, true);
	address.sin_port = htons(c.service.port);
	assert_int_equal(bind(squatter, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(squatter, 16), 0);
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_PROXY);
	assert_text(&c, was_printed, "is taken: what listens there belongs to uid 0, not to this service (uid 65534)");
	close(squatter);
	finish(&c);
}

static void a_services_data_folder_is_made_for_it_or_refused(void **state)
{
	struct container c;
	char data[128], path[256];
	struct stat st;

	(void)state;
	begin(&c, "good");
	set_service(&c, "write-home", 60000, true);
	snprintf(data, sizeof(data), "%s/data/of/it", c.dir);
	c.service.data_dir = data;
	set_command(&c, "exit", "8");
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), 8);
	snprintf(path, sizeof(path), "%s/written", data);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_uid, 65534);
	finish(&c);

	begin(&c, "good");
	set_service(&c, "write-home", 60000, true);
	c.service.data_dir = "/proc/data";	/* nobody can make a folder there */
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_PROXY);
	assert_text(&c, was_printed, "cordon: proxy sample cannot use its data folder /proc/data: ");
	finish(&c);

	begin(&c, "good");
	set_service(&c, "write-home", 60000, true);
	snprintf(data, sizeof(data), "%s/link", c.dir);
	assert_int_equal(symlink("/tmp", data), 0);
	c.service.data_dir = data;
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), INIT_EXIT_PROXY);
	assert_text(&c, was_printed, "cannot use its data folder");
	finish(&c);
}

static void daemons_are_gone_before_the_seal(void **state)
{
	struct container c;

	(void)state;
	begin(&c, "good");
	set_service(&c, "stubborn", 60000, true);
	set_command(&c, "leave-daemon", NULL);
	start(&c);
	assert_int_equal(ends_with(&c, 0, NULL), 0);
	assert_true(is_heard(&c, "seal, processes left: 0"));
	finish(&c);
}

static void term_while_the_proxy_is_waited_for_ends_at_once(void **state)
{
	struct container c;
	uint64_t ms;

	(void)state;
	for (int with_command = 0; with_command < 2; with_command++) {
		begin(&c, "good");
		set_service(&c, "never", 30000, true);
		if (with_command)
			set_command(&c, "exit", "8");
		start(&c);
		assert_text(&c, was_heard, "\"state\":\"starting\"");
		assert_int_equal(kill(c.pid, SIGTERM), 0);
		assert_int_equal(ends_with(&c, now_ms(), &ms), with_command ? 143 : 0);
		assert_true(ms < 20000); /* the proxy has 30 s */
		assert_false(is_heard(&c, "state ready"));
		finish(&c);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_commands_exit_code_is_the_containers),
		cmocka_unit_test(children_get_three_descriptors),
		cmocka_unit_test(a_burst_of_orphans_leaves_no_zombie),
		cmocka_unit_test(ten_thousand_orphans_leave_no_zombie),
		cmocka_unit_test(a_crash_of_pid_1_is_said_and_sealed),
		cmocka_unit_test(the_end_is_spread_over_the_runtimes_grace),
		cmocka_unit_test(signals_from_inside_are_refused_and_recorded),
		cmocka_unit_test(term_from_outside_stops_and_seals),
		cmocka_unit_test(usr1_from_outside_reaches_the_command),
		cmocka_unit_test(a_launch_that_ignores_term_is_killed_within_the_budget),
		cmocka_unit_test(a_second_term_skips_the_graces),
		cmocka_unit_test(a_killed_enforcer_is_restarted_and_gets_its_descriptors_back),
		cmocka_unit_test(an_enforcer_that_keeps_dying_leaves_the_container_degraded),
		cmocka_unit_test(failures_of_the_start_have_their_exit_codes),
		cmocka_unit_test(the_command_waits_for_a_late_proxy),
		cmocka_unit_test(a_proxy_that_never_listens_is_112_with_the_reason),
		cmocka_unit_test(a_proxy_that_dies_is_114_at_once_with_its_last_lines),
		cmocka_unit_test(a_proxy_whose_user_is_missing_is_112),
		cmocka_unit_test(a_proxy_that_keeps_dying_later_leaves_the_container_degraded),
		cmocka_unit_test(another_service_that_dies_stops_nothing),
		cmocka_unit_test(what_a_dead_service_left_does_not_hold_its_port),
		cmocka_unit_test(a_services_log_is_bounded),
		cmocka_unit_test(a_service_says_by_its_descriptor_that_it_is_ready),
		cmocka_unit_test(a_proxy_that_accepts_and_does_not_answer_is_restarted),
		cmocka_unit_test(a_service_waits_for_those_it_comes_after),
		cmocka_unit_test(a_port_that_somebody_else_holds_is_not_the_proxys),
		cmocka_unit_test(a_services_data_folder_is_made_for_it_or_refused),
		cmocka_unit_test(daemons_are_gone_before_the_seal),
		cmocka_unit_test(term_while_the_proxy_is_waited_for_ends_at_once),
	};

	if (argc > 2 && strcmp(argv[1], "as-enforcer") == 0)
		return as_enforcer(argv[2]);
	if (argc > 3 && strcmp(argv[1], "run") == 0)
		return as_command(argv + 3);
	if (argc > 3 && strcmp(argv[1], "as-service") == 0)
		return as_service(argv[2], atoi(argv[3]));
	if (geteuid() != 0) {
		print_message("skipped: namespaces need root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
