/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masks: what lies over secrets. One small tmpfs holds an empty file and, for each home, a folder with the same names; read-only binds of
 * these cover the real objects. Nothing under a mask can be read even if every other layer failed: there is nothing.
 *
 * Only the object is covered, not its name: a folder between a write root and a mask could be renamed away and made anew, without the mask.
 * So each such folder is bound onto itself first; a mount point cannot be renamed.
 */
#include "supervisor/boundary/mounts_private.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIRROR_NAMES_MAX 1000
/* Where the tmpfs stands while it is filled: it must be attached to be bound from, and this folder exists wherever Cordon runs. */
#define STAGE "/proc"
#define STAGE_OPTIONS "mode=0755,size=256k,nr_inodes=65536"
#define EMPTY_FILE "empty"
#define MASK_ATTRIBUTES (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

static int find_list(struct builder *b, const char *const *paths, enum cover cover)
{
	for (; paths && *paths; paths++) {
		struct place mask = { .fd = -1, .cover = cover };
		int r = place_resolve(b, *paths, &mask.path);

		if (r < 0)
			return r;
		/* A missing home matters where an agent could create it. */
		if (r == 0 && !(cover != COVER_EMPTY && places_root_of(b, mask.path)))
			continue;
		if (strcmp(mask.path, "/") == 0)
			return err_set(b->error, -EINVAL, "the whole tree cannot be masked (%s)", *paths);
		if (places_add(&b->masks, mask) < 0)
			return err_set(b->error, -ENOMEM, "out of memory");
	}
	return 0;
}

int masks_find(struct builder *b)
{
	/* Homes first: of two masks with one path the first stays. */
	int r = find_list(b, b->plan->homes, COVER_NAMES);

	if (r == 0)
		r = find_list(b, b->plan->masks, COVER_EMPTY);
	return r < 0 ? r : find_list(b, b->plan->read_only, COVER_ITSELF);
}

/* ---- before covering: make what is missing, pin what lies between ---- */

/* Calls visit for every folder on the way to path that is in a write root, from the top. */
static int for_each_between(struct builder *b, const char *path, int (*visit)(struct builder *, const char *))
{
	char folder[PATH_MAX];
	int r = 0;

	for (const char *end = strchr(path + 1, '/'); end && r == 0; end = strchr(end + 1, '/')) {
		snprintf(folder, sizeof(folder), "%.*s", (int)(end - path), path);
		if (places_root_of(b, folder))
			r = visit(b, folder);
	}
	return r;
}

