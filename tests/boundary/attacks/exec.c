/* SPDX-License-Identifier: Apache-2.0 */
/* Execs: races on path, arguments, environment and working folder; odd calls whose errno must be the kernel's; threads. */
#include "attack.h"

#include <limits.h>
#include <sched.h>
#include <spawn.h>
#include <sys/resource.h>

extern char **environ;

/* ---- races ---- */

struct outcome {
	unsigned tries, allowed, denied, refused, killed, other;
};

static void count(struct outcome *o, int pipe_fd, int status)
{
	char letter = 0;

	o->tries++;
	if (read(pipe_fd, &letter, 1) == 1) {
		if (letter == 'd')
			o->denied++;
		else
			o->allowed++;
	} else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
		o->killed++;
	} else if (WIFEXITED(status) && WEXITSTATUS(status) == EACCES) {
		o->refused++;
	} else {
		o->other++;
	}
}

static void print(const char *name, const struct outcome *o)
{
	printf("%s tries=%u wins=%u ran=%u refused=%u caught=%u other=%u\n", name, o->tries, o->denied, o->allowed, o->refused, o->killed, o->other);
}

static int make_pipe(void)
{
	int p[2];

	if (pipe2(p, O_NONBLOCK) < 0 || dup2(p[1], 5) < 0)
		die("pipe");
	close(p[1]);
	return p[0];
}

/* What is raced is one eight-byte word in shared memory; everything else of the exec stands still. */
struct stage {
	char path[64] __attribute__((aligned(8)));
	char argument[64] __attribute__((aligned(8)));
	char variable[64] __attribute__((aligned(8)));
	uint64_t *word;
	struct flip flip;
};

static void set_stage(struct stage *s, const char *what)
{
	strcpy(s->path, "/srv/allow/ok");
	strcpy(s->argument, "-u");
	strcpy(s->variable, "AA_PRELOAD=/workspace/no.so");
	if (strcmp(what, "path") == 0) { /* "/srv/..a" is not eight bytes; the name behind the last slash is raced: ok against rm */
		strcpy(s->path, "/srv/pa/");
		s->word = (uint64_t *)(void *)(s->path + 8);
		memcpy(&s->flip.values[0], "ok\0\0\0\0\0\0", 8);
		memcpy(&s->flip.values[1], "rm\0\0\0\0\0\0", 8);
	} else if (strcmp(what, "argv") == 0) {
		strcpy(s->path, "/srv/allow/date");
		s->word = (uint64_t *)(void *)s->argument;
		memcpy(&s->flip.values[0], "-u\0\0\0\0\0\0", 8);
		memcpy(&s->flip.values[1], "-s\0\0\0\0\0\0", 8);
	} else {
		s->word = (uint64_t *)(void *)s->variable;
		memcpy(&s->flip.values[0], "AA_PRELO", 8);
		memcpy(&s->flip.values[1], "LD_PRELO", 8);
	}
	*s->word = s->flip.values[0];
	s->flip.word = s->word;
}

static struct stage *stage;

static int exec_stage(void *unused)
{
	char *argv[] = { stage->path, stage->argument, NULL }, *env[] = { stage->variable, NULL };

	(void)unused;
	execve(stage->path, argv, env);
	_exit(errno == EACCES ? EACCES : 98);
}

/* A sibling thread of the execing one changes the word: the thread group dies with the exec, so a new one is made for every try. */
static int exec_beside_thread(void)
{
	pthread_t thread;

	stage->flip.stop = 0;
	if (pthread_create(&thread, NULL, flip_run, &stage->flip) != 0)
		_exit(97);
	return exec_stage(NULL);
}

