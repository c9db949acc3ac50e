/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/workspace/names.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct dirent64_head {		/* linux_dirent64 of getdents64(2) */
	uint64_t ino;
	int64_t off;
	uint16_t reclen;
	uint8_t type;
	char name[];
};

int names_read(int folder, struct buf *ret_names, size_t *ret_nr)
{
	_Alignas(struct dirent64_head) char buffer[32768];	/* a leaf: never as deep as the tree */
	_cleanup_close_ int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	long len;

	if (fd < 0)
		return -errno;
	*ret_nr = 0;
	while ((len = syscall(SYS_getdents64, fd, buffer, sizeof(buffer))) > 0)
		for (long at = 0; at < len;) {
			const struct dirent64_head *d = (const void *)(buffer + at);

			at += d->reclen;
			if (strcmp(d->name, ".") == 0 || strcmp(d->name, "..") == 0)
				continue;
			buf_char(ret_names, (char)d->type);
			buf_append(ret_names, d->name, strlen(d->name) + 1);
			(*ret_nr)++;
		}
	return len < 0 ? -errno : ret_names->failed ? -ENOMEM : 0;
}
