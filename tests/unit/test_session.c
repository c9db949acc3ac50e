/* SPDX-License-Identifier: Apache-2.0 */
/* A browser session's state: what each step leaves, what a next enforcer reads back, and what it does not believe. */
#include "supervisor/browser/session.h"

#include "supervisor/base/cleanup.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64];
static int folder_fd;
static const uint8_t page[PAGE_DIGEST_BYTES] = { 1, 2, 3 };

static int make_folder(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/cordon-session-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	folder_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return folder_fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	close(folder_fd);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static struct session *opened(uint64_t id)
{
	struct session *s = NULL;

	assert_int_equal(session_open(folder_fd, "a-1", id, &s), 0);
	return s;
}

static void names_tell_agents_apart(void **state)
{
	char one[SESSION_NAME_BYTES], other[SESSION_NAME_BYTES];

	(void)state;
	session_name("strix-1-a", 0x123456789abcdef0u, one);
	assert_int_equal(strncmp(one, "strix-1-a-", 10), 0);
	assert_int_equal(strlen(one), 18);
	session_name("a.b", 1, one);
	session_name("a_b", 2, other);
	assert_int_equal(strncmp(one, "a_b-", 4), 0);
	assert_string_not_equal(one, other);
	session_name("", 1, one);
	assert_int_equal(strncmp(one, "agent-", 6), 0);
	session_name("an-agent-with-a-name-of-sixty-three-characters-which-is-the-most", 1, one);
	assert_true(strlen(one) < SESSION_NAME_BYTES);
	assert_int_equal(one[strspn(one, "abcdefghijklmnopqrstuvwxyz0123456789-")], '\0');
	/* a host finds its own name where the tool takes it; a name that reads like an option it does not take */
	assert_string_equal(session_title("strix-1-a", "x-1"), "strix-1-a");
	assert_string_equal(session_title("a.b", "x-1"), "x-1");
	assert_string_equal(session_title("-p", "x-1"), "x-1");
	assert_string_equal(session_title("", "x-1"), "x-1");
	assert_string_equal(session_title("an-agent-with-a-name-of-sixty-three-characters-which-is-the-most", "x-1"), "x-1");
}

static void a_snapshot_holds_until_something_changes(void **state)
{
	static const enum page pages[] = { PAGE_NONE, PAGE_SHOWS, PAGE_CHANGES, PAGE_ENDS };
	struct session *s = opened(7);
	size_t i;

	(void)state;
	assert_false(s->kept.holds);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		assert_int_equal(session_shows(s, page), 0);
		assert_int_equal(session_begin(s, (struct session_turn){ 100, PAGE_KEEPS }, 5), 0);
		assert_int_equal(session_end(s), 0);
		assert_true(s->kept.holds);
		assert_int_equal(session_begin(s, (struct session_turn){ 101, pages[i] }, 5), 0);
		assert_false(s->kept.holds);
		assert_int_equal(session_end(s), 0);
		assert_false(s->kept.holds);
	}
	assert_int_equal(session_shows(s, page), 0);
	assert_int_equal(session_stale(s), 0);
	assert_false(s->kept.holds);
	assert_int_equal(session_shows(s, page), 0);
	assert_int_equal(session_forget_browser(s), 0);
	assert_false(s->kept.holds);
	session_close(s);
}

static void the_next_enforcer_reads_it_back(void **state)
{
	struct session *s = opened(7);

	(void)state;
	assert_int_equal(session_shows(s, page), 0);
	assert_int_equal(session_add_port(s, 40001, true), 0);
	session_close(s);
	s = opened(0);
	assert_int_equal(s->id, 7);
	assert_true(s->kept.holds);
	assert_memory_equal(s->kept.page, page, sizeof(page));
	assert_int_equal(s->kept.devtools, 40001);
	assert_true(session_has_port(s, 40001));
	/* one that ran when it died: nobody saw its end */
	assert_int_equal(session_begin(s, (struct session_turn){ 100, PAGE_KEEPS }, 5), 0);
	session_close(s);
	s = opened(7);
	assert_false(s->kept.holds);
	assert_int_equal(s->kept.turn, 100);
	assert_int_equal(s->turn_page, PAGE_CHANGES);
	session_close(s);
}

static void what_cannot_be_believed_holds_nothing(void **state)
{
	struct session *s = opened(7);
	char path[128];
	int fd;

	(void)state;
	assert_int_equal(session_shows(s, page), 0);
	session_close(s);
	/* another agent's under the same name */
	s = opened(8);
	assert_false(s->kept.holds);
	assert_int_equal(session_shows(s, page), 0);
	session_close(s);
	/* cut short, and of another build */
	snprintf(path, sizeof(path), "%s/a-1", folder);
	assert_int_equal(truncate(path, 40), 0);
	s = opened(8);
	assert_false(s->kept.holds);
	assert_int_equal(session_shows(s, page), 0);
	session_close(s);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	close(fd);
	s = opened(8);
	assert_false(s->kept.holds);
	session_close(s);
	/* a session of nobody */
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	close(fd);
	assert_int_not_equal(session_open(folder_fd, "a-1", 0, &s), 0);
	assert_int_not_equal(session_open(folder_fd, "missing", 0, &s), 0);
}

