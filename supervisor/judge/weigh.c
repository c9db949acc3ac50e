/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the words of a command line lead to: trees that cannot be replaced, devices, secrets, targets, programs inside programs.
 *
 * At execve only what arguments alone can tell is weighed: files, sockets and further programs are judged there when they are touched.
 */
#include "supervisor/judge/weigh.h"

#include "supervisor/analyze/arena.h"
#include "supervisor/analyze/programs.h"
#include "supervisor/analyze/url.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void weigh_answer(struct weighing *w, const struct decision *inner)
{
	if (w->ret->answered)
		answer_worse(&w->ret->decision, inner);
	else
		w->ret->decision = *inner;
	w->ret->answered = true;
}

void weigh_question(struct weighing *w, const struct action *action, void (*judge_it)(const struct judging *j))
{
	struct decision inner = { 0 };
	const struct judging j = { .policy = w->j->policy, .subject = w->j->subject, .action = action, .decision = &inner,
				   .steps = w->j->steps, .depth = w->j->depth + 1, .lost = w->j->lost, .in_text = true };

	judge_it(&j);
	weigh_answer(w, &inner);
}

/* ---- targets ---- */

static bool is_web(const struct url *url)
{
	return strcmp(url->scheme, "http") == 0 || strcmp(url->scheme, "https") == 0;
}

/* Whether the words are all that will be known of its requests: in text, and at the exec of a tool for which another process makes them. */
static bool words_are_all(const struct weighing *w)
{
	return !at_execve(w->j) || w->arguments->page != PAGE_NONE;
}

static void weigh_place(struct weighing *w, const struct url *url)
{
	struct decision answer = { 0 };
	struct action action = *w->j->action;
	struct judging j = *w->j;

	if (!(w->arguments->effects & (EFFECT_FETCH | EFFECT_NETWORK | EFFECT_NETWORK_MUTATE | EFFECT_FLOOD)))
		return;		/* names it, and does not go there */
	action.agent_listens |= at_execve(w->j);	/* asked when it connects */
	j.action = &action;
	j.decision = &answer;
	switch (judge_target(&j, url)) {
	case PLACE_SCOPE:
		w->nr_in_scope++;
		break;
	case PLACE_PUBLIC:
		break;
	case PLACE_OUTSIDE:
		w->ret->effects |= EFFECT_OUTSIDE;
		break;
	case PLACE_UNCLEAR:
		w->ret->effects |= EFFECT_UNSEEN;
		break;
	default:
		weigh_answer(w, &answer);
		break;
	}
}

/*
 * At an exec connections are judged when they are made, and one to the proxy says nothing of its target: with a scope, the words here are the last that do.
 * unclear: they are no target that can be read.
 */
static void weigh_place_at_exec(struct weighing *w, const struct url *url, bool unclear)
{
	const struct judge_subject *subject = w->j->subject;
	struct decision answer = { 0 };
	struct action action = *w->j->action;
	struct judging j = *w->j;

	if (!(subject->scope && subject->scope->nr) && !(subject->narrowed && subject->narrowed->nr))
		return;
	if (!(w->arguments->effects & (EFFECT_FETCH | EFFECT_NETWORK | EFFECT_NETWORK_MUTATE | EFFECT_FLOOD)))
		return;
	action.agent_listens = true;	/* asked when it connects */
	j.decision = &answer;
	j.action = &action;
	if (unclear)
		w->ret->effects |= EFFECT_UNSEEN;
	else if (judge_target(&j, url) == PLACE_OUTSIDE)
		w->ret->effects |= EFFECT_OUTSIDE;
}

/*
 * "http://target.test/users?id=1" without quotes is a pattern to the shell. Whatever file it finds, a single letter stands in the place of
 * the "?": the host stays, and where that letter cannot make a word that changes something the request is as good as the one that is read.
 */
