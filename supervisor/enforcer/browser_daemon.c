/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon of an agent's browser session: a launch of its own that no client waits for, of the agent and its user, with variables that Cordon chose. It
 * is guarded and attributed as any launch, runs the programs of browser.json and nothing else, and ends with the container.
 *
 * Its sockets are the agent's own by every right the kernel knows. So who connects to them is decided here: the daemon's launch, and the
 * tool whose turn it is.
 */
#include "supervisor/enforcer/browsers.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/boundary/process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define ENDING_MS 3000	/* a daemon that was told to end closes its browser first */

/* ---- what is here ---- */

/* Returns how many of the list are here. */
static unsigned find_programs(const struct strings *list, struct program_id ids[static PROGRAMS_MAX], const char **ret_first)
{
	unsigned nr = 0;
	struct stat st;

	for (size_t i = 0; i < list->nr && nr < PROGRAMS_MAX; i++) {
		if (stat(list->items[i], &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (!nr)
			*ret_first = list->items[i];
		ids[nr++] = (struct program_id){ st.st_dev, st.st_ino };
	}
	return nr;
}

static int open_folders(const struct enforcer *e, struct browsers *all, struct err *ret_error)
{
	const char *folder = e->policy->browser.folder;
	char path[160];

	snprintf(path, sizeof(path), "%s/browser", e->run_dir);
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_set(ret_error, -errno, "cannot make %s: %s", path, strerror(errno));
	all->state_folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (all->state_folder < 0 || (mkdir(folder, 0755) < 0 && errno != EEXIST))
		return err_set(ret_error, -errno, "cannot make %s: %s", folder, strerror(errno));
	return 0;
}

/* What an earlier enforcer left: its sessions' ports are theirs from the first call on. A file that says nothing is none. */
static void adopt_sessions(struct browsers *all)
{
	int fd = openat(all->state_folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!folder && fd >= 0)
		close(fd);
	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < SESSION_NAME_BYTES)
			(void)browser_open(all, entry->d_name, 0);
	if (folder)
		closedir(folder);
}

int browsers_start(struct enforcer *e, struct err *ret_error)
{
	struct browsers *all = calloc(1, sizeof(*all));
	int r;

	if (!all)
		return err_set(ret_error, -ENOMEM, "out of memory");
	all->tick.fd = all->state_folder = -1;
	all->nr_tools = find_programs(&e->policy->browser.programs, all->tools, &all->tool);
	all->nr_shows = find_programs(&e->policy->browser.browsers, all->shows, &all->browser);
	if (!all->tool || !all->browser) {
		free(all);
		return 0;
	}
	r = open_folders(e, all, ret_error);
	if (r < 0) {
		free(all);
		return r;
	}
	adopt_sessions(all);
	e->browsers = all;
	return 0;
}

bool browsers_exist(const struct enforcer *e)
{
	return e->browsers;
}

enum session_role browsers_session(const struct enforcer *e, enum mode mode, uint32_t spec_flags)
{
	if (spec_flags & SPEC_SESSION)
		return SESSION_DAEMON;
	return e->browsers && (mode == MODE_GUARDED || mode == MODE_OBSERVE) ? SESSION_USER : SESSION_NONE;
}

/* ---- variables ---- */

struct entries {			/* grows; one allocation in the end */
	struct buf text;
	size_t nr;
};

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=") + 1;
}

static void put(struct entries *l, const char *text)
{
	buf_append(&l->text, text, strlen(text) + 1);
	l->nr++;
}

static void put_text(struct entries *l, const char *text, const struct enforcer *e, const char *agent, const char *name)
{
	_cleanup_free_ char *value = NULL;
	char folder[512];

	snprintf(folder, sizeof(folder), "%s/%s", e->policy->browser.folder, name);
	value = session_text(text, session_title(agent, name), folder, e->browsers->browser);
	if (value)
		put(l, value);
	else
		l->text.failed = true;
}

static const char **finish(struct entries *l)
{
	const char **items = l->text.failed ? NULL : malloc((l->nr + 1) * sizeof(*items) + l->text.len + 1);
	char *at;

	if (items) {
		at = (char *)(items + l->nr + 1);
		memcpy(at, l->text.data ? l->text.data : "", l->text.len);
		for (size_t i = 0; i < l->nr; i++, at += strlen(at) + 1)
			items[i] = at;
		items[l->nr] = NULL;
	}
	buf_free(&l->text);
	return items;
}

const char **browsers_environment(const struct enforcer *e, const char *agent, uid_t uid, enum mode mode)
{
	const struct strings *variables = &e->policy->browser.environment;
	char name[SESSION_NAME_BYTES];
	struct entries l = { 0 };

	for (const char *const *added = e->added; added && *added; added++)
		put(&l, *added);
	session_name(agent, zygote_id(agent, uid, false), name);
	for (size_t i = 0; browsers_session(e, mode, 0) == SESSION_USER && i < variables->nr; i++)
		put_text(&l, variables->items[i], e, agent, name);
	return finish(&l);
}

