/* SPDX-License-Identifier: Apache-2.0 */
/* Files: every way to open for writing, races on what a path means, and the opens that must go on working. */
#include "attack.h"

#include <linux/openat2.h>
#include <pty.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/xattr.h>

static int openat2_raw(int dirfd, const char *path, const void *how, size_t bytes)
{
	return (int)syscall(SYS_openat2, dirfd, path, how, bytes);
}

/* ---- every form of one write ---- */

static void base_name(const char *target, char *folder, const char **ret_name)
{
	strcpy(folder, target);
	*strrchr(folder, '/') = 0;
	*ret_name = strrchr(target, '/') + 1;
}

static void forms_of_open(const char *target)
{
	struct open_how how = { .flags = O_WRONLY };

	report_fd("open-wronly", (int)syscall(SYS_open, target, O_WRONLY));
	report_fd("open-rdwr", (int)syscall(SYS_open, target, O_RDWR));
	report_fd("open-accmode-3", (int)syscall(SYS_open, target, 3));
	report_fd("open-rdonly-trunc", (int)syscall(SYS_open, target, O_RDONLY | O_TRUNC));
	report_fd("open-rdonly-creat", (int)syscall(SYS_open, target, O_RDONLY | O_CREAT, 0600));
	report_fd("open-append", (int)syscall(SYS_open, target, O_WRONLY | O_APPEND));
	report_fd("open-junk", (int)syscall(SYS_open, target, 0x5a5a5a5a00000000UL | O_WRONLY, 0600));
	report_fd("openat", (int)syscall(SYS_openat, AT_FDCWD, target, O_WRONLY));
	report_fd("openat-junk", (int)syscall(SYS_openat, 0x1234567800000000UL | (uint32_t)AT_FDCWD, target, 0x1111111100000000UL | O_RDWR));
	report_fd("creat", (int)syscall(SYS_creat, target, 0600));
	report_fd("openat2", openat2_raw(AT_FDCWD, target, &how, sizeof(how)));
	how.flags = O_RDONLY | O_TRUNC;
	report_fd("openat2-trunc", openat2_raw(AT_FDCWD, target, &how, sizeof(how)));
	how.flags = O_RDONLY | O_CREAT;
	report_fd("openat2-creat", openat2_raw(AT_FDCWD, target, &how, sizeof(how)));
	report("truncate", truncate(target, 0));
	report("chmod", chmod(target, 0777));
	report("rename", rename(target, "/workspace/taken"));
	report("unlink", unlink(target));
	report("setxattr", setxattr(target, "user.cordon", "x", 1, 0));
	report("link-to-workspace", link(target, "/workspace/hard-link"));
}

static void forms_by_way(const char *target)
{
	char folder[256], way[512];
	const char *name;
	int dirfd, fd, path_fd;

	base_name(target, folder, &name);
	report_fd("tmpfile", open(folder, O_TMPFILE | O_RDWR, 0600));
	snprintf(way, sizeof(way), "%s/new-file", folder);
	report_fd("create-new", open(way, O_WRONLY | O_CREAT | O_EXCL, 0600));
	report("mkdir", mkdir(way, 0700));
	report("symlink", symlink("/", way));
	report("mknod", mknod(way, S_IFIFO | 0600, 0));
	unlink("/workspace/way");
	report("plant-link", symlink(target, "/workspace/way"));
	report_fd("through-link", open("/workspace/way", O_WRONLY));
	report_fd("through-link-nofollow", open("/workspace/way", O_WRONLY | O_NOFOLLOW));
	unlink("/workspace/way");
	report("plant-folder-link", symlink(folder, "/workspace/way"));
	snprintf(way, sizeof(way), "/workspace/way/%s", name);
	report_fd("through-folder-link", open(way, O_WRONLY));
	snprintf(way, sizeof(way), "/workspace/way/../..%s", target);
	report_fd("through-dots", open(way, O_WRONLY));
	snprintf(way, sizeof(way), "/proc/self/root%s", target);
	report_fd("proc-self-root", open(way, O_WRONLY));
	dirfd = open(folder, O_PATH | O_DIRECTORY);
	report_fd("dirfd", openat(dirfd, name, O_WRONLY));
	snprintf(way, sizeof(way), "/proc/self/fd/%d/%s", dirfd, name);
	report_fd("proc-self-fd-folder", open(way, O_WRONLY));
	if (chdir(folder) == 0) {
		report_fd("relative", open(name, O_RDWR));
		snprintf(way, sizeof(way), "/proc/self/cwd/%s", name);
		report_fd("proc-self-cwd", open(way, O_WRONLY));
		snprintf(way, sizeof(way), "/proc/thread-self/cwd/%s", name);
		report_fd("proc-thread-self-cwd", open(way, O_WRONLY));
	}
	fd = open(target, O_RDONLY);
	path_fd = open(target, O_PATH);
	snprintf(way, sizeof(way), "/proc/self/fd/%d", fd);
	report_fd("reopen-fd", open(way, O_WRONLY));
	snprintf(way, sizeof(way), "/dev/fd/%d", path_fd);
	report_fd("reopen-path-fd", open(way, O_RDWR));
	report("fchmod", fchmod(fd, 0777));
	report("mmap-shared-write", mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? -1 : 0);
	report("fallocate", fallocate(fd, 0, 0, 1));
	report("ftruncate", ftruncate(fd, 0));
	report_fd("proc-self-mem", open("/proc/self/mem", O_RDWR));
	report_fd("core-pattern", open("/proc/sys/kernel/core_pattern", O_WRONLY));
	report_fd("sysrq", open("/proc/sysrq-trigger", O_WRONLY));
	/* Its own to open; what would keep it alive in another's place is the kernel's to refuse. */
	report("oom-score", write(open("/proc/self/oom_score_adj", O_WRONLY), "-1000\n", 6));
	report_fd("uid-map", open("/proc/self/uid_map", O_WRONLY));
}

