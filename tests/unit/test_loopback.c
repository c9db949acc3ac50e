/* SPDX-License-Identifier: Apache-2.0 */
/* Who listens on loopback, asked with real sockets of two users. */
#include "supervisor/boundary/loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define OTHER 61998

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static union address v4(const char *text, in_port_t port)
{
	union address a = { .v4 = { .sin_family = AF_INET, .sin_port = port } };

	assert_int_equal(inet_pton(AF_INET, text, &a.v4.sin_addr), 1);
	return a;
}

static union address v6(const char *text, in_port_t port)
{
	union address a = { .v6 = { .sin6_family = AF_INET6, .sin6_port = port } };

	assert_int_equal(inet_pton(AF_INET6, text, &a.v6.sin6_addr), 1);
	return a;
}

/* A socket of root's at this address; its port is chosen when 0. */
static int bound(union address *a, int type)
{
	int fd = socket(a->any.sa_family, type, 0), on = 1;
	socklen_t bytes = sizeof(*a);

	assert_true(fd >= 0);
	if (a->v4.sin_port)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(fd, &a->any, a->any.sa_family == AF_INET ? sizeof(a->v4) : sizeof(a->v6)), 0);
	assert_int_equal(getsockname(fd, &a->any, &bytes), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static uint64_t now_us = 1000000;

/* Each question comes long after the one before. */
static void expect(union address a, int type, bool own, bool foreign)
{
	assert_true(loopback_is(&a.any, sizeof(a)));
	now_us += 1000000;
	assert_int_equal(loopback_only_uid_listens(&a.any, type, getuid(), 1, now_us), own);
	assert_int_equal(loopback_only_uid_listens(&a.any, type, OTHER, 2, now_us), foreign);
}

static bool asks(uint64_t launch, union address a, uint64_t at_us)
{
	return loopback_only_uid_listens(&a.any, SOCK_DGRAM, OTHER, launch, at_us);
}

static void a_listener_is_its_users(void **state)
{
	union address a = v4("127.0.0.1", 0), b = v6("::1", 0);
	int first = bound(&a, SOCK_STREAM), second = bound(&b, SOCK_STREAM);

	(void)state;
	expect(a, SOCK_STREAM, true, false);
	expect(v6("::ffff:127.0.0.1", a.v4.sin_port), SOCK_STREAM, true, false);
	expect(b, SOCK_STREAM, true, false);
	close(first);
	close(second);
	expect(a, SOCK_STREAM, true, true);
	expect(b, SOCK_STREAM, true, true);
}

static void one_on_every_address_is_found_by_each(void **state)
{
	union address a = v4("0.0.0.0", 0), b = v6("::", 0);
	int first = bound(&a, SOCK_STREAM), second = bound(&b, SOCK_STREAM);

	(void)state;
	expect(v4("127.0.0.1", a.v4.sin_port), SOCK_STREAM, true, false);
	expect(v4("127.9.9.9", a.v4.sin_port), SOCK_STREAM, true, false);
	/* Dual stack: it answers IPv4 too. */
	expect(v4("127.0.0.1", b.v6.sin6_port), SOCK_STREAM, true, false);
	expect(v6("::ffff:127.0.0.1", b.v6.sin6_port), SOCK_STREAM, true, false);
	expect(v6("::1", b.v6.sin6_port), SOCK_STREAM, true, false);
	close(first);
	close(second);
}

/* The kernel prefers a listener that is tied to the device. */
static void one_tied_to_the_device_is_found(void **state)
{
	union address a = v4("127.0.0.1", 0);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t bytes = sizeof(a);

	(void)state;
	if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) < 0)
		skip();
	assert_int_equal(bind(fd, &a.any, sizeof(a.v4)), 0);
	assert_int_equal(getsockname(fd, &a.any, &bytes), 0);
	assert_int_equal(listen(fd, 1), 0);
	expect(a, SOCK_STREAM, true, false);
	close(fd);
}

/* What is connected from the port is no listener; what only is bound there neither. */
static void only_listeners_count(void **state)
{
	union address a = v4("127.0.0.1", 0), local = v4("127.0.0.1", 0);
	int listener = bound(&a, SOCK_STREAM), fd = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t bytes = sizeof(local);

	(void)state;
	assert_int_equal(connect(fd, &a.any, sizeof(a.v4)), 0);
	assert_int_equal(getsockname(fd, &local.any, &bytes), 0);
	expect(local, SOCK_STREAM, true, true);
	close(fd);
	close(listener);
}

