/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launch as a whole: the host's template is peeled, the rest is judged as a command line whose programs are names, and a shell's text by every
 * command in it. What its programs then really do is asked again at each exec. Pure; any thread; no allocation.
 */
#include "supervisor/judge/judging.h"

#include <string.h>

void foresee(const struct judging *j, struct words words, bool reads)
{
	const struct foreseen *foreseen = j->subject->foreseen;
	size_t i;

	if (!foreseen || at_execve(j) || j->guessed || j->lost || !j->action->cwd)
		return;
	for (i = 0; words.flags && i < words.nr; i++)
		if (words.flags[i])
			return;		/* what only the shell will know foretells nothing */
	foreseen->take(foreseen->context, words.text, words.nr, j->action->cwd, reads);
}

void judge_launch(const struct policy *policy, const struct judge_subject *subject, const char *const *argv, const char *cwd, struct decision *ret_decision)
{
	/*
	 * Two things are known only later: whether a snapshot holds, when the command execs (it may wait for one that runs before it), and whether an agent
	 * listens on this host's port, when it connects. Both are asked then.
	 */
	struct action action = { .kind = ACTION_EXEC, .argv = argv, .cwd = cwd, .launch = true, .snapshot_holds = subject->session == SESSION_USER,
				 .agent_listens = true };
	const struct judging j = { .policy = policy, .subject = subject, .action = &action, .decision = ret_decision };
	const bool mode_has_it = subject->mode == MODE_GUARDED || subject->mode == MODE_OBSERVE;
	size_t rest = 0;
	const struct transport *transport = judge_transport(policy, argv, &rest);

	if (transport && transport->wrap) {
		action.argv = argv + rest;
	} else if (transport && mode_has_it) {
		*ret_decision = (struct decision){ .by = BY_PLAN };
		answer_allow(&j, (struct ruling){ transport->id, transport->origin, NULL }, "The command is what the host itself runs here.");
		return;
	}
	judge(policy, subject, &action, ret_decision);
}

bool judge_preset_exec(const struct judge_subject *subject, const char *program, struct decision *ret_decision)
{
	const struct action action = { .kind = ACTION_EXEC, .program = program };
	const struct judging j = { .subject = subject, .action = &action, .decision = ret_decision };
	struct quoted q, p;

	if (!subject->preset_program || subject->mode == MODE_OFF || strcmp(subject->preset_program, program) == 0)
		return true;
	*ret_decision = (struct decision){ 0 };
	answer_deny(&j, "environment", (struct ruling){ "environment.preset", CODE_RULE, "call the command by its name, without a program of your own in its place" },
		    "%s is not %s, which this launch got its variables for.", quote_text(&q, program), quote_text(&p, subject->preset_program));
	return false;
}
