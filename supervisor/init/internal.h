/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the init room share: the state of PID 1 and one section per file.
 *
 * Everything here is called by the one thread of PID 1 unless a function says that it runs in a forked helper.
 */
#pragma once

#include "supervisor/base/err.h"
#include "supervisor/base/user.h"
#include "supervisor/control/init_channel.h"
#include "supervisor/init/init.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#define NEVER UINT64_MAX		/* a deadline that is not set */

/* ---- restart.c: when a process that ended may be started again ---- */

#define RESTARTS_MAX 5			/* within RESTARTS_WINDOW_MS */
#define RESTARTS_WINDOW_MS 60000

struct restarts {
	uint64_t at_ms[RESTARTS_MAX];	/* the latest ones; 0: unused */
	unsigned next, delay_ms, total;
};

/*
 * A process that ran for ran_ms ended at now_ms. Returns true with the time to start it again (100 ms, doubled each time up to
 * max_delay_ms, from the beginning after it was healthy for 10 s), or false when it ended too often.
 */
bool restarts_again(struct restarts *r, uint64_t now_ms, uint64_t ran_ms, unsigned max_delay_ms, uint64_t *ret_start_ms);

/* ---- kept.c: descriptors that outlive the enforcer ---- */

struct kept {
	uint32_t kind;
	uint64_t id;
	int64_t number;		/* the enforcer's word on it, told to the next one */
	int fd;
};

struct kept_table {
	struct kept *items;
	size_t nr, capacity;
};

#define KEPT_MAX 16384

/* Takes fd; one already there under this name is closed. Returns 0, -ENOSPC or -ENOMEM (fd closed). */
int kept_put(struct kept_table *table, uint32_t kind, uint64_t id, int64_t number, int fd);
/* Returns 0 or -ENOENT. */
int kept_drop(struct kept_table *table, uint32_t kind, uint64_t id);
size_t kept_count(const struct kept_table *table, uint32_t kind);
void kept_free(struct kept_table *table);

/* ---- spawn.c: children ---- */

struct spawn {
	const char *program;			/* NULL: argv[0], searched in the PATH of envp */
	char *const *argv, *const *envp;
	const struct user_identity *identity;	/* NULL: as PID 1 */
	int in_fd, out_fd, error_fd;		/* -1: /dev/null */
	int channel_fd;				/* becomes INIT_CHANNEL_FD; -1: none */
	bool foreground;			/* the container's command: in the foreground of stdin's terminal, if it is one */
	bool no_new_privs;
};

/*
 * A child in its own session, killed with PID 1, with default signals, three descriptors (and the channel). A program that cannot
 * be executed says so on its stderr and exits 127 (not there) or 126. Returns its pid or -errno.
 */
pid_t spawn_program(const struct spawn *spawn);
/* The same without exec: function's result is the exit code. It owns a copy of everything and must not touch PID 1's state. */
pid_t spawn_function(const struct spawn *spawn, int (*function)(void *argument), void *argument);

/* ---- prepare.c: the process before anything else, folders ---- */

/* Blocks signals and returns the signalfd, closes stray descriptors, takes dumpable and umask down. Returns -errno on failure. */
int prepare_process(struct err *ret_error);
/* Whether root may run what it starts as other users. Returns 0, or -EPERM with what is missing. */
int prepare_rights(struct err *ret_error);
/* A folder of ours: made with missing parents, or taken when it is a folder of our user. A symlink in the way is refused. */
int prepare_folder(const char *path, mode_t mode, struct err *ret_error);
/* Parents are the image's business: made plainly when missing, not judged. Returns 0 or -errno. */
int prepare_parents(const char *path);
/* The first thing of all: until the loop runs, signals wait. */
void prepare_signals(void);
/* A fault's signal that somebody inside sent, for the loop to record; 0: none since the last call. */
int prepare_take_forged_fault(pid_t *ret_sender);
/* Undoes in a child what prepare_process did to limits and signals. */
void prepare_undo(void);

/* ---- probe.c: is a service ready; runs in a forked helper ---- */

struct probe_report {		/* shared memory: the helper writes, PID 1 prints */
	char why[200];		/* the latest reason for "not yet" */
};

#define PROBE_EXIT_HUNG 2

