/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of agents' browser sessions: one at a time, and what each did to the snapshot, by how it really ended.
 *
 * The tool stays our tracee from its verified exec to its end, which is how we learn its exit status whoever its parent is. It is let go should we die
 * (its end is then unknown, and no snapshot holds). Before a snapshot and after it, and before anything that acts on what a snapshot shows, the browser
 * itself is asked what it shows: a page that went elsewhere by itself makes the snapshot stale too. What remains is the moment between that
 * question and the daemon's act. So the browser is asked again when an action has ended: whatever it then shows that the snapshot did not is recorded,
 * for the action may have landed there. Whether it led there itself, as a link does, nobody can tell.
 */
#include "supervisor/enforcer/browsers.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/boundary/process.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* <sys/ptrace.h> and <linux/ptrace.h> cannot both be included. */
long ptrace(int request, ...);

#define TICK_MS 20

/* ---- programs ---- */

bool browsers_is_tool(const struct enforcer *e, const struct stat *file)
{
	for (unsigned i = 0; e->browsers && i < e->browsers->nr_tools; i++)
		if (e->browsers->tools[i].dev == file->st_dev && e->browsers->tools[i].ino == file->st_ino)
			return true;
	return false;
}

bool browsers_is_browser(const struct enforcer *e, const struct stat *file)
{
	for (unsigned i = 0; e->browsers && i < e->browsers->nr_shows; i++)
		if (e->browsers->shows[i].dev == file->st_dev && e->browsers->shows[i].ino == file->st_ino)
			return true;
	return false;
}

/* ---- sessions ---- */

struct agent_browser *browser_open(struct browsers *all, const char *name, uint64_t id)
{
	struct agent_browser *b = calloc(1, sizeof(*b));

	if (!b || session_open(all->state_folder, name, id, &b->session) < 0) {
		free(b);
		return NULL;
	}
	b->answer.fd = -1;
	b->next = all->first;
	return all->first = b;
}

struct agent_browser *browser_of(struct enforcer *e, const struct launch *l)
{
	char name[SESSION_NAME_BYTES];
	struct agent_browser *b;

	for (b = e->browsers->first; b; b = b->next)
		if (b->session->id == l->zygote)
			return b;
	session_name(l->agent, l->zygote, name);
	return browser_open(e->browsers, name, l->zygote);
}

void browser_record(struct enforcer *e, const struct agent_browser *b, const char *event, enum audit_severity severity, const char *why)
{
	_cleanup_buf_ struct buf members = { 0 };
	struct json_out j = { .buf = &members };

	json_text(&j, "session", b->session->name);
	json_text(&j, "event", event);
	json_text(&j, "why", why);
	if (b->daemon)
		json_uint(&j, "daemon", b->daemon);
	audit_record(e->audit, "browser", severity, false, &members);
}

/* ---- waiting ---- */

static void tick_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	uint64_t expirations;

	(void)events;
	if (read(source->fd, &expirations, sizeof(expirations)) < 0)
		return;
	exec_resume_held(e);
	if (!exec_held(e))
		source_close(e, source);
}

void browsers_tick(struct enforcer *e)
{
	const struct itimerspec often = { .it_interval = { .tv_nsec = TICK_MS * 1000000 }, .it_value = { .tv_nsec = TICK_MS * 1000000 } };
	int fd;

	if (e->browsers->tick.fd >= 0)
		return;
	fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd < 0)
		return;
	if (timerfd_settime(fd, 0, &often, NULL) < 0 || source_add(e, &e->browsers->tick, fd, EPOLLIN, tick_ready) < 0)
		e->browsers->tick.fd = -1;
}

static enum browser_next refuse(struct decision *d, const struct policy *policy, const char *tag, const char *text, const char *hint)
{
	*d = (struct decision){
		.verdict = VERDICT_DENY, .tag = tag, .rule = "browser.session", .origin = policy->browser.origin, .hint = hint,
	};
	snprintf(d->reason, sizeof(d->reason), "%.255s", text);
	return BROWSER_REFUSED;
}

static bool is_over(const struct call *call, unsigned limit_ms)
{
	return now_us() - call->received_us > (uint64_t)limit_ms * 1000;
}

static enum browser_next wait_on(struct enforcer *e, struct decision *decision)
{
	browsers_tick(e);
	if (e->browsers->tick.fd >= 0)
		return BROWSER_WAITS;
	return refuse(decision, e->policy, "incomplete_evidence", "This command cannot wait for its turn: no timer.", NULL);
}

