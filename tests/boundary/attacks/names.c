/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names WAY CALL FOLDER BESIDE TRIES: tries to make FOLDER/.git, by asking for a name that is allowed and having it become another one between the judgement and the
 * kernel's look. BESIDE is a folder where .git is allowed.
 *
 * Ways: pointer (a thread rewrites the path), shared (another process does), folder (working folder and descriptor change under a relative path), link (a
 * link on the way leads elsewhere), follow (one in the last place). Prints "made N won M", and stops at the first win.
 */
#include "tests/boundary/attacks/attack.h"

#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/un.h>

#define AT_NUMBER 100	/* a descriptor that names now this folder, now that */

static const char *way, *call, *folder, *beside;
static char decoy[512], prize[512], in[256], spare[512], link_path[512], link_new[512];
static char *target;		/* what the call is given: a page that others may share */
static struct sockaddr_un *address;
static volatile char *letter[2];	/* of the last name, in both */
static int folders[2], at = AT_FDCWD;
static bool named;		/* the name itself changes */
static volatile int over;

static void flip(unsigned i)
{
	static const char letters[] = { 'x', '.' };

	if (named) {
		*letter[0] = *letter[1] = letters[i % 2];
	} else if (strcmp(way, "folder") == 0) {
		dup2(folders[i % 2], AT_NUMBER);
		if (fchdir(folders[i % 2]) < 0)
			exit(3);
	} else {
		char text[600];

		snprintf(text, sizeof(text), "%s%s", i % 2 ? folder : in, strcmp(way, "follow") == 0 ? "/.git" : "");
		if (symlink(text, link_new) == 0)
			rename(link_new, link_path);
	}
}

static void *flipping(void *nothing)
{
	for (unsigned i = 0; !over; i++)
		flip(i);
	return nothing;
}

static int do_open(const char *path)
{
	struct open_how how = { .flags = O_WRONLY | O_CREAT, .mode = 0644 };
	int fd;

	if (strcmp(call, "open") == 0)
		fd = openat(at, path, O_WRONLY | O_CREAT, 0644);
	else if (strcmp(call, "exclusive") == 0)
		fd = openat(at, path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	else if (strcmp(call, "creat") == 0)
		fd = (int)syscall(SYS_creat, path, 0644);
	else
		fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
	if (fd < 0)
		return -1;
	return close(fd);
}

static int do_bind(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0), r = bind(fd, (struct sockaddr *)address, sizeof(*address));

	close(fd);
	return r;
}

static int do_call(const char *path)
{
	if (strcmp(call, "mkdir") == 0)
		return mkdirat(at, path, 0755);
	if (strcmp(call, "mknod") == 0)
		return mknodat(at, path, S_IFIFO | 0644, 0);
	if (strcmp(call, "symlink") == 0)
		return symlinkat("anything", at, path);
	if (strcmp(call, "link") == 0)
		return linkat(AT_FDCWD, spare, at, path, 0);
	if (strcmp(call, "rename") == 0)
		return renameat(AT_FDCWD, spare, at, path);
	if (strcmp(call, "noreplace") == 0)
		return (int)syscall(SYS_renameat2, AT_FDCWD, spare, at, path, 1);
	if (strcmp(call, "exchange") == 0)
		return (int)syscall(SYS_renameat2, AT_FDCWD, spare, at, path, 2);
	if (strcmp(call, "folder") == 0)
		return renameat(AT_FDCWD, spare, at, path);
	if (strcmp(call, "bind") == 0)
		return do_bind();
	return do_open(path);
}

/* What is renamed or linked has to be there each time. */
static void prepare(void)
{
	if (strcmp(call, "folder") == 0)
		mkdir(spare, 0755);
	else
		close(open(spare, O_WRONLY | O_CREAT, 0644));
	if (strcmp(call, "exchange") == 0)
		close(open(decoy, O_WRONLY | O_CREAT, 0644));
}

static void clean(void)
{
	char made[600];

	if (unlink(decoy) < 0)
		rmdir(decoy);
	snprintf(made, sizeof(made), "%s/.git", in);
	if (unlink(made) < 0)
		rmdir(made);
}

static void set_up(void)
{
	named = strcmp(way, "pointer") == 0 || strcmp(way, "shared") == 0;
	snprintf(in, sizeof(in), "%s/in", beside);
	snprintf(decoy, sizeof(decoy), "%s/xgit", folder);
	snprintf(prize, sizeof(prize), "%s/.git", folder);
	snprintf(spare, sizeof(spare), "%s/spare", named ? folder : in);
	snprintf(link_path, sizeof(link_path), "%s/sw", beside);
	snprintf(link_new, sizeof(link_new), "%s/new", beside);
	mkdir(beside, 0755);
	mkdir(in, 0755);
	mkdir(folder, 0755);
	target = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | (strcmp(way, "shared") == 0 ? MAP_SHARED : MAP_PRIVATE), -1, 0);
	address = (struct sockaddr_un *)(void *)(target + 4096);
	address->sun_family = AF_UNIX;
	snprintf(target, 4096, "%s", named ? decoy : strcmp(way, "folder") == 0 ? ".git" : link_path);
	if (strcmp(way, "link") == 0)
		strcat(target, "/.git");
	snprintf(address->sun_path, sizeof(address->sun_path), "%.100s", target);
	letter[0] = target + (strrchr(target, '/') ? strrchr(target, '/') - target : 0) + 1;
	letter[1] = address->sun_path + (letter[0] - target);
	folders[0] = open(in, O_PATH | O_DIRECTORY);
	folders[1] = open(folder, O_PATH | O_DIRECTORY);
	flip(0);
	if (strcmp(way, "folder") == 0 && strcmp(call, "creat") != 0 && strcmp(call, "bind") != 0)
		at = AT_NUMBER;
}

int main(int argc, char **argv)
{
	unsigned made = 0, won = 0;
	pthread_t thread;
	pid_t child = 0;
	struct stat st;

	if (argc != 6)
		return 2;
	way = argv[1];
	call = argv[2];
	folder = argv[3];
	beside = argv[4];
	set_up();
	if (strcmp(way, "pointer") == 0 || strcmp(way, "folder") == 0) {
		pthread_create(&thread, NULL, flipping, NULL);
	} else {
		child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			flipping(NULL);
		}
	}
	for (int i = 0; i < atoi(argv[5]) && !won; i++) {
		prepare();
		made += do_call(target) == 0;
		won = lstat(prize, &st) == 0;
		clean();
	}
	over = 1;
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	printf("made %u won %u\n", made, won);
	return won != 0;
}
