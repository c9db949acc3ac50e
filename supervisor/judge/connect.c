/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ACTION_CONNECT and ACTION_BIND: where a socket may go, by the address as the kernel takes it. IPv4 is judged as ::ffff:a.b.c.d, and an address that
 * carries an IPv4 address inside (mapped, NAT64, 6to4, Teredo) as both.
 */
#include "supervisor/judge/judging.h"

#include "supervisor/base/path.h"
#include "supervisor/base/text.h"

#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

/* One address under all the names it goes by. */
struct target {
	struct in6_addr names[2];
	unsigned nr_names;
	uint16_t port;
	char text[INET6_ADDRSTRLEN + 10];
};

static bool in_prefix(const struct in6_addr *address, const struct in6_addr *prefix, unsigned bits)
{
	unsigned bytes = bits / 8, rest = bits % 8;

	if (memcmp(address, prefix, bytes) != 0)
		return false;
	return rest == 0 || ((address->s6_addr[bytes] ^ prefix->s6_addr[bytes]) & (0xff00 >> rest & 0xff)) == 0;
}

static struct in6_addr mapped(const uint8_t v4[static 4])
{
	struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(&address.s6_addr[12], v4, 4);
	return address;
}

/* The IPv4 address inside an IPv6 one, where there is one (RFC 4291, 6052, 8215, 3056, 4380). */
static bool embedded(const struct in6_addr *address, struct in6_addr *ret_mapped)
{
	static const struct { uint8_t prefix[16]; unsigned bits, at; bool inverted; } forms[] = {
		{ { 0 }, 96, 12, false },				/* ::a.b.c.d */
		{ { 0, 0x64, 0xff, 0x9b }, 96, 12, false },		/* 64:ff9b::a.b.c.d */
		{ { 0, 0x64, 0xff, 0x9b, 0, 1 }, 48, 12, false },	/* 64:ff9b:1:…:a.b.c.d */
		{ { 0x20, 0x02 }, 16, 2, false },			/* 2002:aabb:ccdd:: */
		{ { 0x20, 0x01, 0, 0 }, 32, 12, true },			/* 2001:0:…, the client's address inverted */
	};
	uint8_t v4[4];
	unsigned i, b;

	if (IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address))
		return false;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct in6_addr prefix;

		memcpy(&prefix, forms[i].prefix, sizeof(prefix));
		if (!in_prefix(address, &prefix, forms[i].bits))
			continue;
		for (b = 0; b < 4; b++)
			v4[b] = address->s6_addr[forms[i].at + b] ^ (forms[i].inverted ? 0xff : 0);
		*ret_mapped = mapped(v4);
		return true;
	}
	return false;
}

static bool is_v4(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address);
}

static void describe(struct target *t)
{
	char address[INET6_ADDRSTRLEN];
	size_t len;

	if (is_v4(&t->names[0])) {
		len = text_ipv4(&t->names[0].s6_addr[12], t->text);
		t->text[len++] = ':';
		text_number(t->port, t->text + len);
	} else {
		inet_ntop(AF_INET6, &t->names[0], address, sizeof(address));
		snprintf(t->text, sizeof(t->text), "[%s]:%u", address, t->port);
	}
}

/* The kernel refuses shorter addresses; 24 bytes are the oldest sockaddr_in6 it takes (SIN6_LEN_RFC2133). */
static bool read_target(const struct action *action, struct target *ret)
{
	const socklen_t len = action->address_bytes;
	struct target t = { .nr_names = 1 };

	if (action->address->sa_family == AF_INET6 && len >= 24) {
		struct sockaddr_in6 in6 = { 0 };

		memcpy(&in6, action->address, len < sizeof(in6) ? len : sizeof(in6));
		t.names[0] = in6.sin6_addr;
		t.port = ntohs(in6.sin6_port);
	} else if (action->address->sa_family != AF_INET6 && len >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;

		memcpy(&in, action->address, sizeof(in));
		t.names[0] = mapped((const uint8_t *)&in.sin_addr);
		t.port = ntohs(in.sin_port);
	} else {
		return false;
	}
	if (embedded(&t.names[0], &t.names[1]))
		t.nr_names++;
	describe(&t);
	*ret = t;
	return true;
}

static const struct network_range *find_range(const struct policy *policy, const struct target *t, bool only_always)
{
	size_t i;
	unsigned n;

	for (i = 0; i < policy->nr_ranges; i++)
		for (n = 0; n < t->nr_names; n++)
			if ((!only_always || policy->ranges[i].always) &&
			    in_prefix(&t->names[n], &policy->ranges[i].address, policy->ranges[i].prefix_bits))
				return &policy->ranges[i];
	return NULL;
}

/* Only the address itself opens a door, never one it merely carries. */
static const struct network_port *find_port(const struct policy *policy, const struct target *t)
{
	size_t i;

	for (i = 0; i < policy->nr_ports; i++)
		if (policy->ports[i].port == t->port && memcmp(&policy->ports[i].address, &t->names[0], sizeof(t->names[0])) == 0)
			return &policy->ports[i];
	return NULL;
}

