/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PURE: (policy, who, action) -> decision. No file, clock, process or network is touched; callers resolve first.
 *
 * The one decision path: launches, notified calls, `cordon check` and replay all call judge(). Any thread; no allocation.
 */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdbool.h>
#include <sys/socket.h>

struct arena;

/* The declared target: what a launch may talk to. Entries with a name match no address. */
struct scope_entry {
	const char *name;		/* or NULL: then address and prefix_bits */
	struct in6_addr address;	/* IPv4 as ::ffff:a.b.c.d */
	unsigned prefix_bits;
	uint16_t port;			/* 0: every port */
};

struct scope {
	struct scope_entry *entries;
	size_t nr;
	char *text;			/* owned: names point into it */
};

/*
 * "target.test, 10.1.0.0/16, 192.0.2.7:8443, [2001:db8::1]:443". Returns 0, -ENOMEM, or -EINVAL with ret_error naming the entry;
 * an empty text is a scope without entries.
 */
#define SCOPE_TEXT_MAX 4096	/* a record has room for it */
int scope_parse(const char *text, struct scope *ret_scope, struct err *ret_error);
void scope_free(struct scope *scope);
#define _cleanup_scope_ __attribute__((cleanup(scope_free)))

enum action_kind { ACTION_EXEC, ACTION_READ, ACTION_WRITE, ACTION_CONNECT, ACTION_BIND, ACTION_ENVIRONMENT, ACTION_STDIN, ACTION_CALL, ACTION_HTTP };

/* Whoever wants to know which command lines a text holds: each that is known to the last byte, while it is judged. */
struct foreseen {
	void (*take)(void *context, const char *const *argv, size_t nr, const char *cwd, bool reads);
	void *context;
};

enum session_role {
	SESSION_NONE,		/* it has no browser session to talk to */
	SESSION_USER,		/* the launch has one to talk to */
	SESSION_DAEMON,		/* the launch is one */
};

struct judge_subject {		/* who asks */
	enum mode mode;
	bool unreviewed_allow;
	const char *home;	/* of the launch user; "~" in paths.json */
	const char *const *write_roots;	/* NULL-terminated, absolute: the launch's roots for writing (with grants) */
	const char *const *read_roots;	/* NULL-terminated, absolute: the skill folders, for the launch's Landlock layer; NULL: none */
	const char *const *frozen_roots;	/* isolated workspaces: the policy's frozen names below them are not written; NULL: none */
	const char *const *frozen_paths;	/* whatever else in them is not; NULL: none */
	const char *const *launch_environment;	/* NULL-terminated "K=V": what the launch began with */
	const struct scope *scope;		/* NULL or empty: none was declared */
	const struct scope *narrowed;		/* the launch's own: what is reached is in this one as well; NULL or empty: it has none */
	const char *preset_program;		/* canonical path of the preset's command that the launch is, where variables pass to it; or NULL */
	bool strict_roots;			/* reads by strict roots, whatever the policy's style */
	const struct scope *gateway;		/* addresses of the host that are reachable with any scope, or NULL */
	struct arena *arena;			/* room for reading command texts (SHELL_ARENA_BYTES); NULL: none can be read */
	enum session_role session;
	const struct transport *transport;	/* what judge_transport() says of the launch, or NULL */
	const struct foreseen *foreseen;	/* for judge_launch(), or NULL */
};

struct action {
	enum action_kind kind;
	/* ACTION_EXEC. Strings are NUL-terminated and may hold any other byte. */
	const char *const *argv;	/* NULL-terminated; argv[0] may be absent (argc 0) */
	const char *program;		/* canonical absolute path of what will be executed, or NULL when only argv is known (check) */
	const char *interpreter;	/* canonical path of a script's interpreter, or NULL */
	bool shell_text;		/* check exec: argv is one command text, not split */
	bool launch;			/* judge_launch(): shells around the command are the host's way to start it */
	const char *const *environment;	/* the envp of the exec, or NULL */
	const char *caller;		/* canonical path of the program that execs, or NULL when it is not known */
	const char *const *caller_environment;	/* what that program began with, or NULL */
	bool snapshot_holds;		/* a snapshot of the agent's page was taken, and nothing has changed the page since */
	bool first;			/* the exec a launch begins with, made by Cordon itself: argv is the launch's own */
	bool planned;			/* one that judge_launch() foresaw when it passed the launch */
	/* ACTION_READ, ACTION_WRITE: canonical absolute path of the object, or of the name to be created; or, with unresolved, as typed */
	const char *path;
	bool unresolved;
	const char *named;		/* ACTION_READ of an object: the absolute name that it was asked for by, normal as text; or NULL */
	bool own_process;		/* a file of /proc that stands for a process of the same agent */
	const char *cwd;		/* absolute; for unresolved paths, and for ACTION_EXEC: what relative arguments start from */
	/* ACTION_CONNECT, ACTION_BIND (IP only: a bound socket file is an ACTION_WRITE). AF_UNIX: path is the canonical path of the socket it resolves to ("@NAME": abstract), where somebody could resolve it. */
	const struct sockaddr *address;
	socklen_t address_bytes;
	int socket_type;		/* SOCK_STREAM, SOCK_DGRAM, … */
	bool agent_listens;		/* loopback: the listener there belongs to an agent */
	bool of_session;		/* what listens there, or is read, is a browser session's */
	bool session_client;		/* and the caller is that session's own tool, or part of the session */
	/* ACTION_ENVIRONMENT: name, or NAME=value */
	const char *text;
	/* ACTION_STDIN: bytes typed */
	const char *typed;
	size_t typed_bytes;
	/* ACTION_HTTP: a request, by its method and URL as typed; nothing is resolved here */
	const char *method, *url;
	/* ACTION_CALL: a system call that registers alone decide: its name */
	const char *call;
};

