/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program whose run is the effect. To descriptor 5, where it is open, goes one letter: 'd' for what must never run (called rm, or with
 * -s, or with LD_PRELOAD), 'a' for anything else; what must never run also leaves the file /workspace/denied-ran.
 */
#include "attack.h"

int main(int argc, char **argv)
{
	char self[256] = "";
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	bool denied = len > 3 && strcmp(self + len - 3, "/rm") == 0;

	for (int i = 1; i < argc; i++)
		denied |= strcmp(argv[i], "-s") == 0;
	denied |= getenv("LD_PRELOAD") != NULL;
	if (denied)
		close(open("/workspace/denied-ran", O_WRONLY | O_CREAT, 0644));
	if (write(5, denied ? "d" : "a", 1) != 1 && argc > 1 && strcmp(argv[1], "--say") == 0)
		printf("%s\n", denied ? "denied" : "allowed");
	return 0;
}
