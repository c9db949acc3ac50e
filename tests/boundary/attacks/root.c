/* SPDX-License-Identifier: Apache-2.0 */
/* Mode off, as root: what a process with all the rights of the container can do to Cordon's. */
#include "attack.h"

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>

static void on_process(pid_t pid)
{
	struct rlimit limit = { 1, 1 };
	cpu_set_t cpus = { { 1 } };
	union sigval value = { 0 };
	char byte, path[64];
	struct iovec local = { &byte, 1 }, remote = { (void *)0x400000, 1 };
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), p[2];
	long r;

	report("kill", kill(pid, SIGSTOP));
	report("kill-group", kill(-pid, SIGSTOP));
	report("tkill", syscall(SYS_tkill, pid, SIGSTOP));
	report("tgkill", syscall(SYS_tgkill, pid, pid, SIGSTOP));
	report("sigqueue", sigqueue(pid, SIGSTOP, value));
	report("pidfd", syscall(SYS_pidfd_send_signal, pidfd, SIGSTOP, NULL, 0));
	report("prlimit", prlimit(pid, RLIMIT_NOFILE, &limit, NULL));
	report("prlimit-cpu", prlimit(pid, RLIMIT_CPU, &limit, NULL));
	report("affinity", sched_setaffinity(pid, sizeof(cpus), &cpus));
	r = ptrace(PTRACE_SEIZE, pid, 0, 0);
	report("seize", r);
	if (r == 0)
		ptrace(PTRACE_DETACH, pid, 0, 0);
	report("attach", ptrace(PTRACE_ATTACH, pid, 0, 0));
	report("vm-read", process_vm_readv(pid, &local, 1, &remote, 1, 0));
	report("vm-write", process_vm_writev(pid, &local, 1, &remote, 1, 0));
	report_fd("getfd", (int)syscall(SYS_pidfd_getfd, pidfd, 3, 0));
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	report_fd("mem", open(path, O_RDWR));
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	report_fd("oom", open(path, O_WRONLY));
	snprintf(path, sizeof(path), "/proc/%d/task/%d/mem", pid, pid);
	report_fd("task-mem", open(path, O_RDWR));
	if (pipe(p) < 0)
		die("pipe");
	report("owner", fcntl(p[0], F_SETOWN, pid));
	printf("tried 18\n");
}

/* A signal to one thread is one to its process. */
static void on_threads(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		pid_t tid = atoi(entry->d_name);

		if (tid <= 0)
			continue;
		report("thread-tkill", syscall(SYS_tkill, tid, SIGSTOP));
		report("thread-seize", ptrace(PTRACE_SEIZE, tid, 0, 0));
		report("thread-kill", kill(tid, SIGSTOP));
		snprintf(path, sizeof(path), "/proc/%d/mem", tid);
		report_fd("thread-mem", open(path, O_RDWR));
	}
}

/* The keeper is our parent. */
static void traced(void)
{
	long r = ptrace(PTRACE_TRACEME, 0, 0, 0);

	raise(SIGTRAP);
	report("traced", r);
}

static void debugs(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	if (!WIFSTOPPED(status) || ptrace(PTRACE_CONT, pid, 0, 0) < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		die("debugs");
	report("debugs", 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "processes") == 0 && argc == 3) {
		on_process(atoi(argv[2]));
		on_threads(atoi(argv[2]));
	} else if (strcmp(what, "traced") == 0)
		traced();
	else if (strcmp(what, "debugs") == 0)
		debugs();
	else
		return 2;
	return 0;
}
