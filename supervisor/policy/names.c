/* SPDX-License-Identifier: Apache-2.0 */
/* Words and look-ups. Pure after the index was built; any thread. */
#include "supervisor/policy/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const mode_names[MODE_COUNT] = { "off", "guarded", "observe", "readonly" };

const char *const effect_names[EFFECT_COUNT] = {
	"read", "write", "delete", "network", "network_mutate", "run", "code", "wrap", "elevate", "power", "device", "permission",
	"signal", "shell", "unknown", "hide", "state", "hardline", "fetch", "secret", "unseen", "load", "persist", "publish", "flood",
	"listen", "typed", "dynamic", "system", "interact", "outside",
};

const char *mode_name(enum mode mode)
{
	return (unsigned)mode < MODE_COUNT ? mode_names[mode] : "?";
}

const char *effect_name(enum effect effect)
{
	unsigned i;

	for (i = 0; i < EFFECT_COUNT; i++)
		if (effect == (enum effect)(1u << i))
			return effect_names[i];
	return "?";
}

const char *const roots_names[ROOTS_COUNT] = { "strict", "standard", "open" };

const char *roots_name(enum root_style roots)
{
	return (unsigned)roots < ROOTS_COUNT ? roots_names[roots] : "?";
}

/* Names of another product's older releases, which meant roots and command profiles: mapping them silently would guess. */
const char *name_now(const char *text)
{
	static const struct { const char *name, *now; } retired[] = {
		{ "workspace", "roots \"strict\"" }, { "developer", "roots \"standard\"" }, { "trusted_local", "roots \"open\"" },
		{ "none", "profile \"bare\"" }, { "trusted", "profile \"extended\"" },
	};
	unsigned i;

	for (i = 0; i < sizeof(retired) / sizeof(retired[0]); i++)
		if (strcmp(text, retired[i].name) == 0)
			return retired[i].now;
	return NULL;
}

int roots_parse(const char *text, enum root_style *ret_roots, struct err *ret_error)
{
	unsigned i;

	for (i = 0; i < ROOTS_COUNT; i++)
		if (strcmp(text, roots_names[i]) == 0) {
			*ret_roots = (enum root_style)i;
			return 0;
		}
	if (name_now(text))
		return err_set(ret_error, -EINVAL, "the name \"%s\" is retired: it is now %s", text, name_now(text));
	return err_set(ret_error, -EINVAL, "unknown roots \"%.40s\"; expected one of: strict, standard, open", text);
}

int mode_parse(const char *text, enum mode *ret_mode, struct err *ret_error)
{
	static const struct { const char *name; enum mode mode; } words[] = {
		{ "off", MODE_OFF }, { "unrestricted", MODE_OFF }, { "yolo", MODE_OFF },
		{ "guarded", MODE_GUARDED }, { "observe", MODE_OBSERVE }, { "readonly", MODE_READONLY },
	};
	unsigned i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(text, words[i].name) == 0) {
			*ret_mode = words[i].mode;
			return 0;
		}
	if (name_now(text))
		return err_set(ret_error, -EINVAL, "the name \"%s\" is retired: it is now %s, which is not a mode; modes are off, guarded, observe, readonly",
			       text, name_now(text));
	return err_set(ret_error, -EINVAL, "unknown mode \"%.40s\"; expected one of: off, guarded, observe, readonly", text);
}

/* As strcmp(), with the first text given by its length. */
static int compare_span(const char *text, size_t len, const char *with)
{
	int r = strncmp(text, with, len);

	return r ? r : -(with[len] != '\0');
}

bool names_match(const struct names *names, const char *name, size_t len)
{
	size_t low = 0, high = names->exact.nr, i;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = compare_span(name, len, names->exact.items[middle]);

		if (r == 0)
			return true;
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	for (i = 0; i < names->prefixes.nr; i++) {
		const char *prefix = names->prefixes.items[i];
		size_t nr = 0;

		while (nr < len && prefix[nr] && prefix[nr] == name[nr])
			nr++;
		if (!prefix[nr])
			return true;
	}
	return false;
}

/* ---- commands by name ---- */

struct entry {
	const char *name;
	const struct command *command;
};

struct command_index {
	struct entry *exact, *prefixes;		/* sorted by name; prefixes keep their '*' */
	size_t nr_exact, nr_prefixes;
};

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int sort_entries(struct entry *entries, size_t nr, const struct command **ret_twice, const struct command **ret_first,
			const char **ret_name)
{
	size_t i;

	qsort(entries, nr, sizeof(*entries), compare_entries);
	for (i = 1; i < nr; i++)
		if (strcmp(entries[i - 1].name, entries[i].name) == 0) {
			bool order = entries[i - 1].command < entries[i].command;	/* one array, in reading order */

			*ret_first = entries[order ? i - 1 : i].command;
			*ret_twice = entries[order ? i : i - 1].command;
			*ret_name = entries[i].name;
			return -EEXIST;
		}
	return 0;
}

int command_index_build(struct policy *policy, struct pool *pool, const struct command **ret_twice, const struct command **ret_first,
			const char **ret_name)
{
	struct command_index *index = pool_take(pool, sizeof(*index));
	size_t i, j, nr = 0;
	int r;

	for (i = 0; i < policy->nr_commands; i++)
		nr += policy->commands[i].names.nr;
	if (!index)
		return -ENOMEM;
	index->exact = pool_take(pool, (nr + 1) * sizeof(*index->exact));
	index->prefixes = pool_take(pool, (nr + 1) * sizeof(*index->prefixes));
	if (!index->exact || !index->prefixes)
		return -ENOMEM;
	for (i = 0; i < policy->nr_commands; i++)
		for (j = 0; j < policy->commands[i].names.nr; j++) {
			const char *name = policy->commands[i].names.items[j];
			bool prefix = strchr(name, '*');

			(prefix ? index->prefixes : index->exact)[prefix ? index->nr_prefixes++ : index->nr_exact++] =
				(struct entry){ name, &policy->commands[i] };
		}
	policy->command_index = index;
	r = sort_entries(index->exact, index->nr_exact, ret_twice, ret_first, ret_name);
	return r < 0 ? r : sort_entries(index->prefixes, index->nr_prefixes, ret_twice, ret_first, ret_name);
}

const struct command *policy_command(const struct policy *policy, const char *base_name)
{
	const struct command_index *index = policy->command_index;
	const struct entry wanted = { .name = base_name };
	const struct entry *found = bsearch(&wanted, index->exact, index->nr_exact, sizeof(wanted), compare_entries);
	const struct command *best = NULL;
	size_t i, best_len = 0;

	if (found)
		return found->command;
	for (i = 0; i < index->nr_prefixes; i++) {
		size_t len = strlen(index->prefixes[i].name) - 1;

		if (len > best_len && strncmp(base_name, index->prefixes[i].name, len) == 0) {
			best = index->prefixes[i].command;
			best_len = len;
		}
	}
	return best;
}

const struct command *policy_otherwise(const struct policy *policy)
{
	return policy->nr_otherwise ? &policy->otherwise[0] : NULL;
}