/* ---- turns ---- */

/* A tool that an earlier enforcer saw begin: nobody tells us its end. */
static bool turn_is_over(const struct session *s)
{
	struct process_facts facts;

	return process_read(s->kept.turn, &facts) < 0 || facts.start != s->kept.turn_start || facts.exiting;
}

static bool is_busy(struct enforcer *e, struct agent_browser *b, uint64_t flight)
{
	struct session *s = b->session;

	if (s->kept.turn && !b->traced && turn_is_over(s)) {
		(void)session_end(s);
		browser_record(e, b, "stale", AUDIT_INFO, "a command's end was not seen");
	}
	if (s->kept.turn || b->ask != ASK_NOTHING)
		return true;
	return b->next_flight && b->next_flight != flight;
}

enum browser_next browsers_enter(struct enforcer *e, const struct call *call, uint64_t flight, const struct stat *program, bool *ret_is_tool,
				 bool *ret_holds, struct decision *ret_decision)
{
	const struct launch *l = call->launch;
	struct agent_browser *b;

	*ret_holds = false;
	*ret_is_tool = l->subject.session == SESSION_USER && browsers_is_tool(e, program);
	if (!*ret_is_tool)
		return BROWSER_GO;
	b = browser_of(e, l);
	if (!b)
		return refuse(ret_decision, e->policy, "incomplete_evidence", "The state of this agent's browser session cannot be kept.", NULL);
	if (!is_busy(e, b, flight)) {
		*ret_holds = b->session->kept.holds;
		return BROWSER_GO;
	}
	if (is_over(call, e->policy->browser.hold_ms))
		return refuse(ret_decision, e->policy, "policy_block", "Another command of this agent's browser session still runs.",
			      "let one agent-browser command end before the next");
	return wait_on(e, ret_decision);
}

bool browsers_still_busy(struct enforcer *e, const struct call *call, uint64_t flight)
{
	struct agent_browser *b = browser_of(e, call->launch);

	return b && is_busy(e, b, flight) && !is_over(call, e->policy->browser.hold_ms);
}

/* ---- what the browser shows ---- */

static void answer_ready(struct enforcer *e, struct source *source, uint32_t events);

/* Returns false when there is nobody to ask. */
static bool ask_page(struct enforcer *e, struct agent_browser *b, enum ask ask)
{
	int fd = b->session->kept.devtools ? page_ask(b->session->kept.devtools) : -ENOTCONN;

	if (fd < 0 || source_add(e, &b->answer, fd, EPOLLIN, answer_ready) < 0)
		return false;
	b->ask = ask;
	return true;
}

static void take_before(struct enforcer *e, struct agent_browser *b, const uint8_t *page)
{
	struct session *s = b->session;

	b->asked = true;
	s->page_before_known = page;
	if (page)
		memcpy(s->page_before, page, PAGE_DIGEST_BYTES);
	if (!s->kept.holds || (page && memcmp(page, s->kept.page, PAGE_DIGEST_BYTES) == 0))
		return;
	(void)session_stale(s);
	browser_record(e, b, "stale", AUDIT_INFO, page ? "the page went elsewhere by itself" : "the browser does not say what it shows");
}

static void take_after(struct enforcer *e, struct agent_browser *b, const uint8_t *page)
{
	struct session *s = b->session;
	const char *why = NULL;

	if (!page)
		why = "the browser does not say what it shows";
	else if (s->page_before_known && memcmp(page, s->page_before, PAGE_DIGEST_BYTES) != 0)
		why = "the page went elsewhere meanwhile";
	else if (session_shows(s, page) < 0)
		why = "it cannot be written down";
	browser_record(e, b, why ? "stale" : "snapshot", AUDIT_INFO, why);
}

static void take_acted(struct enforcer *e, const struct agent_browser *b, const uint8_t *page)
{
	if (!page)
		browser_record(e, b, "acted", AUDIT_MED, "the browser does not say what it shows: the page may have gone elsewhere before the action");
	else if (memcmp(page, b->session->kept.page, PAGE_DIGEST_BYTES) != 0)
		browser_record(e, b, "navigated_during_action", AUDIT_MED, "the page went elsewhere, by the action or before it");
	else
		browser_record(e, b, "acted", AUDIT_INFO, "on the page that the snapshot showed");
}

