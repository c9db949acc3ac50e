/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper: one per launch. Parent and subreaper of the command's whole tree; holds the listener, the pty, the client's connection, the
 * exit status and the in-flight table, so that an enforcer can die without the launch noticing.
 *
 * It decides nothing: it tells the enforcer what happened and does what the enforcer says. Single-threaded, uid 0 with CAP_KILL alone, in the
 * zygote's scope layer but outside the launch's own layer and filter. When it dies, PDEATHSIG and the enforcer end the tree.
 */
#include "shim/keeper.h"

#include "shim/child.h"
#include "shim/lockdown.h"
#include "shim/relay.h"
#include "shim/tree.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

struct keeper {
	uint64_t launch_id;
	const struct spec *spec;	/* points into blob */
	char *blob;
	uint32_t blob_bytes;
	int client, channel;		/* client is -1 once it has been told the end */
	int listener, table_fd, spec_fd;
	int report, go;			/* to the child while it starts; -1 afterwards */
	int timer;			/* --timeout; -1 none */
	struct inflight_table *table;
	struct relay relay;		/* pty, when there is one */
	pid_t command;
	bool ended, refused;
	int status;			/* wait status of the command */
	char notice[PROTO_TEXT_MAX + 1];	/* JSON of the latest refusal */
};

/* ---- words to the client and the enforcer ---- */

static void tell_client(struct keeper *k, enum event_type type, int code, int signal_number, const char *text)
{
	struct {
		struct launch_event head;
		char text[PROTO_TEXT_MAX];
	} event = { .head = { .type = type, .code = code, .signal = signal_number } };
	size_t len = strlen(text);

	if (k->client < 0)
		return;
	if (len > sizeof(event.text))
		len = sizeof(event.text);
	event.head.text_bytes = (uint32_t)len;
	memcpy(event.text, text, len);
	(void)io_send(k->client, &event, sizeof(event.head) + len, NULL, 0, MSG_DONTWAIT);
	if (type == EVENT_STARTED)
		return;
	close(k->client);
	k->client = -1;
}

static void tell_enforcer(struct keeper *k, struct keeper_message message, const int *fds, unsigned nr_fds)
{
	message.launch_id = k->launch_id;
	message.keeper_pid = getpid();
	message.pid = k->command;
	/* The channel's far end is kept by PID 1 too: words wait there for the next enforcer. */
	(void)io_send(k->channel, &message, sizeof(message), fds, nr_fds, 0);
}

static void say_hello(struct keeper *k, uint32_t flags)
{
	int fds[3] = { k->spec_fd, k->table_fd, k->listener };
	struct keeper_message hello = { .type = KEEPER_HELLO, .status = k->status, .flags = flags, .number = k->blob_bytes };

	tell_enforcer(k, hello, fds, k->listener >= 0 ? 3 : 2);
}

/* With what a hello has: the enforcer that knew this launch may be dead, and the table says what it left undone. */
static void say_empty(struct keeper *k)
{
	int fds[2] = { k->spec_fd, k->table_fd };

	tell_enforcer(k, (struct keeper_message){ .type = KEEPER_EMPTY, .status = k->status, .number = k->blob_bytes }, fds, 2);
}

static const char *const stage_names[] = {
	[STAGE_SPEC] = "reading the launch", [STAGE_PTY] = "making the terminal", [STAGE_FORK] = "forking",
	[STAGE_LANDLOCK] = "adding the Landlock layer", [STAGE_IDS] = "taking the user's ids", [STAGE_CWD] = "entering the working folder",
	[STAGE_STDIO] = "taking over stdio", [STAGE_FILTER] = "installing the filter", [STAGE_EXEC] = "starting the command",
};

/*
 * Nothing was started. The enforcer records it and words the answer (a refusal has a case id); if none comes, the plain error must do.
 */
static int give_up(struct keeper *k, enum keeper_stage stage, int error_number)
{
	struct keeper_message failed = { .type = KEEPER_FAILED, .stage = (int32_t)stage, .number = error_number };
	struct {
		struct keeper_message head;
		char text[PROTO_TEXT_MAX + 1];
	} answer = { 0 };
	struct pollfd p = { .fd = k->channel, .events = POLLIN };
	char line[256];
	ssize_t len = 0;

	tell_enforcer(k, failed, NULL, 0);
	if (poll(&p, 1, 3000) == 1)
		len = io_receive(k->channel, &answer, sizeof(answer) - 1, NULL, 0, NULL, 0);
	if (len > (ssize_t)sizeof(answer.head) && answer.head.type == KEEPER_NOTICE) {
		tell_client(k, (enum event_type)answer.head.number, 0, 0, answer.text);
		return 1;
	}
	snprintf(line, sizeof(line), "%s failed: %s", stage_names[stage], strerror(error_number));
	tell_client(k, EVENT_FAILED, 0, 0, line);
	return 1;
}

