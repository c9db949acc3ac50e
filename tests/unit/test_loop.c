/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop, with event counters in place of listeners: one that is always ready stands for a launch that hammers. The one called last is waited for in person,
 * and that must cost nobody a turn.
 */
#include "supervisor/enforcer/internal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#define ROUNDS 10000

struct caller {
	struct source source;
	unsigned calls, ends;
	bool hammers;		/* ready again at once */
	void (*also)(struct enforcer *e, struct caller *c);
};

static struct caller a, b, c;
static unsigned calls_left;

static void is_ready(const struct caller *caller)
{
	const uint64_t one = 1;

	assert_int_equal(write(caller->source.fd, &one, sizeof(one)), sizeof(one));
}

/* What notify_ready() does: the next call is taken, and its source is the one that is waited for. */
static void on_ready(struct enforcer *e, struct source *source, uint32_t events)
{
	struct caller *caller = container_of(source, struct caller, source);
	uint64_t number;

	if (!(events & EPOLLIN)) {
		caller->ends++;
		source_close(e, source);
		e->exit_code = 0;
		return;
	}
	assert_int_equal(read(source->fd, &number, sizeof(number)), sizeof(number));
	source_in_person(e, source);
	caller->calls++;
	if (caller->hammers)
		is_ready(caller);
	if (caller->also)
		caller->also(e, caller);
	if (--calls_left == 0)
		e->exit_code = 0;
}

static struct enforcer *new_enforcer(void)
{
	struct enforcer *e = calloc(1, sizeof(*e));

	assert_non_null(e);
	e->epoll = epoll_create1(EPOLL_CLOEXEC);
	assert_true(e->epoll >= 0);
	return e;
}

static void add(struct enforcer *e, struct caller *caller, bool hammers)
{
	*caller = (struct caller){ .hammers = hammers };
	assert_int_equal(source_add(e, &caller->source, eventfd(hammers, EFD_CLOEXEC | EFD_NONBLOCK), EPOLLIN, on_ready), 0);
}

static void run(struct enforcer *e, unsigned calls)
{
	calls_left = calls;
	e->exit_code = -1;
	assert_int_equal(loop_run(e), 0);
}

static void end(struct enforcer *e)
{
	source_close(e, &a.source);
	source_close(e, &b.source);
	source_close(e, &c.source);
	close(e->epoll);
	free(e->graveyard);
	free(e);
}

/* ---- turns ---- */

static void all_that_hammer_get_their_share(void **state)
{
	struct enforcer *e = new_enforcer();

	(void)state;
	add(e, &a, true);
	add(e, &b, true);
	add(e, &c, true);
	run(e, 3 * ROUNDS);
	assert_in_range(a.calls, ROUNDS / 2, ROUNDS * 2);
	assert_in_range(b.calls, ROUNDS / 2, ROUNDS * 2);
	assert_in_range(c.calls, ROUNDS / 2, ROUNDS * 2);
	end(e);
}

static unsigned worst_wait, called_at;

static void call_b(struct enforcer *e, struct caller *caller)
{
	(void)e;
	if (b.calls == caller->ends) { /* b has been answered since: it calls again, at once */
		caller->ends++;
		called_at = caller->calls;
		is_ready(&b);
	} else if (caller->calls - called_at > worst_wait) {
		worst_wait = caller->calls - called_at;
	}
}

/* Each single call of b is answered after a handful of a's, however long a has been hammering. */
static void one_call_is_answered_beside_one_that_hammers(void **state)
{
	struct enforcer *e = new_enforcer();

	(void)state;
	worst_wait = 0;
	add(e, &a, true);
	add(e, &b, false);
	add(e, &c, false);
	run(e, ROUNDS); /* a is the one in person by now */
	a.also = call_b;
	run(e, ROUNDS);
	assert_true(b.calls > ROUNDS / 20);
	assert_in_range(worst_wait, 0, 8);
	end(e);
}