/* "NAME=AGENT TOOL …" at the very start of a shell's text: a host's own words stand before an agent's. */
static size_t agent_in_text(const char *prefix, const char *text, const char **ret_agent)
{
	static const char mark[] = "{AGENT}";
	const char *hole = strstr(prefix, mark), *after = hole ? hole + sizeof(mark) - 1 : "";
	size_t before = hole ? (size_t)(hole - prefix) : 0, len;

	if (!hole || strncmp(text, prefix, before) != 0)
		return 0;
	*ret_agent = text + before;
	len = strspn(*ret_agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	text = *ret_agent + len;
	return strncmp(text, after, strlen(after)) == 0 && (!text[strlen(after)] || text[strlen(after)] == ' ') ? len : 0;
}

void browsers_name_agent(const struct enforcer *e, const char *const *argv, char ret_agent[static AGENT_NAME_BYTES])
{
	const char *agent = "";
	size_t rest = 0, len = 0;

	ret_agent[0] = 0;
	if (!e->browsers)
		return;
	if (!judge_transport(e->policy, argv, &rest))
		rest = 0;
	/* SHELL -c TEXT, SHELL -lc TEXT: what the text does is judged as always, with whatever shell. */
	if (argv[rest] && argv[rest + 1] && argv[rest + 2] && !argv[rest + 3] && argv[rest + 1][0] == '-' && strchr(argv[rest + 1], 'c'))
		len = agent_in_text(e->policy->browser.prefix, argv[rest + 2], &agent);
	if (len < AGENT_NAME_BYTES)
		snprintf(ret_agent, AGENT_NAME_BYTES, "%.*s", (int)len, agent);
}

static bool is_replaced(const struct strings *by, const char *entry)
{
	for (size_t i = 0; i < by->nr; i++)
		if (strncmp(by->items[i], entry, name_length(by->items[i])) == 0)
			return true;
	return false;
}

static const char **daemon_environment(const struct enforcer *e, const struct agent_browser *b, const struct launch *l)
{
	const struct strings *variables = &e->policy->browser.daemon;
	struct entries list = { 0 };

	for (const char **entry = l->environment; *entry; entry++)
		if (!is_replaced(variables, *entry))
			put(&list, *entry);
	for (size_t i = 0; i < variables->nr; i++)
		put_text(&list, variables->items[i], e, l->agent, b->session->name);
	return finish(&list);
}

/* ---- the launch ---- */

static void take_user(const struct launch *l, struct user_identity *ret)
{
	const struct spec *s = l->spec;

	*ret = (struct user_identity){ .uid = s->uid, .gid = s->gid };
	for (unsigned i = 0; i < s->nr_groups && i < USER_GROUPS_MAX; i++)
		memcpy(&ret->groups[ret->nr_groups++], l->blob + s->groups_offset + i * sizeof(gid_t), sizeof(gid_t));
	snprintf(ret->name, sizeof(ret->name), "%s", l->user);
	snprintf(ret->home, sizeof(ret->home), "%s", l->subject.home);
}

/* The client's end that every launch gets; its keeper lets go of it. */
static int make_client(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	close(pair[1]);
	return pair[0];
}

static int start_daemon(struct enforcer *e, struct agent_browser *b, const struct launch *l, struct err *ret_error)
{
	_cleanup_free_ const char **environment = daemon_environment(e, b, l);
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC), client = make_client();
	char *argv[] = { (char *)(uintptr_t)e->browsers->tool, NULL }, folder[512];
	enum mode mode = e->mode == MODE_OFF ? l->subject.mode : e->mode;
	struct user_identity user;
	struct launch_order order = {
		.agent = l->agent, .cwd = l->blob + l->spec->cwd_offset, .user = &user, .mode = mode, .argv = argv,
		.environment = (char *const *)(uintptr_t)environment, .client = client, .stdio = { null, null, null }, .session_folder = folder,
	};
	int r;

	if (!environment || null < 0 || client < 0)
		return err_set(ret_error, -ENOMEM, "the browser session cannot be started: no memory or descriptors");
	take_user(l, &user);
	snprintf(folder, sizeof(folder), "%s/%s", e->policy->browser.folder, b->session->name);
	r = session_forget_browser(b->session);
	if (r == 0)
		r = session_prepare_folder(&e->policy->browser, b->session->name, session_title(l->agent, b->session->name), mode, user.uid, user.gid,
					   user.home, ret_error);
	if (r < 0)
		return r;
	b->daemon = e->next_launch;
	b->ending_us = 0;
	r = launch_start(e, &order, ret_error);
	if (r < 0) {
		b->daemon = 0;
		return r == -EAGAIN ? 0 : r;
	}
	client = -1; /* the launch's now */
	browser_record(e, b, "daemon", AUDIT_INFO, NULL);
	return 0;
}

static struct launch *find_daemon(const struct enforcer *e, const struct agent_browser *b)
{
	struct launch *l = e->launches;

	while (l && !(b->daemon ? l->id == b->daemon : l->spec && l->subject.session == SESSION_DAEMON && l->zygote == b->session->id))
		l = l->next;
	return l;
}

