/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a shell: where the text, file or stream stands that it will read. Mirrors bash's and dash's option parsing. */
#include "supervisor/analyze/shell.h"

#include "supervisor/base/cleanup.h"

static const struct {
	const char *name;
	enum shell_dialect dialect;
} programs[] = {
	{ "bash", SHELL_BASH }, { "rbash", SHELL_BASH }, { "sh", SHELL_POSIX }, { "dash", SHELL_POSIX }, { "ash", SHELL_POSIX },
	{ "zsh", SHELL_OTHER }, { "rzsh", SHELL_OTHER }, { "ksh", SHELL_OTHER }, { "ksh93", SHELL_OTHER }, { "rksh", SHELL_OTHER },
	{ "mksh", SHELL_OTHER }, { "lksh", SHELL_OTHER }, { "pdksh", SHELL_OTHER }, { "yash", SHELL_OTHER }, { "posh", SHELL_OTHER },
	{ "fish", SHELL_OTHER }, { "csh", SHELL_OTHER }, { "tcsh", SHELL_OTHER }, { "elvish", SHELL_OTHER }, { "nu", SHELL_OTHER },
	{ "pwsh", SHELL_OTHER }, { "xonsh", SHELL_OTHER },
};

bool shell_is_program(struct bytes name, enum shell_dialect *ret_dialect)
{
	size_t i, from = name.len;

	while (from > 0 && name.data[from - 1] != '/')
		from--;
	name.data += from;
	name.len -= from;
	if (name.len && name.data[0] == '-') {	/* a login shell's name for itself */
		name.data++;
		name.len--;
	}
	for (i = 0; i < ARRAY_SIZE(programs); i++)
		if (bytes_equal(name, bytes_of(programs[i].name))) {
			*ret_dialect = programs[i].dialect;
			return true;
		}
	return false;
}

struct parsing {
	struct shell_word *const *words;
	size_t nr, at;
	bool command, from_stdin, no_exec, ended;
	struct shell_invocation *out;
};

static void unknown(struct parsing *p, const char *why)
{
	p->ended = true;
	p->out->reads = SHELL_READS_UNKNOWN;
	p->out->why = why;
}

static void nothing(struct parsing *p)
{
	p->ended = true;
	p->out->reads = SHELL_READS_NOTHING;
}

/* bash's long options, which it takes with one minus or two and only before all others. False: it is none. */
static bool long_option(struct parsing *p, struct bytes word)
{
	static const struct {
		const char *name;
		enum { PLAIN, STARTUP, STARTUP_FILE, POSIX, LOGIN, ENDS } what;
	} options[] = {
		{ "debug", PLAIN }, { "debugger", STARTUP }, { "dump-po-strings", ENDS }, { "dump-strings", ENDS }, { "help", ENDS },
		{ "init-file", STARTUP_FILE }, { "login", LOGIN }, { "noediting", PLAIN }, { "noprofile", PLAIN }, { "norc", PLAIN },
		{ "posix", POSIX }, { "pretty-print", ENDS }, { "rcfile", STARTUP_FILE }, { "restricted", PLAIN }, { "verbose", PLAIN },
		{ "version", ENDS },
	};
	bool two = word.len > 2 && word.data[1] == '-';
	struct bytes name = { word.data + 1 + two, word.len - 1 - two };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		if (!bytes_equal(name, bytes_of(options[i].name)))
			continue;
		p->at++;
		p->out->login |= options[i].what == LOGIN;
		p->out->startup |= options[i].what == STARTUP || options[i].what == STARTUP_FILE;
		if (options[i].what == STARTUP_FILE && p->at++ >= p->nr)
			nothing(p);
		if (options[i].what == POSIX)
			p->out->dialect = SHELL_POSIX;
		if (options[i].what == ENDS)
			nothing(p);
		return true;
	}
	if (two)
		unknown(p, "an option of the shell is not known");
	return two;
}

