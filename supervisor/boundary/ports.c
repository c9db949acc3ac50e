/* SPDX-License-Identifier: Apache-2.0 */
#include "supervisor/boundary/ports.h"

#include "supervisor/base/buf.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#define FILE_NAME "sys/net/ipv4/ip_local_reserved_ports"

/* A /proc of our own, mounted nowhere: the container's has its sys read-only. Returns a descriptor or -errno. */
static int open_proc(void)
{
	_cleanup_close_ int context = fsopen("proc", FSOPEN_CLOEXEC);
	int proc;

	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	proc = fsmount(context, FSMOUNT_CLOEXEC, 0);
	return proc < 0 ? -errno : proc;
}

int ports_reserve(const uint16_t *ports, size_t nr)
{
	_cleanup_close_ int proc = open_proc(), file = -1;
	_cleanup_buf_ struct buf list = { 0 };
	char number[8];
	int r = proc < 0 ? proc : io_read_file(proc, FILE_NAME, 1u << 16, &list);

	if (r < 0)
		return r;
	while (list.len && list.data[list.len - 1] == '\n')
		list.len--;
	for (size_t i = 0; i < nr; i++) {
		snprintf(number, sizeof(number), "%s%u", list.len ? "," : "", ports[i]);
		buf_append(&list, number, strlen(number));
	}
	if (list.failed)
		return -ENOMEM;
	file = openat(proc, FILE_NAME, O_WRONLY | O_CLOEXEC);
	return file < 0 ? -errno : io_write_all(file, list.data, list.len);
}
