/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the enforcer share. One thread runs all of it.
 *
 * The loop owns everything; a source that ends during a round is freed after the round, because later events of the round may name it.
 */
#pragma once

#include "shim/proto.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/json_out.h"
#include "supervisor/base/user.h"
#include "supervisor/boundary/exec_check.h"
#include "supervisor/boundary/filter.h"
#include "supervisor/boundary/listener.h"
#include "supervisor/boundary/probe.h"
#include "supervisor/control/init_channel.h"
#include "supervisor/judge/judge.h"
#include "supervisor/workspace/running.h"

#include <stddef.h>
#include <sys/epoll.h>

struct enforcer;

#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer) - offsetof(type, member)))

/* ---- loop.c ---- */

struct source {
	int fd;			/* owned; -1 when not watched */
	uint32_t events;	/* what is asked of it */
	void (*ready)(struct enforcer *e, struct source *source, uint32_t events);
};

/* Takes fd. Returns 0 or -errno (fd closed). */
int source_add(struct enforcer *e, struct source *source, int fd, uint32_t events,
	       void (*ready)(struct enforcer *, struct source *, uint32_t));
void source_change(struct enforcer *e, struct source *source, uint32_t events);
void source_close(struct enforcer *e, struct source *source);
/* From now on this one is waited for in person, instead of the one before; until it is changed or closed. For sources that wake their reader where they are. */
void source_in_person(struct enforcer *e, struct source *source);
/* Frees memory once no event of this round can name it any more. */
void loop_free_later(struct enforcer *e, void *memory);
int loop_run(struct enforcer *e);

/* ---- ahead.c ---- */

/* Asks the kernel to schedule the calling thread, and nobody it starts, before others. Returns whether it has more weight than they. */
bool go_ahead(void);

/* ---- zygotes.c ---- */

struct zygote {
	struct zygote *next;
	struct source source;
	uint64_t id;		/* of agent, uid and mode class, the same across enforcers */
	pid_t pid;
	bool ready;
	char failure[128];	/* what it said instead of "ready" */
};

/* The zygote of this class, started when there is none. NULL with ret_error. */
struct zygote *zygote_for(struct enforcer *e, const char *agent, uid_t uid, bool off, struct err *ret_error);
/* It did not take a launch: say when it can. */
void zygote_wants_room(struct enforcer *e, struct zygote *z);
uint64_t zygote_id(const char *agent, uid_t uid, bool off);
/* One that an earlier enforcer started. Takes fd. */
void zygote_adopt(struct enforcer *e, uint64_t id, pid_t pid, int fd);
/* Whether the pid was one of ours; forgets it. */
bool zygote_ended(struct enforcer *e, pid_t pid);

/* ---- launches.c ---- */

enum launch_state { LAUNCH_STARTING, LAUNCH_RUNNING, LAUNCH_ENDED, LAUNCH_FAILED };

struct launch_verdict {
	struct decision decision, shadow;	/* shadow: in mode off */
};

struct launch {
	struct launch *next;
	uint64_t id;
	enum launch_state state;
	struct source keeper;		/* the keeper's channel */
	struct source calls;		/* the listener */
	struct listener listener;
	bool paused;			/* no slot was free: the listener is not polled */
	struct inflight_table *table;
	pid_t keeper_pid, command;
	int end_status;			/* of the command, once it has ended */
	bool end_unrecorded;		/* it ended before the hello that says what it was */
	uint64_t zygote;		/* id of the one it came from */
	int root;			/* the agents' root folder (O_PATH), in safe modes; -1: each caller's is looked up */
	int client;			/* our copy of the client's connection until the keeper said hello; -1 after */
	/* From the spec: */
	char *blob;
	const struct spec *spec;
	const char **environment, **argv, **roots;	/* NULL-terminated views into blob */
	struct judge_subject subject;
	struct scope narrowed;
	const char *agent, *user;
	struct foresight *foresight;	/* foresight.c's own; NULL until an exec asks */
	struct launch_verdict *begun;	/* what was said of the launch as a whole, until that is recorded; NULL after, and for one that was adopted */
	/* Counted for status and the record at the end: */
	char *noticed;			/* reason of the refusal its keeper heard last */
	uint64_t full_until_us;		/* repeats.c: when its full records of refusals are used up to */
	uint64_t execs, execs_missing, files, sockets, denials, cases;
};

