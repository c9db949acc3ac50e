/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PID 1: the loop, and the state of the container as the whole of its parts.
 *
 * The loop waits in one place (epoll); after every wake-up it reaps, lets the parts act on their deadlines, and waits again.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* A line is lost rather than PID 1 blocked on whoever does not read our output. */
static void print_line(int fd, const char *line)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	if (poll(&room, 1, 0) == 1 && (room.revents & POLLOUT))
		(void)!write(fd, line, strlen(line));
}

void init_say(const struct init *init, const char *format, ...)
{
	char text[1024], line[1100];
	va_list arguments;

	/* An interactive command owns the terminal now. */
	if (init->tty_given)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(line, sizeof(line), "cordon: %s\n", text);
	print_line(2, line);
}

void init_set_state(struct init *init, enum init_state state, bool final, const char *format, ...)
{
	char line[400], why[sizeof(init->why)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	if (init->state == state && init->final == final && strcmp(init->why, why) == 0)
		return;
	init->state = state;
	init->final = final;
	memcpy(init->why, why, sizeof(why));
	enforcer_tell(init, INIT_STATE, state, why);
	if (init->tty_given)
		return;
	snprintf(line, sizeof(line), "cordon: state %s: %s (%.3f s)\n", init_state_name(state), why,
		 (double)(now_ms() - init->begun_ms) / 1000);
	print_line(1, line);
}

void init_fail(struct init *init, int code, const char *format, ...)
{
	char text[1024];
	va_list arguments;

	if (init->drain.phase != DRAIN_NONE)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	init_say(init, "%s", text);
	init->exit_code = code;
	drain_begin(init, text);
}

static struct init *running;	/* for init_panic() alone */

/* Only what a handler may do. The enforcer writes the seal, if it still can within a second. */
static void seal_in_panic(const char *line)
{
	static char text[256];
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct enforcer *e;

	if (!running || !running->enforcer.ready || running->enforcer.channel < 0)
		return;
	e = &running->enforcer;
	strcpy(text, "state\n\"panic\":\"");
	strncat(text, line, 200); /* our own words: nothing to be escaped */
	strcat(text, "\"");
	(void)init_channel_send(e->channel, &(struct init_message){ .type = INIT_RECORD, .number = 4 /* AUDIT_CRIT */ }, text, -1);
	if (init_channel_send(e->channel, &(struct init_message){ .type = INIT_SEAL }, NULL, -1) < 0)
		return;
	for (int i = 0; i < 100 && waitpid(e->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&pause, NULL);
}

void init_panic(const char *line)
{
	static const char name[] = "cordon: ", end[] = "\n";

	(void)!write(2, name, sizeof(name) - 1);
	(void)!write(2, line, strlen(line));
	(void)!write(2, end, 1);
	seal_in_panic(line);
	/* As PID 1 of a namespace our end kills the rest anyway; elsewhere children die by their PDEATHSIG. */
	if (getpid() == 1)
		kill(-1, SIGKILL);
	_exit(INIT_EXIT_INTERNAL);
}

int init_watch(struct init *init, int fd, uint32_t events, enum event_tag tag, size_t index)
{
	struct epoll_event event = { .events = events, .data.u64 = (uint64_t)index << 8 | tag };

	return epoll_ctl(init->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static void start_command(struct init *init)
{
	const struct init_settings *s = init->settings;
	size_t nr = 0;
	char **argv;
	struct spawn spawn = { .envp = environ, .in_fd = 0, .out_fd = 1, .error_fd = 2, .channel_fd = -1, .foreground = true };
	int r;

	if (!s->command || init->command_begun)
		return;
	init->command_begun = true;
	while (s->command[nr])
		nr++;
	argv = calloc(nr + 4, sizeof(*argv));
	if (!argv)
		init_panic("out of memory");
	argv[0] = (char *)(uintptr_t)s->client;
	argv[1] = (char *)(uintptr_t) "run";
	argv[2] = (char *)(uintptr_t) "--";
	memcpy(argv + 3, s->command, nr * sizeof(*argv));
	spawn.argv = argv;
	r = spawn_program(&spawn);
	free(argv);
	if (r < 0) {
		init_fail(init, INIT_EXIT_INTERNAL, "cannot start the command: %s", strerror(-r));
		return;
	}
	init->command_pid = r;
	init->tty_given = isatty(0);
}

/* Why the container is not ready; NULL when everything is there. */
static const char *missing(const struct init *init, bool *ret_final)
{
	static char why[160];

	*ret_final = false;
	if (!init->workspaces_done)
		return "making workspaces";
	if (init->enforcer.lost) {
		*ret_final = true;
		return "the enforcer ended too often: nothing is launched";
	}
	if (!init->enforcer.ready)
		return init->was_ready ? "the enforcer is being restarted" : "waiting for the enforcer";
	if (init->trust_step != TRUST_DONE)
		return "making the CA";
	for (size_t i = 0; i < init->nr_services; i++) {
		const struct service_run *s = &init->services[i];

		if (!s->policy->proxy || s->state == SERVICE_READY)
			continue;
		*ret_final = s->state == SERVICE_FAILED;
		snprintf(why, sizeof(why), *ret_final ? "proxy %s is lost: nothing is launched" : "waiting for proxy %s", s->policy->name);
		return why;
	}
	return NULL;
}

void init_settle(struct init *init)
{
	const char *why;
	bool final;

	if (init->drain.phase != DRAIN_NONE)
		return;
	why = missing(init, &final);
	if (why) {
		init_set_state(init, init->was_ready ? STATE_DEGRADED : STATE_STARTING, final, "%s", why);
		return;
	}
	init->was_ready = true;
	init_set_state(init, STATE_READY, false, "%s%s", services_proxy(init) ? "enforcer and proxy are ready" : "enforcer is ready",
		       init->host_exec_missing ? ", host_exec is degraded" : "");
	start_command(init);
}

static void on_event(struct init *init, const struct epoll_event *event)
{
	switch ((enum event_tag)(event->data.u64 & 0xff)) {
	case TAG_SIGNAL:
		signals_read(init);
		break;
	case TAG_CHANNEL:
		if (init->enforcer.channel >= 0)
			enforcer_on_channel(init, event->events);
		break;
	case TAG_LOG:
		service_on_log(init, &init->services[event->data.u64 >> 8]);
		break;
	case TAG_NOTIFY:
		service_on_notified(init, &init->services[event->data.u64 >> 8]);
		break;
	}
}

/* ---- counters: told when they changed, once a second at most ---- */

static bool counters_changed(const struct init *init)
{
	return init->enforcer.ready && init->orphans_reaped + init->signals_refused != init->counted;
}

static uint64_t counters_deadline(const struct init *init)
{
	return counters_changed(init) ? init->counted_ms + 1000 : NEVER;
}

static void counters_tick(struct init *init, uint64_t now)
{
	char text[128];

	if (counters_deadline(init) > now)
		return;
	init->counted = init->orphans_reaped + init->signals_refused;
	init->counted_ms = now;
	snprintf(text, sizeof(text), "{\"orphans_reaped\":%llu,\"signals_refused\":%llu}", (unsigned long long)init->orphans_reaped,
		 (unsigned long long)init->signals_refused);
	enforcer_tell(init, INIT_COUNTERS, 0, text);
}

static int timeout_ms(const struct init *init, uint64_t now)
{
	uint64_t first = enforcer_deadline(init), next = services_deadline(init);

	if (next < first)
		first = next;
	next = drain_deadline(init);
	if (next < first)
		first = next;
	next = counters_deadline(init);
	if (next < first)
		first = next;
	if (init->renew_ms < first && init->drain.phase == DRAIN_NONE)
		first = init->renew_ms;
	if (first == NEVER)
		return -1;
	return first <= now ? 0 : first - now > 3600000 ? 3600000 : (int)(first - now);
}

static void loop(struct init *init)
{
	struct epoll_event events[32];
	bool more = false;
	int nr;

	while (init->drain.phase != DRAIN_DONE) {
		nr = epoll_wait(init->epoll_fd, events, ARRAY_SIZE(events), more ? 0 : timeout_ms(init, now_ms()));
		if (nr < 0 && errno != EINTR)
			init_panic("epoll_wait failed");
		for (int i = 0; i < nr; i++)
			on_event(init, &events[i]);
		more = reap(init);
		signals_check_faults(init);
		enforcer_tick(init, now_ms());
		services_tick(init, now_ms());
		trust_tick(init, now_ms());
		drain_tick(init, now_ms());
		counters_tick(init, now_ms());
	}
}

/* Without the state folder there is no audit log: that has an exit code of its own. */
static int prepare_folders(const struct init_settings *s, int *ret_exit, struct err *ret_error)
{
	char logs[4096];
	int r;

	snprintf(logs, sizeof(logs), "%s/logs", s->state_dir);
	r = prepare_folder(s->run_dir, 0755, ret_error);
	if (r < 0)
		return r;
	*ret_exit = INIT_EXIT_AUDIT;
	r = prepare_folder(s->state_dir, 0700, ret_error);
	return r == 0 ? prepare_folder(logs, 0700, ret_error) : r;
}

static int make_boot_id(char ret_id[static 33])
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(ret_id + 2 * i, 3, "%02x", random[i]);
	return 0;
}

/* ret_exit: what PID 1 ends with when this fails. */
static int open_all(struct init *init, int *ret_exit, struct err *ret_error)
{
	int r;

	*ret_exit = INIT_EXIT_LAYER;
	r = prepare_rights(ret_error);
	if (r < 0)
		return r;
	*ret_exit = INIT_EXIT_INTERNAL;
	r = prepare_process(ret_error);
	if (r < 0)
		return r;
	init->signal_fd = r;
	init->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (init->epoll_fd < 0)
		return err_set(ret_error, -errno, "epoll: %s", strerror(errno));
	r = init_watch(init, init->signal_fd, EPOLLIN, TAG_SIGNAL, 0);
	if (r == 0)
		r = make_boot_id(init->boot);
	if (r == 0)
		r = services_open(init);
	if (r < 0)
		return err_set(ret_error, r, "cannot begin: %s", strerror(-r));
	init->trust_report = mmap(NULL, sizeof(*init->trust_report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (init->trust_report == MAP_FAILED)
		return err_set(ret_error, -errno, "cannot map memory: %s", strerror(errno));
	return prepare_folders(init->settings, ret_exit, ret_error);
}

static void close_all(struct init *init)
{
	enforcer_free(init);
	services_free(init);
	free(init->environment);
	munmap(init->trust_report, sizeof(*init->trust_report));
	close(init->epoll_fd);
	close(init->signal_fd);
}

int init_run(const struct init_settings *settings)
{
	struct init init = { .settings = settings, .epoll_fd = -1, .signal_fd = -1, .begun_ms = now_ms() };
	struct err e = { 0 };
	int exit_code;

	init.enforcer.channel = -1;
	init.renew_ms = NEVER;
	init.enforcer.start_ms = init.enforcer.deadline_ms = init.enforcer.release_ms = NEVER;
	init.state = STATE_STOPPED; /* so that boot is a change */
	if (open_all(&init, &exit_code, &e) < 0) {
		init_say(&init, "%s", e.text);
		return exit_code;
	}
	init_set_state(&init, STATE_BOOT, false, "pid %d%s", getpid(), getpid() == 1 ? "" : ", not PID 1: reaping as a subreaper");
	if (settings->mode_problem)
		enforcer_tell(&init, INIT_RECORD, 3 /* AUDIT_HIGH */, settings->mode_problem);
	running = &init;
	if (host_user_take(&init, &e) < 0) {
		init_say(&init, "%s", e.text);
		close_all(&init);
		return INIT_EXIT_POLICY;
	}
	host_exec_guard(&init);
	workspaces_start(&init);
	trust_start(&init);
	init_settle(&init);
	loop(&init);
	running = NULL;
	close_all(&init);
	return init.exit_code;
}
