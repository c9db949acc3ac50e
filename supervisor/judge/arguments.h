/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line taken apart as the tool itself does it, driven by what commands/ says of the tool: which effects follow, from which
 * word, and which of the words are paths, targets, programs and code. Pure; no allocation; bounded.
 */
#pragma once

#include "supervisor/policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

#define ARGUMENT_ITEMS_MAX 160
#define ARGUMENT_HITS_MAX 96

/* What is known of a word before anything runs. */
enum word_flags {
	WORD_STATIC = 0,
	WORD_DYNAMIC = 1,	/* the text is not (all of) what the tool will get */
	WORD_SPLITS = 2,	/* may become several words, or none */
	WORD_OPERAND = 4,	/* but surely does not begin with "-" */
	WORD_GLOB = 8,		/* names of files: each begins as the text does before its first pattern */
};

struct words {
	const char *const *text;
	const uint8_t *flags;	/* enum word_flags a word, or NULL: all static */
	size_t nr;
};

struct argument {		/* a word with a role */
	enum role role;
	const char *text;	/* the value alone, "-ofile" gives "file" */
	uint8_t flags;
	size_t word, nr_words;	/* ROLE_COMMAND: where the inner command line stands in the words */
	struct condition when;	/* of ROLE_WRITE and ROLE_DELETE: otherwise the file is only read */
};

struct hit {			/* a word that adds effects */
	unsigned effects;
	struct condition when;
	const char *name, *value;	/* the option and its value; NULL for an operand's name */
};

struct arguments {
	unsigned effects;
	enum page page;			/* of a program that acts elsewhere */
	labels labels;
	struct argument items[ARGUMENT_ITEMS_MAX];
	size_t nr_items;
	struct hit hits[ARGUMENT_HITS_MAX];
	size_t nr_hits;
	const struct command *command;	/* the subcommand that was reached */
};

/* words.text[0] is the name the program was called by; known: labels that hold already. Always fills ret; too much for the bounds is EFFECT_UNKNOWN. */
void arguments_parse(const struct command *command, struct words words, labels known, struct arguments *ret);

/* The first word that adds one of these effects, or NULL. */
const struct hit *arguments_cause(const struct arguments *arguments, unsigned effects);

/* Writing there changes nothing that lasts: /dev/null and the standard streams. Where a tool takes "-" for one, its data says so; to others it is a file. */
bool word_is_sink(const char *path);

/* Globs with * ? [a-z] [!a]; the first len bytes of text. */
bool glob_match(const char *pattern, const char *text, bool fold);
/* The first part of a path, up to a slash or its end, against the first of another. */
bool glob_match_part(const char *pattern, const char *text);