struct launch_order {			/* everything a spec is made of */
	const char *agent, *cwd;
	const struct user_identity *user;
	enum mode mode;
	const char *scope;	/* the launch's own, which judge_launch_limits() has read, or NULL */
	bool strict_roots;
	const char *preset_program;	/* the preset's command that it is, where variables pass to it; or NULL */
	char *const *argv, *const *environment;
	unsigned flags, timeout_ms;	/* enum request_flags */
	uint16_t rows, columns;
	bool terminal;			/* one of the client's descriptors is one */
	int client;			/* taken on success */
	int stdio[3];			/* borrowed: the zygote gets its own */
	const struct decision *decision, *shadow;	/* why it may start; shadow: in mode off */
	const char *session_folder;	/* of a browser session's daemon, which writes there too; NULL: an ordinary launch */
};

/* Returns 0; -EAGAIN when the zygote is full: requests_state_changed() is called when it has room; or -errno with ret_error. */
int launch_start(struct enforcer *e, struct launch_order *order, struct err *ret_error);
void launch_adopt(struct enforcer *e, uint64_t id, int channel);
/* The enforcer refused something in this launch, its latest case: its keeper holds the JSON for the client. */
void launch_notice(struct enforcer *e, struct launch *l, const struct decision *decision);
void launch_kill(struct enforcer *e, struct launch *l, int signal_number);

/* ---- spec.c ---- */

/* Returns 0 with the blob, or -errno. */
int spec_write(const struct enforcer *e, uint64_t id, const struct launch_order *order, struct buf *ret_blob);
/* Returns a memfd that holds it, or -errno. */
int spec_to_memfd(const struct buf *blob);
/* The launch's facts, from the blob its keeper holds. Returns 0 or -errno. */
int spec_read(struct enforcer *e, struct launch *l, int fd, int64_t bytes);

/* ---- lineage.c ---- */

/* Whether the process belongs to a launch, or is a zygote or keeper. */
bool launch_descends(const struct enforcer *e, pid_t pid);
/* The launch whose keeper stands above the process; NULL: none, or an ancestor ended while we looked. */
struct launch *launch_above(const struct enforcer *e, pid_t pid);
/* Kills what carries one of our filters and has no living keeper above it. */
void lineage_kill_orphans(void);

/* ---- workers.c: threads for what takes longer ---- */

struct arena;

struct worker_job {
	struct worker_job *next, *next_of_all;		/* workers.c's own */
	void *owner;				/* NULL once it is gone */
	void (*work)(struct worker_job *job, struct arena *arena);	/* on a thread of its own; arena: SHELL_ARENA_BYTES, or NULL when there is no memory */
	void (*done)(struct enforcer *e, struct worker_job *job);	/* in the loop */
};

int workers_start(struct enforcer *e);
/* Returns 0, or -errno: then done() will not be called. */
int workers_give(struct enforcer *e, struct worker_job *job);
void workers_forget(struct enforcer *e, const void *owner);
/* A thread for as long as the enforcer lives, with a small stack (128 KiB) and no signals. Returns 0 or -errno. */
int thread_begin(void *(*run)(void *argument), void *argument);

/* ---- consider.c: a launch as a whole ---- */

struct consideration {
	struct worker_job job;
	/* The question: */
	const struct policy *policy;
	const struct scope *gateway, *scope;
	struct scope narrowed;
	bool strict_roots;
	const char *const *image;
	bool unreviewed_allow;
	enum mode mode;
	struct user_identity user;
	const char **argv, **asked, **added, **roots;
	const char **written;		/* what any launch may write */
	char *cwd;
	enum session_role session;
	bool asks_sources;		/* whether commands of the operator's are asked for values */
	bool explains, shows_values;	/* nothing is started: what becomes of each variable is told */
	/* The answer: */
	int result;			/* -errno: none could be found */
	struct decision decision, shadow;	/* shadow: in mode off */
	char **environment;		/* what the launch begins with, when it is allowed */
	char **values;			/* "K=V" of the policy's sources */
	const char *preset;		/* the preset's command that it is, where variables pass to it; NULL: none */
	char *preset_program, *preset_search;	/* its file; its PATH */
	struct buf missing;		/* "NAME: why" of those that gave none, a line each */
	struct buf told;		/* what becomes of each variable: JSON objects */
	struct json_out telling;	/* into it */
};

