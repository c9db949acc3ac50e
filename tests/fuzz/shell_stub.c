/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for every program in the jail of shell_jail.c: appends its arguments to /log/ran (each ends with a NUL, an empty record
 * ends them), prints them, and fails about every other time, so that both sides of a condition are taken.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	static char record[65536];
	size_t used = 0, len;
	int i, opened = open("/log/ran", O_WRONLY | O_APPEND | O_CLOEXEC), fd = fcntl(opened, F_DUPFD_CLOEXEC, 10), pid = getpid();

	if (opened < 3)			/* the text closed a standard descriptor: what is printed must not reach the log */
		close(opened);

	for (i = 0; i < argc && used + (len = strlen(argv[i])) + 8 < sizeof(record); i++) {
		record[used++] = 'a';
		memcpy(record + used, argv[i], len + 1);
		used += len + 1;
	}
	record[used++] = '\0';
	if (fd < 0 || write(fd, record, used) != (ssize_t)used)
		return 99;
	for (i = argc > 1; i < argc; i++)
		printf("%s%c", argv[i], i + 1 < argc ? ' ' : '\n');
	return (pid ^ pid >> 1) & 1;
}
