/* SPDX-License-Identifier: Apache-2.0 */
/* Odd ways to say what is asked for, odd states to ask from, and odd things to do to files. */
#include "attack.h"

#include <linux/fs.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif

static const char *exec_result(int status)
{
	return WIFSIGNALED(status) ? "killed" : status == 0 ? "ran" : strerrorname_np(WEXITSTATUS(status));
}

/* Memory that the kernel reads for its owner and for nobody else. */
static char *secret_memory(void)
{
	int fd = (int)syscall(SYS_memfd_secret, 0);
	char *memory;

	if (fd < 0 || ftruncate(fd, 4096) < 0)
		return NULL;
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static void secrets(const char *target, const char *address, int port)
{
	char *memory = secret_memory();
	struct sockaddr_in *to = (void *)(memory + 1024);
	int status, s = socket(AF_INET, SOCK_STREAM, 0);
	pid_t pid;

	if (!memory) {
		printf("secret none\n");
		return;
	}
	strcpy(memory, target);
	report_fd("open", open(memory, O_WRONLY));
	report("chmod", chmod(memory, 0777));
	report("truncate", truncate(memory, 0));
	strcpy(memory, "/workspace/of-secret");
	report_fd("open-own", open(memory, O_WRONLY | O_CREAT, 0600));
	*to = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	inet_pton(AF_INET, address, &to->sin_addr);
	report("connect", connect(s, (struct sockaddr *)to, sizeof(*to)));
	s = socket(AF_INET, SOCK_DGRAM, 0);
	report("sendto", sendto(s, "x", 1, 0, (struct sockaddr *)to, sizeof(*to)));
	strcpy(memory, "/srv/deny/rm");
	pid = fork();
	if (pid == 0) {
		execl(memory, "ok", (char *)NULL);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	printf("exec %s\n", exec_result(status));
}

/* The leader is gone; the last thread execs. */
static void *exec_late(void *program)
{
	usleep(50000);
	execl(program, "ok", (char *)NULL);
	_exit(errno);
}

static void leaderless(char *program)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t thread;

		pthread_create(&thread, NULL, exec_late, program);
		syscall(SYS_exit, 0); /* this thread alone */
	}
	waitpid(pid, &status, 0);
	printf("leaderless %s\n", exec_result(status));
}

/* A child that stops itself between vfork and exec, and is continued by others. */
static void stopped_vfork(char *program)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		pid_t child = vfork();

		if (child == 0) {
			syscall(SYS_kill, syscall(SYS_getpid), SIGSTOP);
			execl(program, "ok", (char *)NULL);
			_exit(errno);
		}
		waitpid(child, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 77);
	}
	for (int i = 0; i < 6000 && waitpid(pid, &status, WNOHANG) == 0; i++) {
		char path[64], name[64];
		FILE *children;
		int child = 0;

		snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
		children = fopen(path, "re");
		if (children && fscanf(children, "%d", &child) == 1)
			kill(child, SIGCONT);
		if (children)
			fclose(children);
		(void)name;
		usleep(10000);
	}
	printf("stopped-vfork %s\n", exec_result(status));
}

static void path_fd(const char *program)
{
	int fd = open(program, O_PATH), status;
	pid_t pid = fork();

	if (pid == 0) {
		char *const argv[] = { (char *)(uintptr_t)"ok", NULL };

		syscall(SYS_execveat, fd, "", argv, NULL, 0x1000 /* AT_EMPTY_PATH */);
		_exit(errno);
	}
	waitpid(pid, &status, 0);
	printf("path-fd %s\n", exec_result(status));
}

static void files(const char *target)
{
	int fd = open(target, O_RDONLY), own = open("/workspace/odd", O_RDWR | O_CREAT, 0600), watch = inotify_init1(IN_CLOEXEC);
	int flags = FS_IMMUTABLE_FL;
	char *memory;

	report("setflags", ioctl(fd, FS_IOC_SETFLAGS, &flags));
	report("clone-into", ioctl(fd, FICLONE, own));
	report("dedupe", ioctl(fd, FICLONERANGE, own));
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	report("mprotect", mprotect(memory, 4096, PROT_READ | PROT_WRITE));
	report("copy-range", syscall(SYS_copy_file_range, own, NULL, fd, NULL, 16, 0));
	report("punch", fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4));
	report("link", linkat(fd, "", AT_FDCWD, "/workspace/odd-link", AT_EMPTY_PATH));
	report("watch-log", inotify_add_watch(watch, "/var/lib/cordon/audit", IN_ALL_EVENTS));
	report("watch-run", inotify_add_watch(watch, "/run/cordon/launch.sock", IN_ALL_EVENTS));
	report_fd("userfaultfd-device", open("/dev/userfaultfd", O_RDWR));
	report_fd("core-filter-of-1", open("/proc/1/coredump_filter", O_WRONLY));
	report_fd("timerslack-of-1", open("/proc/1/timerslack_ns", O_WRONLY));
	report_fd("oom-of-1", open("/proc/1/oom_score_adj", O_WRONLY));
	report_fd("uevent-helper", open("/sys/kernel/uevent_helper", O_WRONLY));
	report_fd("modprobe", open("/proc/sys/kernel/modprobe", O_WRONLY));
	report_fd("binfmt", open("/proc/sys/fs/binfmt_misc/register", O_WRONLY));
	report_fd("release-agent", open("/sys/fs/cgroup/release_agent", O_WRONLY));
	report_fd("pid-max", open("/proc/sys/kernel/pid_max", O_WRONLY));
}

/* What this process says of itself is not what is recorded. */
static void spoof(void)
{
	prctl(PR_SET_NAME, "cordon-keeper", 0, 0, 0);
	unlink("/workspace/spoof");
	report_fd("spoofed", open("/srv/open/target", O_WRONLY));
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "secrets") == 0 && argc == 5)
		secrets(argv[2], argv[3], atoi(argv[4]));
	else if (strcmp(what, "execs") == 0 && argc == 3) {
		leaderless(argv[2]);
		stopped_vfork(argv[2]);
		path_fd(argv[2]);
	} else if (strcmp(what, "files") == 0 && argc == 3)
		files(argv[2]);
	else if (strcmp(what, "spoof") == 0)
		spoof();
	else
		return 2;
	return 0;
}
