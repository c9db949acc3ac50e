/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes in frames from processes of agents: the blob of a launch's request, the first line of a script, and what a browser answers over its DevTools port.
 * The functions are static; so their files stand here whole.
 *
 * The first byte, "a" to "e", chooses which.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/socket.h>

#include "supervisor/browser/page.c"
#define read_head exec_read_head
#include "supervisor/boundary/exec_check.c"
#undef read_head
#include "supervisor/enforcer/requests.c"

/* A string is whole where it ends inside the blob. */
static void expect_inside(const struct request *r, const char *text)
{
	if (text && (text < r->blob || text + strlen(text) >= r->blob + r->head.blob_bytes))
		abort();
}

static void read_request(const uint8_t *data, size_t len, uint32_t flags)
{
	struct request r = { .head = { .flags = flags, .blob_bytes = (uint32_t)len }, .fds = { memfd_create("blob", MFD_CLOEXEC | MFD_ALLOW_SEALING), -1, -1, -1 } };
	size_t i;

	if (r.fds[0] < 0 || write(r.fds[0], data, len) != (ssize_t)len)
		abort();
	if (parse_request(&r) == 0) {
		expect_inside(&r, r.agent);
		expect_inside(&r, r.mode);
		expect_inside(&r, r.user);
		expect_inside(&r, r.cwd);
		expect_inside(&r, r.limits.scope);
		expect_inside(&r, r.limits.roots);
		for (i = 0; r.argv[i]; i++)
			expect_inside(&r, r.argv[i]);
		for (i = 0; r.environment[i]; i++)
			expect_inside(&r, r.environment[i]);
		(void)agent_is_plain(r.agent);
	}
	close(r.fds[0]);
	free(r.blob);
	free(r.argv);
	free(r.environment);
}

static void read_interpreter(const uint8_t *data, size_t len)
{
	char head[HEAD_BYTES + 1];
	const char *path, *argument;
	struct buf argv = { 0 };

	len = len < HEAD_BYTES ? len : HEAD_BYTES;
	memset(head, 0, sizeof(head));
	memcpy(head, data, len);
	if (!parse_interpreter(head, len, &path, &argument))
		return;
	if (path < head + 2 || path + strlen(path) > head + len || (argument && (argument <= path || argument + strlen(argument) > head + len || !*argument)))
		abort();
	buf_append(&argv, "script\0one", 11);
	if (rewrite_argv(&argv, path, argument, "/s") < 0 || argv.len < strlen(path) + sizeof("/s") + sizeof("one"))
		abort();
	buf_free(&argv);
}

static void answer(const uint8_t *data, size_t len, bool frames)
{
	struct sha256 hash;
	json_t *root;
	size_t length;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 || send(ends[0], data, len, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)len)
		abort();
	close(ends[0]);
	if (!frames) {
		(void)read_head(ends[1], 200, &length);
	} else {
		root = receive_answer(ends[1]);
		sha256_init(&hash);
		(void)add_tree(&hash, json_object_get(json_object_get(root, "result"), "frameTree"), 0);
		json_decref(root);
	}
	close(ends[1]);
}

static void list(const uint8_t *data, size_t len)
{
	json_t *root = json_loadb((const char *)data, len, 0, NULL);
	size_t i;

	for (i = 0; i < json_array_size(root); i++) {
		json_t *target = json_array_get(root, i);

		(void)is_page(target);
		if (target_id(target) && compare_targets(&target, &target) != 0)
			abort();
	}
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 1 || len > 65536)
		return 0;
	switch (data[0]) {
	case 'a':
		read_request(data + 1, len - 1, 0);
		break;
	case 'b':
		read_request(data + 1, len - 1, REQUEST_SCOPE | REQUEST_ROOTS);
		break;
	case 'c':
		read_interpreter(data + 1, len - 1);
		break;
	case 'd': case 'e':
		answer(data + 1, len - 1, data[0] == 'e');
		break;
	case 'f':
		list(data + 1, len - 1);
		break;
	default:
		break;
	}
	return 0;
}
