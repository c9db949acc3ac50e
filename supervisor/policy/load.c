/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_load(): which files a policy folder consists of, read once each, hashed, and handed to their section. All or nothing.
 *
 * Names are sorted first, so that the hash and the first error do not depend on the file system. Symbolic links may lead to files
 * inside the folder (a mounted ConfigMap consists of them) and nowhere else.
 */
#include "supervisor/policy/policy.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/sha256.h"
#include "supervisor/policy/names.h"
#include "supervisor/policy/sections.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define FILE_LIMIT_BYTES (4u << 20)

struct load {
	struct policy policy;
	struct pool pool;
	const char *folder;
	int folder_fd;
	struct sha256 hash;
	size_t nr_files;
	struct err *error;
};

/* ---- files ---- */

static int file_error(struct load *l, const char *file, int number, const char *text)
{
	if (l->error)
		snprintf(l->error->file, sizeof(l->error->file), "%s%s%s", l->folder, *file ? "/" : "", file);
	return err_set(l->error, number, "%s", text);
}

static int open_inside(int folder_fd, const char *file)
{
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,	/* NONBLOCK: a FIFO must not hold us */
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	int fd = (int)syscall(SYS_openat2, folder_fd, file, &how, sizeof(how));

	/* Older kernels and strict sandboxes have no openat2: then no link is followed at the end, and the folders are the image's. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(folder_fd, file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

static int read_inside(struct load *l, const char *file, struct buf *ret_text)
{
	_cleanup_close_ int fd = open_inside(l->folder_fd, file);
	struct stat st;
	int r;

	if (fd == -EXDEV || fd == -ELOOP)
		return file_error(l, file, fd, "a symbolic link leads out of the policy folder");
	if (fd == -ENOENT)
		return file_error(l, file, fd, "the file is missing");
	if (fd < 0)
		return file_error(l, file, fd, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return file_error(l, file, -errno, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return file_error(l, file, -EINVAL, "not a regular file");
	r = io_read_all(fd, FILE_LIMIT_BYTES, ret_text);
	if (r == -EFBIG)
		return file_error(l, file, r, "larger than 4 MiB");
	return r < 0 ? file_error(l, file, r, strerror(-r)) : 0;
}

/* name, NUL, length in decimal, NUL, bytes: no two different folders give the same input. */
static void hash_file(struct sha256 *hash, const char *file, const struct buf *text)
{
	char length[32];
	int n = snprintf(length, sizeof(length), "%zu", text->len);

	sha256_update(hash, file, strlen(file) + 1);
	sha256_update(hash, length, (size_t)n + 1);
	sha256_update(hash, text->data, text->len);
}

/* ---- which files ---- */

static bool ends_in_json(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".json") == 0;
}

static int add_file(struct load *l, const char *folder, const char *name)
{
	const char **item = pool_push(&l->pool, &l->policy.files.items, &l->nr_files, sizeof(*item));
	char path[512];

	if ((size_t)snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name) >= sizeof(path))
		return file_error(l, name, -ENAMETOOLONG, "the name is too long");
	if (item)
		*item = pool_text(&l->pool, path, strlen(path));
	return item && *item ? 0 : file_error(l, path, -ENOMEM, "out of memory");
}

/* Adds every NAME.json of a subfolder; other files (notes, hidden ones) are not policy. A folder that is not there holds none. */
static int list_folder(struct load *l, const char *folder)
{
	int fd = open_inside(l->folder_fd, folder), r = 0;
	struct dirent *entry;
	DIR *stream;

	if (fd == -ENOENT)
		return 0;
	if (fd == -EXDEV || fd == -ELOOP)
		return file_error(l, folder, fd, "a symbolic link leads out of the policy folder");
	stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream) {
		r = fd < 0 ? fd : -errno;
		if (fd >= 0)
			close(fd);
		return file_error(l, folder, r, strerror(-r));
	}
	while (r == 0 && (errno = 0, entry = readdir(stream)))
		if (entry->d_name[0] != '.' && ends_in_json(entry->d_name))
			r = add_file(l, folder, entry->d_name);
	if (r == 0 && errno)
		r = file_error(l, folder, -errno, strerror(errno));
	closedir(stream);
	return r;
}

