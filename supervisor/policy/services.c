/* SPDX-License-Identifier: Apache-2.0 */
/* services/NAME.json: one service a file, and what no single file can know: that those a service waits for exist, and do not wait for it. */
#include "supervisor/policy/sections.h"

#include "supervisor/base/cleanup.h"

#include <errno.h>
#include <string.h>

static int read_probe(const struct node *node, void *ret)
{
	static const char *const words[] = { "none", "tcp", "http", "proxy_ca", "notify" };
	unsigned i = 0;
	int r = node_word(node, words, ARRAY_SIZE(words), &i);

	*(enum probe_kind *)ret = (enum probe_kind)i;
	return r;
}

static int read_environment_list(const struct node *node, void *ret)
{
	struct strings *list = ret;
	size_t i;
	int r = read_strings(node, ret);

	for (i = 0; r == 0 && i < list->nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };
		const char *equals = strchr(list->items[i], '=');

		if (!equals || equals == list->items[i])
			r = node_error(&child, "expected \"NAME=VALUE\"");
	}
	return r;
}

int read_command_line(const struct node *node, void *ret)
{
	struct strings *list = ret, read = { .line = node_origin(node).line };
	size_t i, nr = json_array_size(node->value);
	int r;

	/* Not read_strings(): the same argument may stand twice. */
	if (!json_is_array(node->value) || nr == 0)
		return node_error(node, "expected an array with a program and its arguments");
	read.items = pool_take(node->document->pool, (nr + 1) * sizeof(*read.items));
	if (!read.items)
		return err_set(node->document->error, -ENOMEM, "out of memory");
	for (i = 0; i < nr; i++) {
		struct node child = { .document = node->document, .value = json_array_get(node->value, i), .up = node, .index = i };

		if (i > 0 && json_is_string(child.value) && json_string_length(child.value) == 0)
			r = (read.items[read.nr++] = pool_text(node->document->pool, "", 0)) ? 0 : -ENOMEM; /* an argument may be empty */
		else
			r = read_text(&child, &read.items[read.nr++]);
		if (r < 0)
			return r;
	}
	*list = read;
	return 0;
}

static int read_folder(const struct node *node, void *ret)
{
	int r = read_text(node, ret);

	if (r == 0 && (**(const char **)ret != '/' || strstr(*(const char **)ret, "/../")))
		r = node_error(node, "expected an absolute path");
	return r;
}

static int read_repeat(const struct node *node, void *ret)
{
#define MEMBER(name) offsetof(struct service_repeat, name)
	static const struct field fields[] = {
		{ "option", read_text, MEMBER(option), true },
		{ "variable", read_text, MEMBER(variable), true },
	};
#undef MEMBER

	return node_object(node, fields, ARRAY_SIZE(fields), ret);
}

static int read_repeats(const struct node *node, void *ret)
{
	struct service_repeats *list = ret;

	return node_array(node, read_repeat, &list->items, &list->nr, sizeof(*list->items));
}

int section_service(const struct node *root, struct policy *policy)
{
#define MEMBER(name) offsetof(struct service, name)
	static const struct field fields[] = {
		{ "command", read_command_line, MEMBER(command), true },
		{ "user", read_text, MEMBER(user), true },
		{ "environment", read_environment_list, MEMBER(environment), false },
		{ "probe", read_probe, MEMBER(probe), true },
		{ "probe_url", read_text, MEMBER(probe_url), false },
		{ "port", read_port, MEMBER(port), false },
		{ "ready_ms", read_milliseconds, MEMBER(ready_ms), false },
		{ "alive_ms", read_milliseconds, MEMBER(alive_ms), false },
		{ "after", read_strings, MEMBER(after), false },
		{ "data_dir", read_folder, MEMBER(data_dir), false },
		{ "repeat", read_repeats, MEMBER(repeats), false },
		{ "proxy", read_bool, MEMBER(proxy), false },
		{ "enabled", read_bool, MEMBER(enabled), true },
	};
#undef MEMBER
	static const char *no_items[1];
	struct service *service = pool_push(root->document->pool, &policy->services, &policy->nr_services, sizeof(*policy->services));
	const char *base = strrchr(root->document->file, '/') + 1;
	int r;

	if (!service)
		return err_set(root->document->error, -ENOMEM, "out of memory");
	service->environment.items = service->after.items = no_items;
	service->origin = node_origin(root);
	service->name = pool_text(root->document->pool, base, strlen(base) - strlen(".json"));
	if (!service->name)
		return err_set(root->document->error, -ENOMEM, "out of memory");
	r = node_object(root, fields, ARRAY_SIZE(fields), service);
	if (r < 0)
		return r;
	if ((service->probe == PROBE_TCP || service->probe == PROBE_PROXY_CA || service->proxy) && !service->port)
		return node_error(root, "a service with this probe, or that is the proxy, needs a \"port\"");
	if (service->probe == PROBE_HTTP && !service->probe_url)
		return node_error(root, "the probe \"http\" needs a \"probe_url\"");
	if (service->alive_ms && (service->probe == PROBE_NONE || service->probe == PROBE_NOTIFY))
		return node_error(root, "\"alive_ms\" needs a probe that asks: tcp, http or proxy_ca");
	return 0;
}

/* ---- all of them together ---- */

static size_t find_service(const struct policy *policy, const char *name)
{
	size_t i;

	for (i = 0; i < policy->nr_services; i++)
		if (strcmp(policy->services[i].name, name) == 0)
			break;
	return i;
}

/* Whether a way of waiting leads from one back to itself; a way without a circle is shorter than there are services. */
static bool waits_for_itself(const struct policy *policy, size_t from, size_t at, size_t hops)
{
	const struct strings *after = &policy->services[at].after;

	for (size_t i = 0; i < after->nr && hops < policy->nr_services; i++) {
		size_t next = find_service(policy, after->items[i]);

		if (next == from || (next < policy->nr_services && waits_for_itself(policy, from, next, hops + 1)))
			return true;
	}
	return false;
}

int services_check(const struct policy *policy, const struct service **ret_faulty, struct err *ret_error)
{
	for (size_t s = 0; s < policy->nr_services; s++) {
		const struct service *service = *ret_faulty = &policy->services[s];

		for (size_t i = 0; service->enabled && i < service->after.nr; i++) {
			size_t other = find_service(policy, service->after.items[i]);

			if (other == policy->nr_services)
				return err_set(ret_error, -EINVAL, "it waits for %s, which is no service", service->after.items[i]);
			if (!policy->services[other].enabled)
				return err_set(ret_error, -EINVAL, "it waits for %s, which is not enabled", service->after.items[i]);
		}
		if (service->enabled && waits_for_itself(policy, s, s, 0))
			return err_set(ret_error, -EINVAL, "it waits, by way of \"after\", for itself");
	}
	return 0;
}
