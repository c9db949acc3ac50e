/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Not an attack: what the scripts stop and kill Cordon's own processes with, at an exact point. Run by the host, as root.
 *
 * debugger freeze TID                              stops one thread alone, for as long as this runs
 * debugger kill PID NR entry|exit NTH [ARG VALUE]  kills PID with the NTH call of that number (whose argument ARG is VALUE), before or after it
 */
#include "attack.h"

#include <sys/ptrace.h>
#include <sys/user.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP 128
#endif

static int stopped(pid_t tid)
{
	int status;

	while (waitpid(tid, &status, __WALL) < 0)
		if (errno != EINTR)
			die("waitpid");
	if (!WIFSTOPPED(status)) {
		printf("gone\n");
		exit(1);
	}
	return status;
}

static void take(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0)
		die("PTRACE_SEIZE");
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		die("PTRACE_INTERRUPT");
	while (stopped(tid) >> 16 != PTRACE_EVENT_STOP)
		ptrace(PTRACE_CONT, tid, 0, 0);
}

static void freeze(pid_t tid)
{
	take(tid);
	printf("ready\n");
	pause(); /* the end of a tracer lets go */
}

/* Which of both this stop is, the kernel says: counting in turns goes wrong where we came in the middle of a call. */
static bool is_call(pid_t pid, bool at_exit, unsigned long nr, int arg, unsigned long long value)
{
	struct __ptrace_syscall_info info;
	struct user_regs_struct r;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) < 0 || ptrace(PTRACE_GETREGS, pid, 0, &r) < 0)
		die("PTRACE_GETREGS");
	if (info.op != (at_exit ? PTRACE_SYSCALL_INFO_EXIT : PTRACE_SYSCALL_INFO_ENTRY))
		return false;
	const unsigned long long args[] = { r.rdi, r.rsi, r.rdx, r.r10, r.r8, r.r9 };

	return r.orig_rax == nr && (arg < 0 || (args[arg] & 0xffffffff) == (value & 0xffffffff));
}

static void kill_at(pid_t pid, unsigned long nr, bool at_exit, int nth, int arg, unsigned long long value)
{
	take(pid);
	printf("ready\n");
	for (;;) {
		int status, signal_number = 0;

		ptrace(PTRACE_SYSCALL, pid, 0, signal_number);
		status = stopped(pid);
		while (WSTOPSIG(status) != (SIGTRAP | 0x80)) { /* a signal on its way, which it gets */
			ptrace(PTRACE_SYSCALL, pid, 0, status >> 16 ? 0 : WSTOPSIG(status));
			status = stopped(pid);
		}
		if (!is_call(pid, at_exit, nr, arg, value) || --nth > 0)
			continue;
		kill(pid, SIGKILL);
		printf("killed\n");
		return;
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "freeze") == 0 && argc == 3)
		freeze(atoi(argv[2]));
	else if (strcmp(what, "kill") == 0 && argc >= 6)
		kill_at(atoi(argv[2]), strtoul(argv[3], NULL, 0), strcmp(argv[4], "exit") == 0, atoi(argv[5]), argc == 8 ? atoi(argv[6]) : -1,
			argc == 8 ? strtoull(argv[7], NULL, 0) : 0);
	else
		return 2;
	return 0;
}