/* ---- races: an open descriptor of the forbidden file is a win ---- */

struct race {
	dev_t dev;
	ino_t ino;
	unsigned tries, wins, opened, refused, other;
};

static void race_init(struct race *r, const char *denied)
{
	struct stat st;

	if (stat(denied, &st) < 0)
		die(denied);
	*r = (struct race){ .dev = st.st_dev, .ino = st.st_ino };
}

static void race_count(struct race *r, int fd)
{
	struct stat st;

	r->tries++;
	if (fd < 0) {
		if (errno == EACCES || errno == EROFS)
			r->refused++;
		else
			r->other++;
		return;
	}
	if (fstat(fd, &st) == 0 && st.st_dev == r->dev && st.st_ino == r->ino)
		r->wins++;
	else
		r->opened++;
	close(fd);
}

static void race_print(const char *name, const struct race *r)
{
	printf("%s tries=%u wins=%u opened=%u refused=%u other=%u\n", name, r->tries, r->wins, r->opened, r->refused, r->other);
}

/* /srv/open/target (writable by its permissions) against /workspace/target: the same length, one word apart. */
static void race_path(unsigned tries)
{
	char *path = map_shared(4096);
	struct flip f = { .word = (void *)path };
	struct race r;
	pthread_t thread;

	close(open("/tmp/open/target", O_RDWR | O_CREAT, 0600));
	race_init(&r, "/srv/open/target");
	strcpy(path, "/tmp/ope/../open/target");
	strcpy(path, "/tmp/open/target");
	memcpy(&f.values[0], "/tmp/ope", 8);
	memcpy(&f.values[1], "/srv/ope", 8);
	pthread_create(&thread, NULL, flip_run, &f);
	while (r.tries < tries)
		race_count(&r, open(path, O_RDWR));
	f.stop = 1;
	pthread_join(thread, NULL);
	race_print("path", &r);
}

/* The two ways to empty a file without a descriptor that may write; a win is an empty target. */
static void race_truncate(unsigned tries)
{
	char *path = map_shared(4096);
	struct flip f = { .word = (void *)path };
	struct stat st;
	struct race r;
	pthread_t thread;

	close(open("/tmp/open/target", O_RDWR | O_CREAT, 0600));
	race_init(&r, "/srv/open/target");
	strcpy(path, "/tmp/open/target");
	memcpy(&f.values[0], "/tmp/ope", 8);
	memcpy(&f.values[1], "/srv/ope", 8);
	pthread_create(&thread, NULL, flip_run, &f);
	while (r.tries < tries) {
		int fd = r.tries & 1 ? open(path, O_RDONLY | O_TRUNC) : truncate(path, 0);

		if (fd >= 0 && stat("/srv/open/target", &st) == 0 && st.st_size == 0)
			r.wins++;
		if (fd > 0) {
			race_count(&r, fd);
			continue;
		}
		r.tries++;
		if (fd == 0)
			r.opened++;
		else if (errno == EACCES || errno == EROFS)
			r.refused++;
		else
			r.other++;
	}
	f.stop = 1;
	pthread_join(thread, NULL);
	race_print("truncate", &r);
}