static bool is_unquoted_query(const struct weighing *w, const struct argument *item)
{
	const char *host = strstr(item->text, "://"), *path = host ? strchr(host + 3, '/') : NULL;

	return item->flags & WORD_GLOB && path && strcspn(item->text, "*?[\\") >= (size_t)(path - item->text) && !strpbrk(path, "*[\\") &&
	       !url_may_become_mutating(w->j->policy, path);
}

static void weigh_url(struct weighing *w, const struct argument *item)
{
	struct url url;

	w->nr_targets++;
	if (!words_are_all(w)) {
		const bool unclear = url_parse(item->text, true, &url);

		return weigh_place_at_exec(w, &url, unclear);
	}
	if (strncmp(item->text, "file://", 7) == 0)
		weigh_read(w, item->text + 7, item->flags, true);
	if (text_is_destructive(w->j->policy, item->text))
		w->ret->effects |= EFFECT_PUBLISH;
	if (item->flags & WORD_DYNAMIC && !is_unquoted_query(w, item))
		w->ret->effects |= EFFECT_UNSEEN;
	/* A pattern that finds no file stays as it is typed. */
	if ((item->flags & (WORD_DYNAMIC | WORD_GLOB)) == WORD_DYNAMIC || url_parse(item->text, true, &url)) {
		w->ret->effects |= EFFECT_UNSEEN;
		return;
	}
	if (!is_web(&url) && w->arguments->effects & EFFECT_FETCH)
		w->ret->effects |= EFFECT_UNSEEN;	/* a protocol of its own: nothing here tells what it does */
	if (url.has_userinfo)
		w->ret->effects |= EFFECT_NETWORK;
	if (url_is_mutating(w->j->policy, url.path))
		w->ret->effects |= EFFECT_NETWORK_MUTATE;
	weigh_place(w, &url);
}

/* "target.test", "10.0.0.0/24", "@ns.target.test", "user@host", "host:port", or a URL where tools take one. */
static void weigh_host(struct weighing *w, const struct argument *item)
{
	char host[300];
	const char *text = item->text, *at;
	struct url url;
	bool unclear;
	size_t len;

	if (strstr(text, "://")) {
		weigh_url(w, item);
		return;
	}
	w->nr_targets++;
	at = strrchr(text, '@');
	text = at ? at + 1 : text;
	len = strcspn(text, "/");
	unclear = item->flags & WORD_DYNAMIC || len >= sizeof(host);
	memcpy(host, text, unclear ? 0 : len);
	host[unclear ? 0 : len] = '\0';
	unclear = unclear || url_parse_host(host, &url);
	if (at_execve(w->j))
		weigh_place_at_exec(w, &url, unclear);
	else if (unclear)
		w->ret->effects |= EFFECT_UNSEEN;
	else
		weigh_place(w, &url);
}

static void weigh_body(struct weighing *w, const struct argument *item)
{
	if (text_is_destructive(w->j->policy, item->text))
		w->ret->effects |= EFFECT_PUBLISH;
	if (*item->text == '@')
		weigh_read(w, item->text + 1, item->flags, true);
}

/* Passive requests pass where all their targets are declared; otherwise they are requests like others. */
static void settle_fetch(struct weighing *w)
{
	if (!(w->arguments->effects & EFFECT_FETCH))
		return;
	if (words_are_all(w) && w->nr_targets && w->nr_targets == w->nr_in_scope)
		return;
	w->ret->without |= EFFECT_FETCH;
	w->ret->effects |= EFFECT_NETWORK;
}

/* ---- programs and code ---- */

static void weigh_text(struct weighing *w, const char *text)
{
	const char *const argv[] = { text, NULL };

	if (at_execve(w->j) || !*text)
		return;
	weigh_question(w, &(struct action){ .kind = ACTION_EXEC, .argv = argv, .shell_text = true, .cwd = w->j->action->cwd }, judge_exec);
}

