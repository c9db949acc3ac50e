/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of PID 1 that need no container: back-off, kept descriptors, whose signal it is, the channel, files with our block. */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void restarts_are_delayed_longer_each_time_and_end_after_five(void **state)
{
	struct restarts r = { 0 };
	uint64_t now = 1000000, start;

	(void)state;
	for (unsigned i = 0, delay = 100; i < RESTARTS_MAX; i++, delay *= 2) {
		assert_true(restarts_again(&r, now, 5, 30000, &start));
		assert_int_equal(start - now, delay);
		now = start + 5;
	}
	assert_false(restarts_again(&r, now, 5, 30000, &start));
	assert_int_equal(r.total, RESTARTS_MAX);
	assert_true(restarts_again(&r, now + RESTARTS_WINDOW_MS, 5, 30000, &start));
}

static void a_healthy_run_begins_the_back_off_anew_and_it_is_capped(void **state)
{
	struct restarts r = { 0 };
	uint64_t start;

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		assert_true(restarts_again(&r, 1 + 100000ull * i, 5, 700, &start));
		assert_in_range(start - (1 + 100000ull * i), 100, 700);
	}
	assert_int_equal(r.delay_ms, 700);
	assert_true(restarts_again(&r, 2000000, 10000, 700, &start));
	assert_int_equal(start, 2000100);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void kept_descriptors_are_owned_replaced_and_dropped(void **state)
{
	struct kept_table table = { 0 };
	int first = dup(2), second = dup(2), other = dup(2);

	(void)state;
	assert_int_equal(kept_put(&table, KEPT_KEEPER, 7, 0, first), 0);
	assert_int_equal(kept_put(&table, KEPT_ZYGOTE, 7, 42, other), 0);
	assert_int_equal(kept_put(&table, KEPT_KEEPER, 7, 0, second), 0);
	assert_false(is_open(first));
	assert_int_equal(kept_count(&table, KEPT_KEEPER), 1);
	assert_int_equal(table.nr, 2);
	assert_int_equal(kept_drop(&table, KEPT_KEEPER, 8), -ENOENT);
	assert_int_equal(kept_drop(&table, KEPT_KEEPER, 7), 0);
	assert_false(is_open(second));
	assert_true(is_open(other));
	for (uint64_t id = 0; id < 200; id++)
		assert_int_equal(kept_put(&table, KEPT_KEEPER, id, 0, dup(2)), 0);
	kept_free(&table);
	assert_false(is_open(other));
}

static void only_the_runtime_is_outside(void **state)
{
	(void)state;
	assert_true(signal_from_outside(SI_USER, 0, 1, 0));
	assert_true(signal_from_outside(SI_KERNEL, 0, 1, 0));
	assert_false(signal_from_outside(SI_USER, 33, 1, 0));
	/* A sender may write si_pid itself with these. */
	assert_false(signal_from_outside(SI_QUEUE, 0, 1, 0));
	assert_false(signal_from_outside(SI_TKILL, 0, 1, 0));
	assert_false(signal_from_outside(SI_MESGQ, 0, 1, 0));
	assert_true(signal_from_outside(SI_USER, 1, 7, 1));
	assert_false(signal_from_outside(SI_USER, 8, 7, 1));
	assert_false(signal_from_outside(SI_QUEUE, 1, 7, 1));
}

static void the_channel_carries_text_and_a_descriptor(void **state)
{
	struct init_message sent = { .type = ENFORCER_KEEP, .kind = KEPT_KEEPER, .id = 1ull << 40, .number = -3 }, got;
	char text[100];
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(init_channel_send(pair[0], &sent, "hello", pair[0]), 0);
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, 0), 1);
	assert_int_equal(got.id, 1ull << 40);
	assert_int_equal(got.number, -3);
	assert_string_equal(text, "hello");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(init_channel_send(pair[0], &sent, NULL, -1), 0);
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, 0), 1);
	assert_string_equal(text, "");
	assert_int_equal(fd, -1);
	close(pair[0]);
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, 0), 0);
	close(pair[1]);
}

static void what_was_sent_before_a_death_arrives_though_the_dead_left_messages_unread(void **state)
{
	const struct init_message sent = { .type = ENFORCER_KEEP, .id = 5 };
	struct init_message got;
	char text[100];
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(init_channel_send(pair[0], &sent, "not read", -1), 0);
	assert_int_equal(init_channel_send(pair[1], &sent, "one", -1), 0);
	assert_int_equal(init_channel_send(pair[1], &sent, "two", pair[0]), 0);
	close(pair[1]);
	assert_int_equal(init_channel_receive(pair[0], &got, text, sizeof(text), &fd, MSG_DONTWAIT), 1);
	assert_string_equal(text, "one");
	assert_int_equal(init_channel_receive(pair[0], &got, text, sizeof(text), &fd, MSG_DONTWAIT), 1);
	assert_string_equal(text, "two");
	close(fd);
	assert_int_equal(init_channel_receive(pair[0], &got, text, sizeof(text), &fd, MSG_DONTWAIT), 0);
	close(pair[0]);
}