enum decided_by { BY_ALONE, BY_PLAN, BY_HELPER };	/* an exec passed for its own sake, as part of its launch, as part of the tool that makes it */
/* The rule that allows what no tree of the agents' mounts does, and that therefore has to be done for the caller. */
#define PROCESS_FILE_RULE "path.process_file"

/* Where a rule stands that is no data: its place in the source. */
#define CODE_ORIGIN ((struct origin){ .file = __FILE__, .line = __LINE__ })

struct decision {
	enum verdict verdict;
	enum decided_by by;
	bool unreviewed;		/* was review, passed because nobody reviews */
	const char *tag;		/* NULL unless deny */
	const char *rule;		/* id, never NULL */
	struct origin origin;		/* in the policy folder, or in the source for rules that stand in code */
	char reason[256];		/* one sentence, ASCII, agent bytes escaped */
	const char *hint;		/* what is allowed instead; NULL for an allow without one */
	unsigned effects;		/* enum effect bits, ACTION_EXEC */
	enum page page;			/* what it means for the agent's page, ACTION_EXEC */
	bool uses_snapshot;		/* it acts on what a snapshot shows */
};

/* Always fills ret_decision; what it does not understand is a deny with tag invalid_request or incomplete_evidence. */
void judge(const struct policy *policy, const struct judge_subject *subject, const struct action *action, struct decision *ret_decision);

/*
 * The whole command of a launch, before any of it runs: what stands behind a host's template and in the shells it is wrapped in (sh -lc TEXT), every
 * command of that text. The same answer as judge() gives for the bare text. What it foresees goes to subject->foreseen.
 */
void judge_launch(const struct policy *policy, const struct judge_subject *subject, const char *const *argv, const char *cwd, struct decision *ret_decision);

/*
 * What becomes of a review when nobody reviews: allowed and marked where the subject says so, else denied with tag review_unavailable.
 * Other verdicts stay.
 */
void judge_settle(const struct judge_subject *subject, struct decision *decision);

/*
 * The template that a launch's command line is, word for word, or NULL. ret_rest (may be NULL): index of the first word after the
 * template; for a wrap that is the agent's command.
 */
const struct transport *judge_transport(const struct policy *policy, const char *const *argv, size_t *ret_rest);

/*
 * The mode a launch gets: asked is what the client asked (tightens only; looser than container is -EPERM), unattended applies
 * the correction and the ceiling; explicit_off says the host wrote off itself. Returns 0 or -EPERM with ret_error.
 */
int judge_launch_mode(const struct policy *policy, enum mode container, const enum mode *asked, bool unattended, bool explicit_off,
		      enum mode *ret_mode, struct err *ret_error);

/* How a launch tightens what it has beside its mode. Texts as the client gave them; NULL: it did not ask. */
struct launch_limits { const char *scope, *roots; };
/*
 * In off nothing is held, so that asking for limits there is an error, as is asking for looser roots than the policy's. Returns 0 with what is to be
 * freed with scope_free(), or -EPERM, -EINVAL, -ENOMEM with ret_error.
 */
int judge_launch_limits(const struct policy *policy, enum mode mode, const struct launch_limits *asked, struct scope *ret_scope, bool *ret_strict,
			struct err *ret_error);

/* Whether reads stay in the project, the write roots and, for programs, the system's folders. */
bool judge_roots_are_strict(const struct policy *policy, const struct judge_subject *subject);

/* Where a variable of a launch comes from. */
enum env_origin { ENV_OF_IMAGE, ENV_OF_CLIENT, ENV_OF_USER, ENV_OF_CORDON };

/* Whoever wants to know what becomes of each: first those that do not pass, then those that do. why: the list or reason, a constant. */
struct env_listener {
	void (*tell)(void *context, const char *entry, enum env_origin origin, bool passes, const char *why);
	void *context;
};

struct launch_user_facts { const char *name, *home, *shell; };
struct launch_given {
	const struct launch_user_facts *user;	/* HOME USER LOGNAME SHELL */
	const char *const *image;		/* PID 1's own */
	const char *const *asked;		/* the client's */
	const char *const *added;		/* Cordon's (proxy, trust), wins */
	const char *entry_folder;		/* taken out of PATH */
	const struct strings *also;		/* exact names that pass besides, of a preset's command; NULL: none */
	const char *path;			/* PATH instead of the one that the others give, or NULL */
	const struct env_listener *listener;	/* or NULL */
};

/*
 * The environment a launch begins with. Fills ret_environment (malloc'ed array of malloc'ed strings, NULL-terminated; caller frees both) when the decision
 * allows. Names that load code and are not the image's own value: deny, tag environment. Returns 0 or -ENOMEM.
 */
int judge_launch_environment(const struct policy *policy, enum mode mode, const struct launch_given *given, struct decision *ret_decision, char ***ret_environment);

/*
 * The first exec of a launch that gets a preset's variables is that command's file and no other. False when it is another one; answered then with a deny.
 * program: canonical.
 */
bool judge_preset_exec(const struct judge_subject *subject, const char *program, struct decision *ret_decision);