static void ports_are_remembered_the_youngest_first_kept(void **state)
{
	struct session *s = opened(7);
	uint16_t port;

	(void)state;
	for (port = 1; port <= SESSION_PORTS + 4; port++) {
		assert_int_equal(session_add_port(s, port, false), 0);
		assert_int_equal(session_add_port(s, port, false), 0);
	}
	assert_int_equal(s->kept.nr_ports, SESSION_PORTS);
	assert_false(session_has_port(s, 4));
	assert_true(session_has_port(s, 5));
	assert_true(session_has_port(s, SESSION_PORTS + 4));
	assert_int_equal(s->kept.devtools, 0);
	session_close(s);
}

static bool exists(const char *name)
{
	return faccessat(folder_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* As root, for the files become root's and the user's. */
static void a_folder_is_made_anew_for_each_daemon(void **state)
{
	const char *actions[] = { "url", "click", NULL };
	struct browser b = { .folder = folder, .config = "{}", .fingerprint = "{FOLDER} {SESSION}", .actions = { { actions, 2, 0 }, { actions, 1, 0 } } };
	char text[256] = "", expected[256];
	struct stat st;
	int fd;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(session_prepare_folder(&b, "a-1", "a", MODE_OBSERVE, 1500, 1501, "/home/x", NULL), 0);
	fd = openat(folder_fd, "a-1/actions.json", O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_string_equal(text, "{\"default\":\"deny\",\"allow\":[\"url\"]}");
	assert_int_equal(fstatat(folder_fd, "a-1", &st, 0), 0);
	assert_int_equal(st.st_uid, 0);
	assert_int_equal(st.st_mode & 07777, 0755);
	assert_int_equal(fstatat(folder_fd, "a-1/run", &st, 0), 0);
	assert_int_equal(st.st_uid, 1500);
	assert_int_equal(st.st_gid, 1501);
	assert_int_equal(st.st_mode & 07777, 0700);
	fd = openat(folder_fd, "a-1/run/a.config", O_RDONLY | O_CLOEXEC);
	memset(text, 0, sizeof(text));
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	snprintf(expected, sizeof(expected), "%s/a-1 a", folder);
	assert_string_equal(text, expected);
	/* what the last one left, also links that lead elsewhere, and what it put in the way */
	close(openat(folder_fd, "target", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(mkdirat(folder_fd, "a-1/tmp/profile", 0700), 0);
	close(openat(folder_fd, "a-1/tmp/profile/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(symlinkat("../../target", folder_fd, "a-1/tmp/link"), 0);
	assert_int_equal(symlinkat("/", folder_fd, "a-1/tmp/root"), 0);
	assert_int_equal(unlinkat(folder_fd, "a-1/run/a.config", 0), 0);
	assert_int_equal(symlinkat("../../target", folder_fd, "a-1/run/a.config"), 0);
	assert_int_equal(session_prepare_folder(&b, "a-1", "a", MODE_GUARDED, 1500, 1501, "/home/x", NULL), 0);
	assert_false(exists("a-1/tmp/profile"));
	assert_false(exists("a-1/tmp/link"));
	assert_false(exists("a-1/tmp/root"));
	assert_int_equal(fstatat(folder_fd, "target", &st, 0), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(fstatat(folder_fd, "a-1/run/a.config", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISREG(st.st_mode));
	/* a folder that is a link is none */
	assert_int_equal(renameat(folder_fd, "a-1/home", folder_fd, "moved"), 0);
	assert_int_equal(symlinkat("../moved", folder_fd, "a-1/home"), 0);
	assert_int_not_equal(session_prepare_folder(&b, "a-1", "a", MODE_GUARDED, 1500, 1501, "/home/x", NULL), 0);
}

static void texts_are_filled_in(void **state)
{
	char *text = session_text("A={SESSION}:{FOLDER}/x {BROWSER} {OTHER}{", "s", "/f", "/b");

	(void)state;
	assert_string_equal(text, "A=s:/f/x /b {OTHER}{");
	free(text);
	text = session_text("", "s", "/f", "/b");
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_tell_agents_apart),
		cmocka_unit_test_setup_teardown(a_snapshot_holds_until_something_changes, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(the_next_enforcer_reads_it_back, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(what_cannot_be_believed_holds_nothing, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(ports_are_remembered_the_youngest_first_kept, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(a_folder_is_made_anew_for_each_daemon, make_folder, remove_folder),
		cmocka_unit_test(texts_are_filled_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
