/* SPDX-License-Identifier: Apache-2.0 */
/* The readers of sed and awk programs, and the templates of transports, on any text. */
#include "tests/fuzz/fuzz.h"

#include "supervisor/analyze/programs.h"
#include "supervisor/judge/judge.h"

#include <string.h>

static void expect_facts(const struct program_facts *facts)
{
	if (!memchr(facts->file, '\0', sizeof(facts->file)) || !memchr(facts->source, '\0', sizeof(facts->source)) ||
	    !memchr(facts->command, '\0', sizeof(facts->command)))
		abort();
	if ((*facts->file && !facts->writes) || (*facts->source && !facts->reads) || (*facts->command && !facts->runs))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *words[33], *argv[33];
	char *text = fuzz_text(data, len), *rest = text, *word;
	struct program_facts facts;
	size_t nr = 0, index;

	if (!text)
		return 0;
	sed_read(text, &facts);
	expect_facts(&facts);
	awk_read(text, &facts);
	expect_facts(&facts);
	while (nr < 32 && (word = strsep(&rest, "\x01")))
		words[nr++] = word;
	words[nr] = NULL;
	/* as it stands, and behind the words a host begins with */
	(void)judge_transport(fuzz_policy(), words, &index);
	argv[0] = "sh";
	argv[1] = "-lc";
	memcpy(argv + 2, words, (nr < 30 ? nr : 30) * sizeof(*argv));
	argv[nr < 30 ? nr + 2 : 32] = NULL;
	(void)judge_transport(fuzz_policy(), argv, NULL);
	free(text);
	return 0;
}