static void race(const char *what, const char *how, unsigned ms)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	struct outcome o = { 0 };
	uint64_t end = now_ms() + ms;
	int pipe_fd = make_pipe(), status;
	pid_t peer = 0, pid;
	pthread_t thread;
	char name[64];

	stage = map_shared(sizeof(*stage));
	set_stage(stage, what);
	if (strcmp(how, "shm") == 0 && (peer = fork()) == 0) {
		flip_run(&stage->flip);
		_exit(0);
	}
	if (strcmp(how, "vm") == 0)
		pthread_create(&thread, NULL, flip_run, &stage->flip);
	while (now_ms() < end) {
		if (strcmp(how, "vm") == 0) /* shares all memory with the flipping thread, but is no thread of its group */
			pid = clone(exec_stage, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		else if ((pid = fork()) == 0)
			strcmp(how, "thread") == 0 ? exec_beside_thread() : exec_stage(NULL);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			die("child");
		count(&o, pipe_fd, status);
	}
	stage->flip.stop = 1;
	if (peer)
		kill(peer, SIGKILL);
	snprintf(name, sizeof(name), "%s-%s", what, how);
	print(name, &o);
}

/* /srv/cwd-a/x leads to an allowed program, /srv/cwd-b/x to a refused one; another thread changes the working folder. */
static void *flip_cwd(void *unused)
{
	(void)unused;
	for (unsigned i = 0;; i++)
		if (chdir(i & 1 ? "/srv/cwd-a" : "/srv/cwd-b") < 0)
			_exit(97);
	return NULL;
}

static int exec_here(void *unused)
{
	char *argv[] = { stage->path, NULL }, *env[] = { NULL };

	(void)unused;
	execve("./x", argv, env);
	_exit(errno == EACCES ? EACCES : 98);
}

static void race_cwd(unsigned ms)
{
	static char stack[256 * 1024] __attribute__((aligned(16)));
	struct outcome o = { 0 };
	uint64_t end = now_ms() + ms;
	int pipe_fd = make_pipe(), status;
	pthread_t thread;
	pid_t pid;

	stage = map_shared(sizeof(*stage));
	strcpy(stage->path, "x");
	if (chdir("/srv/cwd-a") < 0 || pthread_create(&thread, NULL, flip_cwd, NULL) != 0)
		die("thread");
	while (now_ms() < end) {
		pid = clone(exec_here, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | CLONE_FS | SIGCHLD, NULL);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			die("child");
		count(&o, pipe_fd, status);
	}
	print("cwd-thread", &o);
}

/* ---- odd execs: each prints what became of it ---- */

static void report_child(const char *name, pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (WIFSIGNALED(status))
		printf("%s signal %d\n", name, WTERMSIG(status));
	else if (WEXITSTATUS(status) > 0 && WEXITSTATUS(status) < 200)
		printf("%s %s\n", name, strerrorname_np(WEXITSTATUS(status)));
	else
		printf("%s exit %d\n", name, WEXITSTATUS(status));
	fflush(stdout);
}

static void try_exec(const char *name, const char *path, char *const *argv, char *const *env)
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(path, argv, env);
		_exit(errno);
	}
	report_child(name, pid);
}

static void try_at(const char *name, int fd, const char *path, int flags)
{
	char *argv[] = { (char *)(uintptr_t)"ok", NULL }, *env[] = { NULL };
	pid_t pid = fork();

	if (pid == 0) {
		syscall(SYS_execveat, fd, path, argv, env, flags);
		_exit(errno);
	}
	report_child(name, pid);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) < 0)
		die(path);
	close(fd);
}