static bool is_harmless(struct bytes name, bool set)
{
	static const char *const set_names[] = { "allexport", "errexit", "errtrace", "functrace", "noclobber", "noglob", "nounset",
						 "pipefail", "verbose", "xtrace", "hashall", "privileged" };
	static const char *const shopt_names[] = { "extglob", "globstar", "nullglob", "dotglob", "failglob", "nocaseglob",
						   "nocasematch", "lastpipe", "inherit_errexit" };
	const char *const *names = set ? set_names : shopt_names;
	size_t i, nr = set ? ARRAY_SIZE(set_names) : ARRAY_SIZE(shopt_names);

	for (i = 0; i < nr; i++)
		if (bytes_equal(name, bytes_of(names[i])))
			return true;
	return false;
}

/* The name behind -o or -O. */
static void named_option(struct parsing *p, bool set)
{
	const struct shell_word *name;

	if (p->at >= p->nr)		/* lists options, then goes on */
		return;
	name = p->words[p->at++];
	if (name->why)
		unknown(p, "an option of the shell is known at run time only");
	else if (!is_harmless(name->value, set))
		unknown(p, "an option of the shell may change how it reads");
}

static void letter(struct parsing *p, char c, bool bash)
{
	switch (c) {
	case 'c':
		p->command = true;
		break;
	case 's':
		p->from_stdin = true;
		break;
	case 'i':
		p->out->interactive = true;
		break;
	case 'l':
		p->out->login = true;
		break;
	case 'n':
		p->no_exec = true;
		break;
	case 'o':
		named_option(p, true);
		break;
	case 'O':
		if (bash)
			named_option(p, false);
		else
			unknown(p, "an option of the shell is not known");
		break;
	case 'D':
		p->no_exec = true;
		break;
	case 'a': case 'b': case 'e': case 'f': case 'h': case 'm': case 'p': case 'r': case 't': case 'u': case 'v': case 'x':
	case 'C': case 'E': case 'P': case 'T': case 'q': case 'I': case 'V':
		break;
	case 'k': case 'B': case 'H':
		unknown(p, "an option of the shell may change how it reads");
		break;
	default:
		unknown(p, "an option of the shell is not known");
	}
}

/* Clusters of letters behind "-" or "+"; "-" and "--" end them. */
static void options(struct parsing *p, bool bash)
{
	bool may_be_long = bash;

	while (p->at < p->nr && !p->ended) {
		const struct shell_word *word = p->words[p->at];
		struct bytes value = word->value;
		size_t i;

		if (word->why && (word->prefix.len == 0 || word->prefix.data[0] == '-' || word->prefix.data[0] == '+')) {
			if (word->single && p->command && word->prefix.len == 0)
				return;		/* most likely the text; the caller sees that it is dynamic */
			unknown(p, "an option of the shell is known at run time only");
			return;
		}
		if (word->why || value.len == 0 || (value.data[0] != '-' && value.data[0] != '+'))
			return;
		if (may_be_long && value.data[0] == '-' && value.len > 2 && long_option(p, value))
			continue;
		may_be_long = false;
		p->at++;
		if (value.data[0] == '-' && (value.len == 1 || (value.len == 2 && value.data[1] == '-')))
			return;
		for (i = 1; i < value.len && !p->ended; i++)
			letter(p, value.data[i], bash);
	}
}

void shell_read_invocation(struct shell_word *const *words, size_t nr_words, struct shell_invocation *ret_invocation)
{
	struct shell_invocation out = { .dialect = SHELL_OTHER };
	struct parsing p = { .words = words, .nr = nr_words, .at = 1, .out = &out };
	bool bash;

	if (nr_words == 0 || words[0]->why || !shell_is_program(words[0]->value, &out.dialect))
		unknown(&p, "it is not a shell this reader knows");
	bash = out.dialect == SHELL_BASH;
	options(&p, bash);
	*ret_invocation = out;
	if (p.ended)
		return;
	ret_invocation->index = p.at;
	if (p.command)			/* without a text: an error message */
		ret_invocation->reads = p.at < nr_words ? SHELL_READS_TEXT : SHELL_READS_NOTHING;
	else
		ret_invocation->reads = p.at < nr_words && !p.from_stdin ? SHELL_READS_FILE : SHELL_READS_STDIN;
	if (p.no_exec && !out.interactive)
		ret_invocation->reads = SHELL_READS_NOTHING;
}