/* ---- starting ---- */

/* The spec is the enforcer's, still its offsets are held to the blob: a wrong one must end here, not in the child. */
static bool spec_is_sound(const struct spec *s, size_t bytes)
{
	const struct { uint64_t offset, len; } parts[] = {
		{ s->groups_offset, s->nr_groups * 4ULL }, { s->filter_offset, s->nr_filter * 8ULL },
		{ s->landlock_offset, s->nr_landlock * (uint64_t)sizeof(struct spec_landlock) }, { s->cwd_offset, 1 },
		{ s->search_offset, 1 }, { s->argv_offset, s->argc }, { s->env_offset, s->envc }, { s->agent_offset, 1 },
		{ s->user_offset, 1 }, { s->home_offset, 1 }, { s->roots_offset, s->nr_roots },
	};

	if (s->magic != PROTO_MAGIC || s->version != PROTO_VERSION || s->argc == 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (parts[i].offset > bytes || parts[i].len > bytes - parts[i].offset)
			return false;
	return true;
}

static int read_spec(struct keeper *k, int fd, uint32_t bytes)
{
	if (bytes < sizeof(struct spec) || bytes > PROTO_BLOB_MAX)
		return -EINVAL;
	k->blob = malloc((size_t)bytes + 1);
	if (!k->blob)
		return -ENOMEM;
	if (pread(fd, k->blob, bytes, 0) != (ssize_t)bytes)
		return -EIO;
	k->blob[bytes] = 0;
	k->blob_bytes = bytes;
	k->spec = (const struct spec *)(void *)k->blob;
	return spec_is_sound(k->spec, bytes) ? 0 : -EINVAL;
}

static int make_table(struct keeper *k)
{
	k->table_fd = memfd_create("cordon-inflight", MFD_CLOEXEC);
	if (k->table_fd < 0 || ftruncate(k->table_fd, sizeof(*k->table)) < 0)
		return -errno;
	k->table = mmap(NULL, sizeof(*k->table), PROT_READ | PROT_WRITE, MAP_SHARED, k->table_fd, 0);
	if (k->table == MAP_FAILED)
		return -errno;
	k->table->magic = PROTO_MAGIC;
	return 0;
}

/*
 * The command's stdio becomes ours, because the child shares our table; the client's terminal, which the child will replace by the pty, is
 * kept aside for the relay.
 */
static int place_stdio(struct keeper *k, const int fds[static KEEPER_FDS])
{
	for (int i = 0; i < 3; i++)
		if (dup2(fds[KEEPER_FD_STDIN + i], i) < 0)
			return -errno;
	if (!(k->spec->flags & SPEC_TTY))
		return 0;
	return relay_prepare(&k->relay, k->spec->flags & SPEC_STDIN_ETX_ONLY);
}

static int drop_stdio(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return -errno;
	for (int fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	close(null);
	return 0;
}

static int start_child(struct keeper *k, int *ret_stage)
{
	int report[2], go[2], ruleset = -1, r = 0;
	struct child_plan plan = { .spec = k->spec, .blob = k->blob, .table = k->table };

	*ret_stage = STAGE_LANDLOCK;
	if (k->spec->landlock_handled && (ruleset = lockdown_open_ruleset(k->spec, k->blob)) < 0)
		return -errno;
	*ret_stage = STAGE_FORK;
	if (pipe2(report, O_CLOEXEC) < 0 || pipe2(go, O_CLOEXEC) < 0)
		return -errno;
	plan.ruleset_fd = ruleset;
	plan.report_fd = report[1];
	plan.go_fd = go[0];
	/* Raw clone: only the descriptor table is shared. glibc's fork would copy it. */
	k->command = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0);
	if (k->command == 0)
		child_main(&plan);
	if (k->command < 0)
		r = -errno;
	if (ruleset >= 0 && r < 0)
		close(ruleset);
	k->report = report[0];
	k->go = go[1];
	return r;
}

/* Reads the child's first report: the listener it made, or where it failed. */
static int await_child(struct keeper *k, int *ret_stage)
{
	struct child_report report;
	struct pollfd p = { .fd = k->report, .events = POLLIN };

	*ret_stage = STAGE_FORK;
	/* Our own write end is in the shared table, so a child killed here gives no end of file: a deadline stands in. */
	if (poll(&p, 1, 10000) != 1 || read(k->report, &report, sizeof(report)) != sizeof(report))
		return -ETIMEDOUT;
	*ret_stage = report.stage;
	if (report.stage)
		return report.error_number > 0 ? -report.error_number : -EIO;
	k->listener = report.listener_fd;
	relay_start(&k->relay, report.master_fd);
	return 0;
}

static void start_timer(struct keeper *k)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = k->spec->timeout_ms / 1000, .tv_nsec = (long)(k->spec->timeout_ms % 1000) * 1000000 },
	};

	k->timer = -1;
	if (!k->spec->timeout_ms)
		return;
	k->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (k->timer >= 0)
		timerfd_settime(k->timer, 0, &when, NULL);
}

