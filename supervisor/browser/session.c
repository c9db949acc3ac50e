/* SPDX-License-Identifier: Apache-2.0 */
/* A session's state, and the file that keeps it. */
#include "supervisor/browser/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION_MAGIC 0x43425231u	/* "CBR1": a file of another build is none */
#define AGENT_SHOWN 32

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

const char *session_title(const char *agent, const char *name)
{
	size_t len = strlen(agent);

	return len && len < SESSION_NAME_BYTES && strspn(agent, plain) == len && *agent != '-' ? agent : name;
}

void session_name(const char *agent, uint64_t id, char ret_name[static SESSION_NAME_BYTES])
{
	size_t len = 0;

	for (; *agent && len < AGENT_SHOWN; agent++)
		ret_name[len++] = strchr(plain, *agent) ? *agent : '_';
	if (!len)
		len = (size_t)snprintf(ret_name, SESSION_NAME_BYTES, "agent");
	snprintf(ret_name + len, SESSION_NAME_BYTES - len, "-%08x", (unsigned)(id >> 32 ^ id));
}

static int keep(struct session *s)
{
	ssize_t len = pwrite(s->fd, &s->kept, sizeof(s->kept), 0);

	return len == (ssize_t)sizeof(s->kept) ? 0 : len < 0 ? -errno : -EIO;
}

int session_open(int folder_fd, const char *name, uint64_t id, struct session **ret_session)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->fd = openat(folder_fd, name, O_RDWR | (id ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->fd < 0) {
		r = -errno;
		free(s);
		return r;
	}
	if (pread(s->fd, &s->kept, sizeof(s->kept), 0) != (ssize_t)sizeof(s->kept) || s->kept.magic != SESSION_MAGIC)
		s->kept = (struct session_kept){ .magic = SESSION_MAGIC, .id = id };
	if (id && s->kept.id != id) /* two agents of one name: the name is in the way of both, and nothing is known */
		s->kept = (struct session_kept){ .magic = SESSION_MAGIC, .id = id };
	s->id = s->kept.id;
	/* Nobody here has seen how it began, and nobody will see how it ends. */
	if (s->kept.turn)
		s->kept.holds = 0;
	s->turn_page = PAGE_CHANGES;
	r = s->id ? keep(s) : -EBADMSG;
	if (r < 0) {
		session_close(s);
		return r;
	}
	*ret_session = s;
	return 0;
}

void session_close(struct session *s)
{
	close(s->fd);
	free(s);
}

int session_begin(struct session *s, struct session_turn turn, uint64_t start)
{
	s->kept.turn = turn.pid;
	s->kept.turn_start = start;
	s->turn_page = turn.page;
	if (turn.page != PAGE_KEEPS)
		s->kept.holds = 0;
	return keep(s);
}

int session_end(struct session *s)
{
	s->kept.turn = 0;
	s->turn_page = PAGE_CHANGES;
	return keep(s);
}

int session_shows(struct session *s, const uint8_t page[static PAGE_DIGEST_BYTES])
{
	memcpy(s->kept.page, page, PAGE_DIGEST_BYTES);
	s->kept.holds = 1;
	return keep(s);
}

int session_stale(struct session *s)
{
	s->kept.holds = 0;
	return keep(s);
}

/* When there are too many, the oldest gives way: it is the one that is most surely closed. */
int session_add_port(struct session *s, uint16_t port, bool devtools)
{
	struct session_kept *k = &s->kept;

	if (devtools)
		k->devtools = port;
	if (!session_has_port(s, port)) {
		if (k->nr_ports == SESSION_PORTS)
			memmove(k->ports, k->ports + 1, --k->nr_ports * sizeof(k->ports[0]));
		k->ports[k->nr_ports++] = port;
	}
	return keep(s);
}

bool session_has_port(const struct session *s, uint16_t port)
{
	for (unsigned i = 0; i < s->kept.nr_ports && i < SESSION_PORTS; i++)
		if (s->kept.ports[i] == port)
			return true;
	return false;
}

int session_forget_browser(struct session *s)
{
	s->kept.holds = 0;
	s->kept.devtools = 0;
	s->kept.nr_ports = 0;
	return keep(s);
}
