/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the socket files of the enforcer share: one socket call from its receipt to its answer.
 *
 * sockets.c     reads the call, decides how it may be done, judges and records
 * connect.c     connect and bind
 * send.c        sendto, sendmsg, sendmmsg; send_hand.c those that the hand does
 * message.c     private copies of messages
 * waits.c       calls that cannot be answered yet
 * hands.c       calls that a process with the caller's ids performs; makes.c asks it, too
 *
 * When may a call go on in the caller's own hands (CONTINUE)? The kernel then reads everything again: the descriptor's number, and what pointers
 * point to. A number that named a UNIX socket while it was judged can name a UDP socket by then, and the address in memory can be any: nothing
 * but a packet filter would stop such a datagram. So the number must not be able to change. It cannot when the caller is the only thread of its
 * process: its descriptor table is then its own (the filter refuses CLONE_FILES without CLONE_THREAD, pidfd_getfd is refused, and descriptors
 * arrive by calls of the table's owner, who waits for us). Then the family of the socket is a fact, and what is continued is
 *   - AF_UNIX: whatever the address in memory becomes, it stays a UNIX address: masks over the forbidden sockets and the Landlock scope hold
 *     (not where there are browser sessions: their sockets are the agent's own and no mask can stand over them);
 *   - AF_NETLINK: capabilities hold, and they are the caller's;
 *   - TCP sends: the kernel looks at their address with MSG_FASTOPEN only, and flags are in a register;
 * and everything else, which is all that goes to an address of the internet and all calls of processes with several threads, is performed: IP on
 * a duplicate of the socket with the judged copy of everything, messages on connected UNIX sockets there too, in the caller's name, and the rest by
 * the agent's hand. The duplicate pins the socket, so a changed number
 * means nothing. A connect is never continued on an IP socket, lone thread or not: its address is in memory, which others may share. Under all of
 * this the launch's Landlock layer refuses every TCP connect and bind that an agent's own thread makes; for UDP the kernel has no such layer.
 */
#pragma once

#include "supervisor/enforcer/internal.h"

#include <netinet/in.h>

enum talk_next { TALK_ANSWERED, TALK_WAIT_ROOM, TALK_WAIT_TICK, TALK_WAIT_HAND };

struct talk {
	struct talk *next;		/* waits.c's list */
	struct source source;		/* fd: a duplicate of the caller's socket, owned */
	struct call call;		/* launch NULL: the launch is gone, and slot with it */
	uint64_t id;
	enum talk_next (*act)(struct enforcer *e, struct talk *t);	/* goes on with the call, from the start or where it waited */
	/* Ends it without success. Natural: what the kernel says of a signal or a time that is over. */
	void (*end)(struct enforcer *e, struct talk *t, int error_number);
	int domain, type;
	int blocks;			/* talk_blocks(); -1: not asked yet */
	struct ucred sender;		/* AF_UNIX: who the caller is to a receiver */
	bool shared;			/* others can change the caller's descriptors while it waits */
	/* connect, bind; a send with MSG_FASTOPEN */
	socklen_t address_bytes;
	struct sockaddr_storage address;
	bool begun;			/* judged; what follows goes on from there */
	bool recorded;
	bool joined;			/* a send with MSG_FASTOPEN: connected, the data comes next */
	struct decision decision;
	/* sends */
	unsigned nr_sent;		/* messages */
	uint64_t bytes_sent;		/* of the message that is being sent */
	/* waits.c */
	enum talk_next waits_for;
	bool watched, timed;		/* timed: SO_SNDTIMEO is set */
	uint64_t deadline_us;		/* 0: none */
	int timeout_error;		/* what the call says when it is over */
	/* hands.c */
	struct hand *hand;
	uint64_t job;			/* 0: none asked */
	bool handed;			/* the answer is here: */
	int hand_error;
	int64_t hand_value;
	size_t hand_bytes;
	/* makes.c */
	int hand_fd;			/* what the hand opened, owned; -1 */
	bool close_on_exec, deep;
};

/* ---- sockets.c ---- */

enum talk_next talk_answer(struct enforcer *e, struct talk *t, int64_t value, int error_number);
enum talk_next talk_continue(struct enforcer *e, struct talk *t);
/* The call acts now: a new enforcer that finds it so answers EIO. value: for sockets_recover(). */
void talk_acting(const struct talk *t, int64_t value);
/* It has: this is the answer, should this enforcer die before it gives one. */
void talk_acted(const struct talk *t, int64_t value, int error_number);
/* It has not, or what it did may be done once more: a new enforcer begins anew. */
void talk_idle(const struct talk *t);
bool talk_is_ip(const struct talk *t);
/* Whether the description had no O_NONBLOCK when this was asked first. */
bool talk_blocks(struct talk *t);
/* Of the calling thread, or -1 with errno. */
int call_pidfd(const struct call *call);
/*
 * Judges an address the call wants to go to (or to bind), and fills t->decision. UNIX paths are resolved for the caller; ret_path (of
 * RESOLVE_PATH_MAX bytes) gets the name for the record. Returns whether it is allowed.
 */
bool talk_judge(struct enforcer *e, struct talk *t, enum action_kind kind, char *ret_path);
/* Refuses by t->decision: records, tells the keeper. The answer is still to be given. */
void talk_record_denied(struct enforcer *e, const struct talk *t, const char *path, int error_number);
void talk_record_allowed(struct enforcer *e, const struct talk *t, const char *path, const char *certainty, int error_number);

/* ---- connect.c ---- */

enum talk_next connect_act(struct enforcer *e, struct talk *t);
void connect_end(struct enforcer *e, struct talk *t, int error_number);
enum talk_next bind_act(struct enforcer *e, struct talk *t);
/* Connects the duplicate to t->address without waiting. Returns 0, -EINPROGRESS (call again when there is room), or -errno. */
int connect_step(struct talk *t);
/* Whether the kernel will find t->address too short for its family (EINVAL). */
bool talk_address_is_short(const struct talk *t);
/* connect found acting by a new enforcer: its description may still have our O_NONBLOCK. */
void connect_recover(const struct call *call);

/* ---- message.c ---- */

#define MESSAGE_PARTS_MAX 1024	/* UIO_MAXIOV */

struct message {			/* a private copy of one message, but for its data, which stays where it is until read */
	struct sockaddr_storage name;
	socklen_t name_bytes;
	bool named;			/* an address was given (its length may be 0) */
	int flags;
	uint64_t nr_parts, total;	/* iovecs, their bytes */
	struct iovec parts[MESSAGE_PARTS_MAX];	/* addresses are the caller's */
	size_t control_bytes;
	_Alignas(struct cmsghdr) char control[16384];
};

/* Message number index of a sendto, sendmsg or sendmmsg. Returns 0, or -errno as the kernel would say it. */
int message_read(struct target *t, const struct seccomp_data *data, unsigned index, struct message *ret_message);
/* At most max bytes of its data from offset on. Returns how many, or -EFAULT. */
ssize_t message_read_data(struct target *t, const struct message *m, uint64_t offset, char *ret_data, size_t max);
/* sendmmsg: how much of message number index was sent, told to the caller. 0 or -EFAULT. */
int message_write_length(pid_t tid, const struct seccomp_data *data, unsigned index, unsigned bytes);
/* Flags of a send, wherever this call has them. */
int message_flags(const struct seccomp_data *data);
/* How many messages the call has. */
unsigned message_count(const struct seccomp_data *data);
/* Whether every control message is one that cannot change where an IP message goes. */
bool message_controls_stay(const struct message *m);
/* The descriptors its SCM_RIGHTS messages name, at most max of them. Returns how many, -EINVAL, or -ETOOMANYREFS. */
int message_passed(const struct message *m, int *ret_fds, unsigned max);

/* ---- send.c ---- */

enum talk_next send_act(struct enforcer *e, struct talk *t);
void send_end(struct enforcer *e, struct talk *t, int error_number);
/* How far the call is: messages of a batch, else bytes. */
int64_t send_progress(const struct talk *t);
/* The slot says so: that is the answer should this enforcer die. */
void send_say_progress(const struct talk *t);
/* Whether this send waits for room, rather than to say that there is none. */
bool send_waits(struct talk *t, const struct message *m, int error_number);
/* Judges where m goes, and records. Returns 0, or -error_number. */
int send_judge_name(struct enforcer *e, struct talk *t, const struct message *m, int error_number);

/* ---- send_hand.c ---- */

/* data: room for HAND_DATA_MAX bytes. Returns 0 when the message is done, as far as it goes; -errno; or what it waits for (enum talk_next). */
int send_by_hand(struct enforcer *e, struct talk *t, const struct message *m, char *data);

/* ---- waits.c ---- */

int waits_start(struct enforcer *e);
/* Runs t->act until it has answered, on t itself as long as it can; copies t when it must wait. t->source.fd is consumed. */
void talk_run(struct enforcer *e, struct talk *t);
/* t waits, as it says itself; it is copied, and t->source.fd consumed. */
void talk_wait(struct enforcer *e, struct talk *t);
/* For whom the hand has answered. NULL when nobody waits for it any more. */
struct talk *talk_of_job(struct enforcer *e, uint64_t job);
/* Every call that waits for this hand goes on with EIO. */
void talks_lost(struct enforcer *e, const struct hand *hand);
/* A waiting call goes on. */
void talk_resume(struct enforcer *e, struct talk *t);

/* ---- hands.c ---- */

/* Asks the hand of the call's agent. fds: the socket first. Returns 0, -EAGAIN when it has no room now, or -errno. */
int hand_ask(struct enforcer *e, struct talk *t, struct hand_request *request, const void *data, const int *fds, unsigned nr_fds);
/* The folder a relative UNIX address of this caller starts from, or -errno. */
int hand_folder(const struct talk *t);
