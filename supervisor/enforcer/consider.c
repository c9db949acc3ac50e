/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch that was asked for, considered as a whole before anything of it runs: the environment it would begin with, then its command, every command of
 * its text. On a worker, for a text of 64 KiB takes longer than a notified call may wait; the question is copied, as who asked may go meanwhile.
 */
#include "supervisor/enforcer/internal.h"
#include "supervisor/enforcer/presets.h"
#include "supervisor/enforcer/value.h"

#include "supervisor/analyze/arena.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/control/layout.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One allocation: the pointers, then the strings. */
static const char **copy_strings(const char *const *strings)
{
	size_t nr = 0, bytes = 0;
	const char **copy;
	char *at;

	for (; strings && strings[nr]; nr++)
		bytes += strlen(strings[nr]) + 1;
	copy = malloc((nr + 1) * sizeof(*copy) + bytes);
	if (!copy)
		return NULL;
	at = (char *)(copy + nr + 1);
	for (size_t i = 0; i < nr; i++) {
		copy[i] = at;
		at = stpcpy(at, strings[i]) + 1;
	}
	copy[nr] = NULL;
	return copy;
}

static void free_strings(char **strings)
{
	for (char **s = strings; s && *s; s++)
		free(*s);
	free(strings);
}

void consideration_free(struct consideration *c)
{
	if (!c)
		return;
	free_strings(c->environment);
	free_strings(c->values);
	buf_free(&c->missing);
	buf_free(&c->told);
	scope_free(&c->narrowed);
	free(c->argv);
	free(c->asked);
	free(c->added);
	free(c->roots);
	free(c->written);
	free(c->preset_program);
	free(c->preset_search);
	free(c->cwd);
	free(c);
}

struct judge_subject consideration_subject(const struct consideration *c, const char *const *environment, struct arena *arena)
{
	return (struct judge_subject){
		.mode = c->mode, .unreviewed_allow = c->unreviewed_allow, .home = c->user.home, .write_roots = c->roots, .launch_environment = environment,
		.scope = c->scope, .narrowed = &c->narrowed, .strict_roots = c->strict_roots, .gateway = c->gateway, .arena = arena, .session = c->session,
	};
}

/* In off nothing is refused, and what guarded would have said stands in the record. */
static void judge_command(struct consideration *c, struct arena *arena)
{
	struct judge_subject subject = consideration_subject(c, (const char *const *)c->environment, arena);

	judge_launch(c->policy, &subject, c->argv, c->cwd, &c->decision);
	judge_settle(&subject, &c->decision);
	if (c->mode != MODE_OFF)
		return;
	subject.mode = MODE_GUARDED;
	if (arena)
		arena->used_bytes = 0;
	judge_launch(c->policy, &subject, c->argv, c->cwd, &c->shadow);
}

static char *ask_source(const struct env_source *source, struct buf *missing)
{
	_cleanup_buf_ struct buf entry = { 0 };
	char why[160] = "out of memory";

	buf_text(&entry, source->name);
	buf_char(&entry, '=');
	if (value_ask(source, &entry, why, sizeof(why)) == 0) {
		buf_char(&entry, 0);
		if (!entry.failed)
			return TAKE_PTR(entry.data);
	}
	buf_text(missing, source->name);
	buf_text(missing, ": ");
	buf_text(missing, why);
	buf_char(missing, '\n');
	return NULL;
}

/* What Cordon adds, behind what the sources give, as the later of a name stays. NULL: out of memory. */
static const char **with_values(struct consideration *c)
{
	const struct environment *environment = &c->policy->environment;
	const char **all;
	size_t nr = 0, added = 0;

	while (c->added[added])
		added++;
	all = calloc(environment->nr_sources + added + 1, sizeof(*all));
	c->values = calloc(environment->nr_sources + 1, sizeof(*c->values));
	if (!all || !c->values) {
		free(all);
		return NULL;
	}
	for (size_t i = 0; c->asks_sources && !c->explains && i < environment->nr_sources; i++) {
		char *entry = ask_source(&environment->sources[i], &c->missing);

		if (entry)
			all[nr] = c->values[nr] = entry, nr++;
	}
	memcpy(all + nr, c->added, added * sizeof(*all));
	return all;
}

static const char *path_in(char *const *environment)
{
	while (*environment && strncmp(*environment, "PATH=", 5) != 0)
		environment++;
	return *environment ? *environment + 5 : "";
}

/*
 * A launch whose command is one of a preset, by its bare name, gets that one's variables besides, and a PATH in which agents write nothing. Behind a shell or
 * a template it is a command of a text: what stands around it would get them as well.
 */
static int add_preset(struct consideration *c, struct launch_given *given)
{
	const struct preset_command *command = policy_preset(c->policy, c->argv[0]);
	_cleanup_free_ struct preset_place *place = NULL;

	if (!command || !command->environment.nr)
		return 0;
	place = malloc(sizeof(*place));
	c->preset_search = preset_search(c->written, path_in(c->environment));
	if (!place || !c->preset_search)
		return -ENOMEM;
	if (preset_find(c->written, c->preset_search, command->name, place) < 0)
		return 0;
	c->preset = command->name;
	c->preset_program = strdup(place->program);
	free_strings(TAKE_PTR(c->environment));
	given->also = &command->environment;
	given->path = c->preset_search;
	return c->preset_program ? judge_launch_environment(c->policy, c->mode, given, &c->decision, &c->environment) : -ENOMEM;
}

/* ---- cordon env list ---- */

