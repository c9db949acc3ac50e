/* SPDX-License-Identifier: Apache-2.0 */
/* The execs in flight, in the order they came: who waits behind whom. */
#include "supervisor/enforcer/flight.h"

#include "supervisor/enforcer/browsers.h"

#include "supervisor/boundary/process.h"

#include <stdlib.h>

#define FLYING_MAX 64	/* at once: each reserves a record's room in the log */

struct flight *flight_take(struct enforcer *e)
{
	struct flight *f;

	if (!e->flights && !(e->flights = calloc(1, sizeof(*e->flights))))
		return NULL;
	f = e->flights->spare;
	if (f)
		e->flights->spare = f->next;
	else if (!(f = calloc(1, sizeof(*f))))
		return NULL;
	return f;
}

void flight_give(struct enforcer *e, struct flight *f)
{
	if (f->tool)
		browsers_leave(e, f->call.launch, f->id);
	exec_reset(&f->exec);
	f->next = e->flights->spare;
	e->flights->spare = f;
}

void flight_add(struct enforcer *e, struct flight *f)
{
	struct flight **last = &e->flights->flying;

	while (*last)
		last = &(*last)->next;
	f->next = NULL;
	*last = f;
	e->flights->nr++;
	e->flights->nr_waiting += f->waiting;
}

void flight_remove(struct enforcer *e, struct flight *f)
{
	struct flight **link = &e->flights->flying;

	while (*link && *link != f)
		link = &(*link)->next;
	if (*link) {
		*link = f->next;
		e->flights->nr--;
		e->flights->nr_waiting -= f->waiting;
		e->flights->nr_hashing -= f->hashing > 0;
		f->hashing = 0;
	}
}

void flight_give_back_room(struct enforcer *e, struct flight *f)
{
	if (f->reserved)
		audit_unreserve(e->audit);
	f->reserved = false;
}

/* Whether an exec of this thread group is in flight already. Groups are looked up only when anything flies at all. */
static bool group_is_busy(const struct enforcer *e, struct flight *f)
{
	if (e->flights->nr == e->flights->nr_waiting)
		return false;
	if (!f->group)
		f->group = process_group(f->tid);
	for (struct flight *other = e->flights->flying; other; other = other->next) {
		if (other->waiting)
			continue;
		if (!other->group)
			other->group = process_group(other->tid);
		if (other->group == f->group)
			return true;
	}
	return false;
}

bool flight_must_wait(const struct enforcer *e, struct flight *f)
{
	return e->flights->nr - e->flights->nr_waiting - e->flights->nr_hashing >= FLYING_MAX || group_is_busy(e, f);
}

struct flight *flight_next(const struct enforcer *e)
{
	struct flight *f = e->flights->nr_waiting ? e->flights->flying : NULL;

	while (f && (!f->waiting || f->held || f->later || flight_must_wait(e, f)))
		f = f->next;
	return f;
}

struct flight *flight_find(const struct enforcer *e, pid_t tid)
{
	for (struct flight *f = e->flights ? e->flights->flying : NULL; f; f = f->next)
		if (f->tid == tid && !f->waiting)
			return f;
	return NULL;
}