/* A copy of the question. NULL: out of memory. asked: the variables that the client brings. */
struct consideration *consideration_new(const struct enforcer *e, const struct launch_order *order, const char *const *asked);
/* The same of a launch that runs: what it was started with, in asked its environment. cwd: its working folder's real name. */
struct consideration *consideration_of(const struct enforcer *e, const struct launch *l, const char *cwd);
void consideration_free(struct consideration *c);
/* Who asks, beginning with this environment. */
struct judge_subject consideration_subject(const struct consideration *c, const char *const *environment, struct arena *arena);

/* ---- foresight.c: what a launch is going to exec ---- */

struct foresight;
enum foreseen_exec { FORESEEN_NOT, FORESEEN, FORESEEN_LATER /* being found out: exec_resume() will be called */ };

/* Whether the launch's words foretell this command line in this folder. */
enum foreseen_exec foresight_of(struct enforcer *e, struct launch *l, const char *const *argv, const char *cwd);
/* Whether the caller's own command line is one whose text was read, so that what was foreseen is foreseen of it. */
bool foresight_reads(const struct launch *l, pid_t caller);
/* Whether the launch's PATH gives this file for the name. */
bool foresight_names(const struct launch *l, pid_t tid, const char *name, const struct stat *file);
/* Whether the launch passed because nobody reviews. */
bool foresight_unreviewed(const struct launch *l);
void foresight_free(struct foresight *f);

/* ---- presets.c (presets.h) ---- */

/* What `cordon commands list` shows. */
void presets_answer(const struct enforcer *e, const char *argument, struct buf *ret);

/* ---- requests.c: launch.sock ---- */

int requests_listen(struct enforcer *e, const char *run_dir, struct err *ret_error);
/* The container's state changed: what waited may start, or must be refused. */
void requests_state_changed(struct enforcer *e);

/* ---- notify.c ---- */

struct call {				/* one notified call; lives while it is handled */
	struct launch *launch;
	struct table_slot *slot;
	const struct seccomp_notif *request;	/* in the slot */
	const struct call_rule *rule;
	uint64_t received_us;
};

void notify_ready(struct enforcer *e, struct source *source, uint32_t events);
/* Goes through the table an earlier enforcer left. */
void notify_recover(struct enforcer *e, struct launch *l);
/* Answers and frees the slot. */
void notify_answer(struct enforcer *e, const struct call *call, struct answer answer);
/* Answers with a descriptor: the caller gets a duplicate of fd. */
void notify_give(struct enforcer *e, const struct call *call, int fd, bool close_on_exec);
/* Continues a call whose outcome is still to be verified: its slot stays, so that a new enforcer knows, until notify_release(). */
void notify_continue_judged(const struct call *call);
void notify_release(struct enforcer *e, const struct call *call);
/* Denies with error_number, tells the keeper, records. what: members that describe the object, or NULL. */
void notify_deny(struct enforcer *e, const struct call *call, const struct decision *decision, int error_number, const struct buf *what);
/*
 * What the call points to cannot be read, though perhaps by the kernel (memfd_secret): nothing is allowed unread, and a bad pointer gets no other
 * answer. In mode off the kernel goes on.
 */
void notify_unreadable(struct enforcer *e, const struct call *call);
/* What cannot be recorded is not allowed. */
void notify_deny_unrecorded(struct enforcer *e, const struct call *call);
/* The same without the answer, which is still to be given. */
void notify_denied(struct enforcer *e, const struct call *call, const struct decision *decision, int error_number, const struct buf *what);
/* What the caller gets for a refused write: a protected name of a workspace is on a read-only mount, and git says so in words of its own. */
int notify_write_error(const struct decision *decision);
/* judge() and judge_settle() for this launch, plus what guarded would have said in mode off. */
void notify_judge(struct enforcer *e, const struct launch *l, const struct action *action, struct decision *ret_decision,
		  struct decision *ret_shadow);

