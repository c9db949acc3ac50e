/* SPDX-License-Identifier: Apache-2.0 */
/* Path names as text. Pure; no symlink is known here. */
#include "supervisor/base/path.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Appends the parts of path to normal (used bytes of it taken, no slash at the end, "" is "/"). Returns the new length. */
static size_t append_parts(char *normal, size_t used, const char *path)
{
	while (*path) {
		size_t len = (size_t)(strchrnul(path, '/') - path);

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			while (used && normal[--used] != '/')
				;
		} else if (len && !(len == 1 && *path == '.')) {
			normal[used++] = '/';
			memcpy(normal + used, path, len);
			used += len;
		}
		path += len;
		while (*path == '/')
			path++;
	}
	return used;
}

int path_normalize(const char *base, const char *path, char *ret_path, size_t path_bytes)
{
	_uninitialized_ char normal[2 * PATH_MAX];
	size_t used = 0;

	if (!*path)
		return -EINVAL;
	if (*path != '/' && (!base || *base != '/'))
		return -EINVAL;
	if (strlen(path) >= PATH_MAX || (*path != '/' && strlen(base) >= PATH_MAX))
		return -ENAMETOOLONG;
	if (*path != '/')
		used = append_parts(normal, used, base);
	used = append_parts(normal, used, path);
	if (used == 0)
		normal[used++] = '/';
	if (used + 1 > path_bytes)
		return -ENAMETOOLONG;
	memcpy(ret_path, normal, used);
	ret_path[used] = '\0';
	return 0;
}

bool path_is_under(const char *path, const char *root)
{
	size_t len = 0;

	/* By hand: most differ in the second letter, and this is asked dozens of times for one path. */
	while (root[len] && root[len] == path[len])
		len++;
	if (root[len])
		return false;
	return path[len] == '\0' || path[len] == '/' || (len == 1 && root[0] == '/');
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