/* The place in person goes from one to the other with every call, and no call is missed. */
static void two_take_turns(void **state)
{
	struct enforcer *e = new_enforcer();

	(void)state;
	add(e, &a, false);
	add(e, &b, false);
	add(e, &c, false);
	for (unsigned i = 0; i < ROUNDS / 10; i++) {
		is_ready(&a);
		run(e, 1);
		is_ready(&b);
		run(e, 1);
	}
	assert_int_equal(a.calls, ROUNDS / 10);
	assert_int_equal(b.calls, ROUNDS / 10);
	end(e);
}

/* ---- changes while in person ---- */

static void close_me(struct enforcer *e, struct caller *caller)
{
	source_close(e, &caller->source);
	assert_null(e->in_person); /* its memory may be freed after this round */
	assert_null(e->apart);
}

static void close_a(struct enforcer *e, struct caller *caller)
{
	(void)caller;
	source_close(e, &a.source);
}

/* Its number goes to the next descriptor, which must not be taken for it. */
static void one_that_is_closed_is_forgotten(void **state)
{
	struct enforcer *e = new_enforcer();
	int number;

	(void)state;
	add(e, &a, true);
	add(e, &b, false);
	add(e, &c, false);
	run(e, 10);
	number = a.source.fd;
	a.hammers = false;
	a.also = close_me;
	run(e, 1);
	assert_int_equal(eventfd(1, EFD_CLOEXEC), number);
	is_ready(&b);
	run(e, 1);
	assert_int_equal(a.calls, 11);
	assert_int_equal(b.calls, 1);
	close(number);
	end(e);
}

static void one_that_another_closes_is_called_no_more(void **state)
{
	struct enforcer *e = new_enforcer();

	(void)state;
	add(e, &a, true);
	add(e, &b, false);
	add(e, &c, true);
	run(e, 10);
	b.also = close_a;
	is_ready(&b);
	run(e, 30);
	assert_int_equal(b.calls, 1);
	a.calls = 0;
	run(e, 100);
	assert_int_equal(a.calls, 0);
	end(e);
}

static void stop_asking_a(struct enforcer *e, struct caller *caller)
{
	(void)caller;
	source_change(e, &a.source, 0);
}

/* As a launch that is paused. */
static void one_that_is_not_asked_for_is_not_called_until_it_is(void **state)
{
	struct enforcer *e = new_enforcer();

	(void)state;
	add(e, &a, true);
	add(e, &b, false);
	add(e, &c, false);
	run(e, 10);
	a.also = stop_asking_a;
	run(e, 1);
	a.calls = 0;
	is_ready(&b);
	run(e, 1);
	is_ready(&b);
	run(e, 1);
	assert_int_equal(a.calls, 0);
	assert_int_equal(b.calls, 2);
	a.also = NULL;
	source_change(e, &a.source, EPOLLIN);
	run(e, 10);
	assert_int_equal(a.calls, 10);
	end(e);
}

/* A listener whose last process has ended. */
static void the_end_of_the_one_in_person_is_seen(void **state)
{
	struct enforcer *e = new_enforcer();
	int ends[2];

	(void)state;
	add(e, &a, false);
	add(e, &b, false);
	c = (struct caller){ 0 };
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(source_add(e, &c.source, ends[0], EPOLLIN, on_ready), 0);
	assert_int_equal(write(ends[1], "a call..", 8), 8);
	run(e, 1);
	assert_ptr_equal(e->in_person, &c.source);
	close(ends[1]);
	run(e, 2);
	assert_int_equal(c.calls, 1);
	assert_int_equal(c.ends, 1);
	is_ready(&a);
	run(e, 1);
	assert_int_equal(a.calls, 1);
	end(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_hammer_get_their_share),
		cmocka_unit_test(one_call_is_answered_beside_one_that_hammers),
		cmocka_unit_test(two_take_turns),
		cmocka_unit_test(one_that_is_closed_is_forgotten),
		cmocka_unit_test(one_that_another_closes_is_called_no_more),
		cmocka_unit_test(one_that_is_not_asked_for_is_not_called_until_it_is),
		cmocka_unit_test(the_end_of_the_one_in_person_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