static void odd_files(void)
{
	char *argv[] = { (char *)(uintptr_t)"ok", NULL }, *env[] = { NULL };
	char name[32];

	write_file("empty", "", 0755);
	write_file("text", "no program\n", 0755);
	write_file("unmarked", "#!/bin/true\n", 0644);
	write_file("lost", "#!/no/such/interpreter\n", 0755);
	write_file("nameless", "#!\n", 0755);
	write_file("blank", "#!  \n", 0755);
	write_file("long", "#!/", 0755);
	write_file("relative", "#!./interpreter\n", 0755);
	write_file("interpreter", "#!/bin/true\n", 0755);
	write_file("folderscript", "#!/tmp\n", 0755);
	write_file("argument", "#!/bin/echo one  two three \n", 0755);
	write_file("tabs", "#!\t/bin/echo\tone\t\n", 0755);
	write_file("unended", "#!/bin/echo end", 0755);
	write_file("level1", "#!/bin/echo 1\n", 0755);
	for (int i = 2; i <= 6; i++) {
		char text[64];

		snprintf(name, sizeof(name), "level%d", i);
		snprintf(text, sizeof(text), "#!level%d %d\n", i - 1, i);
		write_file(name, text, 0755);
	}
	try_exec("missing", "missing", argv, env);
	try_exec("empty-name", "", argv, env);
	try_exec("empty", "empty", argv, env);
	try_exec("text", "text", argv, env);
	try_exec("unmarked", "unmarked", argv, env);
	try_exec("lost", "lost", argv, env);
	try_exec("nameless", "nameless", argv, env);
	try_exec("blank", "blank", argv, env);
	try_exec("long", "long", argv, env);
	try_exec("relative", "relative", argv, env);
	try_exec("folderscript", "folderscript", argv, env);
	try_exec("argument", "argument", argv, env);
	try_exec("tabs", "tabs", argv, env);
	try_exec("unended", "unended", argv, env);
	for (int i = 1; i <= 6; i++) {
		snprintf(name, sizeof(name), "level%d", i);
		try_exec(name, name, argv, env);
	}
	try_exec("folder", "/tmp", argv, env);
	try_exec("slash", "/srv/allow/ok/", argv, env);
	try_exec("through-file", "/srv/allow/ok/x", argv, env);
	try_exec("no-right", "/root/x/y", argv, env);
	try_exec("unreadable-folder", "/root/x", argv, env);
	try_exec("device", "/dev/null", argv, env);
	try_exec("proc-file", "/proc/self/status", argv, env);
	if (symlink("loop", "loop") < 0 && errno != EEXIST)
		die("symlink");
	try_exec("loop", "loop", argv, env);
	mkfifo("fifo", 0755);
	try_exec("fifo", "fifo", argv, env);
}

static void odd_arguments(void)
{
	static const char *const ok = "/srv/allow/ok";
	char *argv[] = { (char *)(uintptr_t)"ok", NULL }, *env[] = { NULL }, *bad[] = { (char *)16, NULL };
	long page = sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 3 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *edge;
	char path[PATH_MAX + 16], *big = malloc(200 * 1024), **many;
	size_t nr = 16;

	munmap(pages + page, (size_t)page);
	try_exec("null-argv", ok, NULL, env);
	try_exec("null-env", ok, argv, NULL);
	try_exec("null-both", ok, NULL, NULL);
	try_exec("argc-0", ok, env, env);
	try_exec("bad-path", (char *)8, argv, env);
	try_exec("bad-argv", ok, (char **)8, env);
	try_exec("bad-argument", ok, bad, env);
	try_exec("bad-variable", ok, argv, bad);
	edge = pages + page - strlen(ok) - 1;
	strcpy(edge, ok);
	try_exec("path-at-page-end", edge, argv, env);
	memset(pages + page - 4, 'x', 4);
	try_exec("path-off-page-end", pages + page - 4, argv, env);
	bad[0] = pages + page - 4;
	try_exec("argument-off-page-end", ok, bad, env);
	many = (char **)(void *)(pages + page - 2 * (long)sizeof(char *));
	many[0] = argv[0];
	many[1] = NULL;
	try_exec("argv-at-page-end", ok, many, env);
	many[1] = argv[0];
	try_exec("argv-off-page-end", ok, many, env);
	memset(path, '/', sizeof(path));
	strcpy(path + PATH_MAX - 1 - strlen(ok), ok);
	try_exec("path-4095", path, argv, env);
	memset(path, '/', sizeof(path));
	strcpy(path + PATH_MAX - strlen(ok), ok);
	try_exec("path-4096", path, argv, env);
	memset(path, 'n', 300);
	path[300] = 0;
	try_exec("name-300", path, argv, env);
	memset(big, 'b', 200 * 1024);
	big[128 * 1024 - 1] = 0;
	bad[0] = big;
	try_exec("argument-128k", ok, bad, env);
	big[128 * 1024 - 1] = 'b';
	big[128 * 1024] = 0;
	try_exec("argument-beyond-128k", ok, bad, env);
	big[128 * 1024 - 1] = 0;
	many = calloc(4096, sizeof(*many));
	for (size_t i = 0; i < nr - 1; i++)
		many[i] = big;
	try_exec("argv-2m", ok, many, env);
	for (size_t i = 0; i < 64; i++)
		many[i] = big;
	try_exec("argv-8m", ok, many, env);
	try_exec("env-8m", ok, argv, many);
}

