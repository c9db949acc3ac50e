/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exec from its call to its first instruction: what was asked, what the kernel must load for it, and whether it did.
 *
 * exec_read() makes a private copy and resolves it; exec_seize() attaches the tracer before the call is continued; exec_verify() compares the
 * loaded image with the copy while the process stands at PTRACE_EVENT_EXEC, before its first instruction. All by the one thread that traces.
 */
#pragma once

#include "supervisor/base/buf.h"
#include "supervisor/boundary/process.h"
#include "supervisor/boundary/resolve.h"
#include "supervisor/boundary/target.h"

#include <linux/seccomp.h>

#define EXEC_INTERPRETERS_MAX 5	/* the kernel's own limit for #! chains */

struct exec_identity {
	dev_t dev;
	ino_t ino;
	struct timespec changed;	/* ctime: content and ownership cannot change without it */
	off_t size;
};

void exec_identity_of(const struct stat *st, struct exec_identity *ret);
bool exec_identity_same(const struct exec_identity *a, const struct exec_identity *b);
/* Whether a later change will show in the identity: what is read of the file may be remembered by it. */
bool exec_identity_settled(const struct exec_identity *identity);

struct exec_call {
	pid_t tid;
	int root_fd;			/* as resolve_under() takes it, set by the caller before exec_read() */
	struct buf path;		/* as asked, with its NUL */
	struct target_vector argv, env;	/* as asked */
	struct resolved file;		/* what path names; its fd is held until the end, so that the inode is not reused */
	bool script;
	bool closed;			/* it failed behind a folder that the caller perhaps may not search: see exec_read() */
	char interpreter[RESOLVE_PATH_MAX];	/* canonical, of the first #!; "" when none */
	struct buf interpreters;	/* all of them, one after another, with their NULs; the last is the one that is loaded */
	unsigned nr_interpreters;
	struct exec_identity program;	/* of the file named */
	struct exec_identity image;	/* of what the kernel loads: the file, or the last interpreter */
	struct buf final_argv;		/* what the new program's argv must be, byte by byte */
	const char **argv_pointers;	/* NULL-terminated views into argv.strings and env.strings */
	const char **env_pointers;
	const char **final_pointers;	/* into final_argv, of a script */
};

/*
 * Reads the execve or execveat in request and resolves it. Returns 0, or the -errno the call should fail with: what the kernel would have said
 * (-ENOENT, -EACCES, -ENOEXEC is left to it, -ELOOP, -E2BIG, -EFAULT). With closed set, only the kernel may say which it is.
 */
int exec_read(const struct seccomp_notif *request, struct target *target, struct exec_call *ret_call);

/*
 * Attaches to the caller, with EXITKILL so that an unverified program dies with us, and asks for a stop, so that a failed exec is seen too.
 * Returns 0 or -errno (-EPERM: traced by somebody else).
 */
int exec_seize(pid_t tid);

/*
 * pid stands at PTRACE_EVENT_EXEC. Returns 0 with what /proc says of it when image, argv and environment are what exec_read() judged, else
 * -EKEYREJECTED with one sentence of what differs in ret_why.
 */
int exec_verify(pid_t pid, const struct exec_call *call, struct process_facts *ret_facts, char *ret_why, size_t why_bytes);

/* The path of what a verified call has loaded: the file, or a script's last interpreter. */
const char *exec_image_path(const struct exec_call *call);

/* Makes an exec_call ready for reuse: closes, keeps the memory. */
void exec_reset(struct exec_call *call);
