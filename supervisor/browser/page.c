/* SPDX-License-Identifier: Apache-2.0 */
/* The DevTools protocol as far as it is needed: one HTTP request for the list of pages, then one WebSocket question a page (RFC 6455). */
#include "supervisor/browser/page.h"

#include "supervisor/base/buf.h"
#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"
#include "supervisor/base/sha256.h"
#include "supervisor/base/sys.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_MAX_BYTES (4u << 20)
#define NOBODY 65534
#define PATIENCE_S 5

static const char question[] = "{\"id\":1,\"method\":\"Page.getFrameTree\"}";

/* ---- bytes ---- */

static int connect_to(uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval patience = { .tv_sec = 2 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 && connect(fd, (struct sockaddr *)&in, sizeof(in)) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool receive(int fd, void *ret, size_t len)
{
	char *at = ret;

	while (len) {
		ssize_t got = recv(fd, at, len, 0);

		if (got <= 0)
			return false;
		at += got;
		len -= (size_t)got;
	}
	return true;
}

/* Up to the empty line; what follows stays in the socket. ret_length: Content-Length, or 0. */
static bool read_head(int fd, int expected, size_t *ret_length)
{
	char head[4096];
	size_t len = 0;
	int status = 0;
	const char *length;

	while (len < sizeof(head) - 1 && receive(fd, head + len, 1)) {
		head[++len] = 0;
		if (len >= 4 && memcmp(head + len - 4, "\r\n\r\n", 4) == 0)
			break;
	}
	head[len] = 0;
	length = strcasestr(head, "\r\nContent-Length:");
	*ret_length = length ? strtoul(length + 17, NULL, 10) : 0;
	return sscanf(head, "HTTP/1.%*1[01] %d", &status) == 1 && status == expected;
}

static bool send_text(int fd, const char *text)
{
	return io_write_all(fd, text, strlen(text)) == 0;
}

/* ---- the list of pages ---- */

static json_t *ask_list(uint16_t port)
{
	_cleanup_close_ int fd = connect_to(port);
	_cleanup_free_ char *body = NULL;
	char request[128];
	size_t length;

	snprintf(request, sizeof(request), "GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", port);
	if (fd < 0 || !send_text(fd, request) || !read_head(fd, 200, &length) || length == 0 || length > ANSWER_MAX_BYTES)
		return NULL;
	body = malloc(length);
	if (!body || !receive(fd, body, length))
		return NULL;
	return json_loadb(body, length, 0, NULL);
}

/* ---- one question over a WebSocket ---- */

static bool send_frame(int fd, const char *text)
{
	size_t len = strlen(text);
	uint8_t head[6] = { 0x81, 0x80 | (uint8_t)len };	/* a whole text; masked with zeros, which leaves it as it is */

	return len < 126 && io_write_all(fd, head, sizeof(head)) == 0 && send_text(fd, text);
}

/* One frame's payload appended; a server masks nothing. */
static bool receive_frame(int fd, struct buf *message, uint8_t *ret_head)
{
	uint8_t head[2], extended[8];
	uint64_t len;
	char *part;

	if (!receive(fd, head, 2) || head[1] & 0x80)
		return false;
	len = head[1];
	if (len >= 126) {
		unsigned bytes = len == 126 ? 2 : 8;

		if (!receive(fd, extended, bytes))
			return false;
		for (len = 0; bytes; bytes--)
			len = len << 8 | extended[(head[1] == 126 ? 2 : 8) - bytes];
	}
	if (len > ANSWER_MAX_BYTES || message->len + len > ANSWER_MAX_BYTES)
		return false;
	part = malloc(len + 1);
	if (!part || !receive(fd, part, len)) {
		free(part);
		return false;
	}
	buf_append(message, part, len);
	free(part);
	*ret_head = head[0];
	return !message->failed;
}

/* The first whole text that answers the question; events come in between only when somebody asked for them. */
static json_t *receive_answer(int fd)
{
	for (unsigned tries = 0; tries < 64; tries++) {
		_cleanup_buf_ struct buf message = { 0 };
		uint8_t head;
		json_t *answer;

		do {
			if (!receive_frame(fd, &message, &head))
				return NULL;
		} while (!(head & 0x80));
		answer = json_loadb(message.data ? message.data : "", message.len, 0, NULL);
		if (json_integer_value(json_object_get(answer, "id")) == 1)
			return answer;
		json_decref(answer);
	}
	return NULL;
}

static json_t *ask_frames(uint16_t port, const char *target)
{
	_cleanup_close_ int fd = connect_to(port);
	char request[512];
	size_t length;

	snprintf(request, sizeof(request),
		 "GET /devtools/page/%.128s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
		 "Sec-WebSocket-Key: Y29yZG9uLWNvcmRvbi1jbw==\r\nSec-WebSocket-Version: 13\r\n\r\n", target, port);
	if (fd < 0 || !send_text(fd, request) || !read_head(fd, 101, &length) || !send_frame(fd, question))
		return NULL;
	return receive_answer(fd);
}

/* ---- the digest ---- */

static void add_text(struct sha256 *hash, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	sha256_update(hash, text ? text : "", (text ? strlen(text) : 0) + 1);
}

static bool add_tree(struct sha256 *hash, const json_t *tree, unsigned depth)
{
	const json_t *frame = json_object_get(tree, "frame"), *children = json_object_get(tree, "childFrames");
	size_t nr = json_array_size(children);

	if (!frame || depth > 32)
		return false;
	add_text(hash, frame, "id");
	add_text(hash, frame, "loaderId");
	add_text(hash, frame, "url");
	add_text(hash, frame, "urlFragment");
	sha256_update(hash, &nr, sizeof(nr));
	for (size_t i = 0; i < nr; i++)
		if (!add_tree(hash, json_array_get(children, i), depth + 1))
			return false;
	return true;
}

static const char *target_id(const json_t *target)
{
	const char *id = json_string_value(json_object_get(target, "id"));

	/* It becomes part of a request. */
	return id && *id && !id[strspn(id, "0123456789abcdefABCDEF-")] ? id : NULL;
}

static int compare_targets(const void *a, const void *b)
{
	return strcmp(target_id(*(json_t *const *)a), target_id(*(json_t *const *)b));
}

static bool is_page(const json_t *target)
{
	const char *type = json_string_value(json_object_get(target, "type"));

	return type && (strcmp(type, "page") == 0 || strcmp(type, "iframe") == 0 || strcmp(type, "webview") == 0);
}

static bool add_target(struct sha256 *hash, uint16_t port, const json_t *target)
{
	json_t *answer = ask_frames(port, target_id(target));
	bool good;

	add_text(hash, target, "id");
	good = answer && add_tree(hash, json_object_get(json_object_get(answer, "result"), "frameTree"), 0);
	json_decref(answer);
	return good;
}

static bool digest_pages(uint16_t port, uint8_t ret_digest[static PAGE_DIGEST_BYTES])
{
	json_t *list = ask_list(port), *targets[256];
	struct sha256 hash;
	size_t nr = 0, i;
	bool good = json_array_size(list) <= ARRAY_SIZE(targets);

	sha256_init(&hash);
	for (i = 0; good && i < json_array_size(list); i++) {
		json_t *target = json_array_get(list, i);

		good = target_id(target);
		if (good && is_page(target))
			targets[nr++] = target;
	}
	if (good)
		qsort(targets, nr, sizeof(targets[0]), compare_targets);
	for (i = 0; good && i < nr; i++)
		good = add_target(&hash, port, targets[i]);
	json_decref(list);
	sha256_final(&hash, ret_digest);
	return good && nr;
}

/* ---- the process ---- */

static int give_up_rights(void)
{
	const struct rlimit no_files = { 0, 0 };

	if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -errno;
	/* What it may hold, the answers' bounds say: an address space is the enforcer's as it was, with its threads' arenas. */
	(void)setrlimit(RLIMIT_FSIZE, &no_files);
	return 0;
}

static void __attribute__((noreturn)) tell_pages(uint16_t port, int to)
{
	uint8_t digest[PAGE_DIGEST_BYTES];
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(PATIENCE_S);
	if (dup2(to, 3) < 0 || sys_close_range(4, ~0U, 0) < 0 || give_up_rights() < 0)
		_exit(1);
	if (!digest_pages(port, digest))
		_exit(1);
	_exit(write(3, digest, sizeof(digest)) == (ssize_t)sizeof(digest) ? 0 : 1);
}

int page_ask(uint16_t port)
{
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		tell_pages(port, ends[1]);
	close(ends[1]);
	if (pid < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
		int r = -errno;

		close(ends[0]);
		return r;
	}
	return ends[0];
}