static void a_receiver_is_its_users(void **state)
{
	union address a = v4("127.0.0.1", 0), wide;
	int first = bound(&a, SOCK_DGRAM), second;

	(void)state;
	expect(a, SOCK_DGRAM, true, false);
	close(first);
	expect(a, SOCK_DGRAM, true, true);
	wide = v6("::", a.v4.sin_port);
	second = bound(&wide, SOCK_DGRAM);
	expect(a, SOCK_DGRAM, true, false);
	close(second);
}

/* Its own socket takes the datagrams while we look; once it is closed, the other's would. */
static void a_receiver_behind_ones_own_counts(void **state)
{
	union address exact = v4("127.0.0.1", 0), wide;
	int first = bound(&exact, SOCK_DGRAM), second;

	(void)state;
	close(first);
	wide = v4("0.0.0.0", exact.v4.sin_port);
	second = bound(&wide, SOCK_DGRAM);
	assert_int_equal(seteuid(OTHER), 0);
	first = bound(&exact, SOCK_DGRAM);
	assert_int_equal(seteuid(0), 0);
	expect(exact, SOCK_DGRAM, false, false);
	close(second);
	expect(exact, SOCK_DGRAM, false, true);
	close(first);
}

static int bound_by_other(union address *a)
{
	int fd;

	assert_int_equal(seteuid(OTHER), 0);
	fd = bound(a, SOCK_DGRAM);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

/* One who comes later and receives is seen at once, whatever was found a moment before. */
static void a_receiver_that_comes_in_front_is_seen_at_once(void **state)
{
	union address exact = v4("127.0.0.1", 0), wide;
	int first = bound(&exact, SOCK_DGRAM), second;

	(void)state;
	close(first);
	wide = v4("0.0.0.0", exact.v4.sin_port);
	first = bound_by_other(&wide);
	now_us += 1000000;
	assert_true(asks(1, exact, now_us));
	assert_true(asks(1, exact, now_us + 1));
	second = bound(&exact, SOCK_DGRAM);
	assert_false(asks(1, exact, now_us + 2));
	close(second);
	assert_true(asks(1, exact, now_us + 3));
	close(first);
	second = bound(&wide, SOCK_DGRAM);
	assert_false(asks(1, exact, now_us + 4));
	first = bound_by_other(&exact); /* in front again, and what was found before is not remembered */
	assert_false(asks(1, exact, now_us + 5));
	close(first);
	close(second);
}

/* One who comes later and receives nothing yet is seen by everybody but the one who was let through before it came, and by that one after 10 ms. */
static void what_was_found_is_good_for_one_who_asked_and_not_for_long(void **state)
{
	union address exact = v4("127.0.0.1", 0), wide, another;
	int first = bound(&exact, SOCK_DGRAM), second;

	(void)state;
	close(first);
	wide = v4("0.0.0.0", exact.v4.sin_port);
	another = v4("127.0.0.2", exact.v4.sin_port);
	first = bound_by_other(&exact);
	now_us += 1000000;
	assert_true(asks(1, exact, now_us));
	second = bound(&wide, SOCK_DGRAM);
	assert_true(asks(1, exact, now_us + 9999));
	assert_false(asks(2, exact, now_us + 9999));
	assert_false(asks(17, exact, now_us + 9999)); /* has the same place in the table */
	close(second);
	assert_true(asks(1, exact, now_us + 20000));
	second = bound(&wide, SOCK_DGRAM);
	assert_false(asks(1, another, now_us + 20001));
	close(second);
	assert_true(asks(1, exact, now_us + 30000));
	second = bound(&wide, SOCK_DGRAM);
	assert_false(asks(1, exact, now_us + 40000));
	assert_false(asks(1, exact, now_us + 40001));
	close(first);
	close(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_listener_is_its_users),
		cmocka_unit_test(one_on_every_address_is_found_by_each),
		cmocka_unit_test(one_tied_to_the_device_is_found),
		cmocka_unit_test(only_listeners_count),
		cmocka_unit_test(a_receiver_is_its_users),
		cmocka_unit_test(a_receiver_behind_ones_own_counts),
		cmocka_unit_test(a_receiver_that_comes_in_front_is_seen_at_once),
		cmocka_unit_test(what_was_found_is_good_for_one_who_asked_and_not_for_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
