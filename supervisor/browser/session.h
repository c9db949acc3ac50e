/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One agent's browser session: whether its last snapshot still holds, whose turn it is, and which ports are its own.
 *
 * What must outlive the enforcer stands in a file of the run folder that root alone may open, one small write before each step takes effect. What
 * cannot be read back is a session whose snapshot does not hold. One thread.
 */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SESSION_NAME_BYTES 48
#define SESSION_PORTS 16
#define PAGE_DIGEST_BYTES 32

struct session_kept {			/* the file's content */
	uint32_t magic;
	uint32_t holds;			/* the snapshot does */
	uint64_t id;
	uint8_t page[PAGE_DIGEST_BYTES];	/* and this is the page it shows */
	int32_t turn;			/* pid of the tool that runs, 0: none */
	uint32_t reserved;
	uint64_t turn_start;		/* when it began, in clock ticks after boot */
	uint16_t devtools;		/* the port at which the browser tells about its pages, 0: none yet */
	uint16_t ports[SESSION_PORTS];	/* where the session listens, or has */
	uint16_t nr_ports;
};

struct session_turn {			/* of the tool that runs */
	pid_t pid;
	enum page page;
};

struct session {
	struct session *next;
	char name[SESSION_NAME_BYTES];
	uint64_t id;			/* of agent, user and mode class */
	int fd;				/* the file */
	struct session_kept kept;
	enum page turn_page;		/* what the running tool means for the page; PAGE_CHANGES where nobody knows any more */
	bool page_before_known;		/* what was shown when a snapshot was about to be taken */
	uint8_t page_before[PAGE_DIGEST_BYTES];
};

/* "AGENT-0123abcd", of letters, digits, "-" and "_": agents whose names differ in other characters only have different digits. */
void session_name(const char *agent, uint64_t id, char ret_name[static SESSION_NAME_BYTES]);
/*
 * What the tool knows the session by: the agent's own name where that is one the tool takes, so that a host that names sessions after its agents finds
 * its own; else the session's name. Points into one of them.
 */
const char *session_title(const char *agent, const char *name);

/*
 * Opens or makes the session's file in the folder (which is root's alone); id 0: an earlier enforcer's, which has to be there and say it. Returns 0 or
 * -errno. session_close() frees it.
 */
int session_open(int folder_fd, const char *name, uint64_t id, struct session **ret_session);
void session_close(struct session *s);

/*
 * The tool runs from here on. A command that may change the page, or takes a snapshot, ends what held: before its first instruction. Returns 0, or
 * -errno when that could not be written down: the tool must not run then.
 */
int session_begin(struct session *s, struct session_turn turn, uint64_t start);
/* It ended. */
int session_end(struct session *s);
/* A snapshot was taken that shows this page. */
int session_shows(struct session *s, const uint8_t page[static PAGE_DIGEST_BYTES]);
/* It holds no longer. */
int session_stale(struct session *s);
int session_add_port(struct session *s, uint16_t port, bool devtools);
bool session_has_port(const struct session *s, uint16_t port);
/* The browser is gone, and its ports and page with it. */
int session_forget_browser(struct session *s);

/* Replaces {SESSION}, {FOLDER} and {BROWSER} in a text of browser.json. malloc'ed, NULL: out of memory. */
char *session_text(const char *text, const char *title, const char *folder, const char *browser);

/*
 * Makes FOLDER/NAME, as browser.json's variables have it: config.json and actions.json, which root writes, and run, home and tmp, which are the
 * user's. Returns 0 or -errno with ret_error.
 */
int session_prepare_folder(const struct browser *b, const char *name, const char *title, enum mode mode, uid_t uid, gid_t gid, const char *home, struct err *ret_error);
