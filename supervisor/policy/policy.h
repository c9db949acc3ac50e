/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy folder as one immutable structure: facts about commands, environment names, paths, networks and services, and what
 * each mode thinks of each effect.
 *
 * policy_load() is all or nothing. Strings are owned by the policy and live as long as it. Nothing here decides: see judge/.
 */
#pragma once

#include "supervisor/base/err.h"
#include "supervisor/policy/command.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Least to most restrictive: the order is the lattice. */
enum mode { MODE_OFF, MODE_GUARDED, MODE_OBSERVE, MODE_READONLY, MODE_COUNT };
enum verdict { VERDICT_ALLOW, VERDICT_REVIEW, VERDICT_DENY };
enum root_style { ROOTS_STRICT, ROOTS_STANDARD, ROOTS_OPEN, ROOTS_COUNT };
enum audit_allowed { AUDIT_ALLOWED_NONE, AUDIT_ALLOWED_DECISIONS, AUDIT_ALLOWED_ALL };

/* Accepts the aliases (unrestricted, yolo). Returns 0, or -EINVAL; retired names (workspace, developer, …) fill ret_error with the new one. */
int mode_parse(const char *text, enum mode *ret_mode, struct err *ret_error);
const char *mode_name(enum mode mode);

/* strict, standard, open: the order is the lattice. Returns 0, or -EINVAL; retired names fill ret_error with the new one. */
int roots_parse(const char *text, enum root_style *ret_roots, struct err *ret_error);
const char *roots_name(enum root_style roots);

struct origin {			/* where a rule stands, for records: file relative to the policy folder */
	const char *file;
	unsigned line;
};

struct strings {
	const char **items;	/* NULL-terminated as well */
	size_t nr;
	unsigned line;		/* where the list stands in its file */
};

struct names {			/* a set of names, with prefixes: see names_match() */
	struct strings exact;	/* sorted */
	struct strings prefixes;	/* without their '*' */
	unsigned line;
};

/* Whether the first len bytes of name are in the set. */
bool names_match(const struct names *names, const char *name, size_t len);

enum rule_place { PLACE_ANY, PLACE_EXECVE, PLACE_TEXT };

/*
 * modes/NAME.json: first match wins. A deny or review rule matches when any of its effects is present; an allow rule only when
 * every effect that is present is in its list.
 */
struct mode_rule {
	const char *id;
	unsigned effects;	/* 0: matches everything */
	enum rule_place place;	/* EXECVE: only where the kernel asks (what the program runs will be judged in turn); TEXT: only where it does not */
	bool confined;		/* allow only when every argument stays inside the project and names nothing sensitive */
	enum verdict verdict;
	const char *tag;	/* NULL unless deny */
	const char *reason;	/* goes on after the program's name: "removes or destroys data" */
	const char *hint;	/* may be NULL */
	struct origin origin;
};

struct network_range {		/* network.json */
	struct in6_addr address;	/* IPv4 as ::ffff:a.b.c.d */
	unsigned prefix_bits;		/* of 128 */
	const char *id, *reason;
	bool always;			/* also with a scope: metadata */
	struct origin origin;
};

struct network_name {		/* names that are refused before anything resolves them */
	const char *pattern;		/* "*.internal" */
	const char *id, *reason;
	bool always;			/* also when the scope names it */
	struct origin origin;
};

struct network_port {		/* an address and port that is always reachable, for example the proxy */
	struct in6_addr address;
	uint16_t port;
	struct origin origin;
};

enum env_mode { ENV_SELECTED, ENV_ALL };

/* Programs of the image that set names of code_names for what they run. */
struct env_setter {
	struct names setters;		/* base names of the program that execs; never a shell, an interpreter or a wrapper */
	struct names names;		/* what it may set */
	struct names programs;		/* base names of what it may set them for; empty: for whatever it runs */
	bool own;			/* only for programs where agents write, which may hand them on to their like */
	struct origin origin;
};

struct env_source {		/* a variable whose value a command of the operator's prints */
	const char *name;
	struct strings command;		/* the program by its absolute path, and its arguments */
	unsigned timeout_ms;
	struct origin origin;
};

struct environment {		/* environment.json */
	enum env_mode mode;
	bool image_pass;
	struct names baseline, allow;
	struct strings deny;		/* exact, wins over allow */
	struct names code_names;	/* change which code is loaded: refused at launch, in text and at each execve when not the launch's own value */
	struct names text_names;	/* programs change these themselves: refused only where command text sets them */
	struct env_setter *helpers; size_t nr_helpers;
	struct env_source *sources; size_t nr_sources;
	struct strings harmless;	/* "NAME=value" of code_names that load nothing of the setter's choice, whoever sets them */
	struct origin origin;
};