static int make_folder(struct builder *b, const char *path)
{
	char parent[PATH_MAX];
	struct stat st;
	_cleanup_close_ int fd = -1;

	snprintf(parent, sizeof(parent), "%.*s", (int)(path_base(path) - path), path);
	fd = place_open(parent);
	if (fd < 0)
		return err_set(b->error, fd, "cannot open %s: %s", parent, strerror(-fd));
	if (mkdirat(fd, path_base(path), 0700) < 0) {
		/* EROFS: the write root was read-only already, so nobody can create it either. */
		if (errno == EEXIST || errno == EROFS)
			return 0;
		return err_set(b->error, -errno, "cannot make the empty folder %s to cover: %s", path, strerror(errno));
	}
	if (fstat(fd, &st) < 0 || fchownat(fd, path_base(path), st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(b->error, -errno, "cannot give %s to its folder's owner: %s", path, strerror(errno));
	return 0;
}

static int make_missing(struct builder *b, const struct place *mask)
{
	int r;

	if (mask->cover == COVER_EMPTY || !places_root_of(b, mask->path))
		return 0;	/* not an agent's to create */
	r = for_each_between(b, mask->path, make_folder);
	return r < 0 ? r : make_folder(b, mask->path);
}

static int pin_folder(struct builder *b, const char *path)
{
	_cleanup_close_ int fd = place_open(path), tree = -1;
	struct statx stx;
	int r = fd;

	if (r == -ENOENT)	/* its mask is missing as well */
		return 0;
	if (r >= 0 && statx(fd, "", AT_EMPTY_PATH, 0, &stx) < 0)
		r = -errno;
	if (r >= 0 && stx.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return 0;
	if (r >= 0)
		r = tree = tree_clone(fd, "", true);
	if (r >= 0)
		r = tree_attach(tree, fd);
	return r < 0 ? err_set(b->error, r, "cannot pin %s, the folder of a mask: %s", path, strerror(-r)) : 0;
}

/* ---- what covers ---- */

static int make_empty_file(int folder, const char *name)
{
	int fd = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0444);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* The names below source, as empty files in folder. More than a person keeps there are left out: the mask is what counts. */
static int mirror_names(int source, int folder)
{
	int fd = openat(source, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *names = fd < 0 ? NULL : fdopendir(fd);
	unsigned nr = 0;

	if (!names)
		return -errno;
	for (struct dirent *entry; r == 0 && nr < MIRROR_NAMES_MAX && (entry = readdir(names)) != NULL; nr++)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = make_empty_file(folder, entry->d_name);
	closedir(names);
	return r;
}

static int make_cover_folder(int stage, const struct place *mask, const char *name)
{
	_cleanup_close_ int folder = -1;

	if (mkdirat(stage, name, 0755) < 0)
		return -errno;
	if (mask->cover != COVER_NAMES)
		return 0;
	folder = openat(stage, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return folder < 0 ? -errno : mirror_names(mask->fd, folder);
}

static int cover_itself(const struct place *mask)
{
	_cleanup_close_ int tree = tree_clone(mask->fd, "", true);
	int r = tree < 0 ? tree : tree_set(tree, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true);

	return r < 0 ? r : tree_attach(tree, mask->fd);
}

static int cover(int stage, const struct place *mask, unsigned index)
{
	_cleanup_close_ int tree = -1;
	char name[16] = EMPTY_FILE;
	struct stat st;
	int r;

	if (mask->cover == COVER_ITSELF)
		return cover_itself(mask);
	if (fstat(mask->fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode)) {
		snprintf(name, sizeof(name), "%u", index);
		r = make_cover_folder(stage, mask, name);
		if (r < 0)
			return r;
	}
	tree = tree_clone(stage, name, false);
	if (tree < 0)
		return tree;
	r = tree_set(tree, MASK_ATTRIBUTES, false);
	return r < 0 ? r : tree_attach(tree, mask->fd);
}

static int cover_all(struct builder *b, int stage)
{
	int r = make_empty_file(stage, EMPTY_FILE);

	if (r < 0)
		return err_set(b->error, r, "cannot make the empty file of masks: %s", strerror(-r));
	for (unsigned i = 0; i < b->masks.nr; i++) {
		const struct place *mask = &b->masks.items[i];

		r = mask->fd < 0 ? 0 : cover(stage, mask, i);
		if (r < 0)
			return err_set(b->error, r, "cannot mask %s: %s", mask->path, strerror(-r));
	}
	return 0;
}

/* All of them before the first is covered: a mask can lie within another, and the stage hides its own folder. */
static int open_all(struct builder *b)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);	/* too few are an error below */
	}
	for (unsigned i = 0; i < b->masks.nr; i++) {
		struct place *mask = &b->masks.items[i];

		mask->fd = place_open(mask->path);
		if (mask->fd < 0 && mask->fd != -ENOENT && mask->fd != -ENOTDIR)
			return err_set(b->error, mask->fd, "cannot open %s to mask it: %s", mask->path, strerror(-mask->fd));
	}
	return 0;
}

static int prepare(struct builder *b)
{
	int r = 0;

	for (unsigned i = 0; i < b->masks.nr && r == 0; i++)
		r = make_missing(b, &b->masks.items[i]);
	for (unsigned i = 0; i < b->masks.nr && r == 0; i++)
		r = for_each_between(b, b->masks.items[i].path, pin_folder);
	return r < 0 ? r : open_all(b);
}

int masks_cover(struct builder *b)
{
	_cleanup_close_ int stage = -1;
	int r;

	if (b->masks.nr == 0)
		return 0;
	r = prepare(b);
	if (r < 0)
		return r;
	if (mount("cordon", STAGE, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, STAGE_OPTIONS) < 0)
		return err_set(b->error, -errno, "cannot mount a tmpfs for masks: %s", strerror(errno));
	stage = open(STAGE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (stage < 0)
		return err_set(b->error, -errno, "cannot open the tmpfs of masks: %s", strerror(errno));
	r = cover_all(b, stage);
	if (r < 0)
		return r;
	/* The binds keep it alive. */
	if (umount2(STAGE, MNT_DETACH) < 0)
		return err_set(b->error, -errno, "cannot take the tmpfs of masks off %s again: %s", STAGE, strerror(errno));
	return 0;
}