/* A call that was held goes on as if it had just come. */
void notify_resume(struct enforcer *e, const struct call *call);

/* ---- held.c: calls that wait for room in the log ---- */

int held_start(struct enforcer *e);
/* False when it has waited long enough, or cannot: it is to be refused. */
bool held_add(struct enforcer *e, const struct call *call);
void held_forget(struct enforcer *e, const struct launch *l);

/* ---- browsers.c, browser_daemon.c: agents' browser sessions (browsers.h) ---- */

enum browser_next;

/* Finds the programs, makes the folder; nothing where there is no agent-browser. Returns 0 or -errno with ret_error. */
int browsers_start(struct enforcer *e, struct err *ret_error);
/* Whether sessions are given here. */
bool browsers_exist(const struct enforcer *e);
/* e->added and the session's variables: NULL-terminated, one allocation, free() it. NULL: out of memory. */
const char **browsers_environment(const struct enforcer *e, const char *agent, uid_t uid, enum mode mode);
/*
 * The agent that a host names in a launch's command text, by the session it gives its browser; "" when it does not. A label: it says which session, and
 * no more.
 */
#define AGENT_NAME_BYTES 64
void browsers_name_agent(const struct enforcer *e, const char *const *argv, char ret_agent[static AGENT_NAME_BYTES]);
/* The session that a launch with this flag of its spec is, or has. */
enum session_role browsers_session(const struct enforcer *e, enum mode mode, uint32_t spec_flags);
/* Before an exec of this program is judged; flight: which exec, the same each time it is asked again. ret_holds: whether the agent's snapshot holds; ret_is_tool: whether the rest below is to be asked. */
enum browser_next browsers_enter(struct enforcer *e, const struct call *call, uint64_t flight, const struct stat *program, bool *ret_is_tool,
				 bool *ret_holds, struct decision *ret_decision);
/* Whether one that waits would wait again: cheap, for there may be many. */
bool browsers_still_busy(struct enforcer *e, const struct call *call, uint64_t flight);
/* It was judged, and allowed. */
enum browser_next browsers_prepare(struct enforcer *e, const struct call *call, uint64_t flight, struct decision *decision);
void browsers_leave(struct enforcer *e, const struct launch *l, uint64_t flight);
/* Its program stands verified at its first instruction, traced. Returns false when it must not run. */
bool browsers_run(struct enforcer *e, const struct launch *l, pid_t pid, const struct decision *decision);
/* A stop or the end of a tool that runs. Returns whether it was one. */
bool browsers_event(struct enforcer *e, pid_t pid, int status);
/* A socket of this launch is bound now. */
void browsers_bound(struct enforcer *e, const struct call *call, int socket);
/* Whether what the action connects to is a session's, and the caller may have to do with it. */
void browsers_judge_target(struct enforcer *e, const struct call *call, struct action *action);
void browsers_forget(struct enforcer *e, const struct launch *l);

/* ---- exec.c, files.c, paths.c, processes.c, sockets.c: one class of calls each ---- */

void exec_handle(struct enforcer *e, const struct call *call);
/* A traced process stopped or ended. Returns whether it was one of ours. */
bool exec_event(struct enforcer *e, pid_t pid, int status);
/* What this launch's execs waited for has been found out. */
void exec_resume(struct enforcer *e, const struct launch *l);
/* What digest_ask() was asked for this flight; hex NULL: it cannot be known. */
void exec_digested(struct enforcer *e, uint64_t flight, const struct exec_identity *identity, const char *hex);
/* Execs that wait for a browser's command: asked again. How many still wait. */
void exec_resume_held(struct enforcer *e);
unsigned exec_held(const struct enforcer *e);
/* Forgets what belongs to a launch that ends. */
void exec_forget(struct enforcer *e, const struct launch *l);
unsigned exec_in_flight(const struct enforcer *e);
void file_handle(struct enforcer *e, const struct call *call);
enum free_flags {
	FREE_FOLLOW = 1 << 0,		/* a symlink in the last place */
	FREE_NEW = 1 << 1,		/* the last name is likely not there */
	FREE_MAKES = 1 << 2,		/* the call may make it */
};
/*
 * Whether a path names, without a symlink, what the call's launch may write and, if it comes to that, make itself: then its name has said all, and nothing needs a
 * record. False says nothing: the object is to be looked at. flags: enum free_flags.
 */