/* A helper gets its words and its input from the tool: only what is refused with any of them counts here. */
static void weigh_helper(struct weighing *w, const struct argument *item)
{
	const char *const argv[] = { item->text, NULL };
	const struct action action = { .kind = ACTION_EXEC, .argv = argv, .shell_text = true, .cwd = w->j->action->cwd };
	struct decision inner = { 0 };
	struct judging j = *w->j;

	if (at_execve(w->j) || item->flags & WORD_DYNAMIC || !*item->text)
		return;
	j.action = &action;
	j.decision = &inner;
	j.depth++;
	j.fed = true;
	j.guessed = true;
	j.also = 0;
	j.around = NULL;
	judge_exec(&j);
	if (inner.verdict == VERDICT_DENY && strcmp(inner.tag, "incomplete_evidence") != 0)
		weigh_answer(w, &inner);
}

static void weigh_program_text(struct weighing *w, const struct argument *item)
{
	struct program_facts facts;

	if (w->arguments->labels & LABEL_SANDBOX)
		return;
	if (item->flags & WORD_DYNAMIC) {
		w->ret->effects |= EFFECT_CODE;
		return;
	}
	if (item->role == ROLE_SED)
		sed_read(item->text, &facts);
	else
		awk_read(item->text, &facts);
	if (facts.runs) {
		w->ret->effects |= EFFECT_CODE;
		weigh_text(w, facts.command);
	}
	if (facts.reads)
		weigh_read(w, facts.source, WORD_STATIC, true);
	if (facts.writes) {
		w->ret->effects |= EFFECT_WRITE;
		if (facts.file[0])
			weigh_changed(w, &(struct argument){ .role = ROLE_WRITE, .text = facts.file });
	}
}

/* A file outside the project is nobody's evidence; one inside it is reviewed. */
static void weigh_script(struct weighing *w, const struct argument *item)
{
	const struct judging *j = w->j;
	char path[PATH_MAX];

	if (at_execve(j) || strcmp(item->text, "-") == 0)
		return;
	if (item->flags & WORD_DYNAMIC || path_normalize(j->action->cwd ? j->action->cwd : "/", item->text, path, sizeof(path)) < 0 ||
	    !path_is_under(path, j->policy->paths.project))
		w->ret->effects |= EFFECT_DYNAMIC;
}

/* Words of a command line inside this one; "{}" and its kind become names that stand below what was given. */
static void weigh_command(struct weighing *w, const struct argument *item)
{
	_uninitialized_ const char *text[WORDS_MAX + 1];
	_uninitialized_ uint8_t flags[WORDS_MAX];
	const bool fills = w->arguments->labels & LABEL_FILLS;
	struct words words = { text, flags, item->nr_words };
	struct decision inner = { 0 };
	struct judging j = *w->j;
	size_t i;

	if (at_execve(w->j))
		return;
	if (item->nr_words + fills > WORDS_MAX || w->j->depth >= JUDGE_DEPTH_MAX) {
		w->ret->effects |= EFFECT_DYNAMIC;
		return;
	}
	for (i = 0; i < item->nr_words; i++) {
		text[i] = w->words.text[item->word + i];
		flags[i] = w->words.flags ? w->words.flags[item->word + i] : WORD_STATIC;
		if (strstr(text[i], "{}"))
			flags[i] |= WORD_DYNAMIC | WORD_OPERAND;
	}
	if (fills) {
		text[words.nr] = "{}";
		flags[words.nr++] = WORD_DYNAMIC | WORD_SPLITS;
	}
	text[words.nr] = NULL;
	j.decision = &inner;
	j.depth++;
	j.fed = true;
	j.crowded = false;
	j.also = 0;
	j.around = NULL;
	if (!judge_shell_words(&j, words))
		judge_words(&j, words);
	w->ret->runs = true;
	weigh_answer(w, &inner);
}