static void answer_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct agent_browser *b = container_of(source, struct agent_browser, answer);
	uint8_t page[PAGE_DIGEST_BYTES];
	ssize_t len = read(source->fd, page, sizeof(page));
	enum ask ask = b->ask;

	(void)events;
	if (len < 0 && errno == EAGAIN)
		return;
	source_close(e, source);
	b->ask = ASK_NOTHING;
	if (ask == ASK_BEFORE)
		take_before(e, b, len == (ssize_t)sizeof(page) ? page : NULL);
	else if (ask == ASK_AFTER)
		take_after(e, b, len == (ssize_t)sizeof(page) ? page : NULL);
	else
		take_acted(e, b, len == (ssize_t)sizeof(page) ? page : NULL);
	exec_resume_held(e);
}

/* ---- one command ---- */

enum browser_next browsers_prepare(struct enforcer *e, const struct call *call, uint64_t flight, struct decision *decision)
{
	struct agent_browser *b = browser_of(e, call->launch);
	struct err error = { 0 };
	int r;

	if (!b)
		return refuse(decision, e->policy, "incomplete_evidence", "The state of this agent's browser session cannot be kept.", NULL);
	if (b->next_flight != flight) {
		b->next_flight = flight;
		b->asked = false;
	}
	r = daemon_serves(e, b, call->launch, &error);
	if (r == 0 && !is_over(call, e->policy->browser.hold_ms + e->policy->browser.start_ms))
		return wait_on(e, decision);
	if (r <= 0)
		return refuse(decision, e->policy, "layer_missing", r < 0 ? error.text : "The browser session does not start.", NULL);
	if (b->asked || !(decision->page == PAGE_SHOWS || decision->uses_snapshot))
		return BROWSER_GO;
	if (ask_page(e, b, ASK_BEFORE))
		return BROWSER_WAITS;
	take_before(e, b, NULL);
	/* What was judged is no longer so when a snapshot held until now. */
	return decision->uses_snapshot ? wait_on(e, decision) : BROWSER_GO;
}

/* Its exec was refused, failed, or nobody waits for it any more. */
void browsers_leave(struct enforcer *e, const struct launch *l, uint64_t flight)
{
	struct agent_browser *b = browser_of(e, l);

	if (b && b->next_flight == flight)
		b->next_flight = 0;
}

bool browsers_run(struct enforcer *e, const struct launch *l, pid_t pid, const struct decision *decision)
{
	const enum page page = decision->page;

	struct agent_browser *b = browser_of(e, l);
	struct process_facts facts;
	bool held = b && b->session->kept.holds;

	if (!b || process_read(pid, &facts) < 0 || session_begin(b->session, (struct session_turn){ pid, page }, facts.start) < 0)
		return false;
	b->next_flight = 0;
	b->traced = true;
	b->acts = decision->uses_snapshot;
	if (held && !b->session->kept.holds)
		browser_record(e, b, "stale", AUDIT_INFO, page == PAGE_SHOWS ? "another snapshot is taken" : "a command may change the page");
	/* From here on the tool lives on without us. */
	return ptrace(PTRACE_SETOPTIONS, pid, 0, 0) == 0;
}

static void tool_ended(struct enforcer *e, struct agent_browser *b, int status)
{
	enum page page = b->session->turn_page;
	bool done = WIFEXITED(status) && WEXITSTATUS(status) == 0;

	(void)session_end(b->session);
	b->traced = false;
	if (page == PAGE_ENDS && done)
		b->ending_us = now_us();
	if (page == PAGE_SHOWS && !done)
		browser_record(e, b, "stale", AUDIT_INFO, "the snapshot failed");
	else if (page == PAGE_SHOWS && !ask_page(e, b, ASK_AFTER))
		take_after(e, b, NULL);
	else if (b->acts && !ask_page(e, b, ASK_ACTED)) /* however it ended: it may have acted */
		take_acted(e, b, NULL);
	if (b->ask == ASK_NOTHING)
		exec_resume_held(e);
}

bool browsers_event(struct enforcer *e, pid_t pid, int status)
{
	struct agent_browser *b = e->browsers ? e->browsers->first : NULL;
	unsigned event = (unsigned)status >> 16;

	while (b && !(b->traced && b->session->kept.turn == pid))
		b = b->next;
	if (!b)
		return false;
	if (!WIFSTOPPED(status))
		tool_ended(e, b, status);
	else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) /* Ctrl-Z, kill -STOP: it stays stopped until somebody continues it */
		(void)ptrace(PTRACE_LISTEN, pid, 0, 0);
	else
		(void)ptrace(PTRACE_CONT, pid, 0, event ? 0UL : (unsigned long)WSTOPSIG(status));
	return true;
}