static bool is_in_scope(const struct scope *scope, const struct target *t)
{
	size_t i;

	for (i = 0; i < scope->nr; i++)
		if (!scope->entries[i].name && (!scope->entries[i].port || scope->entries[i].port == t->port) &&
		    in_prefix(&t->names[0], &scope->entries[i].address, scope->entries[i].prefix_bits))
			return true;
	return false;
}

/* To 0.0.0.0 and :: the kernel connects as to loopback. */
static bool is_loopback(const struct in6_addr *address)
{
	if (is_v4(address))
		return address->s6_addr[12] == 127 || memcmp(&address->s6_addr[12], "\0\0\0\0", 4) == 0;
	return IN6_IS_ADDR_LOOPBACK(address) || IN6_IS_ADDR_UNSPECIFIED(address);
}

#define PROXY_HINT "use the proxy that the environment names (http_proxy), or a target that was declared"

static void judge_internet(const struct judging *j)
{
	const struct scope *scope = j->subject->scope, *narrowed = j->subject->narrowed;
	const struct network_range *range;
	const struct network_port *port;
	struct target t;

	if (!read_target(j->action, &t)) {
		answer_deny(j, "invalid_request", (struct ruling){ "network.address", CODE_RULE, "give a whole address of the family that is named" }, "The address is too short for its family.");
		return;
	}
	range = find_range(j->policy, &t, true);
	if (range) {
		answer_deny(j, "network_guard", (struct ruling){ range->id, range->origin, "this address is never reachable; use a target that was declared" }, "%s %s.", t.text, range->reason);
		return;
	}
	if (j->subject->mode == MODE_READONLY) {
		answer_deny(j, "policy_block", (struct ruling){ "network.readonly", CODE_RULE, "read files of the project instead; nothing goes to a network in readonly mode" }, "%s is on a network, and the mode is readonly.", t.text);
		return;
	}
	if (browser_is_foreign(j, t.text))
		return;
	port = find_port(j->policy, &t);
	if (port) {
		answer_allow(j, (struct ruling){ "network.port", port->origin, NULL }, "%s is always reachable.", t.text);
		return;
	}
	if (j->action->agent_listens && is_loopback(&t.names[0])) {
		answer_allow(j, (struct ruling){ "network.own_listener", CODE_RULE, NULL }, "%s is a server that an agent started.", t.text);
		return;
	}
	/* A gateway on loopback would open what listens in here. */
	if (j->subject->gateway && is_in_scope(j->subject->gateway, &t) && !is_loopback(&t.names[0])) {
		answer_allow(j, (struct ruling){ "network.gateway", CODE_RULE, NULL }, "%s is the host's gateway, which the container was given.", t.text);
		return;
	}
	if (narrowed && narrowed->nr && !is_in_scope(narrowed, &t)) {
		answer_deny(j, "network_guard", (struct ruling){ "network.scope", CODE_RULE, PROXY_HINT }, "%s is outside the scope of this launch.", t.text);
		return;
	}
	if (scope && scope->nr) {
		if (is_in_scope(scope, &t))
			answer_allow(j, (struct ruling){ "network.scope", CODE_RULE, NULL }, "%s is in the declared scope.", t.text);
		else
			answer_deny(j, "network_guard", (struct ruling){ "network.scope", CODE_RULE, PROXY_HINT }, "%s is outside the declared scope.", t.text);
		return;
	}
	range = find_range(j->policy, &t, false);
	if (range && !(j->subject->mode == MODE_GUARDED && !j->policy->paths.block_internal_http)) {
		answer_deny(j, "network_guard", (struct ruling){ range->id, range->origin, PROXY_HINT }, "%s %s.", t.text, range->reason);
		return;
	}
	answer_allow(j, (struct ruling){ "network.public", CODE_RULE, NULL }, "%s is a public address and no scope was declared.", t.text);
}

/* A socket's name as the caller wrote it, where nobody resolved it. Returns false when it is no path that can be judged. */
static bool unix_path(const struct action *action, char ret_path[static PATH_MAX], bool *ret_abstract)
{
	const size_t offset = offsetof(struct sockaddr_un, sun_path);
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "";
	size_t len = action->address_bytes > offset ? action->address_bytes - offset : 0;

	*ret_abstract = action->path && action->path[0] == '@';
	if (action->path)
		return *ret_abstract || path_normalize(NULL, action->path, ret_path, PATH_MAX) == 0;
	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, (const char *)action->address + offset, len);
	*ret_abstract = len == 0 || name[0] == '\0';
	return *ret_abstract || path_normalize(action->cwd, name, ret_path, PATH_MAX) == 0;
}