struct probe {
	enum probe_kind kind;
	uint16_t port;
	uid_t owner;			/* whose listener the port must be, for the kinds that prove nothing in band */
	unsigned timeout_ms;		/* for an answer, and between two questions of probe_watch(); 0: the default */
	const char *url, *ca_file;
	struct probe_report *report;
};

/* Tries until the service is ready: returns 0 then, 1 when the probe itself cannot work. */
int probe_run(void *probe);
/* Asks a service that was ready, every timeout_ms: returns PROBE_EXIT_HUNG when three answers in a row did not come. */
int probe_watch(void *probe);
/* One attempt. Returns 0 or -errno with ret_why. */
int probe_once(const struct probe *probe, char *ret_why, size_t why_bytes);
/* probe_owner.c: 0 when every listener on the port, as tables of the form of /proc/net/tcp tell it, is owner's; else -EPERM with ret_why. */
int probe_owner(const char *const *tables, uint16_t port, uid_t owner, char *ret_why, size_t why_bytes);
/* The first PEM certificate in text without white space; NULL when there is none. Owned by the caller. */
char *probe_certificate(const char *text);

/* ---- trust.c: the CA and who believes it ---- */

#define CA_DAYS 2		/* renewed after half of it */
#define TRUST_CLIENTS_MAX 4

struct trust_client {		/* one way by which clients believe the CA, looked at after it was prepared */
	char name[16];
	bool degraded;
	char why[200];
};

struct trust_report {		/* shared memory: the helper writes, PID 1 reads after it exited */
	bool degraded, spare_dir;
	char why[400];		/* what was not possible, or the error */
	int64_t expires;	/* seconds since the epoch: the certificate's end */
	struct trust_client clients[TRUST_CLIENTS_MAX];
	unsigned nr_clients;
};

struct trust_job {
	const struct init_settings *settings;
	const char *short_id;
	struct user_identity owner;		/* the proxy: may read the key */
	bool p12;				/* which imports the CA as PKCS#12 */
	bool renew;				/* a new certificate for the key that is in use */
	uint16_t port;
	struct trust_report *report;
};

/* Forked helper: makes the CA and installs it. Returns 0 also when some steps were not possible (report->degraded). */
int trust_run(void *job);
/* "K=V" joined by newlines for every launch. Owned by the caller; NULL without memory. */
char *trust_environment(const char *trust_dir, uint16_t port);

/* trust_ca.c: an empty CA folder, then key and certificate in it, owned by the proxy. Returns 0 or -errno with ret_error. */
int trust_make_ca(const struct trust_job *job, struct buf *ret_certificate, struct err *ret_error);
/* A folder of plain files, with them. Returns 0 or -errno (also when there is none: 0). */
int trust_remove_folder(const char *path);
/* A tool of the image with a clean environment. out_fd -1: its output goes nowhere. Returns its exit code or -errno. */
int trust_run_tool(char *const *argv, int out_fd);
/* Whether the tool prints the certificate that the file at this path holds. */
bool trust_tool_prints(char *const *argv, const char *certificate_path);

/* A new certificate for the key in the CA folder, put in the old one's place there. Returns 0 or -errno with ret_error. */
int trust_renew_ca(const struct trust_job *job, struct buf *ret_certificate, struct err *ret_error);

/*
 * trust_clients.c, a forked helper beside the running container: looks whether the system's store and the bundle verify the CA, and puts it into what
 * takes seconds: the NSS databases of users' homes, which browsers believe, and Java's key store. Each by its effect, in report->clients. Returns 0.
 */
int trust_run_clients(void *job);
/* trust_java.c: the Java that is installed; fills why when something is degraded. Returns 1 when there is none, else 0. */
int trust_java(const struct trust_job *job, const char *certificate_path, struct trust_client *client);

/* ---- trust_file.c ---- */

/*
 * Replaces (or appends) the lines between "# >>> cordon" and "# <<< cordon" in path with content, by writing a new file beside it and
 * renaming. Content NULL only removes. Symlinks are followed first; the mode is kept (0644 for a new file).
 * Returns 0, or -errno with ret_error; the file is whole in every case.
 */
