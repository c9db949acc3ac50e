/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which folders the commands of a text may stand. A cd may fail, be left out or stand in a subshell of its own: "cd /nowhere; cat x" reads x where the text
 * began. What follows by && stands where cd went, what follows by || where it did not, everything else in both.
 *
 * Sets are immutable and shared; a union that would not fit becomes "lost". Loops, functions and traps come back to their first command from places that
 * stand further on in the text: with a cd in it they may stand wherever one leads, or elsewhere. One pass; the depth of recursion is that of the reader. Pure; no allocation but from the arena.
 */
#include "supervisor/judge/folders.h"

#include "supervisor/analyze/arena.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <limits.h>
#include <string.h>

#define MOVES_MAX 256			/* further ones lead anywhere */

struct list {				/* the commands with one parent, up to where the pass is */
	const struct folders *success, *failure;	/* after the pipelines before `last`, by how they ended; NULL before the first one */
	const struct folders *start;	/* of the pipeline that `last` is part of */
	enum shell_joint joint;		/* of that pipeline */
	const struct shell_command *last;
};

struct node {
	const struct folders *start;
	struct list body;		/* what runs in the shell itself */
	struct list aside;		/* substitutions: each a shell of its own */
};

struct walk {
	const struct judging *j;
	const struct shell_script *script;
	struct node *nodes;		/* by index; behind the last one the text itself */
	const struct folders *all;	/* where any cd leads */
	bool moves;			/* there is a cd somewhere */
	unsigned nr_moves;		/* followed so far */
	bool loops_move, functions_move;
	bool failed;			/* no room */
};

/* ---- sets ---- */

static bool has(const struct folders *set, const char *path)
{
	for (unsigned i = 0; i < set->nr; i++)
		if (set->path[i] == path || strcmp(set->path[i], path) == 0)
			return true;
	return false;
}

static bool holds(const struct folders *set, const struct folders *part)
{
	for (unsigned i = 0; i < part->nr; i++)
		if (!has(set, part->path[i]))
			return false;
	return set->lost || !part->lost;
}

static struct folders *copy(struct walk *w, const struct folders *set)
{
	struct folders *made = arena_take(w->j->subject->arena, sizeof(*made));

	if (made)
		*made = *set;
	else
		w->failed = true;
	return made;
}

static void add(struct folders *set, const char *path)
{
	if (has(set, path))
		return;
	if (set->nr == FOLDERS_MAX)
		set->lost = true;
	else
		set->path[set->nr++] = path;
}

static const struct folders *both(struct walk *w, const struct folders *a, const struct folders *b)
{
	struct folders *made;

	if (holds(a, b))
		return a;
	if (holds(b, a))
		return b;
	made = copy(w, a);
	if (!made)
		return a;
	for (unsigned i = 0; i < b->nr; i++)
		add(made, b->path[i]);
	made->lost |= b->lost;
	return made;
}

static const struct folders *or_anywhere(struct walk *w, const struct folders *set)
{
	struct folders *made = set->lost ? NULL : copy(w, set);

	if (!made)
		return set;
	made->lost = true;
	return made;
}

/* ---- cd ---- */

static bool word_is(const struct shell_word *word, const char *text)
{
	return !word->why && bytes_equal(word->value, bytes_of(text));
}

/* The index of the word that says cd, pushd or popd; or nr_words. */
static size_t moving_word(const struct shell_command *c)
{
	bool opaque;
	size_t i;

	if (c->kind != SHELL_SIMPLE || !c->nr_words)
		return c->nr_words;
	i = shell_program_index(c, &opaque);
	if (i < c->nr_words && !word_is(c->words[i], "cd") && !word_is(c->words[i], "pushd") && !word_is(c->words[i], "popd"))
		i = c->nr_words;
	return i;
}

/* cdable_vars, cdspell: cd goes elsewhere than its word says. */
static bool changes_cd(const struct shell_command *c)
{
	if (c->kind != SHELL_SIMPLE || !c->nr_words || !word_is(c->words[0], "shopt"))
		return false;
	for (size_t i = 1; i < c->nr_words; i++)
		if (c->words[i]->why || bytes_start(c->words[i]->value, bytes_of("cd")))
			return true;
	return false;
}

