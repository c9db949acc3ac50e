/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs texts in real shells where nothing but stand-ins can run, and says which programs they ran. Root; Linux namespaces.
 *
 * usage: shell_jail ROOT   (a folder made by shell_jail.sh: bin/ with shells and stand-ins, log/, w/)
 * stdin: "SHELL BYTES\n" and the text, again and again (SHELL: bash, dash, or sh for bash called by that name). stdout: a line of JSON
 * each: [[ARGUMENT,…],…]. Every text gets a fresh process, mount, network and IPC namespace, an unprivileged user, /w as an empty
 * working folder and a second of time.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER 61234
#define MILLISECONDS 1000

static void die(const char *what)
{
	perror(what);
	_exit(1);
}

static void limit(int what, rlim_t value)
{
	struct rlimit l = { value, value };

	if (setrlimit(what, &l) < 0)
		die("setrlimit");
}

static void run_shell(const char *shell, char *text)
{
	char *name = strcmp(shell, "sh") == 0 ? (char[]){ "sh" } : strcmp(shell, "bash") == 0 ? (char[]){ "bash" } : (char[]){ "dash" };
	char *const arguments[] = { name, (char[]){ "-c" }, text, (char[]){ "name" }, (char[]){ "one" }, (char[]){ "two words" }, NULL };
	char *const environment[] = {
		(char[]){ "PATH=/bin" }, (char[]){ "HOME=/w" }, (char[]){ "X=x y" }, (char[]){ "N=3" },
		(char[]){ "BASH_FUNC_command_not_found_handle%%=() {  ( builtin exec -a \"$1\" /bin/stand-in \"${@:2}\" )\n}" }, NULL
	};

	limit(RLIMIT_CPU, 2);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 1 << 20);
	limit(RLIMIT_NPROC, 64);
	limit(RLIMIT_AS, 512u << 20);
	if (setgroups(0, NULL) < 0 || setgid(USER) < 0 || setuid(USER) < 0)
		die("setuid");
	execve(strcmp(shell, "dash") == 0 ? "/bin/dash" : "/bin/bash", arguments, environment);
	die("execve");
}

static volatile sig_atomic_t late;

static void on_alarm(int number)
{
	(void)number;
	late = 1;
}

/* The first process of the namespace: when it ends, everything the text left behind does. */
static int run_init(const char *shell, char *text)
{
	struct sigaction action = { .sa_handler = on_alarm };
	int fd;
	pid_t child;

	if (mount("none", "/w", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,nr_inodes=200,mode=1777") < 0 || chdir("/w") < 0)
		die("mount");
	fd = open("/dev/null", O_RDWR);
	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 || dup2(fd, 2) < 0)
		die("/dev/null");
	child = fork();
	if (child < 0)
		die("fork");
	if (child == 0)
		run_shell(shell, text);
	sigaction(SIGALRM, &action, NULL);
	alarm(MILLISECONDS / 1000);
	while (!late && (wait(NULL) >= 0 || errno == EINTR))
		;
	return 0;
}

static void put(unsigned char c)
{
	if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
		printf("\\u%04x", c);
	else
		putchar(c);
}

static void report(int fd)
{
	static char log[1 << 22];
	ssize_t len = pread(fd, log, sizeof(log), 0), i;
	bool comma = false, inside = false;

	putchar('[');
	for (i = 0; i < len; i++) {
		if (!inside)
			fputs(comma ? ",[" : "[", stdout);
		if (log[i] == '\0') {
			putchar(']');
			comma = true;
			inside = false;
			continue;
		}
		fputs(inside ? ",\"" : "\"", stdout);
		inside = true;
		for (i++; i < len && log[i]; i++)
			put((unsigned char)log[i]);
		putchar('"');
	}
	puts(inside ? "]]" : "]");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char shell[8];
	size_t len;
	int log;

	if (argc != 2 || unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || chroot(argv[1]) < 0 || chdir("/") < 0)
		die("cannot make the jail");
	log = open("/log/ran", O_RDWR | O_CREAT | O_CLOEXEC, 0622);
	if (log < 0 || fchmod(log, 0622) < 0)
		die("/log/ran");
	while (scanf("%7s %zu", shell, &len) == 2 && getchar() == '\n') {
		char *text = calloc(1, len + 1);
		long child;

		if (!text || fread(text, 1, len, stdin) != len || ftruncate(log, 0) < 0)
			die("cannot read a text");
		fflush(stdout);
		child = syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | SIGCHLD, 0, 0, 0, 0);
		if (child < 0)
			die("clone");
		if (child == 0)
			_exit(run_init(shell, text));
		while (waitpid((pid_t)child, NULL, 0) < 0 && errno == EINTR)
			;
		report(log);
		free(text);
	}
	return 0;
}
