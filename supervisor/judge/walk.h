/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the argument engine: one command line on its way to what it does. walk.c keeps what was found, options.c and operands.c take
 * words, arguments.c knows the styles.
 */
#pragma once

#include "supervisor/judge/arguments.h"

#define CHAIN_MAX 6

struct walk {
	struct words words;
	size_t at;			/* the word after the current one */
	const struct command *chain[CHAIN_MAX];	/* the command and the subcommands reached so far */
	size_t nr_chain;
	bool operands_only;
	size_t nr_operands, rule;	/* of the current subcommand */
	size_t last_operand;		/* its word, for the rule about the last one */
	struct arguments *ret;
};

struct found {
	const struct command *command;
	const struct option_name *name;
	bool ambiguous;
};

const struct command *walk_leaf(const struct walk *w);
enum style walk_style(const struct walk *w);
uint8_t walk_flags(const struct walk *w, size_t word);
/* Whether the word, or one of those the shell makes of it, may begin with "-". */
bool word_may_be_option(uint8_t flags);
void walk_add_hit(struct walk *w, unsigned effects, struct condition when, const char *name, const char *value);
void walk_add_unknown(struct walk *w, const char *word);
void walk_add_item(struct walk *w, struct argument item);
unsigned walk_role_effects(enum role role, const char *text, uint8_t flags);
/* A word that nobody knows may be any of the values. */
void walk_mean_any(struct walk *w, const struct meaning *meaning, const char *name, const char *text);
/* text is NULL for an option without a value. */
void walk_mean(struct walk *w, const struct meaning *meaning, const char *name, const char *text, uint8_t flags, size_t word);

/* The option of this name, in the subcommand or in what stands above it; abbreviated: unique prefixes count. */
struct found options_find(const struct walk *w, const char *text, size_t len, bool abbreviated);
const struct option_name *options_find_exact(const struct command *command, const char *text, size_t len);
/* Whether an option that is not listed is unknown, and whether a listed one does more than read. */
bool options_matter(const struct walk *w);
bool options_may_harm(const struct walk *w);
bool options_any_matches(const struct walk *w, const char *pattern);
/* attached: the rest of the word, or NULL. */
void options_take(struct walk *w, const struct found *found, const char *attached, uint8_t flags, size_t word);
void options_take_long(struct walk *w, const char *word, size_t dashes, uint8_t flags, size_t at);
void options_take_cluster(struct walk *w, const char *letters, uint8_t flags, size_t at);
bool options_take_single(struct walk *w, const char *word, uint8_t flags, size_t at);

void operands_take(struct walk *w, const char *word, uint8_t flags, size_t at);
void operands_take_command(struct walk *w, const struct meaning *meaning, size_t from, size_t to);
/* cp A B: what B is was known only at the end. */
void operands_take_last(struct walk *w);