/* The word that names the folder; NULL: home. False: nobody knows. */
static bool operand(const struct judging *j, const struct shell_command *c, size_t at, const char **ret_operand)
{
	struct judged_words words;

	*ret_operand = NULL;
	if (word_is(c->words[at], "popd") || !words_of_shell(j, c->words + at, c->nr_words - at, &words))
		return false;
	for (at = 1; at < words.nr && !words.flags[at]; at++)
		if (strcmp(words.text[at], "--") != 0 && strcmp(words.text[at], "-P") != 0 && strcmp(words.text[at], "-L") != 0)
			break;
	if (at >= words.nr)
		return word_is(c->words[0], "cd") && j->subject->home;
	*ret_operand = words.text[at];
	return !words.flags[at] && words.text[at][0] != '-' && words.text[at][0] != '+' && at + 1 == words.nr;
}

/* Where a cd leads from all these places when it works. */
static const struct folders *moved(struct walk *w, const struct shell_command *c, size_t at, const struct folders *from)
{
	struct arena *arena = w->j->subject->arena;
	struct folders to = { .lost = from->lost }, *made;
	_uninitialized_ char path[PATH_MAX];
	char *kept;
	const char *name;

	/* Each leads one folder further on from all these places: thousands of them would fill any memory with ever longer names. */
	if (++w->nr_moves > MOVES_MAX)
		return or_anywhere(w, from);
	if (!operand(w->j, c, at, &name)) /* "cd -" leads back, "$x" may be "." */
		return or_anywhere(w, both(w, from, w->all));
	if (!name)
		name = w->j->subject->home;
	if (*name == '/')
		to.lost = false;
	for (unsigned i = 0; i < from->nr || (from->nr == 0 && *name == '/' && i == 0); i++) {
		if (!judge_step(w->j, 2 * strlen(from->nr ? from->path[i] : "/")) || path_normalize(from->nr ? from->path[i] : "/", name, path, sizeof(path)) < 0)
			return or_anywhere(w, from);
		if (has(&to, path))
			continue;
		kept = arena_take(arena, strlen(path) + 1);
		if (!kept) {
			w->failed = true;
			return from;
		}
		add(&to, strcpy(kept, path));
	}
	made = copy(w, &to);
	if (!made)
		return from;
	w->all = both(w, w->all, made);
	return made;
}

/* ---- the pass ---- */

static const struct folders nowhere;

/* "cd x || exit 1". With other words, or an output that cannot be had, the shell may go on. */
static bool ends_shell(const struct shell_command *c)
{
	if (c->kind != SHELL_SIMPLE || !c->nr_words || c->nr_words > 2 || !word_is(c->words[0], "exit") || c->calls || c->redirections || c->assignments)
		return false;
	return c->nr_words == 1 || word_is(c->words[1], "0") || word_is(c->words[1], "1");
}

static void leave(struct walk *w, struct list *list);

/* Where the shell stands after the list's last command, by how that ended. */
static void after(struct walk *w, const struct shell_command *c, const struct folders **ret_success, const struct folders **ret_failure)
{
	struct node *node = &w->nodes[c->index];
	const struct folders *start = node->start, *success = start;
	const size_t at = moving_word(c);

	*ret_success = *ret_failure = start;
	leave(w, &node->body);
	if (c->pipe_to || c->kind == SHELL_SUBSHELL || c->kind == SHELL_COPROC || c->kind == SHELL_DEFINITION)
		return;
	if (node->body.success && c->kind == SHELL_GROUP) {
		*ret_success = success = node->body.success;
		*ret_failure = node->body.failure;
	} else if (node->body.success) {
		*ret_success = *ret_failure = success = both(w, start, both(w, node->body.success, node->body.failure));
	}
	if (ends_shell(c))
		*ret_success = *ret_failure = success = &nowhere;
	if (at < c->nr_words)
		*ret_success = success = moved(w, c, at, start);
	if (c->calls && w->functions_move)
		*ret_success = *ret_failure = success = or_anywhere(w, success);
	/* Its own shell in most cases, but not with lastpipe, and not where the "&" is that of something around it. */
	if (c->pipe_from || c->context & (SHELL_IN_BACKGROUND | SHELL_NEGATED))
		*ret_success = *ret_failure = both(w, start, success);
}