static void a_message_whose_lengths_do_not_add_up_is_refused(void **state)
{
	char data[sizeof(struct init_message) + 8] = { 0 }, text[4];
	struct init_message got, claims = { .type = ENFORCER_READY, .text_bytes = 4 };
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(send(pair[0], data, 5, 0), 5);
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, 0), -EBADMSG);
	memcpy(data, &claims, sizeof(claims));
	assert_int_equal(send(pair[0], data, sizeof(data), 0), sizeof(data));
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, 0), -EBADMSG);
	/* Four bytes and their NUL do not fit in four. */
	assert_int_equal(send(pair[0], data, sizeof(claims) + 4, 0), sizeof(claims) + 4);
	assert_int_equal(init_channel_receive(pair[1], &got, text, sizeof(text), &fd, 0), -EBADMSG);
	close(pair[0]);
	close(pair[1]);
}

static void messages_for_an_enforcer_that_does_not_read_are_bounded_and_counted(void **state)
{
	struct enforcer e = { .channel = -1 };
	const struct init_message message = { .type = INIT_RECORD };

	(void)state;
	for (int i = 0; i < 3000; i++)
		enforcer_append(&e, &message, "state\n", -1);
	assert_in_range(e.nr_queued, 1000, 1100);
	assert_int_equal(e.nr_queued + e.nr_dropped, 3000);
	while (e.first)
		enforcer_pop(&e);
	assert_int_equal(e.nr_queued, 0);
	/* Empty again, it takes new ones. */
	enforcer_append(&e, &message, NULL, 2);
	assert_non_null(e.first);
	assert_true(is_open(e.first->fd) && e.first->fd != 2);
	enforcer_pop(&e);
}

static char *folder;

static const char *in_folder(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *content, mode_t mode)
{
	struct err e = { 0 };

	assert_int_equal(trust_file_write(in_folder(name), content, strlen(content), mode, NULL, &e), 0);
}

static void assert_file(const char *name, const char *content)
{
	_cleanup_buf_ struct buf got = { 0 };

	assert_int_equal(io_read_file(AT_FDCWD, in_folder(name), 100000, &got), 0);
	assert_string_equal(got.data, content);
}

