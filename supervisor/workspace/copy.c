/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/copy.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SMALL_BYTES 65536
#define CHUNK_BYTES (16u << 20)
#define MODE_UNKNOWN 010000	/* no mode is that */

uid_t copy_map_uid(const struct copy_ids *ids, uid_t uid)
{
	return uid == ids->uid_from ? ids->uid_to : uid == ids->uid_to ? ids->uid_from : uid;
}

gid_t copy_map_gid(const struct copy_ids *ids, gid_t gid)
{
	return gid == ids->gid_from ? ids->gid_to : gid == ids->gid_to ? ids->gid_from : gid;
}

/* ---- extended attributes ---- */

/* The state volume may not know them, and what another layer keeps in its own is not ours to copy. */
static int copy_attribute(int from, int to, const char *name)
{
	_cleanup_free_ char *value = NULL;
	ssize_t len = fgetxattr(from, name, NULL, 0);

	if (strncmp(name, "trusted.overlay.", 16) == 0 || strncmp(name, "system.nfs4", 11) == 0)
		return 0;
	if (len < 0)
		return errno == ENODATA ? 0 : -errno;
	value = malloc((size_t)len + 1);
	if (!value)
		return -ENOMEM;
	len = fgetxattr(from, name, value, (size_t)len);
	if (len < 0)
		return errno == ENODATA || errno == ERANGE ? 0 : -errno;
	if (fsetxattr(to, name, value, (size_t)len, 0) < 0 && errno != EOPNOTSUPP && errno != EPERM)
		return -errno;
	return 0;
}

static int copy_attributes(int from, int to)
{
	_cleanup_free_ char *names = NULL;
	ssize_t len = flistxattr(from, NULL, 0);
	int r = 0;

	if (len <= 0)
		return len == 0 || errno == EOPNOTSUPP ? 0 : -errno;
	names = malloc((size_t)len);
	if (!names)
		return -ENOMEM;
	len = flistxattr(from, names, (size_t)len);
	for (const char *name = names; r == 0 && name < names + len; name += strlen(name) + 1)
		r = copy_attribute(from, to, name);
	return r;
}

/* mode: what to has. On an overlay each of these calls costs as much as a small file's content. */
static int copy_metadata(int from, const struct stat *st, int to, mode_t mode, const struct copy_ids *ids)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	const uid_t uid = copy_map_uid(ids, st->st_uid);
	const gid_t gid = copy_map_gid(ids, st->st_gid);
	int r;

	/* Owner first: it takes set-user-id bits and capabilities away. */
	if ((uid != geteuid() || gid != getegid()) && fchown(to, uid, gid) < 0)
		return -errno;
	if ((st->st_mode & 07777) != mode && fchmod(to, st->st_mode & 07777) < 0)
		return -errno;
	r = copy_attributes(from, to);
	return r < 0 ? r : futimens(to, times) < 0 ? -errno : 0;
}

int copy_folder_metadata(int from, int to, const struct copy_ids *ids)
{
	_cleanup_close_ int opened = -1;
	struct stat st;

	if (fcntl(from, F_GETFL) & O_PATH) {	/* attributes need more than a path */
		opened = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (opened < 0)
			return -errno;
		from = opened;
	}
	return fstat(from, &st) < 0 ? -errno : copy_metadata(from, &st, to, MODE_UNKNOWN, ids);
}

/* ---- content ---- */

static int copy_small(int from, int to, uint64_t *bytes)
{
	char buffer[SMALL_BYTES];
	ssize_t len;
	int r;

	while ((len = read(from, buffer, sizeof(buffer))) > 0) {
		r = io_write_all(to, buffer, (size_t)len);
		if (r < 0)
			return r;
		*bytes += (uint64_t)len;
	}
	return len < 0 ? -errno : 0;
}

static int copy_by_hand(int from, int to, off_t offset, off_t end, uint64_t *bytes)
{
	char buffer[SMALL_BYTES];

	while (offset < end) {
		size_t want = end - offset < (off_t)sizeof(buffer) ? (size_t)(end - offset) : sizeof(buffer);
		ssize_t len = pread(from, buffer, want, offset), done;

		if (len <= 0)	/* it became shorter */
			return len < 0 ? -errno : 0;
		for (ssize_t at = 0; at < len; at += done) {
			done = pwrite(to, buffer + at, (size_t)(len - at), offset + at);
			if (done < 0)
				return -errno;
		}
		offset += len;
		*bytes += (uint64_t)len;
	}
	return 0;
}

/* In the kernel where it can. */
static int copy_range(int from, int to, off_t offset, off_t end, uint64_t *bytes)
{
	off_t in = offset, out = offset;

	while (in < end) {
		size_t want = end - in > CHUNK_BYTES ? CHUNK_BYTES : (size_t)(end - in);
		ssize_t len = copy_file_range(from, &in, to, &out, want, 0);

		if (len < 0 && (errno == EXDEV || errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS || errno == EPERM))
			return copy_by_hand(from, to, in, end, bytes);
		if (len < 0)
			return -errno;
		if (len == 0)
			return 0;
		*bytes += (uint64_t)len;
	}
	return 0;
}

static int copy_data(int from, int to, off_t size, uint64_t *bytes)
{
	off_t at = 0, hole;
	int r = 0;

	while (r == 0 && at < size) {
		at = lseek(from, at, SEEK_DATA);
		if (at < 0 && errno == ENXIO)	/* a hole to the end */
			break;
		hole = at < 0 ? -1 : lseek(from, at, SEEK_HOLE);
		if (hole < 0)
			return errno == EINVAL ? copy_range(from, to, 0, size, bytes) : -errno;
		r = copy_range(from, to, at, hole < size ? hole : size, bytes);
		at = hole;
	}
	return r < 0 ? r : ftruncate(to, size) < 0 ? -errno : 0;
}

/* A file system that cannot share is asked once. The threads may ask more than once; they need not agree. */
static bool share(int from, int to)
{
	static bool cannot;

	if (__atomic_load_n(&cannot, __ATOMIC_RELAXED))
		return false;
	if (ioctl(to, FICLONE, from) == 0)
		return true;
	if (errno == EOPNOTSUPP || errno == ENOTTY || errno == EXDEV || errno == EINVAL)
		__atomic_store_n(&cannot, true, __ATOMIC_RELAXED);
	return false;
}

/* Born with its mode, where the umask lets it: the folder is nobody's but ours until the whole tree stands. */
int copy_file(int from, int to_dir, const char *name, const struct copy_ids *ids, uint64_t *ret_bytes)
{
	_cleanup_close_ int to = -1;
	struct stat st, made;
	int r;

	if (fstat(from, &st) < 0)
		return -errno;
	to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, st.st_mode & 0777);
	if (to < 0 || fstat(to, &made) < 0)
		return -errno;
	if (st.st_size == 0)
		r = 0;
	else if (share(from, to))
		r = 0, *ret_bytes += (uint64_t)st.st_size;
	else if (st.st_size <= SMALL_BYTES && st.st_blocks * 512 >= st.st_size)
		r = copy_small(from, to, ret_bytes);
	else
		r = copy_data(from, to, st.st_size, ret_bytes);
	return r < 0 ? r : copy_metadata(from, &st, to, made.st_mode & 07777, ids);
}