bool file_is_free(struct enforcer *e, const struct call *call, int dirfd, const char *path, unsigned flags);
void path_handle(struct enforcer *e, const struct call *call);
void process_handle(struct enforcer *e, const struct call *call);
/* Whether a call that changes nothing gets the kernel's answer instead of this refusal. */
bool file_is_left_to_kernel(const struct decision *decision);
/* Whether pid, or the process of that thread, descends from a launch of the same zygote. */
bool process_is_own(const struct enforcer *e, const struct launch *l, pid_t pid);
/* Whether the object is a file directly in /proc/PID or /proc/PID/task/TID of a process that the caller's agent launched. */
bool process_file_is_own(const struct enforcer *e, const struct launch *l, const struct resolved *object);
/* Opens that file, in a /proc that agents do not have, if the caller's uid owns it. Returns a descriptor or -errno. */
int process_file_open(const struct enforcer *e, const struct call *call, const struct resolved *object, uint64_t flags);
/* Whether the object is a file of /proc that stands for a process of Cordon's. */
bool process_file_is_cordons(const struct enforcer *e, const struct launch *l, const struct resolved *object);
void socket_handle(struct enforcer *e, const struct call *call);
int sockets_start(struct enforcer *e);
/* A call an earlier enforcer left acting: undoes what it may have left behind. */
void socket_recover(const struct call *call);
void socket_forget(struct enforcer *e, const struct launch *l);

/* ---- makes.c: names that a launch may not make itself ---- */

struct open_call {			/* an open, decoded */
	int dirfd;
	uint64_t path_address;
	uint64_t flags, resolve;	/* resolve: openat2's */
	uint32_t mode;
};

struct made_path {			/* one path of the call */
	const char *asked;
	int dirfd;			/* where a relative one starts, the caller's */
	const struct resolved *object;
	bool deep;			/* its folder's path is longer than the kernel can say: object holds nothing more than asked does */
};

/* Whether what the launch makes at path is made for it. */
bool make_is_withheld(const struct launch *l, const char *path);
/* Whether the call is one that makes a name, whatever else it does. Opens are not asked about. */
bool make_is_one(const struct call *call);
/* Judged and allowed: done for the caller, if it must be. Returns whether it was, or is being, answered. */
bool make_open(struct enforcer *e, const struct call *call, const struct made_path *p, const struct open_call *o);
/* Whether the last part of path is no name that is protected in workspaces. False with ret_decision. */
bool make_name_is_free(const struct enforcer *e, const char *path, struct decision *ret_decision);
/* Whether a socket may be bound to path, which was judged. False with ret_decision. */
bool make_may_bind(const struct enforcer *e, const struct launch *l, const char *path, struct decision *ret_decision);
/* The same for a call that is one. from: what is renamed or linked, or NULL; text: of a symbolic link. */
bool make_path(struct enforcer *e, const struct call *call, const struct made_path *from, const struct made_path *to, const char *text);

/* ---- protected.c: opens of masked names ---- */

/* Marks the masks of the safe namespace, when there is one and nobody has yet. Returns 0 or -errno with ret_error. */
int protected_start(struct enforcer *e, struct err *ret_error);
int protected_adopt(struct enforcer *e, int fd);

/* ---- browser_file.c: who opens a browser's own file ---- */

/* As protected_start(), for the browsers of browser.json. */
int browser_file_start(struct enforcer *e, struct err *ret_error);
int browser_file_adopt(struct enforcer *e, int guard);

/* ---- records.c ---- */

struct caller_facts {			/* what a record says of the process behind an allowed call */
	pid_t pid;
	struct process_facts facts;
	struct bytes program;		/* its path */
	struct exec_identity identity;	/* of the program */
};