static void odd_descriptors(void)
{
	int fd = open("/srv/allow/ok", O_RDONLY), path = open("/srv/allow/ok", O_PATH), folder = open("/srv/allow", O_PATH | O_DIRECTORY);
	int cloexec = open("/srv/allow/ok", O_RDONLY | O_CLOEXEC), memory = memfd_create("m", 0), script = open("level1", O_RDONLY);
	int hidden = open("level1", O_RDONLY | O_CLOEXEC);
	char name[64], *argv[] = { (char *)(uintptr_t)"ok", NULL }, *env[] = { NULL };
	char buffer[65536];
	ssize_t len;

	while ((len = read(fd, buffer, sizeof(buffer))) > 0)
		if (write(memory, buffer, (size_t)len) != len)
			die("memfd");
	try_at("at-fd", fd, "", AT_EMPTY_PATH);
	try_at("at-path-fd", path, "", AT_EMPTY_PATH);
	try_at("at-cloexec-fd", cloexec, "", AT_EMPTY_PATH);
	try_at("at-empty-without-flag", fd, "", 0);
	try_at("at-folder", folder, "ok", 0);
	try_at("at-folder-itself", folder, "", AT_EMPTY_PATH);
	try_at("at-nofollow-link", AT_FDCWD, "loop", AT_SYMLINK_NOFOLLOW);
	try_at("at-bad-flags", folder, "ok", 0x40);
	try_at("at-bad-fd", 77, "ok", 0);
	try_at("at-bad-fd-absolute", 77, "/srv/allow/ok", 0);
	try_at("at-minus-one", -1, "", AT_EMPTY_PATH);
	try_at("at-file-as-folder", fd, "x", 0);
	try_at("at-memfd", memory, "", AT_EMPTY_PATH);
	try_at("at-script", script, "", AT_EMPTY_PATH);
	try_at("at-cloexec-script", hidden, "", AT_EMPTY_PATH);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", memory);
	try_exec("proc-self-fd-memfd", name, argv, env);
	snprintf(name, sizeof(name), "/proc/self/fd/%d", path);
	try_exec("proc-self-fd-path", name, argv, env);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	try_exec("dev-fd", name, argv, env);
	try_exec("proc-self-root", "/proc/self/root/srv/allow/ok", argv, env);
	try_exec("proc-self-cwd", "/proc/self/cwd/level1", argv, env);
	try_exec("proc-self-exe", "/proc/self/exe", argv, env);
	try_exec("proc-thread-self", "/proc/thread-self/exe", argv, env);
}

/* ---- threads ---- */

static void *exec_from_thread(void *argument)
{
	char *argv[] = { (char *)(uintptr_t)"ok", NULL }, *env[] = { NULL };

	execve(argument ? argument : "/srv/allow/ok", argv, env);
	return NULL;
}

static void *open_forever(void *unused)
{
	(void)unused;
	for (;;)
		close(open("/workspace/threads", O_WRONLY | O_CREAT, 0600));
	return NULL;
}

/* A thread that is not the leader execs while siblings loop in notified calls. */
static void from_thread(int siblings, const char *path)
{
	pthread_t thread;

	for (int i = 0; i < siblings; i++)
		pthread_create(&thread, NULL, open_forever, NULL);
	pthread_create(&thread, NULL, exec_from_thread, (void *)(uintptr_t)path);
	pthread_join(thread, NULL); /* returns when the exec was refused */
	_exit(errno ? 201 : 202);
}

static void two_at_once(int nr)
{
	pthread_t thread;

	for (int i = 0; i < nr; i++)
		pthread_create(&thread, NULL, exec_from_thread, NULL);
	for (;;)
		pause();
}

static void threads(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		pid_t pid = fork();

		if (pid == 0)
			i % 3 == 0 ? from_thread(20, NULL) : i % 3 == 1 ? two_at_once(2) : two_at_once(8);
		report_child(i % 3 == 0 ? "beside-opens" : i % 3 == 1 ? "two" : "eight", pid);
		pid = fork();
		if (pid == 0)
			from_thread(4, "/srv/deny/rm");
		report_child("refused-in-thread", pid);
	}
}