/* ---- running ---- */

static void describe_failure(const struct keeper *k, char *line, size_t line_bytes)
{
	const char *name = k->blob + k->spec->argv_offset;
	int error_number = (int)k->table->exec_error;
	char shown[129];
	size_t i;

	/* A name is an agent's: only printable ASCII of it reaches a terminal. */
	for (i = 0; i < sizeof(shown) - 1 && name[i]; i++)
		shown[i] = name[i] >= ' ' && name[i] < 127 ? name[i] : '?';
	shown[i] = 0;
	snprintf(line, line_bytes, "cordon: %s: %s", shown, error_number == ENOENT ? "not found" : strerror(error_number));
}

static void tell_end(struct keeper *k)
{
	char line[256];

	if (k->table->exec_error && k->notice[0])
		return tell_client(k, EVENT_REFUSED, 126, 0, k->notice);
	if (k->table->exec_error) {
		describe_failure(k, line, sizeof(line));
		return tell_client(k, EVENT_EXITED, WEXITSTATUS(k->status), 0, line);
	}
	if (WIFSIGNALED(k->status))
		return tell_client(k, EVENT_EXITED, 0, WTERMSIG(k->status), k->notice);
	tell_client(k, EVENT_EXITED, WEXITSTATUS(k->status), 0, WEXITSTATUS(k->status) ? k->notice : "");
}

static void kill_tree(struct keeper *k)
{
	int status;

	/* The command's own status is wanted for the record; tree_kill() reaps whatever it meets. */
	if (!k->ended && k->command > 0) {
		kill(k->command, SIGKILL);
		if (waitpid(k->command, &status, 0) == k->command)
			k->status = status;
		k->ended = true;
		tell_enforcer(k, (struct keeper_message){ .type = KEEPER_EXITED, .status = k->status }, NULL, 0);
	}
	tree_kill();
	tell_end(k);
}

static void take_enforcer_word(struct keeper *k)
{
	struct {
		struct keeper_message head;
		char text[PROTO_TEXT_MAX + 1];
	} word;
	ssize_t len = io_receive(k->channel, &word, sizeof(word) - 1, NULL, 0, NULL, MSG_DONTWAIT);

	if (len == -EAGAIN)
		return;
	if (len < (ssize_t)sizeof(word.head)) { /* PID 1 is gone as well: nobody guards this launch any more */
		kill_tree(k);
		_exit(1);
	}
	((char *)&word)[len] = 0;
	switch (word.head.type) {
	case KEEPER_GO:
		if (k->go >= 0 && write(k->go, "g", 1) == 1)
			tell_client(k, EVENT_STARTED, 0, 0, "");
		break;
	case KEEPER_NOTICE:
		memcpy(k->notice, word.text, sizeof(k->notice));
		break;
	case KEEPER_KILL:
		if (word.head.number && k->command > 0 && !k->ended)
			kill(-k->command, (int)word.head.number);
		else
			kill_tree(k);
		break;
	case KEEPER_PRESENT:
		say_hello(k, HELLO_AGAIN | (k->ended ? HELLO_ENDED : 0));
		break;
	default:
		break;
	}
}

static void take_client_word(struct keeper *k, short events)
{
	struct client_message word;
	ssize_t len = io_receive(k->client, &word, sizeof(word), NULL, 0, NULL, MSG_DONTWAIT);

	if (len == -EAGAIN && !(events & (POLLHUP | POLLERR)))
		return;
	if (len != sizeof(word)) { /* the client is gone, or speaks nonsense: its tree goes too */
		kill_tree(k);
		return;
	}
	if (word.type == CLIENT_WINDOW)
		relay_resize(&k->relay, word.rows, word.columns);
	else if (word.type == CLIENT_SIGNAL && word.signal > 0 && word.signal < NSIG && !k->ended)
		kill(k->relay.master >= 0 ? k->command : -k->command, word.signal);
}

