/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PID 1 and its enforcer say to each other: one SOCK_SEQPACKET socketpair, descriptor INIT_CHANNEL_FD in the enforcer.
 *
 * A message is a struct init_message, followed by text_bytes of text, with at most one descriptor. Both ends are Cordon's own;
 * still every length is checked. A dead enforcer is restarted with a new channel and gets all kept descriptors again.
 */
#pragma once

#include "supervisor/base/io.h"

#include <stdint.h>

#define INIT_CHANNEL_FD 3
#define INIT_TEXT_MAX 16384

enum init_message_type {
	/* PID 1 -> enforcer, in this order at start: BEGIN, KEPT…, then ENVIRONMENT and STATE as they come */
	INIT_BEGIN = 1,		/* text: JSON {"run","boot","mode"(text or absent),"mode_explicit":bool,"unreviewed","scope","policy","run_dir","audit_dir","restarts"} */
	INIT_KEPT,		/* kind, id, number, fd: what an earlier enforcer gave */
	INIT_KEPT_END,
	INIT_ENVIRONMENT,	/* text: "K=V" joined by newlines: proxy and trust variables for every launch; replaces earlier ones */
	INIT_STATE,		/* number: enum init_state; text: why. The enforcer records it and gates launches on READY */
	INIT_SERVICE,		/* text: JSON {"name","state","pid","why","restarts"}: recorded, shown by status */
	INIT_RECORD,		/* number: severity; text: "type\nmembers" for audit_record() */
	INIT_SEAL,		/* write the seal and exit 0 */
	INIT_COUNTERS,		/* text: JSON {"orphans_reaped","signals_refused"}, since PID 1 began; shown by status */
	INIT_KILL_ALL,		/* number: signal; to every launch's tree (drain). Answered by ENFORCER_LAUNCHES as they end */
	/* enforcer -> PID 1 */
	ENFORCER_READY = 64,	/* layers probed, mounts built, sockets listening */
	ENFORCER_FAILED,	/* number: exit code 110…115; text: the one line to print */
	ENFORCER_KEEP,		/* kind, id, number, fd */
	ENFORCER_DROP,		/* kind, id */
	ENFORCER_LAUNCHES,	/* number: launches alive now (sent on every change) */
};

enum init_state { STATE_BOOT, STATE_STARTING, STATE_READY, STATE_DEGRADED, STATE_DRAINING, STATE_STOPPED };

enum kept_kind {
	KEPT_AGENT_MOUNTS = 1,	/* id 0: safe modes, 1: off */
	KEPT_ZYGOTE,		/* id: zygote id; number: its pid */
	KEPT_KEEPER,		/* id: launch id */
	KEPT_GUARD,		/* the fanotify descriptor; id 0: of the masks, 1: of browsers' files */
	KEPT_CONTAINER_MOUNTS,	/* id 0: the namespace PID 1 was started in; from PID 1 itself */
};

struct init_message {
	uint32_t type;
	uint32_t kind;
	uint64_t id;
	int64_t number;
	uint32_t text_bytes;
	uint32_t reserved;
};

const char *init_state_name(enum init_state state);

/* text may be NULL; fd -1 for none. Returns 0 or -errno. */
int init_channel_send(int channel, const struct init_message *message, const char *text, int fd);
/* ret_text: text_max bytes, NUL added. ret_fd -1 when none. Returns 1, 0 when the far end closed, or -errno (-EAGAIN with MSG_DONTWAIT in flags). */
int init_channel_receive(int channel, struct init_message *ret_message, char *ret_text, size_t text_max, int *ret_fd, int flags);