int trust_file_block(const char *path, const char *content, struct err *ret_error);
/* The first certificate of a PEM text, as it stands there. Returns its length, 0 when there is none. */
size_t trust_find_certificate(const char *text, const char **ret_begin);
/* What path holds without our block. Returns 0 or -errno. */
int trust_file_without_block(const char *path, struct buf *ret_content);
/* Writes path whole by rename. owner NULL: ours. */
int trust_file_write(const char *path, const void *data, size_t len, mode_t mode, const struct user_identity *owner, struct err *ret_error);

/* ---- PID 1's own state ---- */

enum service_state { SERVICE_WAITING, SERVICE_STARTING, SERVICE_READY, SERVICE_RESTARTING, SERVICE_FAILED, SERVICE_STOPPED };

#define LOG_TAIL_BYTES 2048

struct service_run {
	const struct service *policy;
	enum service_state state;
	pid_t pid, prober;		/* 0: none */
	uint64_t started_ms, deadline_ms, start_ms;
	uint64_t watch_ms;		/* when to start the prober that asks whether it is alive */
	struct restarts restarts;
	struct probe_report *report;	/* shared with the prober */
	int log_pipe, log_file, notify_pipe;
	uint64_t log_bytes;
	char tail[LOG_TAIL_BYTES];
	size_t tail_len;
	bool was_ready, told_to_stop;
};

struct queued {
	struct queued *next;
	struct init_message message;
	char *text;
	int fd;
};

struct enforcer {
	pid_t pid;			/* 0: none runs */
	int channel;
	bool ready, was_ready;
	bool lost;			/* ended too often, none will be started */
	bool said_why;			/* ENFORCER_FAILED came */
	uint64_t started_ms, deadline_ms, start_ms;
	uint64_t release_ms;		/* lost: when the launches that were held end */
	struct restarts restarts;
	struct kept_table kept;
	struct queued *first, **last;
	size_t nr_queued, nr_dropped;
	bool waits_for_room;		/* EPOLLOUT is asked for */
	int64_t launches;
};

struct workspace_report;

enum trust_step { TRUST_NONE, TRUST_RUNNING, TRUST_DONE };

enum drain_phase { DRAIN_NONE, DRAIN_LAUNCHES, DRAIN_SERVICES, DRAIN_STRAYS, DRAIN_SEAL, DRAIN_DONE };

struct drain {
	enum drain_phase phase;
	uint64_t begun_ms, phase_ms, again_ms;
	uint64_t hurry_ms;		/* asked a second time: graces are skipped; 0: not */
	int signal;			/* what launches were last told */
};

struct init {
	const struct init_settings *settings;
	char boot[33];
	enum init_state state;
	char why[256];
	bool final;
	int epoll_fd, signal_fd;
	uint64_t begun_ms;
	struct enforcer enforcer;
	struct service_run *services;
	size_t nr_services;
	enum trust_step trust_step;
	pid_t trust_pid, clients_pid, workspace_pid, host_user_pid;
	bool clients_wanted;		/* as soon as homes are their users' */
	uint64_t renew_ms;		/* when the CA's certificate is renewed */
	bool workspaces_done;
	struct workspace_report *workspace_report;
	struct trust_report *trust_report;
	char *environment;		/* for launches; NULL until trust is done */
	pid_t command_pid;
	bool command_begun, was_ready, tty_given;
	bool host_exec_missing;		/* see host_exec.c */
	struct drain drain;
	int exit_code;
	uint64_t orphans_reaped, signals_refused;
	uint64_t counted_ms, counted;	/* when the enforcer was told the counters, and their sum then */
	uint64_t refused_second;	/* signal_refused records are at most 10 a second */
	unsigned refused_in_second, refused_uncounted;
};

enum event_tag { TAG_SIGNAL = 1, TAG_CHANNEL, TAG_LOG, TAG_NOTIFY };

