/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What client, enforcer, zygote and keeper say to each other. Plain structs over SOCK_SEQPACKET on one machine and one build;
 * anything long travels in a memfd ("blob") whose bytes the receiver copies before it looks at them.
 *
 * A launch: client --REQUEST--> enforcer --LAUNCH--> zygote, which forks the keeper --HELLO--> enforcer --GO--> keeper --EVENT--> client.
 */
#pragma once

#include <stdint.h>

#define PROTO_MAGIC 0x436f7264u	/* "Cord" */
#define PROTO_VERSION 1u
#define PROTO_BLOB_MAX (8u << 20)	/* argv and environment of 2 MiB each fit */
#define PROTO_TEXT_MAX 4096u		/* a message's trailing text */

/* ---- client -> enforcer on launch.sock; descriptors: blob, stdin, stdout, stderr ---- */
enum request_flags {
	REQUEST_TTY = 1 << 0,		/* --tty: give the command a terminal even when stdio is none */
	REQUEST_UNATTENDED = 1 << 1,
	REQUEST_ENTRY = 1 << 2,		/* called by an entry name */
	REQUEST_SHELL_TEXT = 1 << 3,	/* -c TEXT: argv is {sh, -c, TEXT} */
	REQUEST_MODE = 1 << 4,		/* mode was asked for */
	REQUEST_SCOPE = 1 << 5,		/* a scope was */
	REQUEST_ROOTS = 1 << 6,		/* roots were */
	REQUEST_EXPLAIN = 1 << 7,	/* nothing is started: what would be its environment is answered */
	REQUEST_VALUES = 1 << 8,	/* with the values; for root */
};

struct launch_request {
	uint32_t magic, version;
	uint32_t flags;
	uint32_t timeout_ms;		/* 0: none */
	uint16_t rows, columns;		/* of the client's terminal, 0 when none */
	uint32_t blob_bytes;
};

/* The request's blob: NUL-terminated strings, in this order: agent, mode, user, cwd, then argc argv strings, then envc "K=V", then scope and roots where they were asked for. */
struct request_blob {
	uint32_t argc, envc;
	/* strings follow */
};

/* ---- enforcer or keeper -> client, on the same connection ---- */
enum event_type {
	EVENT_STARTED = 1,	/* the command's first instruction is about to run */
	EVENT_EXITED,		/* code: 0…255; signal: number or 0; text: JSON of the last refusal, or empty */
	EVENT_REFUSED,		/* 126; text: the JSON object */
	EVENT_FAILED,		/* 125; text: one line */
	EVENT_EXPLAINED,	/* descriptor: a memfd that holds the answer to REQUEST_EXPLAIN, JSON */
	EVENT_TAKEN,		/* from here on something may have been started: before it, an end of the connection means that nothing was */
};

struct launch_event {
	uint32_t type;
	int32_t code;
	int32_t signal;
	uint32_t text_bytes;	/* follows, not NUL-terminated */
};

/* ---- client -> keeper, on the same connection ---- */
enum client_message_type { CLIENT_SIGNAL = 1, CLIENT_WINDOW };
struct client_message {
	uint32_t type;
	int32_t signal;
	uint16_t rows, columns;
};

/* ---- enforcer -> zygote; descriptors: blob (struct spec), client connection, stdin, stdout, stderr, keeper channel ---- */
struct zygote_launch {
	uint32_t magic;
	uint32_t spec_bytes;
	uint64_t launch_id;
};

/* ---- enforcer -> zygote: fork a hand; descriptor: its channel. It serves the zygote's agent with these ids until the channel hangs up. ---- */
#define PROTO_HAND_MAGIC 0x48616e64u
#define HAND_GROUPS_MAX 256

struct zygote_hand {
	uint32_t magic;
	uint32_t uid, gid, nr_groups;
	uint32_t groups[HAND_GROUPS_MAX];
};

/*
 * enforcer -> hand. Descriptors: the socket; with HAND_CWD the folder that a relative address starts from; then what a send passes on. From HAND_OPEN on
 * as hand_make() has them. Data follows the structure. Nothing blocks. The answer to HAND_OPEN carries what was opened.
 */
#define HAND_DATA_MAX (128u << 10)
#define HAND_FDS_MAX 253	/* what the kernel lets one message carry */

enum hand_action { HAND_CONNECT = 1, HAND_BIND, HAND_SEND, HAND_OPEN, HAND_MKDIR, HAND_MKNOD, HAND_SYMLINK, HAND_LINK, HAND_RENAME };
enum hand_flags { HAND_CWD = 1 << 0, HAND_UNBLOCK = 1 << 1 /* the description blocks: O_NONBLOCK is set for this one connect */ };

struct hand_request {
	uint64_t job;
	uint32_t action, flags;
	uint32_t call_flags;	/* of a send, an open, a rename */
	uint32_t umask;		/* of the caller, for what makes a name */
	uint32_t mode, device;
	uint32_t address_bytes;	/* 0: none */
	uint32_t data_bytes;
	uint8_t address[128];
};

struct hand_answer {
	uint64_t job;
	int64_t value;
	int32_t error_number;	/* 0: done */
	uint32_t reserved;
};