struct paths {			/* paths.json; "~" stands for the launch user's home */
	const char *project;		/* /workspace */
	enum root_style roots;
	bool confine_writes, block_internal_http;
	struct strings write;		/* writable trees */
	struct strings allowed_roots, blocked_roots;
	struct strings protected_names;	/* refused for reading and writing in every mode; masked in the agents' mounts */
	struct strings hidden;		/* Cordon's own and sockets: masked. Begins with all of own */
	struct strings own;		/* Cordon's own folders: refused in off as well */
	struct strings own_files;	/* Cordon's programs and policy: readable, written in no mode */
	struct strings system_roots;	/* a tool's own reads and writes (unresolved names) stay out; programs may read them */
	struct strings devices;		/* trees with device nodes that stay usable (/dev) */
	struct names raw_devices;	/* of these, what is never written: disks, memory */
	struct names process_files;	/* files of /proc/PID that a process may write for itself and its agent's others: comm */
	struct strings irreplaceable;	/* trees whose removal is hardline; each itself, not what is below */
	struct strings scratch;		/* below these, removing needs a review only */
	struct strings start_files;	/* run when a session or a program starts: written, they outlive the work */
	struct strings frozen;		/* names in the project that stay as they are: .git */
	const char *sources;		/* each folder in it becomes a workspace: PROJECT/NAME; NULL: none does */
	struct strings live_sources;	/* names of those that the host made to be thrown away: not isolated */
	struct strings refused_file_systems, refused_sources;	/* what no source may be: types; folders of the host's file systems */
	struct strings refused_holds;	/* what no source may hold: relative names */
	struct strings skills;		/* folders outside the project that readonly reads; written in no safety mode */
	struct strings secret_files;	/* globs: show credentials or environments of the system */
	struct strings sensitive;	/* name fragments refused in readonly (and, for secrets, guarded) */
	struct origin origin;
};

/*
 * browser.json: the browser session that Cordon gives each agent. In its texts {SESSION}, {FOLDER} and {BROWSER} stand for the session's name, its own
 * folder, and the first of browsers that is there.
 */
struct browser {
	struct strings programs;	/* the command line tool, which is also the session's daemon: canonical paths */
	struct strings browsers;	/* what only a daemon starts */
	struct strings helpers;		/* what else runs in a daemon's launch */
	struct names others;		/* base names of browsers and of what drives them: not run by launches */
	struct names switches;		/* words that only browsers take */
	const char *folder;		/* one folder a session below it */
	struct strings environment;	/* "K=V" of every launch */
	struct strings daemon;		/* "K=V" of the daemon besides */
	const char *prefix;		/* how a host names the agent, {AGENT}, at the start of a command text */
	const char *config;		/* the text of {FOLDER}/config.json, in place of what the tool would look for */
	const char *fingerprint;	/* what the tool expects of a daemon that began as these variables say */
	struct names fixed;		/* variables that the tool must find as the launch has them, or not at all */
	unsigned hold_ms;		/* how long a command waits for another one of the session */
	unsigned start_ms;		/* and for the daemon */
	struct strings actions[2];	/* what a daemon does when asked: in guarded, in observe */
	struct origin origin;
};

enum probe_kind { PROBE_NONE, PROBE_TCP, PROBE_HTTP, PROBE_PROXY_CA, PROBE_NOTIFY };

struct service_repeat {		/* an option that is given once for each element of a list in PID 1's environment, separated by commas */
	const char *option, *variable;
};

struct service_repeats {
	struct service_repeat *items;
	size_t nr;
};

struct service {		/* services/NAME.json */
	const char *name;
	struct strings command;		/* {CA} {P12} {BUNDLE} {PORT} {HOME} replaced by init */
	struct service_repeats repeats;	/* added to it */
	const char *user;
	struct strings environment;	/* K=V */
	enum probe_kind probe;
	const char *probe_url;		/* PROBE_HTTP */
	uint16_t port;			/* PROBE_TCP and the proxies */
	unsigned ready_ms;		/* wall-clock deadline */
	unsigned alive_ms;		/* asked so often once it is ready, and has so long to answer; 0: not asked */
	struct strings after;		/* services that must be ready before it is started */
	const char *data_dir;		/* made for it, and its HOME; NULL: none */
	bool proxy;			/* is the interception proxy: launches wait for it and use it */
	bool enabled;
	struct origin origin;
};

