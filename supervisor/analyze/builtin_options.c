/* SPDX-License-Identifier: Apache-2.0 */
/* set, shopt, alias: what changes how later text is read is a problem; the rest is harmless to a reader. */
#include "supervisor/analyze/reading.h"

/* Names that change neither the grammar nor what a word means. */
static const char *const set_names[] = { "allexport", "emacs", "errexit", "errtrace", "functrace", "hashall", "ignoreeof",
					 "interactive-comments", "monitor", "noclobber", "noexec", "noglob", "nolog", "notify", "nounset",
					 "onecmd", "physical", "pipefail", "privileged", "verbose", "vi", "xtrace", NULL };
static const char *const shopt_names[] = { "autocd", "cdable_vars", "cdspell", "checkhash", "checkjobs", "checkwinsize", "cmdhist",
					   "complete_fullquote", "direxpand", "dirspell", "dotglob", "execfail", "extdebug", "extglob",
					   "failglob", "force_fignore", "globasciiranges", "globskipdots", "globstar", "gnu_errfmt",
					   "histappend", "histreedit", "histverify", "hostcomplete", "huponexit", "inherit_errexit",
					   "interactive_comments", "lastpipe", "lithist", "localvar_inherit", "localvar_unset", "login_shell",
					   "mailwarn", "no_empty_cmd_completion", "nocaseglob", "nocasematch", "nullglob", "progcomp",
					   "promptvars", "restricted_shell", "shift_verbose", "sourcepath", "varredir_close", "xpg_echo", NULL };
static const char set_letters[] = "abefhmnptuvxCEPT";
#define CHANGES_READING "an option may change how later text is read"

static bool is_listed(struct bytes name, const char *const *list)
{
	for (; *list; list++)
		if (bytes_equal(name, bytes_of(*list)))
			return true;
	return false;
}

static int dynamic_option(struct sh_reader *r, const struct shell_word *word)
{
	char first = word->prefix.len ? word->prefix.data[0] : '-';

	return first == '-' || first == '+' ? sh_problem(r, r->at, "an option of the shell is known at run time only") : 0;
}

/* The letters of one "-abc" or "+abc"; an "o" takes the next word. */
static int set_cluster(struct sh_reader *r, struct bytes letters, struct shell_word ***next)
{
	size_t i;

	for (i = 1; i < letters.len; i++) {
		const struct shell_word *name = **next;

		if (letters.data[i] == 'o' && !name)
			return 0;
		if (letters.data[i] == 'o') {
			++*next;
			if (name->why || !is_listed(name->value, set_names))
				return sh_problem(r, r->at, CHANGES_READING);
		} else if (!strchr(set_letters, letters.data[i])) {
			return sh_problem(r, r->at, CHANGES_READING);
		}
	}
	return 0;
}

int sh_builtin_set(struct sh_reader *r, const struct sh_call *call)
{
	struct shell_word **next = call->words + 1;

	while (*next) {
		const struct shell_word *word = *next++;
		struct bytes value = word->value;

		if (word->why)
			return dynamic_option(r, word);
		if (value.len < 2 || (value.data[0] != '-' && value.data[0] != '+') || bytes_equal(value, bytes_of("--")))
			return 0;
		TRY(set_cluster(r, value, &next));
	}
	return 0;
}

int sh_builtin_shopt(struct sh_reader *r, const struct sh_call *call)
{
	struct sh_options o = { .next = call->words + 1, .spec = "" };
	const char *const *names = shopt_names;
	char letter;
	bool changes = false;

	while ((letter = sh_option(&o))) {
		changes |= letter == 's' || letter == 'u';
		if (letter == 'o')
			names = set_names;
	}
	if (!changes && !o.opaque)
		return 0;
	for (; *o.next; o.next++)
		if ((*o.next)->why || !is_listed((*o.next)->value, names))
			return sh_problem(r, r->at, CHANGES_READING);
	return 0;
}

/* bash expands aliases only once expand_aliases is set, which is refused above; other shells always do. */
int sh_builtin_alias(struct sh_reader *r, const struct sh_call *call)
{
	return r->dialect == SHELL_BASH || !call->words[1] ? 0 : sh_problem(r, r->at, "an alias changes how later text is read");
}