enum spec_flags {
	SPEC_TTY = 1 << 0,		/* make a pty; tty descriptors among stdio are replaced by it, all three when none is one */
	SPEC_STDIN_ETX_ONLY = 1 << 1,	/* of what is typed only 0x03 passes */
	SPEC_NO_NEW_PRIVS = 1 << 2,
	SPEC_DROP_CAPABILITIES = 1 << 3,
	SPEC_SESSION = 1 << 4,		/* a browser session: no client waits for it, and it ends with the container */
	SPEC_NO_CORE = 1 << 6,		/* it holds what other launches of its agent must not read in a core file */
	SPEC_STRICT = 1 << 5,		/* its reads are held to strict roots, as its client asked */
};

/* What a keeper applies, in the order lockdown.c documents. Offsets count from the start of the blob; strings end with NUL. */
struct spec {
	uint32_t magic, version;
	uint64_t launch_id;
	uint32_t flags;
	uint32_t seccomp_flags;		/* for seccomp(SECCOMP_SET_MODE_FILTER) */
	uint32_t uid, gid;
	uint32_t nr_groups, groups_offset;	/* uint32_t each */
	uint32_t umask;
	uint32_t timeout_ms;
	uint16_t rows, columns;
	uint32_t nr_filter, filter_offset;	/* struct sock_filter each; 0: no filter (off without SYS_ADMIN) */
	uint64_t landlock_handled;		/* 0: no layer */
	uint64_t landlock_handled_net;		/* of ports no rule opens any */
	uint32_t landlock_bytes;		/* size of the ruleset attribute this ABI takes */
	uint32_t nr_landlock, landlock_offset;	/* struct spec_landlock each */
	uint32_t cwd_offset;
	uint32_t search_offset;		/* PATH to search for argv[0] when it has no slash */
	uint32_t argc, argv_offset;	/* argc strings, one after another */
	uint32_t envc, env_offset;
	/* For the enforcer alone, which reads its launches back from their keepers after a restart: */
	uint32_t mode;			/* enum mode */
	uint32_t agent_offset, user_offset, home_offset;
	uint32_t preset_offset;		/* the file its first exec has to be; "": any */
	uint32_t scope_offset;		/* the launch's own, as text; "": none */
	uint32_t nr_roots, roots_offset;	/* write roots, strings one after another */
	uint64_t asked_us;		/* CLOCK_MONOTONIC when the client asked */
};

struct spec_landlock {
	uint64_t access;
	uint32_t path_offset;
	uint32_t reserved;
};

/* ---- keeper <-> enforcer on the keeper channel ---- */
enum keeper_message_type {
	/* keeper -> enforcer */
	KEEPER_HELLO = 1,	/* pid: the command; descriptors: spec blob, in-flight table, listener (absent without a filter). Also the
				   answer to PRESENT; number: bytes of the spec; flags: enum hello_flags; status: once it has ended */
	KEEPER_FAILED,		/* stage, number (errno): nothing was started */
	KEEPER_EXITED,		/* status: wait status of the command */
	KEEPER_STDIN_REFUSED,	/* number: bytes of typed input that did not pass since the last message */
	KEEPER_EMPTY,		/* no descendant is left; the keeper ends. number and descriptors: as with HELLO, but for the listener */
	/* enforcer -> keeper */
	KEEPER_GO = 64,
	KEEPER_NOTICE,		/* text: JSON of the latest refusal in this launch */
	KEEPER_KILL,		/* kill the whole tree; signal 0 means SIGKILL with the freeze sweep */
	KEEPER_PRESENT,		/* a new enforcer asks: send HELLO again, with status when the command ended already */
};

enum hello_flags {
	HELLO_ENDED = 1 << 0,	/* the command has */
	HELLO_AGAIN = 1 << 1,	/* said before, perhaps to an enforcer that did not live to read it */
};

enum keeper_stage { STAGE_SPEC = 1, STAGE_PTY, STAGE_FORK, STAGE_LANDLOCK, STAGE_IDS, STAGE_CWD, STAGE_STDIO, STAGE_FILTER, STAGE_EXEC };

struct keeper_message {
	uint32_t type;
	int32_t pid;		/* HELLO: the command; */
	int32_t keeper_pid;
	int32_t status;
	int32_t stage;
	int64_t number;
	uint64_t launch_id;
	uint32_t text_bytes;
	uint32_t flags;
};

/*
 * The in-flight table of a launch: shared memory made by the keeper, written by whichever enforcer holds the listener. RECV writes straight
 * into request, so that a call survives its receiver.
 */
#define TABLE_SLOTS 1024	/* more blocking connects than one launch has; pages that were never used cost nothing */
#define TABLE_REQUEST_BYTES 128

enum slot_stage { SLOT_FREE = 0, SLOT_RECEIVED, SLOT_JUDGED, SLOT_ACTING, SLOT_ACTED };

struct table_slot {
	uint32_t stage;		/* enum slot_stage, stored with release order */
	int32_t error_number;	/* SLOT_ACTED: the answer */
	int64_t value;
	uint8_t request[TABLE_REQUEST_BYTES] __attribute__((aligned(8)));	/* struct seccomp_notif */
};

struct inflight_table {
	uint32_t magic;
	uint32_t exec_error;	/* written by the child before _exit when no exec succeeded: errno */
	uint32_t exec_done;	/* reserved for the child: how many names it tried */
	uint32_t reserved;
	struct table_slot slots[TABLE_SLOTS];
};
