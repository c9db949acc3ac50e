/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers say of sed and awk programs, for programs_compare.py: "sed" or "awk" as argument; texts on stdin, each ended by a NUL; a line of flags each. */
#include "supervisor/analyze/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	void (*reader)(const char *text, struct program_facts *ret) = argc == 2 && strcmp(argv[1], "awk") == 0 ? awk_read : sed_read;
	struct program_facts facts;
	char *text = NULL;
	size_t bytes = 0;

	while (getdelim(&text, &bytes, '\0', stdin) > 0) {
		reader(text, &facts);
		printf("%s%s%s.\n", facts.runs ? "e" : "", facts.reads ? "r" : "", facts.writes ? "w" : "");
	}
	free(text);
	return fflush(stdout) != 0;
}
