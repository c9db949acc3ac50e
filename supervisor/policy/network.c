/* SPDX-License-Identifier: Apache-2.0 */
/* network.json: ranges that are refused and ports that are always reachable, all as IPv6 addresses. */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

/* IPv4 becomes ::ffff:a.b.c.d; ret_v4_bits is what an IPv4 prefix length has to grow by. */
static bool parse_address(const char *text, struct in6_addr *ret_address, unsigned *ret_v4_bits)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*ret_address = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
		memcpy(&ret_address->s6_addr[12], &v4, 4);
		*ret_v4_bits = 96;
		return true;
	}
	*ret_v4_bits = 0;
	return inet_pton(AF_INET6, text, ret_address) == 1;
}

static bool has_host_bits(const struct in6_addr *address, unsigned prefix_bits)
{
	unsigned bit;

	for (bit = prefix_bits; bit < 128; bit++)
		if (address->s6_addr[bit / 8] & 0x80 >> bit % 8)
			return true;
	return false;
}

static int read_cidr(const struct node *node, void *ret)
{
	struct network_range *range = ret;
	const char *text = json_string_value(node->value);
	char address[64] = "";
	unsigned bits = 0, grow = 0;
	int end = -1;

	if (!text || sscanf(text, "%63[0-9a-fA-F.:]/%3u%n", address, &bits, &end) != 2 || end < 0 || text[end] ||
	    !parse_address(address, &range->address, &grow) || bits > 128 - grow)
		return node_error(node, "expected an address range such as \"10.0.0.0/8\" or \"fe80::/10\"");
	range->prefix_bits = bits + grow;
	if (has_host_bits(&range->address, range->prefix_bits))
		return node_error(node, "the address has bits set beyond its /%u", bits);
	return 0;
}

static int read_range(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct network_range, name)
	static const struct field fields[] = {
		{ "id", read_text, MEMBER(id), true },
		{ "range", read_cidr, 0, true },
		{ "reason", read_text, MEMBER(reason), true },
		{ "always", read_bool, MEMBER(always), false },
	};
#undef MEMBER

	((struct network_range *)ret)->origin = node_origin(node);
	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_address(const struct node *node, void *ret)
{
	const char *text = json_string_value(node->value);
	unsigned grow;

	if (!text || !parse_address(text, ret, &grow))
		return node_error(node, "expected an IPv4 or IPv6 address");
	return 0;
}

static int read_network_port(const struct node *node, void *ret)
{
	static const struct field fields[] = {
		{ "address", read_address, offsetof(struct network_port, address), true },
		{ "port", read_port, offsetof(struct network_port, port), true },
	};

	((struct network_port *)ret)->origin = node_origin(node);
	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_ranges(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return node_array(node, read_range, &policy->ranges, &policy->nr_ranges, sizeof(*policy->ranges));
}

static int read_ports(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return node_array(node, read_network_port, &policy->ports, &policy->nr_ports, sizeof(*policy->ports));
}

static int read_network_name(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct network_name, name)
	static const struct field fields[] = {
		{ "id", read_text, MEMBER(id), true },
		{ "name", read_text, MEMBER(pattern), true },
		{ "reason", read_text, MEMBER(reason), true },
		{ "always", read_bool, MEMBER(always), false },
	};
#undef MEMBER

	((struct network_name *)ret)->origin = node_origin(node);
	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_network_names(const struct node *node, void *ret)
{
	struct policy *policy = ret;

	return node_array(node, read_network_name, &policy->names, &policy->nr_names, sizeof(*policy->names));
}

static int read_debugger_ports(const struct node *node, void *ret)
{
	const struct strings *list = ret;
	size_t i;
	int r = read_strings(node, ret);

	for (i = 0; r == 0 && i < list->nr; i++)
		if (list->items[i][strspn(list->items[i], "0123456789")])
			r = node_error(node, "expected port numbers as texts");
	return r;
}

int section_network(const struct node *root, struct policy *policy)
{
	static const struct field fields[] = {
		{ "ranges", read_ranges, 0, true },
		{ "ports", read_ports, 0, true },
		{ "names", read_network_names, 0, false },
		{ "debugger_ports", read_debugger_ports, offsetof(struct policy, debugger_ports), false },
		{ "mutating_words", read_strings, offsetof(struct policy, mutating_words), false },
		{ "destructive", read_strings, offsetof(struct policy, destructive), false },
	};

	return node_object(root, fields, ARRAY_SIZE(fields), policy);
}
