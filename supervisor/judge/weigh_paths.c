/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths among the words of a command line: trees that cannot be replaced, devices, start files, what stays frozen, secrets, and patterns
 * of names that reach them.
 */
#include "supervisor/judge/weigh.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"

#include <limits.h>
#include <string.h>

/* "~" in the list is every home. */
static bool is_entry_itself(const struct strings *list, const char *home, const char *path)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		if (strcmp(list->items[i], path) == 0)
			return true;
		if (strcmp(list->items[i], "~") == 0 &&
		    ((home && strcmp(home, path) == 0) || strcmp(path, "/root") == 0 ||
		     (strncmp(path, "/home/", 6) == 0 && path[6] && !strchr(path + 6, '/'))))
			return true;
	}
	return false;
}

/* A "*" at the end of a name that the shell will expand stands for all that is below. */
static bool absolute_path(const struct judging *j, const struct argument *item, bool *ret_all_below, char ret_path[static PATH_MAX])
{
	_uninitialized_ char text[PATH_MAX];
	size_t len = strlen(item->text);

	*ret_all_below = false;
	if (len >= sizeof(text))
		return false;
	memcpy(text, item->text, len + 1);
	if (item->flags & WORD_DYNAMIC) {
		if (len == 0 || text[len - 1] != '*' || strcspn(text, "*?[") != len - 1 || (len > 1 && text[len - 2] != '/'))
			return false;
		text[len - 1] = '\0';
		*ret_all_below = true;
	}
	return path_normalize(j->action->cwd ? j->action->cwd : "/", *text ? text : ".", ret_path, PATH_MAX) == 0;
}

void weigh_changed(struct weighing *w, const struct argument *item)
{
	const struct judging *j = w->j;
	const struct paths *paths = &j->policy->paths;
	bool removes = item->role == ROLE_DELETE, all_below, known;
	_uninitialized_ char path[PATH_MAX];

	w->nr_deleted += removes;
	known = absolute_path(j, item, &all_below, path);
	if (!known)
		return;
	if (path_is_raw_device(paths, path))
		w->ret->effects |= EFFECT_HARDLINE | EFFECT_DEVICE;
	if (w->arguments->labels & LABEL_RECURSIVE && (removes || w->arguments->effects & EFFECT_PERMISSION) &&
	    is_entry_itself(&paths->irreplaceable, j->subject->home, path))
		w->ret->effects |= EFFECT_HARDLINE;
	if (removes) {
		/* Links are followed where it happens: the kernel's own question is about the object. */
		w->nr_scratch += !all_below && path_in_list(&paths->scratch, NULL, path) && !is_entry_itself(&paths->scratch, NULL, path);
		return;
	}
	if (at_execve(j))
		return;
	if (all_below && strlen(path) + sizeof("/*") <= sizeof(path))	/* one of those below stands for all */
		strcat(path, strcmp(path, "/") == 0 ? "*" : "/*");
	if (path_in_list(&paths->start_files, j->subject->home, path))
		w->ret->effects |= EFFECT_PERSIST;
	weigh_question(w, &(struct action){ .kind = ACTION_WRITE, .path = path, .cwd = j->action->cwd }, judge_path);
}

/*
 * What is left of a pattern of file names once its first parts have found all parts of a place, or NULL where they cannot. "*" finds no name with a dot
 * before it.
 */
static const char *follow(const char *pattern, const char *place)
{
	for (;;) {
		pattern += strspn(pattern, "/");
		place += strspn(place, "/");
		if (!*place)
			return pattern;
		if (!*pattern || (*place == '.' && strchr("*?[", *pattern)) || !glob_match_part(pattern, place))
			return NULL;
		pattern += strcspn(pattern, "/");
		place += strcspn(place, "/");
	}
}

/* A list's entries are names, or globs: those are tried by one name that they match. */
static const char *place_of(const char *entry, char room[static PATH_MAX])
{
	size_t i;

	if (!strchr(entry, '*') || strlen(entry) >= PATH_MAX)
		return entry;
	for (i = 0; entry[i]; i++)
		room[i] = entry[i] != '*' ? entry[i] : entry[i + 1] ? '1' : '\0';
	room[i] = '\0';
	return room;
}

static bool may_reach_any(const struct strings *list, const char *home, const char *pattern)
{
	const char *const in_homes[] = { follow(pattern, home ? home : "/root"), follow(pattern, "/root"), follow(pattern, "/home/x") };
	_uninitialized_ char room[PATH_MAX];
	size_t i, h;

	for (i = 0; i < list->nr; i++) {
		const char *place = place_of(list->items[i], room);

		if (*place != '~' && follow(pattern, place))
			return true;
		for (h = 0; *place == '~' && h < ARRAY_SIZE(in_homes); h++)
			if (in_homes[h] && follow(in_homes[h], place + 1))
				return true;
	}
	return false;
}

static void weigh_pattern(struct weighing *w, const char *text)
{
	const struct judging *j = w->j;
	const struct paths *paths = &j->policy->paths;
	_uninitialized_ char path[PATH_MAX];

	if (path_normalize(j->action->cwd ? j->action->cwd : "/", text, path, sizeof(path)) < 0)
		return;
	if (path_in_list(&paths->protected_names, j->subject->home, path) || path_in_list(&paths->hidden, j->subject->home, path))
		weigh_question(w, &(struct action){ .kind = ACTION_READ, .path = path, .cwd = j->action->cwd }, judge_path);
	if ((may_reach_any(&paths->protected_names, j->subject->home, path) || may_reach_any(&paths->hidden, j->subject->home, path) ||
	     may_reach_any(&paths->secret_files, j->subject->home, path)))
		w->ret->effects |= EFFECT_SECRET;
}

void weigh_read(struct weighing *w, const char *text, uint8_t flags, bool opens)
{
	const struct judging *j = w->j;
	_uninitialized_ char path[PATH_MAX];

	if (!at_execve(j) && flags & WORD_GLOB)
		weigh_pattern(w, text);
	if (at_execve(j) || flags & WORD_DYNAMIC || strcmp(text, "-") == 0 || !*text)
		return;
	if (path_normalize(j->action->cwd ? j->action->cwd : "/", text, path, sizeof(path)) < 0) {
		w->ret->effects |= EFFECT_UNKNOWN;
		return;
	}
	if (!opens) {		/* names are no secrets, but those of protected places */
		if (path_in_list(&j->policy->paths.protected_names, j->subject->home, path) || path_in_list(&j->policy->paths.hidden, j->subject->home, path))
			weigh_question(w, &(struct action){ .kind = ACTION_READ, .path = path, .cwd = j->action->cwd }, judge_path);
		return;
	}
	if (path_is_sensitive(j, path) || path_shows_secrets(&j->policy->paths, path))
		w->ret->effects |= EFFECT_SECRET;
	weigh_question(w, &(struct action){ .kind = ACTION_READ, .path = path, .cwd = j->action->cwd }, judge_path);
}
