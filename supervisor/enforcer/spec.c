/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spec: everything a keeper applies, written once as one blob, and read back from the keeper by whoever is enforcer.
 *
 * Both directions stand here, so that what is written and what is read cannot drift apart.
 */
#include "supervisor/enforcer/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sys.h"
#include "supervisor/boundary/landlock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LANDLOCK_RULES_MAX 256
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* ---- writing ---- */

static uint32_t put(struct buf *b, const void *data, size_t len)
{
	static const char zeros[8];
	uint32_t offset;

	buf_append(b, zeros, (8 - b->len % 8) % 8);
	offset = (uint32_t)b->len;
	buf_append(b, data, len);
	return offset;
}

static uint32_t put_text(struct buf *b, const char *text)
{
	return put(b, text, strlen(text) + 1);
}

static uint32_t put_strings(struct buf *b, const char *const *strings, uint32_t *ret_nr)
{
	uint32_t offset = put(b, "", 0);

	*ret_nr = 0;
	for (; strings[*ret_nr]; (*ret_nr)++)
		buf_append(b, strings[*ret_nr], strlen(strings[*ret_nr]) + 1);
	return offset;
}

static int put_landlock(const struct enforcer *e, const struct judge_subject *subject, struct buf *b, struct spec *s)
{
	struct landlock_rule rules[LANDLOCK_RULES_MAX];
	struct spec_landlock packed[LANDLOCK_RULES_MAX] = { 0 };
	/* The writable mounts are the launch user's roots, home among them: another user's launch has others. */
	bool mounts_fit = e->mounts_are_ours && strcmp(subject->home, e->launch_user.home) == 0;
	uint64_t handled = landlock_handled_by(e->policy, subject, e->landlock_abi, mounts_fit);
	int nr = landlock_plan(e->policy, subject, handled, rules, LANDLOCK_RULES_MAX);

	if (nr < 0)
		return nr;
	for (int i = 0; i < nr; i++)
		packed[i] = (struct spec_landlock){ .access = rules[i].access, .path_offset = put_text(b, rules[i].path) };
	s->nr_landlock = (uint32_t)nr;
	s->landlock_offset = put(b, packed, (size_t)nr * sizeof(packed[0]));
	s->landlock_handled = handled;
	s->landlock_handled_net = landlock_handled_net(e->landlock_abi);
	s->landlock_bytes = (uint32_t)sys_landlock_ruleset_bytes(e->landlock_abi);
	return 0;
}

static const char *search_path(char *const *environment)
{
	for (; *environment; environment++)
		if (strncmp(*environment, "PATH=", 5) == 0)
			return *environment + 5;
	return DEFAULT_PATH;
}

static int put_boundary(const struct enforcer *e, const struct launch_order *o, const char *const *roots, struct buf *b, struct spec *s)
{
	_cleanup_free_ const char **skills = plan_skills(e->policy, o->user->home);
	struct judge_subject subject = { .mode = o->mode, .home = o->user->home, .write_roots = roots, .read_roots = skills,
					 .frozen_roots = e->frozen_roots, .strict_roots = o->strict_roots };
	const bool off = o->mode == MODE_OFF;
	const struct filter_program *filter = &e->filters[off ? FILTER_OFF : o->mode == MODE_READONLY ? FILTER_READS : FILTER_SAFE];

	if (!skills)
		return -ENOMEM;
	if (!off || e->listener_works_off) {
		s->nr_filter = filter->len;
		s->filter_offset = put(b, filter->code, filter->len * sizeof(struct sock_filter));
		s->seccomp_flags = e->seccomp_flags;
	}
	if (off)
		return 0;
	s->flags |= SPEC_NO_NEW_PRIVS | SPEC_DROP_CAPABILITIES | SPEC_STDIN_ETX_ONLY;
	return put_landlock(e, &subject, b, s);
}

