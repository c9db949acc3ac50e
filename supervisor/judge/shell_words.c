/* SPDX-License-Identifier: Apache-2.0 */
/* Words and redirections of a shell's text, as far as they are known before it runs. */
#include "supervisor/judge/judging.h"

#include "supervisor/analyze/shell.h"
#include "supervisor/base/cleanup.h"

#include <string.h>

static const char *text_of(const struct judging *j, struct bytes bytes)
{
	char *text = arena_take(j->subject->arena, bytes.len + 1);

	if (text && bytes.len)
		memcpy(text, bytes.data, bytes.len);
	return text;
}

/* "~NAME/x": where passwd puts homes, as far as a text can tell. */
static const char *below_other_home(const struct judging *j, struct bytes typed)
{
	bool is_root = bytes_start(typed, bytes_of("~root")) && (typed.len == 5 || typed.data[5] == '/');
	const char *front = is_root ? "/" : "/home/";
	char *text = arena_take(j->subject->arena, strlen(front) + typed.len);

	if (!text)
		return NULL;
	memcpy(text, front, strlen(front));
	memcpy(text + strlen(front), typed.data + 1, typed.len - 1);
	return text;
}

static const char *below_home(const struct judging *j, const struct shell_word *word);

/* "NAME=~/x" is an argument of which bash expands the tilde: "NAME=" and the expansion of the rest. */
static const char *behind_name(const struct judging *j, struct bytes typed)
{
	const char *equals = memchr(typed.data, '=', typed.len), *rest;
	size_t lead = equals ? (size_t)(equals + 1 - typed.data) : 0;
	struct shell_word plain = { .why = SHELL_TILDE, .value = { typed.data + lead, typed.len - lead } };
	char *text;

	if (!lead || lead == typed.len || typed.data[lead] != '~' || memchr(typed.data + lead, ':', typed.len - lead))
		return NULL;
	rest = below_home(j, &plain);
	text = rest ? arena_take(j->subject->arena, lead + strlen(rest) + 1) : NULL;
	if (!text)
		return NULL;
	memcpy(text, typed.data, lead);
	strcpy(text + lead, rest);
	return text;
}

/* "~", "~/x", $HOME, ${HOME}/x: texts cannot set HOME, so it is the launch user's. */
static const char *below_home(const struct judging *j, const struct shell_word *word)
{
	const char *home = j->subject->home;
	const struct shell_part *part = word->parts;
	struct bytes rest = { "", 0 };
	size_t len = home ? strlen(home) : 0;
	char *text;

	if (!home || *home != '/')
		return NULL;
	if (word->why == SHELL_TILDE) {
		rest = word->value;
		if (!rest.len || rest.data[0] != '~')
			return behind_name(j, rest);
		if (rest.len > 1 && strchr("+-", rest.data[1]))
			return NULL;
		if (rest.len > 1 && rest.data[1] != '/')
			return below_other_home(j, rest);
		rest = (struct bytes){ rest.data + 1, rest.len - 1 };
	} else if (word->why == SHELL_PARAMETER && part && part->why == SHELL_PARAMETER && bytes_equal(part->text, bytes_of("HOME"))) {
		if (part->next && (part->next->why || part->next->next))
			return NULL;
		if (part->next)
			rest = part->next->text;
	} else {
		return NULL;
	}
	text = arena_take(j->subject->arena, len + rest.len + 1);
	if (!text)
		return NULL;
	memcpy(text, home, len);
	memcpy(text + len, rest.data, rest.len);
	return text;
}

/* A pattern behind "~". */
static const char *at_home(const struct judging *j, struct bytes typed)
{
	struct shell_word plain = { .why = SHELL_TILDE, .value = typed };

	return below_home(j, &plain);
}

bool word_of_shell(const struct judging *j, const struct shell_word *word, const char **ret_text, uint8_t *ret_flags)
{
	const char *home = word->why ? below_home(j, word) : NULL;
	bool known_start = word->prefix.len && word->prefix.data[0] != '-';

	*ret_flags = WORD_STATIC;
	if (home) {
		*ret_text = home;
		return true;
	}
	if (!word->why) {
		*ret_text = text_of(j, word->value);
		return *ret_text;
	}
	*ret_flags = WORD_DYNAMIC;
	if (!word->single && word->why != SHELL_TILDE)
		*ret_flags |= WORD_SPLITS;
	if (!(word->why & ~(unsigned)(SHELL_GLOB | SHELL_TILDE)) && word->why & SHELL_GLOB) {
		*ret_flags |= WORD_GLOB;
		(void)judge_step(j, 512);	/* it will be held against the names of options */
	}
	if (known_start || word->why == SHELL_PROCESS || word->why == SHELL_TILDE)
		*ret_flags |= WORD_OPERAND;
	*ret_text = NULL;
	if (word->why == (SHELL_TILDE | SHELL_GLOB))
		*ret_text = at_home(j, word->value);
	if (!*ret_text)
		*ret_text = text_of(j, !(word->why & ~(unsigned)SHELL_PATTERNS) ? word->value : word->source);
	return *ret_text;
}

