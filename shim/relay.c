/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ETX 0x03

enum { MASTER, IN, OUT };

void relay_init(struct relay *r)
{
	*r = (struct relay){ .master = -1, .in = -1, .out = -1 };
}

int relay_prepare(struct relay *r, bool etx_only)
{
	bool any = isatty(0) || isatty(1) || isatty(2);

	r->etx_only = etx_only;
	if (!any || isatty(0))
		r->in = fcntl(0, F_DUPFD_CLOEXEC, 16);
	for (int fd = 1; fd <= 2 && r->out < 0; fd++)
		if (!any || isatty(fd))
			r->out = fcntl(fd, F_DUPFD_CLOEXEC, 16);
	return (r->in < 0 && r->out < 0) ? -errno : 0;
}

void relay_start(struct relay *r, int master)
{
	r->master = master;
}

void relay_poll(const struct relay *r, struct pollfd polls[static RELAY_POLLS])
{
	const bool on = r->master >= 0;

	polls[MASTER] = (struct pollfd){ .fd = r->master };
	polls[IN] = (struct pollfd){ .fd = on && r->to_command.len == 0 ? r->in : -1, .events = POLLIN };
	polls[OUT] = (struct pollfd){ .fd = on && r->to_client.len ? r->out : -1, .events = POLLOUT };
	if (r->to_client.len == 0)
		polls[MASTER].events |= POLLIN;
	if (r->to_command.len)
		polls[MASTER].events |= POLLOUT;
	/* A hung-up master would make poll spin while its last output waits for the client. */
	if (!polls[MASTER].events)
		polls[MASTER].fd = -1;
}

/* Fills an empty queue. Returns false at the end of what fd gives. */
static bool fill(struct relay_queue *q, int fd)
{
	ssize_t len = read(fd, q->data, sizeof(q->data));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	q->start = 0;
	q->len = len > 0 ? (unsigned)len : 0;
	return len > 0;
}

/* Returns false when fd takes nothing any more. */
static bool drain(struct relay_queue *q, int fd)
{
	unsigned len = q->len < RELAY_CHUNK ? q->len : RELAY_CHUNK;
	ssize_t written = write(fd, q->data + q->start, len);

	if (written < 0)
		return errno == EAGAIN || errno == EINTR;
	q->start += (unsigned)written;
	q->len -= (unsigned)written;
	return true;
}

static void keep_etx(struct relay *r)
{
	struct relay_queue *q = &r->to_command;
	unsigned kept = 0;

	if (!r->etx_only)
		return;
	for (unsigned i = 0; i < q->len; i++)
		if (q->data[i] == ETX)
			q->data[kept++] = ETX;
	r->refused_bytes += q->len - kept;
	q->len = kept;
}

static void close_side(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void drop_output(struct relay *r)
{
	close_side(&r->out);
	r->to_client.len = 0;
}

void relay_move(struct relay *r, const struct pollfd polls[static RELAY_POLLS])
{
	if (r->master < 0)
		return;
	if (polls[IN].revents) {
		if (!fill(&r->to_command, r->in))
			close_side(&r->in);
		keep_etx(r);
	}
	if (polls[MASTER].revents & POLLOUT && r->to_command.len && !drain(&r->to_command, r->master))
		r->to_command.len = 0;
	if (polls[OUT].revents && r->to_client.len && !drain(&r->to_client, r->out))
		drop_output(r);
	if (polls[MASTER].revents & (POLLIN | POLLHUP) && r->to_client.len == 0) {
		if (!fill(&r->to_client, r->master))
			close_side(&r->master);
		if (r->out < 0)
			r->to_client.len = 0;
	}
}

void relay_resize(struct relay *r, uint16_t rows, uint16_t columns)
{
	struct winsize size = { .ws_row = rows, .ws_col = columns };

	if (r->master >= 0 && rows && columns)
		ioctl(r->master, TIOCSWINSZ, &size);
}

void relay_finish(struct relay *r)
{
	struct pollfd p = { .fd = r->out, .events = POLLOUT };

	while (r->out >= 0 && (r->to_client.len || (r->master >= 0 && fill(&r->to_client, r->master) && r->to_client.len))) {
		/* A client that stopped reading must not hold the launch's end: five seconds, then the rest is lost. */
		if (poll(&p, 1, 5000) != 1 || !drain(&r->to_client, r->out))
			break;
	}
	close_side(&r->master);
	close_side(&r->in);
	close_side(&r->out);
}

uint64_t relay_take_refused(struct relay *r)
{
	uint64_t refused = r->refused_bytes;

	r->refused_bytes = 0;
	return refused;
}
