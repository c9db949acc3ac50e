/* SPDX-License-Identifier: Apache-2.0 */
/* Workspaces without mounts: names, pointers, what is refused, the rules for links, copies, the marker. Runs as any user. */
#include "supervisor/workspace/build.h"
#include "supervisor/workspace/git.h"
#include "supervisor/workspace/lines.h"
#include "supervisor/workspace/sources.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/sha1.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static char place[] = "/tmp/cordon-test-workspace-XXXXXX";
static int place_fd = -1;

static int setup(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(place));
	place_fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return place_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_int_equal(state_empty(place_fd), 0);
	close(place_fd);
	return rmdir(place);
}

static int make_folder(int at, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(at, name, 0755), 0);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void make_file(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void names_are_checked(void **state)
{
	static const char *const good[] = { "app", "a", "_x", "My-App_2.0", "a..b" };
	static const char *const bad[] = { "", ".", "..", ".hidden", "-x", "a/b", "a b", "a\n", "\xff", "caf\xc3\xa9" };
	char longest[WORKSPACE_NAME_MAX + 2] = { 0 };
	struct err e;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(workspace_check_name(good[i], &e), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(workspace_check_name(bad[i], &e), -EINVAL);
	memset(longest, 'a', WORKSPACE_NAME_MAX + 1);
	assert_int_equal(workspace_check_name(longest, &e), -EINVAL);
	longest[WORKSPACE_NAME_MAX] = 0;
	assert_int_equal(workspace_check_name(longest, &e), 0);
}

static void a_pointer_is_one_line(void **state)
{
	char plain[] = "gitdir: ../.bare\n", tight[] = "gitdir:/x y\r\n", other[] = "ref: refs/heads/main\n", nothing[] = "";

	(void)state;
	assert_string_equal(git_pointer(plain), "../.bare");
	assert_string_equal(git_pointer(tight), "/x y");
	assert_null(git_pointer(other));
	assert_null(git_pointer(nothing));
}

static void dangerous_sources_are_refused(void **state)
{
	static const char *protected[] = { "~/.ssh", "/secrets", NULL }, *types[] = { "proc", NULL }, *folders[] = { "/run", "/etc", NULL };
	const struct paths paths = { .protected_names = { protected, 2, 0 }, .refused_file_systems = { types, 1, 0 }, .refused_sources = { folders, 2, 0 } };
	static const struct {
		const char *line;
		int result;
	} cases[] = {
		{ "1 2 8:1 /home/u/app /cordon/sources/app ro - ext4 /dev/a ro", 0 },
		{ "1 2 8:1 / /cordon/sources/app ro - ext4 /dev/a ro", 0 },
		{ "1 2 8:1 /run /cordon/sources/app ro shared:7 master:1 - tmpfs t ro", -EPERM },
		{ "1 2 8:1 /run /cordon/sources/other ro - tmpfs t ro", 0 },
		{ "1 2 8:1 /etc /cordon/sources/app ro - ext4 /dev/a ro", -EPERM },
		{ "1 2 8:1 /etcetera /cordon/sources/app ro - ext4 /dev/a ro", 0 },
		{ "1 2 8:1 /home/u/.ssh /cordon/sources/app ro - ext4 /dev/a ro", -EPERM },
		{ "1 2 8:1 /home/u/.ssh/keys /cordon/sources/app ro - ext4 /dev/a ro", -EPERM },
		{ "1 2 8:1 /home/u/.sshd /cordon/sources/app ro - ext4 /dev/a ro", 0 },
		{ "1 2 8:1 /secrets/x /cordon/sources/app ro - ext4 /dev/a ro", -EPERM },
		{ "1 2 0:5 / /cordon/sources/app ro - proc proc rw", -EPERM },
		{ "1 2 8:1 / /cordon/sources/app/inner ro - ext4 /dev/b ro", -EPERM },
		{ "1 2 8:1 / /cordon/sources/app2 ro - proc /dev/b ro", 0 },
		{ "1 2 8:1 /home/a\\040b /cordon/sources/app ro - ext4 /dev/b ro", 0 },
		{ "garbage", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[256];
		struct err e = { 0 };

		snprintf(text, sizeof(text), "%s\n", cases[i].line);
		if (source_check_mounts(&paths, text, "/cordon/sources/app", &e) != cases[i].result)
			fail_msg("%s: %s", cases[i].line, e.text);
	}
}

/* ---- the rules ---- */

static const char *find_why(const struct notes *notes, const char *path)
{
	for (size_t i = 0; i < notes->nr; i++)
		if (strcmp(notes->items[i].path, path) == 0)
			return notes->items[i].why;
	return "";
}

static const char *const frozen[] = { ".git", ".agents", ".codex", NULL };

static void look(int source, struct workspace *w)
{
	struct build_plan plan = { .what = BUILD_NOTHING, .source = source, .to = -1, .frozen = frozen, .mounted_at = "/workspace/app" };
	struct err e = { 0 };
	char *changed;

	*w = (struct workspace){ 0 };
	if (build_run(&plan, w, &changed, &e) < 0)
		fail_msg("%s", e.text);
	free(changed);
}

static void links_follow_the_rules(void **state)
{
	static const struct {
		const char *name, *target, *why;	/* NULL: it becomes what it leads to */
	} links[] = {
		{ "file", "a/f", NULL }, { "folder", "a", NULL }, { "link", "file", NULL }, { "up", "a/../a/f", NULL }, { "slash", "a/", NULL },
		{ "absolute", "/etc/passwd", "out of the tree" }, { "out", "../rules", "out of the tree" }, { "through", "absolute", "out of the tree" },
		{ "out-and-in", "../rules/a/f", "out of the tree" }, { "dangling", "nowhere", "not there" }, { "file-slash", "a/f/", "not there" },
		{ "to-dangling", "dangling", "not there" }, { "self", "self", "circle" }, { "dot", ".", "circle" }, { "a/up", "..", "circle" },
		{ "a/top", "../../rules", "out of the tree" }, { "to-fifo", "fifo", "a link to a FIFO" },
	};
	_cleanup_close_ int source = make_folder(place_fd, "rules"), a = make_folder(source, "a");
	struct workspace w;

	(void)state;
	make_file(a, "f", "content");
	assert_int_equal(mkfifoat(source, "fifo", 0600), 0);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++)
		assert_int_equal(symlinkat(links[i].target, source, links[i].name), 0);
	look(source, &w);
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		const char *why = find_why(&w.left_out, links[i].name);

		if (links[i].why ? !strstr(why, links[i].why) : *why || !*find_why(&w.linked, links[i].name))
			fail_msg("%s -> %s: \"%s\"", links[i].name, links[i].target, why);
	}
	assert_string_equal(find_why(&w.left_out, "fifo"), "a FIFO");
	assert_true(strstr(find_why(&w.left_out, "folder/up"), "circle") || !*find_why(&w.linked, "folder/up/a"));
	workspace_free(&w);
}

/* Each folder links to the next ten times: ten to the tenth files. */
static void a_bomb_of_links_is_left_out(void **state)
{
	_cleanup_close_ int source = make_folder(place_fd, "bomb");
	struct workspace w;

	(void)state;
	for (int level = 0; level < 10; level++) {
		char name[16], target[16];
		_cleanup_close_ int fd = -1;

		snprintf(name, sizeof(name), "l%d", level);
		fd = make_folder(source, name);
		snprintf(target, sizeof(target), "../l%d", level + 1);
		for (char link[] = "0"; *link <= '9'; ++*link)
			assert_int_equal(symlinkat(level < 9 ? target : "../f", fd, link), 0);
	}
	make_file(source, "f", "x");
	look(source, &w);
	assert_non_null(strstr(find_why(&w.left_out, "l0/0"), "more than a workspace takes"));
	assert_string_equal(find_why(&w.left_out, "l8/0"), "");
	assert_true(w.linked.total > 1000);
	workspace_free(&w);
}

static void protected_names_are_found(void **state)
{
	_cleanup_close_ int source = make_folder(place_fd, "protected"), git = make_folder(source, ".git"), sub = make_folder(source, "sub"),
			    inner = make_folder(git, ".git"), bare = make_folder(source, ".bare"), tree = make_folder(source, "tree"),
			    trees = make_folder(bare, "worktrees"), wt = make_folder(trees, "wt"), lost = make_folder(source, "lost"),
			    own = make_folder(source, "own"), own_git = make_folder(source, "elsewhere"), agents = make_folder(sub, ".agents");
	struct workspace w;

	(void)state;
	make_file(tree, ".git", "gitdir: ../.bare/worktrees/wt\n");
	make_file(wt, "commondir", "../..\n");
	make_file(lost, ".git", "gitdir: /home/somebody/app/.git/worktrees/lost\n");
	make_file(own, ".git", "gitdir: /workspace/app/elsewhere\n");
	look(source, &w);
	assert_string_not_equal(find_why(&w.protected, ".git"), "");
	assert_string_equal(find_why(&w.protected, ".git/.git"), "");
	assert_string_not_equal(find_why(&w.protected, "sub/.agents"), "");
	assert_string_not_equal(find_why(&w.protected, "tree/.git"), "");
	assert_string_not_equal(find_why(&w.protected, ".bare"), "");
	assert_string_not_equal(find_why(&w.protected, ".bare/worktrees/wt"), "");
	assert_string_not_equal(find_why(&w.protected, "elsewhere"), "");
	assert_non_null(strstr(find_why(&w.protected, "lost/.git"), "not in the tree"));
	workspace_free(&w);
	(void)inner, (void)own_git, (void)agents;
}

/* ---- copies ---- */

static void a_copy_is_the_file(void **state)
{
	static const struct timespec times[2] = { { 1000000000, 123456789 }, { 1100000000, 987654321 } };
	const struct copy_ids ids = { getuid(), getuid(), getgid(), getgid() };
	_cleanup_close_ int from = openat(place_fd, "sparse", O_RDWR | O_CREAT | O_CLOEXEC, 0640), to = -1;
	struct stat a, b;
	char value[8], byte;
	uint64_t bytes = 0;
	int r;

	(void)state;
	for (int i = 0; i <= 8; i++)
		assert_int_equal(pwrite(from, "x", 1, (off_t)i << 23), 1);
	r = fsetxattr(from, "user.note", "kept", 4, 0);
	assert_int_equal(futimens(from, times), 0);
	assert_int_equal(copy_file(from, place_fd, "sparse-copy", &ids, &bytes), 0);
	to = openat(place_fd, "sparse-copy", O_RDONLY | O_CLOEXEC);
	assert_true(fstat(from, &a) == 0 && fstat(to, &b) == 0);
	assert_int_equal(a.st_size, b.st_size);
	assert_int_equal(a.st_mode, b.st_mode);
	assert_int_equal(a.st_mtim.tv_sec, b.st_mtim.tv_sec);
	assert_int_equal(a.st_mtim.tv_nsec, b.st_mtim.tv_nsec);
	assert_int_equal(b.st_nlink, 1);
	assert_true(b.st_blocks * 512 < 1 << 20);
	assert_int_equal(pread(to, &byte, 1, 64 << 20), 1);
	assert_int_equal(byte, 'x');
	if (r == 0)
		assert_int_equal(fgetxattr(to, "user.note", value, sizeof(value)), 4);
	assert_int_equal(copy_file(from, place_fd, "sparse-copy", &ids, &bytes), -EEXIST);
}

static void ids_change_places(void **state)
{
	const struct copy_ids ids = { 0, 1000, 7, 7 };

	(void)state;
	assert_int_equal(copy_map_uid(&ids, 0), 1000);
	assert_int_equal(copy_map_uid(&ids, 1000), 0);
	assert_int_equal(copy_map_uid(&ids, 5), 5);
	assert_int_equal(copy_map_gid(&ids, 7), 7);
}

/* ---- diffs ---- */

/* What a diff makes of was: the reading that patch(1) does. */
static void apply(struct bytes was, const char *hunks, struct buf *ret)
{
	const char *at = was.data, *end = was.data + was.len;
	size_t line = 1;

	while (*hunks) {
		size_t from = 0;
		const char *eol = strchr(hunks, '\n') + 1;

		if (*hunks == '@') {
			size_t len = 1;

			assert_true(sscanf(hunks, "@@ -%zu,%zu", &from, &len) >= 1);
			for (from += len == 0; line < from; line++) {
				const char *next = memchr(at, '\n', (size_t)(end - at));

				next = next ? next + 1 : end;
				buf_append(ret, at, (size_t)(next - at));
				at = next;
			}
		} else if (*hunks == '\\') {
			fail();
		} else {
			bool bare = *eol == '\\';
			size_t len = (size_t)(eol - hunks) - 1 - bare;

			if (*hunks != '+') {
				assert_memory_equal(at, hunks + 1, len);
				at += len;
				line++;
			}
			if (*hunks != '-')
				buf_append(ret, hunks + 1, len);
			if (bare)
				eol = strchr(eol, '\n') + 1;
		}
		hunks = eol;
	}
	buf_append(ret, at, (size_t)(end - at));
}

static void check_diff(struct bytes was, struct bytes is)
{
	struct buf hunks = { 0 }, made = { 0 };

	buf_text(&hunks, "");
	buf_text(&made, "");
	assert_int_equal(lines_diff(was, is, &hunks), 0);
	assert_true(bytes_equal(was, is) == (hunks.len == 0));
	apply(was, hunks.data, &made);
	if (!bytes_equal((struct bytes){ made.data, made.len }, is))
		fail_msg("\"%.*s\" to \"%.*s\":\n%s", (int)was.len, was.data, (int)is.len, is.data, hunks.data);
	buf_free(&hunks);
	buf_free(&made);
}

static size_t make_text(char *text, size_t lines)
{
	size_t len = 0;

	for (size_t i = 0; i < lines; i++) {
		text[len++] = (char)('a' + rand() % 4);
		if (i + 1 < lines || rand() % 2)
			text[len++] = '\n';
	}
	return len;
}

static void a_diff_makes_the_one_of_the_other(void **state)
{
	static char a[20000], b[20000];

	(void)state;
	srand(1);
	for (int i = 0; i < 20000; i++)
		check_diff((struct bytes){ a, make_text(a, (size_t)(rand() % 14)) }, (struct bytes){ b, make_text(b, (size_t)(rand() % 14)) });
	for (int i = 0; i < 20; i++)
		check_diff((struct bytes){ a, make_text(a, 300) }, (struct bytes){ b, make_text(b, 320) });
	/* More than it compares. */
	for (size_t i = 0; i < 10000; i++) {
		a[2 * i] = 'x';
		b[2 * i] = 'y';
		a[2 * i + 1] = b[2 * i + 1] = '\n';
	}
	check_diff((struct bytes){ a, sizeof(a) }, (struct bytes){ b, sizeof(b) });
}

static void a_diff_has_three_lines_of_context(void **state)
{
	struct buf hunks = { 0 };

	(void)state;
	assert_int_equal(lines_diff(bytes_of("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14"), bytes_of("1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13\n14\n"), &hunks), 0);
	assert_string_equal(hunks.data, "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n@@ -11,4 +11,4 @@\n 11\n 12\n 13\n-14\n\\ No newline at end of file\n+14\n");
	buf_free(&hunks);
}

static void sha1_is_sha1(void **state)
{
	struct sha1 hash;
	char hex[41];

	(void)state;
	sha1_init(&hash);
	for (int i = 0; i < 1000000; i++)
		sha1_update(&hash, "a", 1);
	sha1_hex(&hash, hex);
	assert_string_equal(hex, "34aa973cd4c4daa4f61eeb2bdbad27316534016f");	/* FIPS 180's own example */
}

/* ---- the marker ---- */

static void a_marker_says_what_was_written(void **state)
{
	struct workspace w = { .name = "app", .kind = WORKSPACE_COPY, .why = "because", .ids = { 1, 2, 3, 4 }, .source_ns = 5, .copy_ns = 6 }, read;
	_cleanup_close_ int folder = make_folder(place_fd, "marker");
	struct err e = { 0 };

	(void)state;
	assert_int_equal(state_read(folder, &read, &e), -ENOENT);
	assert_int_equal(notes_add(&w.left_out, "a\xff%20\n\"b", "why"), 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(notes_add(&w.protected, "x", "y"), 0);
	assert_int_equal(state_write(folder, &w, &e), 0);
	assert_int_equal(state_read(folder, &read, &e), 0);
	assert_string_equal(read.name, "app");
	assert_int_equal(read.kind, WORKSPACE_COPY);
	assert_string_equal(read.left_out.items[0].path, "a\xff%20\n\"b");
	assert_int_equal(read.protected.nr, 100);
	assert_int_equal(read.ids.gid_to, 4);
	assert_int_equal(read.copy_ns, 6);
	workspace_free(&read);
	workspace_free(&w);
	assert_int_equal(state_empty(folder), 0);
	make_file(folder, "marker.json", "{\"version\":99}");
	assert_int_equal(state_read(folder, &read, &e), -EBADMSG);
	assert_int_equal(unlinkat(folder, "marker.json", 0), 0);
	assert_int_equal(symlinkat("/etc/passwd", folder, "marker.json"), 0);
	assert_true(state_read(folder, &read, &e) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_checked), cmocka_unit_test(a_pointer_is_one_line), cmocka_unit_test(dangerous_sources_are_refused),
		cmocka_unit_test(links_follow_the_rules), cmocka_unit_test(a_bomb_of_links_is_left_out), cmocka_unit_test(protected_names_are_found),
		cmocka_unit_test(a_copy_is_the_file), cmocka_unit_test(ids_change_places),
		cmocka_unit_test(a_diff_makes_the_one_of_the_other), cmocka_unit_test(a_diff_has_three_lines_of_context), cmocka_unit_test(sha1_is_sha1), cmocka_unit_test(a_marker_says_what_was_written),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