/* What watch and its like give to a shell. */
static void weigh_line(struct weighing *w, const struct argument *item)
{
	struct arena *arena = w->j->subject->arena;
	const char *const *words = w->words.text + item->word;
	char *text, *at;
	size_t bytes = 0, i;

	if (at_execve(w->j))
		return;
	for (i = 0; i < item->nr_words; i++)
		bytes += w->words.flags && w->words.flags[item->word + i] & WORD_DYNAMIC ? TEXT_MAX_BYTES : strlen(words[i]) + 1;
	text = at = arena && bytes < TEXT_MAX_BYTES ? arena_take(arena, bytes + 1) : NULL;
	if (!text) {
		w->ret->effects |= EFFECT_DYNAMIC;
		return;
	}
	for (i = 0; i < item->nr_words; i++) {
		at = stpcpy(at, words[i]);
		*at++ = ' ';
	}
	weigh_text(w, text);
	w->ret->runs = true;
}

static void weigh_name(struct weighing *w, const struct argument *item)
{
	if (at_execve(w->j))
		return;
	if (item->flags & WORD_DYNAMIC && !strchr(item->text, '='))
		w->ret->effects |= EFFECT_UNKNOWN;
	else if (item->role == ROLE_NAME || strchr(item->text, '='))
		weigh_question(w, &(struct action){ .kind = ACTION_ENVIRONMENT, .text = item->text }, judge_environment);
}

static void weigh_item(struct weighing *w, const struct argument *item)
{
	switch (item->role) {
	case ROLE_WRITE:
	case ROLE_DELETE:
		weigh_changed(w, item);
		break;
	case ROLE_READ:
	case ROLE_LOOK:
		weigh_read(w, item->text, item->flags, item->role == ROLE_READ);
		break;
	case ROLE_SCRIPT:
		weigh_script(w, item);
		break;
	case ROLE_URL:
		weigh_url(w, item);
		break;
	case ROLE_HOST:
		weigh_host(w, item);
		break;
	case ROLE_BODY:
		weigh_body(w, item);
		break;
	case ROLE_COMMAND:
		weigh_command(w, item);
		break;
	case ROLE_LINE:
		weigh_line(w, item);
		break;
	case ROLE_PROGRAM:
		weigh_helper(w, item);
		break;
	case ROLE_SHELL:
		if (item->flags & WORD_DYNAMIC || at_execve(w->j))
			break;
		weigh_text(w, item->text);
		w->ret->runs = true;
		break;
	case ROLE_SED:
	case ROLE_AWK:
		weigh_program_text(w, item);
		break;
	case ROLE_ASSIGNMENT:
	case ROLE_NAME:
		weigh_name(w, item);
		break;
	default:
		break;
	}
}

/* A pattern is held against every place that is kept from agents, and the working folder stands before a relative name. */
static size_t steps_of(const struct weighing *w, const struct argument *item)
{
	const char *cwd = w->j->action->cwd;

	return 32 + strlen(item->text) + (item->flags & WORD_GLOB ? 128 : 0) + (cwd && *item->text != '/' ? 2 * strlen(cwd) : 0);
}

void weigh_arguments(const struct judging *j, struct words words, const struct arguments *arguments, struct consequences *ret)
{
	struct weighing w = { .j = j, .words = words, .arguments = arguments, .ret = ret };
	size_t i;

	ret->effects = ret->without = 0;
	ret->answered = ret->runs = false;
	for (i = 0; i < arguments->nr_items && judge_step(j, steps_of(&w, &arguments->items[i])); i++)
		weigh_item(&w, &arguments->items[i]);
	settle_fetch(&w);
	if (w.nr_deleted && w.nr_scratch == w.nr_deleted && !(ret->effects & EFFECT_HARDLINE)) {
		ret->without |= EFFECT_DELETE;
		ret->effects |= EFFECT_WRITE;
	}
	if (at_execve(j) || j->fed)
		ret->without |= EFFECT_TYPED;
}
