/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a service ready: asked again and again by a forked helper that runs as the service's user.
 *
 * A port that accepts is not yet a proxy, and a proxy is not yet ours: PROBE_PROXY_CA asks through it for the certificate it signs with
 * and compares. PID 1 only sees the helper's exit, and kills it when time is up.
 */
#include "supervisor/init/internal.h"

#include "supervisor/base/cleanup.h"
#include "supervisor/base/io.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FIRST_PAUSE_MS 50
#define MAX_PAUSE_MS 1000
#define ANSWER_TIMEOUT_MS 3000
#define MISSES_MAX 3
#define ANSWER_LIMIT_BYTES 65536

static int connect_loopback(const struct probe *probe, uint16_t port, char *ret_why, size_t why_bytes)
{
	const struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const unsigned ms = probe->timeout_ms ? probe->timeout_ms : ANSWER_TIMEOUT_MS;
	const struct timeval timeout = { .tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000 };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		r = -errno;
		snprintf(ret_why, why_bytes, "port %u: %s", port, strerror(-r));
		close(fd);
		return r;
	}
	return fd;
}

/* The whole answer, ended by the server: requests are HTTP/1.0. */
static int ask(const struct probe *probe, uint16_t port, const char *request, struct buf *ret_answer, char *ret_why, size_t why_bytes)
{
	_cleanup_close_ int fd = connect_loopback(probe, port, ret_why, why_bytes);
	int r;

	if (fd < 0)
		return fd;
	r = io_write_all(fd, request, strlen(request));
	if (r == 0)
		r = io_read_all(fd, ANSWER_LIMIT_BYTES, ret_answer);
	if (r == 0 && (!ret_answer->data || ret_answer->failed))
		r = -EBADMSG;
	if (r < 0)
		snprintf(ret_why, why_bytes, "port %u accepts, but does not answer: %s", port, strerror(-r));
	return r;
}

/* 0 when the answer has no status line. */
static int status_of(const struct buf *answer)
{
	int status = 0;

	if (sscanf(answer->data, "HTTP/%*[0-9.] %3d", &status) != 1)
		return 0;
	return status;
}

/* "[METHOD ]http://HOST[:PORT]/PATH": the request always goes to loopback, at the service's port or the one in the URL. */
static int probe_http(const struct probe *probe, char *ret_why, size_t why_bytes)
{
	char method[8] = "GET", host[256], request[1024];
	const char *url = probe->url ? probe->url : "", *path;
	_cleanup_buf_ struct buf answer = { 0 };
	unsigned port = probe->port;
	int status, r;

	if (strncmp(url, "http://", 7) != 0 && sscanf(url, "%7[A-Z] ", method) == 1)
		url += strlen(method) + 1;
	if (sscanf(url, "http://%255[^:/]:%u", host, &port) < 1) {
		snprintf(ret_why, why_bytes, "the probe's URL is not an http:// URL");
		return -EINVAL;
	}
	path = strchr(url + 7, '/');
	snprintf(request, sizeof(request), "%s %s HTTP/1.0\r\nHost: %s:%u\r\nContent-Length: 0\r\n\r\n", method, path ? path : "/", host, port);
	r = ask(probe, (uint16_t)port, request, &answer, ret_why, why_bytes);
	if (r < 0)
		return r;
	/* A server that complains about an empty request (4xx) has read it: it is up. */
	status = status_of(&answer);
	if ((status >= 200 && status < 300) || (status >= 400 && status < 500))
		return 0;
	snprintf(ret_why, why_bytes, "HTTP status %d, expected 2xx or 4xx", status);
	return -EAGAIN;
}

char *probe_certificate(const char *text)
{
	const char *begin;
	size_t len = trust_find_certificate(text, &begin), nr = 0;
	char *out = len ? malloc(len + 1) : NULL;

	for (size_t i = 0; out && i < len; i++)
		if (!strchr(" \t\r\n", begin[i]))
			out[nr++] = begin[i];
	if (out)
		out[nr] = '\0';
	return out;
}

static int probe_proxy_ca(const struct probe *probe, char *ret_why, size_t why_bytes)
{
	static const char request[] = "GET http://mitm.it/cert/pem HTTP/1.0\r\nHost: mitm.it\r\n\r\n";
	_cleanup_buf_ struct buf answer = { 0 }, file = { 0 };
	_cleanup_free_ char *theirs = NULL, *ours = NULL;
	int r = ask(probe, probe->port, request, &answer, ret_why, why_bytes);

	if (r < 0)
		return r;
	r = io_read_file(AT_FDCWD, probe->ca_file, ANSWER_LIMIT_BYTES, &file);
	if (r < 0 || !file.data) {
		snprintf(ret_why, why_bytes, "cannot read the CA: %s", strerror(-r));
		return -EIO;
	}
	theirs = probe_certificate(answer.data);
	ours = probe_certificate(file.data);
	if (status_of(&answer) == 200 && theirs && ours && strcmp(theirs, ours) == 0)
		return 0;
	snprintf(ret_why, why_bytes, theirs ? "what listens on port %u signs with another CA" : "what listens on port %u is not our proxy",
		 probe->port);
	return -EAGAIN;
}

int probe_once(const struct probe *probe, char *ret_why, size_t why_bytes)
{
	static const char *const socket_tables[] = { "/proc/self/net/tcp", "/proc/self/net/tcp6", NULL };
	int fd, r;

	switch (probe->kind) {
	case PROBE_TCP:
		fd = connect_loopback(probe, probe->port, ret_why, why_bytes);
		if (fd < 0)
			return fd;
		close(fd);
		return probe_owner(socket_tables, probe->port, probe->owner, ret_why, why_bytes);
	case PROBE_HTTP:
		r = probe_http(probe, ret_why, why_bytes);
		return r < 0 ? r : probe_owner(socket_tables, probe->port, probe->owner, ret_why, why_bytes);
	case PROBE_PROXY_CA:
		return probe_proxy_ca(probe, ret_why, why_bytes);
	default:
		snprintf(ret_why, why_bytes, "unknown kind of probe");
		return -EINVAL;
	}
}

static void pause_for(unsigned ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&pause, NULL);
}

int probe_run(void *argument)
{
	const struct probe *probe = argument;
	unsigned pause_ms = FIRST_PAUSE_MS;
	int r;

	for (;;) {
		char why[sizeof(probe->report->why)] = "";

		r = probe_once(probe, why, sizeof(why));
		if (r == 0)
			return 0;
		memcpy(probe->report->why, why, sizeof(why));
		if (r == -EINVAL)
			return 1;
		pause_for(pause_ms);
		pause_ms = pause_ms * 3 / 2 > MAX_PAUSE_MS ? MAX_PAUSE_MS : pause_ms * 3 / 2;
	}
}

int probe_watch(void *argument)
{
	const struct probe *probe = argument;
	unsigned misses = 0;

	while (misses < MISSES_MAX) {
		char why[sizeof(probe->report->why)] = "";

		pause_for(probe->timeout_ms);
		misses = probe_once(probe, why, sizeof(why)) == 0 ? 0 : misses + 1;
		memcpy(probe->report->why, why, sizeof(why));
	}
	return PROBE_EXIT_HUNG;
}
