/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rest of the enforcer asks about agents' browser sessions. Each agent has one, which Cordon names and whose daemon Cordon starts; its commands
 * run one at a time, and whether a snapshot holds follows from what ran and how it ended.
 *
 * browsers.c    which command may run now, what became of it
 * browser_daemon.c    the daemon's launch, variables of launches, who may connect
 */
#pragma once

#include "supervisor/browser/page.h"
#include "supervisor/enforcer/internal.h"

enum browser_next {
	BROWSER_GO,		/* on with the exec */
	BROWSER_WAITS,		/* ask again when exec_resume_held() says so */
	BROWSER_REFUSED,	/* the decision says why */
};

enum ask { ASK_NOTHING, ASK_BEFORE, ASK_AFTER, ASK_ACTED };

struct agent_browser {
	struct agent_browser *next;
	struct session *session;
	uint64_t daemon;		/* id of its launch, 0: none */
	uint64_t ending_us;		/* since when the daemon is to end; 0: it is not */
	bool traced;			/* the tool that runs is our tracee: its end will be seen */
	bool acts;			/* and acts on what the last snapshot showed */
	/* The exec that is next, from its judgement to its first instruction or its failure: */
	uint64_t next_flight;		/* which, 0: none */
	bool asked;			/* what the browser shows was asked for it */
	enum ask ask;			/* a question is on its way */
	struct source answer;
};

struct program_id {
	dev_t dev;
	ino_t ino;
};

#define PROGRAMS_MAX 16

struct browsers {
	struct agent_browser *first;
	int state_folder;
	struct program_id tools[PROGRAMS_MAX], shows[PROGRAMS_MAX];	/* programs and browsers of browser.json that are here */
	unsigned nr_tools, nr_shows;
	const char *tool, *browser;	/* the first of each */
	struct source tick;
};

/* ---- browsers.c ---- */

bool browsers_is_tool(const struct enforcer *e, const struct stat *file);
bool browsers_is_browser(const struct enforcer *e, const struct stat *file);
/* id 0: as an earlier enforcer left it. NULL when its state cannot be kept. */
struct agent_browser *browser_open(struct browsers *all, const char *name, uint64_t id);
/* The session of this launch's agent, opened when it is the first question about it; NULL when its state cannot be kept. */
struct agent_browser *browser_of(struct enforcer *e, const struct launch *l);
void browser_record(struct enforcer *e, const struct agent_browser *b, const char *event, enum audit_severity severity, const char *why);
/* While somebody waits: 50 times a second everybody who does is asked again. */
void browsers_tick(struct enforcer *e);

/* ---- browser_daemon.c ---- */

/* Whether the daemon serves; begins one when there is none. Returns 1, 0 (not yet), or -errno with ret_error. */
int daemon_serves(struct enforcer *e, struct agent_browser *b, const struct launch *l, struct err *ret_error);