int spec_write(const struct enforcer *e, uint64_t id, const struct launch_order *o, struct buf *b)
{
	_cleanup_free_ const char **roots = plan_roots(e->policy, o->user->home, o->session_folder);
	struct spec s = {
		.magic = PROTO_MAGIC, .version = PROTO_VERSION, .launch_id = id, .uid = o->user->uid, .gid = o->user->gid,
		.nr_groups = o->user->nr_groups, .umask = 022, .timeout_ms = o->timeout_ms, .rows = o->rows, .columns = o->columns,
		.mode = o->mode, .asked_us = now_us(),
	};
	int r;

	if (!roots)
		return -ENOMEM;
	if (o->mode == MODE_READONLY) /* nothing is written, not even a temporary file */
		roots[0] = NULL;
	buf_append(b, &s, sizeof(s));
	if (o->terminal || o->flags & REQUEST_TTY)
		s.flags |= SPEC_TTY;
	if (o->session_folder)
		s.flags |= SPEC_SESSION;
	if (o->strict_roots)
		s.flags |= SPEC_STRICT;
	if (o->preset_program)
		s.flags |= SPEC_NO_CORE;
	r = put_boundary(e, o, roots, b, &s);
	if (r < 0)
		return r;
	s.groups_offset = put(b, o->user->groups, o->user->nr_groups * sizeof(gid_t));
	s.cwd_offset = put_text(b, o->cwd);
	s.search_offset = put_text(b, search_path(o->environment));
	s.argv_offset = put_strings(b, (const char *const *)o->argv, &s.argc);
	s.env_offset = put_strings(b, (const char *const *)o->environment, &s.envc);
	s.agent_offset = put_text(b, o->agent);
	s.user_offset = put_text(b, o->user->name);
	s.home_offset = put_text(b, o->user->home);
	s.preset_offset = put_text(b, o->preset_program ? o->preset_program : "");
	s.scope_offset = put_text(b, o->scope ? o->scope : "");
	s.roots_offset = put_strings(b, roots, &s.nr_roots);
	if (b->failed)
		return -ENOMEM;
	memcpy(b->data, &s, sizeof(s));
	return 0;
}

int spec_to_memfd(const struct buf *b)
{
	int fd = memfd_create("cordon-spec", MFD_CLOEXEC), r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, b->data, b->len);
	if (r < 0) {
		close(fd);
		return r;
	}
	return fd;
}

/* ---- reading ---- */

static const char **view_strings(const char *at, uint32_t nr)
{
	const char **views = calloc((size_t)nr + 1, sizeof(*views));

	for (uint32_t i = 0; views && i < nr; i++) {
		views[i] = at;
		at += strlen(at) + 1;
	}
	return views;
}

int spec_read(struct enforcer *e, struct launch *l, int fd, int64_t bytes)
{
	const struct spec *s;

	if (bytes < (int64_t)sizeof(*s) || bytes > PROTO_BLOB_MAX)
		return -EINVAL;
	l->blob = malloc((size_t)bytes + 1);
	if (!l->blob || pread(fd, l->blob, (size_t)bytes, 0) != bytes)
		return -EIO;
	l->blob[bytes] = 0;
	l->spec = s = (const struct spec *)(void *)l->blob;
	l->environment = view_strings(l->blob + s->env_offset, s->envc);
	l->argv = view_strings(l->blob + s->argv_offset, s->argc);
	l->roots = view_strings(l->blob + s->roots_offset, s->nr_roots);
	if (!l->environment || !l->argv || !l->roots)
		return -ENOMEM;
	if (scope_parse(l->blob + s->scope_offset, &l->narrowed, NULL) < 0)
		return -ENOMEM;
	l->agent = l->blob + s->agent_offset;
	l->user = l->blob + s->user_offset;
	l->zygote = zygote_id(l->agent, s->uid, s->mode == MODE_OFF);
	l->subject = (struct judge_subject){
		.mode = (enum mode)s->mode,
		.unreviewed_allow = e->unreviewed_allow,
		.home = l->blob + s->home_offset,
		.write_roots = l->roots,
		.frozen_roots = e->frozen_roots,
		.frozen_paths = e->frozen_paths,
		.launch_environment = l->environment,
		.gateway = e->gateway.nr ? &e->gateway : NULL,
		.scope = &e->scope,
		.narrowed = &l->narrowed,
		.strict_roots = s->flags & SPEC_STRICT,
		.preset_program = l->blob[s->preset_offset] ? l->blob + s->preset_offset : NULL,
		.session = browsers_session(e, (enum mode)s->mode, s->flags),
		.transport = judge_transport(e->policy, l->argv, NULL),
	};
	return 0;
}