struct outcome {			/* how a call ended, for the record */
	const struct decision *decision, *shadow;	/* shadow: NULL outside mode off */
	const char *verb;		/* "allow", "deny", "kill"; "fail": not refused, but impossible for what was asked */
	int error_number;		/* 0: none */
	const char *certainty;		/* emulated verified checked advisory */
	bool reserved;			/* an allowed one for which audit_reserve() keeps room: this uses it up */
	const struct buf *what;		/* members of "sys" beyond the numbers; NULL: none */
	const struct caller_facts *caller;	/* of an exec that was just verified; NULL: looked up */
};

/* A refusal is a case of its launch, and counted as one here. */
void record_call(struct enforcer *e, const struct call *call, const struct outcome *outcome);
/* An open of a masked name by pid. launch: NULL when it is in none. */
void record_protected(struct enforcer *e, struct launch *launch, pid_t pid, const char *path, const struct decision *decision);
void record_begin(struct enforcer *e, const struct launch *l);
void record_end(struct enforcer *e, const struct launch *l, int status);
/* An end that no wait status tells. decision: NULL when nobody decided it. */
void record_failed(struct enforcer *e, struct launch *l, enum audit_severity severity, const char *text, const struct decision *decision);
/* "argv": redacted element by element, and no more of it than a record has room for. */
void record_put_argv(struct json_out *j, const char *const *argv);
/* A launch that was refused before anything ran. */
void record_refused_launch(struct enforcer *e, uint64_t id, const struct launch_order *order, uid_t uid, const struct decision *decision);
/* A process that no filter guards. uncounted: how many more there were since the last record. */
void record_unsupervised(struct enforcer *e, pid_t pid, bool from_outside, bool stopped, unsigned uncounted);
void record_text(struct enforcer *e, const char *type, enum audit_severity severity, const char *key, const char *text);
void record_layers(struct enforcer *e);
/* The JSON object an agent sees. number: which refusal of the launch. */
void record_refusal_json(uint64_t launch, uint64_t number, const struct decision *decision, struct buf *ret_json);

/* The members that a sum of repeats carries: who, what, which rule. */
void record_repeat_members(const struct call *call, const struct outcome *outcome, struct buf *ret_members);

/* ---- repeats.c: the same refusal again ---- */

int repeats_start(struct enforcer *e);
/* True when this refusal is one more of a kind that was recorded in full within the last seconds: it is counted, and summed up later. */
bool repeats_counted(struct enforcer *e, const struct call *call, const struct outcome *outcome);
void repeats_flush(struct enforcer *e);

/* ---- status.c: control.sock ---- */

int status_listen(struct enforcer *e, const char *run_dir, struct err *ret_error);
void status_service(struct enforcer *e, const char *json);
/* Counts a denial, all in all and by its tag. */
void status_denied(struct enforcer *e, const char *tag);
/* What PID 1 counts, as JSON. */
void status_counters(struct enforcer *e, const char *json);
/* Whether pid is the process of a service, as PID 1 said last. */
bool status_is_service(const struct enforcer *e, pid_t pid);
/* A launch that is forgotten, or never was: what --launch says of it from now on. */
void status_ended(struct enforcer *e, const struct launch *l);
void status_refused(struct enforcer *e, uint64_t id);

/* ---- watch.c: processes that no filter guards ---- */

int watch_start(struct enforcer *e);

/* ---- plan.c: what the policy means on this machine ---- */

/* The folders a launch of a user with this home may write, and another one unless NULL; NULL-terminated, one allocation, free() it. */
const char **plan_roots(const struct policy *policy, const char *home, const char *another);
/* The skill folders of a user with this home: as plan_roots(). */
const char **plan_skills(const struct policy *policy, const char *home);
const char **plan_browsers(const struct policy *policy);
/* The protected names of every home in passwd; NULL-terminated, free() it. */
const char **plan_protected(const struct policy *policy);	/* NULL with errno also when passwd cannot be read */
/* The addresses HOST_GATEWAY in the image's environment stands for, itself or by its lines in hosts; none where it is not set or not known. */
int plan_gateway(const char *const *image, const char *hosts, struct scope *ret_gateway);
/* The agents' mount namespace for this class, made when there is none yet. Returns a descriptor of e's, or -errno with ret_error. */
int plan_mounts(struct enforcer *e, bool off, struct err *ret_error);
/* Returns NULL when every layer that the policy requires is there, else the one that is missing. */
const struct layer *plan_missing_layer(const struct enforcer *e);

