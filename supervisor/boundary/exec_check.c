/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/exec_check.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define KEPT_MAX (256u << 10)	/* bytes of a call's memory that the next one gets */
#define IMAGES_MAX 128
#define SETTLED_MS 100		/* older changes than that have another change time: its clock may tick no more often than 100 times a second */
#define HEAD_BYTES 256		/* BINPRM_BUF_SIZE: what the kernel reads of a file to find "#!" */

void exec_identity_of(const struct stat *st, struct exec_identity *ret)
{
	*ret = (struct exec_identity){ .dev = st->st_dev, .ino = st->st_ino, .changed = st->st_ctim, .size = st->st_size };
}

bool exec_identity_same(const struct exec_identity *a, const struct exec_identity *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->changed.tv_sec == b->changed.tv_sec &&
	       a->changed.tv_nsec == b->changed.tv_nsec;
}

/* A file that changed within the clock's grain may change again under the same time: what was read of it holds for now, and is not kept for later. */
bool exec_identity_settled(const struct exec_identity *identity)
{
	struct timespec now;
	int64_t ms;

	clock_gettime(CLOCK_REALTIME, &now);
	ms = (now.tv_sec - identity->changed.tv_sec) * 1000 + (now.tv_nsec - identity->changed.tv_nsec) / 1000000;
	return ms >= SETTLED_MS;
}

/*
 * Images that were read before and are no scripts: most execs are of a few dozen programs. By identity, which changes with the content; should
 * it not, another image is loaded than was judged, and that ends the process (exec_verify()).
 */
static struct exec_identity images[IMAGES_MAX];

static struct exec_identity *image_place(const struct exec_identity *id)
{
	return &images[id->ino % IMAGES_MAX];
}

/* The first bytes of the file an O_PATH descriptor stands for. Regular files only: a FIFO here would hold everybody up. */
static ssize_t read_head(const struct resolved *file, char *ret_head)
{
	_cleanup_close_ int fd = -1;
	char link[32];
	ssize_t len;

	if (!S_ISREG(file->stat.st_mode) || !(file->stat.st_mode & 0111))
		return -EACCES;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
	fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	len = pread(fd, ret_head, HEAD_BYTES, 0);
	return len < 0 ? -errno : len;
}

/* Splits "#! PATH ARG" as the kernel does (load_script). Returns false when head is no script. */
static bool parse_interpreter(char *head, size_t len, const char **ret_path, const char **ret_argument)
{
	char *end, *path, *argument;

	if (len < 2 || head[0] != '#' || head[1] != '!')
		return false;
	end = memchr(head, '\n', len);
	if (!end)
		end = head + len;
	*end = 0; /* head has room for it */
	while (end > head + 2 && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = 0;
	path = head + 2 + strspn(head + 2, " \t");
	argument = path + strcspn(path, " \t");
	if (*argument) {
		*argument++ = 0;
		argument += strspn(argument, " \t");
	}
	*ret_path = path;
	*ret_argument = *argument ? argument : NULL;
	return true;
}

static void append_string(struct buf *b, const char *text)
{
	buf_append(b, text, strlen(text) + 1);
}

/* argv as the kernel rewrites it for one "#!": the interpreter, its argument, the script's name, and the old argv without its first. */
static int rewrite_argv(struct buf *argv, const char *interpreter, const char *argument, const char *script)
{
	struct buf rewritten = { 0 };
	size_t first = argv->len ? strlen(argv->data) + 1 : 0;

	append_string(&rewritten, interpreter);
	if (argument)
		append_string(&rewritten, argument);
	append_string(&rewritten, script);
	buf_append(&rewritten, argv->data + first, argv->len - first);
	if (rewritten.failed) {
		buf_free(&rewritten);
		return -ENOMEM;
	}
	buf_free(argv);
	*argv = rewritten;
	return 0;
}

/* Follows "#!" lines to the image the kernel will load. */
static int follow_scripts(struct exec_call *c)
{
	struct resolved *interpreter = calloc(1, sizeof(*interpreter));
	const struct resolved *file = &c->file;
	char head[HEAD_BYTES + 1], name[HEAD_BYTES + 1];
	const char *script = c->path.data;
	int r = interpreter ? 0 : -ENOMEM;

	if (interpreter)
		interpreter->fd = -1;
	for (int depth = 0; r == 0; depth++) {
		const char *path, *argument;
		ssize_t len;

		exec_identity_of(&file->stat, &c->image);
		if (exec_identity_same(image_place(&c->image), &c->image))
			break;
		len = read_head(file, head);
		if (len < 0) {
			r = (int)len;
			break;
		}
		if (!parse_interpreter(head, (size_t)len, &path, &argument)) {
			if (exec_identity_settled(&c->image))
				*image_place(&c->image) = c->image;
			break;
		}
		if (depth == EXEC_INTERPRETERS_MAX) {
			r = -ELOOP;
			break;
		}
		r = rewrite_argv(&c->final_argv, path, argument, script);
		snprintf(name, sizeof(name), "%s", path);
		script = name;
		resolved_close(interpreter);
		if (r == 0)
			r = *name ? resolve_under(c->root_fd, c->tid, AT_FDCWD, name, true, interpreter) : -ENOEXEC;
		if (r == 0 && interpreter->missing)
			r = -ENOENT;
		c->closed |= r < 0 && resolve_passes_closed(c->tid, AT_FDCWD, name);
		if (r == 0 && !c->script)
			snprintf(c->interpreter, sizeof(c->interpreter), "%s", interpreter->path);
		if (r == 0) {
			append_string(&c->interpreters, interpreter->path);
			c->nr_interpreters++;
			r = c->interpreters.failed ? -ENOMEM : 0;
		}
		c->script = true;
		file = interpreter;
	}
	if (interpreter)
		resolved_close(interpreter);
	free(interpreter);
	return r;
}

static int view(const struct buf *strings, size_t nr, const char ***pointers)
{
	const char *at = strings->data;
	const char **grown = realloc(*pointers, (nr + 1) * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		grown[i] = at;
		at += strlen(at) + 1;
	}
	grown[nr] = NULL;
	*pointers = grown;
	return 0;
}

static int view_final(struct exec_call *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->final_argv.len; i++)
		nr += c->final_argv.data[i] == 0;
	return view(&c->final_argv, nr, &c->final_pointers);
}