static void leave(struct walk *w, struct list *list)
{
	const struct folders *success, *failure;

	if (!list->last)
		return;
	after(w, list->last, &success, &failure);
	list->last = NULL;
	switch (list->joint) {
	case SHELL_AFTER_SUCCESS:
		list->failure = both(w, list->failure, failure);
		list->success = success;
		break;
	case SHELL_AFTER_FAILURE:
		list->success = both(w, list->success, success);
		list->failure = failure;
		break;
	default:
		list->success = success;
		list->failure = failure;
		break;
	}
}

/* Whether the shell comes back to it from further on in the text. */
static bool returns(const struct walk *w, const struct shell_command *c)
{
	return c->context & SHELL_IN_FUNCTION || (w->loops_move && c->context & SHELL_IN_LOOP) || (c->context & SHELL_IN_EVALUATION && c->context & SHELL_CONDITIONAL);
}

/* Where a list begins that has this parent. */
static const struct folders *beginning(struct walk *w, const struct shell_command *c)
{
	const struct folders *start = w->nodes[c->parent ? c->parent->index : w->script->nr_commands].start;

	return returns(w, c) ? or_anywhere(w, start) : start;
}

static void enter(struct walk *w, const struct shell_command *c)
{
	struct node *node = &w->nodes[c->parent ? c->parent->index : w->script->nr_commands];
	const bool aside = c->relation == SHELL_CAPTURED || c->relation == SHELL_READ_FROM || c->relation == SHELL_WRITTEN_TO;
	struct list *list = aside ? &node->aside : &node->body;

	leave(w, list);
	if (!list->success)
		list->success = list->failure = beginning(w, c);
	if (!c->pipe_from) {
		list->joint = c->joint;
		list->start = c->joint == SHELL_AFTER_SUCCESS ? list->success :
			      c->joint == SHELL_AFTER_FAILURE ? list->failure : both(w, list->success, list->failure);
	}
	list->last = c;
	/* Behind an exit nothing runs, as far as is seen here: it is judged all the same. */
	w->nodes[c->index].start = list->start->nr || list->start->lost ? list->start : or_anywhere(w, beginning(w, c));
}

static void look_around(struct walk *w)
{
	for (size_t i = 0; i < w->script->nr_commands; i++) {
		const struct shell_command *c = w->script->commands[i];

		if (!changes_cd(c) && moving_word(c) >= c->nr_words)
			continue;
		w->moves = true;
		w->loops_move |= c->context & SHELL_IN_LOOP;
		w->functions_move |= c->context & SHELL_IN_FUNCTION;
	}
}

const struct folders **folders_of_script(const struct judging *j, const struct shell_script *script, const char *cwd, bool lost)
{
	struct walk w = { .j = j, .script = script, .all = &nowhere };
	const struct folders **answer = arena_take(j->subject->arena, (script->nr_commands + 1) * sizeof(struct folders *));
	struct folders *first = arena_take(j->subject->arena, sizeof(*first));
	bool changed = false;

	if (!answer || !first)
		return NULL;
	if (lost)
		first->lost = true;
	else
		add(first, cwd);
	look_around(&w);
	if (w.moves) {
		w.nodes = arena_take(j->subject->arena, (script->nr_commands + 1) * sizeof(*w.nodes));
		if (!w.nodes)
			return NULL;
		w.nodes[script->nr_commands].start = first;
	}
	for (size_t i = 0; i < script->nr_commands; i++) {
		if (w.moves)
			enter(&w, script->commands[i]);
		answer[i] = w.moves ? w.nodes[i].start : first;
		changed |= changes_cd(script->commands[i]);
		if (changed)
			answer[i] = or_anywhere(&w, answer[i]);
	}
	if (w.moves)
		leave(&w, &w.nodes[script->nr_commands].body);
	for (size_t i = 0; w.moves && i < script->nr_commands; i++)
		if (returns(&w, script->commands[i]))
			answer[i] = both(&w, answer[i], w.all);
	return w.failed ? NULL : answer;
}
