/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACTION_READ and ACTION_WRITE. Order: Cordon's own and hidden, protected, blocked, roots, outside_root. Readonly reads the project and the skill folders.
 *
 * A resolved path is an object the kernel is about to touch. An unresolved one is a name as a tool got it from its model: nothing is
 * known of links below it, so it is held to the project and the spelling that cannot lead out.
 */
#include "supervisor/judge/judging.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- places ---- */

/* "/home/NAME" or "/root" in front of path: the rest, or NULL. Secrets of other homes are secrets as well. */
static const char *below_some_home(const char *path)
{
	if (strncmp(path, "/root", 5) == 0 && (path[5] == '/' || !path[5]))
		return path + 5;
	if (strncmp(path, "/home/", 6) != 0)
		return NULL;
	return path + 6 + strcspn(path + 6, "/");
}

/* A path, and what of it is below homes: looked at once, however many entries it is held against. */
struct homed {
	const char *path;
	const char *in_own;	/* what follows the subject's home, or NULL; "" is the home itself */
	const char *in_some;	/* what follows a home of anybody's, or NULL */
};

static struct homed homed_path(const char *path, const char *home)
{
	struct homed p = { .path = path, .in_some = below_some_home(path) };

	if (home && *home == '/' && home[1] && path_is_under(path, home))	/* a home of "/" would make everything a home */
		p.in_own = path + strlen(home);
	return p;
}

static bool is_under_entry(const char *entry, const struct homed *p)
{
	if (*entry != '~')
		return path_is_under(p->path, entry);
	if (!entry[1])
		return p->in_own;
	return (p->in_own && *p->in_own && path_is_under(p->in_own, entry + 1)) || (p->in_some && *p->in_some && path_is_under(p->in_some, entry + 1));
}

static bool homed_in_list(const struct strings *list, const struct homed *p)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		if (is_under_entry(list->items[i], p))
			return true;
	return false;
}

bool path_in_list(const struct strings *list, const char *home, const char *path)
{
	struct homed p = homed_path(path, home);

	return homed_in_list(list, &p);
}

bool path_is_own(const struct policy *policy, const char *path)
{
	return path_in_list(&policy->paths.own, NULL, path);
}

/*
 * The length of the skill folder that path is in, or 0. "~" is the launch user's own home and nobody else's: what others put into theirs was
 * registered by nobody.
 */
static size_t skill_bytes(const struct judging *j, const char *path)
{
	const struct strings *skills = &j->policy->paths.skills;
	struct homed p;
	size_t i;

	if (!skills->nr)	/* as shipped, and this is asked for every open in readonly */
		return 0;
	p = homed_path(path, j->subject->home);
	for (i = 0; i < skills->nr; i++) {
		const char *folder = skills->items[i];

		if (*folder != '~' && path_is_under(path, folder))
			return strlen(folder);
		if (*folder == '~' && p.in_own && path_is_under(p.in_own, folder + 1))
			return (size_t)(p.in_own - path) + strlen(folder + 1);
	}
	return 0;
}

/* What readonly reads: the project and the skill folders. The length of the name that is not the agent's choice, or 0. */
static size_t work_bytes(const struct judging *j, const char *path)
{
	return path_is_under(path, j->policy->paths.project) ? strlen(j->policy->paths.project) : skill_bytes(j, path);
}

bool path_is_sensitive(const struct judging *j, const char *path)
{
	const struct policy *policy = j->policy;
	size_t i;

	path += work_bytes(j, path);
	for (i = 0; i < policy->paths.sensitive.nr; i++)
		if (strstr(path, policy->paths.sensitive.items[i]))
			return true;
	return false;
}

bool path_is_writable(const struct judging *j, const char *path)
{
	const char *const *root;

	/* A readonly launch writes nothing, and what others wrote lies there all the same. */
	if (!j->subject->write_roots || j->subject->mode == MODE_READONLY)
		return path_in_list(&j->policy->paths.write, j->subject->home, path) ||
		       path_in_list(&j->policy->paths.allowed_roots, j->subject->home, path);
	for (root = j->subject->write_roots; *root; root++)
		if (path_is_under(path, *root))
			return true;
	return false;
}

