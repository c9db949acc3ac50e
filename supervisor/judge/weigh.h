/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the weighing of a command line's words: what was found so far, and the part about paths. */
#pragma once

#include "supervisor/judge/judging.h"

struct weighing {
	const struct judging *j;
	struct words words;
	const struct arguments *arguments;
	struct consequences *ret;
	size_t nr_deleted, nr_scratch;		/* for the rule about scratch space */
	size_t nr_targets, nr_in_scope;		/* for EFFECT_FETCH */
};

/* An answer about something inside: it may only make ours worse. */
void weigh_answer(struct weighing *w, const struct decision *inner);
void weigh_question(struct weighing *w, const struct action *action, void (*judge_it)(const struct judging *j));

/* A file that is written or removed. */
void weigh_changed(struct weighing *w, const struct argument *item);
/* A file that is opened, or a place whose names are shown. */
void weigh_read(struct weighing *w, const char *text, uint8_t flags, bool opens);
