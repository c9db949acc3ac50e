/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of words, and the brace expansions simple enough to be done here. */
#include "supervisor/analyze/reading.h"

#define BRACE_WORD_BYTES 256

void sh_words_begin(struct sh_words *words)
{
	*words = (struct sh_words){ NULL, &words->first, 0 };
}

int sh_words_add(struct sh_reader *r, struct sh_words *words, struct shell_word *word)
{
	struct sh_word_node *node = sh_take(r, sizeof(*node));

	if (!node)
		return -ENOMEM;
	node->word = word;
	*words->tail = node;
	words->tail = &node->next;
	words->nr++;
	return 0;
}

/* Bytes that mean nothing more to the shell once the braces are gone. */
static bool is_plain(char c)
{
	return sh_is_name((unsigned char)c) || (c && strchr("/.-+:,@%=", c));
}

/* One "{", one "}" behind it, a comma between, all else plain, no "..": what stands before, inside and behind. */
static bool split_braces(struct bytes value, struct bytes ret_parts[static 3])
{
	size_t open = value.len, close = value.len, i;
	bool comma = false;

	if (value.len > BRACE_WORD_BYTES)
		return false;
	for (i = 0; i < value.len; i++) {
		char c = value.data[i];

		if (c == '{' && open == value.len)
			open = i;
		else if (c == '}' && open < value.len && close == value.len)
			close = i;
		else if (!is_plain(c) || (c == '.' && i + 1 < value.len && value.data[i + 1] == '.'))
			return false;
		comma |= c == ',' && open < value.len && close == value.len;
	}
	ret_parts[0] = (struct bytes){ value.data, open };
	ret_parts[1] = (struct bytes){ value.data + open + 1, close - open - 1 };
	ret_parts[2] = (struct bytes){ value.data + close + 1, value.len - close - 1 };
	return comma && close < value.len;
}

static int add_joined(struct sh_reader *r, struct sh_words *words, const struct shell_word *word, const struct bytes parts[static 3])
{
	size_t len = parts[0].len + parts[1].len + parts[2].len, i;
	struct shell_word *joined;
	char *data;

	if (len == 0)			/* an empty word without quotes is none */
		return 0;
	joined = sh_take(r, sizeof(*joined));
	data = sh_take(r, len + 1);
	if (!joined || !data)
		return -ENOMEM;
	*joined = (struct shell_word){ .source = word->source, .offset = word->offset, .single = true, .value = { data, len },
				       .prefix = { data, len } };
	for (i = 0; i < 3; data += parts[i++].len)
		memcpy(data, parts[i].data, parts[i].len);
	return sh_words_add(r, words, joined);
}

int sh_words_add_braces(struct sh_reader *r, struct sh_words *words, struct shell_word *word)
{
	struct bytes parts[3], inside;
	size_t i, from = 0;

	if (word->why != SHELL_BRACE || word->quoted || r->dialect != SHELL_BASH || !split_braces(word->value, parts))
		return sh_words_add(r, words, word);
	inside = parts[1];
	for (i = 0; i <= inside.len; i++) {
		if (i < inside.len && inside.data[i] != ',')
			continue;
		parts[1] = (struct bytes){ inside.data + from, i - from };
		TRY(add_joined(r, words, word, parts));
		from = i + 1;
	}
	return 0;
}

int sh_words_end(struct sh_reader *r, const struct sh_words *words, struct shell_word ***ret_array, size_t *ret_nr)
{
	struct shell_word **array = sh_take(r, (words->nr + 1) * sizeof(struct shell_word *));
	const struct sh_word_node *node;
	size_t i = 0;

	if (!array)
		return -ENOMEM;
	for (node = words->first; node; node = node->next)
		array[i++] = node->word;
	*ret_array = array;
	*ret_nr = words->nr;
	return 0;
}