/* The name a script's interpreter is given for execveat(fd, …): what the kernel makes up (bprm->fdpath). */
static int set_script_name(struct exec_call *c, int dirfd)
{
	char name[64];

	if (dirfd == AT_FDCWD || (c->path.len > 1 && c->path.data[0] == '/'))
		return 0;
	snprintf(name, sizeof(name), "/dev/fd/%d%s", dirfd, c->path.len > 1 ? "/" : "");
	if (c->path.len > 1) {
		struct buf joined = { 0 };

		buf_text(&joined, name);
		buf_append(&joined, c->path.data, c->path.len);
		buf_free(&c->path);
		c->path = joined;
	} else {
		buf_reset(&c->path);
		append_string(&c->path, name);
	}
	return c->path.failed ? -ENOMEM : 0;
}

static int read_arguments(struct target *t, const __u64 *args, bool at, struct exec_call *c)
{
	int r = target_read_string(t, args[at ? 1 : 0], PATH_MAX, &c->path);

	if (r == 0)
		r = target_read_vector(t, args[at ? 2 : 1], &c->argv);
	if (r == 0)
		r = target_read_vector(t, args[at ? 3 : 2], &c->env);
	/* An empty argv becomes one empty string (since 5.18): that is what is judged, too. */
	if (r == 0 && c->argv.nr == 0) {
		buf_append(&c->argv.strings, "", 1);
		c->argv.nr = 1;
		r = c->argv.strings.failed ? -ENOMEM : 0;
	}
	if (r == 0)
		r = view(&c->argv.strings, c->argv.nr, &c->argv_pointers);
	return r == 0 ? view(&c->env.strings, c->env.nr, &c->env_pointers) : r;
}

int exec_read(const struct seccomp_notif *request, struct target *target, struct exec_call *c)
{
	bool at = request->data.nr == SYS_execveat;
	int dirfd = at ? (int)request->data.args[0] : AT_FDCWD, flags = at ? (int)request->data.args[4] : 0, r;

	exec_reset(c);
	c->tid = (pid_t)request->pid;
	r = read_arguments(target, request->data.args, at, c);
	if (r < 0)
		return r;
	if (flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
		return -EINVAL;
	if (c->path.len <= 1 && !(flags & AT_EMPTY_PATH))
		return -ENOENT;
	r = resolve_under(c->root_fd, c->tid, dirfd, c->path.data, !(flags & AT_SYMLINK_NOFOLLOW), &c->file);
	if (r == 0 && c->file.missing)
		r = -ENOENT;
	if (r < 0) {
		c->closed = resolve_passes_closed(c->tid, dirfd, c->path.data);
		return r;
	}
	if (S_ISLNK(c->file.stat.st_mode))
		return -ELOOP;
	/* Also before its head is read: a masked name is not executable, and our own open of it would wait for ourselves. */
	if (!S_ISREG(c->file.stat.st_mode) || !(c->file.stat.st_mode & 0111))
		return -EACCES;
	exec_identity_of(&c->file.stat, &c->program);
	buf_append(&c->final_argv, c->argv.strings.data, c->argv.strings.len);
	if (c->final_argv.failed)
		return -ENOMEM;
	r = set_script_name(c, dirfd);
	if (r == 0)
		r = follow_scripts(c);
	return r == 0 && c->script ? view_final(c) : r;
}

int exec_seize(pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC) < 0)
		return -errno;
	/* Without this stop a failed exec would leave us attached with no event ever (measured), and the next one could not be seized. */
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0) {
		int r = -errno;

		(void)ptrace(PTRACE_DETACH, tid, 0, 0);
		return r;
	}
	return 0;
}