/* What stands in a template's place for a word that differs from call to call. Each reaches from before to after, over the whole word. */
enum hole {
	HOLE_NONE,		/* before is the whole word */
	HOLE_TEXT,		/* anything */
	HOLE_QUOTED,		/* what a shell keeps inside '…': a quote only as '\'' */
	HOLE_NUMBER,		/* up to 19 digits */
	HOLE_NAME,		/* one name of a file: no "/", neither "." nor ".." */
	HOLE_UUID_NAME,		/* 32 hex digits, "_", and a name: nobody meets such a file by chance */
	HOLE_PATH,		/* a normal path: one of list, or below it */
	HOLE_SHA256,		/* a text with one of the digests in list */
};

struct word_pattern {
	enum hole hole;
	const char *before, *after;	/* never NULL */
	struct strings list;		/* HOLE_PATH, HOLE_SHA256 */
};

struct argv_pattern {
	struct word_pattern *words;
	size_t nr;
	bool rest;			/* further words may follow */
};

/* transports/NAME.json: a command line that a host issues, word for word. */
struct transport {
	const char *id, *why;
	bool wrap;			/* the words after the pattern are the agent's command; else all of it is the host's own housekeeping */
	struct argv_pattern argv;
	struct argv_pattern *runs;	/* execs of the template's shell that pass whatever their effects */
	size_t nr_runs;
	struct origin origin;
};

enum command_profile { PROFILE_BARE, PROFILE_ASSISTANT, PROFILE_EXTENDED, PROFILE_COUNT };
const char *profile_name(enum command_profile profile);

struct offered {		/* policy.json, "commands" */
	enum command_profile profile;	/* bare: no preset is on */
	struct strings presets;		/* names of those that are */
	unsigned line;
};

struct preset_command {
	const char *name;		/* base name of the program */
	struct strings environment;	/* exact names that pass to a launch of it */
	struct origin origin;
};

struct preset {			/* presets/NAME.json */
	struct preset_command *commands;
	size_t nr_commands;
	const char *name;
	struct origin origin;
};

struct policy {
	const char *dir;
	char sha256[65];		/* over every file's name and bytes, sorted by name */
	enum mode mode;			/* default of the container */
	enum mode max_unattended;
	bool unreviewed_allow;
	bool unsupervised_stop;		/* a process that no filter guards is killed, not only recorded */
	bool wrappers_follow;
	const char *launch_user;	/* name or number */
	struct strings require;		/* layers that safety modes need: notify landlock mounts ptrace … */
	enum audit_allowed audit_allowed;
	struct offered offered;
	struct preset *presets; size_t nr_presets;
	struct paths paths;
	struct environment environment;
	struct browser browser;
	struct command *commands; size_t nr_commands;
	struct command *otherwise; size_t nr_otherwise;	/* see policy_otherwise() */
	struct command_index *command_index;	/* private: see policy_command() */
	struct mode_rule *rules[MODE_COUNT]; size_t nr_rules[MODE_COUNT];
	struct network_range *ranges; size_t nr_ranges;
	struct network_port *ports; size_t nr_ports;
	struct network_name *names; size_t nr_names;
	struct strings debugger_ports;	/* on loopback: refused, they give a browser or a process away */
	struct strings mutating_words;	/* of a URL's path or query: even a GET changes something there */
	struct strings destructive;	/* globs over URLs and bodies, in either case: destroys data */
	struct service *services; size_t nr_services;
	struct strings entry_names;	/* transports/: programs a host calls by name */
	struct strings entry_paths;	/* transports/: programs a host calls by absolute path, though agents can write them */
	struct transport *transports; size_t nr_transports;
	struct strings files;		/* every file read, relative, sorted */
	void *memory;			/* private: owns every string and array */
};

/* Returns 0, or -errno with ret_error naming file, line, column and key path of the first fault. */
int policy_load(const char *dir, struct policy **ret_policy, struct err *ret_error);
void policy_free(struct policy *policy);

/*
 * Tells every value of the policy's files, in their order: where it stands, its key path, and itself as JSON (ASCII, one line). A list of texts or
 * numbers is one value. list() returns 0 to go on. Reads the files again. Returns 0, what list() returned, or -errno with ret_error.
 */
typedef int policy_lister(void *context, const struct origin *origin, const char *key, const char *value);
int policy_list(const struct policy *policy, policy_lister *list, void *context, struct err *ret_error);

/* What the policy knows of a program by its base name: the exact name, else the longest prefix, else NULL. */
const struct command *policy_command(const struct policy *policy, const char *base_name);
/* The command of that name in the presets that are on, or NULL. */
const struct preset_command *policy_preset(const struct policy *policy, const char *name);
bool preset_is_on(const struct policy *policy, const struct preset *preset);
/* What is assumed of a program no entry names (the "otherwise" of commands/), or NULL. */
const struct command *policy_otherwise(const struct policy *policy);
