/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command texts that need no shell to be read: plain words between blanks. Everything else is refused, not guessed.
 * The reader of shell grammar is another room's work.
 */
#include "supervisor/judge/judging.h"

#include <string.h>

/* Bytes that are themselves in every shell, wherever they stand in a word. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_@%+:,./=-", c));
}

/* Words that are grammar where a command begins. */
static bool is_reserved(const char *word)
{
	static const char *const reserved[] = {
		"if", "then", "elif", "else", "fi", "for", "in", "while", "until", "do", "done", "case", "esac", "function", "select",
		"time", "coproc", "foreach", "end", "repeat", "nocorrect", "noglob",
	};
	size_t i;

	for (i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++)
		if (strcmp(word, reserved[i]) == 0)
			return true;
	return false;
}

int text_words(const char *text, char storage[static TEXT_MAX_BYTES], const char *words[static WORDS_MAX + 1], const char **ret_why)
{
	size_t len = strlen(text), i;
	int nr = 0;

	if (len >= TEXT_MAX_BYTES) {
		*ret_why = "it is longer than 16 KiB";
		return -1;
	}
	memcpy(storage, text, len + 1);
	for (i = 0; i < len; i++) {
		if (storage[i] == ' ' || storage[i] == '\t') {
			storage[i] = '\0';
			continue;
		}
		if (!is_plain(storage[i])) {
			*ret_why = "it holds shell syntax or bytes that are not plain ASCII";
			return -1;
		}
		if (i > 0 && storage[i - 1])
			continue;
		if (nr == WORDS_MAX) {
			*ret_why = "it has more than 256 words";
			return -1;
		}
		words[nr++] = storage + i;
	}
	words[nr] = NULL;
	if (nr > 0 && (strchr(words[0], '=') || words[0][0] == '%' || is_reserved(words[0]))) {
		*ret_why = "it begins with an assignment, a job or a reserved word";
		return -1;
	}
	return nr;
}