/*
 * Compares what lies on the new program's stack with what must lie there, a part at a time. The process has been stopped since the kernel put it there,
 * its address space is nobody else's yet, and where the strings are is the kernel's own note, which no process of a launch can write (PR_SET_MM).
 */
static int compare_strings(pid_t pid, uint64_t start, uint64_t end, const struct buf *expected)
{
	_uninitialized_ char part[16384];

	if (end < start || end - start != expected->len)
		return -EKEYREJECTED;
	for (size_t at = 0; at < expected->len;) {
		size_t len = expected->len - at < sizeof(part) ? expected->len - at : sizeof(part);
		struct iovec local = { part, len }, remote = { (void *)(uintptr_t)(start + at), len };

		if (process_vm_readv(pid, &local, 1, &remote, 1, 0) != (ssize_t)len || memcmp(part, expected->data + at, len) != 0)
			return -EKEYREJECTED;
		at += len;
	}
	return 0;
}

static int compare_image(pid_t pid, const struct exec_call *c)
{
	struct exec_identity loaded;
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &st) < 0)
		return -errno;
	exec_identity_of(&st, &loaded);
	return exec_identity_same(&loaded, &c->image) ? 0 : -EKEYREJECTED;
}

const char *exec_image_path(const struct exec_call *c)
{
	const char *at = c->interpreters.data;

	for (unsigned i = 1; i < c->nr_interpreters; i++)
		at += strlen(at) + 1;
	return c->nr_interpreters ? at : c->file.path;
}

int exec_verify(pid_t pid, const struct exec_call *c, struct process_facts *ret_facts, char *ret_why, size_t why_bytes)
{
	struct process_facts facts;
	struct stat script;

	if (compare_image(pid, c) < 0) {
		snprintf(ret_why, why_bytes, "the loaded image is not the judged one");
		return -EKEYREJECTED;
	}
	if (process_read(pid, &facts) < 0) {
		snprintf(ret_why, why_bytes, "nothing is known of the process");
		return -EKEYREJECTED;
	}
	if (compare_strings(pid, facts.argv_start, facts.argv_end, &c->final_argv) < 0) {
		snprintf(ret_why, why_bytes, "the arguments are not the judged ones");
		return -EKEYREJECTED;
	}
	if (compare_strings(pid, facts.environment_start, facts.environment_end, &c->env.strings) < 0) {
		snprintf(ret_why, why_bytes, "the environment is not the judged one");
		return -EKEYREJECTED;
	}
	if (c->script && (fstat(c->file.fd, &script) < 0 || script.st_ctim.tv_sec != c->program.changed.tv_sec ||
			  script.st_ctim.tv_nsec != c->program.changed.tv_nsec)) {
		snprintf(ret_why, why_bytes, "the script changed while it was started");
		return -EKEYREJECTED;
	}
	*ret_facts = facts;
	return 0;
}

/* A call's memory is kept for the next, but not megabytes of it for ever. */
static void reset_or_free(struct buf *b)
{
	if (b->capacity > KEPT_MAX)
		buf_free(b);
	else
		buf_reset(b);
}

void exec_reset(struct exec_call *c)
{
	/* A fresh, zeroed call holds no descriptor; 0 is never one of ours. */
	if (c->file.fd > 0)
		close(c->file.fd);
	c->file.fd = -1;
	buf_reset(&c->path);
	reset_or_free(&c->argv.strings);
	reset_or_free(&c->env.strings);
	reset_or_free(&c->final_argv);
	if (c->argv.nr + c->env.nr > KEPT_MAX / sizeof(*c->argv_pointers)) {
		free(c->argv_pointers);
		free(c->env_pointers);
		free(c->final_pointers);
		c->argv_pointers = c->env_pointers = c->final_pointers = NULL;
	}
	/* Nothing points at strings that are no more, also where the next call fails before it has its own. */
	if (c->argv_pointers)
		c->argv_pointers[0] = NULL;
	if (c->env_pointers)
		c->env_pointers[0] = NULL;
	if (c->final_pointers)
		c->final_pointers[0] = NULL;
	c->argv.nr = c->env.nr = 0;
	c->script = c->closed = false;
	c->interpreter[0] = 0;
	buf_reset(&c->interpreters);
	c->nr_interpreters = 0;
	c->image = (struct exec_identity){ 0 }; /* of nothing that could be loaded */
}