static void race_how(unsigned tries)
{
	struct open_how *how = map_shared(4096);
	struct flip f = { .word = (void *)&how->flags, .values = { O_RDONLY, O_RDWR } };
	struct race r;
	pthread_t thread;
	unsigned writable = 0;

	race_init(&r, "/workspace"); /* no win by identity here: what counts is a writable descriptor */
	pthread_create(&thread, NULL, flip_run, &f);
	while (r.tries < tries) {
		int fd = openat2_raw(AT_FDCWD, "/srv/open/target", how, sizeof(*how));

		if (fd >= 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
			writable++;
		race_count(&r, fd);
	}
	f.stop = 1;
	pthread_join(thread, NULL);
	r.wins = writable;
	race_print("openat2-how", &r);
}

static int raced_fds[2];

static void *flip_dirfd(void *stop)
{
	for (unsigned i = 0; !*(volatile int *)stop; i++)
		dup2(raced_fds[i & 1], 50);
	return NULL;
}

static void race_dirfd(unsigned tries)
{
	volatile int stop = 0;
	struct race r;
	pthread_t thread;

	race_init(&r, "/srv/open/target");
	raced_fds[0] = open("/tmp/open", O_PATH | O_DIRECTORY);
	raced_fds[1] = open("/srv/open", O_PATH | O_DIRECTORY);
	dup2(raced_fds[0], 50);
	pthread_create(&thread, NULL, flip_dirfd, (void *)(uintptr_t)&stop);
	while (r.tries < tries)
		race_count(&r, openat(50, "target", O_RDWR));
	stop = 1;
	pthread_join(thread, NULL);
	race_print("dirfd", &r);
}

static void *flip_cwd(void *stop)
{
	for (unsigned i = 0; !*(volatile int *)stop; i++)
		if (chdir(i & 1 ? "/tmp/open" : "/srv/open") < 0)
			break;
	return NULL;
}

static void race_cwd(unsigned tries)
{
	volatile int stop = 0;
	struct race r;
	pthread_t thread;

	race_init(&r, "/srv/open/target");
	pthread_create(&thread, NULL, flip_cwd, (void *)(uintptr_t)&stop);
	while (r.tries < tries)
		race_count(&r, open("target", O_RDWR));
	stop = 1;
	pthread_join(thread, NULL);
	race_print("cwd", &r);
}

static void *flip_link(void *stop)
{
	unlink("/workspace/to-allowed");
	unlink("/workspace/to-denied");
	for (unsigned i = 0; !*(volatile int *)stop; i++) {
		if (symlink(i & 1 ? "/srv/open/target" : "/tmp/open/target", "/workspace/next") < 0 && errno != EEXIST)
			break;
		rename("/workspace/next", "/workspace/raced");
	}
	return NULL;
}

static void race_link(unsigned tries)
{
	volatile int stop = 0;
	struct race r;
	pthread_t thread;

	race_init(&r, "/srv/open/target");
	pthread_create(&thread, NULL, flip_link, (void *)(uintptr_t)&stop);
	while (r.tries < tries)
		race_count(&r, open("/workspace/raced", O_RDWR));
	stop = 1;
	pthread_join(thread, NULL);
	race_print("symlink", &r);
}

/* ---- what must work ---- */

static void *open_writer(void *unused)
{
	int fd = open("fifo", O_WRONLY);

	(void)unused;
	if (fd < 0 || write(fd, "through", 7) != 7)
		printf("fifo-writer failed\n");
	close(fd);
	return NULL;
}

static void fifos(void)
{
	char buffer[16] = "";
	pthread_t thread;
	int fd;

	unlink("fifo");
	report("mkfifo", mkfifo("fifo", 0600));
	report_fd("fifo-write-nonblock", open("fifo", O_WRONLY | O_NONBLOCK));
	report_fd("fifo-read-nonblock", open("fifo", O_RDONLY | O_NONBLOCK));
	report_fd("fifo-rdwr", open("fifo", O_RDWR));
	pthread_create(&thread, NULL, open_writer, NULL);
	fd = open("fifo", O_RDONLY);
	printf("fifo-bytes %zd %s\n", read(fd, buffer, sizeof(buffer)), buffer);
	close(fd);
	pthread_join(thread, NULL);
	report("fifo-link", symlink("fifo", "fifo-link") < 0 && errno != EEXIST ? -1 : 0);
	report_fd("fifo-through-link", open("fifo-link", O_RDWR));
}

static void ordinary(void)
{
	struct open_how how = { .flags = O_RDWR | O_CREAT, .mode = 0640 };
	char big[5000] = "";
	struct rlimit none = { 16, 16 };
	struct stat st;
	int fd, self;

	umask(027);
	fd = open("made", O_RDWR | O_CREAT | O_TRUNC, 0666);
	fstat(fd, &st);
	printf("made %o %u:%u\n", st.st_mode, st.st_uid == getuid(), st.st_gid == getgid());
	report_fd("exclusive", open("made", O_WRONLY | O_CREAT | O_EXCL, 0600));
	report_fd("tmpfile", open(".", O_TMPFILE | O_RDWR, 0600));
	report_fd("missing", open("no/such", O_WRONLY | O_CREAT, 0600));
	report_fd("folder", open(".", O_WRONLY));
	report_fd("file-as-folder", open("made/x", O_WRONLY | O_CREAT, 0600));
	report_fd("slash", open("made/", O_WRONLY));
	report_fd("empty", open("", O_WRONLY | O_CREAT, 0600));
	report_fd("bad-pointer", (int)syscall(SYS_open, (char *)8, O_WRONLY));
	report_fd("bad-dirfd", openat(77, "x", O_WRONLY));
	report_fd("bad-dirfd-absolute", openat(77, "/dev/null", O_WRONLY));
	report("loop", symlink("loop", "loop") < 0 && errno != EEXIST ? -1 : 0);
	report_fd("through-loop", open("loop", O_WRONLY));
	report_fd("null", open("/dev/null", O_WRONLY));
	report_fd("full", open("/dev/full", O_RDWR));
	report_fd("tty-without-one", open("/dev/tty", O_RDWR));
	report_fd("memory", open("/proc/self/fd/1", O_WRONLY));
	report_fd("dev-stdout", open("/dev/stdout", O_WRONLY));
	fd = memfd_create("m", MFD_ALLOW_SEALING);
	report("memfd-write", write(fd, "x", 1));
	snprintf(big, 64, "/proc/self/fd/%d", fd);
	self = open(big, O_RDWR);
	report("memfd-reopen", self < 0 ? -1 : write(self, "yy", 2));
	fd = open("gone", O_RDWR | O_CREAT, 0600);
	unlink("gone");
	snprintf(big, 64, "/proc/self/fd/%d", fd);
	report_fd("deleted-reopen", open(big, O_RDWR));
	report_fd("openat2-create", openat2_raw(AT_FDCWD, "made2", &how, sizeof(how)));
	report_fd("openat2-small", openat2_raw(AT_FDCWD, "made2", &how, 8));
	memcpy(big, &how, sizeof(how));
	report_fd("openat2-zero-tail", openat2_raw(AT_FDCWD, "made2", big, 4096));
	big[100] = 1;
	report_fd("openat2-tail", openat2_raw(AT_FDCWD, "made2", big, 4096));
	report_fd("openat2-huge", openat2_raw(AT_FDCWD, "made2", big, 5000));
	report_fd("openat2-null", openat2_raw(AT_FDCWD, "made2", NULL, sizeof(how)));
	how.resolve = RESOLVE_BENEATH;
	report_fd("beneath", openat2_raw(AT_FDCWD, "made2", &how, sizeof(how)));
	report_fd("beneath-absolute", openat2_raw(AT_FDCWD, "/tmp/made2", &how, sizeof(how)));
	report_fd("beneath-out", openat2_raw(AT_FDCWD, "../made2", &how, sizeof(how)));
	how.resolve = RESOLVE_IN_ROOT;
	report_fd("in-root", openat2_raw(AT_FDCWD, "/made3", &how, sizeof(how)));
	how.resolve = RESOLVE_NO_SYMLINKS;
	report_fd("no-symlinks", openat2_raw(AT_FDCWD, "loop", &how, sizeof(how)));
	how.resolve = 1UL << 40;
	report_fd("unknown-resolve", openat2_raw(AT_FDCWD, "made2", &how, sizeof(how)));
	setrlimit(RLIMIT_NOFILE, &none);
	while (dup(0) >= 0)
		;
	report_fd("table-full", open("made4", O_WRONLY | O_CREAT, 0600));
	report("table-full-made-none", access("made4", F_OK));
}

static void terminals(void)
{
	int master, slave;
	char name[64], byte = 0;
	pid_t pid;

	if (openpty(&master, &slave, name, NULL, NULL) < 0)
		die("openpty");
	pid = fork();
	if (pid == 0) {
		setsid();
		report_fd("open-slave", open(name, O_RDWR));
		report_fd("dev-tty", open("/dev/tty", O_RDWR));
		int tty = open("/dev/tty", O_WRONLY);

		report("write-tty", write(tty, "t", 1));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	printf("from-tty %zd %c\n", read(master, &byte, 1), byte);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned tries = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (strcmp(what, "forms") == 0 && argc == 3) {
		forms_of_open(argv[2]);
		forms_by_way(argv[2]);
	} else if (strcmp(what, "race-path") == 0) {
		race_path(tries);
	} else if (strcmp(what, "race-truncate") == 0) {
		race_truncate(tries);
	} else if (strcmp(what, "race-how") == 0) {
		race_how(tries);
	} else if (strcmp(what, "race-dirfd") == 0) {
		race_dirfd(tries);
	} else if (strcmp(what, "race-cwd") == 0) {
		race_cwd(tries);
	} else if (strcmp(what, "race-link") == 0) {
		race_link(tries);
	} else if (strcmp(what, "works") == 0) {
		fifos();
		ordinary();
	} else if (strcmp(what, "terminals") == 0) {
		terminals();
	} else {
		return 2;
	}
	return 0;
}
