/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch can see of and do to other processes, and what of it stays when the launch ends. */
#include "attack.h"

#include <dirent.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* ---- descriptors ---- */

static void own_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int own = dirfd(folder);

	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' && atoi(entry->d_name) != own)
			printf("fd %s\n", entry->d_name);
}

static void try_open(pid_t pid, const char *what, int flags)
{
	char path[128], byte;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	fd = open(path, flags);
	/* Of these two the kernel asks who reads, not who opens. */
	if (fd >= 0 && (strcmp(what, "stack") == 0 || strcmp(what, "syscall") == 0) && read(fd, &byte, 1) != 1) {
		close(fd);
		return;
	}
	if (fd >= 0)
		printf("opened %s\n", path);
	close(fd);
}

/* Everything of every process that is not of this launch's own descent, and of its own keeper. */
static void look_around(void)
{
	static const char *const names[] = { "mem", "environ", "maps", "root/etc/passwd", "cwd", "ns/mnt", "exe", "auxv", "stack", "syscall" };
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	pid_t pid;

	while ((entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid <= 0 || pid == getpid())
			continue;
		for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			try_open(pid, names[i], O_RDONLY);
		try_open(pid, "mem", O_RDWR);
		for (int fd = 0; fd < 64; fd++) {
			char path[64];

			snprintf(path, sizeof(path), "fd/%d", fd);
			try_open(pid, path, O_RDONLY | O_NONBLOCK);
			snprintf(path, sizeof(path), "fdinfo/%d", fd);
			try_open(pid, path, O_RDONLY);
		}
	}
	printf("looked\n");
}

/* ---- acts on others: everything that is not of this launch's own descent must be refused ---- */

static bool is_mine(pid_t pid)
{
	return pid == getpid();
}

static void act_on(pid_t pid)
{
	union sigval value = { 0 };
	struct rlimit limit = { 1, 1 };
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	cpu_set_t cpus = { { 1 } };
	struct {
		const char *name;
		bool done;
	} acts[] = {
		{ "kill-0", kill(pid, 0) == 0 },
		{ "kill-stop", kill(pid, SIGSTOP) == 0 },
		{ "kill-kill", kill(pid, SIGKILL) == 0 },
		{ "tkill", syscall(SYS_tkill, pid, SIGKILL) == 0 },
		{ "tgkill", syscall(SYS_tgkill, pid, pid, SIGKILL) == 0 },
		{ "sigqueue", sigqueue(pid, SIGKILL, value) == 0 },
		{ "kill-group", pid > 1 && kill(-pid, SIGKILL) == 0 },
		{ "pidfd", pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0 },
		{ "prlimit", prlimit(pid, RLIMIT_NOFILE, &limit, NULL) == 0 },
		{ "prlimit-cpu", prlimit(pid, RLIMIT_CPU, &limit, NULL) == 0 },
		{ "setpriority", setpriority(PRIO_PROCESS, (id_t)pid, 19) == 0 },
		{ "setaffinity", sched_setaffinity(pid, sizeof(cpus), &cpus) == 0 },
	};

	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (acts[i].done)
			printf("done %s %d\n", acts[i].name, pid);
	close(pidfd);
}

static void own_by_owner(pid_t pid)
{
	int p[2];

	if (pipe(p) < 0)
		die("pipe");
	fcntl(p[0], F_SETSIG, SIGKILL);
	if (fcntl(p[0], F_SETOWN, pid) == 0 && fcntl(p[0], F_SETFL, O_ASYNC | O_NONBLOCK) == 0 && write(p[1], "x", 1) == 1)
		usleep(1000);
}

static void act_on_all(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while ((entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid <= 0 || is_mine(pid))
			continue;
		act_on(pid);
		own_by_owner(pid);
	}
	signal(SIGTERM, SIG_IGN);
	if (kill(-1, SIGTERM) == 0)
		printf("done kill-all -1\n");
	printf("acted\n");
}

/* ---- a tree that wants to stay ---- */

static void stay(const char *mark)
{
	prctl(PR_SET_NAME, mark, 0, 0, 0);
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	for (;;)
		pause();
}

static void plant_tree(const char *mark)
{
	int ready[2], count = 0;
	char byte;

	if (pipe(ready) < 0)
		die("pipe");
	for (int i = 0; i < 4; i++) {
		if (fork() != 0)
			continue;
		setsid();
		if (i & 1)
			prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
		for (int j = 0; j < 2; j++)
			if (fork() == 0) {
				setsid();
				if (fork() != 0)
					_exit(0); /* an orphan: a double fork */
				if (write(ready[1], "r", 1) != 1)
					_exit(1);
				stay(mark);
			}
		if (write(ready[1], "r", 1) != 1)
			_exit(1);
		stay(mark);
	}
	while (count < 12 && read(ready[0], &byte, 1) == 1)
		count++;
	prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
	printf("planted %d\n", count);
	fflush(stdout);
	stay(mark);
}

static void fork_bomb(int limit)
{
	struct rlimit processes = { (rlim_t)limit, (rlim_t)limit };

	setrlimit(RLIMIT_NPROC, &processes);
	printf("bomb\n");
	fflush(stdout);
	for (;;)
		if (fork() < 0)
			sched_yield();
}

/* nr processes that do the calls we mediate as fast as they can; each says how many worked and how many failed. */
static void hammer(int nr, int seconds, bool count)
{
	unsigned long *done = map_shared(4096), *failed = done + 1, *killed = done + 2;
	uint64_t end = now_ms() + (uint64_t)seconds * 1000;

	for (int i = 0; i < nr; i++) {
		if (fork() != 0)
			continue;
		while (now_ms() < end) {
			int fd = open("/workspace/hammer", O_WRONLY | O_CREAT, 0600), status = -1;
			pid_t pid;

			close(fd);
			__atomic_add_fetch(fd >= 0 ? done : failed, 1, __ATOMIC_RELAXED);
			if (!count)
				continue;
			fd = open("/srv/open/target", O_WRONLY);
			if (fd >= 0) {
				printf("ESCAPE: opened /srv/open/target\n");
				fflush(stdout);
			}
			pid = fork();
			if (pid == 0) {
				execl("/srv/allow/ok", "ok", (char *)NULL);
				_exit(9);
			}
			if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
				__atomic_add_fetch(done, 1, __ATOMIC_RELAXED);
			else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
				__atomic_add_fetch(killed, 1, __ATOMIC_RELAXED);
			else
				__atomic_add_fetch(failed, 1, __ATOMIC_RELAXED);
		}
		_exit(0);
	}
	while (wait(NULL) > 0)
		;
	printf("hammered done=%lu failed=%lu killed=%lu\n", *done, *failed, *killed);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "descriptors") == 0)
		own_descriptors();
	else if (strcmp(what, "look") == 0)
		look_around();
	else if (strcmp(what, "act") == 0)
		act_on_all();
	else if (strcmp(what, "signal") == 0 && argc == 3)
		report("signal", kill(atoi(argv[2]), SIGTERM));
	else if (strcmp(what, "plant") == 0 && argc == 3)
		plant_tree(argv[2]);
	else if (strcmp(what, "bomb") == 0 && argc == 3)
		fork_bomb(atoi(argv[2]));
	else if (strcmp(what, "hammer") == 0 && argc == 4)
		hammer(atoi(argv[2]), atoi(argv[3]), true);
	else if (strcmp(what, "hammer-opens") == 0 && argc == 4)
		hammer(atoi(argv[2]), atoi(argv[3]), false);
	else
		return 2;
	return 0;
}