bool words_of_shell(const struct judging *j, struct shell_word *const *words, size_t nr, struct judged_words *ret)
{
	size_t i;

	ret->nr = nr;
	ret->text = nr > WORDS_MAX ? NULL : arena_take(j->subject->arena, (nr + 1) * sizeof(*ret->text));
	ret->flags = nr > WORDS_MAX ? NULL : arena_take(j->subject->arena, nr + 1);
	if (!ret->text || !ret->flags)
		return false;
	for (i = 0; i < nr; i++)
		if (!word_of_shell(j, words[i], &ret->text[i], &ret->flags[i]))
			return false;
	return true;
}

/* ---- redirections ---- */

static bool is_socket(const char *path)
{
	return strncmp(path, "/dev/tcp/", 9) == 0 || strncmp(path, "/dev/udp/", 9) == 0;
}

static void refuse_socket(const struct judging *j, struct consequences *c)
{
	struct decision answer = { 0 };
	struct judging inner = *j;

	inner.decision = &answer;
	answer_deny(&inner, "unresolved_network_mutation", (struct ruling){ "exec.shell_socket", CODE_RULE, "use curl, and name the URL in the command" },
		    "A redirection opens a socket, and what goes through it is not seen.");
	if (c->answered)
		answer_worse(&c->decision, &answer);
	else
		c->decision = answer;
	c->answered = true;
}

static void weigh_file(const struct judging *j, const struct shell_redirection *redirection, bool writes, struct consequences *c, bool *ret_writes)
{
	static const struct command none;
	_uninitialized_ struct arguments arguments;
	struct argument *item = &arguments.items[0];
	struct consequences one = { 0 };
	struct judging inner = *j;

	arguments.effects = writes ? EFFECT_WRITE : EFFECT_READ;
	arguments.page = PAGE_NONE;
	arguments.labels = 0;
	arguments.nr_items = arguments.nr_hits = 0;
	arguments.command = &none;
	*item = (struct argument){ .role = writes ? ROLE_WRITE : ROLE_READ };
	if (!word_of_shell(j, redirection->target, &item->text, &item->flags)) {
		c->effects |= EFFECT_UNKNOWN | EFFECT_WRITE;
		return;
	}
	if (redirection->target->why == SHELL_PROCESS)
		return;		/* a pipe; what stands at its other end is a command of its own */
	if (is_socket(item->text)) {
		refuse_socket(j, c);
		return;
	}
	if (writes && (item->flags & WORD_DYNAMIC || !word_is_sink(item->text))) {
		c->effects |= EFFECT_WRITE;
		*ret_writes = true;
	}
	if (item->flags & WORD_DYNAMIC || (writes && word_is_sink(item->text)))
		return;
	arguments.nr_items = 1;
	inner.fed = false;
	weigh_arguments(&inner, (struct words){ 0 }, &arguments, &one);
	c->effects |= one.effects;
	if (!one.answered)
		return;
	if (c->answered)
		answer_worse(&c->decision, &one.decision);
	else
		c->decision = one.decision;
	c->answered = true;
}

void weigh_redirections(const struct judging *j, const struct shell_redirection *redirections, struct consequences *ret, bool *ret_writes)
{
	const struct shell_redirection *r;

	*ret_writes = false;
	for (r = redirections; r; r = r->next) {
		switch (r->op) {
		case SHELL_READ:
			weigh_file(j, r, false, ret, ret_writes);
			break;
		case SHELL_WRITE:
		case SHELL_APPEND:
		case SHELL_READ_WRITE:
		case SHELL_WRITE_BOTH:
		case SHELL_APPEND_BOTH:
			weigh_file(j, r, true, ret, ret_writes);
			break;
		case SHELL_DUP_IN:
		case SHELL_DUP_OUT:
			if (r->target && r->target->why)
				ret->effects |= EFFECT_UNKNOWN | EFFECT_WRITE;
			break;
		default:
			break;
		}
	}
}