static void our_block_is_appended_replaced_and_removed_and_nothing_else_changes(void **state)
{
	struct err e = { 0 };
	struct stat st;

	(void)state;
	write_file("a", "one\ntwo", 0640);
	assert_int_equal(trust_file_block(in_folder("a"), "x=1\n", &e), 0);
	assert_file("a", "one\ntwo\n# >>> cordon\nx=1\n# <<< cordon\n");
	assert_int_equal(trust_file_block(in_folder("a"), "x=2\n", &e), 0);
	assert_file("a", "one\ntwo\n# >>> cordon\nx=2\n# <<< cordon\n");
	assert_int_equal(stat(in_folder("a"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	assert_int_equal(trust_file_block(in_folder("a"), NULL, &e), 0);
	assert_file("a", "one\ntwo\n");
	assert_int_equal(trust_file_block(in_folder("new"), "y\n", &e), 0);
	assert_file("new", "# >>> cordon\ny\n# <<< cordon\n");
}

static void a_link_stays_a_link_and_its_target_changes(void **state)
{
	struct err e = { 0 };
	struct stat st;

	(void)state;
	write_file("real", "r\n", 0644);
	assert_int_equal(symlink("real", in_folder("link")), 0);
	assert_int_equal(trust_file_block(in_folder("link"), "z\n", &e), 0);
	assert_int_equal(lstat(in_folder("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_file("real", "r\n# >>> cordon\nz\n# <<< cordon\n");
}

static void folders_are_made_and_taken_but_links_and_strangers_are_refused(void **state)
{
	char path[600];
	struct err e = { 0 };
	struct stat st;

	(void)state;
	umask(077);
	snprintf(path, sizeof(path), "%s/deep/er/run", folder);
	assert_int_equal(prepare_folder(path, 0755, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(prepare_folder(path, 0700, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(symlink(path, in_folder("sneaky")), 0);
	assert_true(prepare_folder(in_folder("sneaky"), 0700, &e) < 0);
	assert_non_null(strstr(e.text, "must be a folder, not a link"));
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 1, 1), 0);
		assert_int_equal(prepare_folder(path, 0700, &e), -EPERM);
		assert_non_null(strstr(e.text, "belongs to uid 1"));
	}
}

static void certificates_are_compared_without_their_white_space(void **state)
{
	char *a = probe_certificate("HTTP/1.0 200 OK\r\n\r\n-----BEGIN CERTIFICATE-----\r\nAB\r\nCD\r\n-----END CERTIFICATE-----\r\n");
	char *b = probe_certificate("x\n-----BEGIN CERTIFICATE-----\nABCD\n-----END CERTIFICATE-----\n");

	(void)state;
	assert_string_equal(a, "-----BEGINCERTIFICATE-----ABCD-----ENDCERTIFICATE-----");
	assert_string_equal(a, b);
	assert_null(probe_certificate("-----BEGIN CERTIFICATE-----\nABCD\n"));
	free(a);
	free(b);
}

static int make_folder(void **state)
{
	char name[] = "/tmp/cordon-init-XXXXXX";

	(void)state;
	folder = mkdtemp(name) ? strdup(name) : NULL;
	return folder ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[600];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	free(folder);
	return system(command);
}

static void the_hosts_ids_become_the_users_and_nothing_else_changes(void **state)
{
	static const char passwd[] = "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000:an agent,,:/home/agent:/bin/bash\nagent2:x:1001:1001::/home/agent2:/bin/sh\nnoline";
	static const char group[] = "root:x:0:\nshadow:x:42:\nagent:x:1000:\nsudo:x:27:agent\nagent2:x:1001:\n";
	const struct user_identity user = { .uid = 1000, .gid = 1000, .name = "agent" };
	struct stat st;
	struct err e = { 0 };

	(void)state;
	write_file("passwd", passwd, 0644);
	write_file("group", group, 0640);
	assert_int_equal(host_user_rewrite(folder, &user, 501, 20, &e), 0);
	assert_file("passwd", "root:x:0:0:root:/root:/bin/bash\nagent:x:501:20:an agent,,:/home/agent:/bin/bash\nagent2:x:1001:1001::/home/agent2:/bin/sh\nnoline");
	assert_file("group", "root:x:0:\nshadow:x:42:\nagent:x:20:\nsudo:x:27:agent\nagent2:x:1001:\n");
	assert_int_equal(stat(in_folder("group"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* A group that is somebody else's: no agent gets into it by its number. */
	write_file("passwd", passwd, 0644);
	write_file("group", group, 0644);
	assert_int_equal(host_user_rewrite(folder, &user, 501, 42, &e), 0);
	assert_file("passwd", "root:x:0:0:root:/root:/bin/bash\nagent:x:501:1000:an agent,,:/home/agent:/bin/bash\nagent2:x:1001:1001::/home/agent2:/bin/sh\nnoline");
	assert_file("group", group);
	/* A user that is somebody else. */
	write_file("passwd", passwd, 0644);
	assert_int_equal(host_user_rewrite(folder, &user, 1001, 501, &e), -EEXIST);
	assert_non_null(strstr(e.text, "uid 1001 is agent2 in this image"));
	assert_file("passwd", passwd);
	assert_file("group", group);
}

static void a_listener_of_somebody_else_is_told_from_the_services_own(void **state)
{
	char mine[512], other[512], why[200] = "";
	const char *tables[] = { mine, other, NULL };
	const char *heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
	char text[1024];

	(void)state;
	snprintf(mine, sizeof(mine), "%s", in_folder("tcp"));
	snprintf(other, sizeof(other), "%s", in_folder("tcp6"));
	/* A listener of uid 999 on 48080 (0xBBD0), one of root on another port, a connection of root from 48080. */
	snprintf(text, sizeof(text), "%s"
		 "   0: 0100007F:BBD0 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 1 1 0 100 0 0 10 0\n"
		 "   1: 0100007F:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0\n"
		 "   2: 0100007F:BBD0 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 20 4 30 10 -1\n", heading);
	write_file("tcp", text, 0644);
	assert_int_equal(probe_owner(tables, 48080, 999, why, sizeof(why)), 0);
	assert_int_equal(probe_owner(tables, 48080, 998, why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, "port 48080 is taken: what listens there belongs to uid 999"));
	snprintf(text, sizeof(text), "%s"
		 "   0: 00000000000000000000000000000000:BBD0 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     5        0 4\n", heading);
	write_file("tcp6", text, 0644);
	assert_int_equal(probe_owner(tables, 48080, 999, why, sizeof(why)), -EPERM);
	assert_non_null(strstr(why, "uid 5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarts_are_delayed_longer_each_time_and_end_after_five),
		cmocka_unit_test(a_healthy_run_begins_the_back_off_anew_and_it_is_capped),
		cmocka_unit_test(kept_descriptors_are_owned_replaced_and_dropped),
		cmocka_unit_test(only_the_runtime_is_outside),
		cmocka_unit_test(the_channel_carries_text_and_a_descriptor),
		cmocka_unit_test(what_was_sent_before_a_death_arrives_though_the_dead_left_messages_unread),
		cmocka_unit_test(a_message_whose_lengths_do_not_add_up_is_refused),
		cmocka_unit_test(messages_for_an_enforcer_that_does_not_read_are_bounded_and_counted),
		cmocka_unit_test(our_block_is_appended_replaced_and_removed_and_nothing_else_changes),
		cmocka_unit_test(a_link_stays_a_link_and_its_target_changes),
		cmocka_unit_test(folders_are_made_and_taken_but_links_and_strangers_are_refused),
		cmocka_unit_test(the_hosts_ids_become_the_users_and_nothing_else_changes),
		cmocka_unit_test(a_listener_of_somebody_else_is_told_from_the_services_own),
		cmocka_unit_test(certificates_are_compared_without_their_white_space),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
