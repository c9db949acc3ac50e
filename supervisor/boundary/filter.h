/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which system calls reach the enforcer, and the BPF program that says so.
 *
 * One table drives both the program (built with libseccomp) and the enforcer's dispatch. Every switch in the BPF on an argument the
 * kernel takes as int compares its low 32 bits only; pointers and longs are compared in both halves.
 */
#pragma once

#include "supervisor/base/err.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>

enum call_class {
	CALL_ALLOWED,		/* not notified */
	CALL_EXEC,		/* execve, execveat */
	CALL_OPEN,		/* open, openat, creat with write, create or truncate flags; openat2 always (its flags are in memory) */
	CALL_PATH,		/* changes what a path names: unlink, rename, link, mkdir, mknod, chmod, chown, truncate, xattr, times */
	CALL_PROCESS,		/* acts on another process: signals, limits, priorities */
	CALL_TRACE,		/* CALL_PROCESS in mode off, CALL_REFUSED elsewhere */
	CALL_CONNECT,
	CALL_BIND,
	CALL_SEND,		/* sendto with an address; sendmsg and sendmmsg always (their address is in memory) */
	CALL_NOTED,		/* recorded, then continued: registers alone say all there is to say */
	CALL_REFUSED,		/* notified, answered with error_number, recorded: registers alone decided */
};

struct call_rule {
	int nr;
	const char *name;
	enum call_class class;
	int error_number;	/* CALL_REFUSED, CALL_TRACE */
	const char *why;	/* CALL_REFUSED, CALL_TRACE, CALL_NOTED: one sentence for the record */
};

enum filter_kind { FILTER_SAFE, FILTER_OFF, FILTER_READS, FILTER_COUNT };

struct filter_program {
	struct sock_filter *code;	/* owned, malloc */
	unsigned len;			/* instructions */
};

/*
 * FILTER_OFF: the program for mode off: execs, write-opens and connects are notified to be recorded, nothing is refused beyond what would reach Cordon.
 * FILTER_READS: as FILTER_SAFE, and opens for reading are notified as well.
 * Foreign ABIs (i386, x32) are killed (safe modes and off alike). clone3 is ENOSYS without notification in safe modes (its flags are in
 * memory; C libraries fall back to clone). Returns 0 or -errno.
 */
int filter_build(enum filter_kind kind, struct filter_program *ret_program, struct err *ret_error);
void filter_free(struct filter_program *program);

/*
 * The rule a notified call came by, found by its number and its registers: one number can have several rules (a packet socket is
 * EPERM, a vsock is EAFNOSUPPORT). Never NULL: what no row explains yields a CALL_REFUSED rule with EPERM.
 */
const struct call_rule *filter_rule_for(const struct seccomp_data *call);
/* The first rule of this number, whatever the registers. Never NULL, as above. */
const struct call_rule *filter_rule(int nr);