static void put_variable(struct json_out *j, const char *name, size_t len, const char *source, bool passes, const char *why)
{
	json_bytes(j, "name", (struct bytes){ name, len });
	json_text(j, "source", source);
	json_bool(j, "passes", passes);
	json_text(j, "why", why);
}

static bool is_sources(const struct consideration *c, const char *name, size_t len)
{
	const struct environment *environment = &c->policy->environment;

	for (size_t i = 0; c->asks_sources && i < environment->nr_sources; i++)
		if (strlen(environment->sources[i].name) == len && memcmp(environment->sources[i].name, name, len) == 0)
			return true;
	return false;
}

static void tell(void *context, const char *entry, enum env_origin origin, bool passes, const char *why)
{
	static const char *const origins[] = { [ENV_OF_IMAGE] = "image", [ENV_OF_CLIENT] = "client", [ENV_OF_USER] = "user", [ENV_OF_CORDON] = "cordon" };
	struct consideration *c = context;
	struct json_out *j = &c->telling;
	size_t len = strcspn(entry, "=");
	const char *value = entry + len + (entry[len] == '=');

	if (passes && is_sources(c, entry, len))
		return;		/* the source's value takes its place */
	json_object_begin(j, NULL);
	put_variable(j, entry, len, origins[origin], passes, why);
	json_uint(j, "bytes", strlen(value));
	if (c->shows_values)
		json_bytes(j, "value", bytes_of(value));
	json_object_end(j);
}

static void tell_sources(struct consideration *c)
{
	const struct environment *environment = &c->policy->environment;

	for (size_t i = 0; c->asks_sources && i < environment->nr_sources; i++) {
		json_object_begin(&c->telling, NULL);
		put_variable(&c->telling, environment->sources[i].name, strlen(environment->sources[i].name), "command", true, "sources");
		json_object_end(&c->telling);
	}
}

static void explain(struct consideration *c, struct launch_given *given)
{
	const struct env_listener listener = { .tell = tell, .context = c };

	free_strings(TAKE_PTR(c->environment));
	c->telling.buf = &c->told;
	given->listener = &listener;
	c->result = judge_launch_environment(c->policy, c->mode, given, &c->decision, &c->environment);
	tell_sources(c);
	if (c->told.failed)
		c->result = -ENOMEM;
}

static void consider(struct worker_job *job, struct arena *arena)
{
	struct consideration *c = container_of(job, struct consideration, job);
	const struct launch_user_facts user = { c->user.name, c->user.home, c->user.shell };
	_cleanup_free_ const char **added = with_values(c);
	struct launch_given given = { .user = &user, .image = c->image, .asked = c->asked, .added = added, .entry_folder = CORDON_ENTRY_DIR };

	c->result = !added ? -ENOMEM : judge_launch_environment(c->policy, c->mode, &given, &c->decision, &c->environment);
	if (c->result == 0 && c->environment)
		c->result = add_preset(c, &given);
	if (c->result == 0 && c->explains)
		explain(c, &given);
	else if (c->result == 0 && c->decision.verdict == VERDICT_ALLOW)
		judge_command(c, arena);
}

struct consideration *consideration_new(const struct enforcer *e, const struct launch_order *o, const char *const *asked)
{
	struct consideration *c = calloc(1, sizeof(*c));
	_cleanup_free_ const char **added = NULL;
	const struct transport *transport;

	if (!c)
		return NULL;
	c->policy = e->policy;
	c->image = e->image;
	c->gateway = e->gateway.nr ? &e->gateway : NULL;
	c->scope = &e->scope;
	c->strict_roots = o->strict_roots;
	c->unreviewed_allow = e->unreviewed_allow;
	c->mode = o->mode;
	c->explains = o->flags & REQUEST_EXPLAIN;
	c->shows_values = o->flags & REQUEST_VALUES;
	c->user = *o->user;
	c->argv = copy_strings((const char *const *)o->argv);
	c->asked = copy_strings(asked);
	added = browsers_environment(e, o->agent, o->user->uid, o->mode);
	c->added = added ? copy_strings(added) : NULL;
	c->session = browsers_session(e, o->mode, 0);
	c->roots = plan_roots(e->policy, o->user->home, NULL);
	c->written = plan_roots(e->policy, o->user->home, e->launch_user.home);
	c->cwd = strdup(o->cwd);
	c->job.work = consider;
	transport = judge_transport(e->policy, (const char *const *)o->argv, NULL);
	c->asks_sources = !transport || transport->wrap;	/* the host's own housekeeping needs none */
	if (!c->argv || !c->asked || !c->added || !c->roots || !c->written || !c->cwd || (o->scope && scope_parse(o->scope, &c->narrowed, NULL) < 0)) {
		consideration_free(c);
		return NULL;
	}
	if (c->mode == MODE_READONLY)
		c->roots[0] = NULL;
	return c;
}

struct consideration *consideration_of(const struct enforcer *e, const struct launch *l, const char *cwd)
{
	struct consideration *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->policy = e->policy;
	c->gateway = l->subject.gateway;
	c->scope = l->subject.scope;
	c->strict_roots = l->subject.strict_roots;
	c->session = l->subject.session;
	c->unreviewed_allow = l->subject.unreviewed_allow;
	c->mode = l->subject.mode;
	snprintf(c->user.home, sizeof(c->user.home), "%s", l->subject.home);
	c->argv = copy_strings(l->argv);
	c->asked = copy_strings(l->environment);
	c->roots = copy_strings(l->roots);
	c->cwd = strdup(cwd);
	if (c->argv && c->asked && c->roots && c->cwd && scope_parse(l->blob + l->spec->scope_offset, &c->narrowed, NULL) == 0)
		return c;
	consideration_free(c);
	return NULL;
}