/* ---- workspaces.c ---- */

/* What stands in the run folder; a record and a layer of it. Returns 0 or -errno with ret_error. */
int workspaces_load(struct enforcer *e, struct err *ret_error);
/* Whether this is a name that is protected in workspaces. */
bool workspaces_protect_name(const struct enforcer *e, struct bytes name);
/* What launches get beyond the proxy's variables: "K=V\n" or "". */
const char *workspaces_environment(const struct enforcer *e);

/* ---- sources.c: whether they change ---- */

int sources_start(struct enforcer *e);
/* The last look, where it does not take long. */
void sources_end(struct enforcer *e);

struct enforcer {
	int epoll, init;
	struct source *in_person, *apart;	/* loop.c's own: one of the sources, or NULL; the one that the epoll set leaves to it */
	struct source init_source, signals, launch_socket, control_socket, guard;
	char run_dir[128], audit_dir[256];
	char run[64], boot[64];
	struct policy *policy;
	char policy_dir[512];
	enum mode mode;
	bool explicit_mode, unreviewed_allow;
	bool ahead;			/* scheduled before others */
	struct layer layers[LAYERS_MAX];
	unsigned nr_layers;
	bool listener_works_off;	/* SYS_ADMIN: a filter without no_new_privs */
	bool signals_scoped;		/* layer landlock_scope */
	int landlock_abi;
	unsigned seccomp_flags;
	struct filter_program filters[FILTER_COUNT];
	int mounts[2];			/* safe, off; -1: not made */
	bool mounts_are_ours;		/* the safe ones were made by this policy, not by an earlier enforcer's */
	int container_mounts;		/* what they are copied from; -1: our own */
	struct running_list workspaces;
	const char **frozen_roots, **frozen_paths;	/* for the judge; NULL-terminated */
	struct user_identity launch_user;
	const char *const *image;	/* PID 1's environ, which is ours */
	struct scope gateway;		/* HOST_GATEWAY, resolved at start */
	struct scope scope;		/* the container's declared targets; empty: none were */
	char *scope_text;		/* and as they were declared, or NULL */
	char *added_text;
	const char **added;		/* proxy and trust variables */
	struct audit *audit;
	enum init_state state;
	bool state_final;		/* PID 1 tries no recovery from it */
	char state_why[256];
	unsigned restarts;
	struct zygote *zygotes;
	struct launch *launches;
	unsigned nr_launches;
	uint64_t first_launch, next_launch;	/* ids: the first and the next of this enforcer */
	struct target target;
	struct status *status;		/* status.c's own */
	struct exec_flights *flights;	/* flight.h */
	struct connects *connects;	/* waits.c's own */
	struct hand *hands;		/* hands.c's own */
	struct request *requests;	/* requests.c's own */
	struct repeats *repeats;	/* repeats.c's own */
	struct workers *workers;	/* workers.c's own */
	struct browsers *browsers;	/* browsers.c's own; NULL: no sessions here */
	struct browser_file *browser_file;	/* browser_file.c's own; NULL: nobody asks yet */
	struct watch *watch;		/* watch.c's own */
	struct looking *looking;	/* sources.c's own; NULL: there are no workspaces */
	struct held *held;		/* held.c's own */
	struct digests *digests;	/* digests.c's own */
	void **graveyard;
	size_t nr_graveyard, graveyard_capacity;
	int exit_code;			/* -1: go on */
	uint64_t started_us;
	uint64_t calls, denials;
	uint64_t unsupervised, unsupervised_stopped;
};

uint64_t now_us(void);
void pid1_tell(struct enforcer *e, uint32_t type, uint32_t kind, uint64_t id, int64_t number, const char *text, int fd);