uint64_t now_ms(void);
void init_say(const struct init *init, const char *format, ...) __attribute__((format(printf, 2, 3)));
void init_set_state(struct init *init, enum init_state state, bool final, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Start-up is over: prints the line, ends everything in order and exits with code. */
void init_fail(struct init *init, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int init_watch(struct init *init, int fd, uint32_t events, enum event_tag tag, size_t index);
/* Looks whether everything is there that READY needs, and moves the state. */
void init_settle(struct init *init);
/* Nothing can be done any more: one line, the audit log sealed, children killed, exit 115. Also from a signal's handler. */
void init_panic(const char *line) __attribute__((noreturn));

/* enforcer_queue.c */
/* text and fd stay the caller's. */
void enforcer_append(struct enforcer *e, const struct init_message *message, const char *text, int fd);
void enforcer_pop(struct enforcer *e);
void enforcer_queued_free(struct queued *q);

/* enforcer_link.c */
void enforcer_start(struct init *init);
void enforcer_tell(struct init *init, enum init_message_type type, int64_t number, const char *text);
void enforcer_on_channel(struct init *init, uint32_t events);
void enforcer_on_exit(struct init *init, int status);
void enforcer_tick(struct init *init, uint64_t now);
uint64_t enforcer_deadline(const struct init *init);
void enforcer_free(struct init *init);

/* trust_step.c: PID 1's side of trust.c */
void trust_start(struct init *init);
void trust_on_exit(struct init *init, int status);
void trust_on_clients_exit(struct init *init, int status);
/* A step that is no process, as the state of a service. why may be NULL. */
void trust_tell(struct init *init, const char *name, const char *state, const char *why);
void trust_tick(struct init *init, uint64_t now);
const char *trust_dir(const struct init *init);

/* service_log.c */
/* A new pipe for a new process; the old one's is closed. Returns 0 or -errno. */
int service_open_output(struct init *init, struct service_run *s, int *ret_write_end);
void service_on_log(struct init *init, struct service_run *s);
/* The last lines as one printable line. */
void service_tail(const struct service_run *s, char *ret_text, size_t text_bytes);

/* service_start.c */
#define NOTIFY_FD_TEXT "3"	/* INIT_CHANNEL_FD: where spawn puts a channel */
int service_user(const struct init *init, const struct service_run *s, struct user_identity *ret_identity, struct err *ret_error);
/* The service's process and the prober that waits for it. Returns 0, or -errno with ret_error worded for "service NAME: …". */
int service_start_processes(struct init *init, struct service_run *s, struct err *ret_error);
int service_start_prober(struct init *init, struct service_run *s, bool alive, const struct user_identity *identity);
void service_close_notification(struct service_run *s);

/* service.c */
void service_on_notified(struct init *init, struct service_run *s);
int services_open(struct init *init);
void service_start(struct init *init, struct service_run *s);
void service_on_exit(struct init *init, struct service_run *s, int status);
void service_on_probed(struct init *init, struct service_run *s, int status);
void services_tick(struct init *init, uint64_t now);
uint64_t services_deadline(const struct init *init);
void services_signal(struct init *init, int signal);
size_t services_alive(const struct init *init);
void services_free(struct init *init);
const struct service_run *services_proxy(const struct init *init);

/* reaper.c: the only place that waits. Returns true when there may be more than one batch. */
bool reap(struct init *init);

/* signals.c */
void signals_read(struct init *init);
/* Records what prepare_take_forged_fault() tells. */
void signals_check_faults(struct init *init);
/* Pure: did it come from outside the container? */
bool signal_from_outside(int code, pid_t sender, pid_t own_pid, pid_t own_parent);

/* host_exec.c: before anything is started. Nothing in mode off */
void host_exec_guard(struct init *init);

/* host_user.c: before anything is started. Returns 0, or -errno with ret_error when agents must not be that user. */
int host_user_take(struct init *init, struct err *ret_error);
void host_user_on_exit(struct init *init, int status);
/* passwd and group of etc_dir with new ids for the user. Returns 0, -EEXIST when the uid is somebody else's, or -errno, with ret_error. */
int host_user_rewrite(const char *etc_dir, const struct user_identity *user, unsigned uid, unsigned gid, struct err *ret_error);

struct host_user_job {
	const char *home;
	uid_t old_uid, uid;
	gid_t old_gid, gid;
};
/* host_user_home.c, a forked helper. Returns 0 when all could be given. */
int host_user_give_home(void *job);

/* workspaces.c: sources become workspaces, then the enforcer is started: the agents' namespaces are copied with them in it */
void workspaces_start(struct init *init);
void workspaces_on_exit(struct init *init, int status);

/* drain.c */
void drain_begin(struct init *init, const char *why);
void drain_hurry(struct init *init);
void drain_enforcer_ready(struct init *init);
void drain_tick(struct init *init, uint64_t now);
uint64_t drain_deadline(const struct init *init);
