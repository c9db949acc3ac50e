/* SPDX-License-Identifier: Apache-2.0 */
/* A lease or a lock on a file makes others wait who open it. Holds what it got until it is killed; says for each file what it got. */
#include "attack.h"

#include <sys/file.h>

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGIO, SIG_IGN); /* the word that somebody waits */
	for (int i = 1; i < argc; i++) {
		struct flock whole = { .l_type = F_RDLCK };
		int fd = open(argv[i], O_RDONLY);
		bool opened = fd >= 0;

		if (!opened) {
			printf("lease %s %s\n", argv[i], strerrorname_np(errno));
			continue;
		}
		printf("lease %s %s\n", argv[i], fcntl(fd, F_SETLEASE, F_WRLCK) == 0 ? "ok" : strerrorname_np(errno));
		printf("flock %s %s\n", argv[i], flock(fd, LOCK_EX | LOCK_NB) == 0 ? "ok" : strerrorname_np(errno));
		printf("lock %s %s\n", argv[i], fcntl(fd, F_SETLK, &whole) == 0 ? "ok" : strerrorname_np(errno));
	}
	printf("holding\n");
	for (;;)
		pause();
}