/* Returns false when no descendant is left. */
static bool reap(struct keeper *k)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (WIFSTOPPED(status)) { /* PTRACE_TRACEME, in mode off: we are nobody's debugger */
			(void)ptrace(PTRACE_DETACH, pid, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
			continue;
		}
		if (pid != k->command || k->ended)
			continue;
		k->status = status;
		k->ended = true;
		/* The enforcer speaks before it answers the call that ends a command: hear it first. */
		for (int i = 0; i < 64; i++)
			take_enforcer_word(k);
		relay_finish(&k->relay);
		tell_enforcer(k, (struct keeper_message){ .type = KEEPER_EXITED, .status = status }, NULL, 0);
		tell_end(k);
	}
	return !(pid < 0 && errno == ECHILD);
}

static void take_child_byte(struct keeper *k)
{
	char byte;

	/* The child has its own table now: stdio would otherwise stay open in us after the command closed it. */
	if (read(k->report, &byte, 1) == 1)
		(void)drop_stdio();
	close(k->report);
	close(k->go);
	k->report = k->go = -1;
}

static void report_refused_input(struct keeper *k)
{
	uint64_t refused = relay_take_refused(&k->relay);

	if (refused)
		tell_enforcer(k, (struct keeper_message){ .type = KEEPER_STDIN_REFUSED, .number = (int64_t)refused }, NULL, 0);
}

enum { POLL_CHANNEL, POLL_CLIENT, POLL_SIGNALS, POLL_REPORT, POLL_TIMER, POLL_RELAY, POLLS = POLL_RELAY + RELAY_POLLS };

static int run(struct keeper *k, int signals)
{
	struct signalfd_siginfo info;

	for (;;) {
		struct pollfd p[POLLS] = {
			[POLL_CHANNEL] = { .fd = k->channel, .events = POLLIN }, [POLL_CLIENT] = { .fd = k->client, .events = POLLIN },
			[POLL_SIGNALS] = { .fd = signals, .events = POLLIN }, [POLL_REPORT] = { .fd = k->report, .events = POLLIN },
			[POLL_TIMER] = { .fd = k->timer, .events = POLLIN },
		};

		relay_poll(&k->relay, &p[POLL_RELAY]);
		if (poll(p, POLLS, -1) < 0 && errno != EINTR)
			return 1;
		if (p[POLL_CHANNEL].revents)
			take_enforcer_word(k);
		if (p[POLL_REPORT].revents)
			take_child_byte(k);
		relay_move(&k->relay, &p[POLL_RELAY]);
		report_refused_input(k);
		if (k->client >= 0 && p[POLL_CLIENT].revents)
			take_client_word(k, p[POLL_CLIENT].revents);
		if (p[POLL_TIMER].revents) {
			close(k->timer);
			k->timer = -1;
			kill_tree(k);
		}
		if (p[POLL_SIGNALS].revents)
			while (read(signals, &info, sizeof(info)) > 0)
				;
		if (!reap(k)) {
			say_empty(k);
			return 0;
		}
	}
}

static int make_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int keeper_main(const struct zygote_launch *launch, const int fds[static KEEPER_FDS])
{
	struct keeper *k = calloc(1, sizeof(*k));
	int signals, stage = STAGE_SPEC, r;

	if (!k)
		return 1;
	*k = (struct keeper){ .launch_id = launch->launch_id, .client = fds[KEEPER_FD_CLIENT], .channel = fds[KEEPER_FD_CHANNEL],
			      .spec_fd = fds[KEEPER_FD_SPEC], .listener = -1, .table_fd = -1, .report = -1, .go = -1, .timer = -1 };
	relay_init(&k->relay);
	prctl(PR_SET_NAME, "cordon-keeper", 0, 0, 0);
	signals = make_signals();
	r = signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : read_spec(k, fds[KEEPER_FD_SPEC], launch->spec_bytes);
	if (r == 0 && k->spec->flags & SPEC_SESSION) {
		close(k->client);
		k->client = -1;
	}
	if (r == 0)
		r = make_table(k);
	if (r == 0) {
		stage = STAGE_STDIO;
		r = place_stdio(k, fds);
	}
	for (int i = KEEPER_FD_STDIN; i <= KEEPER_FD_STDERR; i++)
		close(fds[i]);
	if (r == 0)
		r = start_child(k, &stage);
	if (r == 0)
		r = await_child(k, &stage);
	if (r == 0 && k->spec->flags & SPEC_DROP_CAPABILITIES && lockdown_keeper_capabilities() < 0)
		r = -errno;
	if (r < 0) {
		if (k->command > 0)
			tree_kill();
		return give_up(k, (enum keeper_stage)stage, -r);
	}
	start_timer(k);
	say_hello(k, 0);
	return run(k, signals);
}