static void judge_unix(const struct judging *j)
{
	const struct paths *paths = &j->policy->paths;
	char path[PATH_MAX];
	struct quoted q;
	bool abstract;

	if (!unix_path(j->action, path, &abstract)) {
		answer_deny(j, "invalid_path", (struct ruling){ "network.unix_path", CODE_RULE, "give the socket's absolute path" }, "The socket's name is not a path that can be judged.");
		return;
	}
	if (j->subject->mode == MODE_READONLY) {
		answer_deny(j, "policy_block", (struct ruling){ "network.readonly", CODE_RULE, "read files of the project instead" }, "Sockets are not used in readonly mode.");
		return;
	}
	if (abstract) {	/* other domains' are out of reach by Landlock's scope */
		answer_allow(j, (struct ruling){ "network.unix_abstract", CODE_RULE, NULL }, "An abstract socket of the same agent may be reached.");
		return;
	}
	if (browser_is_foreign(j, quote_text(&q, path)))
		return;
	if (path_in_list(&paths->hidden, j->subject->home, path))
		answer_deny(j, "protected_path", (struct ruling){ "path.hidden", { "paths.json", paths->hidden.line }, "container engines are out of reach; work inside this container" }, "The socket %s is out of reach for agents.",
			    quote_text(&q, path));
	else if (path_in_list(&paths->blocked_roots, j->subject->home, path))
		answer_deny(j, "blocked_root", (struct ruling){ "path.blocked", { "paths.json", paths->blocked_roots.line }, "the operator closed this folder; use another place inside the project" }, "The socket %s is under a blocked root.",
			    quote_text(&q, path));
	else if (path_in_list(&paths->protected_names, j->subject->home, path))
		answer_deny(j, "protected_path", (struct ruling){ "path.protected", { "paths.json", paths->protected_names.line }, "put the socket below the project or /tmp" },
			    "The socket %s is in a protected place.", quote_text(&q, path));
	else
		answer_allow(j, (struct ruling){ "network.unix", paths->origin, NULL }, "The socket %s may be reached.", quote_text(&q, path));
}

/* connect(AF_UNSPEC) takes an association back. UDP's sendto() however reads an AF_UNSPEC address as an IPv4 one (udp_sendmsg). */
static bool is_disconnect(const struct action *action)
{
	struct sockaddr_in in = { 0 };

	memcpy(&in, action->address, action->address_bytes < sizeof(in) ? action->address_bytes : sizeof(in));
	return in.sin_addr.s_addr == 0 && in.sin_port == 0;
}

void judge_connect(const struct judging *j)
{
	const struct action *a = j->action;

	if (!a->address || a->address_bytes < sizeof(sa_family_t)) {
		answer_deny(j, "invalid_request", (struct ruling){ "network.address", CODE_RULE, "give a whole address of the family that is named" }, "The socket address is missing.");
		return;
	}
	switch (a->address->sa_family) {
	case AF_UNSPEC:
		if (!is_disconnect(a)) {
			judge_internet(j);
			break;
		}
		answer_allow(j, (struct ruling){ "network.disconnect", CODE_RULE, NULL }, "The socket is disconnected.");
		break;
	case AF_INET:
	case AF_INET6:
		judge_internet(j);
		break;
	case AF_UNIX:
		judge_unix(j);
		break;
	case AF_NETLINK:	/* local to the kernel; what may be changed through it is a matter of capabilities */
		answer_allow(j, (struct ruling){ "network.netlink", CODE_RULE, NULL }, "Netlink asks the kernel only.");
		break;
	default:
		answer_deny(j, "network_guard", (struct ruling){ "network.family", CODE_RULE, "use TCP or UDP over IPv4 or IPv6, or a UNIX socket" }, "Address family %u is not one that agents use.",
			    a->address->sa_family);
		break;
	}
}

/*
 * A port of policies/network.json's list is a service of Cordon's (the proxy): whoever else listened there, while it is down, would get every
 * agent's traffic.
 */
void judge_bind(const struct judging *j)
{
	const struct action *a = j->action;
	struct target t;
	size_t i;

	if (!a->address || a->address_bytes < sizeof(sa_family_t) || !read_target(a, &t)) {
		answer_deny(j, "invalid_request", (struct ruling){ "network.address", CODE_RULE, "give a whole address of the family that is named" }, "The address is too short for its family.");
		return;
	}
	if (a->address->sa_family != AF_INET && a->address->sa_family != AF_INET6 && a->address->sa_family != AF_UNSPEC) {
		answer_deny(j, "network_guard", (struct ruling){ "network.family", CODE_RULE, "use TCP or UDP over IPv4 or IPv6, or a UNIX socket" }, "Address family %u is not one that agents use.",
			    a->address->sa_family);
		return;
	}
	if (j->subject->mode == MODE_READONLY) {
		answer_deny(j, "policy_block", (struct ruling){ "network.readonly", CODE_RULE, "read files of the project instead" }, "Nothing listens in readonly mode.");
		return;
	}
	for (i = 0; i < j->policy->nr_ports; i++)
		if (j->policy->ports[i].port == t.port) {
			answer_deny(j, "network_guard", (struct ruling){ "network.reserved_port", j->policy->ports[i].origin, "choose another port" },
				    "Port %u is reserved for Cordon's own service.", t.port);
			return;
		}
	answer_allow(j, (struct ruling){ "network.bind", CODE_RULE, NULL }, "An agent may listen on %s.", t.text);
}