/* ---- names as typed ---- */

static bool has_parent_part(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

static bool is_expanded(const char *path)
{
	return *path == '~' || strpbrk(path, "$`");
}

bool path_stays_inside(const struct judging *j, const char *typed)
{
	char path[PATH_MAX];

	return !is_expanded(typed) && !has_parent_part(typed) &&
	       path_normalize(j->action->cwd, typed, path, sizeof(path)) == 0 &&
	       work_bytes(j, path) && !path_is_sensitive(j, path);
}

/* "~" and "~/…" become the home, where none is known root's: protected names are the same in every home. */
static int full_path(const struct judging *j, char ret_path[static PATH_MAX])
{
	const char *typed = j->action->path, *home = j->subject->home;
	char joined[PATH_MAX];

	if (typed[0] != '~' || (typed[1] && typed[1] != '/'))
		return path_normalize(j->action->cwd, typed, ret_path, PATH_MAX);
	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", home && *home == '/' ? home : "/root", typed + 1) >= sizeof(joined))
		return -1;
	return path_normalize("/", joined, ret_path, PATH_MAX);
}

/* A name below root that stays as it is, wherever in the path: .git in a subfolder is a repository as well. */
static bool is_frozen_below(const struct paths *paths, const char *root, const char *path)
{
	size_t i;

	if (!path_is_under(path, root))
		return false;
	for (path += strlen(root); *path;) {
		size_t len = strcspn(path += *path == '/', "/");

		for (i = 0; i < paths->frozen.nr; i++)
			if (strlen(paths->frozen.items[i]) == len && memcmp(path, paths->frozen.items[i], len) == 0)
				return true;
		path += len;
	}
	return false;
}

/*
 * Of the project in text and as typed. At the kernel only in isolated workspaces, where read-only mounts stand behind it: elsewhere git itself
 * works there.
 */
static bool is_frozen(const struct judging *j, const char *path)
{
	const struct paths *paths = &j->policy->paths;
	const char *const *at;

	if (j->action->unresolved || j->in_text)
		return is_frozen_below(paths, paths->project, path);
	for (at = j->subject->frozen_roots; at && *at; at++)
		if (is_frozen_below(paths, *at, path))
			return true;
	for (at = j->subject->frozen_paths; at && *at; at++)
		if (path_is_under(path, *at))
			return true;
	return false;
}

/* ---- rules ---- */

#define PATHS_RULE(name, list, hint) ((struct ruling){ name, { "paths.json", j->policy->paths.list.line }, hint })

/* What is refused in every safety mode, for reading and writing alike. */
static bool deny_secret(const struct judging *j, const char *path)
{
	const struct paths *paths = &j->policy->paths;
	const struct homed p = homed_path(path, j->subject->home);
	struct quoted q;

	if (path_is_own(j->policy, path))
		answer_deny(j, "protected_path", PATHS_RULE("path.own", own, "leave Cordon's own files alone; work with files of the project"), "%s belongs to Cordon.", quote_text(&q, path));
	else if (homed_in_list(&paths->hidden, &p))
		answer_deny(j, "protected_path", PATHS_RULE("path.hidden", hidden, "container engines are out of reach; work inside this container"), "%s is out of reach for agents.", quote_text(&q, path));
	else if (homed_in_list(&paths->protected_names, &p))
		answer_deny(j, "protected_path", PATHS_RULE("path.protected", protected_names, "credentials are never available; use those in your instructions"),
			    "%s holds credentials and is protected.", quote_text(&q, path));
	else if (homed_in_list(&paths->blocked_roots, &p))
		answer_deny(j, "blocked_root", PATHS_RULE("path.blocked", blocked_roots, "the operator closed this folder; use another place inside the project"), "%s is under a blocked root.", quote_text(&q, path));
	else if (j->action->unresolved && homed_in_list(&paths->system_roots, &p) && !skill_bytes(j, path))
		answer_deny(j, "protected_path", PATHS_RULE("path.system", system_roots, "work with files of the project"),
			    "%s is a system path.", quote_text(&q, path));
	else
		return false;
	return true;
}

bool path_is_raw_device(const struct paths *paths, const char *path)
{
	size_t i;

	for (i = 0; i < paths->devices.nr; i++) {
		const char *name = path + strlen(paths->devices.items[i]) + 1;

		if (path_is_under(path, paths->devices.items[i]) && strcmp(path, paths->devices.items[i]) != 0)
			return names_match(&paths->raw_devices, name, strcspn(name, "/"));
	}
	return false;
}

/* /proc/PID/root leads round every other name. */
bool path_shows_secrets(const struct paths *paths, const char *path)
{
	size_t i;

	for (i = 0; i < paths->secret_files.nr; i++)
		if (glob_match(paths->secret_files.items[i], path, false))
			return true;
	return path_is_raw_device(paths, path);
}

static void deny_outside(const struct judging *j, const char *path)
{
	struct quoted q, p;
	const char *project = quote_text(&p, j->policy->paths.project);

	answer_deny(j, "outside_root", (struct ruling){ "path.outside", j->policy->paths.origin, "use a path inside the project, without \"..\", \"~\" or \"$\"" },
		    "%s is outside the roots of this launch (the project is %s).", quote_text(&q, path), project);
}

/*
 * A link in a skill folder that leads out of it, whoever may read what it leads to: what a package brings opens nothing but the package. And one in the
 * project that leads to what is not readonly's to read: programs read their system's files by their own names.
 */
static bool leads_out(const struct judging *j, const char *path)
{
	const char *named = j->action->named;
	size_t len = named ? skill_bytes(j, named) : 0;

	if (!len)
		return named && path_is_under(named, j->policy->paths.project) && !work_bytes(j, path);
	return strncmp(path, named, len) != 0 || (path[len] && path[len] != '/');
}

static void judge_read(const struct judging *j, const char *path)
{
	const struct paths *paths = &j->policy->paths;
	const char *home = j->subject->home;
	bool is_system = !j->action->unresolved && path_in_list(&paths->system_roots, home, path);
	struct quoted q;

	if (j->action->unresolved && path_shows_secrets(paths, path)) {
		answer_deny(j, "protected_path", PATHS_RULE("path.secret", secret_files, "read another file; those that show environments or credentials stay closed"), "%s may show secrets.",
			    quote_text(&q, path));
		return;
	}
	if ((j->action->unresolved || j->subject->mode == MODE_READONLY) && !is_system &&
	    path_is_sensitive(j, path)) {
		answer_deny(j, "protected_path", PATHS_RULE("path.sensitive", sensitive, "read another file; those whose names suggest secrets stay closed"),
			    "%s looks like a secret by its name.", quote_text(&q, path));
		return;
	}
	if (j->subject->mode == MODE_READONLY && leads_out(j, path)) {
		answer_deny(j, "protected_path", ((struct ruling){ "path.link", paths->origin, "read what lies in the folder itself" }), "%s is reached by a link that leads out of the project or a skill folder.",
			    quote_text(&q, path));
		return;
	}
	if (j->subject->mode == MODE_READONLY && !is_system && !work_bytes(j, path)) {
		deny_outside(j, path);
		return;
	}
	/* Programs read their libraries in every style; a tool's own reads are the model's. */
	if (judge_roots_are_strict(j->policy, j->subject) && !is_system && !work_bytes(j, path) && !path_is_writable(j, path)) {
		deny_outside(j, path);
		return;
	}
	answer_allow(j, (struct ruling){ "path.read", paths->origin, NULL }, "%s may be read.", quote_text(&q, path));
}

/* Devices stay usable (/dev/null, terminals), except what holds the disks and the memory. */
static bool judge_device(const struct judging *j, const char *path)
{
	const struct paths *paths = &j->policy->paths;
	struct quoted q;
	size_t i;

	for (i = 0; i < paths->devices.nr && !path_is_under(path, paths->devices.items[i]); i++)
		;
	if (i == paths->devices.nr || strcmp(path, paths->devices.items[i]) == 0)
		return false;
	if (path_is_raw_device(paths, path))
		answer_deny(j, "policy_block", PATHS_RULE("path.raw_device", raw_devices, "write to a file of the project; /dev/null is open as well"), "%s is a disk or memory device.",
			    quote_text(&q, path));
	else
		answer_allow(j, PATHS_RULE("path.device", devices, NULL), "%s is a device that may be used.", quote_text(&q, path));
	return true;
}

/* A thread's name, a child's place in the order of out-of-memory kills: the kernel itself says who may change how much. */
static bool is_process_file(const struct judging *j, const char *path)
{
	const char *name = path_base(path);

	return j->action->own_process && names_match(&j->policy->paths.process_files, name, strlen(name));
}

static void judge_write(const struct judging *j, const char *path)
{
	const struct paths *paths = &j->policy->paths;
	bool confined = j->subject->mode != MODE_GUARDED || paths->confine_writes;
	struct quoted q;

	if (path_in_list(&paths->own_files, NULL, path)) {
		answer_deny(j, "protected_path", PATHS_RULE("path.own_files", own_files, "leave Cordon's own files alone; work with files of the project"), "%s belongs to Cordon and is never written.",
			    quote_text(&q, path));
		return;
	}
	if (j->subject->mode == MODE_READONLY && !j->action->unresolved && word_is_sink(path)) {
		answer_allow(j, PATHS_RULE("path.device", devices, NULL), "%s keeps nothing of what is written.", quote_text(&q, path));
		return;
	}
	if (j->subject->mode == MODE_READONLY) {
		answer_deny(j, "policy_block", (struct ruling){ "path.readonly", CODE_RULE, "print the result instead; nothing is written in readonly mode" },
			    "%s would be written, and the mode is readonly.", quote_text(&q, path));
		return;
	}
	if (skill_bytes(j, path)) {
		answer_deny(j, "protected_path", PATHS_RULE("path.skills", skills, "write to a file of the project; skills are only read"), "%s is in a skill folder, which is not changed.",
			    quote_text(&q, path));
		return;
	}
	if (is_frozen(j, path)) {
		answer_deny(j, "protected_path", PATHS_RULE("path.frozen", frozen, "work on files outside .git, .agents and .codex; those stay as they are"),
			    "%s is not changed.", quote_text(&q, path));
		return;
	}
	if (j->action->unresolved) {
		if (confined ? is_expanded(j->action->path) || has_parent_part(j->action->path) || !path_is_under(path, paths->project) : !path_is_writable(j, path)) {
			deny_outside(j, j->action->path);
			return;
		}
	} else {
		if (judge_device(j, path))
			return;
		if (is_process_file(j, path)) {
			answer_allow(j, PATHS_RULE(PROCESS_FILE_RULE, process_files, NULL), "%s is a process of the same agent's.", quote_text(&q, path));
			return;
		}
		if (!path_is_writable(j, path)) {	/* Landlock and the mounts hold this, whatever the policy's switch */
			deny_outside(j, path);
			return;
		}
	}
	answer_allow(j, PATHS_RULE("path.write", write, NULL), "%s may be written.", quote_text(&q, path));
}

void judge_path(const struct judging *j)
{
	const struct ruling invalid = { "path.invalid", CODE_RULE, "give an absolute path, or one relative to the working folder" };
	const char *typed = j->action->path;
	_uninitialized_ char path[PATH_MAX];
	struct quoted q;

	if (!typed || !*typed) {
		answer_deny(j, "invalid_path", invalid, "The path is empty.");
		return;
	}
	if (j->action->unresolved ? full_path(j, path) < 0 : path_normalize(NULL, typed, path, sizeof(path)) < 0) {
		answer_deny(j, "invalid_path", invalid, "%s is not a path that can be judged.", quote_text(&q, typed));
		return;
	}
	if (deny_secret(j, path) || browser_keeps(j, path))
		return;
	if (j->action->unresolved && (is_expanded(typed) || (j->subject->mode == MODE_READONLY && has_parent_part(typed)))) {
		/* The secret places were tried first, so that the answer names the stronger reason. */
		deny_outside(j, typed);
		return;
	}
	if (j->action->kind == ACTION_WRITE)
		judge_write(j, path);
	else
		judge_read(j, path);
}