static unsigned spawn_failures;
static int spawn_rounds;

static void *spawn_some(void *unused)
{
	char *argv[] = { (char *)(uintptr_t)"ok", NULL };

	(void)unused;
	for (int i = 0; i < spawn_rounds; i++) {
		int status = 1;
		pid_t pid;

		if (posix_spawn(&pid, "/srv/allow/ok", NULL, NULL, argv, environ) != 0 || waitpid(pid, &status, 0) != pid || status != 0)
			__atomic_add_fetch(&spawn_failures, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void spawn_threads(int nr, int rounds)
{
	pthread_t all[256];

	spawn_rounds = rounds;
	for (int i = 0; i < nr; i++)
		pthread_create(&all[i], NULL, spawn_some, NULL);
	for (int i = 0; i < nr; i++)
		pthread_join(all[i], NULL);
	printf("spawns %d failures %u\n", nr * rounds, spawn_failures);
}

/* argv of a million strings on two pages by turns: what does reading it cost everybody else? */
static void costly(int times)
{
	size_t nr = 600000;
	char **argv = calloc(nr + 1, sizeof(*argv)), *env[] = { NULL };
	char *pages = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit stack = { 1 << 30, RLIM_INFINITY };

	setrlimit(RLIMIT_STACK, &stack);
	memset(pages, 0, 1 << 20);
	for (size_t i = 0; i < nr; i++)
		argv[i] = pages + (i & 255) * 4096;
	for (int i = 0; i < times; i++)
		try_exec("costly", "/srv/allow/ok", argv, env);
}

/* ---- execs that cannot succeed ---- */

static void impossible(void)
{
	static char huge[3 << 20];
	char *const argv[] = { (char *)(uintptr_t)"x", NULL }, *const bad[] = { (char *)1, NULL }, *big[] = { huge, NULL };

	memset(huge, 'a', sizeof(huge) - 1);
	for (int i = 0; i < 100; i++)
		syscall(SYS_execve, 1UL, argv, NULL);
	report("fault", -1);
	execve("/srv/allow/ok", bad, NULL);
	report("argv-fault", -1);
	execve("/srv/allow/ok", big, NULL);
	report("too-big", -1);
	execve("/srv/open/data", argv, NULL);
	report("no-program", -1);
	execve("/srv/open", argv, NULL);
	report("folder", -1);
	for (int i = 0; i < 100; i++)
		execve("/no/such/program", argv, NULL);
	report("missing", -1);
	unlink("/workspace/loop");
	if (symlink("loop", "/workspace/loop") < 0)
		die("symlink");
	execve("/workspace/loop", argv, NULL);
	report("loop", -1);
	sleep(7); /* what repeats is summed up */
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "impossible") == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		impossible();
		return 0;
	}
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "race") == 0 && argc == 5)
		race(argv[2], argv[3], (unsigned)atoi(argv[4]));
	else if (strcmp(what, "race-cwd") == 0 && argc == 3)
		race_cwd((unsigned)atoi(argv[2]));
	else if (strcmp(what, "odd-files") == 0)
		odd_files();
	else if (strcmp(what, "odd-arguments") == 0)
		odd_arguments();
	else if (strcmp(what, "odd-descriptors") == 0)
		odd_descriptors();
	else if (strcmp(what, "threads") == 0 && argc == 3)
		threads(atoi(argv[2]));
	else if (strcmp(what, "spawn") == 0 && argc == 4)
		spawn_threads(atoi(argv[2]), atoi(argv[3]));
	else if (strcmp(what, "costly") == 0 && argc == 3)
		costly(atoi(argv[2]));
	else if (strcmp(what, "memfd-rm") == 0) { /* a refused program's bytes under another name */
		char *const args[] = { (char *)(uintptr_t)"rm", NULL };
		int fd = open("/srv/deny/rm", O_RDONLY);

		fexecve(fd, args, environ);
		report("fexecve", -1);
		return 1;
	} else
		return 2;
	return 0;
}
