/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACTION_EXEC: the effects of a program with these arguments (facts of commands/), then the first rule of the mode that matches them.
 *
 * At the kernel boundary the program is the object that will run, and whatever it executes comes back as a question of its own; in
 * `check` only names are known. A name vouches for a program only where agents cannot put one of their own.
 */
#include "supervisor/judge/judging.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/path.h"
#include "supervisor/base/text.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- effects ---- */

struct findings {
	unsigned effects;
	enum page page;
	bool uses_snapshot;
	const struct command *command;	/* of the program itself, or NULL */
	struct arguments arguments;	/* for the reason */
	struct consequences consequences;
	bool runs;			/* a command line among the words was judged */
	bool own;			/* it is the agents' own: it stands where they write */
	bool helps;			/* it is what its caller, a tool of the image, starts of itself */
	bool answered;
	struct decision decision;	/* the worst answer about something inside */
};

/* The name a program was called by, at execve: "-bash" is a login shell. In text it would be a program of that name. */
static const char *called_name(const char *argv0)
{
	const char *base = path_base(argv0);

	return *base == '-' ? base + 1 : base;
}

/* "GIT" is no program of Debian's, but reads like one. */
static bool looks_like_another(const struct policy *policy, const char *name)
{
	char lower[64];
	size_t i;

	for (i = 0; name[i] && i + 1 < sizeof(lower); i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	lower[i] = '\0';
	return !name[i] && strcmp(lower, name) != 0 && policy_command(policy, lower);
}

/* Look-alike letters, blanks and pieces of syntax are in no program's name. */
static bool is_plain_name(const char *name)
{
	return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-@:[,~%=")] == '\0';
}

static void add_answer(struct findings *f, const struct decision *answer)
{
	if (f->answered)
		answer_worse(&f->decision, answer);
	else
		f->decision = *answer;
	f->answered = true;
}

/* An unknown program may be a wrapper: where the words after it would end the machine as a command line, they are taken for one. */
static void add_wrapped(const struct judging *j, struct words words, struct findings *f)
{
	const unsigned destructive = EFFECT_DELETE | EFFECT_DEVICE | EFFECT_POWER | EFFECT_HARDLINE | EFFECT_PERMISSION | EFFECT_SIGNAL;
	struct decision answer = { 0 };
	struct judging inner = *j;
	size_t i;

	if (j->depth >= JUDGE_DEPTH_MAX)
		return;
	inner.decision = &answer;
	inner.depth++;
	inner.also = 0;
	inner.around = NULL;
	inner.crowded = false;
	for (i = 1; i < words.nr && i < 6; i++) {
		const struct command *command = policy_command(j->policy, path_base(words.text[i]));
		const struct words rest = { words.text + i, words.flags ? words.flags + i : NULL, words.nr - i };

		if (!command || !(command->effects & destructive) || (words.flags && words.flags[i]))
			continue;
		judge_words(&inner, rest);
		if (answer.verdict == VERDICT_DENY && strcmp(answer.tag, "hardline") == 0)
			add_answer(f, &answer);
		return;
	}
}

static void add_named(const struct judging *j, const char *name, struct words words, struct findings *f)
{
	const struct command *command = policy_command(j->policy, name);

	if (!command) {
		f->effects |= EFFECT_UNKNOWN;
		if (!at_execve(j) && (!is_plain_name(name) || looks_like_another(j->policy, name)))
			f->effects |= EFFECT_DYNAMIC;
		/* At execve an unknown program is often an agent's own tool, and its words are its own. */
		command = at_execve(j) ? NULL : policy_otherwise(j->policy);
		if (!command)
			return;
		add_wrapped(j, words, f);
		words.flags = NULL;	/* of what nobody knows, only what stands there counts */
	}
	f->command = command;
	arguments_parse(command, words, (j->fed ? LABEL_FED : 0) | (j->piped ? LABEL_PIPED : 0) | (j->foreign ? LABEL_FOREIGN : 0),
			&f->arguments);
	weigh_arguments(j, words, &f->arguments, &f->consequences);
	f->effects |= (f->arguments.effects & ~f->consequences.without) | f->consequences.effects;
	f->runs |= f->consequences.runs;
	if (f->arguments.page > f->page)
		f->page = f->arguments.page;
	f->uses_snapshot |= f->effects & EFFECT_INTERACT;
	if (j->action->snapshot_holds)
		f->effects &= ~(unsigned)EFFECT_INTERACT;
	if (f->consequences.answered)
		add_answer(f, &f->consequences.decision);
}

/* argv[0] is the caller's to choose: it adds what it is known for, and speaks for the program only where the program asks it (busybox). */
static void add_program(const struct judging *j, struct words words, struct findings *f)
{
	const char *program = path_base(j->action->program), *called = called_name(words.text[0]);
	const struct command *command = policy_command(j->policy, program);

	if (command && command->multicall && policy_command(j->policy, called) != command) {
		add_named(j, called, words, f);
		return;
	}
	if (strcmp(program, called) != 0 && policy_command(j->policy, called))
		add_named(j, called, words, f);
	add_named(j, program, words, f);
}

/*
 * In text, "ls" is the image's, and "./ls" is whoever put it there: its name says nothing. One that stands in the project can be
 * reviewed; one elsewhere where agents write cannot, nor what a descriptor or a link of /proc stands for.
 */
static bool add_own_program(const struct judging *j, const char *argv0, struct findings *f)
{
	char path[PATH_MAX];

	if (!strchr(argv0, '/'))
		return false;
	if ((j->lost && *argv0 != '/') || path_normalize(j->action->cwd ? j->action->cwd : "/", argv0, path, sizeof(path)) < 0) {
		f->effects |= EFFECT_UNKNOWN | EFFECT_DYNAMIC;
		return true;
	}
	if (path_is_under(path, "/proc") || path_in_list(&j->policy->paths.devices, NULL, path)) {
		f->effects |= EFFECT_UNKNOWN | EFFECT_DYNAMIC;
		return true;
	}
	if (!path_is_writable(j, path))
		return false;
	f->own = true;
	f->effects |= EFFECT_UNKNOWN | EFFECT_CODE | (path_is_under(path, j->policy->paths.project) ? 0 : EFFECT_DYNAMIC);
	return true;
}

bool is_image_shell(const struct judging *j, const char *path)
{
	const struct command *command = policy_command(j->policy, path_base(path));

	return command && command->effects == EFFECT_SHELL && !path_is_writable(j, path);
}

/* Characters nobody sees, or bytes that are no text: what a person reads is not what the program gets. */
static bool has_invisible(struct words words)
{
	size_t i;

	for (i = 0; i < words.nr; i++) {
		struct bytes rest = { words.text[i], strlen(words.text[i]) };

		while (rest.len) {
			uint32_t point;
			unsigned len = (unsigned char)*rest.data < 0x80 ? 1 : text_decode(rest, &point);

			if (!len || (len > 1 && !text_is_plain(point)))
				return true;
			rest.data += len;
			rest.len -= len;
		}
	}
	return false;
}

/* git execs the git of its own folder, tar its compressors: commands/ says who starts what of itself. Both are the image's. */
static bool is_helper(const struct judging *j)
{
	const char *caller = j->action->caller, *program = j->action->program;
	const struct command *command = caller ? policy_command(j->policy, path_base(caller)) : NULL;
	size_t i;

	if (!command || j->action->interpreter || path_is_writable(j, caller) || path_is_writable(j, program))
		return false;
	for (i = 0; i < command->helpers.nr; i++)
		if (strcmp(command->helpers.items[i], path_base(program)) == 0)
			return true;
	return false;
}

/*
 * wrappers: follow. What a wrapper runs is judged where nothing can hide, at its exec; in text it is judged with the wrapper, where its words show it, or
 * else is code that somebody has to look at. In readonly nothing stands around a command.
 */
static void follow_wrapper(const struct judging *j, struct findings *f)
{
	const unsigned wraps = EFFECT_WRAP | EFFECT_RUN;

	if (!j->policy->wrappers_follow || !(f->effects & wraps) || j->subject->mode == MODE_READONLY)
		return;
	if (at_execve(j) && f->effects & EFFECT_WRAP)
		f->effects = (f->effects & ~wraps) | EFFECT_RUN;
	else if (!at_execve(j) && f->runs)
		f->effects &= ~wraps;
	else if (f->effects & EFFECT_WRAP)
		f->effects = (f->effects & ~(unsigned)EFFECT_WRAP) | EFFECT_CODE;
}

static void find_effects(const struct judging *j, struct words words, struct findings *f)
{
	if (!at_execve(j)) {
		if (!add_own_program(j, words.text[0], f))
			add_named(j, path_base(words.text[0]), words, f);
		if (has_invisible(words))
			f->effects |= EFFECT_UNKNOWN;
		follow_wrapper(j, f);
		return;
	}
	add_program(j, words, f);
	/* git gc runs git prune: what a tool of the image makes of itself is part of what was judged when it was started. */
	f->helps = is_helper(j);
	if (f->helps && f->effects & (EFFECT_DELETE | EFFECT_PERSIST)) {
		j->decision->by = BY_HELPER;
		f->effects = (f->effects & ~(unsigned)(EFFECT_DELETE | EFFECT_PERSIST)) | EFFECT_WRITE;
	}
	if (path_is_writable(j, j->action->program))
		f->effects |= EFFECT_UNKNOWN;
	if (j->action->interpreter) {
		const struct command *interpreter = policy_command(j->policy, path_base(j->action->interpreter));

		/* The words are the script's, not the interpreter's. */
		f->effects |= interpreter ? interpreter->effects & ~(unsigned)EFFECT_TYPED : EFFECT_UNKNOWN;
		if (path_is_writable(j, j->action->interpreter))
			f->effects |= EFFECT_UNKNOWN;
	}
	follow_wrapper(j, f);
}

/* ---- rules ---- */

/* What a program does in another process is not judged when it does it: its words are all there is, as in text. */
static bool comes_back(const struct judging *j, const struct findings *f)
{
	return at_execve(j) && !(f->command && f->command->elsewhere);
}

static bool rule_matches(const struct mode_rule *rule, unsigned effects, bool execve)
{
	if (rule->place != PLACE_ANY && (rule->place == PLACE_EXECVE) != execve)
		return false;
	if (!rule->effects)
		return true;
	if (rule->verdict == VERDICT_ALLOW)
		return !(effects & ~rule->effects);
	return effects & rule->effects;
}

static const char *argument_outside(const struct judging *j, struct words words)
{
	size_t i;

	for (i = 1; i < words.nr; i++) {
		const char *word = words.text[i];

		if (words.flags && words.flags[i] & WORD_DYNAMIC)
			return word;

		/* An option that holds a path, attached or after "=", is judged by that path. */
		if (*word == '-' && strcmp(word, "-") != 0) {
			const char *slash = strchr(word, '/'), *equals = strchr(word, '=');

			if (path_is_sensitive(j, word) || strstr(word, "..") || strpbrk(word, "~$"))
				return words.text[i];
			if (!slash && !equals)
				continue;
			word = equals ? equals + 1 : slash;
		}
		if (*word && !path_stays_inside(j, word))
			return words.text[i];
	}
	return NULL;
}

/* " (because of '--output' 'x')", or nothing. */
static void describe_cause(const struct arguments *arguments, unsigned effects, char *text, size_t bytes)
{
	const struct hit *hit = arguments_cause(arguments, effects);
	struct quoted q;

	if (!hit || (!hit->name && !hit->value))
		text[0] = '\0';
	else if (hit->name && hit->value)
		snprintf(text, bytes, " (because of %.30s %.60s)", hit->name, quote_text(&q, hit->value));
	else
		snprintf(text, bytes, " (because of %.60s)", quote_text(&q, hit->name ? hit->name : hit->value));
	/* Names of options are the policy's or the agent's own words. */
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = '?';
}

/* "python3 --version": what would run code only says something. */
static bool asks_only(const struct findings *f)
{
	const unsigned harmless = EFFECT_READ | EFFECT_STATE;

	return !(f->effects & ~harmless) && f->command->effects & ~harmless;
}

static void answer_by_rule(const struct judging *j, const struct mode_rule *rule, struct words words, const struct findings *f)
{
	const struct ruling ruling = { rule->id, rule->origin, rule->hint };
	const char *outside = rule->confined ? argument_outside(j, words) : NULL;
	bool elsewhere = rule->confined && f->command && f->command->elsewhere && !asks_only(f);
	struct quoted q, p;
	const char *name = quote_text(&q, j->action->program ? j->action->program : words.text[0]);
	char cause[128] = "";

	if (rule->verdict != VERDICT_ALLOW)
		describe_cause(&f->arguments, f->effects & (rule->effects ? rule->effects : EFFECT_UNKNOWN), cause, sizeof(cause));
	if (rule->verdict == VERDICT_DENY) {
		answer_deny(j, rule->tag, ruling, "%s %s%s.", name, rule->reason, cause);
		return;
	}
	if (outside) {
		answer_deny(j, "outside_root", (struct ruling){ rule->id, rule->origin, "name files of the project by plain relative paths" }, "%s names %s, which is outside the project or sensitive.", name,
			    quote_text(&p, outside));
		return;
	}
	if (elsewhere) {	/* a page, which is no file of the project */
		answer_deny(j, "policy_block", (struct ruling){ rule->id, rule->origin, "read files of the project instead" }, "%s acts in another process, which is held to no project.", name);
		return;
	}
	answer_allow(j, ruling, "%s %s%s.", name, rule->reason, cause);
	j->decision->verdict = rule->verdict;	/* allow or review */
}

/* Programs whose code is reviewed as a whole: what runs around them is no part of that. */
static void refuse_crowded(const struct judging *j, struct words words)
{
	struct decision answer = { 0 };
	struct judging inner = *j;
	struct quoted q;

	inner.decision = &answer;
	answer_deny(&inner, "incomplete_evidence", (struct ruling){ "exec.alone", CODE_RULE, "issue the command as its own exec_command call" },
		    "%s stands with other commands or redirections in one text.", quote_text(&q, words.text[0]));
	answer_worse(j->decision, &answer);
}

static void apply_rules(const struct judging *j, struct words words, const struct findings *f)
{
	const enum mode mode = j->subject->mode;
	size_t i;

	for (i = 0; i < j->policy->nr_rules[mode]; i++)
		if (rule_matches(&j->policy->rules[mode][i], f->effects, comes_back(j, f))) {
			answer_by_rule(j, &j->policy->rules[mode][i], words, f);
			break;
		}
	if (f->answered)
		answer_worse(j->decision, &f->decision);
	if (j->crowded && (f->own || (f->command && f->command->alone && !asks_only(f))))
		refuse_crowded(j, words);
}

/*
 * Part of a launch that passed as a whole: what needs a review has had it, and a shell whose text was read is no more than its text. What is refused
 * stays refused.
 */
static void pass_planned(const struct judging *j, const struct findings *f)
{
	const struct action *a = j->action;
	struct decision *d = j->decision;

	if (path_is_writable(j, a->program) || (!a->first && (!a->caller || path_is_writable(j, a->caller))))
		return;
	if (d->verdict == VERDICT_REVIEW) {
		d->verdict = VERDICT_ALLOW;
		d->by = BY_PLAN;
	} else if (j->subject->mode == MODE_READONLY && d->verdict == VERDICT_DENY && f->effects == EFFECT_SHELL && is_image_shell(j, j->action->program)) {
		answer_allow(j, (struct ruling){ "exec.text", CODE_RULE, NULL }, "The shell's text was read and is allowed.");
		d->by = BY_PLAN;
	}
}

/*
 * A helper that works on files is part of what was judged when its tool was started: tar -tz of an archive, git fsck. What would go further (a fetch for a
 * clone that lacks objects) is asked for by data of the project, and judged alone.
 */
static void pass_helper(const struct judging *j, const struct findings *f)
{
	const unsigned telling = EFFECT_READ | EFFECT_STATE, harmless = telling | EFFECT_WRITE | EFFECT_CODE;
	struct decision *d = j->decision;

	if (!f->helps || f->answered || f->effects & ~harmless)
		return;
	if (d->verdict == VERDICT_REVIEW) {
		d->verdict = VERDICT_ALLOW;
		d->by = BY_HELPER;
	} else if (j->subject->mode == MODE_READONLY && d->verdict == VERDICT_DENY && strcmp(d->tag, "policy_block") == 0 && !(f->effects & ~telling)) {
		answer_allow(j, (struct ruling){ "exec.helper", CODE_RULE, NULL }, "A tool of the image asks this of itself.");
		d->by = BY_HELPER;
	}
}

static int rank(const struct decision *d)
{
	if (d->verdict != VERDICT_DENY)
		return d->verdict == VERDICT_REVIEW;
	if (strcmp(d->tag, "hardline") == 0)
		return 4;
	return strcmp(d->tag, "incomplete_evidence") == 0 ? 2 : 3;
}

void answer_worse(struct decision *decision, const struct decision *other)
{
	unsigned effects = decision->effects | other->effects;

	if (rank(other) > rank(decision))
		*decision = *other;
	decision->effects = effects;
}

/* ---- the question ---- */

static void answer_no_program(const struct judging *j)
{
	answer_deny(j, "invalid_request", (struct ruling){ "exec.no_name", CODE_RULE, "give a command that names a program" }, "The command has no program name.");
}

void judge_words(const struct judging *j, struct words words)
{
	_uninitialized_ struct findings f;

	if (words.nr && words.flags && words.flags[0] & WORD_DYNAMIC) {
		answer_deny(j, "incomplete_evidence", (struct ruling){ "exec.name", CODE_RULE, "spell the program's name out, without variables, patterns or substitutions" },
			    "The name of the program is not known before it runs.");
		return;
	}
	f.effects = 0;
	f.page = PAGE_NONE;
	f.uses_snapshot = false;
	f.answered = f.runs = f.own = f.helps = false;
	f.arguments.nr_hits = 0;
	if (!words.nr || (!at_execve(j) && !*path_base(words.text[0]))) {
		answer_no_program(j);
		return;
	}
	f.command = NULL;
	find_effects(j, words, &f);
	f.effects |= j->also;
	if (j->around) {
		if (f.answered)
			answer_worse(&f.decision, j->around);
		else
			f.decision = *j->around;
		f.answered = true;
	}
	foresee(j, words, f.runs);
	j->decision->effects = f.effects;
	if (f.command && f.command->elsewhere && browser_is_led_away(j))
		return;
	if (!environment_loads_code(j) && !transport_allows(j, words.text)) {
		apply_rules(j, words, &f);
		if (j->action->planned)
			pass_planned(j, &f);
		pass_helper(j, &f);
	}
	j->decision->effects |= f.effects;
	j->decision->page = f.page;
	j->decision->uses_snapshot = f.uses_snapshot;
}

void judge_exec(const struct judging *j)
{
	const char *const *argv = j->action->argv;
	const char *program = j->action->program;
	struct words words = { .text = argv };
	struct quoted q;

	if (program && (path_is_own(j->policy, program) || path_in_list(&j->policy->paths.hidden, j->subject->home, program))) {
		answer_deny(j, "protected_path", (struct ruling){ "path.hidden", { "paths.json", j->policy->paths.hidden.line }, "use a program of the image, by its name" },
			    "The program %s is out of reach for agents.", quote_text(&q, program));
		return;
	}
	if (browser_answers(j))
		return;
	if (j->action->shell_text && argv && argv[0]) {
		judge_text(j, argv[0]);
		return;
	}
	while (argv && argv[words.nr])
		words.nr++;
	if (j->action->launch && judge_wrapped(j, words))
		return;
	if (program || !judge_shell_words(j, words))
		judge_words(j, words);
}