static const char *const subfolders[] = { "commands", "modes", "presets", "services", "transports" };

static int list_top(struct load *l)
{
	static const char *const known[] = { "policy.json", "environment.json", "paths.json", "network.json", "browser.json" };
	int fd = open_inside(l->folder_fd, "."), r = 0;
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	size_t i;

	if (!stream) {
		if (fd >= 0)
			close(fd);
		return file_error(l, "", fd < 0 ? fd : -errno, "the policy folder cannot be listed");
	}
	/* A misspelt name would silently leave a default in force. */
	while (r == 0 && (entry = readdir(stream))) {
		bool expected = !ends_in_json(entry->d_name) || entry->d_name[0] == '.';

		for (i = 0; i < ARRAY_SIZE(known); i++)
			expected |= strcmp(entry->d_name, known[i]) == 0;
		if (!expected)
			r = file_error(l, entry->d_name, -EINVAL, "not a file of a policy; expected policy.json, environment.json, paths.json, network.json or browser.json");
	}
	closedir(stream);
	for (i = 0; r == 0 && i < ARRAY_SIZE(known); i++)
		r = add_file(l, "", known[i]);
	for (i = 0; r == 0 && i < ARRAY_SIZE(subfolders); i++)
		r = list_folder(l, subfolders[i]);
	return r;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* ---- sections ---- */

static int read_section(struct load *l, const struct node *root)
{
	static const struct {
		const char *file;	/* "FOLDER/" for every file in it */
		section_reader *read;
	} sections[] = {
		{ "policy.json", section_policy }, { "environment.json", section_environment }, { "paths.json", section_paths },
		{ "network.json", section_network }, { "browser.json", section_browser }, { "commands/", section_commands }, { "services/", section_service },
		{ "transports/", section_transport }, { "presets/", section_preset },
	};
	const char *file = root->document->file;
	unsigned i;

	for (i = 0; i < ARRAY_SIZE(sections); i++) {
		size_t len = strlen(sections[i].file);

		if (strncmp(file, sections[i].file, len) == 0 && (sections[i].file[len - 1] == '/' || !file[len]))
			return sections[i].read(root, &l->policy);
	}
	for (i = 0; i < MODE_COUNT; i++) {
		char name[32];

		snprintf(name, sizeof(name), "modes/%s.json", mode_names[i]);
		if (strcmp(file, name) == 0)
			return section_mode(root, &l->policy, (enum mode)i);
	}
	return file_error(l, file, -EINVAL, "not a mode; expected off, guarded, observe or readonly");
}

static int load_file(struct load *l, const char *file)
{
	_cleanup_buf_ struct buf text = { 0 };
	struct document document;
	struct node root;
	int r = read_inside(l, file, &text);

	if (r < 0)
		return r;
	hash_file(&l->hash, file, &text);
	r = document_open(&document, l->folder, file, &text, &l->pool, l->error);
	if (r == 0) {
		root = document_root(&document);
		r = read_section(l, &root);
	}
	document_close(&document);
	return r;
}

/* A program whose arguments say what it runs, or that reads code, would set a name for whoever wrote them. */
static bool is_unfit_setter(const struct command *command)
{
	const unsigned others = EFFECT_SHELL | EFFECT_RUN | EFFECT_WRAP | EFFECT_HIDE | EFFECT_ELEVATE;

	return command && (command->effects & others || command->effects == EFFECT_CODE);
}

/* Both ways round: "python3" is one of the commands "python*", and "bash" one of the setters "b*". */
static bool has_unfit_setter(const struct policy *policy, const struct names *setters, const char **ret_name)
{
	const struct strings *lists[] = { &setters->exact, &setters->prefixes };
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(lists); i++)
		for (n = 0; n < lists[i]->nr; n++)
			if (is_unfit_setter(policy_command(policy, *ret_name = lists[i]->items[n])))
				return true;
	for (i = 0; i < policy->nr_commands; i++)
		for (n = 0; is_unfit_setter(&policy->commands[i]) && n < policy->commands[i].names.nr; n++) {
			*ret_name = policy->commands[i].names.items[n];
			if (names_match(setters, *ret_name, strcspn(*ret_name, "*")))
				return true;
		}
	return false;
}