/* Launches of an earlier enforcer's of which nothing is known yet: any of them may be the daemon. */
static bool some_are_unknown(const struct enforcer *e)
{
	const struct launch *l = e->launches;

	while (l && (l->spec || l->client >= 0))
		l = l->next;
	return l;
}

/* The tool takes a daemon that accepts for one that serves, and so do we. */
static bool accepts(const struct enforcer *e, const struct agent_browser *b, const char *agent)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int len = snprintf(un.sun_path, sizeof(un.sun_path), "%s/%s/run/%s.sock", e->policy->browser.folder, b->session->name,
			   session_title(agent, b->session->name));

	return fd >= 0 && len < (int)sizeof(un.sun_path) && connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0;
}

int daemon_serves(struct enforcer *e, struct agent_browser *b, const struct launch *l, struct err *ret_error)
{
	struct launch *daemon = find_daemon(e, b);

	if (!daemon)
		return some_are_unknown(e) ? 0 : start_daemon(e, b, l, ret_error);
	b->daemon = daemon->id;
	if (daemon->state == LAUNCH_FAILED)
		return err_set(ret_error, -EIO, "the browser session's daemon does not start (the audit log says why)");
	if (daemon->state == LAUNCH_ENDED || (b->ending_us && now_us() - b->ending_us > ENDING_MS * 1000u)) {
		launch_kill(e, daemon, 0); /* what it left, and what does not end */
		return 0;
	}
	return daemon->state == LAUNCH_RUNNING && !b->ending_us && accepts(e, b, l->agent);
}

void browsers_forget(struct enforcer *e, const struct launch *l)
{
	for (struct agent_browser *b = e->browsers ? e->browsers->first : NULL; b; b = b->next) {
		if (b->daemon != l->id && !(l->subject.session == SESSION_DAEMON && l->zygote == b->session->id))
			continue;
		b->daemon = 0;
		b->ending_us = 0;
		(void)session_forget_browser(b->session);
		browser_record(e, b, "ended", AUDIT_INFO, NULL);
	}
}

/* ---- who connects ---- */

static bool runs(pid_t pid, struct stat *ret_program)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return stat(path, ret_program) == 0;
}

void browsers_bound(struct enforcer *e, const struct call *call, int socket)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof(address);
	struct agent_browser *b;
	struct stat program;
	int type = 0;

	if (call->launch->subject.session != SESSION_DAEMON || !e->browsers || getsockname(socket, (struct sockaddr *)&address, &bytes) < 0)
		return;
	bytes = sizeof(type);
	if (getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 || type != SOCK_STREAM || !(b = browser_of(e, call->launch)))
		return;
	(void)session_add_port(b->session, ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port), /* sin6_port stands in the same place */
			       runs((pid_t)call->request->pid, &program) && browsers_is_browser(e, &program));
}

/* The agent's own tool, while it is its turn: no other process of the session's user is. */
static bool is_its_turn(const struct enforcer *e, const struct agent_browser *b, const struct call *call)
{
	pid_t group = process_group((pid_t)call->request->pid);
	struct stat program;

	return b->session->kept.turn == group && b->session->id == call->launch->zygote && runs(group, &program) && browsers_is_tool(e, &program);
}

/*
 * The daemon drives its browser. The browser has no business with either: what it connects to, a page may have chosen, and the daemon takes input from whoever
 * connects. Its own sockets are in its profile.
 */
static bool is_part(const struct enforcer *e, const struct agent_browser *b, const struct call *call, const struct action *action)
{
	char run[512];
	struct stat program;

	if (call->launch->subject.session != SESSION_DAEMON || call->launch->zygote != b->session->id)
		return false;
	snprintf(run, sizeof(run), "%s/%s/run", e->policy->browser.folder, b->session->name);
	if (action->path && !path_is_under(action->path, run))
		return true;
	return runs((pid_t)call->request->pid, &program) && browsers_is_tool(e, &program);
}

static bool is_sessions(const struct enforcer *e, const struct agent_browser *b, const struct action *action)
{
	char folder[512];

	if (action->path) {
		snprintf(folder, sizeof(folder), "%s/%s", e->policy->browser.folder, b->session->name);
		return path_is_under(action->path, folder);
	}
	return session_has_port(b->session, ntohs(((const struct sockaddr_in *)(const void *)action->address)->sin_port));
}

void browsers_judge_target(struct enforcer *e, const struct call *call, struct action *action)
{
	struct agent_browser *b;

	if (!e->browsers || (!action->path && action->address_bytes < sizeof(struct sockaddr_in)))
		return;
	for (b = e->browsers->first; b && !is_sessions(e, b, action); b = b->next)
		;
	/* A folder without a session that we know of is one of an earlier enforcer's: nobody's, until its agent comes. */
	action->of_session = b || (action->path && path_is_under(action->path, e->policy->browser.folder));
	action->session_client = b && (is_part(e, b, call, action) || is_its_turn(e, b, call));
}