static int check_setters(struct load *l)
{
	const struct environment *environment = &l->policy.environment;
	const char *name;
	size_t i;

	for (i = 0; i < environment->nr_helpers; i++) {
		if (!has_unfit_setter(&l->policy, &environment->helpers[i].setters, &name))
			continue;
		if (l->error)
			l->error->line = environment->helpers[i].origin.line;
		file_error(l, "environment.json", -EINVAL, "");
		return err_set(l->error, -EINVAL, "%s runs what others write: it cannot vouch for a name", name);
	}
	return 0;
}

static int check_services(struct load *l)
{
	const struct service *faulty = NULL;
	char file[128], why[200];
	struct err e = { 0 };

	if (services_check(&l->policy, &faulty, &e) == 0)
		return 0;
	snprintf(file, sizeof(file), "services/%.100s.json", faulty->name);
	snprintf(why, sizeof(why), "%.199s", e.text);
	if (l->error)
		l->error->line = faulty->origin.line;
	return file_error(l, file, -EINVAL, why);
}

static int check_presets(struct load *l)
{
	struct origin place = { 0 };
	struct err why = { 0 };

	if (presets_check(&l->policy, &place, &why) == 0)
		return 0;
	if (l->error)
		l->error->line = place.line;
	return file_error(l, place.file, -EINVAL, why.text);
}

/* What no single file can know. */
static int check_whole(struct load *l)
{
	const struct command *twice, *first;
	const char *name;
	char file[64];
	unsigned i;
	int r;

	for (i = 0; i < MODE_COUNT; i++) {
		snprintf(file, sizeof(file), "modes/%s.json", mode_names[i]);
		if (!l->policy.rules[i])
			return file_error(l, file, -ENOENT, "the file is missing");
	}
	if (!l->policy.nr_commands)
		return file_error(l, "commands", -ENOENT, "no command is described; expected commands/*.json");
	r = command_index_build(&l->policy, &l->pool, &twice, &first, &name);
	if (r == -EEXIST) {
		if (l->error)
			l->error->line = twice->line;
		file_error(l, twice->file, r, "");
		return err_set(l->error, -EINVAL, "the command \"%s\" is described by %s:%u already", name, first->file,
			       first->line);
	}
	if (r < 0)
		return file_error(l, "", r, "out of memory");
	r = check_services(l);
	if (r == 0)
		r = check_presets(l);
	return r < 0 ? r : check_setters(l);
}

static int load_all(struct load *l)
{
	static const char *no_items[1];
	uint8_t digest[32];
	size_t i;
	int r = list_top(l);

	if (r < 0)
		return r;
	l->policy.files.nr = l->nr_files;
	qsort(l->policy.files.items, l->nr_files, sizeof(*l->policy.files.items), compare_names);
	l->policy.entry_names.items = l->policy.entry_paths.items = no_items;
	sha256_init(&l->hash);
	for (i = 0; i < l->nr_files; i++) {
		r = load_file(l, l->policy.files.items[i]);
		if (r < 0)
			return r;
	}
	sha256_final(&l->hash, digest);
	sha256_hex(digest, l->policy.sha256);
	return check_whole(l);
}

int policy_load(const char *dir, struct policy **ret_policy, struct err *ret_error)
{
	struct load l = { .folder = dir, .error = ret_error };
	struct policy *policy = NULL;
	int r;

	if (ret_error)
		*ret_error = (struct err){ 0 };
	l.folder_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (l.folder_fd < 0)
		return file_error(&l, "", -errno, strerror(errno));
	r = load_all(&l);
	close(l.folder_fd);
	if (r == 0) {
		l.policy.dir = pool_text(&l.pool, dir, strlen(dir));
		policy = malloc(sizeof(*policy));
		if (!policy || !l.policy.dir)
			r = file_error(&l, "", -ENOMEM, "out of memory");
	}
	if (r < 0) {
		free(policy);
		pool_free(&l.pool);
		return r;
	}
	l.policy.memory = l.pool.blocks;
	*policy = l.policy;
	*ret_policy = policy;
	return 0;
}

void policy_free(struct policy *policy)
{
	struct pool pool;

	if (!policy)
		return;
	pool.blocks = policy->memory;
	pool_free(&pool);
	free(policy);
}
